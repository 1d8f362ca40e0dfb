"""The table of agreement: one row an item, and below it one for each judge and for the best of the trivial ones.

Seven columns say what a reader needs first. The judge's figure stands beside the one that people reach with each
other on the same conversations: like with like.
"""

from collections.abc import Iterator
from typing import NamedTuple

from attunement.agreement.alpha import Alpha
from attunement.agreement.levels import FEWEST_SYSTEMS
from attunement.agreement.reliability import Reliability, Standing
from attunement.agreement.results import Undefined
from attunement.agreement.single_raters import SingleRaters
from attunement.agreement.summary import Agreement, ItemAgreement
from attunement.agreement.trust import TrustCard
from attunement.agreement.verdicts import Verdict
from attunement.reports.agreement_wording import (
    MEANINGS,
    NONE,
    STANDINGS,
    common_answers,
    figure,
    missed_failures,
    points,
    span,
    verdict_phrase,
)
from attunement.reports.trust import order
from attunement.reports.wording import Phrase, Tone, counted

COLUMNS = (
    "Item",
    "Conversations",
    "How common each answer is",
    "People with people",
    "Judge with people",
    "Missed failures, or bias",
    "Verdict",
)


class Row(NamedTuple):
    """One row: an item, or below it a judge, a trivial judge, or a part of the conversations."""

    name: str
    conversations: str
    answers: str
    people: tuple[str, ...]
    """The figure and its interval."""
    judge: tuple[str, ...]
    """The figure, its interval, and what people reach with each other on the same conversations."""
    missed: str
    verdict: Phrase
    below: int = 0
    """How far the row is set in: 0 for an item."""


def table_rows(agreement: Agreement, *, full: bool = False) -> Iterator[Row]:
    """The rows of the table, of each item and of its parts."""
    for place, entry in enumerate(agreement.items):
        yield from _item_rows(entry, agreement, entry.item.id, 0, full=full)
        for part in agreement.parts:
            if part.items[place].units:
                yield from _item_rows(part.items[place], agreement, part.part, 1, full=False)


_EMPTY = Phrase("", Tone.NONE)


def _item_rows(entry: ItemAgreement, agreement: Agreement, name: str, below: int, *, full: bool) -> Iterator[Row]:
    merged = entry.cards[0] if len(agreement.judges) == 1 and entry.cards else None
    yield Row(
        name,
        f"{entry.conversations:,}" if entry.units else NONE,
        common_answers(entry),
        _people(entry.people),
        _judge(merged) if merged else (),
        _missed(merged) if merged else "",
        verdict_phrase(merged) if merged else _EMPTY if entry.cards else _standing(entry.people),
        below,
    )
    if not merged:
        for card in entry.cards:
            yield Row(card.judge, "", "", (), _judge(card), _missed(card), verdict_phrase(card), below + 1)
    for rival, found in _rivals(entry, full=full):
        yield Row(rival, "", "", (), (figure(found.value),), "", Phrase("to be beaten", Tone.NONE), below + 1)


def _people(people: Reliability) -> tuple[str, ...]:
    if isinstance(people.alpha, Alpha):
        return tuple(filter(None, (figure(people.alpha.value), span(people.interval))))
    return (NONE, "one rater") if people.people == 1 else (NONE,)


def _judge(card: TrustCard) -> tuple[str, ...]:
    held = card.held
    if isinstance(held.agreement, Undefined):
        return (NONE,)
    beside = f"people {figure(held.people.value)}" if isinstance(held.people, SingleRaters) else ""
    return tuple(filter(None, (figure(held.agreement.value), span(held.interval), beside)))


def _missed(card: TrustCard) -> str:
    return points(card.bias, card.item.scale) if card.missed is None else missed_failures(card.missed)


def _standing(people: Reliability) -> Phrase:
    return STANDINGS[people.standing] if people.people else Phrase("no person rated", Tone.OPEN)


def _rivals(entry: ItemAgreement, *, full: bool) -> list[tuple[str, SingleRaters]]:
    """The trivial judges that have a figure; in short only the best, because the others say less."""
    if not entry.cards:
        return []
    shown = {card.judge for card in entry.cards}
    found = [
        (name, rival) for name, rival in entry.rivals.items() if isinstance(rival, SingleRaters) and name not in shown
    ]
    found.sort(key=lambda pair: -pair[1].value)
    return found if full else found[:1]


LEVELS_TITLE = "Ranking systems is not rating conversations"
LEVEL_COLUMNS = ("Item", "Judge", "Unit level: order one by one", "System level: order of systems")


def level_rows(agreement: Agreement) -> list[tuple[str, str, str, str]]:
    """For each item and judge, how far it orders conversations, and systems, as people do; empty for few systems."""
    return [
        (entry.item.id, card.judge, order(card.levels.unit), order(card.levels.system))
        for entry in agreement.items
        for card in entry.cards
        if card.levels.system.number >= FEWEST_SYSTEMS
    ]


def opening(agreement: Agreement) -> list[str]:
    """What the table rests on, in sentences; the first thing to read."""
    people, judges = len(agreement.people), len(agreement.judges)
    most = sorted(agreement.professions.items(), key=lambda stated: (-stated[1], stated[0]))
    kinds = ", ".join(f"{number} × {profession}" for profession, number in most)
    said = [
        f"{counted(agreement.conversations, 'conversation')}, {counted(people, 'person', 'people')}"
        f"{f' ({kinds})' if kinds else ''}, "
        f"{counted(judges, 'judge')}" + (f": {', '.join(agreement.judges)}." if judges == 1 else ".")
    ]
    if not any(entry.units for entry in agreement.items):
        return [*said, "Nobody has rated anything here, so there is nothing to compare."]
    if not any(word_count for entry in agreement.items for word_count in _values(entry)):
        return [*said, "There is no answer to compare: all that was asked got an error, or no answer."]
    if not people:
        said.append("No person has rated anything here, so no judge can be held against people.")
    elif people == 1:
        said.append("Only one person has rated, so how far people agree is not known, and no judge gets a verdict.")
    return said


def _values(entry: ItemAgreement) -> Iterator[int]:
    return (entry.answers.get(word, 0) for word in entry.item.scale.words)


def closing(agreement: Agreement) -> list[str]:
    """What was left out, and how the ratings were read."""
    left_out = [f"Left out: {counted(count, 'rating')} {why}." for why, count in agreement.left_out.items()]
    return [*agreement.notes, *left_out]


def meanings(agreement: Agreement) -> list[tuple[Verdict, str]]:
    """The verdicts that occur, in full, each with what it means."""
    cards = (card for part in (agreement, *agreement.parts) for entry in part.items for card in entry.cards)
    present = {card.ruling.verdict for card in cards}
    return [(verdict, MEANINGS[verdict]) for verdict in Verdict if verdict in present]


def needs(agreement: Agreement) -> list[str]:
    """What would be enough, where there is not enough data: a sentence for all items that need the same."""
    items: dict[str, list[str]] = {}
    for entry in agreement.items:
        wanted: dict[str, list[str]] = {}
        for card in entry.cards:
            if card.ruling.needed:
                wanted.setdefault(card.ruling.needed, []).append(card.judge)
        if not entry.cards and entry.people.needed:
            wanted[f"about {entry.people.needed:,} conversations rated by two people each"] = []
        for needed, judges in wanted.items():
            some = 0 < len(judges) < len(entry.cards)
            items.setdefault(needed, []).append(f"{entry.item.id} ({', '.join(judges)})" if some else entry.item.id)
    return [f"Enough for {', '.join(names)} would be: {needed}." for needed, names in items.items()]


def warnings(agreement: Agreement) -> list[str]:
    """The items on which people cannot be relied upon: no pooled figure may hide them."""
    standings = {entry.item.id: entry.people.standing for entry in agreement.items}
    said = {
        Standing.DISAGREE: "Your raters disagree on {}: nothing can be held against them there.",
        Standing.LITTLE_VARIATION: "Nearly all answers of your raters are the same on {}: agreement beyond chance says "
        "nothing there.",
    }
    found = {kind: [item for item, standing in standings.items() if standing is kind] for kind in said}
    return [said[kind].format(", ".join(items)) for kind, items in found.items() if items]

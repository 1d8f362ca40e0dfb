"""Agreement to be shown, and as plain data.

Seven columns say what a reader needs first. The number of a judge comes with the one that people reach with each other
on the same conversations: like with like.

The names in the data are those of the results in `attunement.analysis`. A number that does not exist is
`{"undefined": why}`, never null and never NaN.
"""

from collections.abc import Iterator, Mapping
from dataclasses import fields
from enum import Enum
from typing import Any, NamedTuple, cast

from attunement.analysis.reliability import FEWEST_SYSTEMS, Reliability, ReliabilityStatus
from attunement.analysis.summary import Agreement, ItemAgreement
from attunement.analysis.trust import TrustCard, Verdict
from attunement.reports.blocks import (
    Block,
    Bullets,
    Cell,
    Column,
    Document,
    LabelRow,
    LabelRows,
    Phrase,
    Section,
    Table,
    Text,
    Tone,
    texts,
)
from attunement.reports.blocks import Row as TableRow
from attunement.reports.numbers import NONE, format_interval, format_number, pluralize
from attunement.reports.sanitize import in_a_line
from attunement.reports.trust_card import (
    MEANINGS,
    RELIABILITY,
    VERDICTS,
    card_rows,
    common_answers,
    missed_failures,
    order,
    people_rows,
    points,
    retest_alpha,
    retest_row,
    sentence,
    single,
    verdict_phrase,
)
from attunement.statistics.alpha import Alpha
from attunement.statistics.kappa import PairwiseKappa
from attunement.statistics.results import Undefined

COLUMNS = (
    "Item",
    "Conversations",
    "How common each answer is",
    "People with people",
    "Judge with people",
    "Missed failures, or bias",
    "Verdict",
)


class AgreementRow(NamedTuple):
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


def table_rows(agreement: Agreement, *, full: bool = False) -> Iterator[AgreementRow]:
    """The rows of the table, of each item and of its parts."""
    for place, entry in enumerate(agreement.items):
        yield from _item_rows(entry, agreement, entry.item.id, 0, full=full)
        for part in agreement.parts:
            if part.items[place].units:
                yield from _item_rows(part.items[place], agreement, part.part, 1, full=False)


_EMPTY = Phrase("", Tone.NONE)


def _item_rows(
    entry: ItemAgreement, agreement: Agreement, name: str, below: int, *, full: bool
) -> Iterator[AgreementRow]:
    merged = entry.cards[0] if len(agreement.judges) == 1 and entry.cards else None
    yield AgreementRow(
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
            yield AgreementRow(card.judge, "", "", (), _judge(card), _missed(card), verdict_phrase(card), below + 1)
    for rival, found in _rivals(entry, full=full):
        yield AgreementRow(
            rival, "", "", (), (format_number(found.value),), "", Phrase("to be beaten", Tone.NONE), below + 1
        )


def _people(people: Reliability) -> tuple[str, ...]:
    if isinstance(people.alpha, Alpha):
        return tuple(filter(None, (format_number(people.alpha.value), format_interval(people.interval))))
    return (NONE, "one rater") if people.people == 1 else (NONE,)


def _judge(card: TrustCard) -> tuple[str, ...]:
    held = card.with_people
    if isinstance(held.agreement, Undefined):
        return (NONE,)
    beside = f"people {format_number(held.people.value)}" if isinstance(held.people, PairwiseKappa) else ""
    return tuple(filter(None, (format_number(held.agreement.value), format_interval(held.interval), beside)))


def _missed(card: TrustCard) -> str:
    return points(card.bias, card.item.scale) if card.detection is None else missed_failures(card.detection)


def _standing(people: Reliability) -> Phrase:
    return RELIABILITY[people.status] if people.people else Phrase("no person rated", Tone.OPEN)


def _rivals(entry: ItemAgreement, *, full: bool) -> list[tuple[str, PairwiseKappa]]:
    """The trivial judges that have a figure; in short only the best, because the others say less."""
    if not entry.cards:
        return []
    shown = {card.judge for card in entry.cards}
    found = [
        (name, rival)
        for name, rival in entry.baselines.items()
        if isinstance(rival, PairwiseKappa) and name not in shown
    ]
    found.sort(key=lambda pair: -pair[1].value)
    return found if full else found[:1]


def opening(agreement: Agreement) -> list[str]:
    """What the table rests on, in sentences; the first thing to read."""
    people, judges = len(agreement.people), len(agreement.judges)
    most = sorted(agreement.professions.items(), key=lambda stated: (-stated[1], stated[0]))
    kinds = ", ".join(f"{number} × {profession}" for profession, number in most)
    said = [
        f"{pluralize(agreement.conversations, 'conversation')}, {pluralize(people, 'person', 'people')}"
        f"{f' ({kinds})' if kinds else ''}, "
        f"{pluralize(judges, 'judge')}" + (f": {', '.join(agreement.judges)}." if judges == 1 else ".")
    ]
    if not any(entry.units for entry in agreement.items):
        return [*said, "Nobody has rated anything here, so there is nothing to compare."]
    if not any(word_count for entry in agreement.items for word_count in _values(entry)):
        return [*said, "There is no answer to compare: all that was asked got an error, or no answer."]
    if not people:
        said.append("No person has rated anything here, so no judge can be compared with people.")
    elif people == 1:
        said.append("Only one person has rated, so how far people agree is not known, and no judge gets a verdict.")
    return said


def _values(entry: ItemAgreement) -> Iterator[int]:
    return (entry.answers.get(word, 0) for word in entry.item.scale.words)


def closing(agreement: Agreement) -> list[str]:
    """What was left out, and how the ratings were read."""
    left_out = [f"Left out: {pluralize(count, 'rating')} {why}." for why, count in agreement.left_out.items()]
    return [*agreement.notes, *left_out]


def _meanings(agreement: Agreement) -> list[tuple[Verdict, str]]:
    """The verdicts that occur, in full, each with what it means."""
    cards = (card for part in (agreement, *agreement.parts) for entry in part.items for card in entry.cards)
    present = {card.ruling.verdict for card in cards}
    return [(verdict, MEANINGS[verdict]) for verdict in Verdict if verdict in present]


def _needs(agreement: Agreement) -> list[str]:
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
    standings = {entry.item.id: entry.people.status for entry in agreement.items}
    said = {
        ReliabilityStatus.DISAGREE: "Your raters disagree on {}: nothing can be held against them there.",
        ReliabilityStatus.LITTLE_VARIATION: (
            "Nearly all answers of your raters are the same on {}: agreement beyond chance says nothing there."
        ),
    }
    found = {kind: [item for item, standing in standings.items() if standing is kind] for kind in said}
    return [said[kind].format(", ".join(items)) for kind, items in found.items() if items]


_WIDTHS = (12, 7, 10, 7, 7, 9, 10)
"""The widest that the seven columns get on 80 characters: numbers stay whole, and words break where they may."""
_READING = (
    "The numbers are agreement beyond chance: 1 is perfect, 0 is chance; with each, from where to where it may lie "
    "(95 %)."
)
_READING_JUDGES = (
    " People with people says whether all your raters together can be relied upon. To compare a judge with them, take "
    "the number below its own: what any two people reach on the same conversations, measured in the same way."
)


def agreement_document(agreement: Agreement, title: str, *, full: bool = False) -> Document:
    """The table, what it rests on and what its verdicts mean; with `full` all that is known."""
    blocks: list[Block] = [*texts(opening(agreement))]
    if any(entry.units for entry in agreement.items):
        reading = _READING + (_READING_JUDGES if agreement.judges and len(agreement.people) > 1 else "")
        explained = [
            LabelRow(Phrase(str(verdict.value), VERDICTS[verdict].tone), meaning)
            for verdict, meaning in _meanings(agreement)
        ]
        blocks += [_table(agreement, full=full), Text(reading, Tone.QUIET), *texts(warnings(agreement), Tone.NOT_MET)]
        blocks += [LabelRows(explained)] if explained else []
        blocks += [Bullets(found)] if (found := _needs(agreement)) else []
        blocks += texts(closing(agreement), Tone.QUIET)
        blocks += _levels(agreement)
        blocks += _again(agreement)
        blocks += _full(agreement) if full else []
    else:
        blocks += texts(closing(agreement), Tone.QUIET)
    return Document(title, blocks)


def _table(agreement: Agreement, *, full: bool) -> Table:
    # Without judges there is nothing in two of the columns.
    shown = [place for place in range(len(COLUMNS)) if agreement.judges or place not in {4, 5}]
    columns = [
        Column(
            COLUMNS[place],
            numeric=place in {1, 3, 4},
            width=_WIDTHS[place] if agreement.judges else None,
            narrow_title=COLUMNS[place].replace("Conversations", "Conver-\nsations"),
        )
        for place in shown
    ]
    rows: list[TableRow] = []
    for row in table_rows(agreement, full=full):
        name = Phrase(in_a_line(row.name, 40), Tone.QUIET if row.below else Tone.STRONG)
        cells: list[Cell] = [
            name, row.conversations, row.answers, _lines(row.people, Tone.PERSON), _lines(row.judge, Tone.NONE),
            row.missed, row.verdict,
        ]  # fmt: skip
        rows.append(TableRow([cells[place] for place in shown], indent=row.below))
    return Table(columns, rows)


def _lines(cell: tuple[str, ...], tone: Tone) -> Cell:
    """A number, and below it what it rests on."""
    return [Phrase(part, Tone.QUIET if place else tone) for place, part in enumerate(cell)] or ""


def _levels(agreement: Agreement) -> Iterator[Section]:
    """How far each judge orders conversations, and systems, as people do; not for few systems."""
    rows = [
        TableRow((entry.item.id, in_a_line(card.judge, 40), order(card.levels.unit), order(card.levels.system)))
        for entry in agreement.items
        for card in entry.cards
        if card.levels.system.number >= FEWEST_SYSTEMS
    ]
    if rows:
        heads = ("Item", "Judge", "Unit level: order one by one", "System level: order of systems")
        yield Section("Ranking systems is not rating conversations", [Table([*map(Column, heads)], rows)])


def _again(agreement: Agreement) -> Iterator[Section]:
    """Judges that were asked again, where there are no trust cards to say it: no person has rated."""
    rows = [
        TableRow((entry.item.id, in_a_line(judge, 40), retest_row(found).text, retest_alpha(found)))
        for entry in agreement.items
        for judge, found in entry.judge_retests.items()
    ]
    if rows and not agreement.people:
        heads = ("Item", "Judge", "The same each time", "Agreement of the repeats")
        yield Section("Same answer when asked again", [Table([*map(Column, heads)], rows)])


def _full(agreement: Agreement) -> Iterator[Section]:
    """Everything that is known about each item, and how far judges agree with each other."""
    for entry in agreement.items:
        name = f"{entry.item.id} {entry.item.title}".rstrip()
        if people := list(people_rows(entry)):
            yield Section(in_a_line(f"{name}: your raters"), [LabelRows(people)])
        for card in entry.cards:
            verdict = Text(sentence(card), VERDICTS[card.ruling.verdict].tone)
            yield Section(in_a_line(f"{name}: {card.judge}"), [verdict, LabelRows(list(card_rows(card)))])
    rows = [
        TableRow(
            (entry.item.id, f"{in_a_line(pair.first, 30)} and {in_a_line(pair.second, 30)}", single(pair.agreement))
        )
        for entry in agreement.items
        for pair in entry.judge_pairs
    ]
    if rows:
        heads = ("Item", "Judges", "How far they agree")
        yield Section("Judges with judges", [Table([*map(Column, heads)], rows)])


def agreement_record(agreement: Agreement, *, instrument: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """All that is known, the parts included."""
    record = _plain(agreement)
    for entry, found in zip(record["items"], agreement.items, strict=True):
        for card, made in zip(entry["cards"], found.cards, strict=True):
            del card["item"], card["people"]  # the entry has both
            card["sentence"] = sentence(made)
    record["parts"] = [agreement_record(part) for part in agreement.parts]
    return record if instrument is None else {"instrument": dict(instrument), **record}


# What `--json` calls some fields. Programs read these keys, so they stay as they are.
_KEYS = {
    "alt_test": "stand_in",
    "baselines": "rivals",
    "best_baseline": "best_rival",
    "detection": "missed",
    "gap_to_half": "half",
    "judge_pairs": "judges",
    "judge_retests": "judges_again",
    "margin": "ahead",
    "people_kappa": "single",
    "retest": "again",
    "status": "standing",
    "with_people": "held",
}


def _plain(value: Any) -> Any:
    """Results, their parts and numbers as JSON has them."""
    named: Any = getattr(value, "_asdict", None)
    if named is not None:
        return {_KEYS.get(name, name): _plain(part) for name, part in named().items()}
    match value:
        case Undefined():
            return {"undefined": value.reason}
        case Agreement():
            return {part.name: _plain(getattr(value, part.name)) for part in fields(value) if part.name != "parts"}
        case Enum():
            return value.value
        case Mapping():
            return {str(name): _plain(part) for name, part in cast("Mapping[Any, Any]", value).items()}
        case tuple() | list():
            return [_plain(part) for part in cast("list[Any]", value)]
        case _:
            return value

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

from attunement.analysis.reliability import FEWEST_SYSTEMS, ReliabilityStatus
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
    people: tuple[str, ...]  # the figure and its interval
    judge: tuple[str, ...]  # the figure, its interval, and what people reach with each other on the same conversations
    missed: str
    verdict: Phrase
    below: int = 0  # how far the row is set in: 0 for an item


def table_rows(agreement: Agreement, *, full: bool = False) -> Iterator[AgreementRow]:
    for place, entry in enumerate(agreement.items):
        yield from _item_rows(entry, agreement, entry.item.id, 0, full=full)
        for part in agreement.parts:
            if part.items[place].units:
                yield from _item_rows(part.items[place], agreement, part.part, 1, full=False)


def _item_rows(
    entry: ItemAgreement, agreement: Agreement, name: str, below: int, *, full: bool
) -> Iterator[AgreementRow]:
    people, cards = entry.people, list(entry.cards)
    people_cell = (NONE, "one rater") if people.people == 1 else (NONE,)
    if isinstance(people.alpha, Alpha):
        people_cell = _filled(format_number(people.alpha.value), format_interval(people.interval))
    first = (name, f"{entry.conversations:,}" if entry.units else NONE, common_answers(entry), people_cell)
    if len(agreement.judges) == 1 and cards:
        yield AgreementRow(*first, *_judge_cells(cards.pop()), below)
    else:
        status = RELIABILITY[people.status] if people.people else Phrase("no person rated", Tone.OPEN)
        yield AgreementRow(*first, (), "", Phrase("") if cards else status, below)
    for card in cards:
        yield AgreementRow(card.judge, "", "", (), *_judge_cells(card), below + 1)
    shown = {card.judge for card in entry.cards}
    baselines = [
        (found.value, name)
        for name, found in entry.baselines.items()
        if shown and isinstance(found, PairwiseKappa) and name not in shown
    ]
    baselines.sort(key=lambda found: -found[0])
    # In short only the best trivial judge, because the others say less.
    for value, baseline in baselines if full else baselines[:1]:
        to_beat = Phrase("to be beaten", Tone.NONE)
        yield AgreementRow(baseline, "", "", (), (format_number(value),), "", to_beat, below + 1)


def _judge_cells(card: TrustCard) -> tuple[tuple[str, ...], str, Phrase]:
    found, agreement = card.with_people, (NONE,)
    if isinstance(found.agreement, PairwiseKappa):
        people = f"people {format_number(found.people.value)}" if isinstance(found.people, PairwiseKappa) else ""
        agreement = _filled(format_number(found.agreement.value), format_interval(found.interval), people)
    missed = points(card.bias, card.item.scale) if card.detection is None else missed_failures(card.detection)
    return agreement, missed, verdict_phrase(card)


def _filled(*parts: str) -> tuple[str, ...]:
    return tuple(filter(None, parts))


def opening(agreement: Agreement) -> list[str]:
    people, judges = len(agreement.people), len(agreement.judges)
    most = sorted(agreement.professions.items(), key=lambda stated: (-stated[1], stated[0]))
    kinds = ", ".join(f"{number} × {profession}" for profession, number in most)
    sentences = [
        f"{pluralize(agreement.conversations, 'conversation')}, {pluralize(people, 'person', 'people')}"
        f"{f' ({kinds})' if kinds else ''}, {pluralize(judges, 'judge')}"
        + (f": {', '.join(agreement.judges)}." if judges == 1 else ".")
    ]
    if not any(entry.units for entry in agreement.items):
        sentences.append("Nobody has rated anything here, so there is nothing to compare.")
    elif not any(entry.answers.get(word) for entry in agreement.items for word in entry.item.scale.words):
        sentences.append("There is no answer to compare: all that was asked got an error, or no answer.")
    elif not people:
        sentences.append("No person has rated anything here, so no judge can be compared with people.")
    elif people == 1:
        sentences.append(
            "Only one person has rated, so how far people agree is not known, and no judge gets a verdict."
        )
    return sentences


def closing(agreement: Agreement) -> list[str]:
    left_out = [f"Left out: {pluralize(count, 'rating')} {why}." for why, count in agreement.left_out.items()]
    return [*agreement.notes, *left_out]


def _needs(agreement: Agreement) -> list[str]:
    """What would be enough, where there is not enough data: one sentence for all items that need the same."""
    items: dict[str, list[str]] = {}
    for entry in agreement.items:
        judges: dict[str, list[str]] = {}
        for card in entry.cards:
            if card.ruling.needed:
                judges.setdefault(card.ruling.needed, []).append(card.judge)
        if not entry.cards and entry.people.needed:
            judges[f"about {entry.people.needed:,} conversations rated by two people each"] = []
        for needed, names in judges.items():
            only_some = 0 < len(names) < len(entry.cards)
            items.setdefault(needed, []).append(f"{entry.item.id} ({', '.join(names)})" if only_some else entry.item.id)
    return [f"Enough for {', '.join(names)} would be: {needed}." for needed, names in items.items()]


_WARNINGS = {
    ReliabilityStatus.DISAGREE: "Your raters disagree on {}: no judge can be compared with them there.",
    ReliabilityStatus.LITTLE_VARIATION: (
        "Nearly all answers of your raters are the same on {}: agreement beyond chance says nothing there."
    ),
}


def warnings(agreement: Agreement) -> list[str]:
    """The items on which people cannot be relied upon: no pooled number may hide them."""
    found = {
        status: [entry.item.id for entry in agreement.items if entry.people.status is status] for status in _WARNINGS
    }
    return [_WARNINGS[status].format(", ".join(items)) for status, items in found.items() if items]


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
    if not any(entry.units for entry in agreement.items):
        return Document(title, [*blocks, *texts(closing(agreement), Tone.QUIET)])
    reading = _READING + (_READING_JUDGES if agreement.judges and len(agreement.people) > 1 else "")
    cards = (card for part in (agreement, *agreement.parts) for entry in part.items for card in entry.cards)
    present = {card.ruling.verdict for card in cards}
    explained = [
        LabelRow(Phrase(str(verdict.value), VERDICTS[verdict].tone), MEANINGS[verdict])
        for verdict in Verdict
        if verdict in present
    ]
    blocks += [_table(agreement, full=full), Text(reading, Tone.QUIET), *texts(warnings(agreement), Tone.NOT_MET)]
    blocks += [LabelRows(explained)] if explained else []
    blocks += [Bullets(needs)] if (needs := _needs(agreement)) else []
    blocks += texts(closing(agreement), Tone.QUIET)
    for heading, heads, rows in _tables(agreement):
        if rows:
            blocks.append(Section(heading, [Table([*map(Column, heads)], rows)]))
    return Document(title, [*blocks, *(_details(agreement) if full else ())])


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
        # A number, and below it what it rests on.
        people, judge = (
            [Phrase(part, Tone.QUIET if place else tone) for place, part in enumerate(parts)] or ""
            for parts, tone in ((row.people, Tone.PERSON), (row.judge, Tone.NONE))
        )
        cells: list[Cell] = [name, row.conversations, row.answers, people, judge, row.missed, row.verdict]
        rows.append(TableRow([cells[place] for place in shown], indent=row.below))
    return Table(columns, rows)


def _tables(agreement: Agreement) -> Iterator[tuple[str, tuple[str, ...], list[TableRow]]]:
    """Further tables: their titles, the titles of their columns, and their rows."""
    orders = [
        TableRow((entry.item.id, in_a_line(card.judge, 40), order(card.levels.unit), order(card.levels.system)))
        for entry in agreement.items
        for card in entry.cards
        if card.levels.system.number >= FEWEST_SYSTEMS
    ]
    heads = ("Item", "Judge", "Unit level: order one by one", "System level: order of systems")
    yield "Ranking systems is not rating conversations", heads, orders
    # Where people rated, the trust cards say this.
    retests = [
        TableRow((entry.item.id, in_a_line(judge, 40), retest_row(found).text, retest_alpha(found)))
        for entry in agreement.items
        for judge, found in entry.judge_retests.items()
        if not agreement.people
    ]
    yield "Same answer when asked again", ("Item", "Judge", "The same each time", "Agreement of the repeats"), retests


def _details(agreement: Agreement) -> Iterator[Section]:
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

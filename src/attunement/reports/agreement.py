"""Agreement to be shown, and as plain data.

Seven columns say what a reader needs first. The number of a judge comes with the one that people reach with each other
on the same units: like with like.

The names in the data are those of the results in `attunement.analysis`. A number that does not exist is
`{"undefined": why}`, never null and never NaN.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import fields
from enum import Enum
from typing import Any, NamedTuple, cast

from attunement.analysis.judge_result import JudgeResult
from attunement.analysis.reliability import FEWEST_SYSTEMS, PeopleStatus
from attunement.analysis.summary import Agreement, ItemAgreement
from attunement.analysis.verdicts import Verdict
from attunement.reports.blocks import (
    Block,
    Bullets,
    Cell,
    Column,
    Document,
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
    ruling_words,
    sentence,
    single,
)
from attunement.statistics.alpha import Alpha
from attunement.statistics.estimates import Rate
from attunement.statistics.kappa import PairwiseKappa
from attunement.statistics.results import Undefined

COLUMNS = (
    "Item",
    "n",
    "How common each answer is",
    "People with people",
    "Judge with people",
    "Failures found, or bias",
    "Verdict",
)


class AgreementRow(NamedTuple):
    """One row: an item, or below it a judge, a panel, a trivial judge, or a part of the conversations."""

    name: str
    number: str  # how many units the row rests on
    answers: str
    people: tuple[str, ...]  # the figure and its interval
    judge: tuple[str, ...]  # the figure, its interval, and what people reach with each other on the same units
    missed: str
    verdict: Phrase
    below: int = 0  # how far the row is set in: 0 for an item


def table_rows(agreement: Agreement, *, full: bool = False) -> Iterator[AgreementRow]:
    for place, entry in enumerate(agreement.items):
        yield from _item_rows(entry, entry.item.id, 0, full=full)
        for part in agreement.parts:
            if part.items[place].units:
                yield from _item_rows(part.items[place], part.part, 1, full=False)


def _units(units: int, conversations: int) -> str:
    return f"{units:,}" + (f" in {conversations:,}" if conversations < units else "")


def _item_rows(entry: ItemAgreement, name: str, below: int, *, full: bool) -> Iterator[AgreementRow]:
    people = entry.people
    cell = (NONE, "one rater") if people.people == 1 else (NONE,)
    if isinstance(people.alpha, Alpha):
        some = f"n {people.units:,}" if people.units < entry.units else ""
        cell = _filled(format_number(people.alpha.value), format_interval(people.interval), some)
    first = (name, _units(entry.units, entry.conversations) if entry.units else NONE, common_answers(entry), cell)
    judges = [judge for judge in entry.judges if not judge.panel]
    if len(entry.judges) == 1 and entry.judges[0].with_people.units == entry.units:
        yield AgreementRow(*first, *_judge_cells(entry.judges[0]), below)
    else:
        status = RELIABILITY[people.status] if people.people else Phrase("no person rated", Tone.OPEN)
        yield AgreementRow(*first, (), "", status, below)
        for judge in entry.judges:
            found = judge.with_people
            number = _units(found.units, found.conversations) if found.units else NONE
            yield AgreementRow(judge.judge, number, "", (), *_judge_cells(judge), below + 1)
    baselines: dict[str, PairwiseKappa] = {}
    for judge in judges[:1]:
        for each in judge.with_people.baselines:
            if isinstance(each.agreement, PairwiseKappa):
                baselines[each.name] = each.agreement
    ranked = sorted(baselines.items(), key=lambda found: -found[1].value)
    # In short only the best trivial judge, because the others say less.
    for baseline, found in ranked if full else ranked[:1]:
        trivial = Phrase("trivial judge", Tone.NONE)
        yield AgreementRow(baseline, f"{found.units:,}", "", (), (format_number(found.value),), "", trivial, below + 1)


def _judge_cells(card: JudgeResult) -> tuple[tuple[str, ...], str, Phrase]:
    found, agreement = card.with_people, (NONE,)
    if isinstance(found.agreement, PairwiseKappa):
        people = f"two people: {format_number(found.people.value)}" if isinstance(found.people, PairwiseKappa) else ""
        runs = f"{len(found.runs)} runs" if found.runs else ""
        agreement = _filled(format_number(found.agreement.value), format_interval(found.interval), people, runs)
    missed = points(card.bias, card.item.scale)
    if (seen := card.detection) is not None:
        missed = missed_failures(seen)
        if isinstance(seen.recall, Rate) and not seen.unknowable:
            interval = format_interval(seen.recall.interval)
            missed += f"; finds {format_number(seen.recall.value)}{f' ({interval})' if interval else ''}"
    return agreement, missed, VERDICTS[card.ruling.verdict]


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
        sentences.append("There is nothing to compare: every question ended in an error or without an answer.")
    elif not people:
        sentences.append("No person has rated anything here, so no judge can be compared with people.")
    elif people == 1:
        sentences.append(
            "Only one person has rated, so how far people agree is not known, and no judge gets a verdict."
        )
    # What the figures rest on comes before them.
    return [*sentences, *agreement.notes]


def closing(agreement: Agreement) -> list[str]:
    return [f"Left out: {pluralize(count, 'rating')} {why}." for why, count in agreement.left_out.items()]


def _verdicts(agreement: Agreement) -> list[str]:
    """The verdicts with their rules, one line for all that share it."""
    shared: dict[tuple[Verdict, str], dict[str, list[str]]] = {}
    for entry in agreement.items:
        for card in entry.judges:
            if not card.panel:
                key = card.ruling.verdict, ruling_words(card.ruling)
                shared.setdefault(key, {}).setdefault(entry.item.id, []).append(card.judge)
    several = len(agreement.judges) > 1
    lines: list[str] = []
    for (_, words), items in sorted(shared.items(), key=lambda found: list(Verdict).index(found[0][0])):
        names = [f"{item} ({', '.join(judges)})" if several else item for item, judges in items.items()]
        lines.append(f"{', '.join(names)}: {words}")
    return lines


_WARNINGS = {
    "disagree": "Your raters disagree on {}: no judge can be compared with them there.",
    "one-sided": "Nearly all answers of your raters are the same on {}: agreement beyond chance says nothing there.",
}


def warnings(agreement: Agreement) -> list[str]:
    """The items on which people cannot be relied upon: no pooled number may hide them."""
    found: dict[str, list[str]] = {}
    for entry in agreement.items:
        if entry.people.people > 1 and entry.people.one_sided and entry.people.status is not PeopleStatus.AGREE:
            found.setdefault("one-sided", []).append(entry.item.id)
        elif entry.people.status is PeopleStatus.DISAGREE:
            found.setdefault("disagree", []).append(entry.item.id)
    return [_WARNINGS[kind].format(", ".join(items)) for kind, items in found.items()]


_WIDTHS = (12, 6, 10, 8, 8, 10, 10)
"""The widest that the seven columns get on 80 characters: numbers stay whole, and words break where they may."""
_READING = (
    "The numbers are agreement beyond chance with 95 % intervals: below 0.2 slight, below 0.4 fair, below 0.6 "
    "moderate, below 0.8 substantial, else almost perfect. n counts the rated units that a row compares."
)
_READING_JUDGES = (
    " Compare a judge with what two people reach on the same units; “People with people” is about all "
    "your raters together."
)


def agreement_document(agreement: Agreement, title: str, *, full: bool = False) -> Document:
    """The table, what it rests on and what its verdicts mean; with `full` all that is known."""
    blocks: list[Block] = [*texts(opening(agreement))]
    if not any(entry.units for entry in agreement.items):
        return Document(title, [*blocks, *texts(closing(agreement), Tone.QUIET)])
    reading = _READING + (_READING_JUDGES if agreement.judges and len(agreement.people) > 1 else "")
    blocks += [_table(agreement, full=full), Text(reading, Tone.QUIET), *texts(warnings(agreement), Tone.NOT_MET)]
    blocks += [Bullets(lines)] if agreement.people and (lines := _verdicts(agreement)) else []
    blocks += texts(closing(agreement), Tone.QUIET)
    for heading, heads, rows in _tables(agreement):
        if rows:
            blocks.append(Section(heading, [Table([*map(Column, heads)], rows)]))
    return Document(title, [*blocks, *(_details(agreement) if full else ())])


def _table(agreement: Agreement, *, full: bool) -> Table:
    # Without judges there is nothing in two of the columns.
    shown = [place for place in range(len(COLUMNS)) if agreement.judges or place not in {4, 5}]
    columns = [
        Column(COLUMNS[place], numeric=place in {1, 3, 4}, width=_WIDTHS[place] if agreement.judges else None)
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
        cells: list[Cell] = [name, row.number, row.answers, people, judge, row.missed, row.verdict]
        rows.append(TableRow([cells[place] for place in shown], indent=row.below))
    return Table(columns, rows)


def _tables(agreement: Agreement) -> Iterator[tuple[str, tuple[str, ...], list[TableRow]]]:
    """Further tables: their titles, the titles of their columns, and their rows."""
    orders = [
        TableRow((entry.item.id, in_a_line(card.judge, 40), order(card.levels.unit), order(card.levels.system)))
        for entry in agreement.items
        for card in entry.judges
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
        for card in entry.judges:
            yield Section(in_a_line(f"{name}: {card.judge}"), [LabelRows(list(card_rows(card)))])
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
        for card, made in zip(entry["judges"], found.judges, strict=True):
            del card["item"], card["people"]  # the entry has both
            card |= {"verdict": made.ruling.verdict.value, "sentence": sentence(made)}
    record["parts"] = [agreement_record(part) for part in agreement.parts]
    return record if instrument is None else {"instrument": dict(instrument), **record}


def _plain(value: Any) -> Any:
    named: Any = getattr(value, "_asdict", None)
    if named is not None:
        return {name: _plain(part) for name, part in named().items()}
    match value:
        case Undefined():
            return {"undefined": value.reason}
        case Agreement():
            return {part.name: _plain(getattr(value, part.name)) for part in fields(value) if part.name != "parts"}
        case Enum():
            return value.value
        case float() if math.isinf(value):
            return None  # a failure's open end
        case Mapping():
            return {str(name): _plain(part) for name, part in cast("Mapping[Any, Any]", value).items()}
        case tuple() | list():
            return [_plain(part) for part in cast("list[Any]", value)]
        case _:
            return value

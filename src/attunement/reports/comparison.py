"""Two groups of conversations compared: the findings in words, the tables, and the same as plain data.

Shares are conversations (or replies) in a hundred, means are points of the scale. A difference without an interval
says why it has none, and a difference that was not shown comes with the smallest one that would have been.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from attunement.analysis.compare import (
    Comparison,
    GroupSummary,
    Measure,
    MeasureComparison,
    MeasureKind,
    MeasureSummary,
    PassTest,
)
from attunement.conversations import Identity, UnitKind
from attunement.instruments import Instrument, Scores
from attunement.reports.blocks import Block, Bullets, Column, Document, Phrase, Row, Table, Text, Tone, texts
from attunement.reports.comparison_groups import GroupComparison
from attunement.reports.numbers import NONE, p_value, pluralize, share_words, signed
from attunement.reports.records import identity_record, instrument_record, interval_record, number_or_reason
from attunement.reports.sanitize import in_a_line
from attunement.statistics.results import FEWEST_CLUSTERS, Undefined

SHOWN = 0.05  # A corrected p-value below this is called a difference
_MOST_NAMES = 20


def comparison_document(found: GroupComparison, *, conversations: bool = True) -> Document:
    """A comparison to be shown; `conversations` says whether those that fail the gate are named."""
    comparison, instrument = found.comparison, found.comparison.instrument
    title, *how = heading_words(comparison, found.judges)
    blocks: list[Block] = [*texts(how, Tone.QUIET), Bullets(list(findings(comparison)))]
    if conversations:
        blocks += _gate_blocks(comparison)
    means = [row for row in comparison.items if not row.measure.is_share]
    shares = [row for row in comparison.items if row.measure.is_share]
    shares.sort(key=lambda row: row.measure.id not in instrument.gate_ids)
    score = [comparison.score] if comparison.score else []
    passed = [comparison.passed] if comparison.passed else []
    blocks += _measures_table(
        comparison, [*score, *comparison.categories, *means], f"Score ({scale_words(instrument)})"
    )
    many = unit_words(instrument)[1].capitalize()
    blocks += _measures_table(comparison, [*passed, *shares], f"{many} that meet it")
    blocks += _level_tables(comparison)
    return Document(title, [*blocks, *texts((*found.notes, *notes(comparison)), Tone.QUIET)])


def name_list(names: Sequence[Identity]) -> str:
    shown = ", ".join(in_a_line(str(name), 80) for name in names[:_MOST_NAMES])
    more = len(names) - _MOST_NAMES
    return f"{shown} and {more:,} more" if more > 0 else shown


def _gate_blocks(comparison: Comparison) -> Iterator[Block]:
    instrument = comparison.instrument
    for side in (comparison.first, comparison.second):
        points: list[Phrase] = []
        for entry in side.unsafe:
            items = ", ".join(f"{item} {instrument.item(item).title}" for item in entry.items)
            points.append(Phrase(f"{in_a_line(str(entry.conversation), 80)}: {items}", Tone.UNSAFE))
        if side.safety_not_judged:
            points.append(Phrase(f"safety not judged: {name_list(side.safety_not_judged)}", Tone.OPEN))
        if points:
            word = "unsafe" if instrument.scoring.threshold is not None else "flagged"
            unsafe = f"{_unsafe_share(side)} {word}" if side.safety_judged else "safety not known"
            yield Text(f"{side.name}: {unsafe}:", Tone.STRONG)
            yield Bullets(points)


# The titles of the columns behind those of the two groups, and whether they need a wide terminal.
_HEADS = (
    ("Difference (95 %)", False),
    ("p", False),
    ("Could show", True),
    ("Does not\napply", True),
    ("Not\njudged", False),
)


def _measures_table(comparison: Comparison, rows: Sequence[MeasureComparison], title: str) -> Iterator[Table]:
    """The measures with both values and their difference; nothing where not one of them has a value."""
    cells = [_cells(comparison, row) for row in rows]
    if all(each[1] == each[2] == NONE for each in cells):
        return
    filled = [place for place in range(len(_HEADS)) if any(each[3 + place] != NONE for each in cells)]
    columns = [Column(title), *(Column(side.name, True, 10) for side in (comparison.first, comparison.second))]
    columns += [Column(_HEADS[place][0], numeric=True, wide=_HEADS[place][1]) for place in filled]
    shown: list[Row] = []
    for row, each in zip(rows, cells, strict=True):
        whole = row is comparison.score or row is comparison.passed
        p = _p(comparison, row)
        tone = Tone.UNSAFE if row.measure.id in comparison.instrument.gate_ids else Tone.NONE
        if whole or (not isinstance(p, Undefined) and p < SHOWN):
            tone = Tone.STRONG
        shown.append(Row([*each[:3], *(each[3 + place] for place in filled)], tone, line_below=whole))
    yield Table(columns, shown)


def _cells(comparison: Comparison, row: MeasureComparison) -> tuple[str, ...]:
    """The measure, both values, and what `_HEADS` names."""
    measure, first, second = row.measure, row.first, row.second
    titled = measure.title != measure.id and measure.kind is MeasureKind.ITEM
    name = f"{measure.id} {measure.title}" if titled else measure.title
    if measure.above is not None:
        name = f"{name}: {measure.above + 1} or more"
    missing = [(first.na, second.na), (first.not_judged, second.not_judged)]
    counts = [f"{one:,}, {other:,}" if one or other else NONE for one, other in missing]
    values = _value_words(row, first), _value_words(row, second)
    return name, *values, difference_words(row), p_value(_p(comparison, row)), _detectable_words(row), *counts


def _p(comparison: Comparison, row: MeasureComparison) -> float | Undefined:
    return comparison.pass_test.p if comparison.pass_test and row is comparison.passed else row.corrected_p


def _level_tables(comparison: Comparison) -> Iterator[Table]:
    """How often each safety score was given: a mean would hide the replies that matter."""
    scale = comparison.instrument.scale
    for row in comparison.items:
        if row.measure.above is None or not isinstance(scale, Scores):
            continue
        heads = [*map(str, scale.answers), "not judged"]
        rows: list[Row] = []
        for side, share in ((comparison.first, row.first), (comparison.second, row.second)):
            counts = [*(share.levels.get(int(score), 0) for score in scale.answers), share.not_judged]
            rows.append(Row([side.name, *(f"{number:,}" if number else NONE for number in counts)]))
        first = Column(f"Replies with {row.measure.id} of")
        yield Table([first, *(Column(head, numeric=True) for head in heads)], rows)


def unit_words(instrument: Instrument) -> tuple[str, str]:
    return ("conversation", "conversations") if instrument.unit is UnitKind.CONVERSATION else ("reply", "replies")


def scale_words(instrument: Instrument) -> str:
    scale = instrument.scale
    return f"{scale.lowest} to {scale.highest}" if isinstance(scale, Scores) else "0 to 1"


def _amount(measure: Measure, value: float) -> str:
    return signed(100 * value, 0) if measure.is_share else signed(value)


def difference_words(row: MeasureComparison) -> str:
    """The difference with its interval, or on its own where it has none.

    A share of fewer than ten says nothing in a hundred; there the counts speak.
    """
    few = min(row.first.units, row.second.units) < FEWEST_CLUSTERS
    if isinstance(row.difference, Undefined) or (row.measure.is_share and few):
        return NONE
    value, interval = _amount(row.measure, row.difference.value), row.difference.interval
    if isinstance(interval, Undefined):
        return value
    return f"{value} ({_amount(row.measure, interval.low)} to {_amount(row.measure, interval.high)})"


def _value_words(row: MeasureComparison, summary: MeasureSummary) -> str:
    if summary.value is None:
        return NONE
    if row.measure.is_share:
        return f"{round(summary.value * summary.units):,} of {summary.units:,}"
    return f"{summary.value:.2f}"


def _detectable_words(row: MeasureComparison) -> str:
    return NONE if isinstance(row.detectable, Undefined) else _amount(row.measure, row.detectable).lstrip("+")


def heading_words(comparison: Comparison, judges: tuple[str, ...]) -> list[str]:
    first, second, pairing = comparison.first, comparison.second, comparison.pairing
    instrument = comparison.instrument
    who = f"Judged by {', '.join(judges)}. " if judges else "Judged by nobody. "
    groups = " and ".join(f"{pluralize(side.conversations, 'conversation')} of {side.name}" for side in (first, second))
    if pairing.paired:
        how = f"paired on {pairing.column}: {pluralize(pairing.scenarios, 'scenario')} in common"
        if pairing.without:
            how += f", {pluralize(pairing.without, 'conversation')} without a counterpart left out"
    else:
        how = "not paired"
    return [
        f"{second.name} compared with {first.name} ({instrument.title}, {instrument.id} {instrument.version})",
        f"{who}{groups}, {how}.",
        f"A difference above zero means that {second.name} does better than {first.name}.",
    ]


def findings(comparison: Comparison) -> Iterator[str]:
    """The answer in a few sentences, what matters most first."""
    sides = (comparison.first, comparison.second)
    if not comparison.instrument.gate:
        yield "Safety was not compared: the instrument has no safety items."
    else:
        word = "Unsafe" if comparison.instrument.scoring.threshold is not None else "Flagged"
        parts = [f"{side.name} {_unsafe_share(side)}" for side in sides]
        missing = [f"{side.name} {len(side.safety_not_judged)}" for side in sides if side.safety_not_judged]
        yield f"{word}: {', '.join(parts)}." + (f" Safety not judged: {', '.join(missing)}." if missing else "")
    if not any(row.first.units and row.second.units for row in comparison.rows):
        yield "Nothing can be compared: not a single answer of both was judged."
        return
    if comparison.score:
        yield f"{comparison.score.measure.title}: {_finding(comparison, comparison.score)}"
    if comparison.passed and comparison.pass_test:
        yield _passed(comparison, comparison.passed, comparison.pass_test)
    tested = [(row, row.corrected_p) for row in comparison.items if not isinstance(row.corrected_p, Undefined)]
    if tested:
        differ = ", ".join(f"{row.measure.id} ({difference_words(row)})" for row, p in tested if p < SHOWN)
        after = f"after Holm's correction for {pluralize(len(tested), 'item')} tested"
        yield f"Items that differ {after}: {differ}." if differ else f"No item differs {after}."


def _finding(comparison: Comparison, row: MeasureComparison) -> str:
    first, second = comparison.first.name, comparison.second.name
    difference = row.difference
    if isinstance(difference, Undefined):
        return f"not comparable, {difference.reason}."
    sizes = f"{first} {_value_words(row, row.first)}, {second} {_value_words(row, row.second)}"
    interval = difference.interval
    if isinstance(interval, Undefined):
        unsure = (
            f"How sure that is cannot be said ({interval.reason})."
            if interval.too_few
            else "It is the same everywhere, so nothing shows how far it could vary."
        )
        return f"{sizes}, a difference of {_amount(row.measure, difference.value)}. {unsure}"
    words = f"{sizes}, a difference of {difference_words(row)}"
    if interval.low > 0 or interval.high < 0:
        return f"{words}. {second} does {'better' if difference.value > 0 else 'worse'}{_could_show(row)}."
    return f"{words}. That is compatible with no difference{_could_show(row)}."


def _could_show(row: MeasureComparison) -> str:
    if isinstance(row.detectable, Undefined):
        return ""
    size = _detectable_words(row) + (" in a hundred" if row.measure.is_share else "")
    return f"; a sample like this shows one of {size} in four of five cases"


def _passed(comparison: Comparison, row: MeasureComparison, test: PassTest) -> str:
    first, second = comparison.first.name, comparison.second.name
    counts = f"{first} {_value_words(row, row.first)}, {second} {_value_words(row, row.second)}"
    if isinstance(row.difference, Undefined):
        return f"Passed: not comparable, {row.difference.reason}."
    words = f"Passed: {counts}"
    if row.first.not_judged or row.second.not_judged:
        words += f" of those with a verdict (without one: {row.first.not_judged:,} and {row.second.not_judged:,})"
    if difference_words(row) != NONE:
        words += f", a difference of {difference_words(row)} in a hundred"
    if test.pairs:
        words += (
            f". Only {first} passed in {pluralize(test.pairs.only_first, 'scenario')}, only {second} in "
            f"{test.pairs.only_second:,}"
        )
    return f"{words} ({test.test}, p {p_value(test.p)}){_could_show(row)}."


def notes(comparison: Comparison) -> Iterator[str]:
    many = unit_words(comparison.instrument)[1]
    if any(row.measure.is_share for row in comparison.items):
        yield f"Differences between shares are {many} in a hundred; what an item does not apply to is left out."
    if any(not isinstance(row.corrected_p, Undefined) for row in comparison.rows):
        yield "p of items is corrected for their number (Holm), p of scores and categories is not."
        yield "Could show: the smallest difference that a sample like this shows in four of five cases."
    else:
        yield "No difference has an interval, so these numbers describe these conversations and no others."
    for side in (comparison.first, comparison.second):
        if side.not_judged:
            counts = share_words(len(side.not_judged), side.conversations)
            yield f"Not judged, or not by all judges: {counts} of {side.name}."
    if missing := sum(row.first.not_judged + row.second.not_judged for row in comparison.items):
        yield (
            f"{pluralize(missing, 'answer is', 'answers are')} missing, because of an error or because the judge has "
            "no way to know, and enter no difference. Where many are missing, the others are no fair picture."
        )
    if unpaired := sum(row.first.unpaired + row.second.unpaired for row in comparison.items):
        yield f"{pluralize(unpaired, 'answer')} had no counterpart in the same scenario and enter no difference."


def _unsafe_share(side: GroupSummary) -> str:
    """How many of those whose safety was judged; not a word like none where it was not."""
    return share_words(len(side.unsafe), side.safety_judged) if side.safety_judged else "not known"


def comparison_record(found: GroupComparison) -> dict[str, Any]:
    """Everything a comparison holds. Differences are the second minus the first."""
    comparison = found.comparison
    test = comparison.pass_test
    return {
        "instrument": instrument_record(comparison.instrument),
        "judges": list(found.judges),
        "first": _side(comparison.first),
        "second": _side(comparison.second),
        "pairing": {**comparison.pairing._asdict(), "paired": comparison.pairing.paired},
        "score": comparison.score and _row(comparison, comparison.score),
        "passed": comparison.passed and _row(comparison, comparison.passed),
        "pass_test": test
        and {"test": test.test, "p": number_or_reason(test.p), "pairs": test.pairs and test.pairs._asdict()},
        "categories": [_row(comparison, row) for row in comparison.categories],
        "items": [_row(comparison, row) for row in comparison.items],
        "findings": list(findings(comparison)),
        "notes": [*found.notes, *notes(comparison)],
    }


def _side(side: GroupSummary) -> dict[str, Any]:
    return {
        "name": side.name,
        "conversations": side.conversations,
        "not_judged": [identity_record(name) for name in side.not_judged],
        "verdicts": {verdict.value: len(names) for verdict, names in sorted(side.verdicts.items())},
        "unsafe": [{**identity_record(entry.conversation), "items": list(entry.items)} for entry in side.unsafe],
        "safety_not_judged": [identity_record(name) for name in side.safety_not_judged],
        "needs_person": [identity_record(name) for name in side.needs_person],
    }


def _row(comparison: Comparison, row: MeasureComparison) -> dict[str, Any]:
    found = row.difference
    none = isinstance(found, Undefined)
    return {
        "id": row.measure.id,
        "kind": row.measure.kind.value,
        "title": row.measure.title,
        "is_share": row.measure.is_share,
        "good_above": row.measure.above,
        "safety": row.measure.id in comparison.instrument.gate_ids,
        "first": _summary(row.first),
        "second": _summary(row.second),
        "difference": number_or_reason(found if none else found.value),
        "interval": interval_record(found if none else found.interval),
        "p": number_or_reason(found if none else found.p),
        "p_holm": number_or_reason(row.corrected_p) if row.measure.kind is MeasureKind.ITEM else None,
        "could_show": number_or_reason(row.detectable),
        "clusters": 0 if none else found.clusters,
    }


def _summary(summary: MeasureSummary) -> dict[str, Any]:
    return {**summary._asdict(), "levels": {str(score): number for score, number in summary.levels.items()}}

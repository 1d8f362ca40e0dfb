"""Comparisons and rankings: the findings in words, the tables, and the same as plain data.

Shares are conversations (or replies) in a hundred, means are points of the scale. A difference without an interval
says why it has none, and a difference that was not shown comes with the smallest one that would have been.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from attunement.analysis.compare import (
    SHOWN,
    Comparison,
    GroupSummary,
    MeasureComparison,
    MeasureSummary,
    Pairing,
)
from attunement.analysis.measures import Basis, Measure, MeasureKind, RatedConversation, as_reported
from attunement.analysis.ranking import RankedGroup, RankedStudy, Ranking
from attunement.conversations import Identity, UnitKind
from attunement.instruments import Instrument, Scores
from attunement.reports.blocks import Block, Bullets, Column, Document, Phrase, Row, Table, Text, Tone, texts
from attunement.reports.numbers import NONE, format_number, p_value, pluralize, share_words, signed
from attunement.reports.records import identity_record, instrument_record, interval_record, number_or_reason
from attunement.reports.sanitize import in_a_line
from attunement.statistics.ppi import Estimate
from attunement.statistics.results import FEWEST_CLUSTERS, Undefined

_MOST_NAMES = 20
_BASIS = {
    Basis.JUDGE: "",
    Basis.PEOPLE: "Values are means over the people who rated.",
    Basis.CORRECTED: "Values are the judge's, corrected by people's ratings of a random sample.",
}


def name_list(names: Sequence[Identity]) -> str:
    shown = ", ".join(in_a_line(str(name), 80) for name in names[:_MOST_NAMES])
    more = len(names) - _MOST_NAMES
    return f"{shown} and {more:,} more" if more > 0 else shown


def unit_words(instrument: Instrument) -> tuple[str, str]:
    return ("conversation", "conversations") if instrument.unit is UnitKind.CONVERSATION else ("reply", "replies")


def scale_words(instrument: Instrument) -> str:
    scale = instrument.scale
    return f"{scale.lowest} to {scale.highest}" if isinstance(scale, Scores) else "0 to 1"


def measure_words(instrument: Instrument, measure: Measure) -> str:
    if measure.above is not None:
        return f"{measure.id}: replies of {measure.above + 1} or more, in a hundred"
    if measure.is_share:
        return f"{measure.title}, in a hundred"
    name = f"{measure.id}: {measure.title}" if measure.kind is MeasureKind.ITEM else measure.title
    return f"{name} ({scale_words(instrument) if measure.kind is MeasureKind.ITEM else '0 to 1'})"


def value_words(measure: Measure, value: float | None) -> str:
    if value is None:
        return NONE
    return f"{format_number(100 * value, 0)} %" if measure.is_share else format_number(value)


def estimate_cell(measure: Measure, found: Estimate | Undefined) -> str | tuple[str, str]:
    """An estimate, and below it the interval where there is one."""
    if isinstance(found, Undefined):
        return NONE
    value, interval = value_words(measure, found.value), found.interval
    if isinstance(interval, Undefined):
        return value
    return value, f"({value_words(measure, interval.low).removesuffix(' %')} to {value_words(measure, interval.high)})"


def report_note(
    measure: Measure, systems: Iterable[tuple[str, Sequence[RatedConversation], float | None]]
) -> Iterator[str]:
    """Why the report shows other numbers, in one sentence; nothing where it shows the same."""
    differing: list[str] = []
    for name, conversations, value in systems:
        shown = as_reported(measure, conversations)
        if value is not None and shown is not None and value_words(measure, shown) != value_words(measure, value):
            differing.append(
                f"{in_a_line(name, 40)} {value_words(measure, shown)} (here {value_words(measure, value)})"
            )
    if differing:
        yield (
            f"{measure.title} in the report: {', '.join(differing)}. There, only judges count, all conversations that "
            "were judged are included, and an error counts as not met."
        )


# Two groups


def comparison_document(comparison: Comparison, *, conversations: bool = True) -> Document:
    """A comparison to be shown; `conversations` says whether those that fail the gate are named."""
    instrument = comparison.instrument
    first, second = comparison.first, comparison.second
    title = f"{second.name} compared with {first.name} ({instrument.title}, {instrument.id} {instrument.version})"
    blocks: list[Block] = [*texts(_basis_words(comparison), Tone.QUIET), Bullets(list(findings(comparison)))]
    if conversations:
        blocks += _gate_blocks(comparison)
    scores = [row for row in comparison.rows if not row.measure.is_share]
    shares = [row for row in comparison.rows if row.measure.is_share]
    shares.sort(key=lambda row: (row is not comparison.passed, row.measure.id not in instrument.gate_ids))
    many = unit_words(instrument)[1].capitalize()
    blocks += _measures_table(comparison, scores, f"Score ({scale_words(instrument)})")
    blocks += _measures_table(comparison, shares, f"{many} that meet it")
    blocks += _level_tables(comparison)
    return Document(title, [*blocks, *texts((*comparison.notes, *notes(comparison)), Tone.QUIET)])


def _basis_words(comparison: Comparison) -> list[str]:
    sides = (comparison.first, comparison.second)
    groups = " and ".join(f"{pluralize(side.conversations, 'conversation')} of {side.name}" for side in sides)
    return [
        f"{_raters(comparison.raters, comparison.basis)} {groups}, {_paired(comparison.pairing)}.",
        f"A difference above zero means that {comparison.second.name} does better than {comparison.first.name}.",
    ]


def _raters(names: Sequence[str], basis: Basis) -> str:
    by = f"{'Rated' if basis is Basis.PEOPLE else 'Judged'} by {', '.join(names) or 'nobody'}."
    return f"{by} {_BASIS[basis]}".strip()


def _paired(pairing: Pairing) -> str:
    if not pairing.paired:
        return "not paired"
    how = f"paired on {pairing.column}: {pluralize(pairing.scenarios, 'scenario')} in common"
    if pairing.without:
        how += f", {pluralize(pairing.without, 'conversation')} without a counterpart left out"
    return how


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


def _measures_table(comparison: Comparison, rows: Sequence[MeasureComparison], title: str) -> Iterator[Table]:
    """The measures with both values and their difference; nothing where not one of them has a value."""
    if all(row.first.value is None and row.second.value is None for row in rows):
        return
    heads = [
        Column("Difference (95 %)", numeric=True),
        Column("p", numeric=True),
        Column("Judge\nalone", numeric=True, wide=True),
        Column("Detectable\ndifference", numeric=True, wide=True),
        Column("Does not\napply", numeric=True, wide=True),
        Column("Not\njudged", numeric=True),
    ]
    cells = [_cells(row) for row in rows]
    filled = [place for place in range(len(heads)) if any(each[place] != NONE for each in cells)]
    columns = [Column(title), *(Column(side.name, True, 10) for side in (comparison.first, comparison.second))]
    shown: list[Row] = []
    for row, each in zip(rows, cells, strict=True):
        whole = row.measure.kind in {MeasureKind.SCORE, MeasureKind.PASSED}
        tone = Tone.UNSAFE if row.measure.id in comparison.instrument.gate_ids else Tone.NONE
        if whole or (not isinstance(row.corrected_p, Undefined) and row.corrected_p < SHOWN):
            tone = Tone.STRONG
        values = (_amount_words(row, side) for side in (row.first, row.second))
        shown.append(Row([_row_name(row.measure), *values, *(each[at] for at in filled)], tone, line_below=whole))
    yield Table([*columns, *(heads[place] for place in filled)], shown)


def _row_name(measure: Measure) -> str:
    titled = measure.title != measure.id and measure.kind is MeasureKind.ITEM
    name = f"{measure.id} {measure.title}" if titled else measure.title
    return name if measure.above is None else f"{name}: {measure.above + 1} or more"


def _cells(row: MeasureComparison) -> list[str]:
    first, second = row.first, row.second
    judge = (
        NONE
        if row.basis is not Basis.CORRECTED
        else ", ".join(value_words(row.measure, side.judge) for side in (first, second))
    )
    counts = [
        f"{one:,}, {other:,}" if one or other else NONE
        for one, other in ((first.na, second.na), (first.not_judged, second.not_judged))
    ]
    return [difference_words(row), p_value(row.corrected_p), judge, _detectable_words(row), *counts]


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


def _signed(measure: Measure, value: float) -> str:
    return signed(100 * value, 0) if measure.is_share else signed(value)


def difference_words(row: MeasureComparison) -> str:
    """The difference with its interval, or on its own where it has none.

    A share of fewer than ten says nothing in a hundred; there the counts speak.
    """
    few = min(row.first.units, row.second.units) < FEWEST_CLUSTERS
    if isinstance(row.difference, Undefined) or (row.measure.is_share and few):
        return NONE
    value, interval = _signed(row.measure, row.difference.value), row.difference.interval
    if isinstance(interval, Undefined):
        return value
    return f"{value} ({_signed(row.measure, interval.low)} to {_signed(row.measure, interval.high)})"


def _amount_words(row: MeasureComparison, summary: MeasureSummary) -> str:
    """A share as counts, where each unit has one answer."""
    if summary.value is not None and row.measure.is_share and row.basis is Basis.JUDGE:
        return f"{round(summary.value * summary.units):,} of {summary.units:,}"
    return value_words(row.measure, summary.value)


def _detectable_words(row: MeasureComparison) -> str:
    return NONE if isinstance(row.detectable, Undefined) else _signed(row.measure, row.detectable).lstrip("+")


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
        yield "Nothing can be compared: no item was judged for both."
        return
    for row in (comparison.score, comparison.passed):
        if row:
            yield f"{row.measure.title}: {_finding(comparison, row)}"
    tested = [(row, row.corrected_p) for row in comparison.items if not isinstance(row.corrected_p, Undefined)]
    if tested:
        differ = ", ".join(f"{row.measure.id} ({difference_words(row)})" for row, p in tested if p < SHOWN)
        after = f"after Holm's correction for {pluralize(len(tested), 'item')} tested"
        yield f"Items that differ {after}: {differ}." if differ else f"No item differs {after}."


def _finding(comparison: Comparison, row: MeasureComparison) -> str:
    first, second, difference = comparison.first.name, comparison.second.name, row.difference
    if isinstance(difference, Undefined):
        return f"not comparable, {difference.reason}."
    words = f"{first} {_amount_words(row, row.first)}, {second} {_amount_words(row, row.second)}"
    if row.measure.is_share and (row.first.not_judged or row.second.not_judged):
        words += f" of those with a verdict (without one: {row.first.not_judged:,} and {row.second.not_judged:,})"
    interval = difference.interval
    if difference_words(row) != NONE:
        words += f", a difference of {difference_words(row)}{' in a hundred' if row.measure.is_share else ''}"
    if isinstance(interval, Undefined):
        unsure = f"There is no interval ({interval.reason})."
        return f"{words}. {unsure if interval.too_few else 'It is the same everywhere, so its variation is unknown.'}"
    if interval.low > 0 or interval.high < 0:
        said = f"{second} does {'better' if difference.value > 0 else 'worse'}"
    else:
        said = "That is compatible with no difference"
    size = _detectable_words(row) + (" in a hundred" if row.measure.is_share else "")
    return f"{words}. {said}; the smallest difference that this sample would detect 4 times in 5 is {size}."


def notes(comparison: Comparison) -> Iterator[str]:
    many = unit_words(comparison.instrument)[1]
    rows = comparison.rows
    if any(row.measure.is_share for row in comparison.items):
        yield f"Differences between shares are {many} in a hundred; what an item does not apply to is left out."
    if any(not isinstance(row.corrected_p, Undefined) for row in rows):
        yield "p of items is corrected for their number (Holm), p of scores and categories is not."
    else:
        yield "No difference has an interval, so these numbers describe these conversations and no others."
    if comparison.basis is Basis.CORRECTED and (alone := [row for row in rows if row.basis is Basis.JUDGE]):
        names = ", ".join(row.measure.id for row in alone)
        yield f"As the judge rated them, because people rated too few conversations of both: {names}."
    for side in (comparison.first, comparison.second):
        if side.not_judged:
            counts = share_words(len(side.not_judged), side.conversations)
            yield f"Not judged, or not by all judges: {counts} of {side.name}."
    if missing := sum(row.first.not_judged + row.second.not_judged for row in comparison.items):
        yield (
            f"{pluralize(missing, 'answer is', 'answers are')} missing, because of an error or because the judge has "
            "no way to know, and left out of all differences. If many are missing, the rest may be misleading."
        )
    if unpaired := sum(row.first.unpaired + row.second.unpaired for row in comparison.items):
        yield f"{pluralize(unpaired, 'answer')} had no counterpart in the same scenario and did not count."
    for row in (comparison.score, comparison.passed):
        if row:
            pairs = zip(comparison.groups, (row.first, row.second), strict=True)
            yield from report_note(row.measure, [(group.name, group.everything, side.value) for group, side in pairs])


def _unsafe_share(side: GroupSummary) -> str:
    """How many of those whose safety was judged; not a word like none where it was not."""
    return share_words(len(side.unsafe), side.safety_judged) if side.safety_judged else "not known"


def comparison_record(comparison: Comparison) -> dict[str, Any]:
    """Everything that a comparison contains. Differences are the second minus the first."""
    rows = {kind: [_row(comparison, row) for row in comparison.only(kind)] for kind in MeasureKind}
    return {
        "instrument": instrument_record(comparison.instrument),
        "judges": list(comparison.raters),
        "basis": comparison.basis.value,
        "first": _side(comparison.first),
        "second": _side(comparison.second),
        "pairing": {**comparison.pairing._asdict(), "paired": comparison.pairing.paired},
        "score": next(iter(rows[MeasureKind.SCORE]), None),
        "passed": next(iter(rows[MeasureKind.PASSED]), None),
        "categories": rows[MeasureKind.CATEGORY],
        "items": rows[MeasureKind.ITEM],
        "findings": list(findings(comparison)),
        "notes": [*comparison.notes, *notes(comparison)],
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


def measure_record(measure: Measure) -> dict[str, Any]:
    return {"measure": measure.name, "title": measure.title, "is_share": measure.is_share}


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
        "basis": row.basis.value,
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


# More than two groups


def ranking_document(ranked: RankedStudy) -> Document:
    """Tables of groups in order, one for each main measure."""
    instrument = ranked.instrument
    basis = ranked.rankings[0].basis
    blocks: list[Block] = [Text(f"{_raters(ranked.raters, basis)} {_paired(ranked.pairing).capitalize()}.", Tone.QUIET)]
    heads = [Column("Place", numeric=True), *(Column(head, numeric=True) for head in ("Conversations", "Mean (95 %)"))]
    said: list[str] = []
    for ranking in ranked.rankings:
        rows = [
            Row([group.name, _places(group), f"{group.conversations:,}", estimate_cell(ranking.measure, group.found)])
            for group in ranking.groups
        ]
        blocks.append(Table([Column("System"), *heads], rows, measure_words(instrument, ranking.measure)))
        blocks += texts(_ranking_findings(ranking))
        means = {group.name: group.found.value for group in ranking.groups}
        said += report_note(
            ranking.measure, [(group.name, group.everything, means.get(group.name)) for group in ranked.groups]
        )
    closing = [
        "Place: where a system may be, as far as the differences of all pairs show it (95 %, Holm). Name two systems "
        "to compare them item by item.",
        *ranked.notes,
        *said,
    ]
    return Document(
        f"Ranking ({instrument.title}, {instrument.id} {instrument.version})",
        [*blocks, *texts(closing, Tone.QUIET)],
    )


def _places(group: RankedGroup) -> str:
    return f"{group.best}" if group.best == group.last else f"{group.best} to {group.last}"


def _ranking_findings(ranking: Ranking) -> Iterator[str]:
    if ranking.without:
        yield f"Not ranked, because none of their conversations were judged: {', '.join(ranking.without)}."
    if other := ranking.other_judge:
        yield (
            f"Another judge would change the order with a chance of {100 * other.other_order:.0f} %, and the first "
            f"place with {100 * other.other_first:.0f} %, going by how far {other.judges} judges differ here."
        )


def ranking_record(ranked: RankedStudy) -> dict[str, Any]:
    """Everything that a ranking contains, the best first."""
    return {
        "instrument": instrument_record(ranked.instrument),
        "judges": list(ranked.raters),
        "pairing": {**ranked.pairing._asdict(), "paired": ranked.pairing.paired},
        "rankings": [
            {
                **measure_record(ranking.measure),
                "basis": ranking.basis.value,
                "systems": [
                    {
                        "name": group.name,
                        "conversations": group.conversations,
                        **estimate_record(group.found),
                        "places": [group.best, group.last],
                    }
                    for group in ranking.groups
                ],
                "not_ranked": list(ranking.without),
                "another_judge": ranking.other_judge and ranking.other_judge._asdict(),
            }
            for ranking in ranked.rankings
        ],
        "notes": list(ranked.notes),
    }


def estimate_record(found: Estimate | Undefined) -> dict[str, Any]:
    if isinstance(found, Undefined):
        return {"undefined": found.reason}
    return {"value": found.value, "interval": interval_record(found.interval)}

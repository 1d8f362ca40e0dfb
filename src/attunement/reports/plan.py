"""A plan in words and tables, and as plain data."""

from collections.abc import Iterator
from typing import Any

from attunement.analysis.planning import PASS_RATE, SCORE_SPREAD, Assured, Failures, Need, Plan
from attunement.analysis.reliability import MODERATE
from attunement.analysis.verdicts import RECALL_NEEDED
from attunement.instruments import Instrument, Scores
from attunement.reports.blocks import Block, Column, Document, Row, Section, Table, Text, Tone
from attunement.reports.numbers import pluralize
from attunement.reports.records import instrument_record
from attunement.statistics.power import LIKENESS, MOST

_SHOWN = 6  # systems or items that are named


def plan_document(plan: Plan, instrument: Instrument, place: str) -> Document:
    systems = ", ".join(f"{name} {count:,}" for name, count in list(plan.systems.items())[:_SHOWN])
    more = len(plan.systems) - _SHOWN
    intro = (
        f"{place} has {pluralize(plan.conversations, 'conversation')} ({systems}"
        f"{f' and {more:,} more systems' if more > 0 else ''}). With {instrument.id} {instrument.version}, judges have "
        f"rated {plan.by_judges:,} of them and people {plan.by_people:,}."
    )
    assured = (
        "Verdicts and comparisons: with so many conversations, 4 of 5 simulated studies came to a verdict, by the rule "
        "that attune agree and attune compare use. If a sample is split (the default of --draw), only its test half "
        "counts: draw twice as many, or use --test 1."
    )
    blocks: list[Block] = [
        Text(intro),
        Section("Means: how precise is a system's score?", list(_means(plan, instrument))),
        Section("Agreement: do people agree?", list(_agreement(plan))),
        Section("Comparison: which system is better?", list(_comparison(plan, instrument))),
    ]
    if plan.failures is not None:
        blocks.append(Section("Safety: how many failures does a judge find?", list(_safety(plan, plan.failures))))
    units = "" if plan.units <= 1 else f" with {plan.units:.1f} replies each on average"
    answers = round(100 * plan.units * len(instrument.items) * plan.raters)
    work = (
        f"100 conversations{units}, {len(instrument.items)} items and {plan.raters} raters are "
        f"{100 * plan.raters:,} readings and {answers:,} answers."
    )
    blocks += [Section("Work", [Text(work)]), Text(assured, Tone.QUIET)]
    return Document(f"Plan ({instrument.title}, {instrument.id} {instrument.version})", blocks)


def _means(plan: Plan, instrument: Instrument) -> Iterator[Block]:
    """The pass rate first, then the items, those that need most first."""
    is_score = isinstance(instrument.scale, Scores)
    rows: list[Row] = []
    for need in sorted(plan.needs, key=lambda need: (need.figure != PASS_RATE, -need.conversations)):
        points = is_score and need.figure != PASS_RATE
        width = f"{need.width:g} points" if points else f"{100 * need.width:g} in a hundred"
        rows.append(Row([need.figure, f"± {width}", f"{need.conversations:,}", _basis(need, points=points)]))
    columns = [Column("Mean of"), Column("Interval (95 %)"), Column("Conversations", numeric=True), Column("So far")]
    yield Table(columns, rows)
    yield Text(
        f"Conversations of each system; the smallest has {min(plan.systems.values()):,}. Half the width takes four "
        "times as many.",
        Tone.QUIET,
    )


def _basis(need: Need, *, points: bool) -> str:
    if need.mean is None:
        if points:
            return f"assumed: standard deviation {SCORE_SPREAD:g}, ICC of replies {LIKENESS:g}"
        return "assumed: one half, the worst case"
    mean = f"mean {need.mean:.1f}, standard deviation {need.spread:.2f}" if points else _percent(need.mean)
    applies = f", applies to {_percent(need.applies)}" if need.applies < 1 else ""
    return f"{mean} ({need.source}, {need.rated:,}){applies}"


def _agreement(plan: Plan) -> Iterator[Block]:
    columns = [
        Column("True alpha"),
        Column("Conversations", numeric=True),
        Column("If one answer\nis rare", numeric=True),
    ]
    yield Table(columns, [Row([f"{each.true:g}", _count(each), _number(each.rare)]) for each in plan.agreement])
    alike = f", replies of one with an ICC of {LIKENESS:g}" if plan.units > 1 else ""
    yield Text(
        f"{plan.raters} raters for each conversation{alike}. The verdict is whether alpha is {MODERATE:g} or more.",
        Tone.QUIET,
    )


def _comparison(plan: Plan, instrument: Instrument) -> Iterator[Block]:
    need = plan.comparison_of
    points = isinstance(instrument.scale, Scores) and need.figure != PASS_RATE
    rows = [
        Row([f"{each.true:g} points" if points else f"{100 * each.true:g} in a hundred", _count(each)])
        for each in plan.comparison
    ]
    yield Table([Column(f"True difference, {need.figure}"), Column("Conversations of each", numeric=True)], rows)
    yield Text("On different scenarios. The same scenarios for both take fewer.", Tone.QUIET)


def _safety(plan: Plan, failures: Failures) -> Iterator[Block]:
    rate = failures.rate or failures.highest
    columns = [
        Column("The judge really finds"),
        Column("Failures", numeric=True),
        Column(f"Conversations, {_percent(rate or 0.05)} failing", numeric=True),
    ]
    rows = [Row([_percent(one.true), _number(one.failures), _number(one.conversations)]) for one in plan.recall]
    yield Table(columns, rows)
    yield Text(
        f"Failures that two people found blind; the verdict is whether the judge finds {_percent(RECALL_NEEDED)} of "
        "them or more. Conversations drawn at random.",
        Tone.QUIET,
    )
    yield Text(_found(failures))
    others = plan.conversations - failures.flagged
    yield Text(
        f"It takes fewer if people rate all flagged conversations ({failures.flagged:,} here) and a random sample of "
        f"the {others:,} others: --all-flagged --draw N. The others show what the judge missed."
    )


def _found(failures: Failures) -> str:
    if failures.rate is None:
        return "Safety has not been judged yet, so the failure rate is unknown; 5 % is assumed."
    who, rated = "People" if failures.source == "people" else "Judges", pluralize(failures.rated, "conversation")
    if failures.highest is not None:
        found = f"{who} found no failure in {rated}. Up to {_percent(failures.highest)} may still fail (95 % bound)."
    else:
        found = f"{who} found a failure in {failures.found:,} of {rated}."
        if failures.source == "people":
            found = f"{found[:-1]}, an estimated {_percent(failures.rate)} of all."
    if failures.source == "people":
        return found
    return f"{found} A judge's flags may be wrong, and what it misses is not known yet."


def _count(each: Assured) -> str:
    return _number(each.conversations)


def _number(count: int | None) -> str:
    return f"not with {MOST:,}" if count is None else f"{count:,}"


def _percent(share: float) -> str:
    percent = 100 * share
    return f"{percent:.0f} %" if percent >= 10 or percent == round(percent) else f"{percent:.1f} %"


def plan_record(plan: Plan, instrument: Instrument) -> dict[str, Any]:
    """A plan as plain data; a number that is null cannot be settled with 10,000 conversations."""
    lists = ("needs", "agreement", "comparison", "recall")
    return {
        "instrument": instrument_record(instrument),
        **plan._asdict(),
        **{name: [entry._asdict() for entry in getattr(plan, name)] for name in lists},
        "comparison_of": plan.comparison_of.figure,
        "failures": plan.failures and plan.failures._asdict(),
    }

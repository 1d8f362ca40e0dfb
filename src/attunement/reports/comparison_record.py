"""A comparison as plain data, for `--json`: numbers where there are some, and the reason where there are none."""

from typing import Any

from attunement.agreement.comparison import Comparison, Row, Share, Side
from attunement.agreement.comparison_measures import Kind
from attunement.agreement.results import Interval, Undefined
from attunement.reports.comparison_scope import Compared
from attunement.reports.comparison_wording import findings, notes
from attunement.reports.records import identity_record, instrument_record


def comparison_record(found: Compared) -> dict[str, Any]:
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


def number_or_reason(value: float | Undefined) -> float | dict[str, str]:
    """The number, or why there is none."""
    return {"undefined": value.reason} if isinstance(value, Undefined) else value


def interval_record(interval: Interval | Undefined) -> dict[str, Any]:
    """The interval with its level and method, or why there is none."""
    return {"undefined": interval.reason} if isinstance(interval, Undefined) else interval._asdict()


def _side(side: Side) -> dict[str, Any]:
    return {
        "name": side.name,
        "conversations": side.conversations,
        "not_judged": [identity_record(name) for name in side.not_judged],
        "verdicts": {verdict.value: len(names) for verdict, names in sorted(side.verdicts.items())},
        "unsafe": [{**identity_record(entry.conversation), "items": list(entry.items)} for entry in side.unsafe],
        "safety_not_judged": [identity_record(name) for name in side.safety_not_judged],
        "needs_person": [identity_record(name) for name in side.needs_person],
    }


def _row(comparison: Comparison, row: Row) -> dict[str, Any]:
    difference = row.difference
    return {
        "id": row.measure.id,
        "kind": row.measure.kind.value,
        "title": row.measure.title,
        "is_share": row.measure.is_share,
        "good_above": row.measure.above,
        "safety": row.measure.id in comparison.instrument.gate_ids,
        "first": _share(row.first),
        "second": _share(row.second),
        "difference": number_or_reason(difference if isinstance(difference, Undefined) else difference.value),
        "interval": interval_record(difference if isinstance(difference, Undefined) else difference.interval),
        "p": number_or_reason(difference if isinstance(difference, Undefined) else difference.p),
        "p_holm": number_or_reason(row.corrected_p) if row.measure.kind is Kind.ITEM else None,
        "could_show": number_or_reason(row.detectable),
        "clusters": 0 if isinstance(difference, Undefined) else difference.clusters,
    }


def _share(share: Share) -> dict[str, Any]:
    return {**share._asdict(), "levels": {str(score): number for score, number in share.levels.items()}}

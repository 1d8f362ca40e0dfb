"""Scorecards, overviews and single conversations as plain data, for `--json`."""

from typing import Any

from attunement.conversations import Identity
from attunement.instruments import Instrument
from attunement.ratings import Outcome, Rating
from attunement.reports.overview import Overview, Sheet, Tally
from attunement.scoring import Flips, Scorecard, Slot, SlotFinding
from attunement.statistics.results import Interval, Undefined


def instrument_record(instrument: Instrument) -> dict[str, Any]:
    """Which instrument scored, and how."""
    return {
        "id": instrument.id,
        "version": instrument.version,
        "hash": instrument.hash,
        "threshold": instrument.scoring.threshold,
    }


def identity_record(identity: Identity) -> dict[str, str]:
    """The two names of a conversation."""
    return {"system": identity.system, "id": identity.id}


def number_or_reason(value: float | Undefined) -> float | dict[str, str]:
    """The number, or why there is none."""
    return {"undefined": value.reason} if isinstance(value, Undefined) else value


def interval_record(interval: Interval | Undefined) -> dict[str, Any]:
    """The interval with its level and method, or why there is none."""
    return {"undefined": interval.reason} if isinstance(interval, Undefined) else interval._asdict()


def card_record(card: Scorecard) -> dict[str, Any]:
    """A scorecard with every outcome."""
    return {
        **identity_record(card.conversation),
        "rater": card.rater,
        "repeat": card.repeat,
        "members": list(card.members),
        "verdict": card.verdict.value,
        "score": card.score,
        "range": list(card.range) if card.range else None,
        "score_without_contested": card.uncontested,
        "categories": dict(card.categories),
        "failed": [_slot(slot) for slot in card.failed],
        "unsafe": [_slot(slot) for slot in card.unsafe],
        "safety_not_judged": [_slot(slot) for slot in card.unjudged],
        "open": [_slot(slot) for slot in card.open],
        "not_due": list(card.not_due),
        "needs_person": bool(card.needs_person),
        "rules": [_spoken(spoken) for spoken in card.findings],
        "outcomes": [_slot(slot) | outcome_record(outcome) for slot, outcome in card.outcomes.items()],
    }


def outcome_record(outcome: Outcome) -> dict[str, Any]:
    """An outcome in its three parts."""
    return {"state": outcome.state.value, "value": outcome.value, "error": outcome.error and outcome.error.value}


def rating_record(rating: Rating) -> dict[str, Any]:
    """What one rater said about one item, with the evidence."""
    return {
        "turn": rating.turn,
        "item": rating.item,
        "rater": rating.rater,
        "rater_kind": rating.rater_kind.value,
        "repeat": rating.repeat,
        **outcome_record(rating.outcome),
        "reasoning": rating.reasoning,
        "evidence": list(rating.evidence),
        "rules": [finding._asdict() for finding in rating.rules],
        "marks": sorted(rating.marks),
        "detail": rating.detail,
        "at": rating.at,
    }


def tally_record(tally: Tally) -> dict[str, Any]:
    """Counts; `unsafe` and `safety not judged` stand apart as the verdicts do."""
    return {
        "conversations": tally.conversations,
        "not_judged": tally.absent,
        "verdicts": {verdict.value: count for verdict, count in sorted(tally.verdicts.items())},
        "passed": tally.passed,
        "needs_person": tally.needs_person,
        "safety_judged": tally.safety_judged,
    }


def overview_record(shown: Overview) -> dict[str, Any]:
    """All sheets with their scorecards."""
    return {
        "instrument": instrument_record(shown.instrument),
        "raters": [_sheet(sheet) for sheet in shown.sheets],
        "asked_again": {rater: _flips(items) for rater, items in shown.again.items()},
        "between_judges": _flips(shown.between),
        "cautions": shown.cautions,
        "rule_check": shown.rule_check.record(),
    }


def _sheet(sheet: Sheet) -> dict[str, Any]:
    answers = {
        item: {str(given): number for given, number in sorted(count.items(), key=lambda pair: str(pair[0]))}
        for item, count in sheet.tally.answers.items()
    }
    return {
        "rater": sheet.who.rater,
        "repeat": sheet.who.repeat,
        "kind": sheet.who.kind.value,
        "members": list(sheet.members),
        "counts": tally_record(sheet.tally),
        "systems": {system: tally_record(tally) for system, tally in sheet.systems.items()},
        "answers": answers,
        "scorecards": [card_record(card) for card in sheet.cards],
        "left_out": sheet.left_out,
        "not_judged": [identity_record(identity) for identity in sheet.absent],
    }


def _flips(items: dict[str, Flips]) -> dict[str, dict[str, int]]:
    return {item: count._asdict() for item, count in items.items()}


def _slot(slot: Slot) -> dict[str, Any]:
    return slot._asdict()


def _spoken(spoken: SlotFinding) -> dict[str, Any]:
    return {"rated": _slot(spoken.slot), **spoken.finding._asdict()}

"""Scorecards, overviews and single conversations as plain data, for `--json`."""

from typing import Any

from attunement.conversations import Identity
from attunement.instruments import Instrument
from attunement.ratings import Outcome, Rating
from attunement.reports.overview import Overview, RaterScores, Tally
from attunement.scoring import Flips, Scorecard
from attunement.statistics.results import Interval, Undefined


def instrument_record(instrument: Instrument) -> dict[str, Any]:
    return {
        "id": instrument.id,
        "version": instrument.version,
        "hash": instrument.hash,
        "threshold": instrument.scoring.threshold,
    }


def identity_record(identity: Identity) -> dict[str, str]:
    return {"system": identity.system, "id": identity.id}


def number_or_reason(value: float | Undefined) -> float | dict[str, str]:
    """The number, or why there is none."""
    return {"undefined": value.reason} if isinstance(value, Undefined) else value


def interval_record(interval: Interval | Undefined) -> dict[str, Any]:
    """The interval with its level and method, or why there is none."""
    return {"undefined": interval.reason} if isinstance(interval, Undefined) else interval._asdict()


def card_record(card: Scorecard) -> dict[str, Any]:
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
        "failed": [slot._asdict() for slot in card.failed],
        "unsafe": [slot._asdict() for slot in card.unsafe],
        "safety_not_judged": [slot._asdict() for slot in card.unjudged],
        "open": [slot._asdict() for slot in card.open],
        "not_due": list(card.not_due),
        "needs_person": bool(card.needs_person),
        "rules": [{"rated": spoken.slot._asdict(), **spoken.finding._asdict()} for spoken in card.findings],
        "outcomes": [slot._asdict() | outcome_record(outcome) for slot, outcome in card.outcomes.items()],
    }


def outcome_record(outcome: Outcome) -> dict[str, Any]:
    return {"state": outcome.state.value, "value": outcome.value, "error": outcome.error and outcome.error.value}


def rating_record(rating: Rating) -> dict[str, Any]:
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
        "not_judged": tally.not_judged,
        "verdicts": {verdict.value: count for verdict, count in sorted(tally.verdicts.items())},
        "passed": tally.passed,
        "needs_person": tally.needs_person,
        "safety_judged": tally.safety_judged,
    }


def overview_record(shown: Overview) -> dict[str, Any]:
    return {
        "instrument": instrument_record(shown.instrument),
        "raters": [_rater_record(scores) for scores in shown.raters],
        "asked_again": {rater: _flips(items) for rater, items in shown.repeats.again.items()},
        "between_judges": _flips(shown.repeats.between),
        "cautions": shown.cautions,
        "rule_check": shown.rule_check.record(),
    }


def _rater_record(scores: RaterScores) -> dict[str, Any]:
    answers = {
        item: {str(given): number for given, number in sorted(count.items(), key=lambda pair: str(pair[0]))}
        for item, count in scores.tally.answers.items()
    }
    return {
        "rater": scores.who.rater,
        "repeat": scores.who.repeat,
        "kind": scores.who.kind.value,
        "members": list(scores.members),
        "counts": tally_record(scores.tally),
        "systems": {system: tally_record(tally) for system, tally in scores.systems.items()},
        "answers": answers,
        "scorecards": [card_record(card) for card in scores.cards],
        "left_out": scores.left_out,
        "not_judged": [identity_record(identity) for identity in scores.absent],
    }


def _flips(items: dict[str, Flips]) -> dict[str, dict[str, int]]:
    return {item: count._asdict() for item, count in items.items()}

"""A report as JSON with a documented schema, for other programs.

The schema is in `schemas/report.json` beside this module, and `FORMAT` is its version: a field is only ever added; one
that goes or changes its meaning makes a new version. Numbers that do not exist are null, with the reason beside them
where there is one.
"""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib.resources import files
from typing import Any

from attunement.agreement.alpha import Alpha
from attunement.agreement.results import Interval, Undefined
from attunement.agreement.single_raters import SingleRaters
from attunement.agreement.summary import Agreement, ItemAgreement
from attunement.agreement.trust import TrustCard
from attunement.instruments import Instrument
from attunement.reports.agreement_wording import sentence
from attunement.reports.comparison_baseline import decision_record
from attunement.reports.comparison_wording import findings
from attunement.reports.deciding import Decided, decided
from attunement.reports.digest import Digest, against_it
from attunement.reports.html.text import Hiding
from attunement.reports.objections import Objection
from attunement.reports.records import identity_record, instrument_record, tally_record
from attunement.reports.regressions import Baseline
from attunement.reports.scores import Estimate, Measure, SystemScores, measures
from attunement.study import Study
from attunement.version import __version__

FORMAT = 2
"""The version of the schema."""


def report_schema() -> dict[str, Any]:
    """The JSON Schema of a report."""
    return json.loads(files("attunement.reports").joinpath("schemas/report.json").read_text("utf-8"))


def json_report(study: Study, found: Digest) -> Iterator[str]:
    """The pieces of the report: what is known of the whole, then one conversation after the other."""
    # Escapes for all but ASCII: names may hold what no encoding takes.
    head = json.dumps(_head(found), indent=1, allow_nan=False)
    yield f'{head.removesuffix("}").rstrip()},\n "conversations": ['
    separator = "\n  "
    for entry in decided(study, found.report):
        yield separator + json.dumps(_conversation(study, found, entry), allow_nan=False)
        separator = ",\n  "
    yield "]\n}\n"


def _head(found: Digest) -> dict[str, Any]:
    report, top = found.report, found.report.top
    instrument = found.instrument
    return {
        "format": FORMAT,
        "attunement": __version__,
        "study": report.title,
        "made": datetime.now(UTC).date().isoformat(),
        "texts": "none" if not found.hiding.texts else "redacted" if found.hiding.redact else "all",
        "instrument": {**instrument_record(instrument), "title": instrument.title},
        "gate": {key: found.gate.record[key] for key in ("exit_code", "accepted", "reasons", "notes", "limits")},
        "summary": {
            "conversations": top.conversations,
            "not_judged": top.not_judged,
            "unsafe": top.unsafe,
            "safety_not_judged": top.safety_not_judged,
            "crisis_talk": top.crisis,
            "rule_check": {"pointed": top.pointed, "not_english": top.not_english, "measured": top.measured},
            "checked": {"sentence": top.checked.sentence, "by_people": bool(report.figures.rated_by_people)},
            "sign_off": top.sign_off or None,
            "judged_by": [found.hiding.text(name) for name in report.figures.members],
            "judged_by_people": report.figures.by_people,
        },
        "counts": tally_record(report.figures.total.tally),
        "items": _items(found),
        "systems": [_system(instrument, one) for one in found.scores],
        "agreement": found.agreement and _agreement(found.agreement, found.hiding),
        "baseline": found.baseline and _baseline(found.baseline, found.hiding),
        "cautions": report.cautions,
    }


def _items(found: Digest) -> list[dict[str, Any]]:
    tally = found.report.figures.total.tally
    return [
        {
            "id": item.id,
            "title": item.title,
            "category": item.category,
            "safety": item.id in found.instrument.gate_ids,
            "answers": {str(given): number for given, number in sorted(tally.given(item.id).items(), key=str)},
        }
        for item in found.instrument.items
    ]


def _system(instrument: Instrument, one: SystemScores) -> dict[str, Any]:
    estimates = [_estimate(measure, one.estimates.get(measure.id)) for measure in measures(instrument)]
    return {
        "name": one.name,
        "conversations": one.conversations,
        "judged": one.judged,
        "unsafe": one.unsafe,
        "safety_not_judged": one.safety_not_judged,
        "estimates": estimates,
    }


def _estimate(measure: Measure, found: Estimate | None) -> dict[str, Any]:
    return {
        **measure._asdict(),
        "value": found and found.value,
        "values": found.values if found else 0,
        **_interval(found.interval if found and found.interval else Undefined("there is none")),
    }


def _interval(found: Interval | Undefined) -> dict[str, Any]:
    known = isinstance(found, Interval)
    return {
        "low": found.low if known else None,
        "high": found.high if known else None,
        "level": found.level if known else None,
        "method": found.method if known else None,
    }


def _agreement(agreement: Agreement, hiding: Hiding) -> dict[str, Any]:
    return {
        "people": len(agreement.people),
        "conversations": agreement.conversations,
        "notes": [hiding.text(note) for note in agreement.notes],
        "items": [_item_agreement(entry, hiding) for entry in agreement.items],
    }


def _item_agreement(entry: ItemAgreement, hiding: Hiding) -> dict[str, Any]:
    alpha = entry.people.alpha
    return {
        "id": entry.item.id,
        "conversations": entry.conversations,
        "people": {
            "alpha": alpha.value if isinstance(alpha, Alpha) else None,
            "why_not": alpha.reason if isinstance(alpha, Undefined) else None,
            **_interval(entry.people.interval),
            "standing": entry.people.standing.value,
        },
        "judges": [_judge(card, hiding) for card in entry.cards],
    }


def _judge(card: TrustCard, hiding: Hiding) -> dict[str, Any]:
    held, missed = card.held, card.missed
    people = held.people.value if isinstance(held.people, SingleRaters) else None
    return {
        "name": hiding.text(card.judge),
        "kappa": held.agreement.value if isinstance(held.agreement, SingleRaters) else None,
        "why_not": held.agreement.reason if isinstance(held.agreement, Undefined) else None,
        **_interval(held.interval),
        "people_kappa": people,
        "failures": missed and missed.failures,
        "missed_failures": missed and missed.missed,
        "false_alarms": missed and missed.false_alarms,
        "verdict": card.ruling.verdict.value,
        "sentence": hiding.text(sentence(card)),
    }


def _baseline(baseline: Baseline, hiding: Hiding) -> dict[str, Any]:
    return {
        "decision": decision_record(baseline.decision),
        "findings": [hiding.text(said) for said in findings(baseline.compared.comparison)],
        "regressions": [
            {
                **identity_record(one.conversation),
                "before": one.before.value,
                "now": one.now.value,
                "items": list(one.items),
            }
            for one in baseline.regressions
        ],
        "worse_items": [row.measure.id for row in baseline.worse_items],
    }


def _conversation(study: Study, found: Digest, entry: Decided) -> dict[str, Any]:
    card, about = entry.card, entry.summary
    scenario = about.metadata.get("scenario")
    needs_reasons = card is not None and (card.failed or card.open or card.needs_person)
    against = against_it(study, found.instrument, entry, found.hiding) if needs_reasons else ()
    return {
        **identity_record(found.hiding.identity(about.identity)),
        "turns": about.turns,
        "scenario": None if scenario is None else found.hiding.text(str(scenario)),
        "verdict": card and card.verdict.value,
        "passed": bool(card and card.passed),
        "gate": entry.exit_code,
        "score": card and card.score,
        "lowest": card.range.lowest if card and card.range else None,
        "highest": card.range.highest if card and card.range else None,
        "categories": dict(card.categories) if card else {},
        "judged_by": [found.hiding.text(name) for name in card.members] if card else [],
        "objections": [_objection(one) for one in against],
    }


def _objection(one: Objection) -> dict[str, Any]:
    return {
        "item": one.slot.item,
        "turn": one.slot.turn,
        "title": one.title,
        "safety": one.safety,
        "failed": one.failed,
        "words": one.words,
        "rater": one.rater,
        "reason": one.reason,
        "quotes": [quote._asdict() for quote in one.quotes],
    }

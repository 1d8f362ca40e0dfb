"""A study for other programs: JSON with a schema, JUnit, and scores for Inspect.

The schema is in `schemas/report.json` beside this module, and `FORMAT` is its version: a field is only ever added; one
that goes or changes its meaning makes a new version. Numbers that do not exist are null, with the reason beside them
where there is one.

What failed is a failure with the judge's reason and the words it rests on. What nobody judged, what is incomplete, only
not judged or needs a person is an error, because most build servers take a skipped test for a good one. Only what does
not apply, or what a conversation is too short for, is skipped.

Each line is a record for Inspect's scorer `precomputed_scores`: the sample, the value, and why. The value is that of
the gate for the conversation alone: C (nothing stands against it), I (it failed or is unsafe), N (something is not
known). N counts as wrong in Inspect's accuracy, so what was not judged is never taken for good.
"""

import json
import re
import tempfile
from collections import Counter
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib.resources import files
from typing import Any, Literal, NamedTuple
from xml.sax.saxutils import escape, quoteattr

from attunement.analysis.reliability import PairwiseKappa
from attunement.analysis.summary import Agreement, ItemAgreement
from attunement.analysis.trust import TrustCard
from attunement.conversations.logs import EPOCH, SAMPLE
from attunement.errors import InputError
from attunement.instruments import Instrument
from attunement.reports.agreement_wording import sentence
from attunement.reports.comparison_wording import Baseline, decision_record, findings
from attunement.reports.conversation import Objection
from attunement.reports.digest import Decided, Digest, Estimate, Measure, SystemScores, against_it, decided, measures
from attunement.reports.gate import STOPPED, THROUGH, UNDECIDED
from attunement.reports.html.page import Report
from attunement.reports.html.text import Privacy
from attunement.reports.records import card_record, identity_record, instrument_record, tally_record
from attunement.reports.wording import Answer, answer, answer_phrase, score_with_range, verdict_phrase
from attunement.scoring import Scorecard, Slot
from attunement.statistics.alpha import Alpha
from attunement.statistics.results import Interval, Undefined
from attunement.store import Study
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


def _agreement(agreement: Agreement, hiding: Privacy) -> dict[str, Any]:
    return {
        "people": len(agreement.people),
        "conversations": agreement.conversations,
        "notes": [hiding.text(note) for note in agreement.notes],
        "items": [_item_agreement(entry, hiding) for entry in agreement.items],
    }


def _item_agreement(entry: ItemAgreement, hiding: Privacy) -> dict[str, Any]:
    alpha = entry.people.alpha
    return {
        "id": entry.item.id,
        "conversations": entry.conversations,
        "people": {
            "alpha": alpha.value if isinstance(alpha, Alpha) else None,
            "why_not": alpha.reason if isinstance(alpha, Undefined) else None,
            **_interval(entry.people.interval),
            "standing": entry.people.status.value,
        },
        "judges": [_judge(card, hiding) for card in entry.cards],
    }


def _judge(card: TrustCard, hiding: Privacy) -> dict[str, Any]:
    held, missed = card.with_people, card.detection
    people = held.people.value if isinstance(held.people, PairwiseKappa) else None
    return {
        "name": hiding.text(card.judge),
        "kappa": held.agreement.value if isinstance(held.agreement, PairwiseKappa) else None,
        "why_not": held.agreement.reason if isinstance(held.agreement, Undefined) else None,
        **_interval(held.interval),
        "people_kappa": people,
        "failures": missed and missed.failures,
        "missed_failures": missed and missed.missed,
        "false_alarms": missed and missed.false_alarms,
        "verdict": card.ruling.verdict.value,
        "sentence": hiding.text(sentence(card)),
    }


def _baseline(baseline: Baseline, hiding: Privacy) -> dict[str, Any]:
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


Kind = Literal["failure", "error", "skipped"]

# XML 1.0 has no way to write these, not even as references.
_IMPOSSIBLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_PIECE = 1 << 16


class Case(NamedTuple):
    """One test case."""

    classname: str
    name: str
    kind: Kind | None
    """None: it is good."""
    message: str = ""
    type: str = ""
    text: str = ""


@contextmanager
def junit_xml(
    study: Study, made: Report, *, per: Literal["conversation", "item"] = "conversation"
) -> Generator[Iterator[str]]:
    """The pieces of the file. A suite names its counts first, so its cases wait on disk until they are counted."""
    cases = (case for entry in decided(study, made) for case in _cases(study, made, entry, per=per))
    with tempfile.TemporaryFile("w+", encoding="utf-8", newline="") as waiting:
        counts: Counter[str] = Counter()
        for case in cases:
            counts[case.kind or "good"] += 1
            waiting.write(_case_xml(case))
        waiting.seek(0)
        yield _document(made, counts, iter(lambda: waiting.read(_PIECE), ""))


def _document(made: Report, counts: Counter[str], cases: Iterable[str]) -> Iterator[str]:
    instrument = made.instrument
    numbers = f'tests="{counts.total()}" failures="{counts["failure"]}" errors="{counts["error"]}" time="0"'
    skipped = f'skipped="{counts["skipped"]}"'  # Jenkins refuses this on the outer element
    yield '<?xml version="1.0" encoding="UTF-8"?>\n'
    yield f"<testsuites name={_attribute(made.title)} {numbers}>\n"
    yield f"  <testsuite name={_attribute(f'{instrument.id} {instrument.version}')} {numbers} {skipped}>\n"
    yield "    <properties>\n"
    properties = {
        "instrument": instrument.id,
        "instrument version": instrument.version,
        "instrument version mark": instrument.hash,
        "judged by": made.top.judges or "nobody",
        "checked": made.top.checked.sentence,
    }
    for name, value in properties.items():
        yield f"      <property name={_attribute(name)} value={_attribute(value)}/>\n"
    yield "    </properties>\n"
    yield from cases
    yield "  </testsuite>\n</testsuites>\n"


def _case_xml(case: Case) -> str:
    opening = f'    <testcase classname={_attribute(case.classname)} name={_attribute(case.name)} time="0"'
    if case.kind is None:
        return f"{opening}/>\n"
    kind = "" if case.kind == "skipped" else f" type={_attribute(case.type)}"
    inner = f"<{case.kind} message={_attribute(case.message)}{kind}"
    inner += f">{escape(_possible(case.text))}</{case.kind}>" if case.text else "/>"
    return f"{opening}>\n      {inner}\n    </testcase>\n"


def _attribute(text: str) -> str:
    return quoteattr(_possible(text))


def _possible(text: str) -> str:
    return _IMPOSSIBLE.sub("\ufffd", text)


def _cases(study: Study, made: Report, entry: Decided, *, per: Literal["conversation", "item"]) -> Iterator[Case]:
    against = against_it(study, made.instrument, entry, made.hiding) if _needs_reasons(entry, per) else ()
    if per == "conversation" or entry.card is None:
        yield _of_conversation(made, entry, against)
    else:
        yield from _of_items(made, entry, entry.card, against)


def _needs_reasons(entry: Decided, per: Literal["conversation", "item"]) -> bool:
    card = entry.card
    return card is not None and bool(entry.exit_code or (per == "item" and (card.failed or card.open)))


def _of_conversation(made: Report, entry: Decided, against: Iterable[Objection]) -> Case:
    system, name = made.hiding.identity(entry.summary.identity)
    if entry.card is None:
        return Case(system, name, "error", "Not judged: there is no answer yet.", "not judged")
    if entry.exit_code == THROUGH:
        return Case(system, name, None)
    verdict = verdict_phrase(entry.card).words
    score = score_with_range(entry.card, made.instrument.scoring.threshold)
    items = ", ".join(dict.fromkeys(one.slot.item for one in against))
    message = verdict + (f", score {score}" if entry.card.score is not None else "") + (f": {items}" if items else "")
    kind: Kind = "failure" if entry.exit_code == STOPPED else "error"
    return Case(system, name, kind, message, verdict, "\n\n".join(map(objection_text, against)))


def _of_items(made: Report, entry: Decided, card: Scorecard, against: Iterable[Objection]) -> Iterator[Case]:
    instrument = made.instrument
    by_slot: dict[Slot, list[Objection]] = {}
    for one in against:
        by_slot.setdefault(one.slot, []).append(one)
    system, name = made.hiding.identity(entry.summary.identity)
    for slot, outcome in card.outcomes.items():
        item = instrument.item(slot.item)
        place = item.id if slot.turn is None else f"{item.id}, reply {slot.turn}"
        title = f"{name}: {place} {item.title}"
        words = answer_phrase(instrument, item, outcome, card.rater).words
        text = "\n\n".join(map(objection_text, by_slot.get(slot, ())))
        kind: Kind | None = None
        if slot in card.failed:
            kind = "failure"
        elif slot in by_slot or answer(instrument, item, outcome) is Answer.NOT_JUDGED:
            kind = "error"
            words = next((one.words for one in by_slot.get(slot, ())), words)
        elif answer(instrument, item, outcome) is Answer.NA:
            kind = "skipped"
        yield Case(system, title, kind, words, "safety" if item.id in instrument.gate_ids else "item", text)
    for id in card.not_due:
        yield Case(system, f"{name}: {id} {instrument.item(id).title}", "skipped", "not due: the conversation is short")


def objection_text(one: Objection) -> str:
    """An objection with its reason and quotations, over several lines."""
    by = f" (according to {one.rater})" if one.rater and not one.words.endswith(f"by {one.rater}") else ""
    lines = [f"{one.place} {one.title}: {one.words}{by}"]
    if one.reason:
        lines.append(f"Reason: {one.reason}")
    lines += [f"Quoted: “{quote.text}” ({quote.standing})" for quote in one.quotes]
    return "\n".join(lines)


_VALUES = {THROUGH: "C", STOPPED: "I", UNDECIDED: "N"}


def inspect_scores(study: Study, made: Report, *, system: str | None = None) -> Iterator[str]:
    """One line of JSON for each conversation, or for each of one system.

    Raises:
        InputError: There is no such system, or two conversations would be scores of the same sample.
    """
    seen: dict[tuple[str, int | None], str] = {}
    for entry in decided(study, made):
        identity = entry.summary.identity
        if system is not None and identity.system != system:
            continue
        record = _record(study, made, entry)
        key = record["id"], record.get("epoch")
        if key in seen:
            raise InputError(
                f"Inspect knows a sample by its id alone, and {key[0]!r} occurs for {seen[key]} and {identity.system}: "
                "choose one with --inspect-system"
            )
        seen[key] = identity.system
        yield json.dumps(record) + "\n"
    if system is not None and not seen:
        raise InputError(f"{study.place} holds no conversation of a system {system!r}")


def _record(study: Study, made: Report, entry: Decided) -> dict[str, Any]:
    about = entry.summary.metadata
    card = entry.card
    record: dict[str, Any] = {"id": str(about.get(SAMPLE, entry.summary.identity.id))}
    if isinstance(about.get(EPOCH), int):
        record["epoch"] = about[EPOCH]
    against = against_it(study, made.instrument, entry, made.hiding) if entry.exit_code else ()
    words = verdict_phrase(card).words if card else "Not judged"
    return {
        **record,
        "value": _VALUES[entry.exit_code],
        "answer": words,
        "explanation": "\n\n".join([f"{words}.", *map(objection_text, against)]),
        "metadata": {
            "instrument": instrument_record(made.instrument),
            "verdict": card.verdict.value if card else None,
            "score": card and card.score,
            "categories": dict(card.categories) if card else {},
            "judged_by": [made.hiding.text(name) for name in card.members] if card else [],
            "items": _inspect_items(card_record(card)) if card else {},
            "checked": made.top.checked.sentence,
        },
    }


def _inspect_items(record: dict[str, Any]) -> dict[str, Any]:
    """Each item's value, or what there is instead of one; the reply stands behind a number sign."""
    return {
        one["item"] if one["turn"] is None else f"{one['item']}#{one['turn']}": one["value"] or one["state"]
        for one in record["outcomes"]
    }

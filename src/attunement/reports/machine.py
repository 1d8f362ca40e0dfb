"""A study for other programs: JSON with a schema, JUnit, and scores for Inspect.

The schema is in `schemas/report.json`, and `FORMAT` is its version: a field is only ever added; one that goes or
changes its meaning makes a new version. Numbers that do not exist are null, with the reason where there is one.

In JUnit what failed is a failure with the judge's reason and the words it rests on. What nobody judged, what is
incomplete or needs a person is an error, because most build servers take a skipped test for a good one. Only what does
not apply, or what a conversation is too short for, is skipped.

For Inspect each line is a record for the scorer `precomputed_scores`: the sample, the value, and why. The value is that
of the gate for the conversation alone: C (nothing speaks against it), I (it failed or is unsafe), N (something is not
known). N counts as wrong in Inspect's accuracy, so what was not judged never counts as good.
"""

import json
import re
import tempfile
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib.resources import files
from typing import Any, Literal, NamedTuple, Self
from xml.etree.ElementTree import Element, SubElement, indent, tostring
from xml.sax.saxutils import quoteattr

from attunement.analysis.judge_result import JudgeResult
from attunement.analysis.summary import Agreement
from attunement.conversations.logs import EPOCH, SAMPLE
from attunement.errors import InputError
from attunement.instruments import Instrument
from attunement.reports.baseline import Baseline, decision_record
from attunement.reports.comparison import findings
from attunement.reports.conversation import Issue
from attunement.reports.gate import STOPPED, THROUGH, UNDECIDED
from attunement.reports.gate import decision_record as gate_record
from attunement.reports.privacy import Privacy
from attunement.reports.records import identity_record, instrument_record, tally_record
from attunement.reports.study_report import Report
from attunement.reports.summary import Estimate, ReportedConversation, SystemScores, measures
from attunement.reports.trust_card import sentence
from attunement.reports.wording import Answer, answer, answer_phrase, score_with_range, verdict_phrase
from attunement.scoring import Scorecard, Slot
from attunement.statistics.alpha import Alpha
from attunement.statistics.kappa import PairwiseKappa
from attunement.statistics.results import Interval, Undefined
from attunement.version import __version__

FORMAT = 2  # the version of the schema
_PIECE = 1 << 16


class Spool:
    """Text that waits on disk until what comes before it is known."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile("w+", encoding="utf-8", newline="")  # noqa: SIM115 - closed on exit

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def read(self) -> Iterator[str]:
        self._file.seek(0)
        yield from iter(lambda: self._file.read(_PIECE), "")

    def lines(self) -> Iterator[str]:
        self._file.seek(0)
        yield from self._file

    def write(self, text: str) -> None:
        self._file.write(text)


def report_schema() -> dict[str, Any]:
    return json.loads(files("attunement.reports").joinpath("schemas/report.json").read_text("utf-8"))


class JsonReport(Spool):
    """What is known of the whole, then one conversation after the other."""

    def __init__(self) -> None:
        super().__init__()
        self._separator = "\n  "

    def add(self, reported: ReportedConversation) -> None:
        self.write(self._separator + json.dumps(_conversation(reported), allow_nan=False))
        self._separator = ",\n  "

    def pieces(self, report: Report) -> Iterator[str]:
        # Escapes for all but ASCII: names may hold what no encoding takes.
        head = json.dumps(_head(report), indent=1, allow_nan=False)
        yield f'{head.removesuffix("}").rstrip()},\n "conversations": ['
        yield from self.read()
        yield "]\n}\n"


def _head(report: Report) -> dict[str, Any]:
    summary, top, instrument, gate = report.summary, report.top, report.instrument, report.gate
    assert gate is not None  # noqa: S101 - it was decided for this form
    return {
        "format": FORMAT,
        "attunement": __version__,
        "study": report.title,
        "made": datetime.now(UTC).date().isoformat(),
        "texts": "none" if not report.hiding.texts else "redacted" if report.hiding.redact else "all",
        "instrument": {**instrument_record(instrument), "title": instrument.title},
        "gate": {key: value for key, value in gate_record(gate).items() if key != "counts"},
        "summary": {
            "conversations": top.conversations,
            "not_judged": top.not_judged,
            "unsafe": top.unsafe,
            "safety_not_judged": top.safety_not_judged,
            "crisis_talk": top.crisis,
            "rule_check": {"pointed": top.pointed, "not_english": top.not_english, "measured": top.measured},
            "checked": {"sentence": top.checked.sentence, "by_people": bool(summary.rated_by_people)},
            "sign_off": top.sign_off or None,
            "judged_by": [report.hiding.text(name) for name in summary.members],
            "judged_by_people": summary.by_people,
        },
        "counts": tally_record(summary.total.tally),
        "items": [
            {
                "id": item.id,
                "title": item.title,
                "category": item.category,
                "safety": item.id in instrument.gate_ids,
                "answers": {
                    str(given): number for given, number in sorted(summary.total.tally.given(item.id).items(), key=str)
                },
            }
            for item in instrument.items
        ],
        "systems": [_system(instrument, one) for one in report.scores],
        "agreement": report.agreement and _agreement(report.agreement, report.hiding),
        "baseline": report.baseline and _baseline(report.baseline, report.hiding),
        "cautions": report.cautions,
    }


def _system(instrument: Instrument, one: SystemScores) -> dict[str, Any]:
    estimates: list[dict[str, Any]] = []
    for measure in measures(instrument):
        found = one.estimates.get(measure.id) or Estimate(None, None, 0)
        numbers = {"value": found.value, "values": found.values, **_interval(found.interval)}
        estimates.append(measure._asdict() | numbers)
    return {**one._asdict(), "estimates": estimates}


def _interval(found: Interval | Undefined | None) -> dict[str, Any]:
    names = ("low", "high", "level", "method")
    return {name: getattr(found, name) if isinstance(found, Interval) else None for name in names}


def _agreement(agreement: Agreement, hiding: Privacy) -> dict[str, Any]:
    items: list[dict[str, Any]] = []
    for entry in agreement.items:
        alpha = entry.people.alpha
        people = {
            "alpha": alpha.value if isinstance(alpha, Alpha) else None,
            "why_not": alpha.reason if isinstance(alpha, Undefined) else None,
            **_interval(entry.people.interval),
            "standing": entry.people.status.value,
        }
        judges = [_judge(card, hiding) for card in entry.judges if not card.panel]
        items.append({"id": entry.item.id, "conversations": entry.conversations, "people": people, "judges": judges})
    return {
        "people": len(agreement.people),
        "conversations": agreement.conversations,
        "notes": [hiding.text(note) for note in agreement.notes],
        "items": items,
    }


def _judge(card: JudgeResult, hiding: Privacy) -> dict[str, Any]:
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
        "findings": [hiding.text(said) for said in findings(baseline.compared)],
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


def _conversation(reported: ReportedConversation) -> dict[str, Any]:
    card, about, privacy = reported.card, reported.conversation, reported.privacy
    scenario = about.metadata.get("scenario")
    needs_reasons = card is not None and (card.failed or card.open or card.needs_person)
    return {
        **identity_record(privacy.identity(about.identity)),
        "turns": about.turns,
        "scenario": None if scenario is None else privacy.text(str(scenario)),
        "verdict": card and card.verdict.value,
        "passed": bool(card and card.passed),
        "gate": reported.exit_code,
        "score": card and card.score,
        "lowest": card.range.lowest if card and card.range else None,
        "highest": card.range.highest if card and card.range else None,
        "categories": dict(card.categories) if card else {},
        "judged_by": [privacy.text(name) for name in card.members] if card else [],
        "objections": [_issue_record(one) for one in reported.issues] if needs_reasons else [],
    }


def _issue_record(one: Issue) -> dict[str, Any]:
    record = one._asdict() | {"quotes": [{"text": quote.text, "standing": quote.standing} for quote in one.quotes]}
    del record["slot"]
    return {"item": one.slot.item, "turn": one.slot.turn, **record}


# JUnit

Kind = Literal["failure", "error", "skipped"]

# XML 1.0 has no way to write these, not even as references.
_IMPOSSIBLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class Case(NamedTuple):
    classname: str
    name: str
    kind: Kind | None  # None: it is good
    message: str = ""
    type: str = ""
    text: str = ""


class JUnitReport(Spool):
    """A JUnit file. A suite names its counts first, so its cases wait until they are counted."""

    def __init__(self, per: Literal["conversation", "item"] = "conversation") -> None:
        super().__init__()
        self._per: Literal["conversation", "item"] = per
        self._counts = Counter[str]()

    def add(self, reported: ReportedConversation) -> None:
        card = reported.card
        by_item = _of_items(reported, card) if card and self._per == "item" else None
        for case in by_item or [_of_conversation(reported)]:
            self._counts[case.kind or "good"] += 1
            self.write(_case_xml(case))

    def pieces(self, report: Report) -> Iterator[str]:
        instrument, counts = report.instrument, self._counts
        numbers = f'tests="{counts.total()}" failures="{counts["failure"]}" errors="{counts["error"]}" time="0"'
        skipped = f'skipped="{counts["skipped"]}"'  # Jenkins refuses this on the outer element
        yield '<?xml version="1.0" encoding="UTF-8"?>\n'
        yield f"<testsuites name={_attribute(report.title)} {numbers}>\n"
        yield f"  <testsuite name={_attribute(f'{instrument.id} {instrument.version}')} {numbers} {skipped}>\n"
        yield "    <properties>\n"
        properties = {
            "instrument": instrument.id,
            "instrument version": instrument.version,
            "instrument version mark": instrument.hash,
            "judged by": report.top.judges or "nobody",
            "checked": report.top.checked.sentence,
        }
        for name, value in properties.items():
            yield f"      <property name={_attribute(name)} value={_attribute(value)}/>\n"
        yield "    </properties>\n"
        yield from self.read()
        yield "  </testsuite>\n</testsuites>\n"


def _case_xml(case: Case) -> str:
    made = Element("testcase", classname=_possible(case.classname), name=_possible(case.name), time="0")
    if case.kind:
        found = SubElement(made, case.kind, message=_possible(case.message))
        if case.kind != "skipped":
            found.set("type", _possible(case.type))
        found.text = _possible(case.text) or None
    indent(made, "  ", level=2)
    return f"    {tostring(made, 'unicode')}\n"


def _attribute(text: str) -> str:
    return quoteattr(_possible(text))


def _possible(text: str) -> str:
    return _IMPOSSIBLE.sub("\ufffd", text)


def _of_conversation(reported: ReportedConversation) -> Case:
    system, name = reported.privacy.identity(reported.conversation.identity)
    card = reported.card
    if card is None:
        return Case(system, name, "error", "Not judged: there is no answer yet.", "not judged")
    if reported.exit_code == THROUGH:
        return Case(system, name, None)
    verdict = verdict_phrase(card).words
    score = score_with_range(card, reported.instrument.scoring.threshold)
    items = ", ".join(dict.fromkeys(one.slot.item for one in reported.issues))
    message = verdict + (f", score {score}" if card.score is not None else "") + (f": {items}" if items else "")
    kind: Kind = "failure" if reported.exit_code == STOPPED else "error"
    return Case(system, name, kind, message, verdict, "\n\n".join(map(issue_text, reported.issues)))


def _of_items(reported: ReportedConversation, card: Scorecard) -> Iterator[Case]:
    instrument = reported.instrument
    by_slot: dict[Slot, list[Issue]] = {}
    for one in reported.issues if reported.exit_code or card.failed or card.open else ():
        by_slot.setdefault(one.slot, []).append(one)
    system, name = reported.privacy.identity(reported.conversation.identity)
    for slot, outcome in card.outcomes.items():
        item = instrument.item(slot.item)
        meaning = answer(instrument, item, outcome)
        place = item.id if slot.turn is None else f"{item.id}, reply {slot.turn}"
        words = answer_phrase(instrument, item, outcome, card.rater).words
        found = by_slot.get(slot, [])
        kind: Kind | None = None
        if slot in card.failed:
            kind = "failure"
        elif found or meaning in {Answer.NOT_JUDGED, Answer.DISPUTED}:
            kind = "error"
            words = found[0].words if found else words
        elif meaning is Answer.NA:
            kind = "skipped"
        type = "safety" if item.id in instrument.gate_ids else "item"
        yield Case(system, f"{name}: {place} {item.title}", kind, words, type, "\n\n".join(map(issue_text, found)))
    for id in card.not_due:
        yield Case(system, f"{name}: {id} {instrument.item(id).title}", "skipped", "not due: the conversation is short")


def issue_text(one: Issue) -> str:
    """An issue with its reason and quotations, over several lines."""
    by = f" (according to {one.rater})" if one.rater and not one.words.endswith(f"by {one.rater}") else ""
    lines = [f"{one.place} {one.title}: {one.words}{by}"]
    if one.reason:
        lines.append(f"Reason: {one.reason}")
    lines += [f"Quoted: “{quote.text}” ({quote.standing})" for quote in one.quotes]
    return "\n".join(lines)


# Inspect

_VALUES = {THROUGH: "C", STOPPED: "I", UNDECIDED: "N"}


class InspectScores(Spool):
    """One line of JSON for each conversation, or for each of one system."""

    def __init__(self, system: str | None = None) -> None:
        super().__init__()
        self._system, self._problem = system, ""
        self._seen: dict[tuple[str, int | None], str] = {}

    def add(self, reported: ReportedConversation) -> None:
        identity = reported.conversation.identity
        if self._problem or (self._system is not None and identity.system != self._system):
            return
        record = _inspect_record(reported)
        key = record["id"], record.get("epoch")
        if key in self._seen:
            self._problem = (
                f"Inspect knows a sample by its id alone, and {key[0]!r} occurs for {self._seen[key]} and "
                f"{identity.system}: choose one with --inspect-system"
            )
        self._seen[key] = identity.system
        self.write(json.dumps(record) + "\n")

    def pieces(self, report: Report) -> Iterator[str]:
        """The lines.

        Raises:
            InputError: There is no such system, or two conversations would be scores of the same sample.
        """
        if self._system is not None and not self._seen:
            raise InputError(f"{report.study.place} holds no conversation of a system {self._system!r}")
        if self._problem:
            raise InputError(self._problem)
        for line in self.lines():
            record = json.loads(line)
            record["metadata"]["checked"] = report.top.checked.sentence
            yield json.dumps(record) + "\n"


def _inspect_record(reported: ReportedConversation) -> dict[str, Any]:
    about, card, privacy = reported.conversation.metadata, reported.card, reported.privacy
    record: dict[str, Any] = {"id": str(about.get(SAMPLE, reported.conversation.identity.id))}
    if isinstance(about.get(EPOCH), int):
        record["epoch"] = about[EPOCH]
    words = verdict_phrase(card).words if card else "Not judged"
    return {
        **record,
        "value": _VALUES[reported.exit_code],
        "answer": words,
        "explanation": "\n\n".join([f"{words}.", *(map(issue_text, reported.issues) if reported.exit_code else ())]),
        "metadata": {
            "instrument": instrument_record(reported.instrument),
            "verdict": card.verdict.value if card else None,
            "score": card and card.score,
            "categories": dict(card.categories) if card else {},
            "judged_by": [privacy.text(name) for name in card.members] if card else [],
            # Each item's value, or what there is instead of one; the number of the reply comes after a number sign
            "items": {
                slot.item if slot.turn is None else f"{slot.item}#{slot.turn}": outcome.value or outcome.state.value
                for slot, outcome in (card.outcomes.items() if card else ())
            },
        },
    }

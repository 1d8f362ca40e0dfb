"""A study as a JUnit file, which build servers read: one test case for each conversation, or for each item of it.

What failed is a failure with the judge's reason and the words it rests on. What nobody judged, what is incomplete, only
not judged or needs a person is an error, because most build servers take a skipped test for a good one. Only what does
not apply, or what a conversation is too short for, is skipped.
"""

import re
import tempfile
from collections import Counter
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from typing import Literal, NamedTuple
from xml.sax.saxutils import escape, quoteattr

from attunement.reports.deciding import Decided, decided
from attunement.reports.digest import against_it
from attunement.reports.gate import STOPPED, THROUGH
from attunement.reports.html.page import Report
from attunement.reports.objections import Objection
from attunement.reports.wording import Answer, answer, answer_phrase, score_with_range, verdict_phrase
from attunement.scoring import Scorecard, Slot
from attunement.study import Study

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

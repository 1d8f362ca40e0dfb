"""What all forms of a report rest on, computed once: scores by system, and the gate's decision per conversation.

The forms of a report for other programs all begin here, so that no two of them can disagree. A decision that
`attune gate --json` printed can be read back: then a summary shows what the gate really decided, limits and all.

Pass rates and shares of conversations have exact intervals, means have cluster-robust ones over conversations; below
ten conversations there is none. A safety score has no mean: what counts is the share of low ones.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from heapq import nsmallest
from pathlib import Path
from typing import Any, NamedTuple, cast

from attunement.analysis.summary import Agreement, study_agreement
from attunement.conversations import Identity, UnitKind
from attunement.errors import InputError, StudyError
from attunement.instruments import Instrument, Item, Scores
from attunement.reports.comparison_wording import Baseline, against
from attunement.reports.conversation import Objection, objections, view
from attunement.reports.gate import (
    STOPPED,
    THROUGH,
    UNDECIDED,
    Decision,
    Entry,
    Kind,
    Limits,
    Reason,
    caveats,
    crisis_talk,
    decide,
    decision_record,
    entries,
    reason_record,
    version_note,
)
from attunement.reports.html.figures import Moments, Share, answered, low_limit, status_of
from attunement.reports.html.page import Report
from attunement.reports.html.summary import OTHERS
from attunement.reports.html.text import SHOW_ALL, Privacy, kept_by_key
from attunement.reports.overview import Tally, reworded
from attunement.reports.wording import Answer, answer, reworded_words
from attunement.scoring import Scorecard
from attunement.statistics.estimates import proportion
from attunement.statistics.results import FEWEST_CLUSTERS, Interval, Undefined
from attunement.store import ConversationSummary, Study, scored_conversations


class Decided(NamedTuple):
    """A conversation and the card that decides about it; None where nobody judged it."""

    summary: ConversationSummary
    card: Scorecard | None
    exit_code: int
    """What the gate would say if this were the only conversation."""


class Gate(NamedTuple):
    """What the gate decides over a study."""

    exit_code: int
    accepted: str | None
    """What was accepted beforehand; it is said before anything else."""
    reasons: tuple[Reason, ...]
    notes: tuple[str, ...]
    record: dict[str, Any]
    """As `attune gate --json` prints it."""


WORDS = {
    THROUGH: "The gate lets this through.",
    STOPPED: "The gate stops this: something failed or is unsafe.",
    UNDECIDED: "The gate cannot decide: not everything is known.",
}


def decided(study: Study, made: Report) -> Iterator[Decided]:
    """Every conversation of a report with its deciding card, in order, with flat memory."""
    instrument = made.instrument
    for entry in scored_conversations(study, instrument):
        card = entry.deciding
        yield Decided(entry.conversation, card, alone(instrument, entry.conversation.identity, card))


def alone(instrument: Instrument, identity: Identity, card: Scorecard | None) -> int:
    """The exit code of the gate for one conversation on its own."""
    return decide([Entry(identity, card)], Limits(), instrument).exit_code


def gate_of(study: Study, instrument: Instrument) -> Gate:
    """The decision of the gate with its default limits. Where it cannot be made, it is undecided."""
    try:
        decision = decide(entries(study, instrument), Limits(), instrument)
    except StudyError as error:
        reason = Reason(Kind.NOTHING_TO_DECIDE_BY, UNDECIDED, f"The gate was not decided: {error}.")
        decision = Decision(Limits(), Tally(), (reason,))
    notes = caveats(instrument, decision, crisis_talk(study)) + version_note(study, instrument)
    if changed := reworded(study, instrument):
        notes.append(reworded_words(changed))
    record = decision_record(decision) | {"notes": notes}
    return Gate(decision.exit_code, decision.accepted, decision.reasons, tuple(notes), record)


def read_gate(path: Path, study: Study, instrument: Instrument) -> Gate:
    """The decision in a file that `attune gate --json` wrote about this study and instrument.

    Raises:
        InputError: It is no such file, or it is about something else.
    """
    try:
        record = cast("dict[str, Any]", json.loads(path.read_text("utf-8")))
        reasons = tuple(
            Reason(
                Kind(reason["kind"]),
                int(reason["exit_code"]),
                str(reason["text"]),
                tuple(Identity(str(name["system"]), str(name["id"])) for name in reason["conversations"]),
            )
            for reason in record["reasons"]
        )
        made = Gate(record["exit_code"], record["accepted"], reasons, tuple(map(str, record["notes"])), record)
        about: Any = record["instrument"] or {"hash": None}
        mark, number = about["hash"], record["counts"]["conversations"]
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from error
    except (ValueError, KeyError, TypeError, AttributeError):
        raise InputError(f"{path} is no decision of the gate: write it with attune gate --json") from None
    if made.exit_code not in WORDS:
        raise InputError(f"{path} is no decision of the gate: its exit code is {made.exit_code!r}")
    if mark != instrument.hash or number != study.conversation_count():
        raise InputError(
            f"{path} was decided on another instrument or other conversations than {study.place} holds now: run attune "
            "gate --json again"
        )
    return made


PASSED, SCORE = "passed", "score"


class Measure(NamedTuple):
    """Something that is measured for each system."""

    id: str
    title: str
    is_share: bool
    """Whether its values are shares, from 0 to 1."""


class Estimate(NamedTuple):
    """A value with its interval, where there is one."""

    value: float | None
    interval: Interval | None
    values: int
    """How many values it rests on."""


class SystemScores(NamedTuple):
    """What one system came to."""

    name: str
    conversations: int
    judged: int
    unsafe: int
    safety_not_judged: int
    """Those that nobody judged are among them."""
    estimates: dict[str, Estimate]
    """By the id of the measure."""


def measures(instrument: Instrument) -> list[Measure]:
    """What is measured with this instrument: the whole, its categories, its items."""
    found: list[Measure] = []
    if instrument.scoring.threshold is not None:
        found.append(Measure(PASSED, "Passed", True))
    if instrument.scoring.weights:
        found.append(Measure(SCORE, "Weighted score", False))
    weighted = instrument.scoring.weights
    found += [Measure(f"category_{id}", instrument.categories.get(id, id), False) for id in weighted]
    return [*found, *(_item_measure(instrument, item) for item in instrument.items)]


def _item_measure(instrument: Instrument, item: Item) -> Measure:
    if not isinstance(instrument.scale, Scores):
        return Measure(item.id, f"{item.id} {item.title}", True)
    if item.id in instrument.gate_ids:
        return Measure(item.id, f"{item.title}: {low_limit(instrument)} or less", True)
    return Measure(item.id, item.title, False)


@dataclass
class _Sums:
    tally: Tally = field(default_factory=Tally)
    judged: int = 0
    shares: dict[str, Share] = field(default_factory=dict[str, Share])
    means: dict[str, Moments] = field(default_factory=dict[str, Moments])

    def add(self, instrument: Instrument, card: Scorecard | None) -> None:
        self.tally.add(instrument, card, answers=False)
        if card is None or not answered(card):
            return
        self.judged += 1
        if instrument.scoring.threshold is not None:
            self.shares.setdefault(PASSED, Share()).add(card.passed)
        if card.score is not None:
            self.means.setdefault(SCORE, Moments()).add([card.score])
        for category, mean in card.categories.items():
            if mean is not None:
                self.means.setdefault(f"category_{category}", Moments()).add([mean])
        for item, values in _values(instrument, card):
            if instrument.unit is UnitKind.CONVERSATION and not isinstance(instrument.scale, Scores):
                self.shares.setdefault(item, Share()).add(bool(values[0]))
            else:
                self.means.setdefault(item, Moments()).add(values)


def _values(instrument: Instrument, card: Scorecard) -> Iterator[tuple[str, list[float]]]:
    """The values of each item that were judged: 1 for met, the score, or for a safety score 1 where it is low."""
    low = low_limit(instrument)
    found: dict[str, list[float]] = {}
    for slot, outcome in card.outcomes.items():
        given = answer(instrument, instrument.item(slot.item), outcome)
        if isinstance(given, int):
            counts_low = slot.item in instrument.gate_ids and low is not None
            found.setdefault(slot.item, []).append(float(given <= low) if counts_low and low else float(given))
        elif given in {Answer.MET, Answer.NOT_MET}:
            found.setdefault(slot.item, []).append(float(given is Answer.MET))
    yield from found.items()


def scores(
    instrument: Instrument, entries: Iterable[Decided], systems: Sequence[str], hiding: Privacy = SHOW_ALL
) -> list[SystemScores]:
    """The scores of each of these systems, which are named as they may be shown; all others are counted together."""
    sums = {name: _Sums() for name in systems if name != OTHERS}
    for entry in entries:
        name = hiding.name(entry.summary.identity.system)
        sums.setdefault(name if name in sums else OTHERS, _Sums()).add(instrument, entry.card)
    return [_system(name, found) for name, found in sums.items()]


def _system(name: str, sums: _Sums) -> SystemScores:
    shares = {measure: _share(share) for measure, share in sums.shares.items()}
    means = {measure: _mean(moments) for measure, moments in sums.means.items()}
    tally = sums.tally
    open_ = tally.safety_not_judged + tally.absent
    return SystemScores(name, tally.conversations, sums.judged, tally.unsafe, open_, shares | means)


def _share(share: Share) -> Estimate:
    found = proportion(share.part, share.whole)
    if isinstance(found, Undefined):
        return Estimate(None, None, 0)
    return Estimate(found.value, found.interval if share.whole >= FEWEST_CLUSTERS else None, share.whole)


def _mean(moments: Moments) -> Estimate:
    interval = moments.interval()
    return Estimate(moments.mean, None if isinstance(interval, Undefined) else interval, moments.values)


def estimate_words(measure: Measure, found: Estimate | None, *, between: str = " to ") -> str:
    """The value with its interval: a share in a hundred, or of few the counts; a mean in points; else a dash."""
    if found is None or found.value is None:
        return "–"
    if measure.is_share and found.values < FEWEST_CLUSTERS:
        return f"{round(found.value * found.values)} of {found.values}"
    if measure.is_share:
        value = f"{100 * found.value:.0f} %"
        ends = [f"{100 * end:.0f}" for end in (found.interval.low, found.interval.high)] if found.interval else []
    else:
        value = f"{found.value:.2f}"
        ends = [f"{end:.2f}" for end in (found.interval.low, found.interval.high)] if found.interval else []
    return f"{value} ({between.join(ends)})" if ends else value


MOST_EXAMPLES = 10
"""Conversations that a summary describes at most; it names how many there are beyond them."""


class Example(NamedTuple):
    """A conversation with what stands against it."""

    decided: Decided
    objections: tuple[Objection, ...]


class Digest(NamedTuple):
    """What the summaries say of a study."""

    report: Report
    gate: Gate
    scores: list[SystemScores]
    agreement: Agreement | None
    """None where no person rated."""
    baseline: Baseline | None

    @property
    def instrument(self) -> Instrument:
        """What was asked."""
        return self.report.instrument

    @property
    def hiding(self) -> Privacy:
        """What must not be shown."""
        return self.report.hiding


def digest(
    study: Study, made: Report, *, gate: Path | None = None, baseline: str | None = None, name: str | None = None
) -> Digest:
    """Count and compare what the summaries need.

    Args:
        study: What is reported.
        made: Its report, which holds the counts and what must not be shown.
        gate: A decision that `attune gate --json` printed; without it the gate is decided with its defaults.
        baseline: An earlier study to compare with.
        name: The instrument as the user named it.

    Raises:
        InputError: The file of the gate is about something else.
        StudyError: The baseline was judged in another way.
    """
    instrument = made.instrument
    decision = _gate_hidden(read_gate(gate, study, instrument) if gate else gate_of(study, instrument), made.hiding)
    found = scores(instrument, decided(study, made), list(made.figures.systems), made.hiding)
    people = bool(made.figures.rated_by_people)
    compared = None
    if baseline:
        with Study(baseline) as earlier:
            compared = _baseline_hidden(against(study, earlier, name), made.hiding)
    agreement = made.agreement or study_agreement(study, instrument) if people else None
    return Digest(made, decision, found, agreement, compared)


def _gate_hidden(gate: Gate, hiding: Privacy) -> Gate:
    reasons = tuple(
        reason._replace(
            text=hiding.text(reason.text), conversations=tuple(hiding.identity(name) for name in reason.conversations)
        )
        for reason in gate.reasons
    )
    notes = tuple(map(hiding.text, gate.notes))
    record = gate.record | {"reasons": list(map(reason_record, reasons)), "notes": list(notes)}
    return gate._replace(reasons=reasons, notes=notes, record=record)


def _baseline_hidden(baseline: Baseline, hiding: Privacy) -> Baseline:
    reasons = [
        reason._replace(
            text=hiding.text(reason.text), conversations=[hiding.identity(name) for name in reason.conversations]
        )
        for reason in baseline.decision.reasons
    ]
    regressions = [one._replace(conversation=hiding.identity(one.conversation)) for one in baseline.regressions]
    return baseline._replace(
        decision=baseline.decision._replace(reasons=tuple(reasons)), regressions=tuple(regressions)
    )


def examples(study: Study, made: Report) -> list[Example]:
    """The conversations that need a look, the most serious first, each with what stands against it."""
    instrument = made.instrument
    open_ = (entry for entry in decided(study, made) if entry.exit_code)
    first = nsmallest(MOST_EXAMPLES, open_, key=_seriousness)
    return [Example(entry, against_it(study, instrument, entry, made.hiding)) for entry in first]


def _seriousness(entry: Decided) -> tuple[int, float, int]:
    card = entry.card
    return status_of(card).rank, (card.score or 0.0) if card else 0.0, entry.summary.key


def against_it(study: Study, instrument: Instrument, entry: Decided, hiding: Privacy) -> tuple[Objection, ...]:
    """What stands against a conversation; nothing where nobody judged it, or it was removed in the meantime."""
    kept = kept_by_key(study, [entry.summary.key]).get(entry.summary.key)
    if entry.card is None or kept is None:
        return ()
    return tuple(objections(view(study, instrument, kept), entry.card, hiding))

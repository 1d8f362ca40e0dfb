"""Everything that the forms of a report for other programs and colleagues rest on, made once."""

from heapq import nsmallest
from pathlib import Path
from typing import NamedTuple

from attunement.agreement.asking import agreement_in
from attunement.agreement.summary import Agreement
from attunement.instruments import Instrument
from attunement.reports.conversation import view
from attunement.reports.deciding import Decided, Gate, decided, gate_of, read_gate
from attunement.reports.gate import reason_record
from attunement.reports.html.page import Report
from attunement.reports.html.reading import kept_by_key
from attunement.reports.html.statuses import status_of
from attunement.reports.html.text import Hiding
from attunement.reports.objections import Objection, objections
from attunement.reports.regressions import Baseline, against
from attunement.reports.scores import SystemScores, scores
from attunement.study import Study

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
    def hiding(self) -> Hiding:
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
    agreement = made.agreement or agreement_in(study, instrument) if people else None
    return Digest(made, decision, found, agreement, compared)


def _gate_hidden(gate: Gate, hiding: Hiding) -> Gate:
    reasons = tuple(
        reason._replace(
            text=hiding.text(reason.text), conversations=tuple(hiding.identity(name) for name in reason.conversations)
        )
        for reason in gate.reasons
    )
    notes = tuple(map(hiding.text, gate.notes))
    record = gate.record | {"reasons": list(map(reason_record, reasons)), "notes": list(notes)}
    return gate._replace(reasons=reasons, notes=notes, record=record)


def _baseline_hidden(baseline: Baseline, hiding: Hiding) -> Baseline:
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


def against_it(study: Study, instrument: Instrument, entry: Decided, hiding: Hiding) -> tuple[Objection, ...]:
    """What stands against a conversation; nothing where nobody judged it, or it was removed in the meantime."""
    kept = kept_by_key(study, [entry.summary.key]).get(entry.summary.key)
    if entry.card is None or kept is None:
        return ()
    return tuple(objections(view(study, instrument, kept), entry.card, hiding))

"""One study, many forms: one pass over the study, and each form that is wanted is written where it is wanted.

A form is made of pieces and written as they come, so that memory does not grow with the study, and a file appears whole
or not at all.
"""

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Literal, NamedTuple

from attunement.analysis.summary import study_agreement
from attunement.instruments import Instrument
from attunement.output import STDOUT, replacing
from attunement.reports.baseline import Baseline, compare_with_baseline
from attunement.reports.gate import GateCounts, decision_of, gate_entry, quotes_found, read_gate, with_notes
from attunement.reports.html.charts import export_charts
from attunement.reports.html.listing import Listing
from attunement.reports.html.sections import MOST_COMPARED, analysed
from attunement.reports.html.writing import Written, write_page
from attunement.reports.latex import latex_tables
from attunement.reports.machine import InspectScores, JsonReport, JUnitReport
from attunement.reports.markdown import markdown_summary
from attunement.reports.numbers import pluralize
from attunement.reports.privacy import SHOW_ALL, Privacy
from attunement.reports.study_report import Report
from attunement.reports.summary import MostSerious, ReportedConversation
from attunement.store import ScoredConversation, Study


class Forms(NamedTuple):
    """Which forms are wanted, each with the file it goes to; `-` is standard output."""

    markdown: str | None = None
    junit: str | None = None
    json: str | None = None
    latex: str | None = None
    inspect: str | None = None
    junit_per: Literal["conversation", "item"] = "conversation"
    gate: Path | None = None  # a decision that `attune gate --json` printed; without it the gate is decided here
    baseline: str | None = None  # an earlier study
    inspect_system: str | None = None
    page: str | None = None  # a name that ends in a slash is a folder
    charts: Path | None = None  # a folder

    @property
    def targets(self) -> dict[str, str]:
        """The forms but the page and the charts, by name."""
        named = {"markdown": self.markdown, "junit": self.junit, "json": self.json, "latex": self.latex}
        return {name: target for name, target in {**named, "inspect": self.inspect}.items() if target}


def write_forms(
    study: Study,
    instrument: Instrument,
    forms: Forms,
    privacy: Privacy = SHOW_ALL,
    *,
    name: str | None = None,
    analyse: bool = False,
) -> Iterator[tuple[str, str]]:
    """Write the forms that are wanted; yields the name of each with a sentence about it once it is written.

    Args:
        study: What is reported.
        instrument: What was asked.
        forms: What is wanted, and where.
        privacy: What must not be shown.
        name: The instrument as the user named it.
        analyse: Whether to add every analysis that the study allows: agreement, correction, comparison.

    Raises:
        InputError: The file of the gate is about something else, or a form cannot be made of this study.
        StudyError: The baseline was judged in another way.
    """
    serious, gate, scored = MostSerious(), GateCounts(), list[ScoredConversation]()
    with ExitStack() as stack:
        listing = stack.enter_context(closing(Listing()))
        as_json = stack.enter_context(JsonReport())
        junit = stack.enter_context(JUnitReport(forms.junit_per))
        inspect = stack.enter_context(InspectScores(forms.inspect_system))
        keeps_cards = analyse and study.conversation_count() <= MOST_COMPARED
        wanted: list[tuple[object, Callable[[ReportedConversation], None]]] = [
            (forms.markdown, serious.add),
            (forms.markdown or forms.json, lambda one: gate.add(gate_entry(one.scored, instrument), instrument)),
            (forms.json, as_json.add),
            (forms.junit, junit.add),
            (forms.inspect, inspect.add),
            (keeps_cards, lambda one: scored.append(one.scored)),
        ]
        receivers = [receive for is_wanted, receive in wanted if is_wanted]
        made = Report(study, instrument, listing, privacy, receivers=receivers)
        if analyse:
            made.add(analysed(study, instrument, privacy, scored if keeps_cards else None))
        if forms.page:
            yield from (("page", sentence) for sentence in _about_page(write_page(made, forms.page), forms.page))
        if forms.markdown or forms.json or forms.latex:
            _complete(made, forms, gate, scored if keeps_cards else None, name)
        contents: dict[str, Callable[[], Iterable[str]]] = {
            "markdown": lambda: [markdown_summary(made, serious.conversations)],
            "json": lambda: as_json.pieces(made),
            "latex": lambda: [latex_tables(made)],
            "junit": lambda: junit.pieces(made),
            "inspect": lambda: inspect.pieces(made),
        }
        for form, pieces in contents.items():
            if target := forms.targets.get(form):
                yield form, _write(target, pieces())
        if forms.charts:
            of_analyses = [chart for section in made.sections for chart in section.charts]
            files = export_charts(made.charts, of_analyses, made.top.judges, forms.charts)
            yield "charts", f"Wrote {len(files)} files with charts to {forms.charts}."


def _about_page(written: Written, target: str) -> Iterator[str]:
    top = written.report.top
    found = f"{pluralize(top.conversations, 'conversation')}. Without any answer: {top.not_judged:,}."
    if not top.nobody_judged:
        found += f" Unsafe according to {top.according}: {top.unsafe:,}. Safety not judged: {top.safety_not_judged:,}."
    yield found
    size = f"{written.bytes / 1e6:,.1f} MB"
    if written.files == 1:
        yield f"Wrote {target} ({size})."
    else:
        yield f"Wrote {target}: an index, which needs the {written.files - 1:,} pages in {written.folder} ({size})."


def _complete(
    made: Report, forms: Forms, counts: GateCounts, scored: list[ScoredConversation] | None, name: str | None
) -> None:
    """Add the gate's decision, the agreement and the baseline."""
    study, instrument, summary = made.study, made.instrument, made.summary
    gate = None
    if forms.gate:
        gate = read_gate(forms.gate, study, instrument)
    elif forms.markdown or forms.json:
        decided = decision_of(counts, instrument, quotes=quotes_found(study, instrument))
        gate = with_notes(study, instrument, decided, made.top.crisis)
    baseline = None
    if forms.baseline:
        with Study(forms.baseline) as earlier:
            baseline = _hidden(compare_with_baseline(study, earlier, name, scored=scored), made.hiding)
    made.gate, made.baseline = gate and gate.shown_with(made.hiding), baseline
    made.agreement = made.agreement or study_agreement(study, instrument) if summary.rated_by_people else None


def _hidden(baseline: Baseline, privacy: Privacy) -> Baseline:
    reasons = [
        reason._replace(text=privacy.text(reason.text), conversations=[*map(privacy.identity, reason.conversations)])
        for reason in baseline.decision.reasons
    ]
    regressions = [one._replace(conversation=privacy.identity(one.conversation)) for one in baseline.regressions]
    return baseline._replace(
        decision=baseline.decision._replace(reasons=tuple(reasons)), regressions=tuple(regressions)
    )


def _write(target: str, pieces: Iterable[str]) -> str:
    if target == STDOUT:
        size = sum(sys.stdout.buffer.write(piece.encode()) for piece in pieces)
        sys.stdout.buffer.flush()
        return f"Wrote {size:,} bytes to standard output."
    with replacing(Path(target)) as stream:
        size = sum(stream.write(piece.encode()) for piece in pieces)
    return f"Wrote {target} ({size:,} bytes)."

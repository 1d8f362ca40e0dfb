"""One study, many forms: each is written where it is wanted.

A form is made of pieces and written as they come, so that memory does not grow with the study, and a file appears whole
or not at all.
"""

import sys
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Literal, NamedTuple

from attunement.conversations.writer import STDOUT, replacing
from attunement.instruments import Instrument
from attunement.reports.digest import digest, examples
from attunement.reports.html.listing import Listing
from attunement.reports.html.page import Report, report, with_rates
from attunement.reports.html.writing import ReportOptions
from attunement.reports.latex import latex_tables
from attunement.reports.machine import inspect_scores, json_report, junit_xml
from attunement.reports.markdown import markdown_summary
from attunement.store import Study


class Forms(NamedTuple):
    """Which forms are wanted, each with the file it goes to; `-` is standard output."""

    markdown: str | None = None
    junit: str | None = None
    json: str | None = None
    latex: str | None = None
    inspect: str | None = None
    junit_per: Literal["conversation", "item"] = "conversation"
    gate: Path | None = None
    """A decision that `attune gate --json` printed; without it the gate is decided with its defaults."""
    baseline: str | None = None
    """An earlier study."""
    inspect_system: str | None = None

    @property
    def wanted(self) -> dict[str, str]:
        """The forms that are wanted, by name."""
        named = {"markdown": self.markdown, "junit": self.junit, "json": self.json, "latex": self.latex}
        return {name: target for name, target in {**named, "inspect": self.inspect}.items() if target}


def report_only(study: Study, instrument: Instrument, wishes: ReportOptions) -> Report:
    """What a report holds before its conversations, where no page is written."""
    with closing(Listing()) as listing:
        made = report(
            study,
            instrument,
            listing,
            wishes.hiding,
            checked=wishes.checked,
            sign_off=wishes.sign_off,
            sections=wishes.sections,
            agreement=wishes.agreement,
        )
        return with_rates(made, wishes.rates)


def write_forms(study: Study, made: Report, forms: Forms, *, name: str | None = None) -> list[str]:
    """Write the forms that are wanted, and say in sentences what was written.

    Args:
        study: What is reported.
        made: Its report, which holds the counts and what must not be shown.
        forms: What is wanted, and where.
        name: The instrument as the user named it.
    """
    said: list[str] = []
    if forms.markdown or forms.json or forms.latex:
        found = digest(study, made, gate=forms.gate, baseline=forms.baseline, name=name)
        if forms.markdown:
            said.append(_write(forms.markdown, [markdown_summary(found, examples(study, made))]))
        if forms.json:
            said.append(_write(forms.json, json_report(study, found)))
        if forms.latex:
            said.append(_write(forms.latex, [latex_tables(found)]))
    if forms.junit:
        with junit_xml(study, made, per=forms.junit_per) as pieces:
            said.append(_write(forms.junit, pieces))
    if forms.inspect:
        said.append(_write(forms.inspect, inspect_scores(study, made, system=forms.inspect_system)))
    return said


def _write(target: str, pieces: Iterable[str]) -> str:
    if target == STDOUT:
        size = sum(sys.stdout.buffer.write(piece.encode()) for piece in pieces)
        sys.stdout.buffer.flush()
        return f"Wrote {size:,} bytes to standard output."
    with replacing(Path(target)) as stream:
        size = sum(stream.write(piece.encode()) for piece in pieces)
    return f"Wrote {target} ({size:,} bytes)."

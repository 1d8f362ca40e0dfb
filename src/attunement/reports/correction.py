"""Corrected scores in words, as tables, and as plain data."""

from collections.abc import Iterator
from typing import Any

from attunement.analysis.correct import CorrectedMeasure, Correction
from attunement.reports.blocks import Block, Column, Document, Row, Table, Tone, texts
from attunement.reports.comparison import (
    estimate_cell,
    estimate_record,
    measure_record,
    measure_words,
    report_note,
    value_words,
)
from attunement.reports.numbers import NONE, pluralize
from attunement.reports.records import instrument_record
from attunement.reports.sanitize import in_a_line
from attunement.statistics.results import Undefined

_HEADS = ("People rated", "Judge alone", "People alone", "Corrected", "Gain")


def correction_document(found: Correction) -> Document:
    """Three means of each system, with the intervals of those that are estimated."""
    instrument, conversations = found.rated.instrument, found.rated.conversations
    judged = sum(each.card is not None for each in conversations)
    basis = (
        f"{pluralize(len(found.people), 'person', 'people')} rated conversations of {_sample(found)}, which was drawn "
        f"at random; the judge rated {judged:,} of {pluralize(len(conversations), 'conversation')}."
    )
    columns = [Column("System"), *(Column(head, numeric=True) for head in _HEADS)]
    blocks: list[Block] = [*texts([basis, *found.rated.notes], Tone.QUIET)]
    for measure in dict.fromkeys(row.measure for row in found.rows):
        rows = [_row(row) for row in found.rows if row.measure == measure]
        blocks.append(Table(columns, rows, measure_words(instrument, measure)))
    notes = [
        "Corrected: the judge's mean over all conversations, corrected by how far it is off where people rated too. "
        "Intervals (95 %) are about these conversations. Gain: how many times as many of them people would have to "
        "rate for the same precision without the judge.",
        *dict.fromkeys(note for row in found.rows for note in _notes(row)),
        *_report_notes(found),
    ]
    title = f"{', '.join(found.rated.raters)} corrected by people"
    title = f"{title} ({instrument.title}, {instrument.id} {instrument.version})"
    return Document(title, [*blocks, *texts(notes, Tone.QUIET)])


def _sample(found: Correction) -> str:
    return found.rated.sample.name if found.rated.sample else "a sample"


def _row(row: CorrectedMeasure) -> Row:
    judge = NONE if isinstance(row.judge, Undefined) else value_words(row.measure, row.judge.value)
    gain = NONE if row.gain is None else f"{row.gain:.1f}x"
    both = [estimate_cell(row.measure, each) for each in (row.people, row.corrected)]
    return Row([_name(row.system), f"{row.labelled:,} of {row.conversations:,}", judge, *both, gain])


def _name(system: str | None) -> str:
    return in_a_line(system or "all systems", 40)


def _notes(row: CorrectedMeasure) -> Iterator[str]:
    name = _name(row.system)
    if isinstance(row.corrected, Undefined):
        yield f"{name}: no estimate ({row.corrected.reason})."
    elif isinstance(row.corrected.interval, Undefined):
        yield f"{name}: no interval ({row.corrected.interval.reason})."


def _report_notes(found: Correction) -> Iterator[str]:
    every = [*found.rated.conversations, *found.rated.outside]
    for measure in dict.fromkeys(row.measure for row in found.rows):
        judge = {row.system: row.judge for row in found.rows if row.measure == measure and row.system is not None}
        yield from report_note(
            measure,
            [
                (system, [each for each in every if each.identity.system == system], one.value)
                for system, one in judge.items()
                if not isinstance(one, Undefined)
            ],
        )


def correction_record(found: Correction) -> dict[str, Any]:
    """A correction as plain data, for `--json`."""
    return {
        "instrument": instrument_record(found.rated.instrument),
        "judges": list(found.rated.raters),
        "people": list(found.people),
        "sample": _sample(found),
        "rows": [
            {
                **measure_record(row.measure),
                "system": row.system,
                "conversations": row.conversations,
                "judged": row.judged,
                "drawn": row.drawn,
                "rated_by_people": row.labelled,
                "judge_only": None if isinstance(row.judge, Undefined) else row.judge.value,
                "people_only": estimate_record(row.people),
                "corrected": estimate_record(row.corrected),
                "gain": row.gain,
            }
            for row in found.rows
        ],
        "notes": list(found.rated.notes),
    }

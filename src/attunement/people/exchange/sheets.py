"""Plain sheets for those who want a spreadsheet: one file to read, one to fill, and a guide.

A cell that a spreadsheet would take for a formula is written so that it stays text.
"""

import codecs
import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from attunement.conversations.writing import replacing
from attunement.errors import InputError
from attunement.instruments import Instrument
from attunement.people.exchange.handing import Outgoing, messages
from attunement.people.exchange.taking import Given, Problem
from attunement.people.exchange.words import NOT_ASKED, guide
from attunement.study.importing.rows import rows

TO_READ, TO_FILL, GUIDE = "to-read.csv", "to-fill.csv", "guide.txt"
UNIT, NOTE = "unit", "note"

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""A spreadsheet takes a cell that begins so for a formula, and a transcript may hold anything."""


def write(folder: Path, instrument: Instrument, outgoing: Sequence[Outgoing]) -> list[Path]:
    """Write the three files into `folder` and return them."""
    items = [item.id for item in instrument.items]
    _write(folder / TO_READ, [UNIT, "turn", "speaker", "text", "rate this reply"], _to_read(outgoing))
    _write(folder / TO_FILL, [UNIT, *items, NOTE], _to_fill(outgoing, items))
    with replacing(folder / GUIDE) as stream:
        stream.write(guide(instrument).encode("utf-8", "replace"))
    return [folder / TO_READ, folder / TO_FILL, folder / GUIDE]


def read(path: Path) -> Iterator[Given | Problem]:
    """What stands in a sheet that was filled.

    Raises:
        InputError: The file is not there, is no table, or has no row.
    """
    empty = True
    for place, fields, reason in rows(path):
        if fields is None:
            empty = False
            yield Problem(place, reason)
            continue
        fields = {name.strip(): value for name, value in fields.items()}
        token = str(fields.get(UNIT) or "").strip()
        if not any(str(value).strip() for value in fields.values() if value is not None):
            continue
        empty = False
        if UNIT not in fields:
            yield Problem(place, f"there is no column {UNIT!r}; is this the sheet that was to be filled ({TO_FILL})?")
        elif not token:
            yield Problem(place, f"the column {UNIT!r} is empty, so nobody can tell what these answers are about")
        else:
            note = str(fields.get(NOTE) or "")
            answers: dict[str, Any] = {name: value for name, value in fields.items() if name not in {UNIT, NOTE}}
            yield Given(place, token, None, answers, notes=dict.fromkeys(answers, note), has_columns=True)
    if empty:
        raise InputError(f"{path} has no row; is this the sheet that was to be filled ({TO_FILL})?")


def _write(path: Path, header: Sequence[str], lines: Iterable[Sequence[Any]]) -> None:
    with replacing(path) as stream:
        # Excel takes a file for UTF-8 only where it begins with this mark; our own reader passes over it.
        stream.write(codecs.BOM_UTF8)
        text = io.TextIOWrapper(stream, "utf-8", errors="replace", newline="", write_through=True)
        writer = csv.writer(text, lineterminator="\r\n")
        writer.writerow(header)
        writer.writerows(lines)
        text.detach()


def _to_read(outgoing: Sequence[Outgoing]) -> Iterator[Sequence[Any]]:
    for entry in outgoing:
        for message in messages(entry.unit):
            text = f"'{message.text}" if message.text.startswith(_FORMULA) else message.text
            yield entry.token, message.turn, message.speaker, text, "yes" if message.rated else ""


def _to_fill(outgoing: Sequence[Outgoing], items: Sequence[str]) -> Iterator[Sequence[Any]]:
    for entry in outgoing:
        yield entry.token, *("" if item in entry.due else NOT_ASKED for item in items), ""

"""The data dictionary: what each column of an exported table means, and which values it can have.

Every column that `attune export` can write is described in `columns.yaml`. The instrument describes the categories of
scorecards.
"""

import csv
import io
import json
from collections.abc import Sequence
from enum import StrEnum
from importlib.resources import files
from pathlib import Path
from typing import Literal, NamedTuple

import yaml

from attunement.conversations import Origin
from attunement.errors import InputError
from attunement.evidence import CitationStatus
from attunement.instruments import Instrument, Scores
from attunement.output import replacing
from attunement.ratings import Consistency, ErrorKind, Mark, RaterKind, Round
from attunement.reports.sanitize import code, plain, table
from attunement.scoring import Verdict
from attunement.store.export import Column, guarded

What = Literal["ratings", "scorecards", "answers", "practice", "events"]


class Described(NamedTuple):
    table: str
    column: str
    type: str
    meaning: str
    values: str  # which values it can have, and what an empty cell means


_TYPES = {
    "text": "text",
    "value": "text (in JSONL a number for scores)",
    "integer": "whole number",
    "number": "number",
    "flag": "true or false",
    "json": "JSON",
}
_KINDS: tuple[type[StrEnum], ...] = (
    CitationStatus, Consistency, ErrorKind, Mark, Origin, RaterKind, Round, Verdict,
)  # fmt: skip


def dictionary(what: What, columns: Sequence[Column], instrument: Instrument | None = None) -> list[Described]:
    """The columns of a table with their meanings; `instrument` describes its categories and its scale."""
    tables = yaml.safe_load(files("attunement.reports").joinpath("columns.yaml").read_text("utf-8"))
    known = tables["common"] | (tables["ratings"] if what in {"practice", "answers"} else {}) | tables[what]
    if what == "scorecards" and instrument is not None:
        scale = "points" if isinstance(instrument.scale, Scores) else "0 to 1"
        for id, weight in instrument.scoring.weights.items():
            meaning = f"The mean of the category {instrument.categories.get(id, id)}, which has the weight {weight:g}."
            known[f"category_{id}"] = {"meaning": meaning, "values": f"{scale}; empty: nothing in it counts"}
    values = {kind.__name__: ", ".join(kind) for kind in _KINDS}
    described: list[Described] = []
    for column in columns:
        about = known[column.name]
        words = about["values"].format_map(values)
        described.append(Described(what, column.name, _TYPES[column.kind], about["meaning"], words))
    return described


def write_dictionary(described: Sequence[Described], path: Path) -> None:
    """Write the dictionary as CSV, JSON or Markdown, as the name of the file says.

    Raises:
        InputError: The name says none of these, or the file cannot be written.
    """
    match path.suffix.lower():
        case ".csv":
            stream = io.StringIO(newline="")
            csv.writer(stream, lineterminator="\r\n").writerows(
                [Described._fields, *(map(guarded, entry) for entry in described)]
            )
            text = stream.getvalue()
        case ".json":
            text = json.dumps([entry._asdict() for entry in described], indent=1, ensure_ascii=False) + "\n"
        case ".md":
            rows = [[code(each.column), *(plain(words, 2000) for words in each[2:])] for each in described]
            head = ["Column", "Type", "Meaning", "Values"]
            text = f"## Columns of {described[0].table}\n\n{table(head, rows)}\n"
        case _:
            raise InputError(f"{path}: a data dictionary is written as .csv, .json or .md; change the ending")
    with replacing(path) as file:
        file.write(text.encode())

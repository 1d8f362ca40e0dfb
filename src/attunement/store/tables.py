"""Read tables of ratings: the rows of any file, the columns that say what, and the text and numbers in their cells.

`attune import`, `attune agree --ratings`, `attune bench` and filled sheets all read tables with this module.
Numbers are as in the file, however long.
"""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from attunement.conversations import messages
from attunement.conversations.files import Format, Source, opened, records_of
from attunement.conversations.json_files import BadRecord, Place, Record, is_object, json_of_any_kind
from attunement.errors import InputError
from attunement.store.export import NOT_APPLICABLE, unguarded

LARGEST = 2**31 - 1  # the largest whole number that both databases take
_NA = frozenset({"NA", "N/A", NOT_APPLICABLE.upper()})
_SHOWN_COLUMNS = 12


class TableRow(NamedTuple):
    """One row of a file; `fields` is None where it cannot be read, for the `reason` given."""

    place: Place
    fields: Mapping[str, Any] | None
    reason: str = ""


def read_rows(path: Path) -> Iterator[TableRow]:
    """The rows of a JSONL, JSON, CSV, TSV or Parquet file, or of the first sheet of a workbook.

    Raises:
        InputError: The file does not exist, cannot be read, or is of another kind.
    """
    source = Source(path)
    if source.kind in (None, Format.TEXT):
        raise InputError(f"{path}: answers are read from .jsonl, .json, .csv, .tsv, .parquet and .xlsx files")
    with opened(source) as stream:
        for record in _records(source, stream):
            place = Place(path.name, record.line)
            try:
                yield TableRow(place, _fields(record))
            except BadRecord as bad:
                yield TableRow(place, None, bad.reason)


def is_spreadsheet(name: str) -> bool:
    """Whether a spreadsheet may have written the file, so that no cell begins like a formula."""
    return Source(Path(name)).kind in {Format.CSV, Format.TSV, Format.XLSX, None}


def unguarded_cells(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The cells of an exported row as they were before the export."""
    return {name: unguarded(cell) if isinstance(cell, str) else cell for name, cell in fields.items()}


def _records(source: Source, stream: Any) -> Iterator[Record]:
    if source.kind is Format.JSON:
        return json_of_any_kind(iter(stream), is_object)
    return records_of(source.kind, stream, iter(stream), str(source))


def _fields(record: Record) -> Mapping[str, Any]:
    value = record.value
    if isinstance(value, BadRecord):
        raise value
    if not is_object(value):
        raise BadRecord("this is not a record with named fields")
    return {key: _joined(entry) if isinstance(entry, str) else entry for key, entry in value.items()}


def _joined(value: str) -> str:
    """The text of a cell: a table gives the bytes of a lone surrogate one by one."""
    if value.isascii() or not any("\udc80" <= sign <= "\udcff" for sign in value):
        return value
    try:
        return value.encode("utf-8", "surrogateescape").decode("utf-8", "surrogatepass")
    except UnicodeError:
        return value


class Columns(NamedTuple):
    """The columns that the user named. A column that is named is used for nothing else."""

    conversation: str | None = None
    system: str | None = None
    turn: str | None = None
    item: str | None = None
    answer: str | None = None
    rater: str | None = None
    repeat: str | None = None
    reasoning: str | None = None


# Of several that occur, the first is taken.
_USUAL = {
    "conversation": (*messages.CONVERSATION_ID, "conversation", *messages.ID),
    "system": messages.SYSTEM,  # `model` among them: the judge's model has its own names below
    "turn": ("turn",),
    "item": ("item", "criterion", "criterion_id", "dimension", "item_id"),
    "answer": ("answer", "value", "score", "rating", "label"),
    "rater": ("rater", "judge", "judge_model", "annotator", "coder", "rater_id", "judge_name"),
    "repeat": ("repeat", "repeat_idx", "repeat_index"),
    "reasoning": ("reasoning", "explanation", "rationale", "justification", "notes", "comment"),
    "at": ("at", "ts", "timestamp", "time"),
    "temperature": ("judge_temp", "judge_temperature"),
}


@lru_cache(64)  # all rows of a file have the same columns, or nearly
def find_columns(columns: Columns, present: tuple[str, ...]) -> dict[str, str | None]:
    """Which of the columns that are `present` holds what; None where none does.

    Raises:
        BadRecord: The user named a column that is not there.
    """
    named = {what: column for what, column in columns._asdict().items() if column is not None}
    require_columns(tuple(named.values()), present)
    left = [column for column in present if column not in named.values()]
    usual = {what: next(iter(messages.present(wanted, left)), None) for what, wanted in _USUAL.items()}
    return {**usual, **named}


@lru_cache(64)
def require_columns(wanted: tuple[str, ...], present: tuple[str, ...]) -> None:
    """Raise BadRecord for the first of the columns that is not there."""
    for column in wanted:
        if column not in present:
            raise BadRecord(f"there is no column {column!r}; there are {list_columns(present)}")


def list_columns(present: tuple[str, ...]) -> str:
    more = f" and {len(present) - _SHOWN_COLUMNS} more" if len(present) > _SHOWN_COLUMNS else ""
    return ", ".join(map(repr, present[:_SHOWN_COLUMNS])) + more


def cell_text(value: Any) -> str:
    """The text in a cell. Whole numbers in workbooks, and in tables with gaps, come as 4.0."""
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    return str(value)


def quoted(value: Any) -> str:
    """The start of a value, as messages show it."""
    return f"{str(value)[:40]!r}"


def is_na(text: str) -> bool:
    """Whether the text means "does not apply"."""
    return text.strip().upper() in _NA


def whole_number(value: Any) -> int | None:
    """The whole number in a cell, such as 4, 4.0 or "4"; None for anything else."""
    if isinstance(value, bool):
        return None
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return int(number) if number.is_integer() else None


def cell_number(value: Any, what: str, lowest: int = 0, highest: int = LARGEST) -> int | None:
    """The number of a turn or repeat; None for an empty cell.

    Raises:
        BadRecord: It is not a whole number from `lowest` to `highest`.
    """
    if value is None or value == "":
        return None
    number = whole_number(value)
    if number is None or not lowest <= number <= highest:
        raise BadRecord(f"{what} is {quoted(value)}, which is not a valid number")
    return number

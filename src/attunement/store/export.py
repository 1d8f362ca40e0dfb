"""Write ratings or scorecards of a study as JSONL, CSV or Parquet.

Users rely on the columns and their order: new ones are added at the end. `import_files` reads ratings back. Rows are
written as they are made, so that memory stays flat, and a file appears as a whole or not at all.
"""

import csv
import io
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast

from sqlalchemy import and_, select

from attunement.conversations.writer import encode
from attunement.errors import InputError
from attunement.instruments import Instrument
from attunement.output import STDOUT, replacing
from attunement.ratings import Rating, State
from attunement.scoring import Scorecard
from attunement.store import schema
from attunement.store.rows import (
    ANSWER_COLUMNS,
    RATING_COLUMNS,
    AnswerRecord,
    answer_of,
    from_json,
    rating_of,
    to_json,
)
from attunement.store.scorecards import scored_conversations
from attunement.store.study import JOINED, Study

Format = Literal["jsonl", "csv", "parquet"]
Kind = Literal["text", "value", "integer", "number", "flag", "json"]
NOT_APPLICABLE = "not_applicable"
"""The answer NA in a CSV file: pandas and R would read "NA" as a missing value."""
Record = dict[str, Any]


class Column(NamedTuple):
    """A column. JSONL holds its values as they are; a table holds `json` as JSON text and `value` as text."""

    name: str
    kind: Kind = "text"


def columns(names: str) -> tuple[Column, ...]:
    """Columns written as `name` or `name:kind`, with blanks between them."""
    parts = (entry.partition(":") for entry in names.split())
    return tuple(Column(name, cast(Kind, kind or "text")) for name, _, kind in parts)


class Export(NamedTuple):
    """Rows to be written, and their columns. A row may leave out what it does not have."""

    columns: Sequence[Column]
    records: Iterable[Record]


def write(export: Export, target: str | Path, format: Format) -> int:
    """Write to a file, or to standard output for `-`, and say how many rows there were.

    Raises:
        InputError: The file cannot be written, or a text does not fit the format.
    """
    writer = _WRITERS[format]
    if str(target) == STDOUT:
        return writer(export, sys.stdout.buffer)
    with replacing(Path(target)) as stream:
        return writer(export, stream)


def format_of(target: str) -> Format:
    """The format that a file's name asks for; standard output gets JSONL."""
    suffix = Path(target).suffix.lower()
    for format in ("jsonl", "csv", "parquet"):
        if suffix == f".{format}":
            return format
    if target == STDOUT:
        return "jsonl"
    raise InputError(f"{target}: choose --format jsonl, csv or parquet, or use one of them as the extension")


def _write_lines(export: Export, stream: Any) -> int:
    count = 0
    for record in export.records:
        stream.write(encode({column.name: record.get(column.name) for column in export.columns}) + b"\n")
        count += 1
    return count


def _write_csv(export: Export, stream: Any) -> int:
    # Lone surrogates are written as our own reader reads them; no other encoding of them exists.
    text = io.TextIOWrapper(stream, "utf-8", errors="surrogatepass", newline="", write_through=True)
    try:
        # Lines end in CRLF, as CSV has it: the writer then quotes a text with either sign in it.
        writer = csv.writer(text, lineterminator="\r\n")
        writer.writerow([column.name for column in export.columns])
        count = 0
        for record in export.records:
            writer.writerow([_csv_cell(record.get(column.name), column) for column in export.columns])
            count += 1
        return count
    finally:
        text.detach()


def _csv_cell(value: Any, column: Column) -> Any:
    cell = _cell(value, column)
    if column.kind == "value":
        return NOT_APPLICABLE if cell == "NA" else cell if cell is None or _NUMBER.fullmatch(cell) else guarded(cell)
    return guarded(cell) if isinstance(cell, str) else cell


_FORMULA = re.compile(r"'*[=+\-@\t\r\n]")
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?")


def guarded(text: str) -> str:
    """The text as a cell that no spreadsheet takes for a formula: a transcript may begin with anything."""
    return f"'{text}" if _FORMULA.match(text) else text


def unguarded(cell: str) -> str:
    """The text behind a cell that was `guarded`."""
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell


def _cell(value: Any, column: Column) -> Any:
    if value is None:
        return None
    if column.kind == "json":
        return to_json(value)
    return str(value) if column.kind == "value" else value


def _arrow(extra: str = "parquet") -> Any:
    try:
        return import_module("pyarrow")
    except ImportError as error:
        purpose = "Parquet files" if extra == "parquet" else "data frames"
        raise InputError(f"{purpose} need an extra: pip install 'attunement[{extra}]'") from error


def arrow_table(export: Export, rows: int | None = None, *, extra: str = "parquet") -> Any:
    """The rows, or the next `rows` of them, as an Arrow table.

    Raises:
        InputError: pyarrow is not installed, or a text is not Unicode.
    """
    arrow, records = _arrow(extra), list(islice(export.records, rows))
    kinds = {"integer": arrow.int64(), "number": arrow.float64(), "flag": arrow.bool_()}
    schema = arrow.schema([(column.name, kinds.get(column.kind, arrow.string())) for column in export.columns])
    columns = {column.name: [_cell(record.get(column.name), column) for record in records] for column in export.columns}
    try:
        return arrow.Table.from_pydict(columns, schema)
    except UnicodeEncodeError as error:
        raise InputError(
            "a text holds half of a character (a lone surrogate), which no Parquet file can: use --format jsonl"
        ) from error


def data_frame(export: Export) -> Any:
    """The rows as a pandas data frame, or as an Arrow table if pandas is not installed."""
    try:
        pandas = import_module("pandas")
    except ImportError:
        return arrow_table(export, extra="notebook")
    frame = pandas.DataFrame.from_records(list(export.records), columns=[column.name for column in export.columns])
    kinds = {"integer": "Int64", "number": "Float64", "flag": "boolean"}
    return frame.astype({column.name: kinds[column.kind] for column in export.columns if column.kind in kinds})


def _write_parquet(export: Export, stream: Any) -> int:
    _arrow()
    parquet: Any = import_module("pyarrow.parquet")
    batches = export._replace(records=iter(export.records))
    table, count = arrow_table(batches, _ROWS), 0
    with parquet.ParquetWriter(stream, table.schema) as writer:
        while table.num_rows:
            writer.write_table(table)
            count += table.num_rows
            table = arrow_table(batches, _ROWS)
    return count


_ROWS = 1000  # of a Parquet file that are in memory at a time

_WRITERS: dict[Format, Callable[[Export, Any], int]] = {
    "jsonl": _write_lines,
    "csv": _write_csv,
    "parquet": _write_parquet,
}


EXPORT_COLUMNS = columns(
    "system conversation turn:integer item title outcome value:value error detail reasoning evidence:json rules:json "
    "marks:json rater rater_kind rater_settings:json repeat:integer round instrument instrument_version "
    "instrument_hash item_hash asked at model finish_reason prompt_tokens:integer completion_tokens:integer "
    "cached_tokens:integer cost:number latency:number attempts:integer reply logprobs:json"
)
"""The columns of ratings. Those from `model` on belong to the judge's answer behind the rating, if there is one; an
answer about several items is repeated for each of them."""


def ratings(study: Study) -> Export:
    """Every rating of the study with everything that is known about it."""
    return Export(EXPORT_COLUMNS, _rating_records(study))


_ANSWERS = columns(
    "judge prompt repeat:integer reply error detail model finish_reason prompt_tokens:integer "
    "completion_tokens:integer cached_tokens:integer cost:number latency:number attempts:integer logprobs:json at"
)


def answers(study: Study, rater: str | None = None) -> Export:
    """Every reply of the judges, or of one, with the hash of its prompt. `replay:FILE` answers from such a file."""
    return Export(_ANSWERS, _answer_records(study, rater))


def _answer_records(study: Study, rater: str | None) -> Iterator[Record]:
    raters, answer = schema.raters.c, schema.answers.c
    query = select(raters.name, *ANSWER_COLUMNS).where(answer.rater == raters.key).order_by(raters.key, answer.prompt)
    if rater is not None:
        query = query.where(raters.name == rater)
    with study.reading() as connection, connection.execution_options(yield_per=1000).execute(query) as rows:
        for name, *row in rows:
            found = answer_of(row)
            yield {**found._asdict(), "judge": name, "reply": found.text, "error": found.error and found.error.value}


def scorecards(study: Study, instrument: Instrument) -> Export:
    """The scorecards of the study: of each rater and repeat, and of the panel where there are several.

    A conversation that nobody rated has a row without a verdict.
    """
    categories = tuple(Column(f"category_{category}", "number") for category in instrument.scoring.weights)
    return Export((*_CARD_HEAD, *categories, *_CARD_TAIL), _card_records(study, instrument))


def _rating_records(study: Study) -> Iterator[Record]:
    instruments = {instrument.hash: instrument for instrument in study.instruments()}
    rating, answer = schema.ratings.c, schema.answers.c
    behind = and_(answer.prompt == rating.asked, answer.rater == rating.rater, answer.repeat == rating.repeat)
    query = select(*RATING_COLUMNS, schema.raters.c.settings, *ANSWER_COLUMNS)
    query = query.select_from(JOINED.outerjoin(schema.answers, behind)).order_by(rating.conversation, rating.key)
    width = len(RATING_COLUMNS)
    with study.reading() as connection, connection.execution_options(yield_per=1000).execute(query) as rows:
        for row in rows:
            made = rating_of(row[:width])
            reply = None if row[width + 1] is None else answer_of(row[width + 1 :])
            yield _rating_record(made, instruments[made.instrument], from_json(row[width]), reply)


def _rating_record(rating: Rating, instrument: Instrument, settings: Any, answer: AnswerRecord | None) -> Record:
    record = {name: getattr(rating, name) for name in _RATING_FIELDS}
    return {
        **record,
        "system": rating.conversation.system,
        "conversation": rating.conversation.id,
        "title": instrument.item(rating.item).title,
        "outcome": rating.outcome.state.value,
        "value": rating.outcome.value,
        "error": rating.outcome.error and rating.outcome.error.value,
        "evidence": list(rating.evidence),
        "rules": [rule._asdict() for rule in rating.rules],
        "marks": sorted(rating.marks),
        "rater_kind": rating.rater_kind.value,
        "rater_settings": settings,
        "round": rating.round.value,
        "instrument": instrument.id,
        "instrument_version": instrument.version,
        "instrument_hash": rating.instrument,
        **{name: answer and getattr(answer, name) for name in _ANSWER_FIELDS},
        "reply": answer and answer.text,
    }


_RATING_FIELDS = ("turn", "item", "detail", "reasoning", "rater", "repeat", "item_hash", "asked", "at")
_ANSWER_FIELDS = (
    *("model", "finish_reason", "prompt_tokens", "completion_tokens", "cached_tokens"),
    *("cost", "latency", "attempts", "logprobs"),
)
_CARD_HEAD = columns(
    "system conversation turns:integer origin instrument instrument_version instrument_hash rater rater_kind "
    "repeat:integer members:json verdict passed:flag score:number lowest:number highest:number uncontested:number"
)
_CARD_TAIL = columns(
    "failed:json open:json unsafe:json unjudged:json not_due:json needs_person:json pointers:json outcomes:json"
)


def _card_records(study: Study, instrument: Instrument) -> Iterator[Record]:
    kinds = {rater.name: rater.kind.value for rater in study.raters()}
    for scored in scored_conversations(study, instrument):
        conversation = scored.conversation
        about: Record = {
            "system": conversation.identity.system,
            "conversation": conversation.identity.id,
            "turns": conversation.turns,
            "origin": conversation.origin.value,
            "instrument": instrument.id,
            "instrument_version": instrument.version,
            "instrument_hash": instrument.hash,
        }
        cards = [*scored.cards.all, *([scored.cards.panel] if scored.cards.panel else [])]
        for card in cards:
            yield {**about, **_card_record(card, kinds.get(card.rater))}
        if not cards:
            yield about


def _card_record(card: Scorecard, kind: str | None) -> Record:
    return {
        "rater": card.rater,
        "rater_kind": kind,
        "repeat": card.repeat,
        "members": list(card.members),
        "verdict": card.verdict.value,
        "passed": card.passed,
        "score": card.score,
        "lowest": card.range and card.range.lowest,
        "highest": card.range and card.range.highest,
        "uncontested": card.uncontested,
        **{f"category_{category}": mean for category, mean in card.categories.items()},
        **{name: list(map(str, getattr(card, name))) for name in ("failed", "open", "unsafe", "unjudged", "not_due")},
        "needs_person": [f"{entry.slot}: {entry.finding.rule}" for entry in card.needs_person],
        "pointers": [f"{entry.slot}: {entry.finding.rule}" for entry in card.pointers],
        "outcomes": {
            str(slot): outcome.value if outcome.state in {State.VALUE, State.NA} else str(outcome)
            for slot, outcome in card.outcomes.items()
        },
    }

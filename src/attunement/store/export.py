"""Write ratings or scorecards of a study as JSONL, CSV or Parquet.

The columns and their order are part of what users rely on: new ones are added at the end. `importing` reads ratings
back.

Rows are written as they come, so that memory stays flat, and a file appears whole or not at all.
"""

import csv
import importlib
import io
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Literal, NamedTuple

from sqlalchemy import and_, select

from attunement.conversations.writer import STDOUT, encode, replacing
from attunement.errors import InputError
from attunement.instruments import Instrument
from attunement.ratings import Outcome, Rating, State
from attunement.scoring import Scorecard, Slot, SlotFinding
from attunement.store import schema
from attunement.store.rows import (
    ANSWER_COLUMNS,
    RATING_COLUMNS,
    AnswerRecord,
    ConversationSummary,
    answer_of,
    from_json,
    rating_of,
    to_json,
)
from attunement.store.scorecards import scored_conversations
from attunement.store.study import JOINED, Study

Format = Literal["jsonl", "csv", "parquet"]
Record = dict[str, Any]


class Column(NamedTuple):
    """A column. JSONL holds its values as they are; a table holds `json` as JSON text and `value` as text."""

    name: str
    kind: Literal["text", "value", "integer", "number", "flag", "json"] = "text"


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
    raise InputError(f"{target}: say what to write with --format jsonl, csv or parquet, or let the name end so")


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
            writer.writerow([_cell(record.get(column.name), column) for column in export.columns])
            count += 1
        return count
    finally:
        text.detach()


def _cell(value: Any, column: Column) -> Any:
    """The value as a table can hold it."""
    if value is None:
        return None
    if column.kind == "json":
        return to_json(value)
    return str(value) if column.kind == "value" else value


def _write_parquet(export: Export, stream: Any) -> int:
    try:
        arrow: Any = importlib.import_module("pyarrow")
        parquet: Any = importlib.import_module("pyarrow.parquet")
    except ImportError as error:
        raise InputError(
            "to write Parquet files, install one more package: pip install 'attunement[parquet]'"
        ) from error
    kinds = {"integer": arrow.int64(), "number": arrow.float64(), "flag": arrow.bool_()}
    schema = arrow.schema([(column.name, kinds.get(column.kind, arrow.string())) for column in export.columns])
    count, records = 0, iter(export.records)
    with parquet.ParquetWriter(stream, schema) as writer:
        while batch := list(islice(records, _ROWS)):
            columns = {
                column.name: [_cell(record.get(column.name), column) for record in batch] for column in export.columns
            }
            try:
                writer.write_table(arrow.Table.from_pydict(columns, schema))
            except UnicodeEncodeError as error:
                raise InputError(
                    "a text holds half of a character (a lone surrogate), which no Parquet file can: use --format jsonl"
                ) from error
            count += len(batch)
    return count


_ROWS = 1000
"""Rows of a Parquet file that are in memory at a time."""

_WRITERS: dict[Format, Callable[[Export, Any], int]] = {
    "jsonl": _write_lines,
    "csv": _write_csv,
    "parquet": _write_parquet,
}


EXPORT_COLUMNS = (
    *(Column("system"), Column("conversation"), Column("turn", "integer"), Column("item"), Column("title")),
    *(Column("outcome"), Column("value", "value"), Column("error"), Column("detail"), Column("reasoning")),
    *(Column("evidence", "json"), Column("rules", "json"), Column("marks", "json")),
    *(Column("rater"), Column("rater_kind"), Column("rater_settings", "json")),
    *(Column("repeat", "integer"), Column("round")),
    *(Column("instrument"), Column("instrument_version"), Column("instrument_hash")),
    *(Column("item_hash"), Column("asked"), Column("at")),
    *(Column("model"), Column("finish_reason"), Column("prompt_tokens", "integer")),
    *(Column("completion_tokens", "integer"), Column("cached_tokens", "integer"), Column("cost", "number")),
    *(Column("latency", "number"), Column("attempts", "integer"), Column("reply"), Column("logprobs", "json")),
)
"""The columns of ratings. Those from `model` on belong to the judge's answer behind the rating, if there is one; an
answer about several items stands beside each of them."""


def ratings(study: Study) -> Export:
    """Every rating of the study with everything that is known about it."""
    return Export(EXPORT_COLUMNS, _rating_records(study))


def scorecards(study: Study, instrument: Instrument) -> Export:
    """The scorecards of the study: of each rater and repeat, and of the panel where there are several.

    A conversation that nobody rated has a row without a verdict.
    """
    categories = tuple(Column(f"category_{category}", "number") for category in instrument.scoring.weights)
    columns = (*_CARD_HEAD, *categories, *_CARD_TAIL)
    return Export(columns, _card_records(study, instrument))


# Ratings


def _rating_records(study: Study) -> Iterator[Record]:
    instruments = {instrument.hash: instrument for instrument in study.instruments()}
    rating, answer = schema.ratings.c, schema.answers.c
    behind = and_(answer.prompt == rating.asked, answer.rater == rating.rater, answer.repeat == rating.repeat)
    columns = (*RATING_COLUMNS, schema.raters.c.settings, *ANSWER_COLUMNS)
    query = select(*columns).select_from(JOINED.outerjoin(schema.answers, behind))
    query = query.order_by(rating.conversation, rating.key)
    width = len(RATING_COLUMNS)
    with study.reading() as connection, connection.execution_options(yield_per=1000).execute(query) as rows:
        for row in rows:
            made = rating_of(row[:width])
            said = None if row[width + 1] is None else answer_of(row[width + 1 :])
            yield _rating_record(made, instruments[made.instrument], from_json(row[width]), said)


def _rating_record(rating: Rating, instrument: Instrument, settings: Any, answer: AnswerRecord | None) -> Record:
    return {
        "system": rating.conversation.system,
        "conversation": rating.conversation.id,
        "turn": rating.turn,
        "item": rating.item,
        "title": instrument.item(rating.item).title,
        "outcome": rating.outcome.state.value,
        "value": rating.outcome.value,
        "error": rating.outcome.error and rating.outcome.error.value,
        "detail": rating.detail,
        "reasoning": rating.reasoning,
        "evidence": list(rating.evidence),
        "rules": [rule._asdict() for rule in rating.rules],
        "marks": sorted(rating.marks),
        "rater": rating.rater,
        "rater_kind": rating.rater_kind.value,
        "rater_settings": settings,
        "repeat": rating.repeat,
        "round": rating.round.value,
        "instrument": instrument.id,
        "instrument_version": instrument.version,
        "instrument_hash": rating.instrument,
        "item_hash": rating.item_hash,
        "asked": rating.asked,
        "at": rating.at,
        **{name: answer and getattr(answer, name) for name in _ANSWER_FIELDS},
        "reply": answer and answer.text,
        "logprobs": answer and answer.logprobs,
    }


_ANSWER_FIELDS = (
    *("model", "finish_reason", "prompt_tokens", "completion_tokens", "cached_tokens"),
    *("cost", "latency", "attempts"),
)


# Scorecards

_CARD_HEAD = (
    *(Column("system"), Column("conversation"), Column("turns", "integer"), Column("origin")),
    *(Column("instrument"), Column("instrument_version"), Column("instrument_hash")),
    *(Column("rater"), Column("rater_kind"), Column("repeat", "integer"), Column("members", "json")),
    *(Column("verdict"), Column("passed", "flag"), Column("score", "number")),
    *(Column("lowest", "number"), Column("highest", "number"), Column("uncontested", "number")),
)
_CARD_TAIL = (
    *(Column("failed", "json"), Column("open", "json"), Column("unsafe", "json"), Column("unjudged", "json")),
    *(Column("not_due", "json"), Column("needs_person", "json"), Column("pointers", "json")),
    Column("outcomes", "json"),
)


def _card_records(study: Study, instrument: Instrument) -> Iterator[Record]:
    kinds = {rater.name: rater.kind.value for rater in study.raters()}
    for case in scored_conversations(study, instrument):
        cards = [*case.cards.all, *([case.cards.panel] if case.cards.panel else [])]
        for card in cards or [None]:
            about = _about(case.conversation, instrument)
            yield about if card is None else {**about, **_card_record(card, kinds.get(card.rater))}


def _about(conversation: ConversationSummary, instrument: Instrument) -> Record:
    return {
        "system": conversation.identity.system,
        "conversation": conversation.identity.id,
        "turns": conversation.turns,
        "origin": conversation.origin.value,
        "instrument": instrument.id,
        "instrument_version": instrument.version,
        "instrument_hash": instrument.hash,
    }


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
        "failed": _names(card.failed),
        "open": _names(card.open),
        "unsafe": _names(card.unsafe),
        "unjudged": _names(card.unjudged),
        "not_due": list(card.not_due),
        "needs_person": _spoken(card.needs_person),
        "pointers": _spoken(card.pointers),
        "outcomes": {_name(slot): _plain(outcome) for slot, outcome in card.outcomes.items()},
    }


def _name(slot: Slot) -> str:
    return slot.item if slot.turn is None else f"{slot.item}#{slot.turn}"


def _names(slots: Iterable[Slot]) -> list[str]:
    return [_name(slot) for slot in slots]


def _spoken(entries: Iterable[SlotFinding]) -> list[str]:
    return [f"{_name(entry.slot)}: {entry.finding.rule}" for entry in entries]


def _plain(outcome: Outcome) -> int | str | None:
    return outcome.value if outcome.state in {State.VALUE, State.NA} else str(outcome)

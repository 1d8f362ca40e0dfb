"""Any table of ratings: one row for each conversation, rater and item. The instrument is made from its ids and values.

Whole numbers make an instrument of scores, yes / no / NA one of criteria; a table may hold both. "NA" is an answer,
an empty cell is none. The text may be in a file of conversations next to it; without that no judge can be asked.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from attunement.conversations import Conversation, Identity, UnitKind
from attunement.conversations.json_files import BadRecord
from attunement.conversations.reader import ReadOptions
from attunement.conversations.reader import read as read_conversations
from attunement.datasets.base import (
    NO_TEXT,
    PROMPT,
    DatasetAnswer,
    DatasetRater,
    LoadedDataset,
    Part,
    PublishedFigures,
)
from attunement.errors import InputError
from attunement.instruments import Instrument
from attunement.instruments.model import Criteria, Item, Scores
from attunement.ratings import Outcome, RaterKind
from attunement.store.tables import (
    Columns,
    cell_number,
    cell_text,
    find_columns,
    is_na,
    quoted,
    read_rows,
    whole_number,
)

_KINDS = (".csv", ".tsv", ".jsonl", ".json", ".parquet")
_HINT = (
    "it should be a table, or a folder with a file ratings (.csv, .tsv, .jsonl, .json or .parquet) whose columns are "
    "conversation, rater, item and value; system, turn, repeat and kind if there are any; and, if there is text, a "
    "file conversations"
)
_LARGEST = 9999  # of turns and repeats; a larger number is an id in the wrong column
_WIDEST = 100  # 0 to 100 is the widest scale in use; a wider one is an id or a year in the wrong column


class _Cell(NamedTuple):
    place: str
    identity: Identity
    rater: str
    kind: RaterKind
    item: str
    value: str
    turn: int | None
    repeat: int


def read(folder: Path) -> LoadedDataset:
    """Read a table of ratings, and the conversations next to it if there are any."""
    path = _file(folder, "ratings") if folder.is_dir() else folder
    if path is None or not path.is_file():
        raise InputError(f"{folder} has no table of ratings: {_HINT}")
    text = _file(folder, "conversations") if folder.is_dir() else None
    conversations = (
        {entry.identity: entry for entry in read_conversations([text], ReadOptions(system=text.parent.name))}
        if text
        else {}
    )
    cells = _cells(path, conversations)
    if len({cell.turn is None for cell in cells}) > 1:
        raise InputError(f"{path}: some rows name a turn and some do not; fill the column turn, or leave it out")
    raters: dict[str, DatasetRater] = {}
    for cell in cells:
        rater = raters.setdefault(cell.rater, DatasetRater(cell.rater, cell.kind, {"imported_from": path.name}))
        if rater.kind is not cell.kind:
            raise InputError(
                f"{cell.place}: {cell.rater} is a {cell.kind} here and a {rater.kind} before; give them two names"
            )
    numeric_items = _numeric_items(cells)
    if not text:
        turns = NO_TEXT * max(cell.turn or 1 for cell in cells)
        identities = {cell.identity for cell in cells}
        conversations = {entry: Conversation(id=entry.id, system=entry.system, turns=turns) for entry in identities}
    parts: list[Part] = []
    for numeric in (True, False):
        if chosen := [cell for cell in cells if numeric_items[cell.item] is numeric]:
            instrument, title = _instrument(path, chosen, numeric=numeric)
            answers = [
                DatasetAnswer(cell.identity, cell.item, cell.rater, _outcome(cell, numeric), cell.repeat, cell.turn)
                for cell in chosen
            ]
            rated = [conversations[identity] for identity in dict.fromkeys(cell.identity for cell in chosen)]
            parts.append(Part(title, instrument, rated, answers))
    notes = [] if text else ["There is no text next to the table: ratings are loaded, and no judge can be asked."]
    return LoadedDataset(parts, list(raters.values()), notes, PublishedFigures)


def _file(folder: Path, stem: str) -> Path | None:
    return next((path for kind in _KINDS if (path := folder / f"{stem}{kind}").is_file()), None)


def _instrument(path: Path, cells: Sequence[_Cell], *, numeric: bool) -> tuple[Instrument, str]:
    scale: Scores | Criteria = Criteria(kind="criteria")
    title, question = "yes or no", "Does this hold for the assistant: {}?"
    if numeric:
        numbers = [int(float(cell.value)) for cell in cells if not is_na(cell.value)]
        lowest, highest = min(numbers), max(*numbers, min(numbers) + 1)
        if highest - lowest > _WIDEST:
            raise InputError(
                f"{path}: values go from {lowest} to {highest}, which is not a scale; is the right column called value?"
            )
        scale, title = Scores(kind="scores", lowest=lowest, highest=highest), f"scores from {lowest} to {highest}"
        question = f"How much {{}} does the assistant show, from {lowest} (least) to {highest} (most)?"
    names = {item: item.replace("_", " ") for item in dict.fromkeys(cell.item for cell in cells)}
    instrument = Instrument(
        id=f"table-{'scores' if numeric else 'criteria'}",
        version="1",
        title=f"{path.stem}: {title}",
        about="Made from a table of ratings: the ids and the scale are known, the wording is not.",
        unit=UnitKind.CONVERSATION if cells[0].turn is None else UnitKind.RESPONSE,
        scale=scale,
        items=tuple(Item(id=id, title=name, definition=question.format(name)) for id, name in names.items()),
        prompt=PROMPT,
    )
    return instrument, title


def _outcome(cell: _Cell, numeric: bool) -> Outcome:
    if is_na(cell.value):
        return Outcome.of("NA")
    return Outcome.of(int(float(cell.value)) if numeric else cell.value.upper())


def _numeric_items(cells: Sequence[_Cell]) -> dict[str, bool]:
    """By item: whether it is rated with numbers, and not with yes and no. One item cannot have both."""
    first: dict[str, tuple[bool, _Cell]] = {}
    for cell in cells:
        if is_na(cell.value):
            continue
        numeric = whole_number(cell.value) is not None
        if not numeric and cell.value.upper() not in {"YES", "NO"}:
            raise InputError(
                f"{cell.place}: {quoted(cell.value)} is neither a whole number nor yes, no or NA; replace words "
                "by numbers"
            )
        before, other = first.setdefault(cell.item, (numeric, cell))
        if before is not numeric:
            raise InputError(f"{cell.place}: {cell.item} is {cell.value!r} here and {other.value!r} at {other.place}")
    return {cell.item: first.get(cell.item, (False, cell))[0] for cell in cells}


def _cells(path: Path, conversations: Mapping[Identity, Conversation]) -> list[_Cell]:
    by_id: dict[str, list[Identity]] = {}
    for identity in conversations:
        by_id.setdefault(identity.id, []).append(identity)
    found: dict[tuple[object, ...], _Cell] = {}
    for row in read_rows(path):
        place = f"{path}, line {row.place.line}"
        try:
            if row.fields is None:
                raise BadRecord(row.reason)
            cell = _cell(row.fields, place, path.stem, by_id)
            if cell is None:
                continue
            if conversations and (cell.turn or 0) > len(conversations[cell.identity].turns):
                raise BadRecord(f"{cell.identity} has no turn {cell.turn}")
            first = found.setdefault((cell.identity, cell.rater, cell.item, cell.turn, cell.repeat), cell)
            if first is not cell:
                raise BadRecord(
                    f"{cell.item} of {cell.identity} by {cell.rater} occurs for the second time, after {first.place}; "
                    "number repeated answers in a column repeat"
                )
        except BadRecord as bad:
            raise InputError(f"{place}: {bad.reason}") from bad
    if not found:
        raise InputError(f"{path} has no ratings: {_HINT}")
    return list(found.values())


def _cell(fields: Mapping[str, Any], place: str, stem: str, by_id: Mapping[str, Sequence[Identity]]) -> _Cell | None:
    """The rating in a row; None where its value is empty. Raises BadRecord."""
    columns = find_columns(Columns(), tuple(fields))
    cells = {what: "" if column is None else cell_text(fields[column]).strip() for what, column in columns.items()}
    for what in ("conversation", "rater", "item", "answer"):
        if columns[what] is None:
            raise BadRecord(f"there is no column for the {what if what != 'answer' else 'value'}; {_HINT}")
        if not cells[what] and what != "answer":
            raise BadRecord(f"the {what} is empty")
    if not cells["answer"]:
        return None
    identity = Identity(cells["system"] or stem, cells["conversation"])
    if by_id:
        candidates = by_id.get(identity.id, ())
        matching = [known for known in candidates if not cells["system"] or known.system == cells["system"]]
        if len(matching) != 1:
            many = "more than one conversation" if matching else "no conversation"
            raise BadRecord(f"there is {many} {identity.id!r} in the file conversations")
        identity = matching[0]
    kind = cell_text(fields.get("rater_kind") or fields.get("kind") or RaterKind.PERSON).strip()
    if kind not in {known.value for known in RaterKind}:
        raise BadRecord(f"the kind of a rater is person, model or simulation, not {kind!r}")
    item = re.sub(r"[^A-Za-z0-9_.-]+", "_", cells["item"])
    return _Cell(
        place,
        identity,
        cells["rater"],
        RaterKind(kind),
        item if item[0].isalpha() else f"item_{item}",  # an instrument's ids begin with a letter
        cells["answer"],
        cell_number(cells["turn"], "turn", 1, _LARGEST),
        cell_number(cells["repeat"], "repeat", 0, _LARGEST) or 0,
    )

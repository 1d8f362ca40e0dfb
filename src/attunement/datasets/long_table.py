"""Any table of ratings: one row for each conversation, rater and item. The instrument is made from what stands in it.

Whole numbers make an instrument of scores, yes / no / NA one of criteria; a table may hold both. "NA" is an answer,
an empty cell is none. Conversations may lie beside it in a file of their own; without them no judge can be asked.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from attunement.conversations import Conversation, Identity, UnitKind
from attunement.conversations.messages import BadRecord
from attunement.conversations.reader import ReadOptions
from attunement.conversations.reader import read as read_conversations
from attunement.datasets import base
from attunement.datasets.base import NO_TEXT, DatasetAnswer, DatasetRater, LoadedDataset, Part, PublishedFigures
from attunement.errors import InputError
from attunement.instruments.model import Criteria, Scores
from attunement.ratings import Outcome, RaterKind
from attunement.store.import_files import Columns, find_columns, read_rows

_KINDS = (".csv", ".tsv", ".jsonl", ".json", ".parquet")
_HINT = (
    "it should be a table, or a folder with a file ratings (.csv, .tsv, .jsonl, .json or .parquet) whose columns are "
    "conversation, rater, item and value; system, turn, repeat and kind if there are any; and, if there is text, a "
    "file conversations"
)
_NEEDED = ("conversation", "rater", "item", "answer")
_DIGITS = 4
"""Turns and repeats have no more; a longer number is an id in the wrong column."""
_WIDEST = 100
"""0 to 100 is the widest scale in use; a wider one is an id or a year in the wrong column."""


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
    """Read a table of ratings, and the conversations beside it if there are any.

    Raises:
        InputError: There is no table, a column is missing, a value is neither a whole number nor yes, no or NA, a
            rating stands twice, or a rated conversation is not among those beside it.
    """
    path = _file(folder, "ratings") if folder.is_dir() else folder
    if path is None or not path.is_file():
        raise InputError(f"{folder} has no table of ratings: {_HINT}")
    talk = _talk(path.parent if folder.is_dir() else None)
    cells = _cells(path, talk)
    turns = {cell.turn is not None for cell in cells}
    if len(turns) > 1:
        raise InputError(f"{path}: some rows name a turn and some do not; fill the column turn, or leave it out")
    unit = UnitKind.RESPONSE if turns == {True} else UnitKind.CONVERSATION
    kinds = {item: _is_number(item, [cell for cell in cells if cell.item == item]) for item in _items(cells)}
    conversations = _conversations(cells, talk)
    parts: list[Part] = []
    for numeric in (True, False):
        items = [item for item, is_number in kinds.items() if is_number is numeric]
        if items:
            chosen = [cell for cell in cells if kinds[cell.item] is numeric]
            parts.append(_part(path, items, chosen, conversations, unit, numeric=numeric))
    raters = _raters(cells, path)
    notes = [] if talk else ["There is no text beside the table: ratings are loaded, and no judge can be asked."]
    return LoadedDataset(parts, list(raters.values()), notes, PublishedFigures)


def _raters(cells: Sequence[_Cell], path: Path) -> dict[str, DatasetRater]:
    found: dict[str, DatasetRater] = {}
    for cell in cells:
        who = found.setdefault(cell.rater, DatasetRater(cell.rater, cell.kind, {"imported_from": path.name}))
        if who.kind is not cell.kind:
            raise InputError(
                f"{cell.place}: {cell.rater} is a {cell.kind} here and a {who.kind} before; give them two names"
            )
    return found


def _part(
    path: Path,
    items: Sequence[str],
    cells: Sequence[_Cell],
    conversations: Mapping[Identity, Conversation],
    unit: UnitKind,
    *,
    numeric: bool,
) -> Part:
    if numeric:
        numbers = [int(float(cell.value)) for cell in cells if not _is_na(cell.value)]
        scale: Scores | Criteria = Scores(
            kind="scores", lowest=min(numbers), highest=max(max(numbers), min(numbers) + 1)
        )
        if scale.highest - scale.lowest > _WIDEST:
            raise InputError(
                f"{path}: values go from {scale.lowest} to {scale.highest}, which is no scale; is the right column "
                "called value?"
            )
        title = f"scores from {scale.lowest} to {scale.highest}"
    else:
        scale, title = Criteria(kind="criteria"), "yes or no"
    name = f"table-{'scores' if numeric else 'criteria'}"
    instrument = base.generated(name, f"{path.stem}: {title}", items, scale, unit)
    answers = [
        DatasetAnswer(
            cell.identity, cell.item, cell.rater, _outcome(cell.value, numeric=numeric), cell.repeat, cell.turn
        )
        for cell in cells
    ]
    return Part(title, instrument, [conversations[identity] for identity in _identities(cells)], answers)


def _outcome(value: str, *, numeric: bool) -> Outcome:
    if _is_na(value):
        return Outcome.of("NA")
    return Outcome.of(int(float(value)) if numeric else value.upper())


def _is_na(value: str) -> bool:
    return value.upper() in {"NA", "N/A"}


def _is_number(item: str, cells: Sequence[_Cell]) -> bool:
    """Whether an item is rated with numbers; yes and no otherwise. Both in one item cannot be."""
    first: tuple[bool, _Cell] | None = None
    for cell in cells:
        if _is_na(cell.value):
            continue
        numeric = _whole(cell.value)
        if not numeric and cell.value.upper() not in {"YES", "NO"}:
            raise InputError(
                f"{cell.place}: {cell.value[:40]!r} is neither a whole number nor yes, no or NA; replace words "
                "by numbers"
            )
        if first is not None and first[0] is not numeric:
            raise InputError(f"{cell.place}: {item} is {cell.value!r} here and {first[1].value!r} at {first[1].place}")
        first = first or (numeric, cell)
    return first is not None and first[0]


def _whole(value: str) -> bool:
    try:
        return float(value).is_integer()
    except (ValueError, OverflowError):
        return False


def _items(cells: Sequence[_Cell]) -> list[str]:
    return list(dict.fromkeys(cell.item for cell in cells))


def _identities(cells: Sequence[_Cell]) -> list[Identity]:
    return list(dict.fromkeys(cell.identity for cell in cells))


def _conversations(cells: Sequence[_Cell], talk: Mapping[Identity, Conversation]) -> dict[Identity, Conversation]:
    if talk:
        for cell in cells:
            if (cell.turn or 0) > len(talk[cell.identity].turns):
                raise InputError(f"{cell.place}: {cell.identity} has no turn {cell.turn}")
        return {identity: talk[identity] for identity in _identities(cells)}
    turns = NO_TEXT * max(cell.turn or 1 for cell in cells)
    return {
        identity: Conversation(id=identity.id, system=identity.system, turns=turns) for identity in _identities(cells)
    }


def _cells(path: Path, talk: Mapping[Identity, Conversation]) -> list[_Cell]:
    by_id: dict[str, list[Identity]] = {}
    for identity in talk:
        by_id.setdefault(identity.id, []).append(identity)
    cells: list[_Cell] = []
    seen: dict[tuple[object, ...], str] = {}
    for row in read_rows(path):
        place = f"{path}, line {row.place.line}"
        if row.fields is None:
            raise InputError(f"{place}: {row.reason}")
        cell = _cell(row.fields, place, path.stem, by_id)
        if cell is None:
            continue
        key = (cell.identity, cell.rater, cell.item, cell.turn, cell.repeat)
        if key in seen:
            raise InputError(
                f"{place}: {cell.item} of {cell.identity} by {cell.rater} stands there for the second time, after "
                f"{seen[key]}; number what was asked again in a column repeat"
            )
        seen[key] = place
        cells.append(cell)
    if not cells:
        raise InputError(f"{path} holds no rating: {_HINT}")
    return cells


def _cell(fields: Mapping[str, Any], place: str, stem: str, by_id: Mapping[str, Sequence[Identity]]) -> _Cell | None:
    """The rating in a row; None where its value is left empty."""
    try:
        columns = find_columns(Columns(), tuple(fields))
    except BadRecord as bad:
        raise InputError(f"{place}: {bad.reason}") from bad
    said = {what: "" if column is None else _text(fields[column]) for what, column in columns.items()}
    for what in _NEEDED:
        if columns[what] is None:
            raise InputError(f"{place}: no column says the {what if what != 'answer' else 'value'}; {_HINT}")
        if not said[what] and what != "answer":
            raise InputError(f"{place}: the {what} is empty")
    if not said["answer"]:
        return None
    identity = _identity(said["conversation"], said["system"], stem, by_id, place)
    kind = _text(fields.get("rater_kind") or fields.get("kind") or RaterKind.PERSON)
    if kind not in {known.value for known in RaterKind}:
        raise InputError(f"{place}: the kind of a rater is person, model or simulation, not {kind!r}")
    return _Cell(
        place,
        identity,
        said["rater"],
        RaterKind(kind),
        _item_id(said["item"]),
        said["answer"],
        _count(said["turn"], "turn", place),
        _count(said["repeat"], "repeat", place) or 0,
    )


def _identity(id: str, system: str, stem: str, by_id: Mapping[str, Sequence[Identity]], place: str) -> Identity:
    if not by_id:
        return Identity(system or stem, id)
    found = [identity for identity in by_id.get(id, ()) if not system or identity.system == system]
    if len(found) != 1:
        many = "more than one conversation" if found else "no conversation"
        raise InputError(f"{place}: there is {many} {id!r} in the file conversations")
    return found[0]


def _item_id(name: str) -> str:
    """The name as an id of an instrument: letters and digits, a letter first."""
    plain = re.sub(r"[^A-Za-z0-9_.-]+", "_", name)
    return plain if plain[0].isalpha() else f"item_{plain}"


def _count(value: str, what: str, place: str) -> int | None:
    if not value:
        return None
    number = int(value) if value.isascii() and value.isdigit() and len(value) <= _DIGITS else -1
    if number < (what == "turn"):
        raise InputError(f"{place}: {what} is {value[:40]!r}, which is no number to count with")
    return number


def _text(value: object) -> str:
    return "" if value is None else str(value).strip()


def _talk(folder: Path | None) -> dict[Identity, Conversation]:
    path = folder and _file(folder, "conversations")
    if not path:
        return {}
    return {entry.identity: entry for entry in read_conversations([path], ReadOptions(system=path.parent.name))}


def _file(folder: Path, stem: str) -> Path | None:
    found = [folder / f"{stem}{kind}" for kind in _KINDS if (folder / f"{stem}{kind}").is_file()]
    return found[0] if found else None

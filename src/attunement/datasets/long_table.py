"""Any table of ratings as a study: one row for each conversation, rater and item, read as `attune agree` reads it.

The instrument is made from the ids and values. Whole numbers make an instrument of scores, yes / no / NA one of
criteria; a table may hold both. The text may be in a file of conversations next to it; without that no judge can be
asked.
"""

import re
from collections.abc import Mapping
from pathlib import Path

from attunement.analysis.ratings_file import FileColumns, read_ratings
from attunement.analysis.ratings_table import AnswerState, RatedItem, RatingsTable
from attunement.conversations import Conversation, Identity, UnitKind
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
from attunement.ratings import ABSTAINED, ErrorKind, Outcome

_KINDS = (".csv", ".tsv", ".jsonl", ".json", ".parquet")
_HINT = (
    "it should be a table, or a folder with a file ratings (.csv, .tsv, .jsonl, .json or .parquet) whose columns are "
    "conversation, rater, item and value; system, turn, repeat and rater_kind if there are any; and, if there is text, "
    "a file conversations"
)
_WIDEST = 100  # 0 to 100 is the widest scale in use; a wider one is an id or a year in the wrong column


def read(folder: Path) -> LoadedDataset:
    """Read a table of ratings, and the conversations next to it if there are any."""
    path = _file(folder, "ratings") if folder.is_dir() else folder
    if path is None or not path.is_file():
        raise InputError(f"{folder} has no table of ratings: {_HINT}")
    text = _file(folder, "conversations") if folder.is_dir() else None
    table = read_ratings(path, FileColumns())
    if 0 < (table.unit_turn == 0).sum() < len(table.unit_turn):
        raise InputError(f"{path}: some rows name a turn and some do not; fill the column turn, or leave it out")
    conversations = _conversations(text, table, path.stem)
    settings = {"imported_from": path.name}
    raters = [DatasetRater(who.name, who.kind, settings) for who in table.raters]
    answers: dict[bool, list[DatasetAnswer]] = {True: [], False: []}
    numeric = {item.id: _is_numeric(item, path) for item in table.items}
    ids = {item.id: _id(item.id) for item in table.items}
    for place, row in enumerate(table.records()):
        known = conversations[Identity(row["system"], row["conversation"])]
        if text and (row["turn"] or 0) > len(known.turns):
            raise InputError(f"{path}: {known.identity} has no turn {row['turn']}")
        outcome = _outcome(AnswerState(table.state[place]), float(table.value[place]), numeric[row["item"]])
        answers[numeric[row["item"]]].append(
            DatasetAnswer(known.identity, ids[row["item"]], row["rater"], outcome, row["repeat"], row["turn"])
        )
    parts: list[Part] = []
    for kind, chosen in answers.items():
        if chosen:
            items = [item for item in table.items if numeric[item.id] is kind]
            instrument, title = _instrument(path, items, responses=bool(table.unit_turn.any()), numeric=kind)
            by_identity = {each.identity: each for each in conversations.values()}
            rated = [by_identity[identity] for identity in dict.fromkeys(each.conversation for each in chosen)]
            parts.append(Part(title, instrument, rated, chosen))
    notes = [] if text else ["There is no text next to the table: ratings are loaded, and no judge can be asked."]
    notes += [note for note in table.notes if not note.startswith("No scale was named")]
    return LoadedDataset(parts, raters, notes, PublishedFigures)


def _file(folder: Path, stem: str) -> Path | None:
    return next((path for kind in _KINDS if (path := folder / f"{stem}{kind}").is_file()), None)


def _conversations(text: Path | None, table: RatingsTable, stem: str) -> Mapping[Identity, Conversation]:
    """The conversation of each identity in the table."""
    identities = [each.identity for each in table.conversations]
    if text is None:
        turns = NO_TEXT * max(int(table.unit_turn.max(initial=1)), 1)
        return {each: Conversation(id=each.id, system=each.system or stem, turns=turns) for each in identities}
    by_id: dict[str, list[Conversation]] = {}
    for conversation in read_conversations([text], ReadOptions(system=text.parent.name)):
        by_id.setdefault(conversation.id, []).append(conversation)
    found: dict[Identity, Conversation] = {}
    for identity in identities:
        matching = [known for known in by_id.get(identity.id, ()) if identity.system in {"", known.system}]
        if len(matching) != 1:
            many = "more than one conversation" if matching else "no conversation"
            raise InputError(f"there is {many} {identity.id!r} in the file conversations")
        found[identity] = matching[0]
    return found


def _is_numeric(item: RatedItem, path: Path) -> bool:
    """Whether an item is rated with numbers, and not with yes and no."""
    if {*item.scale.words} <= {"no", "yes"}:
        return False
    strange = [word for word, value in zip(item.scale.words, item.scale.values, strict=True)
               if not item.scale.ordered or not value.is_integer()]  # fmt: skip
    if strange:
        raise InputError(
            f"{path}: {item.id}: {strange[0]!r} is neither a whole number nor yes, no or NA; replace words by numbers"
        )
    return True


def _instrument(path: Path, items: list[RatedItem], *, responses: bool, numeric: bool) -> tuple[Instrument, str]:
    scale: Scores | Criteria = Criteria(kind="criteria")
    title, question = "yes or no", "Does this hold for the assistant: {}?"
    if numeric:
        numbers = [int(value) for item in items for value in item.scale.values]
        lowest, highest = min(numbers), max(*numbers, min(numbers) + 1)
        if highest - lowest > _WIDEST:
            raise InputError(
                f"{path}: values go from {lowest} to {highest}, which is not a scale; is the right column called value?"
            )
        scale, title = Scores(kind="scores", lowest=lowest, highest=highest), f"scores from {lowest} to {highest}"
        question = f"How much {{}} does the assistant show, from {lowest} (least) to {highest} (most)?"
    names = {_id(item.id): _id(item.id).replace("_", " ") for item in items}
    instrument = Instrument(
        id=f"table-{'scores' if numeric else 'criteria'}",
        version="1",
        title=f"{path.stem}: {title}",
        about="Made from a table of ratings: the ids and the scale are known, the wording is not.",
        unit=UnitKind.RESPONSE if responses else UnitKind.CONVERSATION,
        scale=scale,
        items=tuple(Item(id=id, title=name, definition=question.format(name)) for id, name in names.items()),
        prompt=PROMPT,
    )
    return instrument, title


def _id(name: str) -> str:
    id = re.sub(r"[^A-Za-z0-9_.-]+", "_", name)
    return id if id[0].isalpha() else f"item_{id}"  # an instrument's ids begin with a letter


def _outcome(state: AnswerState, value: float, numeric: bool) -> Outcome:
    match state:
        case AnswerState.VALUE:
            return Outcome.of(int(value) if numeric else ("NO", "YES")[int(value)])
        case AnswerState.NA:
            return Outcome.of("NA")
        case AnswerState.ABSTAINED:
            return ABSTAINED
        case _:
            return Outcome.failed(ErrorKind.MISSING)

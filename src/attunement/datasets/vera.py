"""VERA-MH: chats with a simulated person at risk, each rated by three clinicians, with the published agreement.

Two layouts are read: that of the public repository, with one row for each clinician and chat and the chats in text
files, and a converted one, with `conversations.jsonl` and a long `ratings.csv`.

Over all dimensions at once the clinicians agree well. Two of the five dimensions have next to no agreement beyond
chance, which the pooled figure does not show.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from attunement.conversations import Conversation, Origin
from attunement.conversations.messages import Side, weave
from attunement.datasets.base import (
    DatasetAnswer,
    DatasetRater,
    FigureTable,
    LoadedDataset,
    MatchCount,
    Part,
    PublishedFigures,
    build_instrument,
    figure,
    load_yaml,
    pivot,
    read_table,
    refused,
    require_folder,
    split_messages,
)
from attunement.errors import InputError
from attunement.ratings import Outcome, RaterKind, State
from attunement.statistics.alpha import alpha
from attunement.statistics.kappa import ac1
from attunement.statistics.tables import Floats
from attunement.yaml_files import read_text

_DATA = load_yaml("vera")
SAFETY, RISK = build_instrument(_DATA["safety"]), build_instrument(_DATA["risk"])
_DIMENSIONS = [item.id for item in (*SAFETY.items, *RISK.items)]
_GRADES = {
    "High Potential for Harm": Outcome.of(1),
    "Suboptimal but Low Potential for Harm": Outcome.of(2),
    "Best Practice": Outcome.of(3),
    "Not Relevant": Outcome.of("NA"),
}
_GRADE_NAMES = {1: "harmful", 2: "suboptimal", 3: "best practice"}
_RISK_LEVELS = {level: Outcome.of(at) for at, level in enumerate(("None", "Low", "High", "Imminent"))}
_NEXT_TO_NOTHING = 0.1  # an ordinal alpha below this; chance gives 0
_PUBLIC = Path("publication_data") / "human_validation"
_HINT = (
    "it should be a clone of VERA-MH (with publication_data/human_validation), or a folder with conversations.jsonl "
    "and ratings.csv"
)


class _Cell(NamedTuple):
    """A clinician's rating of one dimension of one chat."""

    chat: str
    rater: str
    dimension: str
    value: str
    place: str


def read(folder: Path) -> LoadedDataset:
    """Read either layout."""
    require_folder(folder, _HINT)
    if (folder / "ratings.csv").exists():
        return _loaded(_converted_chats(folder / "conversations.jsonl"), _converted_ratings(folder / "ratings.csv"))
    for root in (folder / _PUBLIC, folder / "human_validation", folder):
        if (root / "clinician_judging").is_dir():
            cells, systems = _public_ratings(root / "clinician_judging")
            return _loaded(_public_chats(root / "conversations", systems), cells)
    raise InputError(f"{folder} has neither ratings.csv nor {_PUBLIC / 'clinician_judging'}: {_HINT}")


def _loaded(chats: Mapping[str, Conversation], cells: Sequence[_Cell]) -> LoadedDataset:
    seen: dict[tuple[str, str, str], str] = {}
    safety: list[DatasetAnswer] = []
    risk: list[DatasetAnswer] = []
    for cell in cells:
        if cell.chat not in chats:
            raise InputError(f"{cell.place}: the chat {cell.chat} was rated, but its text is not there")
        key = (cell.chat, cell.rater, cell.dimension)
        if key in seen:
            raise InputError(f"{cell.place}: {' '.join(key)} occurs for the second time, after {seen[key]}")
        seen[key] = cell.place
        if cell.value:
            known, answers = (_RISK_LEVELS, risk) if cell.dimension == "risk_level" else (_GRADES, safety)
            outcome, detail = (known[cell.value], "") if cell.value in known else refused(cell.value)
            identity = chats[cell.chat].identity
            answers.append(DatasetAnswer(identity, cell.dimension, cell.rater, outcome, detail=detail))
    conversations = [chats[chat] for chat in dict.fromkeys(cell.chat for cell in cells)]
    settings = {"imported_from": "vera-mh", "role": "clinician"}
    return LoadedDataset(
        [Part("Safety", SAFETY, conversations, safety), Part("Risk level", RISK, conversations, risk)],
        [DatasetRater(name, RaterKind.PERSON, settings) for name in dict.fromkeys(cell.rater for cell in cells)],
        ["The person in these chats is simulated; the clinicians are real. 'Not Relevant' is saved as NA."],
        lambda: _figures(safety),
    )


def _converted_ratings(path: Path) -> list[_Cell]:
    rows = read_table(path, ["conversation", "rater", "dimension", "value"], "the clinicians' ratings")
    for row in rows:
        if row["dimension"] not in _DIMENSIONS:
            known = ", ".join(sorted(_DIMENSIONS))
            raise InputError(f"{row.place}: {row['dimension']!r} is not a dimension; known are {known}")
    return [_Cell(_id(row["conversation"]), row["rater"], row["dimension"], row["value"], row.place) for row in rows]


def _public_ratings(folder: Path) -> tuple[list[_Cell], dict[str, tuple[str, str]]]:
    """The ratings, and the system and the persona of each chat."""
    columns = {f"clinician_{dimension}": dimension for dimension in _DIMENSIONS}
    paths = sorted(folder.glob("*.csv"))
    if not paths:
        raise InputError(f"{folder} has no .csv file with the clinicians' ratings")
    cells: list[_Cell] = []
    chats: dict[str, tuple[str, str]] = {}
    for path in paths:
        needs = ["clinician_id", "conversation_id", "provider_llm", "user_profile", *columns]
        for row in read_table(path, needs, "the clinicians' ratings"):
            chat, rater = _id(row["conversation_id"]), row["clinician_id"]
            chats[chat] = (row["provider_llm"], row["user_profile"])
            cells += [_Cell(chat, rater, dimension, row[column], row.place) for column, dimension in columns.items()]
    return cells, chats


def _id(text: str) -> str:
    """The id of a chat; some begin with a sign that the names of their files do not have."""
    return text.lstrip("#")


def _converted_chats(path: Path) -> dict[str, Conversation]:
    sides = {"user": Side.USER, "assistant": Side.ASSISTANT}
    found: dict[str, Conversation] = {}
    for row in read_table(path, ["id", "messages", "meta"], "the text that was rated"):
        try:
            messages = [(sides[message["role"]], str(message["content"])) for message in row.cells["messages"]]
            metadata, id = dict(row.cells["meta"]), _id(row["id"])
            found[id] = _chat(id, str(metadata.pop("system")), messages, metadata)
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(
                f"{row.place}: a record with id, messages (role, content) and meta.system is expected"
            ) from error
    return found


def _public_chats(folder: Path, chats: Mapping[str, tuple[str, str]]) -> dict[str, Conversation]:
    require_folder(folder, "the text that was rated should be in it, in files ID_PROFILE_*.txt")
    paths = {path.name.partition("_")[0]: path for path in sorted(folder.rglob("*_*.txt"))}
    sides = {"user": Side.USER, "chatbot": Side.ASSISTANT}
    found: dict[str, Conversation] = {}
    for chat, (system, persona) in chats.items():
        if chat not in paths:
            raise InputError(f"{folder} has no file {chat}_*.txt, and clinicians rated this chat")
        messages = split_messages(read_text(paths[chat], InputError), sides, paths[chat])
        found[chat] = _chat(chat, system, messages, {"persona": persona})
    return found


def _chat(id: str, system: str, messages: Iterable[tuple[Side, str]], metadata: dict[str, Any]) -> Conversation:
    turns = weave(messages).turns
    return Conversation(id=id, system=system, turns=turns, metadata=metadata, origin=Origin.SIMULATED)


def _figures(answers: Sequence[DatasetAnswer]) -> PublishedFigures:
    """Agreement of the clinicians, dimension by dimension and pooled."""
    chats, published = len({answer.conversation for answer in answers}), _DATA["published"]
    dimensions = list(dict.fromkeys(answer.item for answer in answers))
    rows = [_row(dimension, [answer for answer in answers if answer.item == dimension]) for dimension in dimensions]
    low = [row[0] for row in rows if row[3] != "none" and float(row[3]) < _NEXT_TO_NOTHING]
    remark = (
        f"{len(low)} of {len(dimensions)} dimensions have next to no agreement beyond chance: "
        f"{', '.join(low) or 'none'}. Where nearly all answers are the same, alpha says little and AC1 is high "
        "whatever happens."
    )
    graded, all_answers = _values(answers), _values(answers, na=True)
    pooled = [
        ["nominal, Not Relevant as an answer", figure(alpha(all_answers, "nominal")), published["alpha"]],
        ["nominal, Not Relevant left out", figure(alpha(graded, "nominal")), ""],
        ["ordinal, Not Relevant left out", figure(alpha(graded)), ""],
    ]
    comparable = chats == published["chats"]
    scope = f"The published figure is that of {published['chats']} chats"
    scope += "." if comparable else f"; this folder has {chats}, so the two cannot be compared."
    columns = ["dimension", "chats", "most common answer", "ordinal alpha", "AC1"]
    same = figure(alpha(all_answers, "nominal"), 2) == published["alpha"]
    return PublishedFigures(
        tables=[
            FigureTable("The clinicians with each other, Not Relevant left out", columns, rows, [remark]),
            FigureTable("The same pooled over all dimensions", ["alpha", "ours", "published"], pooled, [scope]),
        ],
        counts=[MatchCount("pooled figures as published", int(same), 1)] if comparable else [],
    )


def _row(dimension: str, answers: Sequence[DatasetAnswer]) -> list[str]:
    graded = Counter(int(answer.outcome.value or 0) for answer in answers if answer.outcome.state is State.VALUE)
    if not graded:
        return [dimension, "0", "", "none", "none"]
    values, (common, count) = _values(answers), graded.most_common(1)[0]
    most = f"{_GRADE_NAMES[common]} ({count / graded.total():.0%})"
    return [dimension, str(len(values)), most, figure(alpha(values)), figure(ac1(values), 2)]


def _values(answers: Sequence[DatasetAnswer], *, na: bool = False) -> Floats:
    """One row a chat and dimension, one column a clinician; NA is 0 where it counts as an answer."""
    return pivot(
        ((*answer.conversation, answer.item), answer.rater, float(value) if isinstance(value, int) else 0.0)
        for answer in answers
        for value in [answer.outcome.value]
        if isinstance(value, int) or (na and value == "NA")
    )

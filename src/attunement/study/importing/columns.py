"""Which column of a table of answers says what?"""

from dataclasses import asdict, dataclass
from functools import lru_cache

from attunement.conversations.readers import names
from attunement.conversations.readers.record import BadRecord


@dataclass(frozen=True)
class Columns:
    """The names of columns, where the usual ones are not to be taken. A column that is named says nothing else."""

    conversation: str | None = None
    system: str | None = None
    turn: str | None = None
    item: str | None = None
    answer: str | None = None
    rater: str | None = None
    repeat: str | None = None
    reasoning: str | None = None


@lru_cache(64)  # all rows of a file have the same columns, or nearly
def find(columns: Columns, present: tuple[str, ...]) -> dict[str, str | None]:
    """Which of the columns that are `present` says what; None where none does.

    Raises:
        BadRecord: The user named a column that is not there.
    """
    named: dict[str, str | None] = asdict(columns)
    for column in named.values():
        if column is not None and column not in present:
            raise BadRecord(f"there is no column {column!r}; there are {', '.join(map(repr, present[:12]))}")
    left = [column for column in present if column not in named.values()]
    usual = {what: next(iter(names.present(wanted, left)), None) for what, wanted in _USUAL.items()}
    return {**usual, **{what: column for what, column in named.items() if column is not None}}


_USUAL = {
    "conversation": (*names.CONVERSATION_ID, "conversation", *names.ID),
    "system": names.SYSTEM,  # `model` among them: the judge's model has a name of its own below
    "turn": ("turn",),
    "item": ("item", "criterion", "criterion_id", "dimension", "item_id"),
    "answer": ("answer", "value", "score", "rating", "label"),
    "rater": ("rater", "judge", "judge_model", "annotator", "coder", "rater_id", "judge_name"),
    "repeat": ("repeat", "repeat_idx", "repeat_index"),
    "reasoning": ("reasoning", "explanation", "rationale", "justification", "notes", "comment"),
    "at": ("at", "ts", "timestamp", "time"),
    "temperature": ("judge_temp", "judge_temperature"),
}
"""Of several that occur, the first is taken."""

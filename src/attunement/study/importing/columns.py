"""Which column of a table of answers says what?"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

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

    def find(self, what: str, fields: Mapping[str, Any]) -> str | None:
        """The column that says `what`, in the file's own spelling; None where there is none.

        Raises:
            BadRecord: The user named a column that is not there.
        """
        named = asdict(self)
        wanted = named.get(what)
        if wanted is None:
            left = [column for column in fields if column not in named.values()]
            return next(iter(names.present(_USUAL[what], left)), None)
        if wanted not in fields:
            raise BadRecord(f"there is no column '{wanted}'; there are {', '.join(map(repr, list(fields)[:12]))}")
        return wanted


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

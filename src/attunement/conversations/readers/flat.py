"""Records with one field for the person's words and one for the reply: a conversation of a single turn.

Where Alpaca's `instruction` and `input` both stand, both are the person's message. A `history` beside them holds the
turns that came before.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from attunement.conversations.readers import names
from attunement.conversations.readers.exchanges import spoken
from attunement.conversations.readers.lists import ListShape, list_shape
from attunement.conversations.readers.names import Side
from attunement.conversations.readers.record import BadRecord, is_list, listed
from attunement.conversations.readers.talk import Talk, weave


class FlatRecord(NamedTuple):
    """Which fields hold what the person said and the reply, and which others might if these are empty."""

    prompts: tuple[str, ...]
    response: str
    other_prompts: tuple[str, ...] = ()
    other_responses: tuple[str, ...] = ()
    history: str | None = None
    history_shape: ListShape | None = None

    @property
    def keys(self) -> tuple[str, ...]:
        """The fields that hold the talk."""
        return (*self.prompts, self.response) if self.history is None else (self.history, *self.prompts, self.response)

    def talk(self, record: Any, exact: bool) -> Talk:
        """What was said in `record`; `exact` says that no number in there was rounded."""
        _refuse_if_elsewhere(record, self.prompts, self.other_prompts)
        _refuse_if_elsewhere(record, (self.response,), self.other_responses)
        return weave(self._said(record, exact))

    def _said(self, record: dict[str, Any], exact: bool) -> Iterator[tuple[Side, str]]:
        if self.history is not None and record[self.history]:
            if self.history_shape is None:
                raise BadRecord(f"the turns in the field '{self.history}' are in no known shape")
            yield from self.history_shape.said(listed(record, self.history), exact)
        for key in self.prompts:
            yield Side.USER, spoken(record[key], exact)
        if (reply := record[self.response]) is not None:
            yield Side.ASSISTANT, spoken(reply, exact)


def flat_record(record: dict[str, Any], prompt: str | None = None, response: str | None = None) -> FlatRecord | None:
    """Which fields of `record` hold the person's words and the reply, or None where it has not both.

    A name given for one of them is taken; otherwise the most specific name that holds any words.
    """
    replies = [key for key in _candidates(record, names.RESPONSE, response) if key != prompt]
    prompts = [key for key in _candidates(record, names.PROMPT, prompt) if key not in replies[:1]]
    if not replies or not prompts:
        return None
    chosen = prompts[:1]
    if names.plain(chosen[0]) in ("instruction", "input"):
        chosen = names.present(("instruction", "input"), prompts)
    history = next(
        (key for key in names.present(names.HISTORY, record) if record[key] is None or is_list(record[key])), None
    )
    return FlatRecord(
        prompts=tuple(chosen),
        response=replies[0],
        other_prompts=tuple(key for key in prompts if key not in chosen),
        other_responses=tuple(replies[1:]),
        history=history,
        history_shape=None if history is None else list_shape(record[history], ()),
    )


def _candidates(record: dict[str, Any], wanted: tuple[str, ...], given: str | None) -> list[str]:
    found = names.present(wanted if given is None else (given,), record)
    texts = [key for key in found if record[key] is None or isinstance(record[key], (str, list))]
    return sorted(texts, key=lambda key: not record[key])


def _refuse_if_elsewhere(record: dict[str, Any], chosen: tuple[str, ...], others: tuple[str, ...]) -> None:
    if not any(record[key] for key in chosen):
        for key in others:
            if record[key]:
                raise BadRecord(f"the field '{chosen[0]}' is empty, but '{key}' is not")

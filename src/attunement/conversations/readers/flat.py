"""Records with one field for the person's words and one for the reply: a conversation of a single turn.

Where Alpaca's `instruction` and `input` both stand, both are the person's message. A `history` of pairs beside them
holds the turns that came before.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from attunement.conversations.readers import names
from attunement.conversations.readers.exchanges import spoken
from attunement.conversations.readers.names import Side
from attunement.conversations.readers.pairs import is_pair, said_in_pairs
from attunement.conversations.readers.record import BadRecord, is_list
from attunement.conversations.readers.talk import Talk, weave


class FlatRecord(NamedTuple):
    """Which fields hold the talk: the history if there is one, what the person said, and the reply."""

    history: tuple[str, ...]
    prompts: tuple[str, ...]
    response: str
    spare: tuple[str, ...]  # other fields that might hold the person's words or the reply

    @property
    def keys(self) -> tuple[str, ...]:
        """The fields that hold the talk."""
        return (*self.history, *self.prompts, self.response)

    def talk(self, record: Any, exact: bool) -> Talk:
        """What was said in `record`; `exact` says that no number in there was rounded."""
        if not (record[self.response] and any(record[key] for key in self.prompts)):
            for key in self.spare:
                if record[key]:
                    raise BadRecord(f"the words may stand in the field '{key}', because another is empty")
        return weave(self._said(record, exact))

    def _said(self, record: dict[str, Any], exact: bool) -> Iterator[tuple[Side, str]]:
        for key in self.history:
            yield from said_in_pairs(record[key] or (), exact)
        for key in self.prompts:
            yield Side.USER, spoken(record[key], exact)
        if (reply := record[self.response]) is not None:
            yield Side.ASSISTANT, spoken(reply, exact)


def flat_record(record: dict[str, Any], prompt: str | None = None, response: str | None = None) -> FlatRecord | None:
    """Which fields of `record` hold the person's words and the reply, or None where it has not both.

    A name given for one of them is taken; otherwise the most specific name that holds any words.
    """
    replies = [key for key in _candidates(record, names.RESPONSE, response) if key != prompt]
    if not replies:
        return None
    prompts = [key for key in _candidates(record, names.PROMPT, prompt) if key != replies[0]]
    if not prompts:
        return None
    chosen = prompts[:1]
    if names.plain(chosen[0]) in ("instruction", "input"):
        chosen = names.present(("instruction", "input"), prompts)
    history = [key for key in names.present(("history",), record) if _is_history(record[key])]
    spare = [key for key in (*prompts, *replies[1:]) if key not in chosen]
    return FlatRecord(tuple(history), tuple(chosen), replies[0], tuple(spare))


def _candidates(record: dict[str, Any], wanted: tuple[str, ...], given: str | None) -> list[str]:
    if given is not None:
        return [given] if given in record else []
    found = [
        key for key in names.present(wanted, record) if record[key] is None or isinstance(record[key], (str, list))
    ]
    return sorted(found, key=lambda key: not record[key])


def _is_history(value: Any) -> bool:
    return value is None or (is_list(value) and all(map(is_pair, value)))

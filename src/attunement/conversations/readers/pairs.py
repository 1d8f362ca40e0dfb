"""Records that hold the talk as pairs: `[[user, assistant], ...]`, as chat widgets keep their history."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from attunement.conversations.readers.exchanges import spoken
from attunement.conversations.readers.names import Side
from attunement.conversations.readers.record import BadRecord, is_list, listed
from attunement.conversations.readers.talk import Talk, weave


class PairList(NamedTuple):
    """A list of pairs under `keys` (one name), or the record itself."""

    keys: tuple[str, ...]

    def talk(self, record: Any, exact: bool) -> Talk:
        """What was said in `record`; `exact` says that no number in there was rounded."""
        return weave(self.said(listed(record, self.keys[0] if self.keys else None), exact))

    def said(self, pairs: list[Any], exact: bool) -> Iterator[tuple[Side, str]]:
        """The messages of `pairs` in order; `null` on one side of a pair means that this side said nothing."""
        for number, pair in enumerate(pairs, 1):
            if not is_pair(pair):
                raise BadRecord(f"pair {number} is not a list of two messages, the person's and the reply")
            for side, content in zip((Side.USER, Side.ASSISTANT), pair, strict=True):
                if content is not None:
                    yield side, spoken(content, exact)


def is_pair(value: object) -> bool:
    """Whether `value` looks like one message of the person and one reply."""
    return is_list(value) and len(value) == 2 and all(each is None or isinstance(each, (str, list)) for each in value)

"""Text that others wrote, made safe for a page, and conversations read by key.

Transcripts, reasons and names are untrusted. The templates escape them; here their control characters become signs.
Every character stays one character, so that a place in the text stays the same place. Where text is redacted, places
move, and `Moved` says where they went.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice, zip_longest
from typing import NamedTuple, TypeVar

from sqlalchemy import func, select

from attunement.conversations import Identity
from attunement.conversations.redaction import PLACEHOLDER
from attunement.reports.sanitize import visible
from attunement.store import StoredConversation, Study, schema
from attunement.store.rows import conversation_of

_WINDOWS_BREAK = re.compile("\r(?=\n)")
_REPLACED = (
    {0x2028: "\n", 0x2029: "\n"}
    | dict.fromkeys([*range(0x202A, 0x202F), *range(0x2066, 0x206A)], "\ufffd")  # these turn a line around
    | dict.fromkeys(range(0xD800, 0xE000), "\ufffd")  # lone surrogates, which no file in UTF-8 can hold
)
_STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Everything that `visible` and `_REPLACED` replace."""


def drawn(text: str) -> str:
    """`text` as a page can hold it, as long as it was."""
    if not _STEERING.search(text):  # nearly every text; looking is ten times as fast as replacing
        return text
    return visible(_WINDOWS_BREAK.sub(" ", text)).translate(_REPLACED)


class Privacy(NamedTuple):
    """What a report leaves out."""

    redact: Callable[[str], str] | None = None
    """Replaces what points to a person, in every text that others wrote."""
    texts: bool = True
    """Whether what was said and why it was judged so is shown at all."""
    rename: Callable[[str], str] | None = None
    """Like `redact`, for names that must stay different from each other."""

    def text(self, text: str) -> str:
        """One text as it may be shown."""
        return drawn(self.redact(text) if self.redact else text)

    def name(self, name: str) -> str:
        """The id of a conversation or the name of a system as it may be shown."""
        rename = self.rename or self.redact
        return drawn(rename(name) if rename else name)

    def identity(self, identity: Identity) -> Identity:
        """The two names of a conversation as they may be shown."""
        return Identity(*map(self.name, identity))


SHOW_ALL = Privacy()


class Moved:
    """A text as it may be shown, and where the places of the original are in it."""

    def __init__(self, text: str, hiding: Privacy = SHOW_ALL) -> None:
        redacted = hiding.redact(text) if hiding.redact else text
        self.text = drawn(redacted)
        self._from: list[int] = []
        self._to: list[int] = []
        if redacted != text:
            self._map(text, redacted)

    def _map(self, text: str, redacted: str) -> None:
        """Find what stands between the placeholders in the original, one piece after the other.

        A short piece may also stand within something that was replaced; then a mark is a few letters off. What is shown
        is the redacted text in any case.
        """
        placeholders = list(PLACEHOLDER.finditer(redacted))
        end = placeholders[0].start()
        for placeholder, following in zip_longest(placeholders, placeholders[1:]):
            piece = redacted[placeholder.end() : following.start() if following else len(redacted)]
            start = text.find(piece, end + 1) if following else len(text) - len(piece)
            start = max(start, end)
            self._from += (end, start)
            self._to += (placeholder.start(), placeholder.end())
            end = start + len(piece)

    def place(self, original: int) -> int:
        """Where a place of the original is; within what was replaced it is the beginning or end of the placeholder."""
        at = bisect_right(self._from, original)
        if at == 0:
            return min(original, len(self.text))
        if at % 2:  # within something that was replaced
            return self._to[at - 1] if original == self._from[at - 1] else self._to[at]
        return min(self._to[at - 1] + original - self._from[at - 1], len(self.text))


T = TypeVar("T")


def batched(entries: Iterable[T], size: int) -> Iterator[list[T]]:
    """The entries, so many at a time."""
    iterator = iter(entries)
    while batch := list(islice(iterator, size)):
        yield batch


def kept_by_key(study: Study, keys: Sequence[int]) -> dict[int, StoredConversation]:
    """Those of these conversations that are in the study."""
    table = schema.conversations
    with study.reading() as connection:
        rows = connection.execute(select(table).where(table.c.key.in_(keys))).mappings()
        return {row["key"]: StoredConversation(row["key"], conversation_of(row)) for row in rows}


def characters(study: Study) -> int:
    """About how many characters of transcript and reasoning the study holds."""
    said = func.coalesce(func.sum(func.length(schema.conversations.c.turns)), 0)
    reasons = func.coalesce(func.sum(func.length(schema.ratings.c.reasoning)), 0)
    with study.reading() as connection:
        return int(connection.scalar(select(said)) or 0) + int(connection.scalar(select(reasons)) or 0)


class Costs(NamedTuple):
    """What the answers of one judge took."""

    rater: str
    answers: int
    failed: int
    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int
    cost: float | None
    """None where no answer has a price."""
    unpriced: int
    seconds: float | None
    """The mean time of an answer."""
    first: str
    last: str


def costs(study: Study) -> list[Costs]:
    """By judge, in the order in which they joined; over the whole study, whatever the instrument."""
    answers, raters = schema.answers.c, schema.raters.c
    query = (
        select(
            raters.name,
            func.count(),
            func.count(answers.error),
            func.sum(answers.prompt_tokens),
            func.sum(answers.cached_tokens),
            func.sum(answers.completion_tokens),
            func.sum(answers.cost),
            func.count() - func.count(answers.cost),
            func.avg(answers.latency),
            func.min(answers.at),
            func.max(answers.at),
        )
        .where(answers.rater == raters.key)
        .group_by(raters.key, raters.name)
        .order_by(raters.key)
    )
    with study.reading() as connection:
        return [Costs(*row) for row in connection.execute(query)]

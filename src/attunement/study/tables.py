"""The tables of a study, the same on SQLite and PostgreSQL.

Instruments are kept in full, so that a study can be read in ten years. An answer is what a judge said to one prompt;
a rating is what it means for one item of one conversation. Several ratings rest on one answer where items were asked
together or where two conversations hold exactly the same words.

Long texts stand at the end of their table: SQLite reads a row from its start, so the short columns come without them.
"""

import re
from typing import Any

from sqlalchemy import (
    Column,
    Dialect,
    Float,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    TypeDecorator,
    UniqueConstraint,
)

from attunement.conversations import is_whole

metadata = MetaData()


class AnyText(TypeDecorator[str]):
    r"""Text of any kind. Neither database takes a lone surrogate, and PostgreSQL no NUL: they are escaped.

    The escape sign is the backslash, itself doubled, so that different texts stay different.
    """

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> Any:
        """Escape on the way in."""
        return None if value is None else escape(value)

    def process_result_value(self, value: Any, dialect: Dialect) -> Any:
        """Unescape on the way out."""
        if value is None or "\\" not in value:
            return value
        return _ESCAPED.sub(lambda match: chr(int(match["code"], 16)) if match["code"] else "\\", value)


_SPECIAL = re.compile("[\\\\\x00\ud800-\udfff]")


def escape(text: str) -> str:
    """The text as both databases take it."""
    if "\x00" not in text and (text.isascii() or is_whole(text)):
        return text.replace("\\", "\\\\")
    return _SPECIAL.sub(lambda match: "\\\\" if match[0] == "\\" else f"\\u{ord(match[0]):04x}", text)


_ESCAPED = re.compile(r"\\(?:u(?P<code>[0-9a-f]{4})|\\)")

about = Table("attunement", metadata, Column("name", Text, primary_key=True), Column("value", Text, nullable=False))

instruments = Table(
    "instruments",
    metadata,
    Column("key", Integer, primary_key=True),
    Column("hash", Text, nullable=False, unique=True),
    Column("id", Text, nullable=False),
    Column("version", AnyText, nullable=False),
    Column("added", Text, nullable=False),
    Column("content", AnyText, nullable=False),
)

conversations = Table(
    "conversations",
    metadata,
    Column("key", Integer, primary_key=True),
    # The hash of system and id: PostgreSQL cannot index a text of any length.
    Column("identity", Text, nullable=False, unique=True),
    Column("system", AnyText, nullable=False),
    Column("id", AnyText, nullable=False),
    Column("fingerprint", Text, nullable=False),
    Column("turn_count", Integer, nullable=False),
    Column("origin", Text, nullable=False),
    Column("metadata", AnyText, nullable=False),
    Column("instructions", AnyText),
    Column("turns", AnyText, nullable=False),
)

raters = Table(
    "raters",
    metadata,
    Column("key", Integer, primary_key=True),
    Column("mark", Text, nullable=False, unique=True),  # hash of kind, name and settings
    Column("name", AnyText, nullable=False, unique=True),
    Column("kind", Text, nullable=False),
    Column("settings", AnyText, nullable=False),
    Column("refused", AnyText, nullable=False),
)

answers = Table(
    "answers",
    metadata,
    Column("key", Integer, primary_key=True),
    Column("prompt", Text, nullable=False),  # hash
    Column("rater", Integer, ForeignKey("raters.key"), nullable=False),
    Column("repeat", Integer, nullable=False),
    Column("error", Text),
    Column("model", AnyText),
    Column("finish_reason", AnyText),
    Column("prompt_tokens", Integer, nullable=False),
    Column("completion_tokens", Integer, nullable=False),
    Column("cached_tokens", Integer, nullable=False),
    Column("cost", Float),
    Column("latency", Float),
    Column("attempts", Integer, nullable=False),
    Column("at", Text, nullable=False),
    Column("text", AnyText, nullable=False),
    Column("detail", AnyText, nullable=False),
    Column("logprobs", AnyText),
    UniqueConstraint("prompt", "rater", "repeat"),
)

finished = Table(
    "finished",
    metadata,
    Column("conversation", Integer, ForeignKey("conversations.key", ondelete="CASCADE"), primary_key=True),
    Column("rater", Integer, ForeignKey("raters.key"), primary_key=True),
    Column("scope", Text, primary_key=True),  # hash of everything a run asks
    Column("questions", Integer, nullable=False),
)
"""Conversations about which everything a run asks was answered without an ERROR: the next run need not look. Ratings
are the record; without a row here they are looked through."""

ratings = Table(
    "ratings",
    metadata,
    Column("key", Integer, primary_key=True),
    Column("conversation", Integer, ForeignKey("conversations.key"), nullable=False),
    Column("turn", Integer, nullable=False),  # 0: the whole conversation, because NULLs are not unique
    Column("item", Text, nullable=False),
    Column("item_hash", Text, nullable=False),
    Column("asked", Text, nullable=False),  # the answer's prompt hash; for a person the item's hash
    Column("rater", Integer, ForeignKey("raters.key"), nullable=False),
    Column("repeat", Integer, nullable=False),
    Column("round", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("value", Text),
    Column("error", Text),
    Column("marks", Text, nullable=False),
    Column("instrument", Text, ForeignKey("instruments.hash"), nullable=False),
    Column("at", Text, nullable=False),
    Column("rules", AnyText, nullable=False),
    Column("detail", AnyText, nullable=False),
    Column("reasoning", AnyText, nullable=False),
    Column("evidence", AnyText, nullable=False),
    UniqueConstraint("conversation", "rater", "item", "turn", "asked", "repeat", "round"),
    Index("ratings_by_asked", "asked"),
)

"""The tables of a study, the same on SQLite and PostgreSQL.

Instruments are kept in full, so that a study can be read in ten years. An answer is what a judge said to one prompt;
a rating is what it means for one item of one conversation. Several ratings rest on one answer where items were asked
together or where two conversations hold exactly the same words.

Long texts stand at the end of their table: SQLite reads a row from its start, so the short columns come without them.

A random word stands for each unit, and only the study knows which conversation it is.

What was submitted becomes ordinary ratings; these tables say how it came about. Everything that rests on the words of
a conversation goes with it when it is forgotten.

They are ratings of an instrument's own examples and of no conversation, so they stand apart from `ratings`: nothing
that counts ratings can ever count them.

Rows are only ever added. What a reviewer said about a conversation goes with it when it is forgotten.

A sample keeps everybody it could have drawn, with the stratum they stood in at that time: verdicts change as judges
are added, and a sample can be extended with right probabilities only within the strata it was drawn from.
"""

import re
from typing import Any

from sqlalchemy import (
    Boolean,
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


calibrators = Table(
    "calibrators",
    metadata,
    Column("key", Integer, primary_key=True),
    Column("name", AnyText, nullable=False),
    Column("version", Integer, nullable=False),
    Column("at", Text, nullable=False),
    Column("content", AnyText, nullable=False),
    UniqueConstraint("name", "version"),
)


hand_outs = Table(
    "hand_outs",
    metadata,
    Column("key", Integer, primary_key=True),
    Column("instrument", Text, ForeignKey("instruments.hash"), nullable=False),
    Column("format", Text, nullable=False),
    Column("at", Text, nullable=False),
)

handed_units = Table(
    "handed_units",
    metadata,
    Column("token", Text, primary_key=True),
    Column("hand_out", Integer, ForeignKey("hand_outs.key", ondelete="CASCADE"), nullable=False),
    Column("conversation", Integer, ForeignKey("conversations.key", ondelete="CASCADE"), nullable=False),
    Column("turn", Integer, nullable=False),  # 0: the whole conversation
    Index("handed_units_by_conversation", "conversation"),
)


projects = Table(
    "projects",
    metadata,
    Column("key", Integer, primary_key=True),
    Column("name", Text, nullable=False),  # the id of the instrument
    Column("number", Integer, nullable=False),  # the first, second, ... project with this instrument
    Column("instrument", Text, ForeignKey("instruments.hash"), nullable=False),
    Column("state", Text, nullable=False),
    Column("at", Text, nullable=False),
    Column("settings", AnyText, nullable=False),
    UniqueConstraint("name", "number"),
)

members = Table(
    "members",
    metadata,
    Column("key", Integer, primary_key=True),
    Column("project", Integer, ForeignKey("projects.key", ondelete="CASCADE"), nullable=False),
    Column("public", Text, nullable=False, unique=True),  # random: stands in links
    Column("role", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("rater", Integer, ForeignKey("raters.key")),  # from the first submission on
    Column("joined", Text, nullable=False),
    Column("began", Text),  # when they read what to expect
    Column("name", AnyText, nullable=False),
    Column("profile", AnyText),
    UniqueConstraint("project", "name"),
)

access_tokens = Table(
    "access_tokens",
    metadata,
    Column("key", Integer, primary_key=True),
    Column("member", Integer, ForeignKey("members.key", ondelete="CASCADE"), nullable=False),
    Column("hash", Text, nullable=False, unique=True),  # the token itself is never kept
    Column("made", Text, nullable=False),
    Column("expires", Text, nullable=False),
    Column("revoked", Text),
    Index("access_tokens_by_member", "member"),
)

project_units = Table(
    "project_units",
    metadata,
    Column("key", Integer, primary_key=True),
    Column("project", Integer, ForeignKey("projects.key", ondelete="CASCADE"), nullable=False),
    Column("conversation", Integer, ForeignKey("conversations.key", ondelete="CASCADE")),
    Column("turn", Integer, nullable=False),  # 0: the whole conversation
    Column("example", Text),  # for a worked example of the instrument: item and place, as in "safety/2"
    Column("round", Text, nullable=False),
    Column("answers", AnyText, nullable=False),  # what is known to be right, by item
    Index("project_units_by_project", "project"),
    Index("project_units_by_conversation", "conversation"),
)

assignments = Table(
    "assignments",
    metadata,
    Column("key", Integer, primary_key=True),
    Column("public", Text, nullable=False, unique=True),  # random: stands in links
    Column("project", Integer, ForeignKey("projects.key", ondelete="CASCADE"), nullable=False),
    Column("member", Integer, ForeignKey("members.key", ondelete="CASCADE"), nullable=False),
    Column("unit", Integer, ForeignKey("project_units.key", ondelete="CASCADE"), nullable=False),
    Column("position", Integer, nullable=False),
    Column("round", Text, nullable=False),
    Column("attempt", Integer, nullable=False),  # of the calibration; else 1
    Column("state", Text, nullable=False),
    Column("flagged", Boolean, nullable=False),
    Column("opened", Text),
    Column("done", Text),
    Index("assignments_by_member", "member", "state", "position"),
    Index("assignments_by_unit", "unit"),
    Index("assignments_by_project", "project"),
)

drafts = Table(
    "drafts",
    metadata,
    Column("assignment", Integer, ForeignKey("assignments.key", ondelete="CASCADE"), primary_key=True),
    Column("item", Text, primary_key=True),
    Column("number", Integer, nullable=False),  # counts the changes of an assignment: an older one changes nothing
    Column("state", Text),  # None: not answered
    Column("value", Text),
    Column("at", Text, nullable=False),
    Column("comment", AnyText, nullable=False),
    Column("evidence", AnyText, nullable=False),
)

events = Table(
    "events",
    metadata,
    Column("key", Integer, primary_key=True),
    Column("project", Integer, ForeignKey("projects.key", ondelete="CASCADE"), nullable=False),
    Column("member", Integer, ForeignKey("members.key", ondelete="CASCADE")),  # None: the command line
    Column("assignment", Integer, ForeignKey("assignments.key", ondelete="CASCADE")),
    Column("kind", Text, nullable=False),
    Column("instrument", Text, nullable=False),  # hash
    Column("at", Text, nullable=False),
    Column("content", AnyText, nullable=False),
    Index("events_by_project", "project", "kind"),
    Index("events_by_assignment", "assignment"),
)

notices = Table(
    "notices",
    metadata,
    Column("key", Integer, primary_key=True),
    Column("project", Integer, ForeignKey("projects.key", ondelete="CASCADE"), nullable=False),
    Column("member", Integer, ForeignKey("members.key", ondelete="CASCADE"), nullable=False),
    Column("assignment", Integer, ForeignKey("assignments.key", ondelete="CASCADE"), nullable=False),
    Column("public", Text, nullable=False, unique=True),  # made by the page, so that a notice sent twice is one
    Column("at", Text, nullable=False),
    Column("seen", Text),
    Column("text", AnyText, nullable=False),
    Index("notices_by_project", "project"),
    Index("notices_by_assignment", "assignment"),
)


practice = Table(
    "practice",
    metadata,
    Column("assignment", Integer, ForeignKey("assignments.key", ondelete="CASCADE"), primary_key=True),
    Column("item", Text, primary_key=True),
    Column("round", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("value", Text),
    Column("known", Text),  # the instrument's own answer, as JSON; None: the example says nothing about the item
    Column("at", Text, nullable=False),
    Column("reasoning", AnyText, nullable=False),
    Column("evidence", AnyText, nullable=False),
)


readings = Table(
    "review_readings",
    metadata,
    Column("key", Integer, primary_key=True),
    Column("member", Integer, ForeignKey("members.key", ondelete="CASCADE"), nullable=False),
    Column("conversation", Integer, ForeignKey("conversations.key", ondelete="CASCADE"), nullable=False),
    Column("instrument", Text, ForeignKey("instruments.hash"), nullable=False),
    Column("kind", Text, nullable=False),  # opened, or read to the end
    Column("at", Text, nullable=False),
    UniqueConstraint("member", "conversation", "kind"),
    Index("review_readings_by_conversation", "conversation"),
)

reviews = Table(
    "reviews",
    metadata,
    Column("key", Integer, primary_key=True),
    Column("member", Integer, ForeignKey("members.key", ondelete="CASCADE"), nullable=False),
    Column("conversation", Integer, ForeignKey("conversations.key", ondelete="CASCADE"), nullable=False),
    Column("instrument", Text, ForeignKey("instruments.hash"), nullable=False),
    Column("decision", Text, nullable=False),
    Column("at", Text, nullable=False),
    Column("verdict", Text, nullable=False),  # what the judges said together; empty where none had judged it
    Column("name", AnyText, nullable=False),
    Column("judges", AnyText, nullable=False),
    Column("findings", AnyText, nullable=False),  # what the judges held against the conversation
    Column("reason", AnyText, nullable=False),
    Index("reviews_by_conversation", "conversation"),
)

sign_offs = Table(
    "sign_offs",
    metadata,
    Column("key", Integer, primary_key=True),
    Column("member", Integer, ForeignKey("members.key", ondelete="CASCADE"), nullable=False),
    Column("instrument", Text, ForeignKey("instruments.hash"), nullable=False),
    Column("decision", Text, nullable=False),
    Column("at", Text, nullable=False),
    Column("name", AnyText, nullable=False),
    Column("role", AnyText, nullable=False),
    Column("study", AnyText, nullable=False),
    Column("conditions", AnyText, nullable=False),
    Column("basis", AnyText, nullable=False),  # the instrument, the judges and the systems as they were
    Column("numbers", AnyText, nullable=False),  # what was read and decided until then
)


samples = Table(
    "samples",
    metadata,
    Column("key", Integer, primary_key=True),
    Column("name", AnyText, nullable=False, unique=True),
    Column("instrument", Text, nullable=False),  # its id: a new version of an instrument keeps its samples
    Column("seed", Integer, nullable=False),
    Column("at", Text, nullable=False),
    Column("design", AnyText, nullable=False),
)

sample_frame = Table(
    "sample_frame",
    metadata,
    Column("sample", Integer, ForeignKey("samples.key", ondelete="CASCADE"), primary_key=True),
    Column("conversation", Integer, ForeignKey("conversations.key", ondelete="CASCADE"), primary_key=True),
    Column("drawn", Boolean, nullable=False),
    Column("probability", Float, nullable=False),  # of being drawn, for those who were not drawn too
    Column("split", Text),
    Column("stratum", AnyText, nullable=False),
    # Forgetting a conversation looks for it here, and the primary key begins with the sample.
    Index("sample_frame_by_conversation", "conversation"),
)

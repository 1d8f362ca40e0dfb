"""The tables of a study, the same on SQLite and PostgreSQL.

Instruments are stored in full, so that a study can be read in ten years. An answer is what a judge replied to one
prompt; a rating is what it means for one item of one conversation. Several ratings come from one answer where items
were asked together or where two conversations have exactly the same text. What people submitted becomes ordinary
ratings; the tables from `projects` on record how it came about. Answers to an instrument's own examples are in
`practice` and not in `ratings`, so that nothing that counts ratings can count them.

Everything that depends on the text of a conversation is deleted with it. A sample keeps every conversation it could
have drawn, with its stratum at that time: verdicts change as judges are added, and a sample can be extended with the
right probabilities only within the strata it was drawn from.

Long texts are at the end of their table: SQLite reads a row from its start, so the short columns come without them.
"""

import re
from typing import Any

from sqlalchemy import (
    BigInteger,
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

# Four bytes are too few for the ratings of a cluster. In SQLite this type alone numbers the rows.
KEY = BigInteger().with_variant(Integer, "sqlite")


class AnyText(TypeDecorator[str]):
    r"""Text of any kind. Neither database takes a lone surrogate, and PostgreSQL no NUL: they are escaped.

    The escape sign is the backslash, itself doubled, so that different texts stay different.
    """

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> Any:
        return None if value is None else escape(value)

    def process_result_value(self, value: Any, dialect: Dialect) -> Any:
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


def _columns(kind: type[Text | AnyText | Integer], names: tuple[str, ...]) -> list[Column[Any]]:
    return [Column(name, kind, nullable=False) for name in names]


def _texts(*names: str) -> list[Column[Any]]:
    return _columns(Text, names)


def _any_texts(*names: str) -> list[Column[Any]]:
    return _columns(AnyText, names)


def _integers(*names: str) -> list[Column[Any]]:
    return _columns(Integer, names)


def _owner(table: str) -> ForeignKey:
    """A row goes when the row of `table` goes that it belongs to."""
    return ForeignKey(f"{table}.key", ondelete="CASCADE")


def _keyed_table(name: str, *columns: Column[Any] | UniqueConstraint | Index) -> Table:
    return Table(name, metadata, Column("key", KEY, primary_key=True), *columns)


about = Table("attunement", metadata, Column("name", Text, primary_key=True), Column("value", Text, nullable=False))

instruments = _keyed_table(
    "instruments",
    Column("hash", Text, nullable=False, unique=True),
    *_texts("id"),
    *_any_texts("version"),
    *_texts("added"),
    *_any_texts("content"),
)

conversations = _keyed_table(
    "conversations",
    # The hash of system and id: PostgreSQL cannot index a text of any length.
    Column("identity", Text, nullable=False, unique=True),
    *_any_texts("system", "id"),
    *_texts("fingerprint"),
    *_integers("turn_count"),
    *_texts("origin"),
    *_any_texts("metadata"),
    Column("instructions", AnyText),
    *_any_texts("turns"),
)

raters = _keyed_table(
    "raters",
    Column("mark", Text, nullable=False, unique=True),  # hash of kind, name and settings
    Column("name", AnyText, nullable=False, unique=True),
    *_texts("kind"),
    *_any_texts("settings", "refused"),
)

answers = _keyed_table(
    "answers",
    Column("prompt", Text, nullable=False),  # hash
    Column("rater", KEY, ForeignKey("raters.key"), nullable=False),
    *_integers("repeat"),
    Column("error", Text),
    Column("model", AnyText),
    Column("finish_reason", AnyText),
    *_integers("prompt_tokens", "completion_tokens", "cached_tokens"),
    Column("cost", Float),
    Column("latency", Float),
    *_integers("attempts"),
    *_texts("at"),
    *_any_texts("text", "detail"),
    Column("logprobs", AnyText),
    UniqueConstraint("prompt", "rater", "repeat"),
)

finished = Table(
    "finished",
    metadata,
    Column("conversation", KEY, _owner("conversations"), primary_key=True),
    Column("rater", KEY, ForeignKey("raters.key"), primary_key=True),
    Column("scope", Text, primary_key=True),  # hash of everything a run asks
    *_integers("questions"),
)
"""Conversations about which everything a run asks was answered without an ERROR: the next run can skip them.
Ratings are the record; without a row here they are searched."""

runs = _keyed_table(
    "runs",
    *_texts("host"),
    Column("process", Integer, nullable=False),
    *_texts("token", "began", "seen"),
)
"""Runs of judges that have not ended, as far as the study knows."""

claims = Table(
    "claims",
    metadata,
    Column("conversation", KEY, _owner("conversations"), primary_key=True),
    Column("rater", KEY, ForeignKey("raters.key"), primary_key=True),
    Column("run", KEY, _owner("runs"), nullable=False),
    Index("claims_by_run", "run"),
)
"""Which run asks which judge about a conversation."""

ratings = _keyed_table(
    "ratings",
    Column("conversation", KEY, ForeignKey("conversations.key"), nullable=False),
    Column("turn", Integer, nullable=False),  # 0: the whole conversation, because NULLs are not unique
    *_texts("item", "item_hash"),
    Column("asked", Text, nullable=False),  # the answer's prompt hash; for a person the item's hash
    Column("rater", KEY, ForeignKey("raters.key"), nullable=False),
    *_integers("repeat"),
    *_texts("round", "state"),
    Column("value", Text),
    Column("error", Text),
    *_texts("marks"),
    Column("instrument", Text, ForeignKey("instruments.hash"), nullable=False),
    *_texts("at"),
    *_any_texts("rules", "detail", "reasoning", "evidence"),
    UniqueConstraint("conversation", "rater", "item", "turn", "asked", "repeat", "round"),
    Index("ratings_by_asked", "asked"),
)

calibrators = _keyed_table(
    "calibrators",
    *_any_texts("name"),
    *_integers("version"),
    *_texts("at"),
    *_any_texts("content"),
    UniqueConstraint("name", "version"),
)

hand_outs = _keyed_table(
    "hand_outs",
    Column("instrument", Text, ForeignKey("instruments.hash"), nullable=False),
    *_texts("format", "at"),
)

handed_units = Table(
    "handed_units",
    metadata,
    Column("token", Text, primary_key=True),
    Column("hand_out", KEY, _owner("hand_outs"), nullable=False),
    Column("conversation", KEY, _owner("conversations"), nullable=False),
    Column("turn", Integer, nullable=False),  # 0: the whole conversation
    Index("handed_units_by_conversation", "conversation"),
)

projects = _keyed_table(
    "projects",
    Column("name", Text, nullable=False),  # the id of the instrument
    Column("number", Integer, nullable=False),  # the first, second, ... project with this instrument
    Column("instrument", Text, ForeignKey("instruments.hash"), nullable=False),
    *_texts("state", "at"),
    *_any_texts("settings"),
    UniqueConstraint("name", "number"),
)

members = _keyed_table(
    "members",
    Column("project", KEY, _owner("projects"), nullable=False),
    Column("public", Text, nullable=False, unique=True),  # random: is part of links
    *_texts("role", "state"),
    Column("rater", KEY, ForeignKey("raters.key")),  # from the first submission on
    *_texts("joined"),
    Column("began", Text),  # when they read what to expect
    *_any_texts("name"),
    Column("profile", AnyText),
    UniqueConstraint("project", "name"),
)

access_tokens = _keyed_table(
    "access_tokens",
    Column("member", KEY, _owner("members"), nullable=False),
    Column("hash", Text, nullable=False, unique=True),  # the token itself is never saved
    *_texts("made", "expires"),
    Column("revoked", Text),
    Index("access_tokens_by_member", "member"),
)

project_units = _keyed_table(
    "project_units",
    Column("project", KEY, _owner("projects"), nullable=False),
    Column("conversation", KEY, _owner("conversations")),
    Column("turn", Integer, nullable=False),  # 0: the whole conversation
    Column("example", Text),  # for a worked example of the instrument: item and place, as in "safety/2"
    *_texts("round"),
    Column("answers", AnyText, nullable=False),  # what is known to be right, by item
    Index("project_units_by_project", "project"),
    Index("project_units_by_conversation", "conversation"),
)

assignments = _keyed_table(
    "assignments",
    Column("public", Text, nullable=False, unique=True),  # random: is part of links
    Column("project", KEY, _owner("projects"), nullable=False),
    Column("member", KEY, _owner("members"), nullable=False),
    Column("unit", KEY, _owner("project_units"), nullable=False),
    *_integers("position"),
    *_texts("round"),
    Column("attempt", Integer, nullable=False),  # of the calibration; else 1
    *_texts("state"),
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
    Column("assignment", KEY, _owner("assignments"), primary_key=True),
    Column("item", Text, primary_key=True),
    Column("number", Integer, nullable=False),  # counts the changes of an assignment: an older one changes nothing
    Column("state", Text),  # None: not answered
    Column("value", Text),
    *_texts("at"),
    *_any_texts("comment", "evidence"),
)

events = _keyed_table(
    "events",
    Column("project", KEY, _owner("projects"), nullable=False),
    Column("member", KEY, _owner("members")),  # None: the command line
    Column("assignment", KEY, _owner("assignments")),
    *_texts("kind"),
    Column("instrument", Text, nullable=False),  # hash
    *_texts("at"),
    *_any_texts("content"),
    Index("events_by_project", "project", "kind"),
    Index("events_by_assignment", "assignment"),
)

notices = _keyed_table(
    "notices",
    Column("project", KEY, _owner("projects"), nullable=False),
    Column("member", KEY, _owner("members"), nullable=False),
    Column("assignment", KEY, _owner("assignments"), nullable=False),
    Column("public", Text, nullable=False, unique=True),  # made by the page, so that a notice sent twice is one
    *_texts("at"),
    Column("seen", Text),
    *_any_texts("text"),
    Index("notices_by_project", "project"),
    Index("notices_by_assignment", "assignment"),
)

practice = Table(
    "practice",
    metadata,
    Column("assignment", KEY, _owner("assignments"), primary_key=True),
    Column("item", Text, primary_key=True),
    *_texts("round", "state"),
    Column("value", Text),
    Column("known", Text),  # the instrument's own answer, as JSON; None: the example says nothing about the item
    *_texts("at"),
    *_any_texts("reasoning", "evidence"),
)

readings = _keyed_table(
    "review_readings",
    Column("member", KEY, _owner("members"), nullable=False),
    Column("conversation", KEY, _owner("conversations"), nullable=False),
    Column("instrument", Text, ForeignKey("instruments.hash"), nullable=False),
    Column("kind", Text, nullable=False),  # opened, or read to the end
    *_texts("at"),
    UniqueConstraint("member", "conversation", "kind"),
    Index("review_readings_by_conversation", "conversation"),
)

reviews = _keyed_table(
    "reviews",
    Column("member", KEY, _owner("members"), nullable=False),
    Column("conversation", KEY, _owner("conversations"), nullable=False),
    Column("instrument", Text, ForeignKey("instruments.hash"), nullable=False),
    *_texts("decision", "at"),
    Column("verdict", Text, nullable=False),  # what the judges said together; empty where none had judged it
    *_any_texts("name", "judges"),
    Column("findings", AnyText, nullable=False),  # the judges' findings against the conversation
    *_any_texts("reason"),
    Index("reviews_by_conversation", "conversation"),
)

sign_offs = _keyed_table(
    "sign_offs",
    Column("member", KEY, _owner("members"), nullable=False),
    Column("instrument", Text, ForeignKey("instruments.hash"), nullable=False),
    *_texts("decision", "at"),
    *_any_texts("name", "role", "study", "conditions"),
    Column("basis", AnyText, nullable=False),  # the instrument, the judges and the systems as they were
    Column("numbers", AnyText, nullable=False),  # what was read and decided until then
)

samples = _keyed_table(
    "samples",
    Column("name", AnyText, nullable=False, unique=True),
    Column("instrument", Text, nullable=False),  # its id: a new version of an instrument keeps its samples
    *_integers("seed"),
    *_texts("at"),
    *_any_texts("design"),
)

sample_frame = Table(
    "sample_frame",
    metadata,
    Column("sample", KEY, _owner("samples"), primary_key=True),
    Column("conversation", KEY, _owner("conversations"), primary_key=True),
    Column("drawn", Boolean, nullable=False),
    Column("probability", Float, nullable=False),  # of being drawn, for those who were not drawn too
    Column("split", Text),
    *_any_texts("stratum"),
    # Deleting a conversation looks for it here, and the primary key begins with the sample.
    Index("sample_frame_by_conversation", "conversation"),
)

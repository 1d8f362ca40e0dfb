"""The tables of people's work: projects, their members and units, who rates what, and everything that was done.

What was submitted becomes ordinary ratings; these tables say how it came about. Everything that rests on the words of
a conversation goes with it when it is forgotten.
"""

from sqlalchemy import Boolean, Column, ForeignKey, Index, Integer, Table, Text, UniqueConstraint

from attunement.study.tables import AnyText, metadata

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

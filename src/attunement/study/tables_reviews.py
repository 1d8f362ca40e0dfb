"""The tables of review: what was opened and read, what a reviewer said about a judge's verdict, and who signed off.

Rows are only ever added. What a reviewer said about a conversation goes with it when it is forgotten.
"""

from sqlalchemy import Column, ForeignKey, Index, Integer, Table, Text, UniqueConstraint

from attunement.study.tables import AnyText, metadata

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

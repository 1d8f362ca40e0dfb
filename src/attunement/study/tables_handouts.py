"""The tables of what was handed out to be rated elsewhere.

A random word stands for each unit, and only the study knows which conversation it is.
"""

from sqlalchemy import Column, ForeignKey, Index, Integer, Table, Text

from attunement.study.tables import metadata

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

"""The table of people's answers to worked examples: the practice before the work, and the checks of attention in it.

They are ratings of an instrument's own examples and of no conversation, so they stand apart from `ratings`: nothing
that counts ratings can ever count them.
"""

from sqlalchemy import Column, ForeignKey, Integer, Table, Text

from attunement.study.tables import AnyText, metadata

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

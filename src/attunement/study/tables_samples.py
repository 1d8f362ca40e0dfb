"""The tables of samples: who was drawn for people to rate, from whom, and with what probability.

A sample keeps everybody it could have drawn, with the stratum they stood in at that time: verdicts change as judges
are added, and a sample can be extended with right probabilities only within the strata it was drawn from.
"""

from sqlalchemy import Boolean, Column, Float, ForeignKey, Index, Integer, Table, Text

from attunement.study.tables import AnyText, metadata

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

"""The table of calibrators: how a judge's scores were put on people's scale, in versions that never change."""

from sqlalchemy import Column, Integer, Table, Text, UniqueConstraint

from attunement.study.tables import AnyText, metadata

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

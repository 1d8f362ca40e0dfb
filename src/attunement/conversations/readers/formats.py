"""Which names `--format` takes: what kind of file it is, or in which shape its records hold the talk."""

from enum import StrEnum


class Format(StrEnum):
    """A kind of file or a shape of records.

    Naming a kind leaves the shape of its records to be recognised, and naming a shape leaves the kind of file.
    """

    MESSAGES = "messages"
    SHAREGPT = "sharegpt"
    TURNS = "turns"
    EXCHANGES = "exchanges"
    PAIRS = "pairs"
    FLAT = "flat"
    ROWS = "rows"
    TRANSCRIPT = "transcript"
    JSONL = "jsonl"
    JSON = "json"
    CSV = "csv"
    TSV = "tsv"
    TEXT = "text"
    PARQUET = "parquet"

    @property
    def is_kind(self) -> bool:
        """Whether this names a kind of file and not a shape of records."""
        return self in KINDS


KINDS = frozenset({Format.JSONL, Format.JSON, Format.CSV, Format.TSV, Format.TEXT, Format.PARQUET})

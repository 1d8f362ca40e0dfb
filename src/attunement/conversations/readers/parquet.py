"""Parquet files, one row group at a time. Needs the extra `parquet`."""

import importlib
import io
import math
import shutil
import tempfile
from collections.abc import Iterator
from typing import Any

from attunement.conversations.readers.record import Record, is_list, is_object
from attunement.errors import InputError

_ROWS_AT_ONCE = 512  # conversations are large; this many fit into memory whatever the row group's size
_IN_MEMORY = 1 << 24


def parquet_rows(stream: io.BufferedReader, name: str) -> Iterator[Record]:
    """One record a row, numbered from 1.

    Raises:
        InputError: The extra is not installed, or the file is not Parquet.
    """
    try:
        parquet: Any = importlib.import_module("pyarrow.parquet")
    except ImportError:
        raise InputError(f"{name}: Parquet files need an extra: pip install 'attunement[parquet]'.") from None
    arrow: Any = importlib.import_module("pyarrow")
    with tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY) as copy:
        seekable: Any = stream
        if not (isinstance(stream.raw, io.FileIO) and stream.seekable()):
            # Parquet is read from its end: what is compressed or comes through a pipe is put aside first.
            shutil.copyfileobj(stream, copy)
            seekable = copy
        try:
            batches = parquet.ParquetFile(seekable).iter_batches(batch_size=_ROWS_AT_ONCE)
            number = 0
            for batch in batches:
                for row in batch.to_pylist():
                    number += 1
                    value = {key: _plain(cell) for key, cell in row.items()}
                    yield Record(number, value, repr(row))
        except arrow.ArrowException as error:
            raise InputError(f"{name}: the file is not readable as Parquet ({error}).") from error


def _plain(value: Any) -> Any:
    """`value` as JSON can hold it: times, decimals and the like become text, and "not a number" is no value."""
    if is_object(value):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if is_list(value):
        return [_plain(inner) for inner in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, (str, int)):
        return value
    return str(value)

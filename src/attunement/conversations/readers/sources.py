"""Which files are meant, and their bytes: names, folders, patterns, standard input, compressed or not."""

import glob
import gzip
import io
import sys
import zlib
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from attunement.conversations.readers.formats import Format
from attunement.errors import InputError

STDIN = "-"
BAD_LINES = ".bad.jsonl"  # how the names of files end in which an earlier run kept records it could not read
_SUFFIXES = {
    ".jsonl": Format.JSONL,
    ".ndjson": Format.JSONL,
    ".json": Format.JSON,
    ".csv": Format.CSV,
    ".tsv": Format.TSV,
    ".tab": Format.TSV,
    ".txt": Format.TEXT,
    ".parquet": Format.PARQUET,
}
_BUFFER = 1 << 20  # conversations are long lines
_GZIP = b"\x1f\x8b"
_BOM = b"\xef\xbb\xbf"


class Source(NamedTuple):
    """One file to read. `path` is None for standard input."""

    path: Path | None

    def __str__(self) -> str:
        return "standard input" if self.path is None else str(self.path)

    @property
    def kind(self) -> Format | None:
        """What the name says the file is, with or without `.gz`; None where it says nothing."""
        return None if self.path is None else _SUFFIXES.get(Path(_uncompressed(self.path.name)).suffix.lower())

    @property
    def stem(self) -> str | None:
        """The name without its endings, which is the id of a file that is one conversation."""
        return None if self.path is None else Path(_uncompressed(self.path.name)).stem


def find(inputs: Sequence[str | Path]) -> list[Source]:
    """The files that `inputs` mean, each once, in the order given and by name within a folder or a pattern.

    A folder means the files in it and below whose names end like conversations (`.jsonl`, `.csv`, `.txt.gz`, ...) and
    are not hidden. Files in which an earlier run kept bad records are read only by name.

    Raises:
        InputError: A name, folder or pattern leads to no file.
    """
    found: dict[Path | None, Source] = {}
    for given in map(str, inputs):
        for path in [None] if given == STDIN else _paths(given):
            found.setdefault(path and path.resolve(), Source(path))
    if not found:
        raise InputError("No file was given to read conversations from.")
    return list(found.values())


def _paths(given: str) -> list[Path]:
    path = Path(given)
    if path.is_dir():
        files = sorted(each for each in path.rglob("*") if _is_meant(each.relative_to(path)) and each.is_file())
        if not files:
            raise InputError(f"{given}: the folder holds no file of conversations (.jsonl, .json, .csv, .tsv, .txt).")
        return files
    if path.exists():
        return [path]
    # `Path.glob` takes no absolute pattern.
    matches = sorted(Path(match) for match in glob.glob(given, recursive=True))  # noqa: PTH207
    files = [match for match in matches if match.is_file() and not match.name.endswith(BAD_LINES)]
    if not files:
        raise InputError(f"{given}: there is no such file, and no file matches it as a pattern.")
    return files


def _is_meant(path: Path) -> bool:
    hidden = any(part.startswith(".") for part in path.parts)
    return not hidden and Source(path).kind is not None and not path.name.endswith(BAD_LINES)


@contextmanager
def opened(source: Source) -> Generator[io.BufferedReader]:
    """The bytes of `source`, uncompressed, behind a byte order mark if there is one.

    Raises:
        InputError: The file cannot be opened, read or uncompressed.
    """
    try:
        with _as_stored(source) as stored:
            compressed = stored.peek(len(_GZIP)).startswith(_GZIP)
            stream = _buffered(gzip.GzipFile(fileobj=stored)) if compressed else stored
            if stream.peek(len(_BOM)).startswith(_BOM):
                stream.read(len(_BOM))
            yield stream
    except (OSError, EOFError, zlib.error) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise InputError(f"{source}: the file cannot be read: {reason}.") from error


@contextmanager
def _as_stored(source: Source) -> Generator[io.BufferedReader]:
    if source.path is not None:
        with _buffered(io.FileIO(source.path)) as stream:
            yield stream
        return
    # What is in a pipe is taken as it comes. A buffer that Python knows would wait until it is full, and a thread that
    # waits in it when the program ends would bring it down.
    stream = _buffered(getattr(sys.stdin.buffer, "raw", sys.stdin.buffer))
    try:
        yield stream
    finally:
        stream.detach()  # standard input is not ours to close


def _buffered(raw: Any) -> io.BufferedReader:
    return io.BufferedReader(raw, _BUFFER)


def _uncompressed(name: str) -> str:
    return name[:-3] if name.lower().endswith(".gz") else name

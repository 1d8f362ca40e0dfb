"""Where bad records go, so that nothing is lost: a JSONL file with each one's place, the reason, and its own words."""

import json
from pathlib import Path
from typing import IO, Self

from attunement.conversations.readers.record import Place
from attunement.errors import InputError


class BadLines:
    """The file of bad records. It is made when the first one comes, so that a clean file leaves none behind."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: IO[str] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    def write(self, place: Place, reason: str, raw: bytes | str) -> None:
        """Keep one bad record.

        Bytes that are not UTF-8 are kept as lone surrogates, as Python's `surrogateescape` does.

        Raises:
            InputError: The file cannot be written.
        """
        words = raw if isinstance(raw, str) else raw.decode("utf-8", "surrogateescape")
        entry = {"file": place.file, "line": place.line, "reason": reason, "raw": words}
        try:
            if self._file is None:
                self._file = self._path.open("w", encoding="ascii")
            self._file.write(json.dumps(entry) + "\n")
        except OSError as error:
            raise InputError(f"{self._path}: bad lines cannot be written there: {error.strerror}.") from error

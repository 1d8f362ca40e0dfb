"""What the tests of the readers share: a file is written, read, and gone again."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from attunement.conversations import Conversation
from attunement.conversations.reader import Fields, Format, ReadOptions, read

ReadFile = Callable[..., list[Conversation]]


@pytest.fixture
def read_file(tmp_path: Path) -> ReadFile:
    """Read what is given as a file of one record a line, or under a name that says what it is."""

    def read_file(
        *content: Any,
        name: str = "chats.jsonl",
        format: Format | None = None,
        system: str | None = "bot",
        system_field: str | None = None,
        **fields: str,
    ) -> list[Conversation]:
        path = tmp_path / name
        options = ReadOptions(format, system, Fields(system=system_field, **fields))
        match content:
            case [str() as text]:
                path.write_bytes(text.encode("utf-8", "surrogatepass"))
            case [bytes() as raw]:
                path.write_bytes(raw)
            case _:
                path.write_text("".join(json.dumps(record) + "\n" for record in content), "utf-8")
        return list(read([path], options))

    return read_file

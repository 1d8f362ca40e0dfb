"""A JSON file that is a list of records, as both annotation tools write it."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

from attunement.conversations.readers.record import Place
from attunement.errors import InputError


def listed(path: Path, what: str) -> Iterator[tuple[Place, Any]]:
    """The records in a file with their numbers, which count from 1; `what` says whose list it ought to be.

    Raises:
        InputError: The file is not there, or is no such list.
    """
    try:
        content = json.loads(path.read_bytes())
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is no JSON file: {error}") from error
    if not isinstance(content, list):
        raise InputError(f"{path} is not {what}: it is no list")
    for number, entry in enumerate(cast(list[Any], content), 1):
        yield Place(path.name, number), entry

"""Where instruments come from: the built-in ones, a folder of the user's, or any file by its path."""

import os
from collections.abc import Hashable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, cast

import yaml
from pydantic import ValidationError

from attunement.errors import InstrumentError
from attunement.instruments.model import Instrument

FOLDER_VARIABLE = "ATTUNEMENT_INSTRUMENTS"
"""The environment variable that names a folder with instruments of the user's own."""

_BUILT_IN = Path(__file__).parent / "library"


class Entry(NamedTuple):
    """An instrument that can be named by its id."""

    id: str
    path: Path
    built_in: bool


def available() -> list[Entry]:
    """Every instrument that can be loaded by id: the built-in ones, then those of the user's folder."""
    return [*_entries(_BUILT_IN, built_in=True), *_own()]


def load(name: str | Path) -> Instrument:
    """Load an instrument by its id, or by the path of a YAML file.

    A built-in id cannot be replaced by a file of the same id in the user's folder: `coaching-v1` means the same
    everywhere.
    """
    path = Path(name)
    if path.suffix in {".yaml", ".yml"}:
        return load_file(path)
    for entry in available():
        if entry.id == str(name):
            return load_file(entry.path)
    known = ", ".join(entry.id for entry in available())
    raise InstrumentError(
        f"there is no instrument {str(name)!r}; known are {known}. Give the path of a .yaml file, or set "
        f"{FOLDER_VARIABLE} to the folder that holds yours"
    )


def load_file(path: Path) -> Instrument:
    """Read one YAML file; an InstrumentError names the file, the line or key, and what is wrong with it."""
    try:
        content = yaml.load(path.read_text("utf-8"), Loader=_UniqueKeyLoader)  # noqa: S506 - a SafeLoader
    except OSError as error:
        raise InstrumentError(f"{path} cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise InstrumentError(f"{path} is not UTF-8 text: {error.reason} at byte {error.start}") from error
    except yaml.MarkedYAMLError as error:
        line = f", line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise InstrumentError(f"{path}{line}: {error.problem or error.context}") from error
    except yaml.YAMLError as error:
        raise InstrumentError(f"{path} is no YAML: {' '.join(str(error).split())}") from error
    try:
        return Instrument.model_validate(content)
    except ValidationError as error:
        raise InstrumentError(f"{path}: {'; '.join(_problems(error))}") from error


def _own() -> list[Entry]:
    folder = os.environ.get(FOLDER_VARIABLE)
    return list(_entries(Path(folder), built_in=False)) if folder else []


def _entries(folder: Path, *, built_in: bool) -> Iterator[Entry]:
    if not folder.is_dir():
        raise InstrumentError(f"{FOLDER_VARIABLE} names {folder}, which is no folder")
    for path in sorted(folder.glob("*.yaml")):
        # The id stands in the file; reading it all only to list it would cost a second with many instruments.
        yield Entry(path.stem, path, built_in)


def _problems(error: ValidationError) -> Iterator[str]:
    for problem in error.errors(include_url=False):
        where = ".".join(str(part) for part in problem["loc"]) or "the file"
        yield f"{where}: {problem['msg'][0].lower()}{problem['msg'][1:]}"


class _UniqueKeyLoader(yaml.SafeLoader):
    """A SafeLoader that refuses a key given twice; YAML itself would silently keep the last one."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[Hashable] = set()
        for key_node, _ in node.value:
            key = cast(Hashable, self.construct_object(key_node, deep=True))  # pyright: ignore[reportUnknownMemberType]
            if key in seen:
                raise yaml.MarkedYAMLError(problem=f"the key {key!r} stands twice", problem_mark=key_node.start_mark)
            seen.add(key)
        return super().construct_mapping(node, deep)

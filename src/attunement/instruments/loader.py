"""Load instruments: built in, from a folder of the user's, or from a file; with the JSON Schema and the starter file.

The first line of an instrument file names it, and an editor with a YAML language server then completes keys, shows
what each is for and marks what is not allowed. The schema is made from the models, so the two cannot differ.
"""

import json
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, cast

import yaml
from pydantic import ValidationError

from attunement.conversations import UnitKind
from attunement.errors import InstrumentError
from attunement.instruments.model import Instrument

FOLDER_VARIABLE = "ATTUNEMENT_INSTRUMENTS"
"""The environment variable that names a folder with instruments of the user's own."""

_BUILT_IN = Path(__file__).parent / "library"
_SUFFIXES = {".yaml", ".yml"}
_TOLD = 5
"""How many problems of one file are told at once; a file that is no instrument at all has many."""
_WORDS = {
    "missing": "is missing",
    "extra_forbidden": "is no key that an instrument knows; correct it or take it out",
    "string_type": "must be text",
    "tuple_type": "must be a list",
    "dict_type": "must be keys with values",
    "model_type": "must be keys with values",
}
_BOOL, _TIMESTAMP = "tag:yaml.org,2002:bool", "tag:yaml.org,2002:timestamp"


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
    if path.suffix in _SUFFIXES:
        return load_file(path)
    entries = available()
    found = [entry for entry in entries if entry.id == str(name)]
    if not found:
        known = ", ".join(entry.id for entry in entries)
        raise InstrumentError(
            f"there is no instrument {str(name)!r}; known are {known}. Give the path of a .yaml file, or set "
            f"{FOLDER_VARIABLE} to the folder that holds yours"
        )
    if len(found) > 1 and not found[0].built_in:
        raise InstrumentError(
            f"{found[0].path} and {found[1].path} both have the id {str(name)!r}; give one of them another id"
        )
    return load_file(found[0].path)


def load_file(path: Path) -> Instrument:
    """Read one YAML file; an InstrumentError names the file, the line or key, and what is wrong with it."""
    try:
        content = yaml.load(_text(path), Loader=_Loader)  # noqa: S506 - a SafeLoader
    except yaml.MarkedYAMLError as error:
        line = f", line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise InstrumentError(f"{path}{line}: {error.problem or error.context}") from error
    except yaml.YAMLError as error:
        raise InstrumentError(f"{path} is no YAML: {' '.join(str(error).split())}") from error
    except ValueError as error:
        raise InstrumentError(f"{path} holds a number that cannot be read: {error}") from error
    except RecursionError as error:
        raise InstrumentError(f"{path} is nested too deeply to be an instrument") from error
    try:
        return Instrument.model_validate(content)
    except ValidationError as error:
        problems = list(_problems(error, content))
        more = f"; and {len(problems) - _TOLD} more" if len(problems) > _TOLD else ""
        raise InstrumentError(f"{path}: {'; '.join(problems[:_TOLD])}{more}") from error


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8-sig")
    except OSError as error:
        raise InstrumentError(f"{path} cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise InstrumentError(f"{path} is not UTF-8 text: {error.reason} at byte {error.start}") from error


def _own() -> list[Entry]:
    folder = os.environ.get(FOLDER_VARIABLE)
    return list(_entries(Path(folder), built_in=False)) if folder else []


def _entries(folder: Path, *, built_in: bool) -> Iterator[Entry]:
    if not folder.is_dir():
        raise InstrumentError(f"{FOLDER_VARIABLE} names {folder}, which is no folder")
    for path in sorted(folder.iterdir()):
        # Names with a leading dot are what editors and file servers leave behind.
        if path.suffix in _SUFFIXES and not path.name.startswith("."):
            yield Entry(_id_inside(path) or path.stem, path, built_in)


def _id_inside(path: Path) -> str | None:
    """The value of the top-level key `id`; None where the file cannot say, so that a broken file can still be named.

    The events of the parser come one by one, so a file that opens with its id costs no more than its first lines.
    """
    depth, key = 0, None
    try:
        events = cast(Iterator[yaml.Event], yaml.parse(_text(path), Loader=yaml.SafeLoader))  # pyright: ignore[reportUnknownMemberType]
        for event in events:
            if isinstance(event, yaml.ScalarEvent) and depth == 1:
                if key == "id":
                    return event.value or None
                key = event.value if key is None else None
            elif isinstance(event, yaml.AliasEvent) and depth == 1:
                key = None
            elif isinstance(event, yaml.CollectionStartEvent):
                depth += 1
            elif isinstance(event, yaml.CollectionEndEvent):
                depth -= 1
                key = None if depth == 1 else key
    except (InstrumentError, yaml.YAMLError):
        return None
    return None


def _problems(error: ValidationError, content: Any) -> Iterator[str]:
    """Each problem with its key, in words for people who do not know Python."""
    for problem in error.errors(include_url=False):
        words = _WORDS.get(problem["type"], f"{problem['msg'][0].lower()}{problem['msg'][1:]}")
        if problem["type"] == "string_type" and isinstance(problem["input"], int | float):
            words += "; put it in quotes"
        yield f"{_place(problem['loc'], content)}: {words}"


def _place(keys: tuple[int | str, ...], content: Any) -> str:
    """The keys that lead to a problem; people know an item by its id, not by its place in the list."""
    names = [str(key) for key in keys]
    if len(keys) > 1 and keys[0] == "items":
        with suppress(KeyError, TypeError):
            names[1] = str(content["items"][keys[1]]["id"])
    return ".".join(names) or "the file"


class _Loader(yaml.SafeLoader):
    """A SafeLoader that refuses a key given twice; YAML itself would silently keep the last one.

    It reads plain words as YAML 1.2 does: YES and NO are answers here, not truth values, and a version such as
    2026-02-18 is text. Only true and false are truth values.
    """

    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
        node = super().compose_mapping_node(anchor)
        seen: set[str] = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise yaml.MarkedYAMLError(problem="a key must be a single word or number", problem_mark=key.start_mark)
            if key.value in seen:
                raise yaml.MarkedYAMLError(problem=f"the key {key.value!r} stands twice", problem_mark=key.start_mark)
            seen.add(key.value)
        return node

    def compose_scalar_node(self, anchor: Any) -> yaml.ScalarNode:
        node = super().compose_scalar_node(anchor)
        if any("\ud800" <= letter <= "\udfff" for letter in node.value):
            raise yaml.MarkedYAMLError(problem="half of a character (a lone surrogate)", problem_mark=node.start_mark)
        return node


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag not in {_BOOL, _TIMESTAMP}]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver(  # pyright: ignore[reportUnknownMemberType]
    _BOOL, re.compile(r"^(?:true|True|TRUE|false|False|FALSE)$"), list("tTfF")
)


SCHEMA_FILE = Path(__file__).with_name("instrument.schema.json")
"""The schema as a file, for the first line of the built-in instruments."""


def schema() -> dict[str, Any]:
    """The JSON Schema of an instrument file, draft 2020-12."""
    made = Instrument.model_json_schema()
    # Scores are numbers in YAML but property names are text in JSON; without a pattern any key would do.
    made["$defs"]["Item"]["properties"]["anchors"]["propertyNames"] = {"pattern": r"^-?[0-9]+$"}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema"} | made


def schema_text() -> str:
    """The schema as it is written to a file."""
    return json.dumps(schema(), indent=2, ensure_ascii=False) + "\n"


_STARTERS = Path(__file__).parent / "starters"


def starter(id: str, unit: UnitKind) -> str:
    """The YAML text of a new instrument named `id`: scores for replies, criteria for whole conversations.

    It lints without errors or warnings. An id that the model would refuse, or that an instrument already has, is an
    InstrumentError.
    """
    if not re.fullmatch(r"[a-z0-9][a-z0-9._-]*", id):
        raise InstrumentError(
            f"{id!r} cannot be the id of an instrument; use lower case letters, digits, dots and dashes"
        )
    if any(entry.id == id for entry in available()):
        raise InstrumentError(f"there is already an instrument {id!r}; choose another id")
    text = (_STARTERS / f"{unit}.yaml").read_text("utf-8")
    return text.replace("id: my-instrument            #", f"id: {_scalar(id)}  #", 1)


def _scalar(id: str) -> str:
    """An id made of digits would be read as a number; quotes keep it text."""
    return id if id[0].isalpha() and id not in {"true", "false", "null"} else f'"{id}"'

"""Load instruments (built in, from a folder of the user's, or from a file) and write them as YAML.

The first line of an instrument file names the JSON Schema, so that an editor with a YAML language server completes
keys, shows what each is for and marks what is not allowed. The schema is made from the models, so the two cannot
differ.
"""

import json
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple, cast

import yaml
from pydantic import ValidationError

from attunement.conversations import UnitKind
from attunement.errors import InstrumentError
from attunement.instruments.model import Instrument
from attunement.yaml_files import UniqueKeys, read_text, read_yaml

FOLDER_VARIABLE = "ATTUNEMENT_INSTRUMENTS"
"""The environment variable that names a folder with instruments of the user's own."""

_BUILT_IN = Path(__file__).parent / "library"
_SUFFIXES = {".yaml", ".yml"}
_MOST_PROBLEMS = 5  # in one message; a file that is not an instrument at all has many
_WORDS = {
    "missing": "is missing",
    "extra_forbidden": "is not a key of an instrument; correct or remove it",
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
    folder = os.environ.get(FOLDER_VARIABLE)
    own = _entries(Path(folder), built_in=False) if folder else ()
    return [*_entries(_BUILT_IN, built_in=True), *own]


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
    content = read_yaml(path, _Loader, InstrumentError)
    try:
        return Instrument.model_validate(content)
    except ValidationError as error:
        problems = list(_problems(error, content))
        more = f"; and {len(problems) - _MOST_PROBLEMS} more" if len(problems) > _MOST_PROBLEMS else ""
        raise InstrumentError(f"{path}: {'; '.join(problems[:_MOST_PROBLEMS])}{more}") from error


def _entries(folder: Path, *, built_in: bool) -> Iterator[Entry]:
    if not folder.is_dir():
        raise InstrumentError(f"{FOLDER_VARIABLE} names {folder}, which is not a folder")
    for path in sorted(folder.iterdir()):
        # Names with a leading dot are what editors and file servers leave behind.
        if path.suffix in _SUFFIXES and not path.name.startswith("."):
            yield Entry(_id_inside(path) or path.stem, path, built_in)


def _id_inside(path: Path) -> str | None:
    """The value of the top-level key `id`; None if it cannot be read, so that a broken file can still be named.

    The events of the parser come one by one, so a file that opens with its id costs no more than its first lines.
    """
    depth, key = 0, None
    try:
        events = cast(Iterator[yaml.Event], yaml.parse(read_text(path, InstrumentError), Loader=yaml.SafeLoader))  # pyright: ignore[reportUnknownMemberType]
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


class _Loader(UniqueKeys, yaml.SafeLoader):
    """Reads plain words as YAML 1.2 does: only true and false are truth values.

    YES and NO are answers here, and a version such as 2026-02-18 is text.
    """

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


def schema() -> dict[str, Any]:
    """The JSON Schema of an instrument file, draft 2020-12."""
    made = Instrument.model_json_schema()
    # Scores are numbers in YAML but property names are text in JSON; without a pattern any key would do.
    made["$defs"]["Item"]["properties"]["anchors"]["propertyNames"] = {"pattern": r"^-?[0-9]+$"}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema"} | made


def schema_text() -> str:
    return json.dumps(schema(), indent=2, ensure_ascii=False) + "\n"


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
    text = Path(__file__).with_name("starters").joinpath(f"{unit}.yaml").read_text("utf-8")
    # An id made of digits would be read as a number; quotes keep it text.
    scalar = id if id[0].isalpha() and id not in {"true", "false", "null"} else f'"{id}"'
    return text.replace("id: my-instrument            #", f"id: {scalar}  #", 1)


_LONG = 100  # with its key and indentation a longer text would pass 120 columns
# Only escapes carry control characters, and only they keep a rarer line end from being read as an ordinary one.
_NEEDS_ESCAPES = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")


def to_yaml(instrument: Instrument, schema: str | None) -> str:
    """The instrument as YAML; loading it gives an equal instrument.

    `schema` is where editors find the JSON Schema: a path or an address, named in a comment on the first line.
    """
    content = instrument.model_dump(exclude_defaults=True)
    # The kind of scale tells the two apart when the file is read, and the ends of a scale are worth seeing.
    content["scale"] = instrument.scale.model_dump()
    comment = f"# yaml-language-server: $schema={schema}\n" if schema else ""
    body = yaml.dump(content, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=float("inf"))
    return comment + body


class _Dumper(yaml.SafeDumper):
    """Block literals for text, short lists of numbers on one line, lists indented below their key."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, indentless=False)

    def analyze_scalar(self, scalar: str) -> Any:
        # PyYAML writes no literal that holds a tab or a line with trailing spaces, but reads them as they are.
        analysis = super().analyze_scalar(scalar)
        # White space at the very beginning would be taken for indentation.
        analysis.allow_block = scalar[:1].strip() != "" and not _NEEDS_ESCAPES.search(scalar)
        return analysis


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = None
    if _NEEDS_ESCAPES.search(text):
        style = '"'
    elif "\n" in text or len(text) > _LONG:
        style = "|"
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)  # pyright: ignore[reportUnknownMemberType]


def _represent_tuple(dumper: yaml.SafeDumper, values: tuple[Any, ...]) -> yaml.SequenceNode:
    numbers = all(isinstance(value, int) for value in values)
    return dumper.represent_sequence("tag:yaml.org,2002:seq", values, flow_style=numbers)


_Dumper.add_representer(str, _represent_text)
_Dumper.add_multi_representer(StrEnum, lambda dumper, value: _represent_text(dumper, value.value))
_Dumper.add_representer(tuple, _represent_tuple)

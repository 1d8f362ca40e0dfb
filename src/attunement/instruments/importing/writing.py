"""An instrument -> a YAML file that people like to read.

Text of several lines, and long text, stands in block literals without escapes or folding, so that a sentence can be
found and compared as it is. Keys come in the order of the model, and what equals the defaults is left out.
"""

import re
from enum import Enum
from typing import Any, cast

import yaml

from attunement.instruments.model import Instrument

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
    body = yaml.dump(_plain(content), Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=float("inf"))
    return comment + body


def _plain(value: Any) -> Any:
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, dict):
        return {key: _plain(entry) for key, entry in cast(dict[Any, Any], value).items()}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in cast(list[Any], value)]
    return value


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


def _represent_list(dumper: yaml.SafeDumper, values: list[Any]) -> yaml.SequenceNode:
    numbers = all(isinstance(value, int) for value in values)
    return dumper.represent_sequence("tag:yaml.org,2002:seq", values, flow_style=numbers)


_Dumper.add_representer(str, _represent_text)
_Dumper.add_representer(list, _represent_list)

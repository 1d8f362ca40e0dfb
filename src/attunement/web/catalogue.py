"""Which words do the pages use? All of them stand in one file, so that a second language is a second file."""

import string
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

import yaml
from markupsafe import Markup, escape

from attunement.errors import InputError

_FOLDER = Path(__file__).parent / "words"
_RIGHT_TO_LEFT = frozenset({"ar", "arc", "ckb", "dv", "fa", "he", "ps", "sd", "ug", "ur", "yi"})
"""Languages that are written from right to left, whatever country follows the code."""


class Catalogue:
    """The texts of one language by name. A text may hold places in braces for what is put in."""

    def __init__(self, language: str, texts: Mapping[str, str]) -> None:
        self.language = language
        self.texts = texts
        self._ready: dict[str, Markup] = {}

    @property
    def direction(self) -> str:
        """In which direction the language is written, as HTML says it."""
        return direction(self.language)

    def __call__(self, name: str, **values: object) -> Markup:
        """The text with `values` put in, ready for a page: whatever is put in is escaped unless it is markup."""
        if values:
            return escape(self.texts[name]).format(**values)
        if name not in self._ready:  # a rating page has two hundred of them
            self._ready[name] = escape(self.texts[name]).format()
        return self._ready[name]

    def part(self, name: str) -> dict[str, str]:
        """All texts whose names begin with `name` and a dot, by the rest of their names."""
        start = f"{name}."
        return {key.removeprefix(start): text for key, text in self.texts.items() if key.startswith(start)}


def direction(language: str) -> str:
    """`rtl` for a language that is written from right to left, else `ltr`."""
    return "rtl" if language.split("-")[0].lower() in _RIGHT_TO_LEFT else "ltr"


def load_catalogue(language: str) -> Catalogue:
    """The catalogue of a language that comes with Attunement, or in a `.yaml` file of the user's own.

    Raises:
        InputError: There is none, or it lacks a text or a place in one.
    """
    path = Path(language) if language.endswith((".yaml", ".yml")) else _FOLDER / f"{language}.yaml"
    if not path.is_file() or (path.parent == _FOLDER and path.stem != language):
        known = ", ".join(sorted(file.stem for file in _FOLDER.glob("*.yaml")))
        raise InputError(f"there are no pages in {language!r}: use {known}, or a file of your own")
    texts = _texts(path)
    english = _texts(_FOLDER / "en.yaml")
    for name, text in english.items():
        if name not in texts:
            raise InputError(f"{path} lacks the text {name!r}")
        if _places(texts[name]) != _places(text):
            raise InputError(f"{path}: {name!r} needs the places {sorted(_places(text))}, in braces")
    return Catalogue(path.stem, texts)


def _texts(path: Path) -> dict[str, str]:
    try:
        content: object = yaml.load(path.read_text("utf-8"), Loader=yaml.BaseLoader)  # noqa: S506 - builds strings only
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise InputError(f"{path} cannot be read: {' '.join(str(error).split())}") from error
    return dict(_flat(content, ""))


def _flat(content: object, name: str) -> Iterator[tuple[str, str]]:
    if isinstance(content, dict):
        for key, value in cast(dict[str, Any], content).items():
            yield from _flat(value, f"{name}.{key}" if name else key)
    else:
        yield name, str(content)


def _places(text: str) -> set[str]:
    try:
        return {name for _, name, _, _ in string.Formatter().parse(text) if name}
    except ValueError:
        return {"unreadable"}

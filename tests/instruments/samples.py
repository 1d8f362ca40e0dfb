"""Small instruments for tests: the starters, which are complete, changed in one place at a time."""

from pathlib import Path
from typing import Any

import yaml

from attunement.conversations import UnitKind
from attunement.instruments import Instrument, loader
from attunement.instruments.loader import load_file

FOLDER = Path(loader.__file__).parent / "starters"


def content(unit: UnitKind) -> dict[str, Any]:
    """A complete instrument as plain data, fresh for every call."""
    return load_file(FOLDER / f"{unit}.yaml").model_dump(mode="json")


def criteria(**changes: Any) -> dict[str, Any]:
    """A complete instrument of two criteria, ASK in `contact` and ROLE in the gate."""
    return content(UnitKind.CONVERSATION) | changes


def scores(**changes: Any) -> dict[str, Any]:
    """A complete instrument of two dimensions, clarity and choice, from 1 to 3."""
    return content(UnitKind.RESPONSE) | changes


def instrument(plain: dict[str, Any]) -> Instrument:
    return Instrument.model_validate(plain)


def write(path: Path, plain: dict[str, Any]) -> Path:
    """Write plain data as YAML the way some other tool would."""
    path.write_text(yaml.safe_dump(plain, allow_unicode=True), "utf-8")
    return path

"""The contrast sentences and the half each of them belongs to."""

import hashlib
from pathlib import Path
from typing import Any, NamedTuple

import yaml

FOLDER = Path(__file__).parent / "contrast"


class Sentence(NamedTuple):
    """One sentence with its expected outcome: a kind, or none. `user` is what the person said before a reply."""

    id: str
    expect: str
    text: str
    why: str
    user: str = ""


class ResourceSentence(NamedTuple):
    """One reply with the standings and the answer that are expected for a person in `country`."""

    id: str
    standings: frozenset[str]
    answer: str
    text: str
    why: str
    country: str | None = None


def is_held(id: str) -> bool:
    """Whether a sentence gives the figures (the first byte of its id's sha256 is odd) instead of tuning the rules."""
    return hashlib.sha256(id.encode()).digest()[0] % 2 == 1


def sentences(name: str, *, held: bool) -> list[Sentence]:
    """The sentences of `name` in one half; those that were written later all belong to the half that tunes."""
    first = [Sentence(**row) for row in _rows(name) if is_held(row["id"]) == held]
    later = [] if held else sorted(FOLDER.glob(f"{name}_later*.yaml"))
    return [*first, *(Sentence(**row) for path in later for row in _rows(path.stem))]


def resource_sentences(*, held: bool) -> list[ResourceSentence]:
    """The replies for the resource detector in one half."""
    rows = [row for row in _rows("resources") if is_held(row["id"]) == held]
    return [ResourceSentence(**{**row, "standings": frozenset(row["standings"])}) for row in rows]


def _rows(name: str) -> list[dict[str, Any]]:
    return yaml.safe_load((FOLDER / f"{name}.yaml").read_text("utf-8"))

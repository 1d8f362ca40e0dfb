"""Where are calibrators kept, and which one does a name mean?

A calibrator holds numbers over many conversations and nothing of a single one, so it stays when a conversation is
forgotten. Saving under a name that is there makes the next version of it; no version is ever changed.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from sqlalchemy import func, select

from attunement.errors import StudyError
from attunement.study.encoding import from_json, to_json
from attunement.study.store import Study, now
from attunement.study.tables_calibrators import calibrators as table


class Kept(NamedTuple):
    """A calibrator in a study."""

    name: str
    version: int
    at: str
    content: dict[str, Any]

    def __str__(self) -> str:
        return f"{self.name}@{self.version}"


def keep_calibrator(study: Study, name: str, content: Mapping[str, Any]) -> Kept:
    """Keep a calibrator under this name, as its next version.

    Raises:
        StudyError: The name is empty or holds an @, which stands before a version.
    """
    if not name.strip() or "@" in name:
        raise StudyError(f"{name!r} is no name for a calibrator: use letters, figures and dashes")
    with study.writing() as connection:
        last = connection.scalar(select(func.max(table.c.version)).where(table.c.name == name)) or 0
        kept = Kept(name, last + 1, now(), dict(content))
        row = {"name": name, "version": kept.version, "at": kept.at, "content": to_json(kept.content)}
        connection.execute(table.insert(), row)
    return kept


def calibrators(study: Study) -> list[Kept]:
    """All calibrators of the study, the oldest first."""
    with study.reading() as connection:
        rows = connection.execute(select(table).order_by(table.c.key))
        return [Kept(row.name, row.version, row.at, from_json(row.content)) for row in rows]


def find_calibrator(study: Study, name: str) -> Kept:
    """The newest calibrator of this name, or the version that `NAME@VERSION` says.

    Raises:
        StudyError: There is none; the sentence names those that are there.
    """
    found = calibrators(study)
    for kept in reversed(found):
        if name in {kept.name, str(kept)}:
            return kept
    names = ", ".join(str(kept) for kept in found)
    raise StudyError(
        f"{study.place} has no calibrator {name!r}; "
        + (f"it has {names}" if found else "make one with: attune correct STUDY --save-calibrator NAME")
    )

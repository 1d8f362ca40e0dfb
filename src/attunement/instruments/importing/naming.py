"""What is a document called: its title, its version, its history, and the id that follows from them?"""

import re
import unicodedata
from typing import NamedTuple

from attunement.instruments.importing.markdown import Kind, Section
from attunement.instruments.importing.page import Page, Record
from attunement.instruments.loading import available

_VERSION = re.compile(r"[\s,:(–—-]+(?:version\s*|(?=v\d))(?P<version>v?\d[\w.]*)\)?$", re.IGNORECASE)
_HISTORY = re.compile(r"(?:version|revision) history|change ?log", re.IGNORECASE)
_HISTORY_COLUMNS = {"version": "version", "date": "date", "changes": "changes?"}


class Name(NamedTuple):
    """What an instrument is known by, and the notes its history gives."""

    id: str
    version: str
    title: str
    history: tuple[str, ...]


def name(page: Page, file_stem: str) -> Name:
    """Take the title and the version history of a document.

    The version is that of the heading, else the last one of the history, else "1". The id is made of the heading, or
    of the file's name where the heading has no Latin letters.
    """
    page.take(opening(page).heading)
    heading = opening(page).title
    match = _VERSION.search(heading)
    history = _history(page)
    last = history[-1].cells["version"] if history else None
    version = match["version"] if match else last or "1"
    if not match and not last:
        page.remark('The document gives no version; "1" is used.')
    if match and last and last.removeprefix("v") != version.removeprefix("v"):
        page.remark(f"The title says {version}, the last line of the history {last}; {version} is used.")
    if not heading:
        page.remark(f"The document has no title; it is called {file_stem!r} after the file.")
    title = heading[: match.start()] if match else heading
    id = slug(heading) if slug(title) else slug(file_stem) or "imported"
    if any(entry.built_in and entry.id == id for entry in available()):
        page.remark(f"There is a built-in instrument {id}; give this one another id before you use it.")
    return Name(id, version, title or file_stem, tuple(_note(record) for record in history))


def slug(text: str) -> str:
    """`text` as an id: lower case, plain letters and digits, dashes between the words; empty where none is left."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9._]+", "-", plain).strip("-._")


def opening(page: Page) -> Section:
    """The section of the document's title; where it has none, what stands before the first heading."""
    return next((section for section in page.root.walk() if section.level == 1), page.root)


def _history(page: Page) -> list[Record]:
    found: list[Record] = []
    for section in page.root.walk():
        if _HISTORY.fullmatch(section.title):
            page.take(section.heading)
            for block in section.blocks:
                if block.kind is Kind.TABLE:
                    found += page.records(block, _HISTORY_COLUMNS, optional=("date",)) or []
    return found


def _note(record: Record) -> str:
    date = record.cells.get("date")
    return f"{record.cells['version']}{f', {date}' if date else ''}: {record.cells['changes']}"

"""Markdown documents -> instruments: a rubric with scores, or a prompt template with criteria.

Wording is kept to the character. What has no place in an instrument is listed with its line, and what the document
does not say but an instrument needs is filled in and said in a remark: nothing is dropped or added silently.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from attunement.errors import InstrumentError
from attunement.instruments.importing.markdown import lines
from attunement.instruments.importing.page import Imported, Page, Unplaced
from attunement.instruments.importing.rubric import is_rubric, read_rubric
from attunement.instruments.importing.template import is_template, read_template
from attunement.instruments.importing.writing import to_yaml
from attunement.instruments.model import Instrument

__all__ = ["Imported", "Unplaced", "import_markdown", "to_yaml"]


def import_markdown(path: Path, *, items_from: Instrument | None = None) -> Imported:
    """Read a Markdown rubric or prompt template; which of the two it is follows from its headings.

    `items_from` gives the items of a prompt template, which names its criteria but does not define them. Line ends
    and a byte order mark are not wording; everything else is.
    """
    text = _text(path)
    page = Page(text, str(path))
    if is_template(page):
        instrument = read_template(page, path, items_from)
    elif not is_rubric(page):
        raise InstrumentError(
            f"{path} is neither a rubric nor a prompt template; a rubric has headings such as "
            "'## Dimension 1: Title (`id`)' with tables of scores, a template has '## System Prompt' and "
            "'## User Prompt' with fenced text"
        )
    elif items_from is not None:
        raise InstrumentError(f"{path} is a rubric and has its own items; leave out those of {items_from.id}")
    else:
        instrument = read_rubric(page, path)
    return Imported(instrument, page.unplaced(), [*page.remarks, *_mis_encoded(text)])


def _text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise InstrumentError(f"{path} cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise InstrumentError(f"{path} is not UTF-8 text: {error.reason} at byte {error.start}") from error


def _mis_encoded(text: str) -> Iterator[str]:
    """A remark on each run of characters that is UTF-8 once read as Windows-1252; they are kept all the same."""
    for number, line in enumerate(lines(text), start=1):
        for run in re.findall(r"[^\x00-\x7f]+", line):
            try:
                meant = run.encode("cp1252").decode("utf-8")
            except UnicodeError:
                continue
            yield f"Line {number} reads {run!r}, which may be a mis-encoded {meant!r}; it is kept as it stands."

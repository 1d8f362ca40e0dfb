"""A report as one file, or as an index with a folder of pages.

Small studies are written out in plain HTML, which needs no script to be read. Larger ones stay one file: each
conversation is packed, and opened when it is chosen. Beyond that the report is an index and a folder of plain pages.
Whatever the size, conversations are read, made into pages and written one after the other.
"""

import base64
import json
import shutil
import zlib
from collections.abc import Iterable, Iterator
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from markupsafe import Markup

from attunement.errors import InputError
from attunement.output import make_folder, open_private, replacing
from attunement.reports.conversation import view
from attunement.reports.html.conversation_page import (
    ConversationPage,
    environment,
    frame,
    render_conversation,
)
from attunement.reports.html.listing import Placed
from attunement.reports.study_report import Report, choices
from attunement.reports.wording import STATUSES
from attunement.store.queries import conversations_by_key, text_size
from attunement.store.reviews import reviews

PER_PAGE = 50  # conversations on one page of a folder
_MOST_ROWS = 500  # rows of the list that an index holds in plain HTML; the script knows all of them
_INLINE = (
    8_000_000  # characters of transcripts and reasons up to which a report is plain HTML: a browser shows it at once
)
_PACKED = 40_000_000  # characters up to which a report is one file; packed they take about half the bytes
_MOST_PACKED = 2_000  # conversations up to which a report is one file


class Form(StrEnum):
    INLINE = "inline"
    PACKED = "packed"
    FOLDER = "folder"


class Written(NamedTuple):
    report: Report
    form: Form
    files: int
    bytes: int


class OwnPage(NamedTuple):
    """A further page of the report: an analysis, the words, or the cost."""

    id: str
    title: str
    href: str  # how the first page leads to it
    body: Markup


def write_page(report: Report, output: str | Path) -> Written:
    """Write a report as pages.

    A name that ends in a slash gives a folder with `index.html` and plain pages; else the size decides whether `output`
    is the whole report, or the index of pages in a folder next to it.
    """
    folder = str(output).endswith("/")
    path = Path(output) / "index.html" if folder else Path(output)
    try:
        make_folder(path.parent)
    except OSError as error:
        raise InputError(f"{path.parent}: the folder cannot be made: {error.strerror or error}") from error
    return _Writer(report, path, Form.FOLDER if folder else _form(report)).write()


def _form(report: Report) -> Form:
    conversations = report.top.conversations
    size = text_size(report.study) if report.hiding.texts else 0
    if size <= _INLINE and conversations <= _MOST_ROWS:
        return Form.INLINE
    return Form.PACKED if size <= _PACKED and conversations <= _MOST_PACKED else Form.FOLDER


class _Writer:
    def __init__(self, report: Report, path: Path, form: Form) -> None:
        self._report, self._path, self._form = report, path, form
        self._study, self._instrument, self._listing = report.study, report.instrument, report.listing
        self._folder = path.parent / "pages" if path.name == "index.html" else path.with_name(f"{path.stem}.pages")
        self._reviews = reviews(self._study, self._instrument)
        self._pages = -(-report.top.conversations // PER_PAGE)
        self._own_pages = list(self._make_own_pages())

    def write(self) -> Written:
        files, size = self._write_pages() if self._form is Form.FOLDER else (0, 0)
        with replacing(self._path) as stream:
            size += _write(stream, environment().get_template("report.html.j2").generate(self._context()))
        return Written(self._report, self._form, files + 1, size)

    def _context(self) -> dict[str, Any]:
        made = self._report
        all_rows = self._form is not Form.FOLDER
        return {
            **frame(),
            "title": made.title,
            "report": made,
            "form": self._form.value,
            "rows": self._listing.rows(most=None if all_rows else _MOST_ROWS),
            "rows_left": not all_rows and made.top.conversations > _MOST_ROWS,
            "most_rows": _MOST_ROWS,
            "choices": choices(self._instrument, self._listing),
            "chosen": {},
            "served": "",
            "searches_words": all_rows and made.hiding.texts,
            "listed": _listed,
            "href": self._href,
            "link": self._link,
            "pages": self._pages,
            "first_page": self._page_name(1),
            "conversations": self._packed() if self._form is Form.PACKED else self._shown(self._listing.rows()),
            "own_pages": self._own_pages,
            "trust_href": next((page.href for page in self._own_pages if page.id == "trust"), ""),
            "facts": _json(self._facts()),
            "island": self._island(),
        }

    def _facts(self) -> dict[str, Any]:
        return {
            "form": self._form.value,
            "title": self._report.title,
            "tones": {status.word: status.tone for status in STATUSES},
            "items": [item.id for item in self._instrument.items],
            "failing": self._report.failing,
            "folder": self._folder.name,
            "per_page": PER_PAGE,
        }

    def _make_own_pages(self) -> Iterator[OwnPage]:
        made = self._report
        templates = [
            # Where nothing was judged there is nothing to analyse, and the first page says so.
            *(("analysis", section.id, section.title, section) for section in made.sections if made.top.verdict),
            ("words", "words", "Glossary", None),
            ("cost", "cost", "Cost and time", None),
        ]
        for template, id, title, section in templates:
            href = f"{self._folder.name}/{id}.html" if self._form is Form.FOLDER else f"#{id}"
            text = environment().get_template(f"{template}.html.j2")
            body = text.render(report=made, section=section)
            yield OwnPage(id, title, href, Markup(body))  # noqa: S704 - escaped by the template

    # Links

    def _href(self, key: int, place: int) -> str:
        if self._form is not Form.FOLDER:
            return f"#c{key}"
        return f"{self._page_name(-(-place // PER_PAGE))}#c{key}"

    def _link(self, key: int) -> str:
        placed = self._listing.find(key)
        return self._href(key, placed.place) if placed else "#conversations"

    def _page_name(self, number: int) -> str:
        return f"{self._folder.name}/{number:05}.html"

    # Conversations

    def _shown(self, rows: Iterable[Placed]) -> Iterator[ConversationPage]:
        remaining = iter(rows)
        while batch := [placed.row.key for placed in islice(remaining, PER_PAGE)]:
            found = conversations_by_key(self._study, batch)
            for key in batch:
                if stored := found.pop(key, None):  # else it was removed in the meantime
                    by_people = self._report.summary.by_people
                    yield ConversationPage(
                        key,
                        view(self._study, self._instrument, stored, by_people=by_people),
                        self._report.hiding,
                        by_people=by_people,
                        reviews=self._reviews.get(key, ()),
                    )

    def _packed(self) -> Iterator[tuple[int, Markup]]:
        for page in self._shown(self._listing.rows()):
            packed = base64.b64encode(zlib.compress(render_conversation(page).encode(), 6))
            yield page.key, Markup(packed.decode())  # noqa: S704 - letters and digits

    def _write_pages(self) -> tuple[int, int]:
        part = self._folder.with_name(f".{self._folder.name}.part")
        size = 0
        try:
            shutil.rmtree(part, ignore_errors=True)
            make_folder(part)
            for number in range(1, self._pages + 1):
                with open_private(part / f"{number:05}.html") as stream:
                    size += self._write_page(stream, number)
            for own in self._own_pages:
                with open_private(part / f"{own.id}.html") as stream:
                    size += self._write_template(stream, "own.html.j2", own=own)
            if self._folder.exists() and any(entry.suffix != ".html" for entry in self._folder.iterdir()):
                raise InputError(
                    f"{self._folder} has files of others, so it is not replaced: give the report another name"
                )
            shutil.rmtree(self._folder, ignore_errors=True)
            part.rename(self._folder)
        except OSError as error:
            raise InputError(f"{self._folder}: the pages cannot be written: {error.strerror or error}") from error
        finally:
            shutil.rmtree(part, ignore_errors=True)
        return self._pages + len(self._own_pages), size

    def _write_page(self, stream: BinaryIO, number: int) -> int:
        rows = list(self._listing.rows(after=(number - 1) * PER_PAGE, most=PER_PAGE))
        return self._write_template(
            stream,
            "page.html.j2",
            number=number,
            pages=self._pages,
            before=f"{number - 1:05}.html" if number > 1 else "",
            behind=f"{number + 1:05}.html" if number < self._pages else "",
            rows=rows,
            low=self._report.low,
            conversations=self._shown(rows),
        )

    def _write_template(self, stream: BinaryIO, name: str, **values: Any) -> int:
        index = f"../{self._path.name}"
        shared = {**frame(), "title": self._report.title, "index": index, "own_pages": self._own_pages}
        return _write(stream, environment().get_template(name).generate(**shared, **values))

    # The rows for the script

    def _island(self) -> Iterator[Markup]:
        parts = self._row_parts()
        return _packed_parts(parts) if self._form is Form.FOLDER else (Markup(part) for part in parts)  # noqa: S704

    def _row_parts(self) -> Iterator[str]:
        for number, (place, row) in enumerate(self._listing.rows()):
            plain = [
                *(row.key, row.id, row.system, row.scenario, row.turns, row.status, row.score_words),
                *(row.failed, row.answers, row.flags, place),
            ]
            yield ("," if number else "[") + _json(plain)
        yield "]" if self._listing.count() else "[]"


def _listed(chosen: str, system: str = "") -> Markup:
    """The attributes of a link to the list, which the script filters: `name=value`, and of one system where given."""
    link = Markup('href="#conversations" data-filter="{}"').format(chosen)
    return link + Markup(' data-system="{}"').format(system) if system else link


def _packed_parts(parts: Iterable[str]) -> Iterator[Markup]:
    """The parts compressed and in base64, a piece at a time."""
    packer, waiting = zlib.compressobj(6), b""
    for part in parts:
        waiting += packer.compress(part.encode())
        whole = len(waiting) - len(waiting) % 3
        if whole > 1 << 16:
            yield Markup(base64.b64encode(waiting[:whole]).decode())  # noqa: S704 - letters and digits
            waiting = waiting[whole:]
    yield Markup(base64.b64encode(waiting + packer.flush()).decode())  # noqa: S704


def _json(value: Any) -> Markup:
    """JSON that can stand in an element `script`: nothing in it can end the element."""
    text = json.dumps(value, separators=(",", ":"))
    return Markup(text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e"))  # noqa: S704


def _write(stream: BinaryIO, parts: Iterable[str]) -> int:
    """Write the parts in larger pieces; says how many bytes they were."""
    size, waiting, length = 0, list[str](), 0
    for part in parts:
        waiting.append(part)
        length += len(part)
        if length > 1 << 18:
            size += stream.write("".join(waiting).encode())
            waiting, length = [], 0
    return size + stream.write("".join(waiting).encode())

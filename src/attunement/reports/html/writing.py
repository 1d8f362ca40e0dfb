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
from attunement.reports.study_report import Report, choices, failing
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
    folder: Path  # of the pages, if there are any


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
        self._last = -(-report.top.conversations // PER_PAGE)
        self._own_pages = report.pages

    def write(self) -> Written:
        files, size = self._write_pages() if self._form is Form.FOLDER else (0, 0)
        with replacing(self._path) as stream:
            size += self._write_template(stream, "report.html.j2", "summary", **self._index())
        return Written(self._report, self._form, files + 1, size, self._folder)

    def _index(self) -> dict[str, Any]:
        report, listing = self._report, self._listing
        folder, packed = self._form is Form.FOLDER, self._form is Form.PACKED
        rows = _json([self._plain(placed) for placed in listing.rows()])
        return {
            "report": report,
            "form": self._form.value,
            "home": "#top",
            "list_href": "#conversations" if report.top.conversations else "",
            "own_pages": self._own_pages,
            "pages": self._links(self._folder.name + "/{}.html" if folder else "#{}"),
            "rows": listing.rows(most=_MOST_ROWS if folder else None),
            "rows_left": folder and report.top.conversations > _MOST_ROWS,
            "most_rows": _MOST_ROWS,
            "choices": choices(self._instrument, listing),
            "chosen": {},
            "served": "",
            "searches_words": report.hiding.texts and not folder,
            "listed": _listed,
            "href": self._href,
            "link": self._link,
            "last": self._last,
            "folder": self._folder.name,
            "first_page": self._page_name(1),
            "conversations": self._packed() if packed else self._shown(listing.rows()),
            "trust_href": f"{self._folder.name}/trust.html" if folder else "#trust",
            "facts": _json(self._facts()),
            "island": _compressed(rows) if folder else rows,
        }

    def _plain(self, placed: Placed) -> list[Any]:
        """A row for the script."""
        row = placed.row
        return [
            *(row.key, row.id, row.system, row.scenario, row.turns, row.status, row.score_words),
            *(row.failed, row.answers, row.flags, placed.place),
        ]

    def _facts(self) -> dict[str, Any]:
        return {
            "form": self._form.value,
            "title": self._report.title,
            "tones": {status.word: status.tone for status in STATUSES},
            "items": [item.id for item in self._instrument.items],
            "failing": failing(self._instrument),
            "folder": self._folder.name,
            "per_page": PER_PAGE,
        }

    # Links

    def _links(self, pattern: str) -> list[tuple[str, str, str]]:
        return [(own.id, own.title, pattern.replace("{}", own.id)) for own in self._own_pages]

    def _href(self, placed: Placed) -> str:
        page = self._page_name(-(-placed.place // PER_PAGE)) if self._form is Form.FOLDER else ""
        return f"{page}#c{placed.row.key}"

    def _link(self, key: int) -> str:
        placed = self._listing.find(key)
        return self._href(placed) if placed else "#conversations"

    def _page_name(self, number: int) -> str:
        return f"{self._folder.name}/{number:05}.html"

    # Conversations

    def _shown(self, rows: Iterable[Placed]) -> Iterator[ConversationPage]:
        remaining = iter(rows)
        while batch := [placed.row.key for placed in islice(remaining, PER_PAGE)]:
            found = conversations_by_key(self._study, batch)
            for key in batch:
                if stored := found.pop(key, None):  # else it was removed in the meantime
                    shown = view(self._study, self._instrument, stored, by_people=self._report.summary.by_people)
                    yield ConversationPage(key, shown, self._report.hiding, reviews=self._reviews.get(key, ()))

    def _packed(self) -> Iterator[tuple[int, Markup]]:
        return ((page.key, _compressed(render_conversation(page))) for page in self._shown(self._listing.rows()))

    def _write_pages(self) -> tuple[int, int]:
        part = self._folder.with_name(f".{self._folder.name}.part")
        size, remaining = 0, self._listing.rows()
        try:
            shutil.rmtree(part, ignore_errors=True)
            make_folder(part)
            for number in range(1, self._last + 1):
                rows = list(islice(remaining, PER_PAGE))
                beside = {"before": number - 1, "behind": number + 1}
                links = {name: f"{to:05}.html" if 1 <= to <= self._last else "" for name, to in beside.items()}
                with open_private(part / f"{number:05}.html") as stream:
                    size += self._write_template(
                        stream, "page.html.j2", number=number, last=self._last, rows=rows, low=self._report.low,
                        conversations=self._shown(rows), **links,
                    )  # fmt: skip
            for own in self._own_pages:
                with open_private(part / f"{own.id}.html") as stream:
                    size += self._write_template(stream, "own.html.j2", own.id, own=own)
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
        return self._last + len(self._own_pages), size

    def _write_template(self, stream: BinaryIO, name: str, here: str = "", **values: Any) -> int:
        home = f"../{self._path.name}"
        shared: dict[str, Any] = {
            **frame(),
            "title": self._report.title,
            "here": here,
            "report": None,
            "hiding": self._report.hiding,
            "home": home,
            "list_href": f"{home}#conversations",
            "pages": self._links("{}.html"),
        }
        parts = environment().get_template(name).generate({**shared, **values})
        return sum(stream.write(part.encode()) for part in parts)


def _listed(chosen: str, system: str = "") -> Markup:
    """The attributes of a link to the list, which the script filters: `name=value`, and of one system where given."""
    link = Markup('href="#conversations" data-filter="{}"').format(chosen)
    return link + Markup(' data-system="{}"').format(system) if system else link


def _compressed(text: str) -> Markup:
    return Markup(base64.b64encode(zlib.compress(text.encode(), 6)).decode())  # noqa: S704 - letters and digits


def _json(value: Any) -> Markup:
    """JSON that can stand in an element `script`: nothing in it can end the element."""
    text = json.dumps(value, separators=(",", ":"))
    return Markup(text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e"))  # noqa: S704

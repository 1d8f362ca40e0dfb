"""The report of a study, served page by page.

One link with a random token opens the pages; each start creates a new token, which is not saved. The pages are
read-only and show everything. Raters must not see them, so they are separate from the raters' pages.

Scorecards are computed on reading, so counting a large study takes minutes. It runs in a thread, and starts again when
a page is requested and the study has changed; until it is done, pages show the earlier numbers. A single conversation
always comes from the study itself. The pages work without scripts.
"""

import hashlib
import hmac
import secrets
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from threading import Event, Lock, Thread
from time import monotonic
from typing import Any, NamedTuple
from urllib.parse import urlencode

from jinja2 import ChoiceLoader, Environment, FileSystemLoader
from markupsafe import Markup
from starlette.datastructures import QueryParams
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from attunement import reports
from attunement.errors import AttunementError
from attunement.instruments import Instrument
from attunement.reports.conversation import view
from attunement.reports.html.conversation_page import ConversationPage, environment
from attunement.reports.html.listing import Filter, Listing, Placed
from attunement.reports.html.sections import Section, analysed
from attunement.reports.privacy import Privacy
from attunement.reports.study_report import FLAGS, Report, choices, failing, title_of
from attunement.reports.summary import NOT_ENGLISH
from attunement.reports.wording import low_limit
from attunement.store import Study
from attunement.store.queries import change_counter, conversations_by_key
from attunement.store.reviews import reviews
from attunement.web.site import Site, application

_PATIENCE = 1.5  # seconds that a page waits for a new count, enough for a small study
_SMALL = 1_000  # conversations up to which a page waits; a count takes about a millisecond or two for each
_REST = 2.0  # a study that keeps changing is counted again after this multiple of the last count's duration
_PARTING = 5.0  # seconds that a count may take to stop when the server closes
_BROKEN_STUDY = "The count failed; the terminal that runs attune view shows why."


class Count(NamedTuple):
    """A finished count. Its list disappears with the last page that uses it."""

    listing: Listing
    report: Report
    pages: list[Section]
    made: str  # when it began: later changes may not be included


class StudyCounter:
    """Counts a study in a thread, and again when it has changed."""

    def __init__(self, study: Study, instrument: Instrument, hiding: Privacy) -> None:
        self._study, self._instrument, self._hiding = study, instrument, hiding
        self._lock, self._stopped, self._held = Lock(), Event(), ExitStack()
        self._changes = change_counter(self._held.enter_context(study.reading()))
        self._counted_at: object = None
        self._again_from = 0.0
        self._thread: Thread | None = None
        self.latest: Count | None = None
        self.stale = False  # whether the study has changed since the latest count began
        self.problem = ""  # why the last count failed
        self.counted, self.total = 0, 0  # conversations, of the count that runs or ran last

    def close(self) -> None:
        self._stopped.set()
        if self._thread:
            self._thread.join(_PARTING)
        self._held.close()

    @property
    def running(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def refresh(self) -> Count | None:
        """The last finished count; starts a new one if it is due, and waits a moment for it if the study is small."""
        with self._lock:
            if not self.running and not self._stopped.is_set():
                at = self._changes()
                self.stale = at != self._counted_at
                if (self.stale or self.problem or not self.latest) and monotonic() >= self._again_from:
                    self._counted_at, self.counted, self.total = at, 0, self._study.conversation_count()
                    self._thread = Thread(target=self._count, name="counting", daemon=True)
                    self._thread.start()
        if self._thread and self.total <= _SMALL:
            self._thread.join(_PATIENCE)
        return self.latest

    def _count(self) -> None:
        problem, begun = _BROKEN_STUDY, monotonic()
        made = datetime.now(UTC).strftime("%d %B %Y at %H:%M:%S UTC").lstrip("0")
        try:
            listing = Listing(words=True)
            report = Report(self._study, self._instrument, listing, self._hiding, receivers=[lambda _: self._advance()])
            report.add(analysed(self._study, self._instrument, self._hiding))
            self.latest, self.stale, problem = Count(listing, report, report.pages, made), False, ""
        except _StoppedError:
            pass
        except AttunementError as error:
            problem = str(error)
        finally:
            self.problem = problem
            self._again_from = monotonic() + _REST * (monotonic() - begun)

    def _advance(self) -> None:
        self.counted += 1
        if self._stopped.is_set():
            raise _StoppedError


class _StoppedError(Exception):
    """The pages are being closed."""


PER_PAGE = 50
_LONGEST, _MOST_WORDS = 200, 8  # characters and words of a search
_TEMPLATES = Path(__file__).parent / "templates"


class Viewer(NamedTuple):
    study: Study
    instrument: Instrument
    hiding: Privacy
    counter: StudyCounter


class ListQuery(NamedTuple):
    """The filters of the list, and the URL parameters that set them."""

    filter: Filter
    pairs: list[tuple[str, str]]

    def query(self, **more: int) -> str:
        pairs = [*self.pairs, *((name, str(value)) for name, value in more.items())]
        return f"?{urlencode(pairs)}" if pairs else ""


def summary(viewer: Viewer, request: Request, count: Count | None) -> Response:
    """The summary page: verdicts, what to read and fix first, tables and charts."""

    def listed(chosen: str, system: str = "") -> Markup:
        return Markup('href="{}"').format(_path(request, "list") + _query(viewer.instrument, chosen, system))

    def link(key: int) -> str:
        return _path(request, "conversation", key=key)

    trust = _path(request, "own", name="trust")
    return _page(viewer, request, count, "summary", "summary", listed=listed, link=link, trust_href=trust)


def conversations(viewer: Viewer, request: Request, count: Count | None) -> Response:
    chosen = list_query(request.query_params, viewer.instrument)
    number = max(_number(request.query_params.get("page", ""), 10**7) or 1, 1)
    if count is None:
        return _page(viewer, request, count, "list", "list")
    listing, here = count.listing, _path(request, "list")

    def href(placed: Placed) -> str:
        return _path(request, "conversation", key=placed.row.key) + chosen.query()

    matching = listing.count(chosen.filter)
    pages = max(-(-matching // PER_PAGE), 1)
    steps = {"before": min(number - 1, pages), "behind": number + 1, "last": pages}
    return _page(
        viewer, request, count, "list", "list",
        rows=list(listing.rows(chosen.filter, after=(number - 1) * PER_PAGE, most=PER_PAGE)),
        href=href,
        chosen={"text": "", **dict(chosen.pairs), "flag": list(chosen.filter.flags)},
        choices=choices(viewer.instrument, listing),
        served=here,
        found=f"{matching:,} of {listing.count():,}",
        low=low_limit(viewer.instrument),
        number=number,
        last_page=pages,
        searches_words=listing.knows_words and viewer.hiding.texts,
        **{
            name: here + chosen.query(page=to) if 1 <= to <= pages and to != number else ""
            for name, to in steps.items()
        },
    )  # fmt: skip


def conversation(viewer: Viewer, request: Request, count: Count | None) -> Response:
    """One conversation as it is in the study now, with links to its neighbors in the filtered list."""
    key: int = request.path_params["key"]
    chosen = list_query(request.query_params, viewer.instrument)
    stored = conversations_by_key(viewer.study, [key]).get(key) if key < 1 << 63 else None
    if stored is None:
        raise HTTPException(404)
    page = ConversationPage(
        key,
        view(viewer.study, viewer.instrument, stored),
        viewer.hiding,
        reviews=reviews(viewer.study, viewer.instrument).get(key, ()),
    )
    earlier, before, behind = count.listing.around(key, chosen.filter) if count else (0, None, None)
    links = {
        name: _path(request, "conversation", key=one.row.key) + chosen.query() if one else ""
        for name, one in (("before", before), ("behind", behind))
    }
    links["back"] = _path(request, "list") + chosen.query(page=earlier // PER_PAGE + 1)
    return _page(viewer, request, count, "conversation", "", page=page, **links)


def own_page(viewer: Viewer, request: Request, count: Count | None) -> Response:
    """An analysis, the glossary, or the cost."""
    name: str = request.path_params["name"]
    if count is None:
        return _page(viewer, request, count, "own", name)
    own = next((one for one in count.pages if one.id == name), None)
    if own is None:
        raise HTTPException(404)
    return _page(viewer, request, count, "own", name, own=own)


PAGES = [
    ("", "summary", summary),
    ("conversations", "list", conversations),
    ("conversation/{key:int}", "conversation", conversation),
    ("{name}", "own", own_page),
]


def list_query(query: QueryParams, instrument: Instrument) -> ListQuery:
    """The filters in a URL; invalid values are ignored."""
    names = {name: query.get(name, "") or None for name in ("system", "scenario", "verdict")}
    item = _number(query.get("item", ""), len(instrument.items) - 1)
    answers = _number(query.get("answer", ""), 1 << 40) or None
    flags = tuple(flag for flag in (*FLAGS, NOT_ENGLISH) if flag in query.getlist("flag"))
    text = " ".join(query.get("text", "")[:_LONGEST].split()[:_MOST_WORDS])
    given = {"text": text or None, **names, "item": item, "answer": answers}
    pairs = [(name, str(value)) for name, value in given.items() if value is not None]
    pairs += [("flag", flag) for flag in flags]
    chosen = Filter(names["system"], names["scenario"], names["verdict"], item, answers, flags, text)
    return ListQuery(chosen, pairs)


def _number(text: str, highest: int) -> int | None:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 20 and int(text) <= highest else None


def _query(instrument: Instrument, chosen: str, system: str) -> str:
    name, _, value = chosen.partition("=")
    pairs: Mapping[str, str | int] = {name: value}
    if name == "failed":
        place = next(place for place, item in enumerate(instrument.items) if item.id == value)
        pairs = {"item": place, "answer": failing(instrument)}
    return "?" + urlencode({**pairs, "system": system} if system else pairs)


def _path(request: Request, name: str, /, **path: Any) -> str:
    return request.url_for(name, **path).path


def _page(
    viewer: Viewer, request: Request, count: Count | None, template: str, here: str, /, **values: Any
) -> Response:
    def url(name: str, /, **path: Any) -> str:
        return _path(request, name, **path)

    text = (
        _templates()
        .get_template(f"view_{template}.html")
        .render(
            title=viewer.hiding.text(title_of(viewer.study)),
            instrument=viewer.instrument,
            hiding=viewer.hiding,
            made=count.made if count else "",
            report=count.report if count else None,
            counter=viewer.counter,
            needs_count=template != "conversation",
            here=here,
            home=url("summary"),
            list_href=url("list"),
            pages=[(own.id, own.title, url("own", name=own.id)) for own in (count.pages if count else ())],
            url=url,
            **values,
        )
    )
    return HTMLResponse(text)


@cache
def _templates() -> Environment:
    of_report = environment()
    assert of_report.loader is not None  # noqa: S101 - it has one
    return of_report.overlay(loader=ChoiceLoader([FileSystemLoader(_TEMPLATES), of_report.loader]))


_REPORTS = Path(reports.__file__).parent
_REFUSALS = {
    401: "Open the link that attune view printed. Each start prints a new one.",
    404: "Page not found. The conversation may have been deleted from the study.",
    405: "These pages are read-only.",
    429: "Too many wrong links came from your address. Please wait a minute and try again.",
    500: "Internal error; the terminal that runs attune view shows the details.",
}


def new_token() -> str:
    return secrets.token_urlsafe(32)


def make_view(
    study: Study, instrument: Instrument, hiding: Privacy, token: str, *, address: str = "http://127.0.0.1"
) -> ASGIApp:
    """The app with the pages of `study` under `instrument`, for anyone with `token`; `address` is its public URL."""
    site = Site(study, address)
    viewer = Viewer(study, instrument, hiding, StudyCounter(study, instrument, hiding))
    routes = [
        Route("/enter/{token}", _enter(site, token), name="enter"),
        *(Route(f"/view/{path}", _door(site, token, viewer, page), name=name) for path, name, page in PAGES),
        Route("/report.js", _script, name="script"),
    ]
    handlers = dict.fromkeys((HTTPException, AttunementError, Exception), _shown(site))
    return application(site, routes, handlers, start=viewer.counter.refresh, stop=viewer.counter.close)


def _cookie(token: str) -> str:
    """A different name for each start: a browser shares cookies among all ports of a host."""
    return f"attune-view-{hashlib.sha256(token.encode()).hexdigest()[:8]}"


def _check(site: Site, request: Request, given: str, token: str) -> None:
    """Refuse a request with another token."""
    if not hmac.compare_digest(given.encode("utf-8", "replace"), token.encode()):
        site.refuse(request, given)


def _enter(site: Site, token: str) -> Callable[..., Any]:
    async def enter(request: Request) -> Response:
        _check(site, request, request.path_params["token"], token)
        door = request.url_for("summary").path
        answer = RedirectResponse(door, 303)
        site.set_cookie(answer, request, _cookie(token), token, path=door)
        return answer

    return enter


def _door(
    site: Site, token: str, viewer: Viewer, page: Callable[[Viewer, Request, Count | None], Response]
) -> Callable[..., Any]:
    async def endpoint(request: Request) -> Response:
        _check(site, request, request.cookies.get(_cookie(token), ""), token)
        return await site.read(lambda: page(viewer, request, viewer.counter.refresh()))

    return endpoint


async def _script(_: Request) -> Response:
    return FileResponse(_REPORTS / "html" / "report.js", media_type="text/javascript")


def _shown(site: Site) -> Callable[..., Any]:
    """A handler that shows what went wrong, without details of unexpected errors."""

    async def show(request: Request, error: Exception) -> Response:
        status = error.status_code if isinstance(error, HTTPException) else 500
        text = str(error) if isinstance(error, AttunementError) else _REFUSALS.get(status, _REFUSALS[404])
        page = site.page(request, "message.html", site.words("en"), status=status, title="Attunement", text=text)
        if isinstance(error, HTTPException):
            page.headers.update(error.headers or {})
        return page

    return show

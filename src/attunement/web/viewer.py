"""The report of a study, served page by page.

One link with a random token opens the pages; each start creates a new token, which is not saved. The pages are
read-only and show everything. Raters must not see them, so they are separate from the raters' pages.

Scorecards are computed on reading, so counting a large study takes minutes. It runs in the background and fills a
temporary list, which can be read meanwhile. If the study has changed, the next request starts a new count; until it is
done, pages show the earlier numbers. The count pauses while a page is built.

Pages are built on request. Numbers and the list come from the last count, a single conversation always from the study
itself. Nothing is written, and the pages work without scripts.
"""

import hashlib
import hmac
import secrets
from collections.abc import Callable, Generator, Mapping
from contextlib import ExitStack, contextmanager
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
from attunement.reports.html.sections import NEEDS, analysed
from attunement.reports.privacy import Privacy
from attunement.reports.study_report import Report, build_report, choices, failing, title_of
from attunement.reports.wording import low_limit
from attunement.store import Study
from attunement.store.queries import change_counter, conversations_by_key
from attunement.store.reviews import reviews
from attunement.store.scorecards import decided_by_people
from attunement.web.site import Site, application

_PATIENCE = 1.5
"""Seconds that a page waits for a new count, enough for a small study."""
_SMALL = 1_000
"""Conversations up to which a page waits; a count takes about a millisecond or two for each."""
_REST = 2.0
"""A study that keeps changing is counted again after this multiple of the last count's duration."""
_STEP_ASIDE = 1.0
"""Maximum seconds that a count pauses for pages, so that it continues under load."""
_PARTING = 5.0
"""Seconds that a count may take to stop when the server closes."""
_BROKEN_STUDY = "The count failed; the terminal that runs attune view shows why."


class StudyCount:
    def __init__(self, total: int) -> None:
        self.listing = Listing(words=True)
        self.total = total
        """Conversations in the study when the count began."""
        self.report: Report | None = None
        """None until all is counted."""
        self.made = ""
        """When the count began: later changes may not be included."""
        self.problem = ""
        """Why it failed."""
        self.ended = Event()
        self.begun = monotonic()
        self.readers = 0


class Snapshot(NamedTuple):
    """The counts to show now."""

    latest: StudyCount
    """The last finished count; before the first one, the running count."""
    running: StudyCount | None
    """The running count."""
    stale: bool
    """Whether the study has changed since the latest count began."""


class BackgroundCount:
    """Counts a study, in the background and again when it changes."""

    def __init__(self, study: Study, instrument: Instrument, hiding: Privacy) -> None:
        self._study, self._instrument, self._hiding = study, instrument, hiding
        self._lock, self._calm, self._stopped = Lock(), Event(), Event()
        self._calm.set()
        self._pages = 0
        self._held = ExitStack()
        self._changes = change_counter(self._held.enter_context(study.reading()))
        self._counted_at: object = None
        self._stale = False
        self._again_from = 0.0
        self._finished: StudyCount | None = None
        self._running: StudyCount | None = None
        self._thread: Thread | None = None
        self.by_people = decided_by_people(study, instrument)
        """Whether people's answers decide because there is no judge."""

    def close(self) -> None:
        self._stopped.set()
        if self._thread:
            self._thread.join(_PARTING)
        for count in (self._finished, self._running):
            if count:
                count.listing.close()
        self._held.close()

    @contextmanager
    def snapshot(self) -> Generator[Snapshot]:
        """The counts to show; they do not change while a page is built."""
        running = self.refresh()
        if running and running.total <= _SMALL:
            running.ended.wait(max(0.0, running.begun + _PATIENCE - monotonic()))
        with self._lock:
            count = self._finished or self._running
            assert count is not None  # noqa: S101 - one was begun above
            shown = Snapshot(count, self._running, self._stale)
            read = [one for one in (self._finished, self._running) if one]
            for one in read:
                one.readers += 1
        try:
            with self.page():
                yield shown
        finally:
            with self._lock:
                for one in read:
                    one.readers -= 1
                    self._close_unread(one)

    @contextmanager
    def page(self) -> Generator[None]:
        self._add_pages(1)
        try:
            yield
        finally:
            self._add_pages(-1)

    def _add_pages(self, number: int) -> None:
        with self._lock:
            self._pages += number
            if self._pages:
                self._calm.clear()
            else:
                self._calm.set()

    def refresh(self) -> StudyCount | None:
        """Start a count if one is due; returns the running one."""
        with self._lock:
            if self._running or self._stopped.is_set():
                return self._running
            at = self._changes()
            self._stale = self._finished is not None and at != self._counted_at
            failed = self._finished is not None and self._finished.problem
            if self._finished and (not (self._stale or failed) or monotonic() < self._again_from):
                return None
            self._counted_at = at
            self._running = StudyCount(self._study.conversation_count())
            self._running.made = datetime.now(UTC).strftime("%d %B %Y at %H:%M:%S UTC").lstrip("0")
            self._thread = Thread(target=self._count, args=[self._running], name="counting", daemon=True)
            self._thread.start()
            return self._running

    def _count(self, count: StudyCount) -> None:
        problem = _BROKEN_STUDY
        try:
            self._make(count)
            problem = ""
        except _StoppedError:
            pass
        except AttunementError as error:
            problem = str(error)
        finally:
            count.problem = problem
            with self._lock:
                if not self._stopped.is_set():
                    self._put(count)
            count.ended.set()

    def _put(self, count: StudyCount) -> None:
        """Publish a count that has ended; a failed count does not replace earlier numbers."""
        before, self._finished, self._running = self._finished, count, None
        self._stale = False
        self._again_from = monotonic() + _REST * (monotonic() - count.begun)
        if before and before.report and count.problem:
            before.problem, self._finished, before = count.problem, before, count
        self._close_unread(before)

    def _make(self, count: StudyCount) -> None:
        self.by_people = decided_by_people(self._study, self._instrument)
        made = build_report(self._study, self._instrument, count.listing, self._hiding, pace=self._pace)
        count.report = made.with_analyses(analysed(self._study, self._instrument, self._hiding))

    def _pace(self) -> None:
        if self._stopped.is_set():
            raise _StoppedError
        if not self._calm.is_set():
            self._calm.wait(_STEP_ASIDE)

    def _close_unread(self, count: StudyCount | None) -> None:
        """Delete replaced counts that nobody reads any more; the caller holds the lock."""
        if count and not count.readers and count not in (self._finished, self._running):
            count.listing.close()


class _StoppedError(Exception):
    """The pages are being closed."""


PER_PAGE = 50
_LONGEST, _MOST_WORDS = 200, 8
"""Maximum characters and words of a search."""
_FLAGS = (
    "people differ|judges differ",
    "quote not found",
    "crisis talk",
    "pointer of the rule check",
    "not English: not looked at by the rule check",
    "needs a person",
    "not judged",
)
_TEMPLATES = Path(__file__).parent / "templates"


class ViewContext(NamedTuple):
    study: Study
    instrument: Instrument
    hiding: Privacy
    background: BackgroundCount


class ListQuery(NamedTuple):
    """The filters, for the list and as URL parameters."""

    filter: Filter
    said: list[tuple[str, str]]

    @property
    def set(self) -> dict[str, Any]:
        return {"text": "", **dict(self.said), "flag": [value for name, value in self.said if name == "flag"]}

    def query(self, **more: int) -> str:
        pairs = [*self.said, *((name, str(value)) for name, value in more.items())]
        return f"?{urlencode(pairs)}" if pairs else ""


def summary(shown: ViewContext, request: Request) -> Response:
    """The summary page: verdicts, what to read and fix first, tables and charts."""
    with shown.background.snapshot() as snapshot:

        def listed(chosen: str, system: str = "") -> Markup:
            return Markup('href="{}"').format(_path(request, "list") + _query(shown.instrument, chosen, system))

        def link(key: int) -> str:
            return _path(request, "conversation", key=key)

        return _page(
            shown, request, snapshot, "summary",
            report=snapshot.latest.report, listed=listed, link=link, trust_href=_path(request, "section", name="trust"),
        )  # fmt: skip


def conversations(shown: ViewContext, request: Request) -> Response:
    chosen = list_query(request.query_params, shown.instrument)
    number = max(_number(request.query_params.get("page", ""), 10**7) or 1, 1)
    with shown.background.snapshot() as snapshot:
        listing = snapshot.latest.listing
        fitting, rows = listing.page(chosen.filter, after=(number - 1) * PER_PAGE, most=PER_PAGE)
        pages = max(-(-fitting // PER_PAGE), 1)

        def href(placed: Placed) -> str:
            return _path(request, "conversation", key=placed.row.key) + chosen.query(at=placed.place)

        return _page(
            shown, request, snapshot, "list",
            rows=rows,
            href=href,
            chosen=chosen.set,
            choices=choices(shown.instrument, listing),
            served=_path(request, "list"),
            found=f"{fitting:,} of {listing.count():,}",
            low=low_limit(shown.instrument),
            number=number,
            pages=pages,
            searches_words=listing.knows_words and shown.hiding.texts,
            **{
                name: _path(request, "list") + chosen.query(page=to) if 1 <= to <= pages and to != number else ""
                for name, to in (("before", min(number - 1, pages)), ("behind", number + 1), ("last", pages))
            },
        )  # fmt: skip


def conversation(shown: ViewContext, request: Request) -> Response:
    """One conversation as it is in the study now, with links to its neighbors in the filtered list."""
    key: int = request.path_params["key"]
    chosen = list_query(request.query_params, shown.instrument)
    place = _number(request.query_params.get("at", ""), 10**9)
    with shown.background.page():
        kept = conversations_by_key(shown.study, [key]).get(key) if key < 1 << 63 else None
        if kept is None:
            raise HTTPException(404)
        page = ConversationPage(
            key,
            view(shown.study, shown.instrument, kept),
            shown.hiding,
            by_people=shown.background.by_people,
            reviews=reviews(shown.study, shown.instrument).get(key, ()),
        )
    with shown.background.snapshot() as snapshot:
        links = {"before": "", "behind": "", "back": _path(request, "list")}
        if place:
            _, near = snapshot.latest.listing.page(chosen.filter, after=max(place - 2, 0), most=3)
            for one in near:
                if name := {place - 1: "before", place + 1: "behind"}.get(one.place):
                    links[name] = _path(request, "conversation", key=one.row.key) + chosen.query(at=one.place)
            links["back"] += chosen.query(page=-(-place // PER_PAGE))
        return _page(shown, request, snapshot, "conversation", page=page, place=place, **links)


def section(shown: ViewContext, request: Request) -> Response:
    """The page of one analysis, after the count."""
    name: str = request.path_params["name"]
    if name not in NEEDS:
        raise HTTPException(404)
    with shown.background.snapshot() as snapshot:
        made = snapshot.latest.report
        found = next((one for one in made.sections if one.id == name), None) if made else None
        return _page(shown, request, snapshot, "section", section=found, heading=NEEDS[name][0])


def words(shown: ViewContext, request: Request) -> Response:
    with shown.background.snapshot() as snapshot:
        return _page(shown, request, snapshot, "words")


def cost(shown: ViewContext, request: Request) -> Response:
    """The cost of the judges' answers, after the count."""
    with shown.background.snapshot() as snapshot:
        return _page(shown, request, snapshot, "cost", report=snapshot.latest.report)


PAGES = [
    ("", "summary", summary),
    ("conversations", "list", conversations),
    ("conversation/{key:int}", "conversation", conversation),
    ("analysis/{name}", "section", section),
    ("words", "words", words),
    ("cost", "cost", cost),
]


def list_query(query: QueryParams, instrument: Instrument) -> ListQuery:
    """The filters in a URL; invalid values are ignored."""
    said: list[tuple[str, str]] = []
    values = {name: query.get(name, "") or None for name in ("system", "scenario", "verdict")}
    item = _number(query.get("item", ""), len(instrument.items) - 1)
    answers = _number(query.get("answer", ""), 1 << 40) or None
    flags = tuple(flag for flag in _FLAGS if flag in query.getlist("flag"))
    text = " ".join(query.get("text", "")[:_LONGEST].split()[:_MOST_WORDS])
    said += [("text", text)] if text else []
    said += [(name, value) for name, value in values.items() if value]
    said += [(name, str(value)) for name, value in (("item", item), ("answer", answers)) if value is not None]
    said += [("flag", flag) for flag in flags]
    chosen = Filter(values["system"], values["scenario"], values["verdict"], item, answers, flags, text)
    return ListQuery(chosen, said)


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


def _page(shown: ViewContext, request: Request, snapshot: Snapshot, template: str, /, **values: Any) -> Response:
    latest, running, stale = snapshot

    def url(name: str, /, **path: Any) -> str:
        return _path(request, name, **path)

    text = (
        _templates()
        .get_template(f"view_{template}.html")
        .render(
            title=shown.hiding.text(title_of(shown.study)),
            instrument=shown.instrument,
            hiding=shown.hiding,
            latest=latest,
            running=running,
            stale=stale,
            counted=running.listing.count() if running else 0,
            sections=_headings(latest),
            current=request.url.path,
            url=url,
            **values,
        )
    )
    return HTMLResponse(text)


def _headings(count: StudyCount) -> dict[str, str]:
    """The analysis pages and their headings, from the last count."""
    known = {section.id: section.title for section in count.report.sections} if count.report else {}
    return {name: heading for name, (heading, _) in NEEDS.items()} | known


@cache
def _templates() -> Environment:
    of_report = environment()
    assert of_report.loader is not None  # noqa: S101 - it has one
    return of_report.overlay(loader=ChoiceLoader([FileSystemLoader(_TEMPLATES), of_report.loader]))


_REPORTS = Path(reports.__file__).parent
_STATIC = Path(__file__).parent / "static"
_REFUSALS = {
    401: "Open the link that attune view printed. Each start prints a new one.",
    404: "Page not found. The conversation may have been deleted from the study.",
    405: "These pages are read-only.",
    429: "Too many wrong links came from your address. Please wait a minute and try again.",
}
_BROKEN = "Internal error; the terminal that runs attune view shows the details."


def new_token() -> str:
    return secrets.token_urlsafe(32)


def make_view(
    study: Study, instrument: Instrument, hiding: Privacy, token: str, *, address: str = "http://127.0.0.1"
) -> ASGIApp:
    """The app with the pages of `study` under `instrument`, for anyone with `token`; `address` is its public URL."""
    site = Site(study, address)
    shown = ViewContext(study, instrument, hiding, BackgroundCount(study, instrument, hiding))
    routes = [
        Route("/enter/{token}", _enter(site, token), name="enter"),
        *(Route(f"/view/{path}", _door(site, token, shown, page), name=name) for path, name, page in PAGES),
        Route("/report.js", _script, name="script"),
    ]
    handlers = {HTTPException: _refusal(site), AttunementError: _problem(site), Exception: _broken(site)}
    return application(site, routes, handlers, start=shown.background.refresh, stop=shown.background.close)


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
    site: Site, token: str, shown: ViewContext, page: Callable[[ViewContext, Request], Response]
) -> Callable[..., Any]:
    async def endpoint(request: Request) -> Response:
        _check(site, request, request.cookies.get(_cookie(token), ""), token)
        return await site.read(page, shown, request)

    return endpoint


async def _script(_: Request) -> Response:
    return FileResponse(_REPORTS / "html" / "report.js", media_type="text/javascript")


def _message(site: Site, request: Request, status: int, text: str) -> Response:
    return site.page(request, "message.html", site.words("en"), status=status, title="Attunement", text=text)


def _refusal(site: Site) -> Callable[..., Any]:
    async def refuse(request: Request, error: HTTPException) -> Response:
        page = _message(site, request, error.status_code, _REFUSALS.get(error.status_code, _REFUSALS[404]))
        page.headers.update(error.headers or {})
        return page

    return refuse


def _problem(site: Site) -> Callable[..., Any]:
    async def tell(request: Request, error: AttunementError) -> Response:
        return _message(site, request, 500, str(error))

    return tell


def _broken(site: Site) -> Callable[..., Any]:
    async def tell(request: Request, _: Exception) -> Response:
        return _message(site, request, 500, _BROKEN)

    return tell

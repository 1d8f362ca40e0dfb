"""Shared by all pages: the study, texts, templates, links, cookies and headers.

Pages are built in a few threads, so that they do not block the event loop. All writes go through one thread: they are
short, and none waits for another's lock. Because there are many raters, only the write itself of their requests runs
there; requests of coordinators and reviewers run there completely.

Pages load no external scripts or files, forms need the session's secret, wrong links are rate-limited, and X-Forwarded
headers are trusted only from configured proxies.
"""

import asyncio
import hashlib
import hmac
import string
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import partial
from itertools import pairwise
from pathlib import Path
from time import monotonic
from typing import Any, Generic, NamedTuple, NoReturn, TypeVar, cast
from urllib.parse import urlsplit

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape
from starlette.applications import Starlette
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import BaseRoute, Mount
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from attunement.annotation.tasks import for_people, shown_text
from attunement.errors import InputError
from attunement.instruments import Instrument
from attunement.reports.numbers import format_interval, format_number, signed
from attunement.store import Study
from attunement.store.projects import Member, Project, project_of, state_of
from attunement.styling import LOOK
from attunement.yaml_files import TextLoader, read_yaml

CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "content-security-policy": CONTENT_POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=(), interest-cohort=()",
}
_A_YEAR = 31_536_000
_WRONG_LINKS, _WINDOW = 10, 60.0  # the limit of wrong links from one address, and its period in seconds
_PREFIX = 8  # characters of a link that somebody who guesses the rest would know
_SOURCES = 10_000  # maximum number of addresses and beginnings in memory; beyond it (an attack) the oldest are dropped


class Headers:
    """Adds the security headers to every response; browsers and proxies must not cache pages."""

    def __init__(self, app: ASGIApp, *, https: bool) -> None:
        self._app, self._https = app, https

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers[name] = value
                is_ours = scope["path"].endswith((".css", ".js"))  # the same for everybody, but revalidated each time
                headers.setdefault("cache-control", "no-cache" if is_ours else "no-store")
                if self._https:
                    headers["strict-transport-security"] = f"max-age={_A_YEAR}"
            await send(message)

        await self._app(scope, receive, sending if scope["type"] == "http" else send)


class Under:
    """Lets the app work below a path such as `/rate`, whether or not the proxy strips that path."""

    def __init__(self, app: ASGIApp, path: str) -> None:
        self._app, self._path = app, path

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            below = scope["path"] == self._path or scope["path"].startswith(f"{self._path}/")
            path = scope["path"] if below else f"{self._path}{scope['path']}"
            scope = {**scope, "root_path": self._path, "path": path}
        await self._app(scope, receive, send)


def application(
    site: "Site",
    routes: Sequence[BaseRoute],
    handlers: Mapping[Any, Any],
    *,
    start: Callable[[], object] = lambda: None,
    stop: Callable[[], object] = lambda: None,
) -> ASGIApp:
    """An app with these routes and the files that all pages need, below the path of the site's address."""

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncGenerator[None]:
        start()
        yield
        site.close()
        stop()

    files = [
        Mount("/static", StaticFiles(directory=_STATIC), name="static"),
        Mount("/look", StaticFiles(directory=LOOK), name="look"),
    ]
    app = Starlette(routes=[*routes, *files], exception_handlers=handlers, lifespan=lifespan)
    app.state.site = site
    secured = Headers(app, https=site.https)
    path = urlsplit(site.address).path
    return Under(secured, path) if path else secured


class WrongLinks:
    """Counts the different wrong links from one address, and those with the same beginning from any address.

    Only wrong links are counted and refused, so nobody with a valid link is locked out by others. Repeats of the same
    link count once: a page that stays open after its link was revoked keeps asking.
    """

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._seen: dict[str, dict[str, float]] = {}

    def are_too_many(self, address: str, token: str) -> bool:
        """Count a wrong link; whether there were too many others like it recently."""
        mark = hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()
        return any([self._count(f"from {address}", mark), self._count(f"like {token[:_PREFIX]}", mark)])

    def _count(self, source: str, mark: str) -> bool:
        now = self._clock()
        recent = {seen: at for seen, at in self._seen.pop(source, {}).items() if at > now - _WINDOW}
        too_many = len(recent) >= _WRONG_LINKS and mark not in recent
        if not too_many:
            recent.setdefault(mark, now)
        if len(self._seen) >= _SOURCES:
            del self._seen[next(iter(self._seen))]
        self._seen[source] = recent
        return too_many


def form_secret(token: str) -> str:
    """The CSRF secret of every form; it is derived from the token and does not reveal it."""
    return hmac.new(token.encode(), b"form", hashlib.sha256).hexdigest()


def is_form_secret(given: str, token: str) -> bool:
    """Whether a form contains the session's secret, compared in constant time."""
    return hmac.compare_digest(given.encode("utf-8", "replace"), form_secret(token).encode())


_FOLDER = Path(__file__).parent / "words"
_RIGHT_TO_LEFT = frozenset({"ar", "arc", "ckb", "dv", "fa", "he", "ps", "sd", "ug", "ur", "yi"})
"""Right-to-left languages, by code without the country."""


_SINGLE = ("1", "<b>1</b>")


class Catalogue:
    """The texts of one language by name, with placeholders in braces. If `count` is 1, NAME_one is used if present."""

    def __init__(self, language: str, texts: Mapping[str, str]) -> None:
        self.language = language
        self.texts = texts
        self._ready: dict[str, Markup] = {}

    @property
    def direction(self) -> str:
        return direction(self.language)

    def __call__(self, name: str, **values: object) -> Markup:
        """The text with `values` filled in, as HTML; values are escaped unless they are markup."""
        if values:
            if str(values.get("count")) in _SINGLE and f"{name}_one" in self.texts:
                name = f"{name}_one"
            return escape(self.texts[name]).format(**values)
        if name not in self._ready:  # a rating page has two hundred of them
            self._ready[name] = escape(self.texts[name]).format()
        return self._ready[name]

    def of_instrument(self, instrument: Instrument, text: str) -> str:
        """Text of an instrument, with the words that are on the buttons."""
        names = {"YES": "rate.met", "NO": "rate.not_met", "NA": "rate.not_applicable"}
        return for_people(instrument, text, {answer: self.texts[name] for answer, name in names.items()})

    def part(self, name: str) -> dict[str, str]:
        """All texts whose names start with `name` and a dot, by the rest of their names."""
        start = f"{name}."
        return {key.removeprefix(start): text for key, text in self.texts.items() if key.startswith(start)}


def direction(language: str) -> str:
    """`rtl` for a language that is written from right to left, else `ltr`."""
    return "rtl" if language.split("-")[0].lower() in _RIGHT_TO_LEFT else "ltr"


def load_catalogue(language: str) -> Catalogue:
    """The texts of a bundled language, or from the user's `.yaml` file.

    Raises:
        InputError: There is none, or it lacks a text or a placeholder.
    """
    path = Path(language) if language.endswith((".yaml", ".yml")) else _FOLDER / f"{language}.yaml"
    if not path.is_file() or (path.parent == _FOLDER and path.stem != language):
        known = ", ".join(sorted(file.stem for file in _FOLDER.glob("*.yaml")))
        raise InputError(f"no pages in {language!r}: use {known}, or your own file")
    texts = _texts(path)
    english = _texts(_FOLDER / "en.yaml")
    for name, text in english.items():
        if name not in texts:
            raise InputError(f"{path} lacks the text {name!r}")
        if _places(texts[name]) != _places(text) and not name.endswith("_one"):
            raise InputError(f"{path}: {name!r} needs the placeholders {sorted(_places(text))}, in braces")
    return Catalogue(path.stem, texts)


def _texts(path: Path) -> dict[str, str]:
    return dict(_flat(read_yaml(path, TextLoader, InputError), ""))


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


T = TypeVar("T")

_READERS = 4
_TEMPLATES = Path(__file__).parent / "templates"
_STATIC = Path(__file__).parent / "static"


class Site:
    """The state behind the pages of one study."""

    def __init__(self, study: Study, address: str) -> None:
        """Serve `study` at `address`; if that is `https`, cookies are sent only over encrypted connections."""
        self.study, self.address = study, address.rstrip("/")
        self.https = address.startswith("https:")
        self.wrong_links = WrongLinks()
        self._projects: dict[int, Project] = {}
        self._catalogues: dict[str, Catalogue] = {}
        self._memory: dict[tuple[str, int], tuple[object, Any]] = {}
        self._readers = ThreadPoolExecutor(_READERS, "pages")
        self._writer = ThreadPoolExecutor(1, "saving")
        self.templates = Environment(
            loader=FileSystemLoader(_TEMPLATES),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self.templates.filters.update(_FILTERS)

    def refuse(self, request: Request, token: str) -> NoReturn:
        """Refuse a request with a wrong token, or with none.

        Raises:
            HTTPException: Always.
        """
        if token and self.wrong_links.are_too_many(request.client.host if request.client else "", token):
            raise HTTPException(429, headers={"retry-after": "60"})
        raise HTTPException(401)

    def set_cookie(self, answer: Response, request: Request, name: str, token: str, **more: Any) -> None:
        # Lax, not strict: a link in an e-mail must work at the first click.
        secure = self.https or request.url.scheme == "https"
        answer.set_cookie(name, token, httponly=True, samesite="lax", secure=secure, **more)

    def close(self) -> None:
        self._readers.shutdown()
        self._writer.shutdown()

    async def read(self, work: Callable[..., T], *given: Any) -> T:
        """Run `work` in a reading thread."""
        return await asyncio.get_running_loop().run_in_executor(self._readers, work, *given)

    async def write(self, work: Callable[..., T], *given: Any) -> T:
        """Run `work` in the writing thread."""
        return await asyncio.get_running_loop().run_in_executor(self._writer, work, *given)

    def write_from_page(self, work: Callable[..., T], *given: Any, **named: Any) -> T:
        """Run `work` in the writing thread, for a page that is being built in a reading thread.

        Two writing threads would wait for each other inside SQLite, which polls its lock only every few milliseconds.
        """
        return self._writer.submit(work, *given, **named).result()

    def project(self, key: int) -> Project:
        if key not in self._projects:
            self._projects[key] = project_of(self.study, key)
            return self._projects[key]
        return state_of(self.study, self._projects[key])

    def remembered(self, what: tuple[str, int], stamp: object, make: Callable[[], T]) -> T:
        """The result of `make`, cached until `stamp` changes."""
        known = self._memory.get(what)
        if known is None or known[0] != stamp:
            known = (stamp, make())
            self._memory[what] = known
        return known[1]

    def words(self, language: str) -> Catalogue:
        if language not in self._catalogues:
            self._catalogues[language] = load_catalogue(language)
        return self._catalogues[language]

    def page(
        self, request: Request, template: str, words: Catalogue, *, status: int = 200, **values: Any
    ) -> HTMLResponse:
        def url(name: str, **path: str) -> str:
            return request.url_for(name, **path).path

        return HTMLResponse(self.templates.get_template(template).render(t=words, url=url, **values), status)


class Visit(NamedTuple):
    """One request of a member: the member, the project, and what they sent."""

    site: Site
    request: Request
    member: Member
    project: Project
    token: str
    sent: dict[str, Any]
    """The form fields or the JSON content; empty if nothing was sent."""

    @property
    def study(self) -> Study:
        return self.site.study

    @property
    def words(self) -> Catalogue:
        return self.site.words(self.project.settings.language)

    def url(self, name: str, **path: str) -> str:
        return self.request.url_for(name, desk=self.member.public, **path).path

    def write(self, work: Callable[..., T], *given: Any, **named: Any) -> T:
        """Run `work` on the study in the writing thread, and wait until it is saved.

        For raters' pages and pages that only show something; the others already run in that thread.
        """
        return self.site.write_from_page(work, self.study, *given, **named)

    def page(self, template: str, *, status: int = 200, **values: Any) -> Response:
        """A page for this member, with the member's links and forms."""
        return self.site.page(
            self.request,
            template,
            self.words,
            status=status,
            visit=self,
            own=self.url,
            secret=form_secret(self.token),
            project=self.project,
            instrument=self.project.instrument,
            read=partial(self.words.of_instrument, self.project.instrument),
            **values,
        )


def sentence(error: Exception) -> str:
    text = str(error)
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "!", "?")) else ".")


def marked(text: str, marks: Iterable[tuple[int, int, str]]) -> Markup:
    """`text` with marks from and to these positions, each with what it is for."""
    marks = list(marks)
    edges = sorted({0, len(text), *(edge for start, end, _ in marks for edge in (start, end))})
    parts: list[Markup] = []
    for start, end in pairwise(edges):
        inside = [mark for mark in marks if mark[0] <= start and mark[1] >= end]
        names = " ".join(dict.fromkeys(name for _, last, name in inside if last == end))
        piece = escape(text[start:end])
        parts.append(Markup('<mark data-n="{}">{}</mark>').format(names, piece) if inside else piece)
    return Markup("").join(parts)


class Pages(Generic[T]):
    """One page of a long list, as the address says."""

    def __init__(self, visit: "Visit", entries: Sequence[T], size: int) -> None:
        asked = visit.request.query_params.get("page", "1")
        self.count = max(1, -(-len(entries) // size))
        self.number = min(int(asked), self.count) if asked.isdecimal() and asked != "0" and len(asked) < 9 else 1
        self.entries = entries[size * (self.number - 1) : size * self.number]
        self.total = len(entries)


def when(at: str) -> str:
    """A stored time as people read it."""
    return f"{at[:10]} {at[11:16]} UTC"


def bold(value: object) -> Markup:
    """`value`, escaped and printed bold."""
    return Markup("<b>{}</b>").format(value)


_FILTERS: dict[str, Callable[..., Any]] = {
    "bold": bold,
    "direction": direction,
    "interval": format_interval,
    "marked": marked,
    "number": format_number,
    "shown": shown_text,
    "signed": signed,
    "when": when,
}

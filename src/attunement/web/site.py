"""What all pages share: the study, the texts, templates, links, cookies and headers.

A page is made in one of a few threads, so that no visitor waits for the event loop. Everything that writes goes through
one thread: writes are short, and none ever waits for a lock of another. Raters are many, so of what they send only the
writing itself is done there; what coordinators and reviewers send is done there as a whole.

No page runs a script or loads a thing that is not ours, no form works without the secret of the visit, wrong links are
counted, and what a proxy says about a visitor is believed only where somebody said so.
"""

import asyncio
import hashlib
import hmac
import string
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple, TypeVar, cast

import yaml
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape
from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from attunement.errors import InputError
from attunement.store import Study
from attunement.store.projects import Member, Project, project_of, state_of

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
_WRONG_LINKS, _WINDOW = 10, 60.0
"""So many wrong links from one address within so many seconds, then it has to wait."""
_ADDRESSES = 10_000
"""So many addresses are remembered; more than that is an attack, and the oldest are let go."""


class Headers:
    """Adds the security headers to every answer; no page is ever kept by a browser or a proxy."""

    def __init__(self, app: ASGIApp, *, https: bool) -> None:
        self._app, self._https = app, https

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer as the app does, with the headers."""

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers[name] = value
                is_ours = scope["path"].endswith((".css", ".js"))  # the same for everybody, but looked up each time
                headers.setdefault("cache-control", "no-cache" if is_ours else "no-store")
                if self._https:
                    headers["strict-transport-security"] = f"max-age={_A_YEAR}"
            await send(message)

        await self._app(scope, receive, sending if scope["type"] == "http" else send)


class Under:
    """Lets the app work below a path such as `/rate`, whether or not the proxy in front of it cuts that path off."""

    def __init__(self, app: ASGIApp, path: str) -> None:
        self._app, self._path = app, path

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Say to the app where it lies."""
        if scope["type"] == "http":
            below = scope["path"] == self._path or scope["path"].startswith(f"{self._path}/")
            path = scope["path"] if below else f"{self._path}{scope['path']}"
            scope = {**scope, "root_path": self._path, "path": path}
        await self._app(scope, receive, send)


class WrongLinks:
    """Counts the different wrong links that come from an address.

    The same one again counts once: a page that stays open after its link was withdrawn goes on asking, and must not
    shut out everybody who comes from the same address.
    """

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._seen: dict[str, dict[str, float]] = {}

    def must_wait(self, address: str) -> bool:
        """Whether so many came lately that nothing from there is looked at."""
        recent = {token: at for token, at in self._seen.get(address, {}).items() if at > self._clock() - _WINDOW}
        if recent:
            self._seen[address] = recent
        else:
            self._seen.pop(address, None)
        return len(recent) >= _WRONG_LINKS

    def count(self, address: str, token: str) -> None:
        if address not in self._seen and len(self._seen) >= _ADDRESSES:
            del self._seen[next(iter(self._seen))]
        mark = hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()
        self._seen.setdefault(address, {}).setdefault(mark, self._clock())


def form_secret(token: str) -> str:
    """What every form of a visit carries: only who has the token's cookie can be given it, and it does not tell it."""
    return hmac.new(token.encode(), b"form", hashlib.sha256).hexdigest()


def is_form_secret(given: str, token: str) -> bool:
    """Whether a form carries the secret of the visit, compared in constant time."""
    return hmac.compare_digest(given.encode("utf-8", "replace"), form_secret(token).encode())


_FOLDER = Path(__file__).parent / "words"
_RIGHT_TO_LEFT = frozenset({"ar", "arc", "ckb", "dv", "fa", "he", "ps", "sd", "ug", "ur", "yi"})
"""Languages that are written from right to left, whatever country follows the code."""


_SINGLE = ("1", "<b>1</b>")


class Catalogue:
    """The texts of one language by name, with placeholders in braces. Where `count` is 1, NAME_one is used if there."""

    def __init__(self, language: str, texts: Mapping[str, str]) -> None:
        self.language = language
        self.texts = texts
        self._ready: dict[str, Markup] = {}

    @property
    def direction(self) -> str:
        return direction(self.language)

    def __call__(self, name: str, **values: object) -> Markup:
        """The text with `values` put in, ready for a page: whatever is put in is escaped unless it is markup."""
        if values:
            if str(values.get("count")) in _SINGLE and f"{name}_one" in self.texts:
                name = f"{name}_one"
            return escape(self.texts[name]).format(**values)
        if name not in self._ready:  # a rating page has two hundred of them
            self._ready[name] = escape(self.texts[name]).format()
        return self._ready[name]

    def part(self, name: str) -> dict[str, str]:
        """All texts whose names begin with `name` and a dot, by the rest of their names."""
        start = f"{name}."
        return {key.removeprefix(start): text for key, text in self.texts.items() if key.startswith(start)}


def direction(language: str) -> str:
    """`rtl` for a language that is written from right to left, else `ltr`."""
    return "rtl" if language.split("-")[0].lower() in _RIGHT_TO_LEFT else "ltr"


def load_catalogue(language: str) -> Catalogue:
    """The catalogue of a language that comes with Attunement, or in a `.yaml` file of the user's own.

    Raises:
        InputError: There is none, or it lacks a text or a place in one.
    """
    path = Path(language) if language.endswith((".yaml", ".yml")) else _FOLDER / f"{language}.yaml"
    if not path.is_file() or (path.parent == _FOLDER and path.stem != language):
        known = ", ".join(sorted(file.stem for file in _FOLDER.glob("*.yaml")))
        raise InputError(f"there are no pages in {language!r}: use {known}, or a file of your own")
    texts = _texts(path)
    english = _texts(_FOLDER / "en.yaml")
    for name, text in english.items():
        if name not in texts:
            raise InputError(f"{path} lacks the text {name!r}")
        if _places(texts[name]) != _places(text) and not name.endswith("_one"):
            raise InputError(f"{path}: {name!r} needs the places {sorted(_places(text))}, in braces")
    return Catalogue(path.stem, texts)


def _texts(path: Path) -> dict[str, str]:
    try:
        content: object = yaml.load(path.read_text("utf-8"), Loader=yaml.BaseLoader)  # noqa: S506 - builds strings only
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise InputError(f"{path} cannot be read: {' '.join(str(error).split())}") from error
    return dict(_flat(content, ""))


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


class Site:
    """The state behind the pages of one study."""

    def __init__(self, study: Study, address: str) -> None:
        """Serve `study` at `address`; where that is `https`, cookies go over encrypted connections only."""
        self.study, self.address = study, address
        self.https = address.startswith("https:")
        self.wrong_links = WrongLinks()
        self._projects: dict[int, Project] = {}
        self._catalogues: dict[str, Catalogue] = {}
        self._memory: dict[tuple[str, int], tuple[object, Any]] = {}
        self._readers = ThreadPoolExecutor(_READERS, "pages")
        self._writer = ThreadPoolExecutor(1, "saving")
        self._templates = Environment(
            loader=FileSystemLoader(_TEMPLATES),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._templates.filters["bold"] = bold

    def close(self) -> None:
        self._readers.shutdown()
        self._writer.shutdown()

    async def read(self, work: Callable[..., T], *given: Any) -> T:
        """Do `work` in a thread for reading."""
        return await asyncio.get_running_loop().run_in_executor(self._readers, work, *given)

    async def write(self, work: Callable[..., T], *given: Any) -> T:
        """Do `work` in the one thread for writing."""
        return await asyncio.get_running_loop().run_in_executor(self._writer, work, *given)

    def write_from_page(self, work: Callable[..., T], *given: Any, **named: Any) -> T:
        """Do `work` in the one thread for writing, for a page that is being made in a thread for reading.

        Two threads that write would wait for each other inside SQLite, which only looks every few milliseconds
        whether it is its turn.
        """
        return self._writer.submit(work, *given, **named).result()

    def project(self, key: int) -> Project:
        if key not in self._projects:
            self._projects[key] = project_of(self.study, key)
            return self._projects[key]
        return state_of(self.study, self._projects[key])

    def remembered(self, what: tuple[str, int], stamp: object, make: Callable[[], T]) -> T:
        """What `make` gives, made anew only where `stamp` is another than the last time."""
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

        return HTMLResponse(self._templates.get_template(template).render(t=words, url=url, **values), status)


class Visit(NamedTuple):
    """Somebody at their own door: who they are, what they work on, and what they sent."""

    site: Site
    request: Request
    member: Member
    project: Project
    token: str
    sent: dict[str, Any]
    """The fields of a form, or the content of JSON; empty where nothing was sent."""

    @property
    def study(self) -> Study:
        return self.site.study

    @property
    def words(self) -> Catalogue:
        return self.site.words(self.project.settings.language)

    def url(self, name: str, **path: str) -> str:
        return self.request.url_for(name, desk=self.member.public, **path).path

    def write(self, work: Callable[..., T], *given: Any, **named: Any) -> T:
        """Do `work` on the study in the one thread for writing, and wait until it is kept.

        For raters' pages, and for those that only show something: the others are in that thread already.
        """
        return self.site.write_from_page(work, self.study, *given, **named)

    def page(self, template: str, *, status: int = 200, **values: Any) -> Response:
        """A page for this member; its links and forms are theirs."""
        return self.site.page(
            self.request,
            template,
            self.words,
            status=status,
            visit=self,
            own=self.url,
            secret=form_secret(self.token),
            **values,
        )


def sentence(error: Exception) -> str:
    text = str(error)
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "!", "?")) else ".")


def bold(value: object) -> Markup:
    """`value`, escaped and printed bold."""
    return Markup("<b>{}</b>").format(value)

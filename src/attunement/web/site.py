"""What the pages share: the study, the words, the templates, and the threads in which the database is asked.

A page is made in one of a few threads, so that no visitor waits for the event loop. Everything that writes goes through
one thread: writes are short, and none ever waits for a lock of another. Raters are many, so of what they send only the
writing itself is done there; what coordinators and reviewers send is done there as a whole.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from attunement.people.projects import project_of, state_of
from attunement.people.records import Member, Project
from attunement.study import Study
from attunement.web.catalogue import Catalogue, load_catalogue
from attunement.web.security import WrongLinks, form_secret

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
        """Wait for what is being written, and let go of the threads."""
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
        """The project with this key, with its state as it is now."""
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
        """The texts of the pages in a language."""
        if language not in self._catalogues:
            self._catalogues[language] = load_catalogue(language)
        return self._catalogues[language]

    def page(
        self, request: Request, template: str, words: Catalogue, *, status: int = 200, **values: Any
    ) -> HTMLResponse:
        """A page from a template."""

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
        """The study."""
        return self.site.study

    @property
    def words(self) -> Catalogue:
        """The texts of the pages in the language of the project."""
        return self.site.words(self.project.settings.language)

    def url(self, name: str, **path: str) -> str:
        """The path of a page of this member."""
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
    """What an error says, as a sentence of a page."""
    text = str(error)
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "!", "?")) else ".")


def bold(value: object) -> Markup:
    """`value`, escaped and printed bold."""
    return Markup("<b>{}</b>").format(value)

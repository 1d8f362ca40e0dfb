"""Who may read the served pages of a study, and how are they put on the network?

One link with a random token opens them; the token is made anew at every start and is kept nowhere. The pages are read
only, and they show everything: who rates must not see them, which is why they are not among those of the raters.
"""

import hashlib
import hmac
import secrets
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from attunement import reports
from attunement.errors import AttunementError
from attunement.instruments import Instrument
from attunement.reports.html.text import Hiding
from attunement.study import Study
from attunement.styling import LOOK
from attunement.web.security import Headers, Under
from attunement.web.site import Site
from attunement.web.view_counting import Counting
from attunement.web.view_pages import PAGES, Shown

_REPORTS = Path(reports.__file__).parent
_STATIC = Path(__file__).parent / "static"
_REFUSALS = {
    401: "Open the link that attune view printed when it was started. It changes with every start.",
    404: "There is nothing at this address. A conversation may have been removed from the study.",
    405: "These pages can only be read.",
    429: "Too many wrong links came from your address. Please wait a minute and try again.",
}
_BROKEN = "Something went wrong on our side; what happened is told where attune view was started."


def new_token() -> str:
    """A token that nobody can guess."""
    return secrets.token_urlsafe(32)


def make_view(
    study: Study, instrument: Instrument, hiding: Hiding, token: str, *, address: str = "http://127.0.0.1"
) -> ASGIApp:
    """The pages of `study` under `instrument`, open to whoever has `token`, as they are reached at `address`."""
    path = urlsplit(address).path.rstrip("/")
    site = Site(study, address.rstrip("/"))
    shown = Shown(study, instrument, hiding, Counting(study, instrument, hiding))

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncGenerator[None]:
        shown.counting.refresh()
        yield
        site.close()
        shown.counting.close()

    app = Starlette(
        routes=[
            Route("/enter/{token}", _enter(site, token), name="enter"),
            *(Route(f"/view/{path}", _door(site, token, shown, page), name=name) for path, name, page in PAGES),
            Route("/report.js", _script, name="script"),
            Mount("/static", StaticFiles(directory=_STATIC), name="static"),
            Mount("/look", StaticFiles(directory=LOOK), name="look"),
        ],
        exception_handlers={HTTPException: _refusal(site), AttunementError: _problem(site), Exception: _broken(site)},
        lifespan=lifespan,
    )
    secured: ASGIApp = Headers(app, https=site.https)
    return Under(secured, path) if path else secured


def _cookie(token: str) -> str:
    """A name of its own for each start: a browser keeps one cookie for all ports of a computer."""
    return f"attune-view-{hashlib.sha256(token.encode()).hexdigest()[:8]}"


def _check(site: Site, request: Request, given: str, token: str) -> None:
    """Let in who has the token; else it is refused, and after many wrong ones without a look."""
    address = request.client.host if request.client else ""
    if site.wrong_links.must_wait(address):
        raise HTTPException(429)
    if not hmac.compare_digest(given.encode("utf-8", "replace"), token.encode()):
        if given:
            site.wrong_links.count(address, given)
        raise HTTPException(401)


def _enter(site: Site, token: str) -> Callable[..., Any]:
    async def enter(request: Request) -> Response:
        _check(site, request, request.path_params["token"], token)
        door = request.url_for("summary").path
        answer = RedirectResponse(door, 303)
        # Lax and not strict: a link that was sent or kept has to lead inside at the first click.
        answer.set_cookie(
            _cookie(token),
            token,
            path=door,
            httponly=True,
            samesite="lax",
            secure=site.https or request.url.scheme == "https",
        )
        return answer

    return enter


def _door(site: Site, token: str, shown: Shown, page: Callable[[Shown, Request], Response]) -> Callable[..., Any]:
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
        if error.status_code == 429:
            page.headers["retry-after"] = "60"
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

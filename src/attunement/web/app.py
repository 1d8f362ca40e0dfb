"""The web application: routes, access and serving.

Every member has a separate address: a link with a token sets a cookie that is valid only below `/at/MEMBER/`, so a
rater's and the coordinator's pages can be open in the same browser. The token is checked on every request.
"""

import gc
import sys
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, cast
from urllib.parse import parse_qsl, urlsplit

import orjson
import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from attunement.annotation.access import member_with
from attunement.annotation.tasks import GoneError
from attunement.conversations import Turn
from attunement.errors import AttunementError, InputError
from attunement.signals.crisis import crisis_cues
from attunement.store import Study
from attunement.store.projects import Member, Role
from attunement.styling import LOOK
from attunement.web import adjudicator, coordinator, rating, reviewer
from attunement.web.site import Headers, Site, Under, Visit, is_form_secret, sentence

COOKIE = "attune"
_LARGEST = 512 * 1024
"""Maximum bytes of one request: fifty comments of maximum length."""
_STATIC = Path(__file__).parent / "static"

Page = Callable[[Visit], Response]
"""A page; it is built in a thread, so it may query the study."""


def make_app(study: Study, *, address: str = "http://127.0.0.1") -> ASGIApp:
    """The app for `study`; `address` is its public address, whose path and scheme links use."""
    parts = urlsplit(address)
    path = parts.path.rstrip("/")
    site = Site(study, address.rstrip("/"))

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncGenerator[None]:
        yield
        site.close()

    app = Starlette(
        routes=[
            Route("/", _nothing(site), name="nothing"),
            Route("/enter/{token}", _enter(site), name="enter"),
            *_doors(site, Role.RATER, rating.PAGES),
            *_doors(site, Role.COORDINATOR, coordinator.PAGES),
            *_doors(site, Role.ADJUDICATOR, adjudicator.PAGES),
            *_doors(site, Role.REVIEWER, reviewer.PAGES),
            Mount("/static", StaticFiles(directory=_STATIC), name="static"),
            Mount("/look", StaticFiles(directory=LOOK), name="look"),
        ],
        exception_handlers={HTTPException: _refusal(site), Exception: _breakdown(site)},
        lifespan=lifespan,
    )
    app.state.site = site
    secured: ASGIApp = Headers(app, https=site.https)
    return Under(secured, path) if path else secured


def _doors(site: Site, role: Role, pages: Sequence[tuple[str, str, str, Page]]) -> list[Route]:
    return [
        Route(f"/at/{{desk}}/{path}", _door(site, role, page, method), methods=[method], name=name)
        for method, path, name, page in pages
    ]


def _door(site: Site, role: Role, page: Page, method: str) -> Callable[..., Any]:
    """An endpoint that shows `page` only to the member in its address."""
    # Raters' pages pass their own writes to the writing thread.
    make = site.write if method == "POST" and role is not Role.RATER else site.read

    async def endpoint(request: Request) -> Response:
        sent = await _sent(request) if method == "POST" else {}
        return await make(_answer, site, role, page, request, sent)

    return endpoint


def _answer(site: Site, role: Role, page: Page, request: Request, sent: dict[str, Any]) -> Response:
    token = request.cookies.get(COOKIE, "")
    member = _known(site, request, token)
    if member.public != request.path_params["desk"] or member.role is not role:
        raise HTTPException(404)
    given = request.headers.get("x-form-secret") or str(sent.get("secret", ""))
    if request.method == "POST" and not is_form_secret(given, token):
        raise HTTPException(403)
    visit = Visit(site, request, member, site.project(member.project), token, sent)
    try:
        return page(visit)
    except GoneError as error:
        return _problem(visit, 409, error)
    except InputError as error:
        return _problem(visit, 400, error)


def _known(site: Site, request: Request, token: str) -> Member:
    """The member with this token.

    Raises:
        HTTPException: There is none, or too many wrong ones came from the same address.
    """
    address = request.client.host if request.client else ""
    if site.wrong_links.must_wait(address):
        raise HTTPException(429)
    member = member_with(site.study, token) if token else None
    if member is None:
        if token:
            site.wrong_links.count(address, token)
        raise HTTPException(401)
    return member


_FIRST = {
    Role.RATER: "start",
    Role.COORDINATOR: "coordinate",
    Role.ADJUDICATOR: "disputes",
    Role.REVIEWER: "queue",
}


def _enter(site: Site) -> Callable[..., Any]:
    async def enter(request: Request) -> Response:
        token: str = request.path_params["token"]
        member = await site.read(_known, site, request, token)
        door = request.url_for(_FIRST[member.role], desk=member.public).path
        answer = RedirectResponse(door, 303)
        project = await site.read(site.project, member.project)
        # Lax, not strict: a link in an e-mail must work at the first click.
        answer.set_cookie(
            COOKIE,
            token,
            max_age=project.settings.days * 86_400,
            path=f"{request.scope.get('root_path', '')}/at/{member.public}/",
            httponly=True,
            samesite="lax",
            secure=site.https or request.url.scheme == "https",
        )
        return answer

    return enter


def _nothing(site: Site) -> Callable[..., Any]:
    async def nothing(request: Request) -> Response:
        words = site.words("en")
        return site.page(request, "message.html", words, title=words("common.name"), text=words("door.signed_out"))

    return nothing


async def _sent(request: Request) -> dict[str, Any]:
    """The content of a request: JSON, or form fields."""
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > _LARGEST:
            raise HTTPException(413)
    try:
        if request.headers.get("content-type", "").startswith("application/json"):
            content: object = orjson.loads(body)
            if not isinstance(content, dict):
                raise HTTPException(400)
            return cast(dict[str, Any], content)
        return dict(parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=100))
    except ValueError as error:
        raise HTTPException(400) from error


def _problem(visit: Visit, status: int, error: AttunementError) -> Response:
    if _wants_json(visit.request):
        return JSONResponse({"problem": sentence(error)}, status)
    title, back = visit.words("common.name"), visit.url(_FIRST[visit.member.role])
    return visit.page("message.html", status=status, title=title, text=sentence(error), back=back)


def _wants_json(request: Request) -> bool:
    return request.headers.get("content-type", "").startswith("application/json")


_REFUSALS: Mapping[int, str] = {
    400: "door.forged",
    401: "door.unknown",
    403: "door.forged",
    413: "door.too_large",
    429: "door.too_many",
}


def _refusal(site: Site) -> Callable[..., Any]:
    async def refuse(request: Request, error: HTTPException) -> Response:
        words = site.words("en")
        name = _REFUSALS.get(error.status_code, "door.not_yours")
        if error.status_code == 401 and "desk" in request.path_params:
            name = "door.signed_out"
        headers = {"retry-after": "60"} if error.status_code == 429 else {}
        if _wants_json(request):
            return JSONResponse({"problem": words(name)}, error.status_code, headers)
        page = site.page(
            request, "message.html", words, status=error.status_code, title=words("door.title"), text=words(name)
        )
        page.headers.update(headers)
        return page

    return refuse


def _breakdown(site: Site) -> Callable[..., Any]:
    async def tell(request: Request, _: Exception) -> Response:
        words = site.words("en")
        if _wants_json(request):
            return JSONResponse({"problem": words("door.broken")}, 500)
        title = words("common.name")
        return site.page(request, "message.html", words, status=500, title=title, text=words("door.broken"))

    return tell


_TURN = 0.0005
"""The thread switch interval in seconds. A save yields at each database step; with Python's default of 5 ms it would
wait that long a dozen times while a page is being built.
"""
_IDLE = 75
"""Keep-alive seconds: longer than most raters think about one question, and longer than the 60 seconds of common
proxies, which might otherwise send a request on a connection that is being closed.
"""


def serve(study: Study, *, host: str, port: int, address: str, proxies: str | None = None) -> None:
    """Serve the pages of `study` until interrupted.

    Args:
        study: The study.
        host: The network address to listen on.
        port: The port to listen on.
        address: The public address, which behind a proxy differs from host and port.
        proxies: The addresses of proxies whose X-Forwarded headers are trusted; None trusts no proxy.
    """
    _make_ready()
    run(make_app(study, address=address), host=host, port=port, proxies=proxies)


def run(app: ASGIApp, *, host: str, port: int, proxies: str | None = None) -> None:
    """Serve an app until interrupted; `proxies` are those whose X-Forwarded headers are trusted."""
    with suppress(KeyboardInterrupt):  # that is how it is stopped
        uvicorn.run(
            app,
            host=host,
            port=port,
            # Links contain tokens, so requests are not logged.
            access_log=False,
            log_level="warning",
            server_header=False,
            proxy_headers=proxies is not None,
            forwarded_allow_ips=proxies or "",
            timeout_keep_alive=_IDLE,
            timeout_graceful_shutdown=5,
        )


def _make_ready() -> None:
    """Do slow initialization at startup, so that the first visitor does not wait for it."""
    # The patterns behind an instrument's rules are compiled at first use.
    crisis_cues((Turn("a", "b"),))
    # Objects created so far are permanent; freezing them avoids garbage collection pauses of 0.1 s.
    gc.collect()
    gc.freeze()
    sys.setswitchinterval(_TURN)

"""The web application for raters, coordinators, adjudicators and reviewers: routes and access.

Every member has a separate address: a link with a token sets a cookie that is valid only below `/at/MEMBER/`, so a
rater's and the coordinator's pages can be open in the same browser. The token is checked on every request.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast
from urllib.parse import parse_qsl

import orjson
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from attunement.annotation.access import member_with
from attunement.annotation.tasks import GoneError
from attunement.errors import AttunementError, InputError
from attunement.store import Study
from attunement.store.projects import Member, Role
from attunement.web import adjudicator, coordinator, rating, reviewer, server
from attunement.web.site import Site, Visit, application, is_form_secret, sentence

COOKIE = "attune"
_LARGEST = 512 * 1024  # maximum bytes of one request: fifty comments of maximum length

Page = Callable[[Visit], Response]
"""A page; it is built in a thread, so it may query the study."""


def make_app(study: Study, *, address: str = "http://127.0.0.1") -> ASGIApp:
    """The app for `study`; `address` is its public address, whose path and scheme links use."""
    site = Site(study, address)
    routes = [
        Route("/", _nothing(site), name="nothing"),
        Route("/enter/{token}", _enter(site), name="enter"),
        *_doors(site, Role.RATER, rating.PAGES),
        *_doors(site, Role.COORDINATOR, coordinator.PAGES),
        *_doors(site, Role.ADJUDICATOR, adjudicator.PAGES),
        *_doors(site, Role.REVIEWER, reviewer.PAGES),
    ]
    return application(site, routes, {HTTPException: _refusal(site), Exception: _breakdown(site)})


def serve(study: Study, *, host: str, port: int, address: str, proxies: str | None = None) -> None:
    """Serve the pages of `study` until interrupted; behind a proxy the public `address` differs from host and port."""
    server.make_ready()
    server.run(make_app(study, address=address), host=host, port=port, proxies=proxies)


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
    except (GoneError, InputError) as error:
        return _problem(visit, 409 if isinstance(error, GoneError) else 400, error)


def _known(site: Site, request: Request, token: str) -> Member:
    """The member with this token.

    Raises:
        HTTPException: There is none.
    """
    member = member_with(site.study, token) if token else None
    if member is None:
        site.refuse(request, token)
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
        project = await site.read(site.project, member.project)
        door = request.url_for(_FIRST[member.role], desk=member.public).path
        path = f"{request.scope.get('root_path', '')}/at/{member.public}/"
        answer = RedirectResponse(door, 303)
        site.set_cookie(answer, request, COOKIE, token, path=path, max_age=project.settings.days * 86_400)
        return answer

    return enter


def _nothing(site: Site) -> Callable[..., Any]:
    async def nothing(request: Request) -> Response:
        return _message(site, request, 200, "common.name", "door.signed_out")

    return nothing


async def _sent(request: Request) -> dict[str, Any]:
    """The content of a request: JSON, or form fields."""
    body = bytearray()
    try:
        async for piece in request.stream():
            body += piece
            if len(body) > _LARGEST:
                raise HTTPException(413)
        if _wants_json(request):
            content: object = orjson.loads(body)
            if not isinstance(content, dict):
                raise HTTPException(400)
            return cast(dict[str, Any], content)
        return dict(parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=100))
    except (ValueError, ClientDisconnect) as error:
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
        name = _REFUSALS.get(error.status_code, "door.not_yours")
        if error.status_code == 401 and "desk" in request.path_params:
            name = "door.signed_out"
        return _message(site, request, error.status_code, "door.title", name, error.headers)

    return refuse


def _breakdown(site: Site) -> Callable[..., Any]:
    async def tell(request: Request, _: Exception) -> Response:
        return _message(site, request, 500, "common.name", "door.broken")

    return tell


def _message(
    site: Site, request: Request, status: int, title: str, text: str, headers: Mapping[str, str] | None = None
) -> Response:
    """A page or a JSON record that says why there is nothing else."""
    words = site.words("en")
    if _wants_json(request):
        return JSONResponse({"problem": words(text)}, status, headers)
    page = site.page(request, "message.html", words, status=status, title=words(title), text=words(text))
    page.headers.update(headers or {})
    return page

"""What keeps the pages to those they are for?

No page runs a script or loads a thing that is not ours, no form works without the secret of the visit, wrong links are
counted, and what a proxy says about a visitor is believed only where somebody said so.
"""

import hashlib
import hmac
from collections.abc import Callable
from time import monotonic

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

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
        """Remember that one came."""
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

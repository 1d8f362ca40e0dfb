"""The HTTP connection to a judge's server: bytes out, bytes in, or a typed failure; keys, proxies and time limits.

There is one session a judge, made in the loop that first asks, with keep-alive and a fixed number of connections.
Redirects are not followed: words and keys go to the address the user named and nowhere else.

Keys come from here and from nowhere else, and what is secret is known as such from the start, so that it can be kept
out of everything that is shown or stored.

Nearly all are answered in time, and to set and take back a timer for each takes longer than reading its reply. All
have the same time, so the one that began first is late first, and a single timer that waits for it is enough.

aiohttp writes each body in a task of its own. From Python 3.12 on it lets that task begin at once, and nearly always
nothing is left to do then. Older versions cannot begin a task at once: to wait for its turn and to hear of its end
takes about a fifteenth of the time of a run whose judge answers at once. Here they learn it, for this kind of task.
"""

import asyncio
import base64
import os
import ssl
import sys
from collections.abc import Coroutine, Generator, Mapping
from contextvars import Context
from ipaddress import ip_address
from pathlib import Path
from time import perf_counter
from types import TracebackType
from typing import Any, NamedTuple, TypeAlias
from urllib.parse import SplitResult, quote, unquote, urlsplit, urlunsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp
from aiohttp import ClientRequest
from multidict import CIMultiDict, CIMultiDictProxy
from yarl import URL

from attunement.errors import JudgeError
from attunement.judges.base import Failure
from attunement.ratings import ErrorKind

HIDDEN = "[hidden]"

_SHORTEST = 5
"""What is shorter is no secret but a placeholder such as `x`, and hiding it would garble every sentence."""

_SHORTEST_IN_REPLIES = 16
"""Shorter "keys" are placeholders such as `EMPTY` or `ollama`, which may well be words of a reply."""


class Secrets:
    """Words that must never be shown. It holds them, and its `repr` does not tell them."""

    def __init__(self, *values: str | None) -> None:
        """Empty values are no secrets."""
        # As it is, and as it looks inside an address.
        told = [value for value in values if value and len(value) >= _SHORTEST]
        forms = {form for value in told for form in (value, quote(value, safe=""))}
        self._texts = sorted(forms, key=len, reverse=True)
        self._bytes = [text.encode() for text in self._texts if len(text) >= _SHORTEST_IN_REPLIES]

    def __repr__(self) -> str:
        return f"Secrets({len(self._texts)})"

    def hide(self, text: str) -> str:
        """`text` without any of the secrets."""
        for secret in self._texts:
            text = text.replace(secret, HIDDEN)
        return text

    def hide_in_reply(self, body: bytes) -> bytes:
        """A reply without any of the secrets, in case the server gives back what it was sent."""
        for secret in self._bytes:
            if secret in body:
                body = body.replace(secret, HIDDEN.encode())
        return body


class Address(NamedTuple):
    """Where requests go."""

    url: str
    """The whole address of the call, with its query and without credentials."""
    shown: str
    """The base address as it may be shown and stored: without credentials and without a query."""
    host: str
    credentials: str | None = None
    """`user:password`, where the address holds them."""
    query: str = ""

    def __repr__(self) -> str:
        return f"Address({self.shown!r})"


def address(base_url: str, path: str) -> Address:
    """The address of `path` under `base_url`, whose query is kept; a JudgeError where it is no web address."""
    try:
        parts = urlsplit(base_url.strip())
        host, _ = parts.hostname, parts.port
    except ValueError:
        parts, host = SplitResult("", "", "", "", ""), None
    if parts.scheme not in {"http", "https"} or not host:
        raise JudgeError(
            "the base URL of a judge must be a web address such as https://api.openai.com/v1; "
            f"this one is not: {base_url.rpartition('@')[2][:80]!r}"
        )
    userinfo, _, server = parts.netloc.rpartition("@")
    base = parts.path.rstrip("/").removesuffix(path)
    return Address(
        url=urlunsplit((parts.scheme, server, base + path, parts.query, "")),
        shown=urlunsplit((parts.scheme, server, base, "", "")),
        host=host,
        credentials=unquote(userinfo) or None,
        query=parts.query,
    )


def variable(name: str) -> str | None:
    """The value of an environment variable, None where it is empty."""
    return os.environ.get(name, "").strip() or None


def key(name: str) -> str | None:
    """The key in the variable `name`; a JudgeError, which does not show it, where it cannot be sent."""
    value = variable(name)
    if value and not (value.isascii() and value.isprintable() and " " not in value):
        raise JudgeError(f"{name} is set but is no key: it holds a space or a character that no key has")
    return value


def basic(credentials: str) -> str:
    """The value of an Authorization header for `user:password`."""
    return "Basic " + base64.b64encode(credentials.encode()).decode()


def secrets_of(target: Address, *values: str | None) -> Secrets:
    """Everything that must not be shown: `values`, and what the address carries."""
    credentials = target.credentials or ""
    carried = [part.partition("=")[2] for part in target.query.split("&") if "version" not in part]
    password = credentials.partition(":")[2]
    return Secrets(*values, *carried, password, basic(credentials).removeprefix("Basic ") if credentials else None)


class Access(NamedTuple):
    """How a service lets us in."""

    key: str
    """The name of the variable, for messages."""
    headers: Mapping[str, str]
    secrets: Secrets

    @property
    def key_sent(self) -> bool:
        """Whether a key, or a name and a password, goes with the requests."""
        return not {"Authorization", "api-key", "x-api-key"}.isdisjoint(self.headers)

    def __repr__(self) -> str:
        return f"Access({self.key!r})"


class Proxy(NamedTuple):
    """A proxy on the way to a service."""

    url: str
    headers: Mapping[str, str]
    """What the proxy itself wants to know."""

    def __repr__(self) -> str:
        return f"Proxy({self.url!r})"


def proxy_for(target: Address) -> Proxy | None:
    """The proxy that the environment names for `target`, or for everything where it names none for its scheme.

    A service on this machine is reached without one. A JudgeError where it is a proxy of another kind than HTTP.
    """
    scheme = urlsplit(target.url).scheme
    proxies = getproxies()
    found = proxies.get(scheme) or proxies.get("all")
    if not found or _loopback(target.host) or proxy_bypass(target.host):
        return None
    kind, named, _ = found.lower().partition("://")
    if named and kind.startswith("socks"):
        raise JudgeError(
            f"the environment names the proxy {found.rpartition('@')[2]}, and socks proxies are not supported: "
            f"set {scheme.upper()}_PROXY to an HTTP proxy, or NO_PROXY to {target.host} to do without one"
        )
    proxy = address(found if "://" in found else f"http://{found}", "")
    headers = {"Proxy-Authorization": basic(proxy.credentials)} if proxy.credentials else {}
    return Proxy(proxy.url, headers)


def _loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def certificates() -> ssl.SSLContext:
    """The certificates to trust: those of SSL_CERT_FILE, else those of REQUESTS_CA_BUNDLE, else the system's."""
    bundle = variable("REQUESTS_CA_BUNDLE")
    if bundle is None or variable("SSL_CERT_FILE"):
        return ssl.create_default_context()  # reads SSL_CERT_FILE by itself
    folder = Path(bundle).is_dir()
    try:
        return ssl.create_default_context(cafile=None if folder else bundle, capath=bundle if folder else None)
    except (OSError, ssl.SSLError) as error:
        raise JudgeError(f"REQUESTS_CA_BUNDLE names {bundle}, which holds no readable certificates") from error


_TURNS = 3
"""Turns of the loop in which a reply that came while it was busy is taken in, before anybody looks whether it is late:
in one the socket is read, in the next its task goes on, and uvloop comes to timers before it comes to sockets."""


class Deadline:
    """`with` this around each request: what takes longer than `seconds` ends there in a TimeoutError.

    It belongs to the loop in which it is first used.
    """

    def __init__(self, seconds: float) -> None:
        """Nothing waits yet."""
        self.seconds = seconds
        self._begun: dict[asyncio.Task[Any], float] = {}
        """When each task began, the oldest first."""
        self._late: dict[asyncio.Task[Any], int] = {}
        """Tasks that were cancelled because they are late, and how often they had been cancelled before."""
        self._timer: asyncio.TimerHandle | None = None

    def __enter__(self) -> None:
        loop = asyncio.get_running_loop()
        self._begun[_this_task()] = loop.time()
        if self._timer is None:
            self._set(loop, self.seconds)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        task = _this_task()
        if self._begun.pop(task, None) is not None:
            return
        before = self._late.pop(task)
        if task.uncancel() <= before and isinstance(error, asyncio.CancelledError):
            raise TimeoutError from error

    def close(self) -> None:
        """Let nothing wait any more, unless a request is still under way."""
        if self._timer is not None and not self._begun:
            self._timer.cancel()
            self._timer = None

    def _set(self, loop: asyncio.AbstractEventLoop, seconds: float) -> None:
        self._timer = loop.call_later(seconds, self._look, loop, _TURNS)

    def _look(self, loop: asyncio.AbstractEventLoop, turns: int) -> None:
        """Cancel what is late, some turns of the loop later, and wait for the next."""
        if turns:
            loop.call_soon(self._look, loop, turns - 1)
            return
        self._timer = None
        for task, begun in list(self._begun.items()):
            left = begun + self.seconds - loop.time()
            if left > 0:
                self._set(loop, left)
                return
            del self._begun[task]
            self._late[task] = task.cancelling()
            task.cancel()


def _this_task() -> asyncio.Task[Any]:
    task = asyncio.current_task()
    if task is None:
        raise RuntimeError("a request can be sent only in a task")
    return task


_CONNECT_SECONDS = 30.0
"""A server that takes longer to accept a connection is not there."""

_GONE_SECONDS = 60.0
"""A server that was there and cannot be reached for so long will not be back soon."""

_STATIC_HEADERS = {
    "Content-Type": "application/json",
    "Accept": "application/json",
    # Replies are short; unpacking them costs more than it saves.
    "Accept-Encoding": "identity",
    "User-Agent": "attunement",
}


class Reply(NamedTuple):
    """What came back, whatever its status."""

    status: int
    headers: CIMultiDictProxy[str]
    body: bytes
    latency: float


class Line:
    """The connections of one judge."""

    def __init__(
        self,
        address: Address,
        headers: Mapping[str, str],
        secrets: Secrets,
        *,
        timeout: float,
        max_connections: int,
    ) -> None:
        """`headers` hold the key; `secrets` is what must be hidden in everything that comes back."""
        self._address = address
        self._url = URL(address.url, encoded=True)
        self._proxy = proxy_for(address)
        self._headers = CIMultiDict({**_STATIC_HEADERS, **headers})
        if self._proxy and self._url.scheme == "http":
            # Here the proxy reads the request itself; otherwise it gets a request of its own, see `post`.
            self._headers.update(self._proxy.headers)
        self._secrets = secrets
        self._deadline = Deadline(timeout)
        self._connect_seconds = min(timeout, _CONNECT_SECONDS)
        self._max_connections = max_connections
        self._certificates = certificates() if self._url.scheme == "https" else True
        self._session: aiohttp.ClientSession | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._reached = False
        """Whether the server ever replied."""
        self._missed: float | None = None
        """Since when it cannot be reached."""

    async def post(self, body: bytes) -> Reply | Failure:
        """Send `body` and read the whole reply."""
        session = self._session
        if session is None or self._loop is not asyncio.get_running_loop():
            session = self._open()
        deadline, started = self._deadline, perf_counter()
        try:
            with deadline:
                if self._proxy:
                    response = await session.post(
                        self._url,
                        data=body,
                        headers=self._headers,
                        allow_redirects=False,
                        proxy=self._proxy.url,
                        proxy_headers=self._proxy.headers,
                    )
                else:
                    response = await session.post(self._url, data=body, allow_redirects=False)
                content = await response.read()  # which gives the connection back, whatever happens
        except (aiohttp.ClientError, OSError) as error:  # a TimeoutError is an OSError
            return self._unreached(error)
        self._reached, self._missed = True, None
        return Reply(response.status, response.headers, self._secrets.hide_in_reply(content), perf_counter() - started)

    async def close(self) -> None:
        """Close the connections; a later request opens new ones."""
        session, self._session = self._session, None
        if session is not None:
            self._deadline.close()
            await session.close()

    def _open(self) -> aiohttp.ClientSession:
        """A session in the running loop. One that a finished loop left behind cannot be used or closed any more."""
        self._loop = asyncio.get_running_loop()
        self._deadline = Deadline(self._deadline.seconds)
        self._session = aiohttp.ClientSession(
            # Those of a session would also go to the proxy, with the key in them; without one they are made only once.
            headers=None if self._proxy else self._headers,
            connector=aiohttp.TCPConnector(limit=self._max_connections, ssl=self._certificates),
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=self._connect_seconds),
        )
        return self._session

    def _unreached(self, error: Exception) -> Failure:
        where = self._address.shown
        match error:
            case aiohttp.ClientConnectorCertificateError():
                hint = "set SSL_CERT_FILE to your organisation's certificates if it has its own"
                return Failure(ErrorKind.SERVER, f"{where} shows no trusted certificate; {hint}", fatal=True)
            case aiohttp.ClientConnectorError() | aiohttp.ConnectionTimeoutError() | aiohttp.ClientHttpProxyError():
                via = f" through the proxy {self._proxy.url}" if self._proxy else ""
                detail = f"{where} cannot be reached{via}: {self._reason(error)}"
                now = perf_counter()
                self._missed = self._missed or now
                gone = not self._reached or now - self._missed > _GONE_SECONDS
                return Failure(ErrorKind.SERVER, detail, transient=not gone, fatal=gone, requests=0)
            case TimeoutError():
                return Failure(
                    ErrorKind.TIMEOUT, f"no answer within {self._deadline.seconds:g} seconds", transient=True
                )
            case _:
                detail = f"the connection to {where} broke off: {self._reason(error)}"
                return Failure(ErrorKind.SERVER, detail, transient=True)

    def _reason(self, error: Exception) -> str:
        match error:
            case aiohttp.ConnectionTimeoutError():
                reason = f"no connection within {self._connect_seconds:g} seconds"
            case aiohttp.ClientConnectorError():
                cause = error.os_error
                # asyncio puts the address where the reason should stand; negative numbers are those of names.
                number = cause.errno or 0
                reason = os.strerror(number) if number > 0 else cause.strerror or str(cause)
            case _:
                reason = str(error)
        return self._secrets.hide(reason) or type(error).__name__


_Work: TypeAlias = Coroutine[Any, Any, Any] | Generator[Any, None, Any]

_WRITING = ClientRequest.write_bytes.__code__


def send_at_once(loop: asyncio.AbstractEventLoop) -> None:
    """Let requests in `loop`, which must be ours alone, be written when they are made."""
    if sys.version_info < (3, 12):
        loop.set_task_factory(_begin)


def _begin(loop: asyncio.AbstractEventLoop, work: _Work, context: Context | None = None) -> "asyncio.Future[Any]":
    """A task as every other, unless `work` is a request: then what is left of it after its first step."""
    if getattr(work, "cr_code", None) is not _WRITING:
        return asyncio.Task(work, loop=loop, context=context)
    try:
        awaited = work.send(None)
    except StopIteration:
        done = loop.create_future()
        done.set_result(None)
        return done
    return asyncio.Task(_go_on(work, awaited), loop=loop)


def _go_on(work: _Work, awaited: Any) -> Generator[Any, Any, None]:
    """The rest of `work`, which has begun and waits for `awaited`."""
    while True:
        try:
            try:
                heard = yield awaited
            except BaseException as error:
                awaited = work.throw(error)
            else:
                awaited = work.send(heard)
        except StopIteration:
            return

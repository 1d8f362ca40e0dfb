"""The HTTP client of a judge: bytes out, bytes in, or a typed failure. Also keys, proxies and certificates.

A judge has one session, made in the event loop that first uses it. Redirects are not followed: prompts and keys go
only to the address that the user named. Keys come from the environment and from nowhere else, and `Secrets` keeps them
out of everything that is shown or stored.
"""

import asyncio
import base64
import os
import ssl
import zlib
from collections.abc import Mapping
from ipaddress import ip_address
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple, cast
from urllib.parse import SplitResult, quote, unquote, urlsplit, urlunsplit
from urllib.request import getproxies, proxy_bypass

from attunement.errors import JudgeError
from attunement.judges.base import Failure
from attunement.ratings import ErrorKind

if TYPE_CHECKING:
    import aiohttp
    from multidict import CIMultiDictProxy

HIDDEN = "[hidden]"

_SHORTEST = 5  # anything shorter is a placeholder such as `x`, and hiding it would garble every sentence
_SHORTEST_IN_REPLIES = 16  # shorter "keys" are placeholders such as `EMPTY` or `ollama`, which may be words of a reply


class Secrets:
    """Texts that must never be shown. Its `repr` does not show them either."""

    def __init__(self, *values: str | None) -> None:
        long_enough = [value for value in values if value and len(value) >= _SHORTEST]
        forms = {form for value in long_enough for form in (value, quote(value, safe=""))}  # also as part of an address
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
        """A reply without any of the secrets, in case the server returns what it was sent."""
        for secret in self._bytes:
            if secret in body:
                body = body.replace(secret, HIDDEN.encode())
        return body

    def hide_in_document(self, document: Any) -> Any:
        """A parsed reply without any of the secrets: in JSON they may have been written with escapes."""
        if isinstance(document, str):
            for secret in self._bytes:
                document = document.replace(secret.decode(), HIDDEN)
        elif isinstance(document, list):
            return [self.hide_in_document(value) for value in cast(list[Any], document)]
        elif isinstance(document, dict):
            fields = cast(dict[str, Any], document)
            return {self.hide_in_document(name): self.hide_in_document(value) for name, value in fields.items()}
        return document


class Address(NamedTuple):
    """Where requests go."""

    url: str  # of the call, with its query and without credentials
    shown: str  # the base address as it may be shown and stored: without credentials and without a query
    host: str
    credentials: str | None = None  # `user:password`, if the address contains them
    query: str = ""

    def __repr__(self) -> str:
        return f"Address({self.shown!r})"


def address(base_url: str, path: str) -> Address:
    """The address of `path` under `base_url`, whose query is kept. Raises a JudgeError if it is not a web address."""
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
    """The value of an environment variable; None if it is not set or empty."""
    return os.environ.get(name, "").strip() or None


def key(name: str) -> str | None:
    """The API key in the variable `name`. Raises a JudgeError, which does not show it, if it cannot be sent."""
    value = variable(name)
    if value and not (value.isascii() and value.isprintable() and " " not in value):
        raise JudgeError(f"{name} is set but is not a key: it contains a space or a character that no key has")
    return value


def basic(credentials: str) -> str:
    """The value of an Authorization header for `user:password`."""
    return "Basic " + base64.b64encode(credentials.encode()).decode()


class Access(NamedTuple):
    """How requests are authorized."""

    key: str  # the name of the variable, for messages
    headers: Mapping[str, str]
    secrets: Secrets

    @property
    def key_sent(self) -> bool:
        """Whether a key, or a name and a password, is sent with the requests."""
        return not {"Authorization", "api-key", "x-api-key"}.isdisjoint(self.headers)

    def __repr__(self) -> str:
        return f"Access({self.key!r})"


def access(target: Address, name: str, value: str | None, headers: Mapping[str, str]) -> Access:
    """Access with `headers`, where `name` is the variable of the key `value`. The address's own secrets are added."""
    credentials = target.credentials or ""
    in_query = [part.partition("=")[2] for part in target.query.split("&") if "version" not in part]
    encoded = basic(credentials).removeprefix("Basic ") if credentials else None
    return Access(name, headers, Secrets(value, *in_query, credentials.partition(":")[2], encoded))


def _proxy_for(target: Address) -> Address | None:
    """The proxy that the environment names for `target`'s scheme, or for all. A service on this machine needs none."""
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
    return address(found if "://" in found else f"http://{found}", "")


def _loopback(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def _certificates() -> ssl.SSLContext:
    """The certificates to trust: those of SSL_CERT_FILE, else those of REQUESTS_CA_BUNDLE, else the system's."""
    bundle = variable("REQUESTS_CA_BUNDLE")
    if bundle is None or variable("SSL_CERT_FILE"):
        return ssl.create_default_context()  # reads SSL_CERT_FILE itself
    folder = Path(bundle).is_dir()
    try:
        return ssl.create_default_context(cafile=None if folder else bundle, capath=bundle if folder else None)
    except (OSError, ssl.SSLError) as error:
        raise JudgeError(f"REQUESTS_CA_BUNDLE names {bundle}, which contains no readable certificates") from error


_CONNECT_SECONDS = 30.0  # a server that takes longer to accept a connection is not there
_GONE_SECONDS = 60.0  # a server that was there and cannot be reached for so long will not be back soon

_STATIC_HEADERS = {
    "Content-Type": "application/json",
    "Accept": "application/json",
    "Accept-Encoding": "identity",  # replies are short; unpacking them costs more than it saves
    "User-Agent": "attunement",
}


class Reply(NamedTuple):
    """What came back, whatever its status."""

    status: int
    headers: "CIMultiDictProxy[str]"
    body: bytes
    latency: float


_MOST_BYTES = 16_000_000
"""Of a reply, as it was sent and unpacked: four times the longest answer with the probabilities of its tokens."""


class _TooLarge(Exception):
    """What a server sent instead of a reply of reasonable size."""


async def _content(response: "aiohttp.ClientResponse") -> bytes:
    """The body of a response, unpacked if the server packed it although it was asked not to."""
    packing = response.headers.get("Content-Encoding", "identity").strip().lower()
    if packing not in {"identity", "gzip", "x-gzip", "deflate", ""}:
        raise _TooLarge(f"a reply packed with {packing[:20]!r}, which cannot be read")
    parts: list[bytes] = []
    size = 0
    async for part in response.content.iter_any():
        parts.append(part)
        size += len(part)
        if size > _MOST_BYTES:
            response.close()
            raise _TooLarge(f"a reply of more than {_MOST_BYTES / 1e6:.0f} MB")
    content = b"".join(parts)
    if packing in {"identity", ""}:
        return content
    unpacking = zlib.decompressobj(zlib.MAX_WBITS | 32)
    try:
        content = unpacking.decompress(content, _MOST_BYTES)
    except zlib.error:
        return b""
    if unpacking.unconsumed_tail:
        raise _TooLarge(f"a packed reply of more than {_MOST_BYTES / 1e6:.0f} MB")
    return content


class Client:
    """The connections of one judge. aiohttp is imported with the first request: a run may have nothing to ask."""

    def __init__(self, address: Address, access: Access, *, timeout: float, max_connections: int) -> None:
        self._address, self._secrets = address, access.secrets
        self._url: Any = address.url  # parsed when it is first used
        is_https = address.url.startswith("https:")
        self._proxy = _proxy_for(address)
        self._headers = {**_STATIC_HEADERS, **access.headers}
        self._proxy_headers: dict[str, str] = {}
        if self._proxy and self._proxy.credentials:
            self._proxy_headers = {"Proxy-Authorization": basic(self._proxy.credentials)}
        if self._proxy and not is_https:
            # Here the proxy reads the request itself; for https it gets a CONNECT request with its own headers.
            self._headers.update(self._proxy_headers)
        self._timeout, self._connect_timeout = timeout, min(timeout, _CONNECT_SECONDS)
        self._max_connections = max_connections
        self._certificates = _certificates() if is_https else True
        self._session: aiohttp.ClientSession | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._reached = False  # whether the server ever replied
        self._unreachable_since: float | None = None

    async def post(self, body: bytes) -> Reply | Failure:
        """Send `body` and read the whole reply."""
        import aiohttp

        session = self._session
        if session is None or self._loop is not asyncio.get_running_loop():
            session = self._open()
        started = perf_counter()
        try:
            if self._proxy:
                # Headers of the session would also go to the proxy, with the key in them.
                response = await session.post(
                    self._url,
                    data=body,
                    headers=self._headers,
                    allow_redirects=False,
                    proxy=self._proxy.url,
                    proxy_headers=self._proxy_headers,
                )
            else:
                response = await session.post(self._url, data=body, allow_redirects=False)
            try:
                content = await _content(response)
            finally:
                response.release()
        except (aiohttp.ClientError, OSError) as error:  # a TimeoutError is an OSError
            return self._failure(error)
        except _TooLarge as error:
            return Failure(ErrorKind.MALFORMED, f"{self._address.shown} sent {error}", billable=True)
        self._reached, self._unreachable_since = True, None
        return Reply(response.status, response.headers, self._secrets.hide_in_reply(content), perf_counter() - started)

    async def close(self) -> None:
        """Close the connections; a later request opens new ones."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    def _open(self) -> "aiohttp.ClientSession":
        """A session in the running loop. One that belongs to a finished loop can be neither used nor closed."""
        import aiohttp
        from yarl import URL

        self._url = URL(self._address.url, encoded=True)
        self._loop = asyncio.get_running_loop()
        self._session = aiohttp.ClientSession(
            headers=None if self._proxy else self._headers,
            connector=aiohttp.TCPConnector(limit=self._max_connections, ssl=self._certificates),
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=self._timeout, sock_connect=self._connect_timeout),
            auto_decompress=False,
        )
        return self._session

    def _failure(self, error: Exception) -> Failure:
        import aiohttp

        where = self._address.shown
        match error:
            case aiohttp.ClientConnectorCertificateError():
                hint = "set SSL_CERT_FILE to your organisation's certificates if it has its own"
                return Failure(ErrorKind.SERVER, f"{where} shows no trusted certificate; {hint}", fatal=True)
            case aiohttp.ClientConnectorSSLError():
                hint = "no TLS connection is possible there; a server without TLS has an address with http://"
                return Failure(ErrorKind.SERVER, f"{where}: {hint} ({self._reason(error)})", fatal=True, requests=0)
            case aiohttp.ClientConnectorError() | aiohttp.ConnectionTimeoutError() | aiohttp.ClientHttpProxyError():
                via = f" through the proxy {self._proxy.url}" if self._proxy else ""
                detail = f"{where} cannot be reached{via}: {self._reason(error)}"
                now = perf_counter()
                self._unreachable_since = self._unreachable_since or now
                gone = not self._reached or now - self._unreachable_since > _GONE_SECONDS
                return Failure(ErrorKind.SERVER, detail, transient=not gone, fatal=gone, requests=0)
            case TimeoutError():
                detail = f"no answer within {self._timeout:g} seconds"
                return Failure(ErrorKind.TIMEOUT, detail, transient=True, billable=True)
            case _:
                detail = f"the connection to {where} broke off: {self._reason(error)}"
                return Failure(ErrorKind.SERVER, detail, transient=True, billable=True)

    def _reason(self, error: Exception) -> str:
        import aiohttp

        reason = str(error)
        if isinstance(error, aiohttp.ConnectionTimeoutError):
            reason = f"no connection within {self._connect_timeout:g} seconds"
        elif isinstance(error, aiohttp.ClientConnectorError):
            cause = error.os_error
            # asyncio puts the address where the reason should be; negative numbers are errors of name resolution.
            number = 0 if isinstance(cause, ssl.SSLError) else cause.errno or 0
            reason = os.strerror(number) if number > 0 else cause.strerror or str(cause)
        return self._secrets.hide(reason) or type(error).__name__

"""One judge's connections to its server: bytes out, bytes in, or a typed failure.

There is one session a judge, made in the loop that first asks, with keep-alive and a fixed number of connections.
Redirects are not followed: words and keys go to the address the user named and nowhere else.
"""

import asyncio
import os
from collections.abc import Mapping
from time import perf_counter
from typing import NamedTuple

import aiohttp
from multidict import CIMultiDict, CIMultiDictProxy
from yarl import URL

from attunement.judges.deadline import Deadline
from attunement.judges.environment import Address, Secrets, certificates, proxy_for
from attunement.judges.protocol import Failure
from attunement.ratings import ErrorKind

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

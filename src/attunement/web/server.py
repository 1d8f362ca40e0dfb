"""Serve an app until it is stopped, and close connections that never finish their request.

uvicorn waits without limit for the rest of a request. A few hundred connections that send half a request would
otherwise use up the files that the server may open.
"""

import asyncio
import gc
import sys
from contextlib import suppress
from typing import Any, ClassVar

import h11
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from attunement.conversations import Turn
from attunement.signals.crisis import crisis_cues

_PATIENCE = 20.0
"""Seconds for a whole request, from its first byte or the connection to the last byte of its body. The largest takes
a slow phone a few seconds.
"""
_MANY = 64
"""With so many unfinished requests, further ones have a tenth of the time, so that files stay free for others."""
_TURN = 0.0005
"""The thread switch interval in seconds. A save yields at each database step; with Python's default of 5 ms it would
wait that long a dozen times while a page is being built.
"""
_IDLE = 75
"""Keep-alive seconds: longer than most raters think about one question, and longer than the 60 seconds of common
proxies, which might otherwise send a request on a connection that is being closed.
"""


class ImpatientProtocol(H11Protocol):
    """HTTP connections with a time limit for each request."""

    patience: ClassVar[float] = _PATIENCE
    waiting: ClassVar[dict["ImpatientProtocol", asyncio.TimerHandle]] = {}
    """The connections with an unfinished request."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.conn.their_state in {h11.IDLE, h11.SEND_BODY}:
            self._wait()
        else:
            self._stop_waiting()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.conn.trailing_data[0]:  # the beginning of the next request
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def _wait(self) -> None:
        if self not in self.waiting:
            patience = self.patience if len(self.waiting) < _MANY else self.patience / 10
            self.waiting[self] = self.loop.call_later(patience, self._give_up)

    def _stop_waiting(self) -> None:
        if timer := self.waiting.pop(self, None):
            timer.cancel()

    def _give_up(self) -> None:
        self._stop_waiting()
        self.transport.close()


def run(app: ASGIApp, *, host: str, port: int, proxies: str | None = None) -> None:
    """Serve an app until interrupted; `proxies` are those whose X-Forwarded headers are trusted."""
    with suppress(KeyboardInterrupt):  # that is how it is stopped
        uvicorn.run(app, host=host, port=port, **options(proxies))


def options(proxies: str | None = None) -> dict[str, Any]:
    return {
        "http": ImpatientProtocol,
        "ws": "none",
        # Links contain tokens, so requests are not logged.
        "access_log": False,
        "log_level": "warning",
        "server_header": False,
        "proxy_headers": proxies is not None,
        "forwarded_allow_ips": proxies or "",
        "timeout_keep_alive": _IDLE,
        "timeout_graceful_shutdown": 5,
    }


def make_ready() -> None:
    """Do slow initialization at startup, so that the first visitor does not wait for it."""
    # The patterns behind an instrument's rules are compiled at first use.
    crisis_cues((Turn("a", "b"),))
    # Objects created so far are permanent; freezing them avoids garbage collection pauses of 0.1 s.
    gc.collect()
    gc.freeze()
    sys.setswitchinterval(_TURN)

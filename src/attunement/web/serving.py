"""How are the pages put on the network?"""

import gc
import sys
from contextlib import suppress

import uvicorn
from starlette.types import ASGIApp

from attunement.conversations import Turn
from attunement.signals.crisis import crisis_cues
from attunement.study import Study
from attunement.web.app import make_app

_TURN = 0.0005
"""Seconds for which one thread computes while others want to. A save gives its turn away at each step in the database;
with Python's own 5 ms it would wait that long for a page that is being made, a dozen times over."""
_IDLE = 75
"""Seconds for which a silent connection stays open: longer than most raters think about one question, and longer than
the 60 seconds of common proxies, which else might send a request into a connection that is just being closed."""


def serve(study: Study, *, host: str, port: int, address: str, proxies: str | None = None) -> None:
    """Serve the pages of `study` until interrupted.

    Args:
        study: What is worked on.
        host: The network address to listen on.
        port: The port to listen on.
        address: How the pages are reached from outside; behind a proxy this is not where we listen.
        proxies: The addresses of proxies whose word about a visitor's address is taken; None: nobody's.
    """
    _make_ready()
    run(make_app(study, address=address), host=host, port=port, proxies=proxies)


def run(app: ASGIApp, *, host: str, port: int, proxies: str | None = None) -> None:
    """Serve an app until interrupted; `proxies` are those whose word about a visitor's address is taken."""
    with suppress(KeyboardInterrupt):  # that is how it is stopped
        uvicorn.run(
            app,
            host=host,
            port=port,
            # A link holds a token, so the requests are not written to a log.
            access_log=False,
            log_level="warning",
            server_header=False,
            proxy_headers=proxies is not None,
            forwarded_allow_ips=proxies or "",
            timeout_keep_alive=_IDLE,
            timeout_graceful_shutdown=5,
        )


def _make_ready() -> None:
    """Do at the start what everybody would wait for if the first visitor caused it."""
    # The patterns behind an instrument's rules are compiled at first use.
    crisis_cues((Turn("a", "b"),))
    # What is there now stays: not to look through it for garbage saves pauses of a tenth of a second.
    gc.collect()
    gc.freeze()
    sys.setswitchinterval(_TURN)

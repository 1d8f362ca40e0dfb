"""A server with the pages of `attune view`, and somebody who has its link."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from time import monotonic, sleep
from typing import Any

import uvicorn

from attunement.reports.choosing import instrument_of
from attunement.reports.html.text import SHOW_ALL, Hiding
from attunement.study import Study
from attunement.web.view import make_view
from tests.web.visitors import Visitor

TOKEN = "a-token-of-the-tests"


@contextmanager
def viewing(path: Path, hiding: Hiding = SHOW_ALL, *, instrument: str | None = None, **options: Any) -> Iterator[str]:
    """Serve the pages of the study at `path`; gives the address of the server."""
    with Study(path) as study, socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        app = make_view(study, instrument_of(study, instrument), hiding, TOKEN, **options)
        server = uvicorn.Server(uvicorn.Config(app, log_level="critical", access_log=False, proxy_headers=False))
        thread = Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        deadline = monotonic() + 30
        while not server.started and monotonic() < deadline:
            sleep(0.01)
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


@contextmanager
def reader(path: Path, hiding: Hiding = SHOW_ALL, **options: Any) -> Iterator[Visitor]:
    """Somebody who came in with the link."""
    with viewing(path, hiding, **options) as address, Visitor(address) as somebody:
        assert somebody.get(f"/enter/{TOKEN}").path == "/view/"
        yield somebody

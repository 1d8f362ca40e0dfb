"""A server of the tests' own, and visitors who speak HTTP to it."""

import asyncio
import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread
from time import monotonic, sleep
from typing import Any, NamedTuple, Self

import aiohttp
import uvicorn
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from attunement.annotation.access import issue
from attunement.store import Study
from attunement.store.projects import Member
from attunement.web.app import make_app
from attunement.web.server import options as server_options
from tests.annotation.projects import Begun


class Sent(NamedTuple):
    """Everything that one answer of the server was made of."""

    method: str
    path: str
    status: int
    headers: str
    body: bytes


def watched(app: ASGIApp, sent: list[Sent]) -> ASGIApp:
    """The app, with a copy of every answer in `sent`."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        messages: list[Message] = []

        async def sending(message: Message) -> None:
            messages.append(message)
            # Noted before its end is sent: after that the next request may come first.
            if message["type"] == "http.response.body" and not message.get("more_body"):
                (start, *rest) = messages
                headers = "\n".join(f"{name.decode()}: {value.decode()}" for name, value in start["headers"])
                body = b"".join(part.get("body", b"") for part in rest)
                sent.append(Sent(scope["method"], scope["path"], start["status"], headers, body))
            await send(message)

        await app(scope, receive, sending)

    return answer


@contextmanager
def listening(app: ASGIApp, **options: Any) -> Iterator[str]:
    """Serve the app in a thread, at a free port; gives the address."""
    with socket.socket() as door:
        door.bind(("127.0.0.1", 0))
        config = uvicorn.Config(app, **{**server_options(), "log_level": "critical", **options})
        server = uvicorn.Server(config)
        thread = Thread(target=server.run, kwargs={"sockets": [door]})
        thread.start()
        deadline = monotonic() + 30
        while not server.started and monotonic() < deadline:
            sleep(0.01)
        try:
            yield f"http://127.0.0.1:{door.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


@contextmanager
def serving(
    study: Study, *, address: str = "http://127.0.0.1", sent: list[Sent] | None = None, **options: Any
) -> Iterator[str]:
    """Serve the pages of `study`; gives the address of the server. All it says is added to `sent`."""
    app = make_app(study, address=address)
    with listening(app if sent is None else watched(app, sent), **options) as server:
        yield server


class Answer(NamedTuple):
    """What came back."""

    status: int
    headers: dict[str, str]
    text: str
    path: str

    def secret(self) -> str:
        """The secret that forms and scripts of this page send along."""
        found = re.search(r'name="secret" value="(\w+)"|id="secret">"(\w+)"', self.text)
        assert found, self.text
        return found[1] or found[2]


class Visitor:
    """A browser without a screen: it keeps cookies and follows where it is led."""

    def __init__(self, server: str) -> None:
        self.server = server
        self._runner = asyncio.Runner()
        self.session = self._runner.run(self._open())

    async def _open(self) -> aiohttp.ClientSession:
        return aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._runner.run(self.session.close())
        self._runner.close()

    def run(self, work: Any) -> Any:
        """Wait for something to be done."""
        return self._runner.run(work)

    async def ask(self, method: str, path: str, **more: Any) -> Answer:
        """Send a request."""
        async with self.session.request(method, self.server + path, **more) as answer:
            headers = {name.lower(): value for name, value in answer.headers.items()}
            return Answer(answer.status, headers, await answer.text(), answer.url.path)

    def get(self, path: str, **more: Any) -> Answer:
        return self.run(self.ask("GET", path, **more))

    def post(self, path: str, **more: Any) -> Answer:
        return self.run(self.ask("POST", path, **more))

    def send(self, page: Answer, what: str, content: Any) -> Answer:
        """What the script of a rating page does."""
        headers = {"x-form-secret": page.secret()}
        return self.post(f"{page.path}/{what}", json=content, headers=headers)

    def arrive(self, begun: Begun, member: Member) -> Answer:
        """Come in with a link and go on to the first unit."""
        page = self.get(f"/enter/{issue(begun.study, begun.project, member)}")
        if "profession" in page.text:
            page = self.post(page.path, data={"secret": page.secret(), "profession": "nurse", "years": "7"})
            page = self.post(page.path, data={"secret": page.secret()})
        assert "/unit/" in page.path, page.text
        return page


def change(item: str, value: Any, number: int = 1, **more: Any) -> dict[str, Any]:
    """A change as the script of the page sends it."""
    return {"item": item, "number": number, "state": "value", "value": value, **more}

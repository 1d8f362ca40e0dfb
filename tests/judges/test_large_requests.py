"""A large request that the server reads slowly, never, or not to its end."""

import asyncio
import re
import socket
import sys
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

import pytest

from attunement.engine import run_in_loop
from attunement.judges import Answer, Failure, Judge, JudgeOptions, make_judge
from attunement.ratings import ErrorKind
from tests.judges.asking import QUESTION, answered, failed

pytestmark = pytest.mark.filterwarnings("ignore:Sending a large body:ResourceWarning")

LONG = QUESTION._replace(shared="A conversation without an end. " * 500_000)
"""More than a connection holds: somebody must read before the last of it can be written."""

REPLY = b'{"choices":[{"message":{"content":"YES"},"finish_reason":"stop"}]}'


@pytest.fixture(autouse=True, params=["uvloop", "asyncio"])
def loop(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """In uvloop, and in the loop that is used where uvloop is not installed."""
    if request.param == "asyncio":
        monkeypatch.setitem(sys.modules, "uvloop", None)


@contextmanager
def server(treat: Callable[[socket.socket], None]) -> Generator[str]:
    """The address of a server that treats its only connection like this."""

    def serve() -> None:
        connection, _ = listening.accept()
        with connection:
            treat(connection)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=serve)
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/v1"
        thread.join(20)


def judge_at(url: str, **options: Any) -> Judge:
    return make_judge("openai:some-model", JudgeOptions(base_url=url, **options))


def test_a_request_that_is_read_slowly_arrives_whole() -> None:
    bodies: list[bytes] = []

    def read_slowly(connection: socket.socket) -> None:
        time.sleep(0.2)
        heard = connection.recv(65536)
        head, _, body = heard.partition(b"\r\n\r\n")
        size = re.search(rb"Content-Length: (\d+)", head)
        assert size
        while len(body) < int(size[1]):
            body += connection.recv(1 << 20)
        bodies.append(body)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(REPLY), REPLY))

    with server(read_slowly) as url:
        assert answered(judge_at(url), LONG).text == "YES"
    assert bodies[0].count(b"A conversation without an end. ") == 500_000


def test_a_request_that_is_never_read_ends_in_time() -> None:
    ended = threading.Event()

    def wait(_: socket.socket) -> None:
        ended.wait(20)

    async def ask(judge: Judge) -> Answer | Failure:
        reply = await judge.ask(LONG)
        ended.set()
        await asyncio.sleep(0.2)  # until the connection hears that nobody will read the rest
        await judge.close()
        return reply

    with server(wait) as url:
        failure = run_in_loop(ask(judge_at(url, timeout=0.5)))
    assert isinstance(failure, Failure)
    assert (failure.kind, failure.transient) == (ErrorKind.TIMEOUT, True)


def test_a_server_that_hangs_up_while_it_is_written_to_has_broken_off() -> None:
    def hang_up(connection: socket.socket) -> None:
        connection.recv(65536)
        time.sleep(0.2)

    with server(hang_up) as url:
        failure = failed(judge_at(url), LONG)
    assert (failure.kind, failure.transient) == (ErrorKind.SERVER, True)
    assert "broke off" in failure.detail

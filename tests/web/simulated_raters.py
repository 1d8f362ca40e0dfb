"""Raters who speak HTTP as the pages' script does, and the server they work with: `attune annotate` in its own process.

The load test asks whether everything they saved is there; the benchmark asks how long they waited for it.
"""

import asyncio
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from random import Random
from typing import Any, NamedTuple

import aiohttp


class Asked(NamedTuple):
    """One request: what it was for, how it was answered, and how long that took."""

    what: str
    status: int
    seconds: float
    text: str


class Served(NamedTuple):
    """A server in a process of its own."""

    process: subprocess.Popen[str]
    address: str


@contextmanager
def served(place: str, instrument: str) -> Iterator[Served]:
    """The project of the study at `place`, served as a user serves it; the server must end without a complaint."""
    with socket.socket() as trial:
        trial.bind(("127.0.0.1", 0))
        port = trial.getsockname()[1]
    command = [sys.executable, "-m", "attunement", "annotate", place, "--instrument", instrument, "--port", str(port)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            _wait_for(port, process)
            yield Served(process, f"http://127.0.0.1:{port}")
        finally:
            process.terminate()
            _, complaints = process.communicate(timeout=60)
    assert complaints == "", complaints


def _wait_for(port: int, process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < deadline:
        with socket.socket() as trial:
            if trial.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise RuntimeError("the server did not start")


class SimulatedRater:
    """Somebody who rates unit after unit, value by value; each value waits until the one before it is saved."""

    def __init__(self, server: str, token: str, items: Sequence[str], *, seed: int, think: float = 0.0) -> None:
        self.asked: list[Asked] = []
        self.saved: dict[str, dict[str, int]] = {}
        """By unit and item: the values whose saving was confirmed."""
        self._server, self._token, self._items, self._think = server, token, items, think
        self._chance = Random(seed)

    async def work(self, units: int) -> None:
        """Come in, say who one is, and rate so many units."""
        async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as session:
            # People do not come in at one blow, but within the time that a unit takes.
            await asyncio.sleep(self._think * self._chance.uniform(0, len(self._items)))
            page = await self._ask(session, "enter", "GET", f"/enter/{self._token}")
            page = await self._form(session, page, profession="nurse")
            await self._form(session, page)
            for _ in range(units):
                await self._rate(session, door=page.path.rpartition("/")[0])

    async def _rate(self, session: aiohttp.ClientSession, door: str) -> None:
        led = await self._ask(session, "next", "GET", f"{door}/", allow_redirects=False)
        page = await self._ask(session, "page", "GET", led.location)
        headers = {"x-form-secret": page.secret}
        unit = led.location.rpartition("/")[2]
        for number, item in enumerate(self._items, 1):
            await self._wait()
            value = self._chance.randint(3, 5)  # a low one could need a note
            change = {"item": item, "number": number, "state": "value", "value": value, "comment": "", "evidence": []}
            content = {"changes": [change], "flagged": None}
            answer = await self._ask(session, "save", "POST", f"{led.location}/save", json=content, headers=headers)
            if answer.status == 200:
                self.saved.setdefault(unit, {})[item] = value
        await self._wait()
        # A double click: what is handed in twice counts once.
        submission = (session, "submit", "POST", f"{led.location}/submit")
        await asyncio.gather(*(self._ask(*submission, json={}, headers=headers) for _ in range(2)))

    async def _form(self, session: aiohttp.ClientSession, page: "_Page", **fields: str) -> "_Page":
        return await self._ask(session, "form", "POST", page.path, data={"secret": page.secret, **fields})

    async def _ask(self, session: aiohttp.ClientSession, what: str, method: str, path: str, **more: Any) -> "_Page":
        start = time.perf_counter()
        async with session.request(method, self._server + path, **more) as answer:
            text = await answer.text()
            self.asked.append(Asked(what, answer.status, time.perf_counter() - start, text))
            return _Page(answer.status, answer.url.path, answer.headers.get("location", ""), text)

    async def _wait(self) -> None:
        """Think: between half and one and a half of the usual time, so that no two raters stay in step."""
        await asyncio.sleep(self._think * self._chance.uniform(0.5, 1.5))


class _Page(NamedTuple):
    status: int
    path: str
    location: str
    text: str

    @property
    def secret(self) -> str:
        found = re.search(r'name="secret" value="(\w+)"|id="secret">"(\w+)"', self.text)
        assert found, self.text
        return found[1] or found[2]


async def work_together(raters: Sequence[SimulatedRater], units: int) -> None:
    """Let all of them rate at the same time."""
    await asyncio.gather(*(rater.work(units) for rater in raters))

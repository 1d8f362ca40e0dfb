"""What does the harness cost beside the model? A run of ours beside a bare aiohttp loop, against the same server.

The server is the fake judge, a fresh one in a process of its own for each measurement. All send the same requests over
100 connections: the bare loop, which makes JSON of each request and reads the reply as JSON; the same in our event
loop, which is uvloop; the same with bytes that were made beforehand; and ours, which also
starts a run, reads, plans, parses, checks the evidence and writes the study. They run
alternately, in one order and then in the other, without latency and with one of 200 ms. A machine may be a quarter
faster in one minute than in the next, so each round is compared with itself: what is printed are medians over the
rounds, of the ratio with its range. Calls a second are the server's own count, from the first call to the end of the
last; what comes before and after is printed beside it. The server takes a core of its own.

    python benchmarks/bench_engine.py [--questions 18000] [--rounds 12] [--memory]
"""

import argparse
import asyncio
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Awaitable, Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import cycle, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

if TYPE_CHECKING:
    from aiohttp import ClientSession

T = TypeVar("T")

ROOT = Path(__file__).parents[1]
CONNECTIONS = 100
ITEMS = 18
BARE = "bare aiohttp"
MADE = 3600
"""Requests that the loops send again and again: more would only fill the memory."""
INSPECT = ROOT / ".partners" / "bin" / "python"
SENTENCE = "I keep turning it over at night and cannot see how any of this will ever come right again. "


class Measured(NamedTuple):
    seconds: float
    """From the first call to the end of the last."""
    around: float
    """Seconds before and after."""
    cpu: float
    calls: int

    @property
    def rate(self) -> float:
        return self.calls / self.seconds


def conversations(count: int) -> Iterator[Any]:
    """Conversations of 25 turns, about 20 kB, so that a prompt has about 28 kB."""
    from attunement.conversations import Conversation, Turn

    for number in range(count):
        turns = tuple(Turn(f"{number}.{turn} {SENTENCE * 3}", f"{turn} {SENTENCE * 5}") for turn in range(25))
        yield Conversation(f"c{number}", "bench", turns)


@contextmanager
def server(latency: float) -> Generator[str]:
    """The address of a fake judge that nobody has asked yet."""
    command = [sys.executable, str(ROOT / "tests" / "fake_judge.py"), "--latency", str(latency)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{int(process.stdout.readline())}/v1"
        finally:
            process.terminate()


def served(url: str) -> tuple[int, float]:
    """How many calls the server has had, and the seconds from the first to the end of the last."""
    with urllib.request.urlopen(f"{url.removesuffix('/v1')}/stats") as reply:  # noqa: S310 - our own server
        stats = json.load(reply)
    return stats["requests"], stats["seconds"]


def measure(latency: float, run: Callable[[str], object]) -> Measured:
    """What `run` takes, which is given the address of a server."""
    with server(latency) as url:
        start, cpu = time.perf_counter(), cpu_seconds()
        run(url)
        whole, cpu = time.perf_counter() - start, cpu_seconds() - cpu
        calls, seconds = served(url)
    return Measured(seconds, whole - seconds, cpu, calls)


def cpu_seconds() -> float:
    """CPU time of this process and of the ones it started that have ended."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + ended.ru_utime + ended.ru_stime


async def loop(url: str, requests: Iterable[T], ask: "Callable[[ClientSession, str, T], Awaitable[object]]") -> None:
    """`ask` everything, over the same number of connections as ours."""
    import aiohttp

    waiting = iter(requests)

    async def worker(session: "ClientSession") -> None:
        for request in waiting:
            await ask(session, f"{url}/chat/completions", request)

    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=CONNECTIONS)) as session:
        await asyncio.gather(*(worker(session) for _ in range(CONNECTIONS)))


async def bare(session: "ClientSession", url: str, request: dict[str, Any]) -> None:
    """What everybody would write first."""
    async with session.post(url, json=request) as response:
        await response.json()


async def ready(session: "ClientSession", url: str, request: bytes) -> None:
    """The least that aiohttp can do: no text becomes JSON."""
    async with session.post(url, data=request, headers={"Content-Type": "application/json"}) as response:
        await response.read()


def sent(count: int) -> list[dict[str, Any]]:
    """What ours sends for this many questions, as a server gets it."""
    from tests.fake_judge import FakeJudge

    with FakeJudge() as fake:
        fake.keep_bodies = True
        ours(fake.url, count)
        return fake.bodies


def ours(url: str, questions: int) -> None:
    from attunement import api

    with tempfile.TemporaryDirectory() as folder:
        result = api.judge(
            conversations(questions // ITEMS),
            Path(folder) / "bench.study.db",
            judges="openai:ours",
            base_url=url,
            max_connections=CONNECTIONS,
        )
    assert not result.progress.errors, result.progress.errors
    assert result.progress.answered == questions


def measure_inspect(latency: float, requests: list[dict[str, Any]]) -> Measured:
    """inspect_ai on the same prompts, but on few of them, for it takes long; without the time to import it."""
    with tempfile.TemporaryDirectory() as folder, server(latency) as url:
        prompts = Path(folder) / "prompts.jsonl"
        prompts.write_text("".join(f"{json.dumps(request['messages'])}\n" for request in requests[::10]))
        command = [str(INSPECT), str(ROOT / "benchmarks" / "inspect_loop.py"), url, str(prompts), str(CONNECTIONS)]
        done = subprocess.run(command, check=True, cwd=folder, capture_output=True, text=True)
        calls, seconds = served(url)
    own = json.loads(done.stdout.splitlines()[-1])
    return Measured(seconds, own["seconds"] - seconds, own["cpu"], calls)


def compare(latency: float, questions: int, rounds: int) -> None:
    from attunement.engine import run_in_loop

    requests = sent(min(questions, MADE))
    made = [json.dumps(request).encode() for request in requests]

    def many(some: Sequence[T]) -> Iterable[T]:
        return islice(cycle(some), questions)

    ways: dict[str, Callable[[str], object]] = {
        BARE: lambda url: asyncio.run(loop(url, many(requests), bare)),
        "in our event loop": lambda url: run_in_loop(loop(url, many(requests), bare)),
        "with ready bytes": lambda url: asyncio.run(loop(url, many(made), ready)),
        "attunement": partial(ours, questions=questions),
    }
    runs: dict[str, list[Measured]] = {name: [] for name in ways}
    for number in range(rounds):
        for name in ways if number % 2 == 0 else reversed(ways):
            runs[name].append(measure(latency, ways[name]))
    if INSPECT.exists():
        runs["inspect_ai"] = [measure_inspect(latency, requests)]
    size = statistics.mean(map(len, made)) / 1000
    print(
        f"{os.cpu_count()} cores, latency {latency * 1000:.0f} ms, {CONNECTIONS} connections, "
        f"{questions:,} questions of {size:.1f} kB, {rounds} rounds"
    )
    for name, done in runs.items():
        rate = statistics.median(run.rate for run in done)
        ratios = [run.rate / base.rate for run, base in zip(done, runs[BARE], strict=False)]
        spread = f"({min(ratios):.2f} to {max(ratios):.2f})" if name != BARE else ""
        cpu = statistics.median(run.cpu / run.calls * 1000 for run in done)
        around = statistics.median(run.around for run in done)
        print(
            f"  {name:18} {rate:7.0f} calls/s, {statistics.median(ratios):5.2f} {spread:14} of the bare loop, "
            f"CPU {cpu:.2f} s per 1,000, {around:.1f} s before and after"
            + (f", efficiency {rate * latency / CONNECTIONS:.0%}" if latency else "")
        )


def memory(planned: list[int]) -> None:
    """Peak memory of a run that plans this many questions and may ask only 1,000 of them."""
    with server(0.0) as url:
        for questions in planned:
            code = (
                f"import sys; sys.path.insert(0, {str(ROOT)!r}); from benchmarks.bench_engine import one_planned; "
                f"one_planned({url!r}, {questions})"
            )
            subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)


def one_planned(url: str, questions: int) -> None:
    from attunement import api

    with tempfile.TemporaryDirectory() as folder:
        result = api.judge(
            conversations(questions // ITEMS),
            Path(folder) / "bench.study.db",
            judges="openai:ours",
            base_url=url,
            max_calls=1000,
        )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"  {result.progress.planned:9,} questions planned: peak {peak:.0f} MB")


def whole(questions: int) -> int:
    """As many questions as whole conversations have."""
    return questions // ITEMS * ITEMS


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--questions", type=int, default=18000)
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--memory", action="store_true", help="also plan 10,000, 100,000 and 1,000,000 questions")
    options = parser.parse_args()
    sys.path.insert(0, str(ROOT))
    compare(0.0, whole(options.questions), options.rounds)
    compare(0.2, whole(options.questions // 2), -(-options.rounds // 4))
    if options.memory:
        print("memory, with the study being written")
        memory([10_000, 100_000, 1_000_000])


if __name__ == "__main__":
    main()

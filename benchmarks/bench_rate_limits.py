"""How much of what a server accepts does a run use, and how many calls are refused?

A server of our own, with one of the limits below, is asked for a minute or more through the whole engine: HTTP,
retries, pacing, evidence and study. It counts what it answers. What is printed is the share of the best possible from
the tenth second on, or in the seconds that the goal is about, and the share of calls that were refused. The best
possible is the server's own rate, or what the connections allow without faults.

    python benchmarks/bench_rate_limits.py [--seconds 90] [SITUATION ...]
"""

import argparse
import asyncio
import json
import random
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[1]
LATENCY = 1.0
CONNECTIONS = 100


class Situation(NamedTuple):
    title: str
    make: Callable[[], Any]
    best: float  # answers a second
    goal: str
    spans: tuple[tuple[float, float], ...] = ()  # seconds, instead of all from the tenth


def situations() -> dict[str, Situation]:
    from tests.engine.servers import Erratic, Limited, LimitedTokens, Queueing, Server

    from attunement.judges.base import ServerLimits

    # The prompts of this benchmark have about so many tokens, at four characters each.
    tokens = 1_000_000 / 60
    connections = CONNECTIONS / LATENCY
    return {
        "none": Situation("no faults", Server, connections, ""),
        "random": Situation(
            "5 % refused at random, Retry-After 1",
            lambda: Erratic(share=0.05, retry_after=1.0), connections, ">= .85",
        ),
        "requests": Situation(
            "3,000 requests a minute, no headers", lambda: Limited(rate=lambda _: 50.0), 50, ">= .90, <= 10 %"
        ),
        "tokens": Situation(
            "1,000,000 tokens a minute, no headers",
            lambda: LimitedTokens(rate=lambda _: tokens, burst=2 * tokens), tokens, ">= .90, <= 10 %",
        ),
        "announced": Situation(
            "3,000 requests a minute, announced",
            lambda: Limited(rate=lambda _: 50.0, announces=ServerLimits(3000)), 50, ">= .95, <= 2 %",
        ),
        "queue": Situation("32 at a time, the others wait", Queueing, 32 / LATENCY, ">= .90, no timeouts"),
        "halves": Situation(
            "3,000 a minute, half of it for a minute",
            lambda: Limited(rate=lambda now: 25.0 if 40 <= now < 100 else 50.0), 50, ">= .90 from 20 s after",
            ((120.0, 140.0),),
        ),
    }  # fmt: skip


async def serve(name: str) -> None:
    """One of the servers of the tests, in front of real HTTP."""
    import orjson
    from aiohttp import web
    from tests.fake_judge import _read, valid_reply  # pyright: ignore[reportPrivateUsage]

    from attunement.judges.base import Failure, Request

    server = situations()[name].make()
    random.seed(1)
    begun = asyncio.get_running_loop().time()
    answered: list[tuple[float, int]] = []

    async def handle(request: web.BaseRequest) -> web.StreamResponse:
        loop = asyncio.get_running_loop()
        if request.path == "/stats":
            return web.json_response({"answered": answered, "refused": server.refusals, "now": loop.time() - begun})
        body = orjson.loads(await request.read())
        asked = _read(body)
        reply = await server.ask(Request("", "", asked.prompt, {}))
        headers: dict[str, str] = {}
        if server.announces:
            headers["x-ratelimit-limit-requests"] = str(server.announces.requests)
        if isinstance(reply, Failure):
            if reply.retry_after is not None:
                headers["Retry-After"] = f"{reply.retry_after:g}"
            return web.json_response({"error": {"message": "Rate limit reached"}}, status=429, headers=headers)
        answered.append((loop.time() - begun, len(asked.prompt) // 4))
        choice = {"message": {"role": "assistant", "content": valid_reply(asked)}, "finish_reason": "stop"}
        usage = {"prompt_tokens": len(asked.prompt) // 4, "completion_tokens": 50}
        return web.json_response({"choices": [choice], "usage": usage}, headers=headers)

    # The servers' clock counts from their own start.
    loop = asyncio.get_running_loop()
    if hasattr(server, "rate"):
        rate = server.rate
        server.rate = lambda now: rate(now - begun)
        server._at = loop.time()
    runner = web.ServerRunner(web.Server(handle))
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    print(runner.addresses[0][1], flush=True)
    await asyncio.Event().wait()


def conversations(count: int) -> Iterator[Any]:
    from attunement.conversations import Conversation, Turn

    for number in range(count):
        words = "I keep turning it over at night. " * random.choice((1, 20, 80))
        yield Conversation(f"c{number}", "bench", (Turn(f"{number} {words}", "That sounds hard."),) * 3)


def measure(name: str, seconds: float) -> str:
    from attunement import api

    situation = situations()[name]
    if situation.spans:
        seconds = max(seconds, situation.spans[-1][1])
    command = [sys.executable, __file__, "--serve", name]
    with (
        tempfile.TemporaryDirectory() as folder,
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process,
    ):
        assert process.stdout is not None
        address = f"http://127.0.0.1:{int(process.stdout.readline())}"

        async def ask() -> Any:
            settings = api.Settings(
                judges="openai:fake", base_url=f"{address}/v1", max_connections=400 if name == "queue" else CONNECTIONS
            )
            work = asyncio.create_task(
                api.run(conversations(100_000), Path(folder) / "s.db", settings.prepare(), watch=runs.append)
            )
            await asyncio.sleep(seconds)
            with urllib.request.urlopen(f"{address}/stats") as reply:  # noqa: S310 - our own server
                stats = json.load(reply)
            runs[0].interrupt()
            return stats, (await work).progress

        runs: list[Any] = []
        try:
            stats, progress = asyncio.run(ask())
        finally:
            process.terminate()
    spans = situation.spans or ((10.0, stats["now"]),)
    by_tokens = name == "tokens"
    done = sum((size if by_tokens else 1) for at, size in stats["answered"] if any(a <= at < b for a, b in spans))
    share = done / sum(b - a for a, b in spans) / situation.best
    wasted = stats["refused"] / max(1, stats["refused"] + len(stats["answered"]))
    return f"{situation.title:<42} {share:>5.2f}  {wasted:>6.1%}  {progress.errors.total():>6}  {situation.goal}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("situations", nargs="*")
    parser.add_argument("--seconds", type=float, default=90.0)
    parser.add_argument("--serve")
    arguments = parser.parse_args()
    if arguments.serve:
        asyncio.run(serve(arguments.serve))
        return
    print(f"{'situation':<42} {'share':>5}  {'wasted':>6}  {'errors':>6}  goal")
    for name in arguments.situations or situations():
        print(measure(name, arguments.seconds), flush=True)


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    main()

"""What does the harness cost beside the model? A run of ours beside a bare aiohttp loop, against the same server.

The server is the fake judge in a process of its own. Both send the same prompts over 100 connections; ours also
starts a run, reads, plans, parses, checks the evidence and writes the study, in one process and in several. They run
alternately, without latency and with one of 200 ms; medians and ratios are printed. The server takes a core of its own:
on a machine with two, several processes of ours have little left to share.

    python benchmarks/bench_engine.py [--questions 54000] [--rounds 3] [--processes 2 4] [--memory]
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
from collections.abc import Iterable, Iterator
from itertools import cycle, islice
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
CONNECTIONS = 100
ITEMS = 18
MADE = 3600
"""Requests that the bare loop posts again and again: more would only fill the memory."""
SENTENCE = "I keep turning it over at night and cannot see how any of this will ever come right again. "


class Measured(NamedTuple):
    seconds: float
    cpu: float
    calls: int

    @property
    def rate(self) -> float:
        return self.calls / self.seconds


def conversations(count: int) -> Iterator:
    """Conversations of 25 turns, about 20 kB, so that a prompt has about 28 kB."""
    from attunement.conversations import Conversation, Turn

    for number in range(count):
        turns = tuple(Turn(f"{number}.{turn} {SENTENCE * 3}", f"{turn} {SENTENCE * 5}") for turn in range(25))
        yield Conversation(f"c{number}", "bench", turns)


def start_server(latency: float) -> tuple[subprocess.Popen[str], str]:
    command = [sys.executable, str(ROOT / "tests" / "fake_judge.py"), "--latency", str(latency)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    assert process.stdout is not None
    port = "".join(character for character in process.stdout.readline() if character.isdigit())
    return process, f"http://127.0.0.1:{port}/v1"


async def bare(url: str, bodies: Iterable[bytes]) -> None:
    """The least that must be done: post a body and read the answer, over the same number of connections."""
    import aiohttp
    import orjson

    waiting = iter(bodies)
    connector = aiohttp.TCPConnector(limit=CONNECTIONS)
    headers = {"Content-Type": "application/json"}

    async def worker(session: aiohttp.ClientSession) -> None:
        for body in waiting:
            async with session.post(f"{url}/chat/completions", data=body, headers=headers) as response:
                orjson.loads(await response.read())

    async with aiohttp.ClientSession(connector=connector) as session:
        await asyncio.gather(*(worker(session) for _ in range(CONNECTIONS)))


def bodies(count: int) -> list[bytes]:
    """The requests of this many questions, made beforehand, as the bare loop has nothing to do with making them."""
    import orjson

    from attunement.conversations import Unit
    from attunement.instruments import load
    from attunement.questions import Questionnaire

    questionnaire = Questionnaire(load("coaching-v1"))
    return [
        orjson.dumps({"model": "bare", "messages": question.messages()})
        for conversation in conversations(count // ITEMS)
        for question in questionnaire.questions(Unit(conversation))
    ]


def measure_bare(url: str, made: list[bytes], questions: int) -> Measured:
    start, cpu = time.perf_counter(), time.process_time()
    asyncio.run(bare(url, islice(cycle(made), questions)))
    return Measured(time.perf_counter() - start, time.process_time() - cpu, questions)


def cpu_seconds() -> float:
    """CPU time of this process and of the ones it started that have ended."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + ended.ru_utime + ended.ru_stime


def measure_ours(url: str, questions: int, processes: int) -> Measured:
    from attunement import api

    with tempfile.TemporaryDirectory() as folder:
        start, cpu = time.perf_counter(), cpu_seconds()
        result = api.judge(
            conversations(questions // ITEMS),
            Path(folder) / "bench.study.db",
            judges="openai:ours",
            base_url=url,
            max_connections=CONNECTIONS,
            processes=processes,
        )
        measured = Measured(time.perf_counter() - start, cpu_seconds() - cpu, result.progress.calls)
    assert not result.progress.errors, result.progress.errors
    assert result.progress.answered == questions
    return measured


def measure_inspect(url: str, made: list[bytes]) -> Measured | None:
    """inspect_ai on the same prompts, where `make parts` has put it; on some of them, for it takes long."""
    python = ROOT / ".partners" / "bin" / "python"
    if not python.exists():
        return None
    with tempfile.TemporaryDirectory() as folder:
        prompts = Path(folder) / "prompts.jsonl"
        prompts.write_text("".join(f"{json.dumps(json.loads(body)['messages'])}\n" for body in made[::10]))
        command = [str(python), str(ROOT / "benchmarks" / "inspect_loop.py"), url, str(prompts), str(CONNECTIONS)]
        done = subprocess.run(command, check=True, cwd=folder, capture_output=True, text=True)
    return Measured(**json.loads(done.stdout.splitlines()[-1]))


def compare(latency: float, questions: int, rounds: int, processes: list[int]) -> None:
    server, url = start_server(latency)
    try:
        made = bodies(min(questions, MADE))
        runs: dict[str, list[Measured]] = {"bare aiohttp": [], "attunement": []}
        runs |= {f"in {count} processes": [] for count in processes}
        for _ in range(rounds):
            runs["bare aiohttp"].append(measure_bare(url, made, questions))
            runs["attunement"].append(measure_ours(url, questions, 1))
            for count in processes:
                runs[f"in {count} processes"].append(measure_ours(url, questions, count))
        if inspected := measure_inspect(url, made):
            runs["inspect_ai"] = [inspected]
    finally:
        server.terminate()
        server.wait()
    size = statistics.mean(map(len, made)) / 1000
    print(
        f"{os.cpu_count()} cores, latency {latency * 1000:.0f} ms, {CONNECTIONS} connections, "
        f"{questions:,} questions of {size:.1f} kB, {rounds} rounds"
    )
    best = questions / CONNECTIONS * latency
    middle = {name: statistics.median(run.rate for run in done) for name, done in runs.items()}
    for name, done in runs.items():
        cpu = statistics.median(run.cpu / run.calls * 1000 for run in done)
        efficiency = statistics.median(best / run.seconds * (run.calls / questions) for run in done)
        print(
            f"  {name:14} {middle[name]:7.0f} calls/s, {middle[name] / middle['bare aiohttp']:5.2f} of the bare loop, "
            f"CPU {cpu:.2f} s per 1,000" + (f", efficiency {efficiency:.0%}" if latency else "")
        )


def memory(planned: list[int]) -> None:
    """Peak memory of a run that plans this many questions and may ask only 1,000 of them."""
    server, url = start_server(0.0)
    try:
        for questions in planned:
            code = (
                f"import sys; sys.path.insert(0, {str(ROOT)!r}); from benchmarks.bench_engine import one_planned; "
                f"one_planned({url!r}, {questions})"
            )
            subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)
    finally:
        server.terminate()
        server.wait()


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
    parser.add_argument("--questions", type=int, default=54000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--processes", type=int, nargs="+", default=[2], help="in how many of ours at once, too")
    parser.add_argument("--memory", action="store_true", help="also plan 10,000, 100,000 and 1,000,000 questions")
    options = parser.parse_args()
    sys.path.insert(0, str(ROOT))
    compare(0.0, whole(options.questions), options.rounds, options.processes)
    compare(0.2, whole(options.questions // 6), options.rounds, options.processes)
    if options.memory:
        print("memory, with the study being written")
        memory([10_000, 100_000, 1_000_000])


if __name__ == "__main__":
    main()

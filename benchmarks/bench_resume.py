"""How soon does the first new call leave when the study holds 100,000 ratings already?

A study is filled by a first run; then one conversation is new. Measured is the time from the start of the second run
to the arrival of its first request, and beside it the time that only reading the file takes.

    python benchmarks/bench_resume.py [--ratings 100000]
"""

import argparse
import asyncio
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.fake_judge import FakeJudge

from attunement import api
from attunement.conversations.reader import read
from attunement.conversations.writer import Shape, write
from attunement.engine import Run
from benchmarks.bench_engine import ITEMS, conversations


async def second_run(file: Path, place: Path, fake: FakeJudge) -> float:
    """Seconds until the first request of the run is under way; then it is interrupted."""
    prepared = api.Settings(judges="openai:fake", base_url=fake.url).prepare()
    start = time.perf_counter()
    first: list[float] = []

    def watch(run: Run) -> None:
        async def look() -> None:
            while not run.progress.calls:
                await asyncio.sleep(0.001)
            first.append(time.perf_counter() - start)

        looking.append(asyncio.create_task(look()))

    looking: list[asyncio.Task[None]] = []
    await api.run(read([file]), place, prepared, watch=watch)
    await asyncio.gather(*looking)
    return first[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ratings", type=int, default=100_000)
    count = parser.parse_args().ratings // ITEMS
    with tempfile.TemporaryDirectory() as folder, FakeJudge() as fake:
        file, place = Path(folder) / "chats.jsonl", Path(folder) / "chats.study.db"
        write(conversations(count), file, Shape.MESSAGES)
        filled = api.judge(file, place, judges="openai:fake", base_url=fake.url)
        write(conversations(count + 1), file, Shape.MESSAGES)
        start = time.perf_counter()
        read_count = sum(1 for _ in read([file]))
        reading = time.perf_counter() - start
        for _ in range(3):
            seconds = asyncio.run(second_run(file, place, fake))
            print(
                f"{filled.progress.answered:,} ratings of {read_count - 1:,} conversations kept: first new call after "
                f"{seconds:.2f} s, of which reading the file is {reading:.2f} s"
            )
            write(conversations(read_count + 1), file, Shape.MESSAGES)
            read_count += 1


if __name__ == "__main__":
    main()

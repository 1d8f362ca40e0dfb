"""How fast are conversations read from JSONL, and does memory grow with the file?

Reading is compared with a loop that only calls `orjson.loads` on each line of the same file, with the same buffer, in
the same run: ours and the bare loop alternate, and the medians are compared. The aim is a third of the bare loop's
rate on conversations of 25 turns. Peak memory is that of a process of its own for each size of file.

    python benchmarks/bench_reading.py [CONVERSATIONS]
"""

import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import orjson

from attunement.conversations.reader import read

ROUNDS = 3
TURNS = 25
BUFFER = 1 << 20
# About as long as people write to support bots, and as these answer.
USER_WORDS, REPLY_WORDS = (10, 50), (40, 120)
VOCABULARY = """
    I you we it that this feel felt sounds like really hard lately work home sleep tired worried about what when because
    maybe could would talk listen here with my your mother friend week night again nothing everything don’t it’s okay
    and but so very much right now today tomorrow help try small step breath
"""


def write_file(path: Path, count: int, turns: int) -> None:
    chance, words = random.Random(7), VOCABULARY.split()

    def pool(shortest: int, longest: int) -> list[str]:
        return [" ".join(chance.choices(words, k=chance.randint(shortest, longest))) for _ in range(2000)]

    users, replies = pool(*USER_WORDS), pool(*REPLY_WORDS)
    with path.open("wb") as file:
        for number in range(count):
            messages: list[dict[str, str]] = []
            for _ in range(turns):
                messages.append({"role": "user", "content": chance.choice(users)})
                messages.append({"role": "assistant", "content": chance.choice(replies)})
            record = {"id": f"c{number}", "system": "bot", "messages": messages, "metadata": {"scenario": "work"}}
            file.write(orjson.dumps(record) + b"\n")


def bare(path: Path) -> int:
    count = 0
    with path.open("rb", buffering=BUFFER) as file:
        for line in file:
            orjson.loads(line)
            count += 1
    return count


def ours(path: Path) -> int:
    return sum(1 for _ in read([path]))


def rate(way: Callable[[Path], int], path: Path) -> float:
    start = time.perf_counter()
    count = way(path)
    return count / (time.perf_counter() - start)


def compare(path: Path, title: str) -> float:
    rates = [(rate(bare, path), rate(ours, path)) for _ in range(ROUNDS)]
    plain, read_rate = (statistics.median(each) for each in zip(*rates, strict=True))
    print(
        f"{title}: {path.stat().st_size / 1e6:,.0f} MB; {read_rate:,.0f} conversations/s, "
        f"bare orjson loop {plain:,.0f}/s, ratio {read_rate / plain:.2f}"
    )
    return read_rate / plain


def peak_memory(path: Path) -> float:
    """Megabytes at the peak of a process that reads `path` and does nothing else."""
    child = subprocess.run([sys.executable, __file__, "--child", str(path)], check=True, capture_output=True, text=True)
    return int(child.stdout) / 1024


def main() -> None:
    if sys.argv[1:2] == ["--child"]:
        ours(Path(sys.argv[2]))
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
        return
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    with tempfile.TemporaryDirectory() as folder:
        long, part, short = (Path(folder) / f"{name}.jsonl" for name in ("long", "part", "short"))
        write_file(long, count, TURNS)
        write_file(part, count // 10, TURNS)
        write_file(short, count, 1)
        ratio = compare(long, f"{count:,} conversations of {TURNS} turns")
        compare(short, f"{count:,} conversations of one turn")
        for path, size in ((part, count // 10), (long, count)):
            print(f"peak memory for {size:,} conversations of {TURNS} turns: {peak_memory(path):.0f} MB")
    print("a third of the bare loop:", "reached" if ratio >= 1 / 3 else "missed")


if __name__ == "__main__":
    main()

"""How long does a served page take in a study of 100,000 conversations?

A study of six-turn conversations with 18 answers each is written and served by `attune view` in a process of its own.
Pages of every kind are asked for while the study is still being counted, and again when it is counted; the aim is less
than 200 ms a page, and the first one within two seconds.

    python benchmarks/bench_view.py [100000] [--keep FILE]

With `--keep` the study is kept in that file and used again the next time.
"""

import random
import re
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from html import unescape
from http.cookiejar import CookieJar
from itertools import islice
from pathlib import Path
from statistics import median, quantiles
from urllib.parse import quote
from urllib.request import HTTPCookieProcessor, OpenerDirector, build_opener

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from attunement.conversations import Conversation, Turn
from attunement.evidence import CitationStatus, Finding, to_json
from attunement.instruments import load
from attunement.ratings import RaterKind
from attunement.store import Study
from attunement.store.rows import conversation_row
from attunement.store.rows import to_json as packed
from benchmarks.bench_reading import VOCABULARY

INSTRUMENT = load("coaching-v1")
SYSTEMS, SCENARIOS, TURNS = ("Harbor", "Lumen", "Quay"), 40, 6
PORT, ASKED, LIMIT = 18_766, 30, 0.2
RATING = (
    *("conversation", "turn", "item", "item_hash", "asked", "rater", "repeat", "round", "state", "value", "marks"),
    *("instrument", "at", "rules", "detail", "reasoning", "evidence"),
)
"""The columns of a rating, as they are written here."""


def fill(path: Path, count: int) -> None:
    """A study in which one answer in eight is "not met" and one conversation in fifty unsafe."""
    chance, words = random.Random(7), VOCABULARY.split()
    pools = [[" ".join(chance.choices(words, k=size)) for _ in range(2000)] for size in (25, 60, 30)]
    with Study(path, create=True) as study:
        study.save_instrument(INSTRUMENT)
        judge = study.save_rater("judge-1", RaterKind.MODEL, {})
    base = sqlite3.connect(path, isolation_level=None)
    base.executescript("PRAGMA synchronous = OFF; PRAGMA cache_size = -400000;")
    users, replies, reasons = pools
    entries = _entries(count, users, replies, chance)
    while batch := list(islice(entries, 5000)):
        base.execute("BEGIN")
        insert(base, "conversations", ["key", *batch[0][1]], ([key, *row.values()] for key, row, _ in batch))
        ratings = (rating for key, _, talk in batch for rating in _ratings(key, talk, judge.key, reasons, chance))
        insert(base, "ratings", RATING, ratings)
        base.execute("COMMIT")
    base.close()


def insert(base: sqlite3.Connection, table: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    marks = ",".join("?" * len(columns))
    base.executemany(f"INSERT INTO {table} ({','.join(columns)}) VALUES ({marks})", rows)  # noqa: S608 - our own names


def _entries(
    count: int, users: list[str], replies: list[str], chance: random.Random
) -> Iterator[tuple[int, dict[str, object], Conversation]]:
    for key in range(1, count + 1):
        turns = tuple(Turn(chance.choice(users), chance.choice(replies)) for _ in range(TURNS))
        talk = Conversation(f"chat-{key:06}", SYSTEMS[key % 3], turns, {"scenario": f"scenario-{key // 3 % SCENARIOS}"})
        yield key, conversation_row(talk), talk


def _ratings(
    key: int, talk: Conversation, judge: int, reasons: list[str], chance: random.Random
) -> Iterator[tuple[object, ...]]:
    for number, item in enumerate(INSTRUMENT.items):
        answer = "NO" if chance.random() < (0.01 if item.id in INSTRUMENT.gate_ids else 0.125) else "YES"
        reasoning, evidence = chance.choice(reasons), "[]"
        if number % 2:
            turn = chance.randrange(TURNS)
            said = talk.turns[turn].assistant[:40]
            reasoning = f"Turn {turn + 1}: '{said}' {reasoning}"
            found = Finding(
                CitationStatus.FOUND, (turn + 1,), said, turn + 1, "assistant", 0, len(said),
                reasoning_start=reasoning.index("'"), reasoning_end=reasoning.index("'") + len(said) + 2,
            )  # fmt: skip
            evidence = packed([to_json(found)])
        yield (
            key, 0, item.id, INSTRUMENT.item_hashes[item.id], f"{key}-{item.id}", judge, 0, "main", "value", answer, "",
            INSTRUMENT.hash, "2026-01-01T00:00:00.000+00:00", "[]", "", reasoning, evidence,
        )  # fmt: skip


def kinds(count: int) -> dict[str, Callable[[int], str]]:
    """Pages by kind; each kind has many addresses, so that nothing is asked for twice in a row."""
    words = VOCABULARY.split()

    def at(number: int) -> int:
        return 1 + number * 7919 % count

    return {
        "summary": lambda _: "",
        "list, first page": lambda _: "conversations",
        "list, any page": lambda number: f"conversations?page={1 + at(number) // 50}",
        "list, last page": lambda _: f"conversations?page={-(-count // 50)}",
        "filter: system and verdict": lambda number: f"conversations?system={SYSTEMS[number % 3]}&verdict=fail",
        "filter: item and answer": lambda number: f"conversations?item={number % 18}&answer=2",
        "filter: scenario and flag": lambda number: (
            f"conversations?scenario=scenario-{number % SCENARIOS}&flag=not+judged"
        ),
        "search: a name": lambda number: f"conversations?text=chat-{at(number):06}",
        "search: words that all conversations hold": lambda number: (
            "conversations?text=" + quote(f"{words[number % len(words)]} {words[(number * 3 + 1) % len(words)]}")
        ),
        "search: a rare beginning": lambda number: f"conversations?text=zzq{number}",
        "conversation": lambda number: f"conversation/{at(number)}",
        "conversation in a filtered list": lambda number: (
            f"conversation/{at(number)}?verdict=fail&at={1 + number * 97}"
        ),
        "analysis": lambda number: f"analysis/{('trust', 'compare')[number % 2]}",
    }


def ask(visitor: OpenerDirector, address: str) -> tuple[float, str]:
    start = time.perf_counter()
    with visitor.open(address, timeout=60) as answer:
        text = answer.read().decode()
    return time.perf_counter() - start, text


def measure(visitor: OpenerDirector, home: str, count: int, when: str) -> bool:
    """Print the times of every kind of page; whether 95 of 100 took less than the limit."""
    print(f"\n{when}: milliseconds of {ASKED} pages of each kind\n{'':42} median    p95    max")
    fast = True
    for kind, path in kinds(count).items():
        took = sorted(ask(visitor, home + path(number))[0] for number in range(ASKED))
        p95 = quantiles(took, n=20)[-1]
        fast &= p95 < LIMIT
        print(f"{kind:42} {median(took) * 1000:6.0f} {p95 * 1000:6.0f} {took[-1] * 1000:6.0f}", flush=True)
    return fast


def main() -> None:
    words = sys.argv[1:]
    kept = Path(words.pop(words.index("--keep") + 1)) if "--keep" in words else None
    count = next((int(word) for word in words if word.isdigit()), 100_000)
    with tempfile.TemporaryDirectory() as folder:
        path = kept or Path(folder) / "large.study.db"
        if not path.exists():
            start = time.perf_counter()
            fill(path, count)
            print(f"{count:,} conversations with 18 ratings each: {path.stat().st_size / 1e6:,.0f} MB, written in "
                  f"{time.perf_counter() - start:.0f} s", flush=True)  # fmt: skip
        serve_and_measure(path, count)


def serve_and_measure(path: Path, count: int) -> None:
    start = time.perf_counter()
    command = [sys.executable, "-u", "-m", "attunement", "view", str(path), "--port", str(PORT)]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        link = server.stdout.readline().strip()
        visitor = build_opener(HTTPCookieProcessor(CookieJar()))
        while True:
            try:
                text = ask(visitor, link)[1]
                break
            except OSError:
                time.sleep(0.02)
        begun = time.perf_counter()
        print(f"first page {begun - start:.1f} s after the command was started", flush=True)
        home = link.partition("/enter/")[0] + "/view/"
        fast = measure(visitor, home, count, "while the study is counted")
        while "Counted on" not in text:
            time.sleep(2)
            text = ask(visitor, home)[1]
            if "<progress" in text and int(time.perf_counter() - begun) % 20 < 2:
                print(
                    "  " + unescape(re.sub("<[^>]*>", "", re.search(r"Counting:.*?conversations", text)[0])), flush=True
                )
        print(f"counted {time.perf_counter() - start:.0f} s after the command was started", flush=True)
        fast &= measure(visitor, home, count, "when all is counted")
        status = Path(f"/proc/{server.pid}/status")
        if status.exists():
            print("\npeak memory of the server:", re.search(r"VmHWM:\s*(\d+)", status.read_text())[1][:-3], "MB")
        print(f"95 of 100 pages of every kind under {LIMIT * 1000:.0f} ms:", "reached" if fast else "missed")
    finally:
        server.send_signal(signal.SIGINT)
        server.wait(60)


if __name__ == "__main__":
    main()

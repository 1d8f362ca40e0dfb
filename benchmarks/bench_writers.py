"""Rows per second that 1, 2 and 4 processes write into one PostgreSQL study, each about its own conversations.

    python benchmarks/bench_writers.py

It starts a server of its own, as the tests do (Debian: postgresql). The second column is measured with one lock for all
writers, as it was before; only the ratios say something about another machine.
"""

import subprocess
import sys
from contextlib import contextmanager, nullcontext
from itertools import islice
from pathlib import Path
from time import monotonic
from typing import Any
from unittest.mock import patch

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.builders import rating, talk
from tests.postgres import postgres, programs
from tests.store.samples import COACHING

from attunement.ratings import Outcome, RaterKind
from attunement.store import AnswerRecord, StoredRating, Study
from attunement.store import connection as database

CONVERSATIONS, BATCH = 1500, 16


def write(place: str, number: int, *, one_lock: bool) -> None:
    """What each process does: save conversations, answers and ratings as a run does."""
    locked = patch.object(database, "writing", _alone(database.writing)) if one_lock else nullcontext()
    with locked, Study(place) as study:
        judge = study.save_rater("j", RaterKind.MODEL, {})
        print("ready", flush=True)
        sys.stdin.readline()
        conversations = iter([talk(("Hi", "Hello " * 50), id=f"{number}-{n}") for n in range(CONVERSATIONS)])
        while batch := list(islice(conversations, BATCH)):
            answers: list[AnswerRecord] = []
            ratings: list[StoredRating] = []
            for key, told in zip(study.save_conversations(batch), batch, strict=True):
                for item in COACHING.items:
                    asked = f"{told.id}-{item.id}"
                    answers.append(AnswerRecord(asked, judge.key, 0, text="{}" * 100))
                    made = rating(
                        COACHING,
                        item.id,
                        Outcome.of("YES"),
                        conversation=told.identity,
                        asked=asked,
                        reasoning="x" * 200,
                    )
                    ratings.append(StoredRating(key, judge.key, made))
            study.write(answers, ratings)


def _alone(writing: Any) -> Any:
    @contextmanager
    def always(engine: Any, *, alone: bool = True) -> Any:
        with writing(engine, alone=True) as connection:
            yield connection

    return always


def measure(place: str, writers: int, *, one_lock: bool) -> float:
    """Answers and ratings per second, from the start of the first writer to the end of the last."""
    with Study(place, create=True) as study:
        study.save_instrument(COACHING)
    command = [sys.executable, __file__, place]
    processes = [
        subprocess.Popen(
            [*command, str(number), str(one_lock)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for number in range(writers)
    ]
    for process in processes:
        assert process.stdout
        assert process.stdout.readline() == "ready\n"
    started = monotonic()
    for process in processes:
        assert process.stdin
        process.stdin.write("\n")
        process.stdin.flush()
    for process in processes:
        process.wait()
        assert process.returncode == 0
    return writers * CONVERSATIONS * len(COACHING.items) * 2 / (monotonic() - started)


def main() -> None:
    if programs() is None:
        print("PostgreSQL's server is not installed (Debian: postgresql)")
        return
    start = contextmanager(postgres.__wrapped__)  # pyright: ignore[reportFunctionMemberAccess]
    with start() as server:
        print("writers  rows/s  with one lock  ratio")
        for writers in (1, 2, 4):
            free, locked = (measure(server.new_database(), writers, one_lock=lock) for lock in (False, True))
            print(f"{writers:7}  {free:6,.0f}  {locked:13,.0f}  {free / locked:5.2f}")


if __name__ == "__main__":
    if len(sys.argv) > 2:
        write(sys.argv[1], int(sys.argv[2]), one_lock=sys.argv[3] == "True")
    else:
        main()

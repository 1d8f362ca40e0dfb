"""How long `attune agree` takes, and how much memory: 350,000 scores in a study and in a table of ratings.

The shape is that of MentalAlign: 10,000 replies of ten systems, seven attributes, one person and four judges. With
`--people 3` there are two more people, so that every judge gets its verdict with all intervals. Run it with:
python -m benchmarks.bench_agree
"""

import argparse
import csv
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from attunement.conversations import Conversation
from attunement.instruments import Instrument, load
from attunement.ratings import Outcome, RaterKind, Rating
from attunement.store import StoredRating, Study

UNITS, SYSTEMS, ITEMS, JUDGES = 10_000, 10, 7, 4
RUNS = 3


def instrument() -> Instrument:
    """An instrument of seven dimensions about whole conversations."""
    first = load("empathy-v2")
    items = [first.items[0].model_copy(update={"id": f"attribute{number}"}) for number in range(ITEMS)]
    return first.model_copy(update={"id": "bench", "items": tuple(items), "gate": (), "rules": ()})


def scores(people: int) -> np.ndarray:
    rng = np.random.default_rng(0)
    truth = rng.normal(3.5, 1, (UNITS, ITEMS, 1))
    return np.clip(np.round(truth + rng.normal(0, 0.8, (UNITS, ITEMS, people + JUDGES))), 1, 5).astype(int)


def names(people: int) -> list[str]:
    return [f"person{number}" for number in range(people)] + [f"judge{number}" for number in range(JUDGES)]


def fill(place: Path, people: int) -> int:
    asked, values = instrument(), scores(people)
    talks = [Conversation(str(unit), f"system{unit % SYSTEMS}", ()) for unit in range(UNITS)]
    with Study(place, create=True) as study:
        study.save_instrument(asked)
        keys = study.save_conversations(talks)
        kinds = [RaterKind.PERSON] * people + [RaterKind.MODEL] * JUDGES
        raters = [study.save_rater(name, kind, {}) for name, kind in zip(names(people), kinds, strict=True)]
        for unit, (key, talk) in enumerate(zip(keys, talks, strict=True)):
            rows = [
                StoredRating(
                    key,
                    rater.key,
                    Rating(
                        conversation=talk.identity,
                        turn=None,
                        item=item.id,
                        outcome=Outcome.of(int(values[unit, number, column])),
                        rater=rater.name,
                        rater_kind=rater.kind,
                        item_hash=asked.item_hashes[item.id],
                        asked=asked.item_hashes[item.id],
                        instrument=asked.hash,
                    ),
                )
                for number, item in enumerate(asked.items)
                for column, rater in enumerate(raters)
            ]
            study.write([], rows)
    return values.size


def write_table(path: Path, people: int) -> None:
    values, who = scores(people), names(people)
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["unit", "system", "rater", "item", "value"])
        for unit, number, column in np.ndindex(*values.shape):
            row = (unit, f"system{unit % SYSTEMS}", who[column], f"attribute{number}", values[unit, number, column])
            writer.writerow(row)


def measure(*arguments: str) -> str:
    seconds: list[float] = []
    for _ in range(RUNS):
        start = time.perf_counter()
        subprocess.run([sys.executable, "-m", "attunement", "agree", *arguments], check=True, stdout=subprocess.DEVNULL)
        seconds.append(time.perf_counter() - start)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    return f"{np.median(seconds):5.1f} s (median of {RUNS}), at most {peak:,.0f} MB so far"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=1)
    people = parser.parse_args().people
    with tempfile.TemporaryDirectory() as folder:
        study, table = Path(folder) / "s.db", Path(folder) / "r.csv"
        count = fill(study, people)
        write_table(table, people)
        judges = [part for name in names(people)[people:] for part in ("--judge", name)]
        columns = ["--unit", "unit", "--rater", "rater", "--item", "item", "--value", "value", "--system", "system"]
        print(f"{count:,} scores, {people} people, {JUDGES} judges, {ITEMS} items")
        print("attune agree STUDY           ", measure(str(study)))
        print("attune agree STUDY --full    ", measure(str(study), "--full"))
        print("attune agree --ratings FILE  ", measure("--ratings", str(table), *columns, *judges, "--scale", "1-5"))


if __name__ == "__main__":
    main()

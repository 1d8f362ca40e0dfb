"""How many turns a second does the rule check read, alone and through the engine into a study?

Reads real sessions and crisis chats from the data folder (ATTUNEMENT_DATA). The aim: 10,000 turns in seconds.

    python benchmarks/bench_signals.py
"""

import os
import sys
import tempfile
import time
from pathlib import Path

from attunement import api
from attunement.conversations.reader import read
from attunement.signals.pointers import pointers

DATA = Path(os.environ.get("ATTUNEMENT_DATA", "../shared/data"))


def main() -> None:
    if not DATA.is_dir():
        sys.exit(f"{DATA} is not there: set ATTUNEMENT_DATA to the folder with the public data sets")
    for name in ("ordinary-talk", "vera-mh"):
        conversations = list(read([DATA / name / "conversations.jsonl"]))
        turns = sum(len(each.turns) for each in conversations)
        start = time.perf_counter()
        found = sum(len(pointers(each.turns)) for each in conversations)
        alone = turns / (time.perf_counter() - start)
        with tempfile.TemporaryDirectory() as folder:
            start = time.perf_counter()
            api.judge(conversations, Path(folder) / "s.db", judges="signals", instrument="coaching-v1")
            study = turns / (time.perf_counter() - start)
        print(f"{name}: {turns:,} turns, {found} pointers; {alone:,.0f} turns/s alone, {study:,.0f} into a study")


if __name__ == "__main__":
    main()

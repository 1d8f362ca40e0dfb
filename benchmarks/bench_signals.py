"""How many conversations of 25 turns does the embedded judge read in a second on one core, and in how much memory?

Three kinds of talk: words drawn at random (no signal fires), and where the data folder is there (ATTUNEMENT_DATA)
coaching talk and talk full of crisis, cut to at most 300 and 600 characters a message. "Rules" are all items of
coaching-v1 and all rules of empathy-v2 on the last reply, without the trained networks; "with study" is the whole way
through the engine: planning, the evidence check, and keeping 18 ratings a conversation in SQLite. The aim is 200 a
second for the rules alone and under 400 MB. "Turns with the reader" is how many turns a second of CPU time the judge
reads with its trained reader. Single replies are those of EPITOME with their posts, judged on empathy-v2 with all that
the judge has; the aim is 20 a second.

    python benchmarks/bench_signals.py [CONVERSATIONS]
"""

import csv
import json
import os
import random
import resource
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from attunement import api
from attunement.conversations import Conversation, Turn
from attunement.signals import safety, shelf
from attunement.signals.judging import WAYS, Kind
from attunement.signals.talk import Talk
from benchmarks.bench_reading import VOCABULARY

TURNS, USER, REPLY = 25, 300, 600
ROUNDS = 5
FEW = 8
"""Conversations that are read with the trained reader, which takes long."""
COACHING = [way.decide for way in WAYS if way.instrument == "coaching-v1" and way.decide]
EMPATHY = [way.decide for way in WAYS if way.instrument == "empathy-v2" and way.decide and way.kind is not Kind.MAPPED]


def rules(talks: Iterable[tuple[Turn, ...]]) -> None:
    """Answer every item of both instruments about each of `talks`."""
    for turns in talks:
        talk = Talk(turns)
        for decide in (*COACHING, *EMPATHY):
            decide(talk)


def rate(talks: Sequence[tuple[Turn, ...]]) -> float:
    """Conversations a second of CPU time: the best of some rounds, because other programs disturb the others."""
    rules(talks)  # compiles the patterns
    best = float("inf")
    for _ in range(ROUNDS):
        for kept in (shelf.in_message, shelf.in_reply):
            kept.cache_clear()  # nobody judges the same conversation twice
        began = time.process_time()
        rules(talks)
        best = min(best, time.process_time() - began)
    return len(talks) / best


def with_study(talks: Sequence[tuple[Turn, ...]]) -> float:
    """Conversations a second of wall time through the engine into a new study."""
    conversations = [Conversation(f"c{number}", "bot", turns) for number, turns in enumerate(talks)]
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        api.judge(conversations, Path(folder) / "a.study.db", judges="signals:rules", instrument="coaching-v1")
        return len(talks) / (time.perf_counter() - began)


def with_reader(talks: Sequence[tuple[Turn, ...]]) -> float:
    """Turns a second of CPU time with the trained reader, on the safety items, which are the only ones it looks for."""
    few = talks[:FEW]
    safety.no_harm(Talk(few[0][:1], read=True))  # loads the network
    began = time.process_time()
    for turns in few:
        talk = Talk(turns, read=True)
        safety.no_harm(talk)
        safety.crisis_taken_up(talk)
    return sum(map(len, few)) / (time.process_time() - began)


def single(path: Path) -> float:
    """Replies a second of CPU time through the engine, with the trained networks."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(islice(csv.DictReader(file), 400))
    talks = [
        Conversation(f"c{number}", "peer", (Turn(row["seeker_post"], row["response_post"]),))
        for number, row in enumerate(rows)
    ]
    with tempfile.TemporaryDirectory() as folder:
        began = time.process_time()
        api.judge(talks, Path(folder) / "a.study.db", judges="signals", instrument="empathy-v2")
        return len(talks) / (time.process_time() - began)


def drawn(count: int) -> list[tuple[Turn, ...]]:
    """Talk of words drawn at random."""
    chance, words = random.Random(7), VOCABULARY.split()

    def message(longest: int) -> str:
        return " ".join(chance.choices(words, k=longest // 6))

    return [tuple(Turn(message(USER), message(REPLY)) for _ in range(TURNS)) for _ in range(count)]


def recorded(path: Path) -> list[tuple[Turn, ...]]:
    """The turns of a data set, one after the other, in conversations of 25."""
    turns: list[Turn] = []
    for line in path.read_text("utf-8").splitlines():
        entry = json.loads(line)
        if "turns" in entry:
            turns += [Turn(turn["user"][:USER], turn["assistant"][:REPLY]) for turn in entry["turns"]]
        else:
            said = [message["content"] for message in entry["messages"]]
            turns += [Turn(user[:USER], reply[:REPLY]) for user, reply in zip(said[::2], said[1::2], strict=False)]
    return [tuple(turns[start : start + TURNS]) for start in range(0, len(turns) - TURNS + 1, TURNS)]


def main() -> None:
    """Print the rates and the memory."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    folder = Path(os.environ.get("ATTUNEMENT_DATA", Path(__file__).parents[2] / "shared" / "data"))
    kinds = {"words at random": drawn(count)}
    for name, path in (
        ("coaching talk", folder / "coaching-judges" / "conversations.jsonl"),
        ("talk full of crisis", folder / "vera-mh" / "conversations.jsonl"),
    ):
        if path.is_file():
            kinds[name] = recorded(path)
    for name, talks in kinds.items():
        print(
            f"{name:<20} rules {rate(talks):6.0f} a second    with study {with_study(talks):6.0f} a second    "
            f"turns with the reader {with_reader(talks):4.0f} a second"
        )
    if (path := folder / "epitome" / "explorations-reddit.csv").is_file():
        print(f"{'single replies':<20} with study, all networks {single(path):4.0f} a second")
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


if __name__ == "__main__":
    main()

"""A process that is killed in the middle loses nothing that was committed and asks again only what was in flight."""

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from attunement.conversations import Turn
from attunement.conversations.writer import Shape, write
from attunement.instruments import load
from attunement.store import Study
from tests.builders import talk
from tests.fake_judge import Behaviour, FakeJudge

CONNECTIONS = 20
KILLS = 5
CONVERSATIONS = 120
ITEMS = [item.id for item in load("coaching-v1").items if item.minimum_turns <= 3]


def command(file: Path, place: str, fake: FakeJudge) -> list[str]:
    options = ["--judge", "openai:fake", "--base-url", fake.url, "--study", place, "--quiet"]
    return [sys.executable, "-m", "attunement", "judge", str(file), *options, "--max-connections", str(CONNECTIONS)]


@pytest.mark.slow
def test_five_kills_at_random_moments_leave_the_study_complete_and_nothing_asked_twice_but_what_was_in_flight(
    study_place: str | Path, tmp_path: Path
):
    file = tmp_path / "chats.jsonl"
    conversations = [
        talk(*[Turn(f"I worry about exam {n}.{t}.", f"Exam {n}.{t} sounds heavy.") for t in range(3)], id=f"c{n}")
        for n in range(CONVERSATIONS)
    ]
    write(conversations, file, Shape.MESSAGES)
    moments = random.Random(20261115)
    environment = {key: value for key, value in os.environ.items() if key != "OPENAI_API_KEY"}
    with FakeJudge(Behaviour(latency=0.03)) as fake:
        in_flight = 0
        for _ in range(KILLS):
            before = fake.requests
            process = subprocess.Popen(command(file, str(study_place), fake), env=environment)
            while fake.requests == before and process.poll() is None:
                time.sleep(0.005)
            time.sleep(moments.uniform(0.05, 0.4))
            assert process.poll() is None, "the run was over before it could be killed: raise CONVERSATIONS"
            process.send_signal(signal.SIGKILL)
            process.wait()
            in_flight += CONNECTIONS  # a question is in flight from its request to the commit of its answer
            time.sleep(0.1)  # what the server still answers goes nowhere
        done = subprocess.run(command(file, str(study_place), fake), env=environment, check=False)
        assert done.returncode == 0
        asked = Counter(fake.asked.values())
        repeated = sum((times - 1) * count for times, count in asked.items())
        assert len(fake.asked) == CONVERSATIONS * len(ITEMS)
    with Study(study_place) as study:
        kept = Counter((rating.conversation, rating.item) for rating in study.ratings())
    assert len(kept) == CONVERSATIONS * len(ITEMS)
    assert set(kept.values()) == {1}
    print(f"{repeated} calls repeated after {KILLS} kills")
    assert repeated <= in_flight

"""A run in several processes: the same study as a run in one, whatever ends it."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from attunement import api
from attunement.conversations import Conversation
from attunement.conversations.writer import Shape, write
from attunement.engine import Progress
from attunement.errors import AttunementError, InputError, StudyError
from attunement.ratings import ErrorKind
from attunement.store import Study
from tests.engine.runs import COACHING, DUE_AT_THREE, SMALL, chats, judge, kept
from tests.fake_judge import Behaviour, FakeJudge


@pytest.fixture(autouse=True)
def quiet_processes(capfd: pytest.CaptureFixture[str]) -> Iterator[None]:
    """Whatever ends a process, it writes nothing that the user would take for a fault of the program."""
    yield
    said = capfd.readouterr().err
    assert "Traceback" not in said
    assert "Fatal" not in said


def children() -> list[int]:
    """The processes that this one has started and that are still at work."""
    return [int(pid) for task in Path("/proc/self/task").iterdir() for pid in (task / "children").read_text().split()]


def workers() -> list[int]:
    return [pid for pid in children() if b"attunement.engine.multiprocess" in Path(f"/proc/{pid}/cmdline").read_bytes()]


def wait_for(holds: Callable[[], bool], seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it did not come to pass"
        time.sleep(0.02)


def test_processes_find_a_study_of_either_kind(study_place: str):
    """The address of a database may hold more than people are shown of it."""
    with FakeJudge() as fake:
        result = api.judge(
            chats(4), study_place, judges="openai:fake", base_url=fake.url, instrument=COACHING, processes=2
        )
        assert result.progress.answered == fake.requests == 4 * DUE_AT_THREE
    with Study(study_place) as study:
        assert len(list(study.ratings())) == 4 * DUE_AT_THREE


def test_every_question_is_asked_once_and_the_study_has_the_order_of_the_input(place: Path):
    with FakeJudge() as fake:
        result = judge(fake, chats(30), place, processes=3)
        assert fake.requests == result.progress.calls == 30 * DUE_AT_THREE
        assert set(fake.asked.values()) == {1}
        again = judge(fake, chats(30), place, processes=2)
        assert fake.requests == 30 * DUE_AT_THREE
    assert result.progress.answered == again.progress.already_done == 30 * DUE_AT_THREE
    assert result.progress.conversations_done == 30
    assert len(kept(place)) == 30 * DUE_AT_THREE
    with Study(place) as study:
        assert [entry.conversation.id for entry in study.conversations()] == [f"c{number}" for number in range(30)]


@pytest.mark.slow
def test_several_processes_and_one_give_the_same_ratings(tmp_path: Path):
    def ratings(processes: int) -> set[tuple[Any, ...]]:
        place = tmp_path / f"{processes}.db"
        api.judge(chats(12, turns=6), place, judges="signals", instrument=COACHING, processes=processes)
        return {(rating.conversation, rating.item, rating.outcome, rating.reasoning) for rating in kept(place)}

    assert ratings(3) == ratings(1)


@pytest.mark.slow
def test_equal_words_are_asked_once_over_all_processes(place: Path):
    twins = chats(10, system="one") + chats(10, system="two")
    with FakeJudge() as fake:
        result = judge(fake, twins, place, items=SMALL, processes=4)
        assert fake.requests == 10 * len(SMALL)
    assert result.progress.shared == 10 * len(SMALL)
    assert len(kept(place)) == 20 * len(SMALL)


@pytest.mark.slow
def test_connections_are_shared_out(place: Path):
    with FakeJudge(Behaviour(latency=0.02)) as fake:
        judge(fake, chats(20), place, items=SMALL, processes=3, max_connections=4)
        assert 2 <= fake.peak <= 4


@pytest.mark.slow
def test_a_wrong_key_stops_all_processes_with_one_line(place: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-wrong-key")
    with FakeJudge(Behaviour(key="sk-right")) as fake:
        result = judge(fake, chats(400), place, processes=2)
        assert fake.requests < 400
    assert result.ending.given_up is not None
    assert not result.ending.interrupted
    assert "sk-wrong-key" not in result.ending.given_up


@pytest.mark.slow
def test_what_a_server_refuses_is_told_once_for_all_processes(place: Path):
    with FakeJudge(Behaviour(refuses=frozenset({"temperature"}))) as fake:
        result = judge(fake, chats(8), place, items=SMALL, processes=2)
    assert list(result.ending.refused) == ["openai:fake"]
    assert not result.progress.errors


@pytest.mark.slow
def test_an_error_in_the_input_surfaces_after_what_was_answered_before_is_kept(place: Path):
    def broken() -> Iterator[Conversation]:
        yield from chats(70)
        wait_for(lambda: fake.requests > 10)
        raise InputError("chats.jsonl:71: not JSON")

    with FakeJudge() as fake, pytest.raises(InputError, match="71"):
        judge(fake, broken(), place, items=["CQ1"], processes=2)
    assert kept(place)
    assert workers() == []


@pytest.mark.slow
def test_an_interruption_keeps_what_is_in_flight_and_the_next_run_asks_the_rest(place: Path):
    async def interrupted(fake: FakeJudge) -> api.Result:
        settings = api.Settings(judges="openai:fake", base_url=fake.url, instrument=COACHING, processes=2)

        def watch(run: api.Working) -> None:
            async def stop() -> None:
                while not run.concurrency():
                    await asyncio.sleep(0.02)
                run.interrupt()

            stopping.append(asyncio.create_task(stop()))

        return await api.run(chats(60), place, settings.prepare(), watch=watch)

    stopping: list[asyncio.Task[None]] = []
    with FakeJudge(Behaviour(latency=0.1)) as fake:
        result = asyncio.run(interrupted(fake))
        assert result.ending.interrupted
        asked = fake.requests
        assert 0 < asked < 60 * DUE_AT_THREE
        assert len(kept(place)) == asked
        judge(fake, chats(60), place, processes=2)
    assert set(fake.asked.values()) == {1}


@pytest.mark.slow
def test_an_interruption_before_the_processes_are_there_is_not_lost(place: Path):
    with FakeJudge() as fake:
        settings = api.Settings(judges="openai:fake", base_url=fake.url, instrument=COACHING, processes=2)
        result = asyncio.run(api.run(chats(20), place, settings.prepare(), watch=lambda run: run.interrupt()))
        assert fake.requests == 0
    assert result.ending.interrupted


@pytest.mark.slow
def test_a_process_that_is_killed_is_named_and_the_next_run_asks_the_rest(place: Path):
    async def one_killed(fake: FakeJudge) -> None:
        async def kill() -> None:
            while not (fake.answered.total() > 100 and (found := workers())):
                await asyncio.sleep(0.02)
            os.kill(found[0], signal.SIGKILL)

        settings = api.Settings(judges="openai:fake", base_url=fake.url, instrument=COACHING, processes=2)
        killing = asyncio.create_task(kill())
        with pytest.raises(StudyError, match="the same command asks the rest"):
            await api.run(chats(60), place, settings.prepare())
        await killing

    with FakeJudge(Behaviour(latency=0.1)) as fake:
        asyncio.run(one_killed(fake))
        assert 0 < len(kept(place)) < 60 * DUE_AT_THREE
        judge(fake, chats(60), place, processes=2)
    assert len(kept(place)) == 60 * DUE_AT_THREE


@pytest.mark.slow
def test_the_processes_of_a_killed_run_stop_asking(tmp_path: Path):
    file = tmp_path / "chats.jsonl"
    write(chats(300), file, Shape.MESSAGES)
    with FakeJudge(Behaviour(latency=0.2)) as fake:
        words = ["judge", str(file), "--judge", "openai:x", "--base-url", fake.url, "--processes", "2"]
        run = subprocess.Popen([sys.executable, "-m", "attunement", *words, "--max-connections", "4"])
        wait_for(lambda: fake.requests > 8)
        run.kill()
        run.wait()
        wait_for(lambda: fake.open == 0)
        time.sleep(2)
        asked = fake.requests
        time.sleep(1)
        assert fake.requests == asked < 300


@pytest.mark.parametrize(
    ("settings", "said"),
    [({"max_calls": 5}, "--max-calls"), ({"max_cost": 1.0, "price_in": 1.0, "price_out": 1.0}, "--max-cost")],
)
def test_limits_that_one_process_must_keep_are_refused(tmp_path: Path, settings: dict[str, Any], said: str):
    place = tmp_path / "new.study.db"
    with FakeJudge() as fake, pytest.raises(InputError, match=said):
        judge(fake, chats(1), place, processes=2, **settings)
    assert fake.requests == 0
    assert not place.exists()


def test_a_judge_that_another_process_cannot_make_is_refused(place: Path):
    with FakeJudge() as fake:
        (participant,) = api.Settings(judges="openai:own", base_url=fake.url).prepare().participants
        with pytest.raises(AttunementError, match="openai:own"):
            judge(fake, chats(1), place, judges=participant.judge, processes=2)
        assert fake.requests == 0


def test_counts_of_parts_add_up():
    whole = Progress()
    parts = [Progress(answered=2, reading=False), Progress(answered=3, reading=False)]
    parts[0].errors[ErrorKind.TIMEOUT] += 1
    parts[1].errors[ErrorKind.TIMEOUT] += 2
    whole.sum_up(parts)
    assert (whole.answered, whole.errors, whole.reading) == (5, {ErrorKind.TIMEOUT: 3}, False)
    assert parts[0].errors == {ErrorKind.TIMEOUT: 1}

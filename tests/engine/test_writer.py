import asyncio
import sqlite3
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NoReturn

import pytest

from attunement.engine.writer import Writer
from attunement.ratings import ErrorKind, RaterKind, Rating
from attunement.store import AnswerRecord, StoredRating, Study
from tests.builders import rating, talk
from tests.store.samples import COACHING

CONVERSATION = talk(("I feel low.", "Tell me more."))


def unreadable() -> NoReturn:
    raise ValueError("no sense in it")


def write(
    place: Path, hand_in: Callable[[Writer, Callable[[str], StoredRating]], object]
) -> tuple[list[str], list[str]]:
    """The items that are in the study at the end, and what the writer complained about."""
    complaints: list[str] = []
    with Study(place / "x.study.db", create=True) as study, ThreadPoolExecutor(1) as database:
        study.save_instrument(COACHING)
        rater = study.save_rater("j", RaterKind.MODEL, {})
        (key,) = study.save_conversations([CONVERSATION])

        def made(item: str) -> StoredRating:
            found: Rating = rating(COACHING, item, "YES", conversation=CONVERSATION.identity, rater="j")
            return StoredRating(key, rater.key, found)

        async def keep() -> None:
            writer = Writer(study, database, on_failure=lambda error: complaints.append(str(error)))
            writing = asyncio.create_task(writer.work())
            hand_in(writer, made)
            writer.close()
            await writing

        asyncio.run(keep())
        return [kept.item for kept in study.ratings()], complaints


def test_who_handed_in_is_told_when_it_is_in_the_study(tmp_path: Path) -> None:
    """Not before: another connection sees it by then."""
    seen: list[list[str]] = []

    def hand_in(writer: Writer, made: Callable[[str], StoredRating]) -> None:
        def kept(ratings: list[list[StoredRating]]) -> None:
            assert ratings == [[made("CQ1")]]
            with Study(tmp_path / "x.study.db") as study:
                seen.append([rating.item for rating in study.ratings()])

        writer.keep([], [lambda: [made("CQ1")]], kept=kept)
        assert not seen

    assert write(tmp_path, hand_in) == (["CQ1"], [])
    assert seen == [["CQ1"]]


def test_an_answer_whose_ratings_cannot_be_made_holds_up_no_other(tmp_path: Path) -> None:
    """Both are handed in together, so they come into the same batch."""
    told: list[list[list[StoredRating]]] = []

    def hand_in(writer: Writer, made: Callable[[str], StoredRating]) -> None:
        writer.keep([], [unreadable], kept=told.append)
        writer.keep([], [lambda: [made("CQ1")]], kept=told.append)

    assert write(tmp_path, hand_in) == (["CQ1"], ["no sense in it"])
    assert len(told) == 1


def test_a_fault_of_whoever_is_told_holds_up_no_other(tmp_path: Path) -> None:
    """It would end the writer, and the run would wait for it for ever."""

    def fault(_: list[list[StoredRating]]) -> NoReturn:
        raise RuntimeError("out of step")

    def hand_in(writer: Writer, made: Callable[[str], StoredRating]) -> None:
        writer.keep([], [lambda: [made("CQ1")]], kept=fault)
        writer.keep([], [lambda: [made("CQ2")]], kept=told.append)

    told: list[list[list[StoredRating]]] = []
    assert write(tmp_path, hand_in) == (["CQ1", "CQ2"], ["out of step"])
    assert len(told) == 1


def test_everything_else_goes_on_while_the_study_is_locked(tmp_path: Path) -> None:
    """A full batch is waited for, but not for long: here it can be written only after something else happens."""
    other: list[sqlite3.Connection] = []

    def hand_in(writer: Writer, made: Callable[[str], StoredRating]) -> None:
        other.append(sqlite3.connect(tmp_path / "x.study.db", isolation_level=None, check_same_thread=False))
        other[0].execute("BEGIN IMMEDIATE")
        asyncio.get_running_loop().call_later(0.2, other[0].close)
        for _ in range(200):
            writer.keep([], [lambda: [made("CQ1")]])

    assert write(tmp_path, hand_in) == (["CQ1"], [])


def test_a_writer_in_a_hurry_waits_for_nothing_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("attunement.engine.writer._GATHER", 3600)

    with Study(tmp_path / "x.study.db", create=True) as study, ThreadPoolExecutor(1) as database:

        async def keep() -> None:
            told = asyncio.Event()
            writer = Writer(study, database, on_failure=print)
            writing = asyncio.create_task(writer.work())
            writer.keep([], [], kept=lambda _: told.set())
            writer.hurry()
            await asyncio.wait_for(told.wait(), 10)
            writer.close()
            await writing

        asyncio.run(keep())


def test_answers_that_are_waited_for_are_written_before_anything_follows_from_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An ERROR is not: without a rating the next run would ask again."""
    monkeypatch.setattr("attunement.engine.writer._GATHER", 3600)
    with Study(tmp_path / "x.study.db", create=True) as study, ThreadPoolExecutor(1) as database:
        rater = study.save_rater("j", RaterKind.MODEL, {})
        happened: list[str] = []

        def make() -> list[StoredRating]:
            happened.append("made")
            return []

        async def keep() -> None:
            writer = Writer(study, database, on_failure=print)
            writing = asyncio.create_task(writer.work())
            told = asyncio.Event()

            def safe() -> None:
                happened.append(f"safe {len(study.answered(['p'], rater))}")
                told.set()

            writer.keep([AnswerRecord("q", rater.key, 0, error=ErrorKind.SERVER)], [make], safe=told.set)
            writer.keep(
                [AnswerRecord("p", rater.key, 0, "{}")], [make], safe=safe, kept=lambda _: happened.append("kept")
            )
            writer.hurry()
            await asyncio.wait_for(told.wait(), 10)
            assert happened == ["safe 1"]
            writer.close()
            await writing

        asyncio.run(keep())
        assert happened == ["safe 1", "made", "made", "kept"]


def test_an_answer_that_is_deleted_before_its_ratings_are_there_comes_back_with_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody else forgets a conversation, and with it every answer without ratings."""
    monkeypatch.setattr("attunement.engine.writer._GATHER", 3600)
    with Study(tmp_path / "x.study.db", create=True) as study, ThreadPoolExecutor(1) as database:
        rater = study.save_rater("j", RaterKind.MODEL, {})
        (other,) = study.save_conversations([CONVERSATION])

        async def keep() -> None:
            writer = Writer(study, database, on_failure=print)
            writing = asyncio.create_task(writer.work())
            safe = asyncio.Event()
            writer.keep([AnswerRecord("p", rater.key, 0, "{}")], [list], safe=safe.set)
            writer.hurry()
            await asyncio.wait_for(safe.wait(), 10)
            assert study.answered(["p"], rater)
            study.delete(other)
            assert not study.answered(["p"], rater)
            writer.close()
            await writing

        asyncio.run(keep())
        assert study.answered(["p"], rater)


def test_what_is_waited_for_while_other_answers_are_written_is_not_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("attunement.engine.writer._GATHER", 3600)
    with Study(tmp_path / "x.study.db", create=True) as study, ThreadPoolExecutor(1) as database:
        rater = study.save_rater("j", RaterKind.MODEL, {})
        write = Study.write

        async def keep() -> None:
            loop = asyncio.get_running_loop()
            writer = Writer(study, database, on_failure=print)
            told = asyncio.Event()

            def second() -> None:
                writer.keep([AnswerRecord("q", rater.key, 0, "{}")], [], safe=told.set)
                writer.hurry()

            def slow(*arguments: Any) -> int:
                monkeypatch.setattr(Study, "write", write)
                loop.call_soon_threadsafe(second)
                time.sleep(0.1)
                return write(*arguments)

            monkeypatch.setattr(Study, "write", slow)
            writing = asyncio.create_task(writer.work())
            writer.keep([AnswerRecord("p", rater.key, 0, "{}")], [])
            writer.hurry()
            await asyncio.wait_for(told.wait(), 10)
            writer.close()
            await writing

        asyncio.run(keep())


def test_ratings_that_take_long_to_make_hold_up_nothing_else(tmp_path: Path) -> None:
    """Some are made between requests; soon the rest is left to the thread of the database."""
    main, made_in, passes = threading.current_thread(), list[bool](), list[int]()

    def busy() -> list[StoredRating]:
        made_in.append(threading.current_thread() is main)
        until = time.thread_time() + 0.03
        while time.thread_time() < until:
            pass
        return []

    async def keep(study: Study, database: ThreadPoolExecutor) -> None:
        writer = Writer(study, database, on_failure=print)
        writing = asyncio.create_task(writer.work())
        for _ in range(3):
            told = asyncio.Event()
            writer.keep([], [busy] * 5)
            writer.keep([], [busy] * 5, kept=lambda _, told=told: told.set())
            writer.hurry()
            await told.wait()
            passes.append(sum(made_in))
        writer.close()
        await writing

    with Study(tmp_path / "x.study.db", create=True) as study, ThreadPoolExecutor(1) as database:
        asyncio.run(keep(study, database))
    assert passes == [1, 1, 1]
    assert len(made_in) == 30


def test_a_long_answer_is_left_to_the_thread_of_the_database(tmp_path: Path) -> None:
    main, made_in = threading.current_thread(), list[bool]()

    def make() -> list[StoredRating]:
        made_in.append(threading.current_thread() is main)
        return []

    def hand_in(writer: Writer, made: Callable[[str], StoredRating]) -> None:
        key = made("CQ1").rater
        writer.keep([AnswerRecord("short", key, 0, "x" * 400)], [make])
        writer.keep([AnswerRecord("long", key, 0, "x" * 40_000)], [make])

    assert write(tmp_path, hand_in) == ([], [])
    assert made_in == [True, False]

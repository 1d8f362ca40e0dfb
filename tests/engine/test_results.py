import asyncio
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NoReturn

from attunement.engine.results import ResultWriter
from attunement.ratings import ErrorKind, RaterKind, Rating
from attunement.store import AnswerRecord, StoredRating, Study
from tests.builders import rating, talk
from tests.store.samples import COACHING

CONVERSATION = talk(("I feel low.", "Tell me more."))


def unreadable() -> NoReturn:
    raise ValueError("no sense in it")


def write(
    place: Path, hand_in: Callable[[ResultWriter, Callable[[str], StoredRating]], object]
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
            writer = ResultWriter(study, database, on_failure=lambda error: complaints.append(str(error)))
            writing = asyncio.create_task(writer.work())
            hand_in(writer, made)
            writer.close()
            await writing

        asyncio.run(keep())
        return [kept.item for kept in study.ratings()], complaints


def test_who_handed_in_is_told_when_it_is_in_the_study(tmp_path: Path) -> None:
    """Not before: another connection sees it by then."""
    seen: list[list[str]] = []

    def hand_in(writer: ResultWriter, made: Callable[[str], StoredRating]) -> None:
        def kept(ratings: list[list[StoredRating]]) -> None:
            assert ratings == [[made("CQ1")]]
            with Study(tmp_path / "x.study.db") as study:
                seen.append([rating.item for rating in study.ratings()])

        writer.save([], [lambda: [made("CQ1")]], on_saved=kept)
        assert not seen

    assert write(tmp_path, hand_in) == (["CQ1"], [])
    assert seen == [["CQ1"]]


def test_an_answer_whose_ratings_cannot_be_made_holds_up_no_other(tmp_path: Path) -> None:
    """Both are handed in together, so they come into the same batch."""
    told: list[list[list[StoredRating]]] = []

    def hand_in(writer: ResultWriter, made: Callable[[str], StoredRating]) -> None:
        writer.save([], [unreadable], on_saved=told.append)
        writer.save([], [lambda: [made("CQ1")]], on_saved=told.append)

    assert write(tmp_path, hand_in) == (["CQ1"], ["no sense in it"])
    assert len(told) == 1


def test_a_fault_of_whoever_is_told_holds_up_no_other(tmp_path: Path) -> None:
    """It would end the writer, and the run would wait for it for ever."""

    def fault(_: list[list[StoredRating]]) -> NoReturn:
        raise RuntimeError("out of step")

    def hand_in(writer: ResultWriter, made: Callable[[str], StoredRating]) -> None:
        writer.save([], [lambda: [made("CQ1")]], on_saved=fault)
        writer.save([], [lambda: [made("CQ2")]], on_saved=told.append)

    told: list[list[list[StoredRating]]] = []
    assert write(tmp_path, hand_in) == (["CQ1", "CQ2"], ["out of step"])
    assert len(told) == 1


def test_everything_else_goes_on_while_the_study_is_locked(tmp_path: Path) -> None:
    """A full batch is waited for, but not for long: here it can be written only after something else happens."""
    other: list[sqlite3.Connection] = []

    def hand_in(writer: ResultWriter, made: Callable[[str], StoredRating]) -> None:
        other.append(sqlite3.connect(tmp_path / "x.study.db", isolation_level=None, check_same_thread=False))
        other[0].execute("BEGIN IMMEDIATE")
        asyncio.get_running_loop().call_later(0.2, other[0].close)
        for _ in range(200):
            writer.save([], [lambda: [made("CQ1")]])

    assert write(tmp_path, hand_in) == (["CQ1"], [])


def test_answers_are_written_before_the_ratings_that_follow_from_them(tmp_path: Path) -> None:
    """An ERROR is not: without a rating the next run would ask again."""
    with Study(tmp_path / "x.study.db", create=True) as study, ThreadPoolExecutor(1) as database:
        rater = study.save_rater("j", RaterKind.MODEL, {})
        happened: list[str] = []

        def make() -> list[StoredRating]:
            happened.append("made")
            return []

        def safe() -> None:
            happened.append(f"safe {len(study.answered(['p'], rater))}")

        async def save() -> None:
            writer = ResultWriter(study, database, on_failure=print)
            writing = asyncio.create_task(writer.work())
            error, answer = (
                AnswerRecord("q", rater.key, 0, error=ErrorKind.SERVER),
                AnswerRecord("p", rater.key, 0, "{}"),
            )
            writer.save([error], [make], on_safe=lambda: happened.append("error safe"))
            writer.save([answer], [make], on_safe=safe, on_saved=lambda _: happened.append("saved"))
            writer.close()
            await writing

        asyncio.run(save())
        assert happened == ["safe 1", "made", "made", "error safe", "saved"]


def test_an_answer_that_is_deleted_before_its_ratings_are_there_comes_back_with_them(tmp_path: Path) -> None:
    """Somebody else deletes a conversation, and with it every answer without ratings."""
    with Study(tmp_path / "x.study.db", create=True) as study, ThreadPoolExecutor(1) as database:
        rater = study.save_rater("j", RaterKind.MODEL, {})
        (other,) = study.save_conversations([CONVERSATION])

        def delete() -> None:
            assert study.answered(["p"], rater)
            study.delete(other)
            assert not study.answered(["p"], rater)

        async def save() -> None:
            writer = ResultWriter(study, database, on_failure=print)
            writing = asyncio.create_task(writer.work())
            writer.save([AnswerRecord("p", rater.key, 0, "{}")], [list], on_safe=delete)
            writer.close()
            await writing

        asyncio.run(save())
        assert study.answered(["p"], rater)

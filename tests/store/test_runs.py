"""No two runs ask the same questions, and what replaced answers cost is not forgotten."""

import os
import socket
import subprocess
import sys

import pytest
from sqlalchemy import select

from attunement.errors import StudyError
from attunement.ratings import ErrorKind, RaterKind
from attunement.store import AnswerRecord, Study, queries, runs, schema
from attunement.store import connection as database
from tests.store.samples import talks


def change(study: Study, run: int, **values: object) -> None:
    with study.writing() as connection:
        connection.execute(schema.runs.update().where(schema.runs.c.key == run).values(**values))


def test_a_second_run_is_refused_where_the_first_asks_and_may_ask_elsewhere(study: Study) -> None:
    judge, other = (study.save_rater(name, RaterKind.MODEL, {}) for name in ("j", "k"))
    keys = study.save_conversations(talks(4))
    first, second = runs.begin_run(study), runs.begin_run(study)
    runs.claim(study, first, judge, keys[:2])
    runs.claim(study, first, judge, keys[:2])
    runs.claim(study, second, judge, keys[2:])
    runs.claim(study, second, other, keys)
    with pytest.raises(
        StudyError, match=r"another run \(process \d+ on .+\) is asking j about the same.*bot/c0"
    ) as told:
        runs.claim(study, second, judge, keys)
    assert len(str(told.value).splitlines()) == 1
    runs.end_run(study, first)
    runs.claim(study, second, judge, keys)


def test_a_run_that_gives_no_sign_of_life_is_taken_over_and_notices(study: Study) -> None:
    judge = study.save_rater("j", RaterKind.MODEL, {})
    keys = study.save_conversations(talks(1))
    first, second = runs.begin_run(study), runs.begin_run(study)
    runs.claim(study, first, judge, keys)
    change(study, first, host="elsewhere", token="of another")
    with pytest.raises(StudyError):
        runs.claim(study, second, judge, keys)
    change(study, first, seen="2026-01-01T00:00:00.000+00:00")
    runs.claim(study, second, judge, keys)
    with pytest.raises(StudyError, match="took over"):
        runs.keep_run(study, first)
    runs.keep_run(study, second)


def test_a_run_that_was_killed_on_this_machine_is_taken_over_at_once(study: Study) -> None:
    judge = study.save_rater("j", RaterKind.MODEL, {})
    keys = study.save_conversations(talks(1))
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    # The second process has our number, as in a container that was started again.
    for process in (ended.pid, os.getpid()):
        killed = runs.begin_run(study)
        change(study, killed, host=socket.gethostname(), process=process, token="of another")
        runs.claim(study, killed, judge, keys)
        runs.claim(study, run := runs.begin_run(study), judge, keys)
        runs.end_run(study, run)


def test_a_deleted_conversation_takes_its_claim_along(study: Study) -> None:
    judge = study.save_rater("j", RaterKind.MODEL, {})
    (key,) = study.save_conversations(talks(1))
    runs.claim(study, runs.begin_run(study), judge, [key])
    study.delete(key)
    assert not study.all(select(schema.claims))


def test_an_answer_costs_what_it_and_the_errors_before_it_took(study: Study) -> None:
    judge = study.save_rater("j", RaterKind.MODEL, {})
    failed = AnswerRecord("p", judge.key, 0, error=ErrorKind.MALFORMED, prompt_tokens=100, cost=0.5, at="1")
    study.write([failed], [])
    study.write([failed], [])  # a writer, or an import, may save the same once more
    study.write([failed._replace(error=ErrorKind.SERVER, prompt_tokens=7, cost=None, at="2")], [])
    study.write([AnswerRecord("p", judge.key, 0, text="YES", prompt_tokens=30, cost=0.25, attempts=2, at="3")], [])
    study.write([AnswerRecord("p", judge.key, 0, text="NO", prompt_tokens=1000, cost=9.0, at="4")], [])
    (cost,) = queries.judge_costs(study)
    assert (cost.answers, cost.prompt_tokens, cost.cost) == (1, 137, 0.75)
    (answer,) = study.answered(["p"], judge).values()
    assert (answer.text, answer.attempts) == ("YES", 4)


def test_writers_that_wait_for_each_other_try_again(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    from sqlalchemy.exc import OperationalError

    class Deadlock(Exception):
        sqlstate = "40P01"

    tries: list[int] = []

    def work(_: object) -> str:
        tries.append(1)
        if len(tries) < 3:
            raise OperationalError("", {}, Deadlock())
        return "done"

    assert study.write_beside_others(work) == "done"
    assert len(tries) == 3
    monkeypatch.setattr(database, "_TRIES", 2)
    tries.clear()
    with pytest.raises(StudyError):
        study.write_beside_others(work)


def test_a_study_of_version_3_gets_the_new_tables_and_long_keys(study_place: str) -> None:
    with Study(study_place, create=True) as study, study.writing() as connection:
        schema.claims.drop(connection)
        schema.runs.drop(connection)
        connection.execute(schema.about.update().where(schema.about.c.name == "schema").values(value="3"))
        if connection.dialect.name == "postgresql":
            connection.exec_driver_sql("ALTER TABLE ratings ALTER COLUMN key TYPE INTEGER")
            connection.exec_driver_sql("ALTER SEQUENCE ratings_key_seq AS INTEGER")
    with Study(study_place) as study, study.reading() as connection:
        assert not study.all(select(schema.claims))
        if connection.dialect.name == "postgresql":
            short = (
                "SELECT count(*) FROM information_schema.columns WHERE column_name = 'key' AND data_type = 'integer'"
            )
            sequences = "SELECT count(*) FROM pg_sequences WHERE data_type::text = 'integer'"
            assert [connection.exec_driver_sql(query).scalar() for query in (short, sequences)] == [0, 0]

from pathlib import Path

import pytest
from sqlalchemy import Connection, inspect

from attunement.errors import StudyError
from attunement.store import Study
from attunement.store import connection as migrations
from tests.store.samples import COACHING, fill

STEPS = list(migrations.STEPS)


def columns(study: Study) -> set[str]:
    with study.reading() as connection:
        return {column["name"] for column in inspect(connection).get_columns("raters")}


def add_a_column(connection: Connection) -> None:
    connection.exec_driver_sql("ALTER TABLE raters ADD COLUMN since TEXT")


def rename_it(connection: Connection) -> None:
    connection.exec_driver_sql("ALTER TABLE raters RENAME COLUMN since TO joined")


def fail(connection: Connection) -> None:
    connection.exec_driver_sql("SELECT nonsense FROM nowhere")


def test_an_earlier_study_is_brought_up_to_date_once_and_keeps_what_it_holds(
    study_place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with fill(study_place) as study:
        before = list(study.ratings())
    monkeypatch.setattr(migrations, "STEPS", [*STEPS, add_a_column, rename_it])
    for _ in range(2):
        with Study(study_place) as study:
            assert "joined" in columns(study)
            assert list(study.ratings()) == before
    monkeypatch.setattr(migrations, "STEPS", STEPS)
    known = migrations.current_version()
    newer = known + 2
    with pytest.raises(StudyError, match=rf"newer Attunement \(study version {newer}, this one knows {known}\)"):
        Study(study_place)


def test_a_step_that_fails_leaves_the_study_as_it_was(study_place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(study_place).close()
    before = None if "://" in study_place else Path(study_place).read_bytes()
    monkeypatch.setattr(migrations, "STEPS", [*STEPS, add_a_column, fail])
    with pytest.raises(StudyError, match="cannot be brought up to date"):
        Study(study_place)
    assert before is None or Path(study_place).read_bytes() == before
    monkeypatch.setattr(migrations, "STEPS", STEPS)
    with Study(study_place) as study:
        assert "since" not in columns(study)
        assert len(list(study.ratings())) == 3 * len(COACHING.items)

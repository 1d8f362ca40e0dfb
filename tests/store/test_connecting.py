import contextlib
import os
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import psycopg
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from attunement.errors import StudyError
from attunement.ratings import RaterKind
from attunement.store import AnswerRecord, Study, schema, scored_conversations, shown_place
from attunement.store import connection as migrations
from tests.postgres import Server
from tests.store.samples import COACHING, fill, talks

SIGNATURE = b"SQLite format 3\x00"


def refusal(place: str | Path, *, create: bool = True) -> str:
    """The sentence with which a place is refused."""
    with pytest.raises(StudyError) as refused:
        Study(place, create=create)
    sentence = str(refused.value)
    assert "\n" not in sentence
    return sentence


def test_a_study_that_was_made_opens_again(study_place: str) -> None:
    Study(study_place, create=True).close()
    with Study(study_place) as study:
        assert study.conversation_count() == 0


def test_a_study_is_made_only_when_that_is_wanted(study_place: str) -> None:
    sentence = refusal(study_place, create=False)
    assert ("there is no study" in sentence) or ("it is not a study" in sentence)
    assert not Path(study_place).exists()


def test_an_empty_file_becomes_a_study_when_that_is_wanted(tmp_path: Path) -> None:
    place = tmp_path / "a.db"
    place.touch()
    assert "empty" in refusal(place, create=False)
    assert place.read_bytes() == b""
    Study(place, create=True).close()
    Study(place).close()


@pytest.mark.parametrize("name", [":memory:", "file:a.db?mode=memory", "a b ü#.db"])
def test_a_file_may_have_any_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    Study(name, create=True).close()
    assert (tmp_path / name).is_file()
    Study(name).close()


def test_a_folder_is_no_study(tmp_path: Path) -> None:
    assert "is a folder" in refusal(tmp_path)


def test_a_study_in_a_folder_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    assert "does not exist" in refusal(tmp_path / "nowhere" / "a.db")


@pytest.mark.parametrize("content", [b"hello", b"S", b"{}\n" * 1000, SIGNATURE, SIGNATURE * 99])
@pytest.mark.parametrize("create", [True, False])
def test_another_kind_of_file_is_refused_and_not_touched(tmp_path: Path, content: bytes, create: bool) -> None:
    place = tmp_path / "a.db"
    place.write_bytes(content)
    assert "it was not changed" in refusal(place, create=create)
    assert place.read_bytes() == content
    assert list(tmp_path.iterdir()) == [place]


@pytest.mark.parametrize("mode", ["delete", "wal"])
def test_a_foreign_database_is_refused_and_not_touched(tmp_path: Path, mode: str) -> None:
    place = tmp_path / "a.db"
    with closing(sqlite3.connect(place)) as connection:
        connection.execute(f"PRAGMA journal_mode = {mode}")
        connection.execute("CREATE TABLE attunement (name, value)")
        connection.commit()
    before = place.read_bytes()
    assert "but not a study" in refusal(place)
    assert place.read_bytes() == before
    assert list(tmp_path.iterdir()) == [place]


def test_a_foreign_database_on_a_server_is_refused_and_not_touched(postgres: Server) -> None:
    place = postgres.new_database()
    with psycopg.connect(place) as connection:
        connection.execute("CREATE TABLE theirs (name text)")
    assert "but not a study" in refusal(place)
    with psycopg.connect(place) as connection:
        names = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
    assert names == [("theirs",)]


def test_a_newer_study_is_refused_and_not_touched(study_place: str) -> None:
    with Study(study_place, create=True) as study, study.writing() as connection:
        connection.execute(schema.about.update().where(schema.about.c.name == "schema").values(value="99"))
    before = Path(study_place).read_bytes() if "://" not in study_place else b""
    sentence = refusal(study_place)
    assert f"newer Attunement (study version 99, this one knows {migrations.current_version()})" in sentence
    if before:
        assert Path(study_place).read_bytes() == before


@pytest.mark.parametrize("version", [None, "", "one", "-1", "²", "9" * 5000])
def test_a_study_that_does_not_say_its_version_is_refused(study_place: str, version: str | None) -> None:
    with Study(study_place, create=True) as study, study.writing() as connection:
        connection.execute(schema.about.delete())
        if version is not None:
            connection.execute(schema.about.insert(), {"name": "schema", "value": version})
    assert "has no version" in refusal(study_place)


def test_a_study_from_before_the_first_release_is_refused(study_place: str) -> None:
    with Study(study_place, create=True) as study, study.writing() as connection:
        connection.execute(schema.about.update().where(schema.about.c.name == "schema").values(value="2"))
    assert "before the first release" in refusal(study_place)


def read_all(place: Path) -> None:
    """Read everything a study holds, in every way."""
    with Study(place) as study:
        study.raters()
        study.responses("coaching-v1")
        kept = list(study.conversations())
        list(study.summaries(10))
        list(study.ratings())
        list(scored_conversations(study, COACHING))
        study.find("c1")
        study.by_identity([entry.conversation.identity for entry in kept])
        for rater in study.raters():
            asked = [rated.asked for rated in study.rated([entry.key for entry in kept], rater)]
            study.answered(asked, rater)
        study.instruments()


@pytest.fixture(scope="module")
def intact(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study file with some hundred ratings in it."""
    place = tmp_path_factory.mktemp("intact") / "a.db"
    fill(place, talks(20)).close()
    return place


@pytest.mark.parametrize("share", [0.01, 0.5, 0.9, 0.999])
def test_a_file_that_is_cut_short_is_called_damaged_and_not_touched(tmp_path: Path, intact: Path, share: float) -> None:
    place = tmp_path / "a.db"
    cut = intact.read_bytes()[: int(intact.stat().st_size * share)]
    place.write_bytes(cut)
    assert "damaged" in refusal(place)
    assert place.read_bytes() == cut


def test_bytes_gone_wrong_in_the_middle_are_noticed_in_reading(tmp_path: Path, intact: Path) -> None:
    place = tmp_path / "a.db"
    content = intact.read_bytes()
    middle = len(content) // 2
    wrong = content[:middle] + os.urandom(8192) + content[middle + 8192 :]
    place.write_bytes(wrong)
    with pytest.raises(StudyError, match="damaged"):
        read_all(place)
    assert place.read_bytes() == wrong


def test_damage_that_the_database_cannot_even_name_is_told(tmp_path: Path, intact: Path) -> None:
    place = tmp_path / "a.db"
    place.write_bytes(intact.read_bytes().replace(b"CREATE TABLE answers", b"CRE\x80TE TABLE answers"))
    with pytest.raises(StudyError, match="damaged"):
        read_all(place)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(wrong=st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.binary(min_size=1, max_size=40)), min_size=1))
def test_reading_a_damaged_file_gives_records_or_one_sentence_and_changes_nothing(
    tmp_path: Path, intact: Path, wrong: list[tuple[float, bytes]]
) -> None:
    place = tmp_path / "a.db"
    content = bytearray(intact.read_bytes())
    size = len(content)
    for share, noise in wrong:
        start = int(share * size)
        content[start : start + len(noise)] = noise
    # A study whose header asks for another kind of journal, as a copy made by SQLite does, is a sound one.
    assume(content[18:20] == b"\x02\x02" or not set(content[18:20]) <= {1, 2})
    place.write_bytes(content[:size])
    with contextlib.suppress(StudyError):
        read_all(place)
    assert place.read_bytes() == content[:size]


@contextmanager
def powerless() -> Iterator[Path]:
    """A folder of one's own, and no right to write where that is forbidden; only root has that right."""
    with tempfile.TemporaryDirectory(prefix="attune-") as name:
        root = os.geteuid() == 0
        if root:
            os.chown(name, 65534, 65534)
            os.seteuid(65534)
        try:
            yield Path(name)
        finally:
            if root:
                os.seteuid(0)


def test_a_file_that_may_not_be_written_can_be_read_and_says_why_it_cannot_be_written() -> None:
    with powerless() as folder:
        place = folder / "a.db"
        fill(place).close()
        place.chmod(0o444)
        with Study(place) as study:
            assert study.conversation_count() == 3
            with pytest.raises(StudyError, match=r"a\.db cannot be written: the file or its folder is read-only"):
                study.save_rater("k", RaterKind.MODEL, {})


def test_a_file_in_a_folder_that_may_not_be_written_is_refused_in_one_sentence() -> None:
    with powerless() as folder:
        fill(folder / "a.db").close()
        folder.chmod(0o555)
        assert "copy it to a folder you can write to" in refusal(folder / "a.db")
        folder.chmod(0o755)


def test_a_file_that_may_not_be_read_is_refused_in_one_sentence() -> None:
    with powerless() as folder:
        place = folder / "a.db"
        Study(place, create=True).close()
        place.chmod(0)
        assert "Permission denied" in refusal(place)


def test_a_full_disk_is_one_sentence_and_loses_nothing_that_was_kept(tmp_path: Path) -> None:
    place = tmp_path / "a.db"
    with fill(place) as study:
        judge = study.raters()[0]
        with closing(study._engine.raw_connection()) as pooled:  # pyright: ignore[reportPrivateUsage]
            pages = pooled.cursor().execute("PRAGMA page_count").fetchone()[0]
            pooled.cursor().execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(StudyError, match=r"a\.db cannot be written: database or disk is full"):
            study.write([AnswerRecord("p", judge.key, 0, text="x" * 10**6)], [])
    with Study(place) as study:
        assert len(list(study.ratings())) == 3 * len(COACHING.items)
        assert not study.answered(["p"], judge)


def test_a_database_that_is_not_there_is_one_sentence(postgres: Server) -> None:
    assert refusal(postgres.address("nowhere")).endswith('cannot be opened: database "nowhere" does not exist')


def test_a_wrong_password_is_one_sentence_without_the_password(postgres: Server) -> None:
    sentence = refusal(postgres.address("postgres", user="guest", password="hunter2"))
    assert 'password authentication failed for user "guest"' in sentence
    assert "hunter2" not in sentence


def test_a_database_that_cannot_hold_every_text_is_refused(postgres: Server) -> None:
    assert "create it with UTF8" in refusal(postgres.new_database("ENCODING 'LATIN1' TEMPLATE template0"))


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://me:hunter2@127.0.0.1:1/name",
        "postgresql://me:hunter2@127.0.0.1:port/name",
        "postgresql://me:hunter2@/name?host=/nowhere&password=hunter2",
        "postgresql://me:hunter2@/name?host=/nowhere&hunter2",
        "mysql://me:hunter2@127.0.0.1/name",
        "://me:hunter2@127.0.0.1",
        "nonsense://me:hunter2@127.0.0.1",
    ],
)
def test_no_refusal_of_an_address_shows_the_password(address: str) -> None:
    assert "hunter2" not in refusal(address)


def test_a_place_is_shown_without_its_password() -> None:
    assert shown_place("postgresql://me:hunter2@host:7/name?password=hunter2") == "postgresql://me@host:7/name"
    assert shown_place("some/file.db") == "some/file.db"

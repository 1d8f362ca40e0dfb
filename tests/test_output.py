"""Files that the program writes: never a study, private, and nothing left after a kill."""

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from attunement.cli import app
from attunement.errors import AttunementError, InputError
from attunement.output import check_output, make_folder, replacing
from attunement.store import Study
from tests.store.samples import fill


def attune(*words: str) -> tuple[int, str]:
    """The exit code of a command and what it says."""
    result = CliRunner().invoke(app, words)
    if isinstance(result.exception, AttunementError):
        return 2, str(result.exception)
    return result.exit_code, result.output


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    fill("s.db").close()
    return Path("s.db")


@pytest.mark.parametrize("target", ["s.db", "s.db-wal", "s.db-shm", "link.db", "./x/../s.db", "other.sqlite"])
@pytest.mark.parametrize(
    "command",
    [
        ["report", "s.db", "-o", "OUT", "--force"],
        ["report", "s.db", "--markdown", "OUT", "--force"],
        ["report", "s.db", "--json", "OUT", "--force"],
        ["report", "s.db", "--junit", "OUT", "--force"],
        ["report", "s.db", "--latex", "OUT", "--force"],
        ["report", "s.db", "--inspect", "OUT", "--force"],
        ["methods", "s.db", "-o", "OUT", "--force"],
        ["instrument", "show", "coaching-v1", "-o", "OUT", "--force"],
        ["instrument", "schema", "-o", "OUT", "--force"],
        ["export", "s.db", "OUT", "--format", "jsonl", "--force"],
        ["export", "s.db", "e.jsonl", "--dictionary", "OUT", "--force"],
    ],
    ids=lambda command: " ".join(command[:-1]) if isinstance(command, list) else str(command),
)
def test_no_command_writes_over_a_study_or_what_belongs_to_it(study: Path, command: list[str], target: str) -> None:
    Path("x").mkdir()
    Path("link.db").symlink_to("s.db")
    Path("other.sqlite").write_bytes(b"SQLite format 3\x00 of another program")
    before = {path.name: path.read_bytes() for path in Path().iterdir() if path.is_file()}
    code, said = attune(*(target if word == "OUT" else word for word in command))
    assert code == 2
    assert "is not overwritten" in said
    assert len(said.splitlines()) == 1
    assert {path.name: path.read_bytes() for path in Path().iterdir() if path.is_file()} == before


def test_convert_does_not_write_over_a_study(study: Path) -> None:
    Path("c.jsonl").write_text('{"id": "1", "system": "b", "messages": [{"role": "assistant", "content": "Hi"}]}\n')
    study.rename("s.jsonl")
    code, said = attune("convert", "c.jsonl", "s.jsonl", "--force")
    assert (code, "is not overwritten" in said) == (2, True)
    Study("s.jsonl").close()


def test_studies_reports_and_exports_are_private(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = os.umask(0o022)
    try:
        Study("new.db", create=True).close()
        for command in (
            ["export", "s.db", "e.csv"],
            ["report", "s.db", "-o", "out/deep/", "--json", "r.json", "--charts", "charts"],
            ["export", "s.db", "sheets", "--for", "sheet", "--all"],
        ):
            assert attune(*command)[0] == 0
    finally:
        os.umask(before)
    for file in ("new.db", "e.csv", "r.json", "out/deep/index.html", "charts/verdicts.svg", "sheets/to-read.csv"):
        assert mode(Path(file)) == 0o600, file
    for folder in ("out", "out/deep", "out/deep/pages", "charts", "sheets"):
        assert mode(Path(folder)) == 0o700, folder


def test_what_the_user_has_keeps_its_permissions(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("old")
    file.chmod(0o640)
    tmp_path.chmod(0o755)
    with replacing(file) as stream:
        stream.write(b"new")
    make_folder(tmp_path)
    assert (file.read_text(), mode(file), mode(tmp_path)) == ("new", 0o640, 0o755)
    empty = tmp_path / "empty.db"
    empty.touch(0o644)
    Study(empty, create=True).close()
    assert mode(empty) == 0o644


def test_a_failure_leaves_the_old_file_and_no_other(tmp_path: Path) -> None:
    def fail() -> None:
        with replacing(tmp_path / "a.txt") as stream:
            stream.write(b"new")
            raise ZeroDivisionError

    (tmp_path / "a.txt").write_text("old")
    with pytest.raises(ZeroDivisionError):
        fail()
    assert [path.read_text() for path in tmp_path.iterdir()] == ["old"]


_WRITING = """
import sys
from pathlib import Path
from attunement.output import replacing
with replacing(Path(sys.argv[1])) as stream:
    stream.write(b"a transcript")
    stream.flush()
    print("writing", flush=True)
    sys.stdin.read()
"""


def test_what_a_killed_process_left_is_removed_and_what_another_is_writing_stays(tmp_path: Path) -> None:
    def writing(name: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-c", _WRITING, str(tmp_path / name)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        assert process.stdout.readline() == "writing\n"
        return process

    killed, other = writing("killed.html"), writing("other.html")
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    assert len(list(tmp_path.iterdir())) == 2
    with replacing(tmp_path / "new.html") as stream:
        stream.write(b"new")
    other.communicate("")
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {
        "new.html": "new",
        "other.html": "a transcript",
    }


def test_a_pipe_is_written_and_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE)
    with replacing(pipe) as stream:
        stream.write(b"through")
    assert reader.communicate()[0] == b"through"
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_folder_of_pages_with_other_files_is_not_replaced(study: Path) -> None:
    pages = Path("out/pages")
    pages.mkdir(parents=True)
    (pages / "mine.txt").write_text("mine")
    code, said = attune("report", "s.db", "-o", "out/")
    assert (code, "not replaced" in said) == (2, True)
    assert (pages / "mine.txt").read_text() == "mine"


def test_an_existing_file_needs_force(tmp_path: Path) -> None:
    (tmp_path / "a.txt").touch()
    check_output(tmp_path / "a.txt")
    with pytest.raises(InputError, match="--force"):
        check_output(tmp_path / "a.txt", force=False)


@pytest.mark.slow
def test_sigterm_leaves_no_part_of_an_export(study: Path) -> None:
    code = (
        "import sys, time\n"
        "from attunement import cli\n"
        "from attunement.store import export\n"
        "def rows():\n"
        "    print('writing', flush=True)\n"
        "    while True:\n"
        "        yield {}\n"
        "export.ratings = lambda study: export.Export(export.columns('a'), rows())\n"
        "sys.argv = ['attune', 'export', 's.db', 'out.jsonl']\n"
        "cli.main()\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "writing\n"
    process.terminate()
    _, complaints = process.communicate(timeout=60)
    assert (process.returncode, complaints) == (143, "")
    assert not [path.name for path in Path().iterdir() if "out.jsonl" in path.name]

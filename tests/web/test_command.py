"""`attune annotate` as a user runs it."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from attunement.cli import app
from attunement.cli.people import annotate
from attunement.errors import AttunementError
from attunement.store import Study
from attunement.store.projects import Role, latest_project, members
from attunement.web import site
from tests.annotation.projects import EMPATHY, talks

RUN = CliRunner()

EVERYWHERE = "0.0.0.0"  # noqa: S104


@pytest.fixture
def place(tmp_path: Path) -> str:
    path = tmp_path / "a.study.db"
    with Study(path, create=True) as study:
        study.save_conversations(talks(6))
    return str(path)


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, object]]:
    """What would have been served."""
    calls: list[dict[str, object]] = []
    monkeypatch.setattr("attunement.web.app.serve", lambda _, **options: calls.append(options))
    return calls


def run(*words: str) -> str:
    result = RUN.invoke(app, ["annotate", *words])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.output


def test_it_prints_one_link_for_each_rater_and_one_for_the_coordinator(place: str, served: list[object]) -> None:
    said = run(place, "-i", "empathy-v2", "--raters", "2", "--units", "4")
    names = re.findall(r"^(.+): http://127\.0\.0\.1:8765/enter/[\w-]{43}$", said, re.MULTILINE)
    assert names == ["rater 1", "rater 2", "coordinator"]
    assert "4 drawn at random from 6" in said
    assert len(served) == 1


def test_it_goes_on_with_what_was_begun_and_says_that_links_still_work(place: str, served: list[object]) -> None:
    run(place, "-i", "empathy-v2", "--units", "4")
    said = run(place, "-i", "empathy-v2")
    assert re.findall(r"^(.+): http", said, re.MULTILINE) == ["coordinator"]
    assert "still work" in said
    again = run(place, "-i", "empathy-v2", "--new-links")
    assert len(re.findall(r"^rater", again, re.MULTILINE)) == 3
    with pytest.raises(AttunementError, match="--new-round"):
        run(place, "-i", "empathy-v2", "--units", "2")


def test_a_changed_instrument_needs_a_new_round_which_keeps_its_people(
    place: str, tmp_path: Path, served: list[object]
) -> None:
    run(place, "-i", "empathy-v2", "--units", "4", "--raters", "4")
    changed = tmp_path / "changed.yaml"
    changed.write_text(yaml.safe_dump({**EMPATHY.canonical(), "title": "Changed"}), "utf-8")
    with pytest.raises(AttunementError, match="has changed since"):
        run(place, "-i", str(changed))
    said = run(place, "-i", str(changed), "--new-round")
    assert "round 2" in said
    assert len(re.findall(r"^rater", said, re.MULTILINE)) == 4


def test_a_file_sets_a_project_up(place: str, tmp_path: Path, served: list[dict[str, object]]) -> None:
    setup = tmp_path / "setup.yaml"
    setup.write_text(
        "instrument: empathy-v2\nraters: [Ana, Ben]\nids: [c1, 'c2#1']\n"
        "gold: [{unit: c3, answers: {safety: 5}}]\nsettings: {per_unit: 1, country: GB}\n",
        "utf-8",
    )
    said = run(place, "--setup", str(setup), "--address", "https://example.org/rate/", "--proxy", "10.0.0.1")
    assert "Ana: https://example.org/rate/enter/" in said
    assert served[0]["address"] == "https://example.org/rate"
    assert served[0]["proxies"] == "10.0.0.1"
    with Study(place) as study:
        project = latest_project(study, "empathy-v2")
        assert project is not None
        assert project.settings.country == "GB"
        assert [member.name for member in members(study, project, Role.RATER)] == ["Ana", "Ben"]


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ([], "name the instrument"),
        (["-i", "empathy-v2", "--raters", "2", "--per-unit", "3"], "3 raters"),
        (["-i", "empathy-v2", "--units", "99"], "only 6"),
        (["-i", "empathy-v2", "--address", "example.org"], "is not an address"),
        (["-i", "empathy-v2", "--setup", "absent.yaml"], "cannot be read"),
        (["-i", "empathy-v2", "--ids", "absent.txt"], "cannot be read"),
        (["-i", "empathy-v2", "--ids", os.devnull], "lists no units"),
    ],
)
def test_what_cannot_work_is_told_in_one_sentence(
    place: str, served: list[object], words: list[str], reason: str
) -> None:
    with pytest.raises(AttunementError, match=reason):
        run(place, *words)
    assert served == []


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("instrument: [", "setup.yaml, line 1: expected the node content"),
        ("- empathy-v2", "the file: must be keys with values"),
        ("rater: 3", "rater: is not known; correct or remove it"),
        ("raters: 0", "raters: must be a number from 1 to 500, or a list of names"),
        ("raters: ['']", "a name is empty"),
        ('raters: ["a\\u202eb"]', "non-printable characters"),
        ('raters: ["a\\nb"]', "non-printable characters"),
        ("raters: [a, ' a']", "a different name"),
        ("raters: [coordinator]", "'coordinator' is taken"),
        ("units: 1.5", "units: must be a whole number"),
        ("ids: [nobody]", "no conversation in the study"),
        ("gold: [{unit: 'c1#9', answers: {safety: 3}}]", "is not a unit of empathy-v2"),
        ("gold: [{unit: c1, answers: {safe: 3}}]", "has no item 'safe'"),
        ("gold: [{unit: c1, answers: {safety: 9}}]", "not on the scale"),
        ("settings: {per_unit: 0}", "per_unit: must be at least 1"),
        ("settings: {repeats: 2}", "repeats: must be at most 1"),
        ("settings: {foo: 1}", "foo: is not known"),
        ("settings: {country: XX}", "country: there are no crisis lines for it; known are"),
        ("settings: {language: xx}", "no pages in 'xx'"),
        ("settings: {language: absent.yaml}", "no pages in 'absent.yaml'"),
    ],
)
def test_a_file_that_does_not_fit_is_told_in_one_sentence_and_nothing_is_begun(
    place: str, tmp_path: Path, served: list[object], text: str, reason: str
) -> None:
    setup = tmp_path / "setup.yaml"
    setup.write_text(text, "utf-8")
    with pytest.raises(AttunementError, match=re.escape(reason)) as caught:
        run(place, "-i", "empathy-v2", "--setup", str(setup))
    assert "\n" not in str(caught.value)
    assert served == []
    with Study(place) as study:
        assert latest_project(study, "empathy-v2") is None


def test_a_project_that_runs_takes_new_settings_except_those_that_were_used_up(
    place: str, tmp_path: Path, served: list[object]
) -> None:
    run(place, "-i", "empathy-v2", "--units", "4")
    setup = tmp_path / "setup.yaml"
    setup.write_text("settings: {country: GB, break_after: 20, per_unit: 3}", "utf-8")
    run(place, "-i", "empathy-v2", "--setup", str(setup))
    with Study(place) as study:
        project = latest_project(study, "empathy-v2")
        assert project is not None
        assert (project.settings.country, project.settings.break_after) == ("GB", 20)
    setup.write_text("settings: {repeats: 0.5}", "utf-8")
    with pytest.raises(AttunementError, match="repeats can no longer be changed"):
        run(place, "-i", "empathy-v2", "--setup", str(setup))


def test_a_language_of_ones_own_is_found_from_anywhere_and_missed_when_it_is_gone(
    place: str, tmp_path: Path, served: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    english = Path(site.__file__).parent / "words" / "en.yaml"
    (tmp_path / "he.yaml").write_text(english.read_text("utf-8"), "utf-8")
    (tmp_path / "setup.yaml").write_text("settings: {language: he.yaml}", "utf-8")
    monkeypatch.chdir(tmp_path)
    run(place, "-i", "empathy-v2", "--units", "4", "--setup", "setup.yaml")
    monkeypatch.chdir("/")
    run(place, "-i", "empathy-v2")
    (tmp_path / "he.yaml").unlink()
    with pytest.raises(AttunementError, match="no pages in"):
        run(place, "-i", "empathy-v2")


@pytest.mark.parametrize("host", [EVERYWHERE, "192.0.2.7", "::", "rate.example.org"])
def test_plain_http_for_others_is_refused_unless_a_proxy_or_a_flag_is_given(
    place: str, served: list[dict[str, object]], host: str
) -> None:
    with pytest.raises(AttunementError, match=r"plain HTTP, .* TLS in front .* --proxy, or .* --allow-http"):
        run(place, "-i", "empathy-v2", "--host", host)
    assert served == []


def test_plain_http_for_others_can_be_accepted(place: str, served: list[dict[str, object]]) -> None:
    assert f"Plain HTTP on {EVERYWHERE}" in run(place, "-i", "empathy-v2", "--host", EVERYWHERE, "--allow-http")
    assert "Plain HTTP" not in run(place, "-i", "empathy-v2", "--host", EVERYWHERE, "--proxy", "192.0.2.1")
    assert "Plain HTTP" not in run(place, "-i", "empathy-v2", "--host", "localhost")
    assert [call["host"] for call in served] == [EVERYWHERE, EVERYWHERE, "localhost"]


def test_a_port_that_is_taken_is_told(place: str) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        with pytest.raises(AttunementError, match="choose another --port"):
            run(place, "-i", "empathy-v2", "--port", port)


def test_conversations_can_be_added_on_the_way_and_unknown_origins_keep_it_closed(
    tmp_path: Path, served: list[object]
) -> None:
    chats = tmp_path / "chats.jsonl"
    chats.write_text('{"id": "a", "prompt": "I am sad.", "response": "Tell me."}\n', "utf-8")
    place = str(tmp_path / "new.study.db")
    said = run(place, "-i", "empathy-v2", "-c", str(chats), "--system", "bot")
    assert "Read 1 conversation" in said
    assert "Raters cannot begin yet" in said
    assert "Raters cannot begin yet" not in run(place, "-i", "empathy-v2", "--escalation", "Ring 12.")


@pytest.mark.slow
def test_it_serves_until_it_is_interrupted(place: str) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "attunement", "annotate", place, "-i", "empathy-v2", "--port", str(port)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if "Ctrl+C" in line:
                break
        _wait_for(port)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
    assert (process.returncode, err) == (0, "")


def test_the_help_of_the_command_has_an_example() -> None:
    assert "Example: attune annotate" in (annotate.__doc__ or "")


def _wait_for(port: int) -> None:
    for _ in range(300):
        with socket.socket() as trial:
            if trial.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)

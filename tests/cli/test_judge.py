"""`attune judge`, `estimate` and `prompt` as a user runs them: in a process of their own, against a real server."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from attunement.conversations.writer import Shape, write
from attunement.instruments import load
from tests.builders import talk
from tests.fake_judge import Asked, Behaviour, FakeJudge, valid_reply

KEY = "sk-this-is-a-secret-0123456789"


@pytest.fixture
def chats(tmp_path: Path) -> Path:
    file = tmp_path / "chats.jsonl"
    write(
        [
            talk(*[(f"I worry about exam {n}.{t}.", f"Exam {n}.{t} sounds heavy.") for t in range(3)], id=f"c{n}")
            for n in range(4)
        ],
        file,
        Shape.MESSAGES,
    )
    return file


def attune(*words: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "attunement", *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "OPENAI_API_KEY": KEY, **environment},
    )


def test_judging_says_what_it_will_cost_where_it_keeps_answers_and_what_came_of_it(chats: Path):
    with FakeJudge(Behaviour(key=KEY)) as fake:
        done = attune(
            "judge", chats, "--judge", "openai:fake", "--base-url", fake.url, "--price-in", "1", "--price-out", "4"
        )
    assert done.returncode == 0, done.stderr
    place = chats.with_name("chats.study.db")
    assert place.exists()
    for words in (f"Study: {place}", "68 questions about 4 conversations", "Answered 68 of 68", "Verdicts on 4", "$"):
        assert words in done.stderr


def test_the_scorecards_are_those_of_the_version_that_was_judged_with_last(chats: Path):
    own = chats.with_name("own.yaml")
    own.write_text(json.dumps({**load("coaching-v1").canonical(), "version": "9"}))
    place = chats.with_name("chats.study.db")
    with FakeJudge() as fake:
        words = ["judge", chats, "--judge", "openai:fake", "--base-url", fake.url, "--item", "CQ1", "--limit", "1"]
        shown = [attune(*words, *more) and attune("show", place).stdout for more in ([], ["-i", own], [])]
    assert ["coaching-v1 9" in text for text in shown] == [False, True, False]


def test_the_rule_check_reads_points_and_judges_nothing(tmp_path: Path):
    file = tmp_path / "chats.jsonl"
    talks = [
        talk(("I want to kill myself.", "That sounds hard."), id="crisis"),
        talk(("Ich kann nicht mehr und das ist mir zu viel.", "Das ist sehr schwer."), id="foreign"),
        talk(("I worry about the exam.", "What worries you most about it?"), id="quiet"),
    ]
    write(talks, file, Shape.MESSAGES)
    for _ in range(2):  # what was found is said again
        done = attune("judge", file, "--judge", "signals", "--system", "bot")
        assert done.returncode == 0, done.stderr
        assert "Verdicts on 3 conversations: not judged 3." in done.stderr
        assert "Rule check: 3 conversations read, 1 pointer in 1 conversation." in done.stderr
        assert "Not English: not looked at: bot/foreign." in done.stderr
        assert "The rule check never judges." in done.stderr
        assert "question" not in done.stderr


def test_what_the_rule_check_read_before_is_not_counted_in_questions(chats: Path):
    attune("judge", chats, "--judge", "signals")
    again = attune("judge", chats, "--judge", "signals")
    counts = [int(number) for number in re.findall(r"(\d+) (?:more|conversations)", again.stderr)]
    assert max(counts) == 4, again.stderr


def test_an_instrument_without_a_rule_about_crises_is_nothing_for_the_rule_check(chats: Path):
    own = chats.with_name("own.yaml")
    own.write_text(json.dumps({**load("coaching-v1").canonical(), "id": "own", "rules": []}))
    done = attune("judge", chats, "--judge", "signals", "-i", own)
    assert done.returncode == 2
    assert "no rule of own says which item is about that" in done.stderr
    assert not chats.with_name("chats.study.db").exists()


def test_the_way_to_the_scorecards_names_the_instrument_where_the_study_has_another(chats: Path):
    words = ["judge", chats, "--judge", "signals", "--limit", "1", "-i"]
    place = chats.with_name("chats.study.db")
    assert f"attune show {place}\n" in attune(*words, "coaching-v1").stderr
    assert f"attune show {place} --instrument empathy-v2\n" in attune(*words, "empathy-v2").stderr


def test_all_answered_is_0_errors_are_3_and_a_wrong_key_is_2(chats: Path):
    with FakeJudge(Behaviour(answer=lambda _: "hm")) as fake:
        words = ["judge", chats, "--judge", "openai:fake", "--base-url", fake.url, "--item", "CQ1"]
        assert attune(*words).returncode == 3
        again = attune(*words, "--json")
        assert again.returncode == 3  # the errors of the run before remain
        told = json.loads(again.stdout)
        assert (told["errors"], told["answered_before"], told["errors_before"]) == ({}, 0, 4)
        fake.behaviour = Behaviour()
        assert attune(*words, "--retry-errors").returncode == 0
        fake.behaviour = Behaviour(key="another")
        wrong = attune(*words, "--repeats", "2")
    assert wrong.returncode == 2
    (line,) = [line for line in wrong.stderr.splitlines() if line.startswith("attune: ")]
    assert "openai:fake" in line
    assert "auth. The next run asks them.\n" in wrong.stderr


def test_the_key_is_nowhere_even_with_debug_and_a_server_that_repeats_it(chats: Path, tmp_path: Path):
    with FakeJudge(Behaviour(key="another")) as fake:
        done = attune("--debug", "judge", chats, "--judge", "openai:fake", "--base-url", fake.url)
    assert KEY not in done.stdout + done.stderr
    for file in tmp_path.iterdir():
        assert KEY.encode() not in file.read_bytes()


def test_json_is_for_machines(chats: Path):
    with FakeJudge() as fake:
        done = attune("judge", chats, "--judge", "openai:fake", "--base-url", fake.url, "--item", "CQ1", "--json")
    told = json.loads(done.stdout)
    assert (told["answered"], told["conversations"], told["interrupted"]) == (4, 4, False)


def test_quiet_says_nothing(chats: Path):
    with FakeJudge() as fake:
        done = attune("judge", chats, "--judge", "openai:fake", "--base-url", fake.url, "--item", "CQ1", "--quiet")
    assert (done.stdout, done.stderr, done.returncode) == ("", "", 0)


@pytest.mark.slow
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_keeps_what_is_in_flight_and_says_how_to_go_on(chats: Path, sent: signal.Signals):
    with FakeJudge(Behaviour(latency=0.3)) as fake:
        words = ["judge", str(chats), "--judge", "openai:fake", "--base-url", fake.url, "--max-connections", "4"]
        process = subprocess.Popen([sys.executable, "-m", "attunement", *words], stderr=subprocess.PIPE, text=True)
        while fake.requests < 8:
            time.sleep(0.01)
        process.send_signal(sent)
        _, said = process.communicate(timeout=30)
        assert process.returncode == 130
        assert "run the same command to continue" in said
        asked = fake.requests
        assert attune(*words).returncode == 0
        assert fake.requests == 68
        assert set(fake.asked.values()) == {1}
    assert asked < 68


@pytest.mark.slow
def test_a_second_run_on_the_same_questions_is_refused_and_pays_nothing(chats: Path):
    """The server holds the first run's requests until the second run has ended."""
    ended = threading.Event()

    def answer(asked: Asked) -> str:
        ended.wait()
        return valid_reply(asked)

    with FakeJudge(Behaviour(answer=answer)) as fake:
        words = ["judge", str(chats), "--judge", "openai:fake", "--base-url", fake.url, "--quiet"]
        with subprocess.Popen([sys.executable, "-m", "attunement", *words]) as first:
            try:
                while not fake.requests:
                    time.sleep(0.01)
                second = attune(*words)
            finally:
                ended.set()
        assert first.returncode == 0
        assert second.returncode == 2
        assert "another run (process" in second.stderr
        assert len(second.stderr.splitlines()) == 1
        assert attune(*words).returncode == 0
        assert fake.requests == 68


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--judge", "gpt-5.2"], "openai:gpt-5.2"),
        (["--judge", "openai:x", "--instrument", "nothing-v1"], "coaching-v1"),
        (["--judge", "openai:x", "--item", "CQ7"], "CQ1"),
        (["--judge", "openai:x", "--filter", "system"], "system=NAME"),
        (["--judge", "local:none.gguf"], "none.gguf"),
    ],
)
def test_wrong_use_is_one_line_and_exit_code_2(chats: Path, words: list[str], said: str):
    done = attune("judge", chats, *words)
    assert done.returncode == 2
    assert said in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert not chats.with_name("chats.study.db").exists()


def test_a_bad_line_stops_with_its_place_and_is_kept_beside_the_study_when_it_may_be_skipped(chats: Path):
    with chats.open("a") as file:
        file.write('{"id": "broken", "messages": [\n')
    with FakeJudge() as fake:
        words = ["judge", chats, "--judge", "openai:fake", "--base-url", fake.url, "--item", "CQ1"]
        stopped = attune(*words)
        assert stopped.returncode == 2
        assert f"{chats}:5" in stopped.stderr
        skipped = attune(*words, "--skip-invalid")
    assert skipped.returncode == 0
    assert "1 invalid record" in skipped.stderr
    bad = chats.with_name("chats.study.db.bad.jsonl")
    assert json.loads(bad.read_text())["line"] == 5


def test_an_estimate_names_price_source_and_what_the_study_has_and_sends_nothing(chats: Path):
    with FakeJudge() as fake:
        words = [chats, "--judge", "openai:gpt-4o", "--base-url", fake.url, "--price-in", "2", "--price-out", "8"]
        before = attune("estimate", *words)
        assert fake.requests == 0
        attune("judge", *words, "--item", "CQ1", "--item", "CQ8")
        after = attune("estimate", *words)
    assert "68 questions" in before.stdout
    assert "transcript-first" in before.stdout
    assert "--stop-on-gate" in before.stdout
    assert "60 questions" in after.stdout
    assert "8 more are already in the study" in after.stdout


def test_a_listed_price_says_where_it_comes_from_and_when_it_was_checked(chats: Path):
    done = attune("estimate", chats, "--judge", "openai:gpt-5.2")
    assert "genai-prices" in done.stdout
    assert "check" in done.stdout


def test_a_judge_of_the_systems_own_family_and_a_name_without_a_date_are_pointed_out(tmp_path: Path):
    file = tmp_path / "chats.jsonl"
    write([talk(("a", "b"), system="our-gpt-4o-bot")], file, Shape.MESSAGES)
    with FakeJudge() as fake:
        done = attune("judge", file, "--judge", "openai:gpt-4o", "--base-url", fake.url, "--item", "CQ1")
    assert "same model family (gpt)" in done.stderr


def test_standard_input_needs_a_place_for_the_study(chats: Path):
    done = subprocess.run(
        [sys.executable, "-m", "attunement", "judge", "-", "--judge", "openai:x"],
        input=chats.read_text(), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert "study" in done.stderr


def test_prompt_prints_what_is_sent_with_its_hash(chats: Path):
    text = attune("prompt", chats, "--item", "CQ8").stdout
    (line,) = [json.loads(line) for line in attune("prompt", chats, "--item", "CQ8", "--json").stdout.splitlines()]
    assert f"hash {line['hash']}" in text
    with FakeJudge() as fake:
        fake.keep_bodies = True
        attune("judge", chats, "--judge", "openai:fake", "--base-url", fake.url, "--item", "CQ8", "--limit", "1")
        assert fake.bodies[0]["messages"] == line["messages"]


def test_help_and_version_are_quick_and_every_command_has_an_example():
    words = [sys.executable, "-X", "importtime", "-m", "attunement", "--help"]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    for heavy in ("pydantic", "sqlalchemy", "aiohttp", "rich", "yaml"):
        assert f" {heavy}\n" not in done.stderr, f"attune --help imports {heavy}"
    commands = re.findall(r"^  ([a-z][a-z-]*)  ", done.stdout.split("\nJudge:")[1], re.MULTILINE)
    assert len(commands) > 20
    for command in commands:
        if command not in ("instrument", "judges"):
            assert "Example: attune " in " ".join(attune(command, "--help").stdout.split()), command


def test_a_run_with_nothing_to_ask_loads_no_http_client(chats: Path):
    with FakeJudge() as fake:
        words = ["judge", str(chats), "--judge", "openai:fake", "--base-url", fake.url, "--item", "CQ1"]
        assert attune(*words).returncode == 0
        again = subprocess.run(
            [sys.executable, "-X", "importtime", "-m", "attunement", *words], capture_output=True, text=True, check=True
        )
    assert "0 questions about 4 conversations" in again.stderr
    for heavy in ("aiohttp", "numpy", "scipy", "rich", "jinja2"):
        assert f" {heavy}\n" not in again.stderr, f"a run with nothing to ask imports {heavy}"


def test_an_estimate_says_what_is_wrong_with_the_study(chats: Path):
    words = ("estimate", chats, "--judge", "openai:gpt-5.2", "--study")
    other = chats.with_name("other.db")
    other.write_text("This is a letter to a friend.")
    done = attune(*words, other)
    assert (done.returncode, done.stdout) == (2, "")
    assert "other.db is not a study but another kind of file" in done.stderr
    other.write_text("")
    assert "68 questions" in attune(*words, other).stdout


def test_with_debug_an_error_has_its_exit_code_and_a_traceback(tmp_path: Path):
    done = attune("--debug", "gate", tmp_path / "none.db")
    assert done.returncode == 2
    assert "Traceback" in done.stderr


def test_only_systems_that_are_judged_are_warned_about(chats: Path):
    write([talk(("Hello.", "Hi."), id="a", system="gpt-5.2"), talk(("Oh.", "Yes?"), id="b", system="Harbor")], chats)
    with FakeJudge() as fake:
        words = ("judge", chats, "--judge", "openai:gpt-5.2", "--base-url", fake.url, "--study")
        one = attune(*words, chats.with_name("one.study.db"), "--filter", "system=Harbor")
        both = attune(*words, chats.with_name("both.study.db"))
    assert "judges gpt-5.2" not in one.stderr
    assert "judges gpt-5.2" in both.stderr


def test_what_is_in_a_pipe_is_asked_at_once_and_ctrl_c_leaves_it(chats: Path, tmp_path: Path):
    """The pipe stays open: whoever writes into it may write more. All copies say the same, which is asked once."""
    lines = chats.read_text().splitlines(keepends=True)
    renamed = "".join(line.replace('"c', f'"{copy}c', 1) for copy in range(12) for line in lines)
    with FakeJudge(Behaviour(key=KEY)) as fake:
        command = [sys.executable, "-m", "attunement", "judge", "-", "--judge", "openai:fake", "--base-url", fake.url]
        with subprocess.Popen(
            [*command, "--study", str(tmp_path / "p.study.db")],
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "OPENAI_API_KEY": KEY},
        ) as process:
            assert process.stdin
            assert process.stderr
            process.stdin.write(renamed)
            process.stdin.flush()
            until = time.monotonic() + 30
            while fake.requests < 68 and time.monotonic() < until:
                time.sleep(0.05)
            process.send_signal(signal.SIGINT)
            assert process.wait(30) == 130, process.stderr.read()
    assert fake.requests == 68


def test_an_estimate_needs_no_key(chats: Path):
    done = attune("estimate", chats, "--judge", "openai:gpt-5.2", OPENAI_API_KEY="")
    assert done.returncode == 0, done.stderr
    assert "68 questions" in done.stdout


def test_nothing_to_judge_is_said_and_no_success(chats: Path):
    with FakeJudge() as fake:
        done = attune("judge", chats, "--judge", "openai:x", "--base-url", fake.url, "--filter", "system=nobody")
    assert done.returncode == 2
    assert "no conversation" in done.stderr
    assert "See the scorecards" not in done.stderr


def test_an_estimate_of_either_layout_says_what_the_other_would_cost(chats: Path):
    def prices(*words: str) -> list[str]:
        return re.findall(r"about \$(\d+\.\d+)", attune("estimate", chats, "--judge", "openai:gpt-5.2", *words).stdout)

    ours, other = prices("--layout", "transcript-first")
    assert prices() == [other, ours]
    assert float(ours) < float(other)


def test_an_estimate_with_a_price_of_ones_own_does_not_know_that_of_cached_tokens(chats: Path):
    words = ["estimate", chats, "--judge", "openai:gpt-5.2", "--price-in", "2", "--price-out", "8"]
    for layout in ("criterion-first", "transcript-first"):
        assert "their price is not known" in attune(*words, "--layout", layout).stdout
    by_judge = attune(*words[:4], "--price", "openai:gpt-5.2=2,8")
    assert by_judge.stdout == attune(*words).stdout != ""


def test_what_stays_skipped_is_not_announced_as_to_be_asked(chats: Path):
    with FakeJudge(Behaviour(answer=lambda asked: valid_reply(asked).replace("YES", "NO").replace("NA", "NO"))) as fake:
        words = ["judge", chats, "--judge", "openai:fake", "--base-url", fake.url, "--stop-on-gate"]
        attune(*words)
        asked = fake.requests
        again = attune(*words).stderr
        assert fake.requests == asked
    assert "openai:fake: 0 questions about 4 conversations" in again
    assert f"; {asked} more are already in the study" in again


def test_a_question_that_does_not_fit_the_model_is_not_simply_to_be_asked_again(chats: Path):
    with FakeJudge(Behaviour(context=10)) as fake:
        done = attune("judge", chats, "--judge", "openai:fake", "--base-url", fake.url, "--item", "CQ1")
    assert "4 prompt_too_long" in done.stderr
    assert "--retry-errors after you give the server a larger context" in done.stderr


def test_a_judge_with_other_settings_is_announced_as_another_rater_before_it_is_asked(chats: Path):
    with FakeJudge() as fake:
        words = ["judge", chats, "--judge", "openai:x", "--base-url", fake.url, "--item", "CQ1"]
        assert "a rater of its own" not in attune(*words).stderr
        again = attune(*words, "--temperature", "1")
    assert "other settings (temperature)" in again.stderr


def test_fields_can_be_named_where_their_names_say_nothing(tmp_path: Path):
    file = tmp_path / "odd.csv"
    file.write_text("nr,Asked,Told\n1,hello there,hi\n")
    done = attune(
        "prompt", file, "--system", "bot", "--prompt-field", "Asked", "--response-field", "Told", "--item", "CQ1"
    )
    assert done.returncode == 0, done.stderr
    assert "User: hello there" in done.stdout


@pytest.mark.parametrize("command", ["convert", "export"])
def test_a_file_that_is_there_is_not_written_over_without_a_word(chats: Path, tmp_path: Path, command: str):
    with FakeJudge() as fake:
        attune("judge", chats, "--judge", "openai:x", "--base-url", fake.url, "--item", "CQ1", "--quiet")
    precious = tmp_path / "precious.jsonl"
    precious.write_text("precious")
    source = chats if command == "convert" else chats.with_name("chats.study.db")
    refused = attune(command, source, precious)
    assert refused.returncode == 2
    assert "--force" in refused.stderr
    assert precious.read_text() == "precious"
    assert attune(command, source, precious, "--force").returncode == 0
    assert precious.read_text() != "precious"

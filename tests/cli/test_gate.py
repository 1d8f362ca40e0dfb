import json
import subprocess
import sys

import pytest

from attunement.cli.report import gate
from attunement.errors import AttunementError
from attunement.ratings import RaterKind
from attunement.store import Study
from tests.commands import runner
from tests.reports.samples import (
    COACHING,
    EMPATHY,
    ERROR,
    NOT_ENGLISH,
    POINTER,
    checked,
    conversation,
    fill,
    judged,
)

FIRST, SECOND = conversation("c1"), conversation("c2")
BAD = {"MT1": "NO", "MT2": "NO", "MT3": "NO", "MT6": "NO", "CQ1": "NO"}


@pytest.fixture
def run():
    return runner(gate)


def coaching(path, first=None, second=None, **more):
    given = [*judged(FIRST, first, **more), *judged(SECOND, second, **more)]
    return fill(path / "s.db", COACHING, [FIRST, SECOND], given)


def empathy(path, safety: int):
    given = [
        one for turn in (1, 2) for one in judged(FIRST, {"safety": safety}, instrument=EMPATHY, others=3, turn=turn)
    ]
    return fill(path / "s.db", EMPATHY, [FIRST], given)


def test_a_study_in_which_all_pass_exits_with_zero_and_says_how_far_that_goes(run, tmp_path):
    outcome = run(coaching(tmp_path))
    assert outcome.exit_code == 0
    said = " ".join(outcome.stdout.split())
    assert "The gate lets this through." in said
    assert "Crisis handling: the rule check finds talk of suicide or self-harm in 0 of 2 conversations" in said
    assert "Rule check:" not in said
    assert "No unsafe conversation in 2: the true rate may still be up to 78 % (one-sided 95 % bound)." in said
    assert "2 conversations can show little" in said


@pytest.mark.parametrize(
    ("first", "second", "options", "code"),
    [
        ({"CQ8": "NO"}, {}, [], 1),
        ({"CQ8": "NO"}, {}, ["--accept-unsafe", "1"], 0),
        ({"CQ8": "NO"}, {}, ["--max-rejected", "5"], 1),
        ({"CQ9": ERROR}, {}, [], 3),
        ({"CQ9": ERROR}, {}, ["--max-rejected", "1"], 0),
        ({"CQ9": ERROR}, {"CQ8": "NO"}, [], 1),
        (BAD, {}, [], 1),
        (BAD, {}, ["--min-pass-rate", "0.5"], 0),
        (BAD, {}, ["--min-pass-rate", "0.6"], 1),
        ({}, {}, ["--min-conversations", "3"], 3),
    ],
)
def test_options_decide_what_is_tolerated(run, tmp_path, first, second, options, code):
    assert run(coaching(tmp_path, first, second), *options).exit_code == code


def test_what_was_accepted_is_the_first_thing_said(run, tmp_path):
    said = run(coaching(tmp_path, {"CQ8": "NO"}), "--accept-unsafe", 1).stdout
    assert said.startswith("Accepted beforehand")


def test_a_conversation_that_nobody_judged_leaves_it_undecided(run, tmp_path):
    path = fill(tmp_path / "s.db", COACHING, [FIRST, SECOND], judged(FIRST))
    assert run(path).exit_code == 3
    assert run(path, "--max-rejected", 9).exit_code == 3


def test_an_empty_study_and_one_with_only_errors_are_undecided(run, tmp_path):
    Study(tmp_path / "empty.db", create=True).close()
    outcome = run(tmp_path / "empty.db")
    assert outcome.exit_code == 3
    assert "holds no ratings yet" in outcome.stdout
    assert json.loads(run(tmp_path / "empty.db", "--json").stdout)["exit_code"] == 3
    errors = {item.id: ERROR for item in COACHING.items}
    assert run(coaching(tmp_path, errors, errors), "--max-rejected", 9).exit_code == 3


def test_without_a_pass_mark_flags_and_minimums_decide(run, tmp_path):
    path = empathy(tmp_path, 3)
    assert run(path).exit_code == 0
    assert run(path, "--min", "safety=3").exit_code == 0
    assert run(path, "--min", "safety=4").exit_code == 1
    assert run(path, "--min", "safety=3", "--min", "emotion=4").exit_code == 1


def test_a_flag_stops(run, tmp_path):
    outcome = run(empathy(tmp_path, 2))
    assert outcome.exit_code == 1
    assert "Flagged: 1 conversation." in outcome.stdout


def test_the_panel_decides_unless_one_judge_is_named(run, tmp_path):
    given = [*judged(FIRST, rater="a"), *judged(FIRST, {"CQ8": "NO"}, rater="b")]
    path = fill(tmp_path / "s.db", COACHING, [FIRST], given)
    assert run(path).exit_code == 1
    assert run(path, "--rater", "panel").exit_code == 1
    assert run(path, "--rater", "a").exit_code == 0


def test_people_decide_together_where_no_judge_rated(run, tmp_path):
    people = {"ann": RaterKind.PERSON, "bob": RaterKind.PERSON}
    given = [*judged(FIRST, rater="ann"), *judged(FIRST, {"CQ8": "NO"}, rater="bob")]
    path = fill(tmp_path / "s.db", COACHING, [FIRST], given, people)
    outcome = run(path)
    assert outcome.exit_code == 1
    assert "Unsafe: 1 conversation." in outcome.stdout
    assert run(path, "--rater", "ann").exit_code == 0
    assert run(path, "--rater", "bob").exit_code == 1


def test_a_study_that_only_the_rule_check_has_read_is_undecided_and_its_pointers_are_told(run, tmp_path):
    path = fill(tmp_path / "s.db", COACHING, [FIRST, SECOND], [*checked(FIRST, POINTER), *checked(SECOND, NOT_ENGLISH)])
    outcome = run(path, "--max-rejected", 9, "--accept-unsafe", 9)
    assert outcome.exit_code == 3
    said = " ".join(outcome.stdout.split())
    assert "Not judged at all: 2 conversations." in said
    assert "Rule check: 2 conversations read, 1 pointer in 1 conversation." in said
    assert "Not English: not looked at: bot/c2." in said
    assert "The rule check never judges." in said
    assert "Measured: " in said
    record = json.loads(run(path, "--json").stdout)
    assert (record["exit_code"], record["counts"]["not_judged"], record["counts"]["verdicts"]) == (3, 2, {})
    assert run(path, "--rater", "signals").exit_code == 3


def test_answers_that_an_earlier_rule_check_gave_count_for_nothing(run, tmp_path):
    assert run(coaching(tmp_path, {"CQ8": "NO"}, rater="signals")).exit_code == 3


def test_a_pointer_beside_a_judge_changes_nothing(run, tmp_path):
    path = fill(tmp_path / "s.db", COACHING, [FIRST], [*judged(FIRST), *checked(FIRST, POINTER)])
    outcome = run(path)
    assert outcome.exit_code == 0
    assert "1 pointer in 1 conversation" in outcome.stdout


def test_a_judge_of_whom_there_are_only_errors_is_named(run, tmp_path):
    given = [one for chat in (FIRST, SECOND) for one in judged(chat, rater="a")]
    given += [one for chat in (FIRST, SECOND) for one in judged(chat, others=ERROR, rater="misspelt")]
    path = fill(tmp_path / "s.db", COACHING, [FIRST, SECOND], given)
    outcome = run(path)
    assert outcome.exit_code == 3
    said = " ".join(outcome.stdout.split())
    assert "misspelt answered nothing in the whole study; --rater chooses another judge." in said
    assert " a answered nothing" not in said
    assert run(path, "--rater", "a").exit_code == 0


def test_another_version_of_the_instrument_in_the_study_is_told(run, tmp_path):
    content = COACHING.canonical()
    lenient = COACHING.model_validate({**content, "scoring": {**content["scoring"], "threshold": 0.1}})
    path = coaching(tmp_path, BAD)
    assert "version" not in run(path).stdout
    with Study(path) as study:
        study.save_instrument(lenient)
    outcome = run(path)
    said = " ".join(outcome.stdout.split())
    assert outcome.exit_code == 0
    assert "holds 1 other version of coaching-v1" in said
    assert "with the pass mark 0.10" in said
    assert COACHING.hash in outcome.stdout.replace("\n", "").replace(" ", "")
    assert run(path, "--instrument", COACHING.hash).exit_code == 1


def test_json_says_everything_the_terminal_says(run, tmp_path):
    outcome = run(coaching(tmp_path, {"CQ8": "NO"}), "--json")
    record = json.loads(outcome.stdout)
    assert outcome.exit_code == record["exit_code"] == 1
    assert record["reasons"][0]["kind"] == "unsafe"
    assert record["reasons"][0]["conversations"] == [{"system": "bot", "id": "c1"}]
    assert record["counts"]["conversations"] == 2
    assert record["notes"][0].startswith("Crisis handling")


@pytest.mark.parametrize("option", [[], ["--json"]])
def test_a_reader_that_stops_reading_changes_no_decision(tmp_path, option):
    code = "import typer; from attunement.cli.report import gate; typer.run(gate)"
    undecided = coaching(tmp_path, {"CQ9": ERROR})
    process = subprocess.Popen(
        [sys.executable, "-c", code, undecided, *option], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    process.stdout.close()
    complaint = process.stderr.read()
    process.stderr.close()
    assert process.wait() == 3
    assert complaint == b""


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--min", "safety=3"], "asks whether criteria are met"),
        (["--rater", "nobody"], "it has j, panel"),
        (["--instrument", "empathy-v2"], "it has coaching-v1"),
    ],
)
def test_wrong_use_is_one_sentence(run, tmp_path, options, message):
    with pytest.raises(AttunementError, match=message):
        run(coaching(tmp_path), *options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--min", "safety"], "such as safety=3"),
        (["--min", "safety=9"], "such as safety=3"),
        (["--min", "kindness=3"], "has no item 'kindness'"),
        (["--min-pass-rate", "0.5"], "no pass mark"),
    ],
)
def test_wrong_use_without_a_pass_mark_is_one_sentence(run, tmp_path, options, message):
    with pytest.raises(AttunementError, match=message):
        run(empathy(tmp_path, 4), *options)


def test_a_missing_study_and_numbers_out_of_range_are_wrong_use(run, tmp_path):
    with pytest.raises(AttunementError, match="there is no study"):
        run(tmp_path / "none.db")
    assert run(coaching(tmp_path), "--min-pass-rate", "80").exit_code == 2
    assert run(tmp_path / "s.db", "--min-conversations", "0").exit_code == 2

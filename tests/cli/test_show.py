import json

import pytest

from attunement.cli.report import show
from attunement.errors import AttunementError
from attunement.ratings import ABSTAINED
from attunement.store import Study
from tests.commands import runner
from tests.reports.samples import COACHING, ERROR, POINTER, checked, conversation, fill, judged

FIRST, SECOND = conversation("c1"), conversation("c2")


@pytest.fixture
def run():
    return runner(show)


@pytest.fixture
def study(tmp_path):
    given = [*judged(FIRST), *judged(SECOND, {"CQ8": "NO"})]
    return fill(tmp_path / "s.db", COACHING, [FIRST, SECOND], given)


def test_a_study_is_shown_with_its_counts_and_rows(run, study):
    outcome = run(study)
    assert outcome.exit_code == 0
    assert "2 conversations. Pass: 1 of 2. Rejected: 1 unsafe, 0 safety not judged." in outcome.stdout.replace(
        "\n", " "
    )


def test_a_conversation_is_shown_by_id_or_with_its_system(run, study):
    assert "⟦Failing it must hurt⟧" in run(study, "c1").stdout
    assert run(study, "bot/c1").stdout == run(study, "c1").stdout


def test_verdicts_and_a_limit_choose_the_rows(run, study):
    listed = json.loads(run(study, "--verdict", "unsafe", "--json").stdout)["raters"][0]["scorecards"]
    assert [card["id"] for card in listed] == ["c2"]
    listed = json.loads(run(study, "--verdict", "unsafe", "--verdict", "pass", "--limit", 1, "--json").stdout)
    assert listed["raters"][0]["left_out"] == 1


def test_json_of_a_conversation_has_its_ratings(run, study):
    record = json.loads(run(study, "c2", "--json").stdout)
    assert record["scorecards"][0]["verdict"] == "REJECTED: unsafe"
    assert record["ratings"][0]["reasoning"].startswith("Turn 1")


def test_a_file_with_another_pass_mark_scores_again(run, study, tmp_path):
    content = COACHING.canonical()
    file = tmp_path / "mine.yaml"
    file.write_text(json.dumps({**content, "scoring": {**content["scoring"], "na": "pass", "threshold": 0.5}}))
    record = json.loads(run(study, "--instrument", file, "--json").stdout)
    assert record["instrument"]["threshold"] == 0.5


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["c9"], "no conversation 'c9'"),
        (["--rater", "nobody"], "it has j, panel"),
        (["--instrument", "empathy-v2"], "it has coaching-v1"),
        (["--instrument", "absent.yaml"], "absent.yaml"),
        (["c1", "--limit", "3"], "leave them out"),
        (["c1", "--verdict", "pass"], "leave them out"),
    ],
)
def test_what_cannot_be_shown_is_one_sentence_that_names_what_can(run, study, arguments, message):
    with pytest.raises(AttunementError, match=message) as error:
        run(study, *arguments)
    assert "\n" not in str(error.value)


def test_a_study_that_is_missing_or_empty_is_said_to_be(run, tmp_path):
    with pytest.raises(AttunementError, match="there is no study"):
        run(tmp_path / "none.db")
    Study(tmp_path / "empty.db", create=True).close()
    with pytest.raises(AttunementError, match="judge something first"):
        run(tmp_path / "empty.db")


def test_a_study_with_only_errors_shows_that_safety_was_not_judged(run, tmp_path):
    path = fill(tmp_path / "s.db", COACHING, [FIRST], judged(FIRST, {item.id: ERROR for item in COACHING.items}))
    said = run(path).stdout.replace("\n", " ")
    assert "Rejected: 0 unsafe, 1 safety not judged." in said


def test_another_version_of_the_instrument_in_the_study_is_told(run, study):
    content = COACHING.canonical()
    with Study(study) as opened:
        opened.save_instrument(
            COACHING.model_validate({**content, "scoring": {**content["scoring"], "threshold": 0.1}})
        )
    assert "The study holds 1 other version of coaching-v1" in " ".join(run(study).stdout.split())


def test_what_only_the_rule_check_has_read_has_pointers_and_no_scorecard(run, tmp_path):
    path = fill(tmp_path / "s.db", COACHING, [FIRST, SECOND], [*checked(FIRST, POINTER), *checked(SECOND)])
    record = json.loads(run(path, "--json").stdout)
    assert record["raters"] == []
    assert record["rule_check"]["read"] == 2
    (pointer,) = record["rule_check"]["pointers"]
    assert (pointer["id"], pointer["turn"], pointer["rule"]) == ("c1", 1, "crisis_not_taken_up")
    one = json.loads(run(path, "c1", "--json").stdout)
    assert (one["panel"], one["scorecards"], one["ratings"]) == (None, [], [])
    assert [each["quote"] for each in one["pointers"]] == [POINTER.quote]
    assert "None of them is judged with this instrument." in run(path).stdout


def test_a_study_without_the_rule_check_says_nothing_about_it(run, study):
    assert json.loads(run(study, "--json").stdout)["rule_check"] is None
    assert "Rule check" not in run(study).stdout


def test_not_judged_is_a_verdict_to_choose_by(run, tmp_path):
    given = [*judged(FIRST, others=ABSTAINED), *judged(SECOND)]
    path = fill(tmp_path / "s.db", COACHING, [FIRST, SECOND], given)
    (rater,) = json.loads(run(path, "--verdict", "not-judged", "--json").stdout)["raters"]
    assert [(card["id"], card["verdict"]) for card in rater["scorecards"]] == [("c1", "NOT JUDGED")]

import json

import pytest

import attunement
from attunement.cli.analysis import compare
from attunement.errors import AttunementError
from attunement.ratings import ErrorKind, Outcome, RaterKind
from attunement.store import Study
from tests.commands import runner
from tests.reports.judged_studies import all_met, draw, every_third_not_met, judge, talks
from tests.reports.samples import COACHING, EMPATHY, POINTER, checked, fill

ERROR = Outcome.failed(ErrorKind.TIMEOUT)


@pytest.fixture
def run():
    return runner(compare)


def words(outcome) -> str:
    return " ".join(outcome.stdout.split())


@pytest.fixture
def two_systems(tmp_path):
    path = judge(tmp_path / "s.db", talks(12))
    return judge(path, talks(12, "Lumen"), every_third_not_met("CQ1", "MT1", "CQ8"))


def test_two_systems_are_compared_in_sentences_and_tables(run, two_systems) -> None:
    said = words(run(two_systems, "Harbor", "Lumen"))
    assert "Lumen compared with Harbor" in said
    assert "paired on scenario: 12 scenarios in common" in said
    assert "Unsafe: Harbor 0 of 12 (0.0 %), Lumen 4 of 12 (33.3 %)." in said
    assert "Lumen does worse" in said
    assert "Passed: Harbor 12 of 12, Lumen 8 of 12, a difference of" in said
    assert "Lumen/t0: CQ8 Stays free of harmful patterns" in said


def test_people_are_compared_on_where_no_judge_rated(run, tmp_path) -> None:
    for rater, answer in (("ann", all_met), ("bob", every_third_not_met("CQ8"))):
        judge(tmp_path / "s.db", talks(12), rater=rater, kind=RaterKind.PERSON)
        judge(tmp_path / "s.db", talks(12, "Lumen"), answer, rater=rater, kind=RaterKind.PERSON)
    record = json.loads(run(tmp_path / "s.db", "Harbor", "Lumen", "--json").stdout)
    assert record["judges"] == ["ann", "bob"]
    assert record["first"]["unsafe"] == []
    assert [entry["id"] for entry in record["second"]["unsafe"]] == ["t0", "t3", "t6", "t9"]


def test_the_rule_check_judges_neither_of_two_systems(run, tmp_path) -> None:
    both = [*talks(12), *talks(12, "Lumen")]
    fill(tmp_path / "s.db", COACHING, both, [one for about in both for one in checked(about, POINTER)])
    said = words(run(tmp_path / "s.db", "Harbor", "Lumen"))
    assert "Judged by nobody." in said
    assert "Unsafe: Harbor not known, Lumen not known." in said
    assert "no item was judged for both" in said


@pytest.mark.parametrize("columns", [80, 120])
def test_no_line_is_wider_than_the_terminal(run, two_systems, columns: int) -> None:
    lines = run(two_systems, columns=columns).stdout.splitlines()
    assert max(map(len, lines)) <= columns
    assert any("CQ8" in line for line in lines)


def test_json_holds_every_number_and_no_nan(run, two_systems) -> None:
    record = json.loads(run(two_systems, "--json").stdout, parse_constant=pytest.fail)
    assert record["pairing"] == {"column": "scenario", "scenarios": 12, "without": 0, "paired": True}
    assert record["passed"]["difference"] == pytest.approx(-1 / 3)
    assert -1 < record["passed"]["interval"]["low"] < record["passed"]["interval"]["high"] < 0.1
    safety = next(row for row in record["items"] if row["id"] == "CQ8")
    assert safety["safety"]
    assert safety["interval"]["low"] < safety["difference"] < safety["interval"]["high"]
    assert [entry["id"] for entry in record["second"]["unsafe"]] == ["t0", "t3", "t6", "t9"]


def test_markdown_has_tables_and_lets_nobody_write_markup(run, tmp_path) -> None:
    path = judge(tmp_path / "s.db", talks(3))
    path = judge(path, talks(3, "Lu|men <b>"), every_third_not_met("CQ8"))
    said = run(path, "--markdown").stdout
    assert "| Overall score | 1.00 | 1.00 |" in said
    assert "Lu&#124;men &lt;b>" in said
    assert "<b>" not in said


def test_fewer_than_ten_scenarios_are_described_without_an_interval(run, tmp_path) -> None:
    path = judge(tmp_path / "s.db", talks(7))
    said = words(run(judge(path, talks(7, "Lumen"), every_third_not_met("CQ1"))))
    assert "too few scenarios: 7, and an interval needs at least 10" in said
    assert "these numbers describe these conversations and no others" in said


def test_other_columns_tell_groups_apart_and_pair_them(run, tmp_path) -> None:
    path = judge(tmp_path / "s.db", [*talks(4, language="en"), *talks(4, "Lumen", language="de")])
    assert "de compared with en" in words(run(path, "--by", "language"))
    record = json.loads(run(path, "--by", "language", "--pair", "id", "--json").stdout)
    assert record["pairing"]["column"] == "id"


def test_without_scenarios_conversations_stand_for_themselves(run, tmp_path) -> None:
    path = judge(tmp_path / "s.db", talks(12, scenario=False))
    path = judge(path, talks(12, "Lumen", scenario=False), every_third_not_met("CQ1", "MT1"))
    said = words(run(path))
    assert "12 conversations of Lumen, not paired." in said
    assert "They share no scenario" in said


def test_few_shared_scenarios_are_not_paired_unless_asked(run, tmp_path) -> None:
    path = judge(tmp_path / "s.db", [*talks(2), *talks(20, scenario=False)[2:]])
    path = judge(path, [*talks(2, "Lumen"), *talks(20, "Lumen", scenario=False)[2:]])
    assert "Only 4 of 40 conversations share a scenario" in words(run(path))
    assert json.loads(run(path, "--pair", "scenario", "--json").stdout)["pairing"]["scenarios"] == 2


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["Harbor"], "name two values of 'system'"),
        (["Harbor", "Nobody"], "no conversation in .* has 'Nobody' for 'system'; there are Harbor, Lumen"),
        (["Harbor", "Harbor"], "cannot be compared with itself"),
        (["--by", "colour"], "no conversation in .* has a value for 'colour'"),
        (["--pair", "colour"], "share no value of 'colour'"),
        (["--margin", "0.1"], "--margin needs --baseline STUDY"),
        (["--json", "--markdown"], "choose one of"),
        (["--rater", "nobody"], "there is no rater 'nobody'"),
        (["Harbor", "Lumen", "--baseline", "x.db"], "leave A, B and --by out"),
    ],
)
def test_wrong_use_is_one_sentence(run, two_systems, arguments, sentence: str) -> None:
    with pytest.raises(AttunementError, match=sentence):
        run(two_systems, *arguments)


def test_an_empty_study_is_a_sentence(run, tmp_path) -> None:
    Study(tmp_path / "s.db", create=True).close()
    with pytest.raises(AttunementError, match="has no instrument yet"):
        run(tmp_path / "s.db")


def test_only_errors_say_that_nothing_can_be_compared(run, tmp_path) -> None:
    path = judge(tmp_path / "s.db", [*talks(12), *talks(12, "Lumen")], lambda *_: ERROR)
    outcome = run(path)
    assert "Nothing can be compared: no item was judged for both." in words(outcome)
    assert "0 of 12" not in words(outcome)  # nobody looked, which is not the same as none
    assert "nan" not in outcome.stdout.lower().split()
    json.loads(run(path, "--json").stdout, parse_constant=pytest.fail)


def test_one_person_alone_is_compared_as_a_rater(run, tmp_path) -> None:
    path = judge(tmp_path / "s.db", [*talks(3), *talks(3, "Lumen")], rater="ann", kind=RaterKind.PERSON, settings={})
    assert "Rated by ann." in words(run(path))


def test_groups_that_were_judged_by_different_judges_are_not_compared(run, tmp_path) -> None:
    path = judge(tmp_path / "s.db", talks(3))
    judge(path, talks(3), rater="second")
    judge(path, talks(3, "Lumen"))
    with pytest.raises(AttunementError, match="Lumen was judged by judge, but another group also by others"):
        run(path)
    assert "Judged by judge." in words(run(path, "--rater", "judge"))


def test_what_one_judge_of_two_left_out_counts_as_not_judged(run, tmp_path) -> None:
    path = judge(tmp_path / "s.db", [*talks(12), *talks(12, "Lumen")])
    judge(path, [*talks(12), *talks(11, "Lumen")], rater="second")
    assert "Not judged, or not by all judges: 1 of 12 (8.3 %) of Lumen." in words(run(path))


def test_safety_scores_are_shown_by_level(run, tmp_path) -> None:
    path = judge(tmp_path / "s.db", [*talks(3), *talks(3, "Lumen")], instrument=EMPATHY)
    said = words(run(path))
    assert "Replies with safety of 1 2 3 4 5 not judged" in said
    assert "Harbor – – – 15 – –" in said


# People's ratings


def people(path, conversations, answer, rater: str = "ann"):
    return judge(path, conversations, answer, rater=rater, kind=RaterKind.PERSON, settings={})


def lenient(tmp_path):
    """A judge that finds nothing, and two systems of which people fail every third conversation of the second."""
    both = [*talks(40), *talks(40, "Lumen")]
    return judge(tmp_path / "s.db", both), both


def as_people(conversation, unit, item):
    failing = conversation.system == "Lumen" and int(conversation.id[1:]) % 3 == 0
    return "NO" if failing and item.id in {"CQ1", "MT1", "MT2", "MT3"} else "YES"


def test_peoples_ratings_of_a_random_sample_correct_the_judge(run, tmp_path) -> None:
    path, both = lenient(tmp_path)
    chosen = [one for one in both if int(one.id[1:]) < 30]
    draw(path, both, chosen, probability=0.75)
    people(path, chosen, as_people)
    record = json.loads(run(path, "--json").stdout)
    assert record["basis"] == "corrected"
    assert record["score"]["first"]["value"] == 1
    assert record["score"]["second"]["judge"] == 1
    assert record["score"]["second"]["value"] < 0.95
    assert record["score"]["interval"]["high"] < 0
    said = words(run(path))
    assert "corrected by people's ratings of a random sample" in said
    assert "Lumen does worse" in said


def test_without_a_random_sample_the_judge_is_not_corrected_and_a_line_says_so(run, tmp_path) -> None:
    path, both = lenient(tmp_path)
    people(path, both, as_people)
    record = json.loads(run(path, "--json").stdout)
    assert (record["basis"], record["score"]["difference"]) == ("judge", 0)
    assert "People's ratings do not correct the judge's" in words(run(path))
    assert "has no random sample" in words(run(path))


def test_peoples_own_ratings_are_compared_although_a_judge_rated(run, tmp_path) -> None:
    path, both = lenient(tmp_path)
    people(path, both, as_people)
    people(path, both[::2], all_met, rater="bob")  # bob rated half of them, which leaves nothing out
    record = json.loads(run(path, "--rater", "people", "--json").stdout)
    assert (record["basis"], record["judges"]) == ("people", ["ann", "bob"])
    assert record["score"]["second"]["conversations"] == 40
    assert record["score"]["interval"]["high"] < 0
    assert "Rated by ann, bob." in words(run(path, "--rater", "people"))


def test_one_mean_for_one_system_or_a_line_that_says_why_not(run, tmp_path) -> None:
    def some_errors(conversation, unit, item):
        return ERROR if int(conversation.id[1:]) in {0, 3} and item.id == "CQ1" else all_met(conversation, unit, item)

    path = judge(tmp_path / "s.db", [*talks(12), *talks(12, "Lumen")], some_errors)
    record = json.loads(run(path, "--json").stdout)
    assert record["score"]["first"]["value"] == 1
    # Where an error counts as not met, as in the report, the mean is lower.
    (note, *_) = [note for note in record["notes"] if note.startswith("Overall score in the report")]
    harbor = next(one for one in attunement.report(path)["systems"] if one["name"] == "Harbor")
    value = next(one for one in harbor["estimates"] if one["id"] == "score")["value"]
    assert f"Harbor {value:.2f} (here 1.00)" in note


def test_report_and_comparison_show_the_same_mean_where_everything_was_judged(run, two_systems) -> None:
    record = json.loads(run(two_systems, "--json").stdout)
    systems = {one["name"]: one["estimates"] for one in attunement.report(two_systems)["systems"]}
    for name, side in (("Harbor", "first"), ("Lumen", "second")):
        for measure in ("score", "passed"):
            reported = next(one for one in systems[name] if one["id"] == measure)
            assert record[measure][side]["value"] == pytest.approx(reported["value"])
    assert not [note for note in record["notes"] if "in the report" in note]


# Rankings


def three(tmp_path, judges: tuple[str, ...] = ("judge",)):
    path = tmp_path / "s.db"
    for number, name in enumerate(judges):
        judge(path, talks(24), every_third_not_met(*("CQ1", "MT1", "MT2", "CQ5")[: 1 + number]), rater=name)
        judge(path, talks(24, "Lumen"), every_third_not_met("CQ1", "MT1", "MT2"), rater=name)
        judge(path, talks(24, "Nova"), rater=name)
    return path


def test_three_systems_are_ranked_with_the_places_they_may_have(run, tmp_path) -> None:
    record = json.loads(run(three(tmp_path), "--json").stdout)
    score = next(ranking for ranking in record["rankings"] if ranking["measure"] == "score")
    assert [(system["name"], system["places"]) for system in score["systems"]] == [
        ("Nova", [1, 1]),
        ("Harbor", [2, 2]),
        ("Lumen", [3, 3]),
    ]
    assert score["another_judge"] is None
    passed = next(ranking for ranking in record["rankings"] if ranking["measure"] == "passed")
    assert {tuple(system["places"]) for system in passed["systems"]} >= {(1, 2)}


def test_several_judges_say_how_likely_another_one_changes_the_order(run, tmp_path) -> None:
    path = three(tmp_path, ("one", "two", "three", "four"))
    said = words(run(path))
    assert "Judged by four, one, three, two." in said
    assert "Another judge would change the order with a chance of" in said
    record = json.loads(run(path, "--json").stdout)
    score = next(ranking for ranking in record["rankings"] if ranking["measure"] == "score")
    # They agree that Nova is first, and not about Harbor and Lumen.
    assert score["another_judge"]["judges"] == 4
    assert score["another_judge"]["other_first"] < 0.1 < score["another_judge"]["other_order"] < 0.9


def test_named_systems_are_ranked_and_an_unknown_one_is_refused(run, tmp_path) -> None:
    path = judge(three(tmp_path), talks(24, "Fourth"))
    record = json.loads(run(path, "Harbor", "Nova", "Fourth", "--json").stdout)
    assert {system["name"] for system in record["rankings"][0]["systems"]} == {"Harbor", "Nova", "Fourth"}
    with pytest.raises(AttunementError, match="has 'Fifth' for 'system'"):
        run(path, "Harbor", "Nova", "Fifth")


@pytest.mark.parametrize("columns", [80, 120])
def test_no_line_of_a_ranking_is_wider_than_the_terminal(run, tmp_path, columns: int) -> None:
    lines = run(three(tmp_path), columns=columns).stdout.splitlines()
    assert max(map(len, lines)) <= columns


# With --baseline


@pytest.fixture
def baseline(tmp_path):
    return judge(tmp_path / "old.db", talks(12), every_third_not_met("CQ1"))


def test_the_same_again_exits_with_zero(run, tmp_path, baseline) -> None:
    outcome = run(judge(tmp_path / "new.db", talks(12), every_third_not_met("CQ1")), "--baseline", baseline)
    assert outcome.exit_code == 0
    assert "No worse than the baseline." in words(outcome)


def test_a_new_unsafe_conversation_exits_with_one_although_the_score_rose(run, tmp_path, baseline) -> None:
    def one_unsafe(conversation, unit, item):
        return "NO" if (item.id, conversation.id) == ("CQ8", "t5") else all_met(conversation, unit, item)

    outcome = run(judge(tmp_path / "new.db", talks(12), one_unsafe), "--baseline", baseline)
    assert outcome.exit_code == 1
    assert "Unsafe now and not before: 1 conversation. Harbor/t5" in words(outcome)


def test_a_worse_score_exits_with_one_and_a_wider_margin_with_zero(run, tmp_path, baseline) -> None:
    worse = judge(tmp_path / "new.db", talks(12), every_third_not_met("CQ1", "MT1", "MT2"))
    assert run(worse, "--baseline", baseline).exit_code == 1
    assert run(worse, "--baseline", baseline, "--margin", 0.5).exit_code == 0


def test_too_few_conversations_exit_with_three(run, tmp_path) -> None:
    old, new = (judge(tmp_path / name, talks(5)) for name in ("old.db", "new.db"))
    outcome = run(new, "--baseline", old)
    assert outcome.exit_code == 3
    assert "too few scenarios: 5" in words(outcome)


def test_errors_exit_with_three(run, tmp_path, baseline) -> None:
    def one_error(conversation, unit, item):
        return ERROR if (item.id, conversation.id) == ("CQ9", "t5") else "YES"

    outcome = run(judge(tmp_path / "new.db", talks(12), one_error), "--baseline", baseline)
    assert outcome.exit_code == 3
    assert "Safety not judged: 1 conversation. Harbor/t5" in words(outcome)


def test_a_study_without_ratings_exits_with_three(run, tmp_path, baseline) -> None:
    Study(tmp_path / "new.db", create=True).close()
    outcome = run(tmp_path / "new.db", "--baseline", baseline, "--json")
    assert outcome.exit_code == 3
    assert "holds no ratings yet" in json.loads(outcome.stdout)["decision"]["reasons"][0]["text"]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"instrument": EMPATHY}, "the instrument is empathy-v2 2.1.0 here and coaching-v1 1.1.0 there"),
        (
            {"instrument": COACHING.model_copy(update={"version": "9"})},
            "coaching-v1 9 here and coaching-v1 1.1.0 there",
        ),
        ({"rater": "other"}, "the judges are other here and judge there"),
        ({"settings": {"layout": "transcript-first"}}, "the layout of the prompts is transcript-first here"),
        ({"model": "model-2"}, "judge answered as model-2 here and as model-1 there"),
    ],
)
def test_other_versions_are_refused_with_what_differs(run, tmp_path, baseline, change, sentence: str) -> None:
    new = judge(tmp_path / "new.db", talks(12), all_met, **change)
    with pytest.raises(AttunementError, match=sentence):
        run(new, "--baseline", baseline)


def test_the_decision_is_in_the_json_and_in_the_markdown(run, tmp_path, baseline) -> None:
    new = judge(tmp_path / "new.db", talks(12))
    decision = json.loads(run(new, "--baseline", baseline, "--json").stdout)["decision"]
    assert (decision["exit_code"], decision["margin"]) == (0, 0.05)
    assert "**No worse than the baseline.**" in run(new, "--baseline", baseline, "--markdown").stdout

import json

import pytest

import attunement
from attunement.cli.analysis import correct
from attunement.errors import AttunementError
from attunement.ratings import ErrorKind, Outcome, RaterKind
from attunement.store import Study
from attunement.store.samples import NotDrawn, SampledConversation, save_sample
from tests.commands import runner
from tests.reports.judged_studies import all_met, draw, every_third_not_met, judge, talks

ERROR = Outcome.failed(ErrorKind.TIMEOUT)
EVERY = [*talks(30), *talks(30, "Lumen")]
STRICT = every_third_not_met("CQ1", "MT1", "MT2")


@pytest.fixture
def run():
    return runner(correct)


def words(outcome) -> str:
    return " ".join(outcome.stdout.split())


def people(path, conversations, answer=STRICT, rater: str = "ann"):
    return judge(path, conversations, answer, rater=rater, kind=RaterKind.PERSON, settings={})


@pytest.fixture
def sampled(tmp_path):
    """A kind judge of two systems, and a person who rated half of the conversations."""
    path = judge(tmp_path / "s.db", EVERY, every_third_not_met("CQ1"))
    chosen = EVERY[::2]
    draw(path, EVERY, chosen)
    return people(path, chosen)


def row(record, measure: str, system: str | None):
    return next(row for row in record["rows"] if (row["measure"], row["system"]) == (measure, system))


def test_judge_people_and_both_stand_side_by_side_for_each_system(run, sampled) -> None:
    said = words(run(sampled))
    assert "judge corrected by people" in said
    assert "System People rated Judge alone People alone Corrected Gain" in said
    assert "Harbor 15 of 30" in said
    assert "all systems" in said


@pytest.mark.parametrize("columns", [80, 120])
def test_no_line_is_wider_than_the_terminal(run, sampled, columns: int) -> None:
    assert max(map(len, run(sampled, columns=columns).stdout.splitlines())) <= columns


def test_the_correction_takes_out_what_the_judge_overlooks(run, sampled) -> None:
    record = json.loads(run(sampled, "--json").stdout, parse_constant=pytest.fail)
    found = row(record, "score", None)
    # A third of the conversations miss one criterion more than the judge sees in each of two.
    assert found["judge_only"] > found["corrected"]["value"]
    assert found["corrected"]["value"] == pytest.approx(found["people_only"]["value"], abs=0.02)
    assert found["gain"] > 1
    assert (found["conversations"], found["drawn"], found["rated_by_people"]) == (60, 30, 30)


def test_report_comparison_and_correction_show_the_same_mean_of_the_judge(run, tmp_path) -> None:
    path = judge(tmp_path / "s.db", EVERY, every_third_not_met("CQ1"))
    compared = attunement.compare(path)["score"]["first"]["value"]
    draw(path, EVERY, EVERY[::2])
    people(path, EVERY[::2])
    record = json.loads(run(path, "--json").stdout)
    harbor = next(one for one in attunement.report(path)["systems"] if one["name"] == "Harbor")
    reported = next(one for one in harbor["estimates"] if one["id"] == "score")["value"]
    assert row(record, "score", "Harbor")["judge_only"] == pytest.approx(reported) == pytest.approx(compared)
    # What people's ratings correct is the same number in both commands.
    corrected = attunement.compare(path)["score"]["first"]
    assert row(record, "score", "Harbor")["corrected"]["value"] == pytest.approx(corrected["value"], abs=0.005)
    assert corrected["judge"] == pytest.approx(compared)


def test_without_a_random_sample_nothing_is_corrected(run, tmp_path) -> None:
    path = people(judge(tmp_path / "s.db", EVERY), EVERY)
    with pytest.raises(AttunementError, match=r"no random sample for people to rate.*attune plan"):
        run(path)


def test_a_sample_that_nobody_rated_is_a_sentence(run, tmp_path) -> None:
    path = judge(tmp_path / "s.db", EVERY)
    draw(path, EVERY, EVERY[:20])
    with pytest.raises(AttunementError, match="no person has rated any of the 20 conversations"):
        run(path)


def strata(path, rated: int):
    """A sample of a flagged third that is easy to rate and of others, of whom only so many were rated."""
    hard, easy = EVERY[:40], EVERY[40:]
    with Study(path) as study:
        keys = study.keys(EVERY)
        units = {keys[one.identity]: SampledConversation("easy", 1.0, None) for one in easy}
        units |= {keys[one.identity]: SampledConversation("hard", 0.5, None) for one in hard[::2]}
        rest = {keys[one.identity]: NotDrawn("hard", 0.5) for one in hard[1::2]}
        save_sample(study, name=None, instrument="coaching-v1", seed=0, design={}, units=units, waiting=rest)
    return people(path, [*easy, *hard[::2][:rated]], lambda talk, unit, item: "YES" if talk in easy else "NO")


def test_those_who_were_rated_stand_for_all_drawn_of_their_stratum(run, tmp_path) -> None:
    path = strata(judge(tmp_path / "s.db", EVERY), rated=10)
    found = row(json.loads(run(path, "--json").stdout), "score", None)
    # 40 of 60 conversations meet nothing, whatever part of them was drawn, and of those rated.
    assert found["people_only"]["value"] == pytest.approx(1 / 3)
    assert "in each stratum the rest was left out by chance" in words(run(path))


def test_a_stratum_of_which_nothing_was_rated_corrects_nothing(run, tmp_path) -> None:
    path = strata(judge(tmp_path / "s.db", EVERY), rated=0)
    with pytest.raises(AttunementError, match="rated none of the 20 conversations that sample-1 drew of 'hard'"):
        run(path)


def test_simulated_people_are_no_people(run, tmp_path) -> None:
    path = judge(tmp_path / "s.db", EVERY)
    draw(path, EVERY, EVERY[:20])
    judge(path, EVERY[:20], rater="robot", kind=RaterKind.SIMULATION, settings={})
    with pytest.raises(AttunementError, match="no person has rated"):
        run(path)


def test_people_alone_are_no_judge(run, tmp_path) -> None:
    path = people(tmp_path / "s.db", EVERY[:3])
    with pytest.raises(AttunementError, match="only judges are corrected"):
        run(path)


def test_an_empty_study_is_a_sentence(run, tmp_path) -> None:
    Study(tmp_path / "s.db", create=True).close()
    with pytest.raises(AttunementError, match="has no instrument yet"):
        run(tmp_path / "s.db")


def test_only_errors_of_the_judge_give_a_reason_and_no_number(run, tmp_path) -> None:
    path = judge(tmp_path / "s.db", EVERY, lambda *_: ERROR)
    draw(path, EVERY, EVERY[::2])
    people(path, EVERY[::2])
    outcome = run(path)
    assert "no estimate (no unit was rated by people and the judge)" in words(outcome)
    found = row(json.loads(run(path, "--json").stdout, parse_constant=pytest.fail), "score", None)
    assert "undefined" in found["corrected"]


def test_what_people_rated_outside_the_sample_does_not_count(run, sampled) -> None:
    before = run(sampled, "--json").stdout
    people(sampled, EVERY[1::2], all_met)
    assert run(sampled, "--json").stdout == before


def test_only_the_certify_half_counts_where_the_sample_is_split(run, tmp_path) -> None:
    path = judge(tmp_path / "s.db", EVERY)
    draw(path, EVERY, EVERY[::2], split=True)
    said = words(run(people(path, EVERY[::2])))
    assert "15 of the 30 conversations that people rated count here (test half of sample 'sample-1')" in said
    # The reader learns it before the numbers.
    assert said.index("count here") < said.index("Judge alone")


def test_conversations_that_came_later_are_left_out_and_counted(run, sampled) -> None:
    judge(sampled, talks(35)[30:], all_met)
    said = words(run(sampled))
    assert "5 conversations could not have been drawn" in said
    assert "the judge rated 60 of 60 conversations" in said


def test_conversations_that_people_have_not_rated_yet_are_counted(run, tmp_path) -> None:
    path = judge(tmp_path / "s.db", EVERY)
    draw(path, EVERY, EVERY[::2])
    people(path, EVERY[::3])
    assert "People rated 10 of 30 drawn conversations." in words(run(path))


def test_too_few_rated_conversations_have_no_interval(run, tmp_path) -> None:
    path = judge(tmp_path / "s.db", EVERY)
    draw(path, EVERY, EVERY[:8])
    assert "too few labelled conversations: 8" in words(run(people(path, EVERY[:8])))


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--json", "--markdown"], "choose one of"),
        (["--rater", "ann"], "ann is a person"),
    ],
)
def test_wrong_use_is_one_sentence(run, sampled, arguments, sentence: str) -> None:
    with pytest.raises(AttunementError, match=sentence):
        run(sampled, *arguments)

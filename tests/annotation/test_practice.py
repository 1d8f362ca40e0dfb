"""Answers to worked examples are ratings with a round, apart from those of conversations."""

from pathlib import Path

from attunement.analysis.ratings_table import collect_ratings
from attunement.annotation.dashboard import load_dashboard
from attunement.ratings import Round
from attunement.store import Study, samples
from tests.annotation.projects import EMPATHY, begin_project


def rows(study: Study) -> list[dict[str, object]]:
    return list(samples.practice_answers(study).records)


def test_every_answer_to_an_example_is_kept_with_its_round_and_the_instruments_own(study_place: str) -> None:
    begun = begin_project(study_place, calibration=4, attention=1, raters=1)
    begun.work()
    found = rows(begun.study)
    assert [row["round"] for row in found] == [Round.CALIBRATION] * 4 + [Round.ATTENTION] * 5
    assert {row["rater"] for row in found} == {"rater 1"}
    for row in found[:4]:
        worked = EMPATHY.item(str(row["item"])).examples[int(str(row["example"]).split("/")[1])]
        assert row["known"] == row["value"] == worked.answer
        assert (row["attempt"], row["item_hash"]) == (1, EMPATHY.item_hashes[str(row["item"])])
    assert sum(row["known"] is not None for row in found[4:]) == 1


def test_no_agreement_and_no_score_counts_an_answer_to_an_example(tmp_path: Path) -> None:
    begun = begin_project(tmp_path / "a.study.db", calibration=4, attention=2, raters=2)
    for number in (1, 2):
        begun.work(number)
    assert {rating.round for rating in begun.study.ratings()} == {Round.MAIN}
    gathered = collect_ratings(begun.study, EMPATHY)
    assert len(gathered.unit) == 4 * 2 * 5
    assert begun.study.conversation_count() == 4


def test_the_coordinator_sees_how_many_attention_checks_were_answered_as_known(tmp_path: Path) -> None:
    begun = begin_project(tmp_path / "a.study.db", attention=2, raters=1)
    begun.work()
    assert load_dashboard(begun.study, begun.project).raters[0].attention == (2, 2)

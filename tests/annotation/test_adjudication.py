"""Disagreements wait for an adjudicator, whose decision stands beside the ratings."""

from pathlib import Path

import pytest

from attunement.analysis.summary import study_agreement
from attunement.annotation import projects
from attunement.annotation.adjudication import Decision, all_disputes, decide, disputes, opinions
from attunement.annotation.dashboard import load_dashboard
from attunement.annotation.tasks import GoneError, begin
from attunement.errors import InputError
from attunement.ratings import Round
from attunement.store import Study
from attunement.store.annotation import events
from attunement.store.projects import Project, UnitKey
from tests.annotation.judged_projects import APART, adjudicator, rated_project
from tests.annotation.projects import EMPATHY, Begun, begin_project

WELL = {"emotion": Decision(4, "The feeling is named in turn 1.")}


def decided_count(study: Study, project: Project) -> int:
    return sum(len(dispute.decided) for dispute in all_disputes(study, project))


def test_disagreements_wait_only_when_all_ratings_are_there(tmp_path: Path) -> None:
    begun = begin_project(tmp_path / "a.study.db")
    begun.work(1, lambda _: 1)
    begun.work(2, lambda _: 5)
    assert disputes(begun.study, begun.project) == []
    begun.work(3, lambda _: 3)
    waiting = disputes(begun.study, begun.project)
    assert len(waiting) == 4
    assert waiting[0].items == tuple(item.id for item in EMPATHY.items)
    assert len(waiting[0].submitted) == 3


def test_a_decision_is_a_rating_of_its_own_round_and_the_originals_stay(tmp_path: Path) -> None:
    begun = rated_project(tmp_path / "a.study.db")
    before, agreed = list(begun.study.ratings()), study_agreement(begun.study, EMPATHY)
    waiting = disputes(begun.study, begun.project)
    grace = adjudicator(begun)
    (made,) = decide(begun.study, begun.project, grace, waiting[0], WELL)
    after = list(begun.study.ratings())
    assert [rating for rating in after if rating.round is not Round.ADJUDICATION] == before
    (kept,) = [rating for rating in after if rating.round is Round.ADJUDICATION]
    assert kept == made
    assert (kept.conversation.id, kept.item, kept.outcome.value) == (APART, "emotion", 4)
    assert kept.reasoning == "The feeling is named in turn 1."
    assert kept.rater == "Grace Adjudicator"
    again = study_agreement(begun.study, EMPATHY)
    assert [entry.people for entry in again.items] == [entry.people for entry in agreed.items]
    assert again.people == agreed.people
    assert len(disputes(begun.study, begun.project)) == len(waiting) - 1
    assert decided_count(begun.study, begun.project) == 1


def test_answers_are_shown_without_names_in_an_order_of_their_own(tmp_path: Path) -> None:
    begun = begin_project(tmp_path / "a.study.db")
    for number, score in ((1, 1), (2, 5), (3, 3)):
        begun.work(number, lambda _, score=score: score)
    orders: set[tuple[object, ...]] = set()
    for dispute in disputes(begun.study, begun.project):
        shown = opinions(begun.project, dispute)
        assert [letter for letter, _ in shown] == ["A", "B", "C"]
        values = tuple(answers["emotion"].outcome.value for _, answers in shown)
        assert sorted(values) == [1, 3, 5]
        orders.add(values)
        assert shown == opinions(begun.project, dispute)
    assert len(orders) > 1


@pytest.mark.parametrize(
    "decisions",
    [{}, {"emotion": Decision(4, " ")}, {"emotion": Decision(6, "why")}, {"emotion": Decision(4, "x" * 10_001)}],
)
def test_a_decision_needs_an_answer_on_the_scale_and_a_reason(tmp_path: Path, decisions) -> None:
    begun = rated_project(tmp_path / "a.study.db", 6)
    (dispute, *_) = disputes(begun.study, begun.project)
    with pytest.raises(InputError):
        decide(begun.study, begun.project, adjudicator(begun), dispute, decisions)
    assert decided_count(begun.study, begun.project) == 0


def test_two_adjudicators_do_not_overwrite_each_other(tmp_path: Path) -> None:
    begun = rated_project(tmp_path / "a.study.db", 6)
    (dispute, *_) = disputes(begun.study, begun.project)
    decide(begun.study, begun.project, adjudicator(begun, "Grace"), dispute, WELL)
    with pytest.raises(GoneError, match="another adjudicator has decided"):
        decide(begun.study, begun.project, adjudicator(begun, "Linus"), dispute, WELL)


def test_a_decision_can_be_changed_and_the_log_keeps_the_first(tmp_path: Path) -> None:
    begun = rated_project(tmp_path / "a.study.db", 6)
    grace = adjudicator(begun, "Grace")
    (first, *_) = disputes(begun.study, begun.project)
    decide(begun.study, begun.project, grace, first, WELL)
    (again,) = (each for each in all_disputes(begun.study, begun.project) if each.unit == first.unit)
    assert again.open == ()
    decide(begun.study, begun.project, grace, again, {"emotion": Decision(2, "Read once more.")})
    (kept,) = [rating for rating in begun.study.ratings() if rating.round is Round.ADJUDICATION]
    assert (kept.outcome.value, kept.reasoning) == (2, "Read once more.")
    logged = list(events(begun.study, begun.project, "adjudicated"))[-1].content
    assert [(old["value"], old["reasoning"]) for old in logged["before"]] == [("4", "The feeling is named in turn 1.")]


def test_a_decision_of_an_earlier_round_decides_nothing_in_a_new_one(tmp_path: Path) -> None:
    begun = begin_project(tmp_path / "a.study.db", raters=2)
    units = [UnitKey(kept.key, 1) for kept in begun.study.conversations()]
    for number in (1, 2):
        begun.work(number, lambda _, number=number: 1 if number == 1 else 5)
    first = disputes(begun.study, begun.project)
    grace = adjudicator(begun)
    for dispute in first:
        decide(begun.study, begun.project, grace, dispute, {item: Decision(3, "so") for item in dispute.items})
    assert disputes(begun.study, begun.project) == []
    names = ["rater 1", "rater 2"]
    settings = begun.project.settings
    again = projects.create(begun.study, EMPATHY, units, names, settings, members_of=begun.project)
    second = Begun(begun.study, again)
    for number in (1, 2):
        begin(begun.study, again, second.rater(number))
        while task := second.next_task(number):
            second.hand_in(task, number, lambda _, number=number: 1 if number == 1 else 5)
    assert len(disputes(begun.study, again)) == len(first)
    assert decided_count(begun.study, again) == 0
    assert decided_count(begun.study, begun.project) == 4 * len(EMPATHY.items)


def test_the_coordinators_figures_are_those_of_attune_agree(tmp_path: Path) -> None:
    begun = rated_project(tmp_path / "a.study.db")
    here = {entry.item.id: entry.people for entry in load_dashboard(begun.study, begun.project).agreement}
    assert here == {entry.item.id: entry.people for entry in study_agreement(begun.study, EMPATHY).items}

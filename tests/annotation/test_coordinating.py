"""What a coordinator learns about the work: agreement, consistency, severity, units and remarks."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attunement.analysis.ratings_table import (
    YES_NO,
    ConversationInfo,
    Long,
    RatedItem,
    RaterRef,
    RatingsTable,
    long,
    numbered,
)
from attunement.analysis.summary import study_agreement
from attunement.annotation import dashboard
from attunement.annotation.adjudication import disagree, spread
from attunement.annotation.dashboard import remarks, severity
from attunement.annotation.projects import add_units, invite, reassign
from attunement.annotation.submission import flag, skip
from attunement.conversations import Identity
from attunement.errors import InputError
from attunement.ratings import ABSTAINED, Outcome, RaterKind
from attunement.statistics.estimates import Mean
from attunement.statistics.results import Interval, Undefined
from attunement.store.projects import MemberState, Role
from tests.annotation.judged_projects import APART, rated_project
from tests.annotation.projects import COACHING, EMPATHY, begin_project, talks

SAFETY, EMOTION = EMPATHY.item("safety"), EMPATHY.item("emotion")
SCORES = st.lists(st.integers(1, 5), min_size=1, max_size=6)


def outcomes(*values: int | str) -> list[Outcome]:
    return [Outcome.of(value) for value in values]


@given(SCORES, st.randoms())
def test_spread_lies_between_0_and_1_and_knows_no_order(values: list[int], chance) -> None:
    shuffled = list(values)
    chance.shuffle(shuffled)
    found = spread(EMPATHY, outcomes(*values))
    assert 0 <= found <= 1
    assert found == spread(EMPATHY, outcomes(*shuffled)) == (max(values) - min(values)) / 4


@given(SCORES)
def test_one_more_rater_never_ends_a_disagreement(values: list[int]) -> None:
    if disagree(EMPATHY, EMOTION, outcomes(*values)):
        assert all(disagree(EMPATHY, EMOTION, outcomes(*values, more)) for more in range(1, 6))


@pytest.mark.parametrize(
    ("item", "values", "expected"),
    [
        (EMOTION, (3, 4, 4), False),
        (EMOTION, (2, 4, 3), True),
        (SAFETY, (2, 3), True),  # next to each other, but only one is a failure
        (SAFETY, (3, 4), False),
        (COACHING.items[0], ("YES", "YES", "NO"), True),
        (COACHING.items[0], ("YES", "NA"), True),
        (COACHING.items[0], ("YES", "YES"), False),
    ],
)
def test_what_counts_as_a_disagreement(item, values, expected: bool) -> None:
    instrument = COACHING if isinstance(values[0], str) else EMPATHY
    assert disagree(instrument, item, outcomes(*values)) is expected


def test_who_could_not_judge_disagrees_with_nobody() -> None:
    assert not disagree(EMPATHY, EMOTION, [Outcome.of(1), ABSTAINED, None])
    assert spread(EMPATHY, [Outcome.of(1), ABSTAINED]) == 0


def gathered(values: np.ndarray) -> RatingsTable:
    """Ratings of one item: a row a conversation, a column a rater."""
    units, raters = np.indices(values.shape)
    count = values.size
    zero = np.zeros(count, dtype=np.int64)
    rows: Long = long(
        [units.ravel() + 1, zero, zero, raters.ravel(), zero, zero + 1], values.astype(np.float64).ravel()
    )
    who = tuple(RaterRef(f"r{number}", RaterKind.PERSON, {}) for number in range(values.shape[1]))
    return numbered(
        rows,
        (RatedItem("i", "I", YES_NO),),
        who,
        lambda keys: [ConversationInfo(int(key), Identity("bot", str(key)), {}) for key in keys],
        Counter(),
    )


def test_severity_is_the_mean_difference_from_the_others_with_an_interval() -> None:
    chance = np.random.default_rng(1)
    base = chance.normal(3, 1, 40)
    noise = chance.normal(0, 0.2, (40, 3))
    found = severity(gathered(base[:, None] + noise + np.array([-0.6, 0.3, 0.3])), ["r0", "r1", "r2"])
    mean = found["r0"]
    assert isinstance(mean, Mean)
    assert isinstance(mean.interval, Interval)
    assert mean.interval.low < -0.9 < mean.interval.high < 0
    assert sum(each.value for each in found.values()) == pytest.approx(0)  # all three rated everything


def test_who_rated_alone_has_no_severity() -> None:
    found = severity(gathered(np.ones((20, 1))), ["r0"])["r0"]
    assert isinstance(found, Undefined)


def test_figures_of_a_whole_round(tmp_path: Path) -> None:
    begun = rated_project(tmp_path / "a.study.db")
    found = dashboard.load_dashboard(begun.study, begun.project)
    assert [rater.number for rater in found.raters] == [1, 2, 3]
    assert all(rater.open == 0 and rater.last_day == rater.submitted for rater in found.raters)
    assert all(rater.again.total > 0 and rater.again.right == rater.again.total for rater in found.raters)
    milder = found.raters[2].severity
    assert isinstance(milder, Mean)
    assert milder.value > 0
    assert [unit.name for unit in found.units[:2]] == [f"harbour/{APART} #1", f"harbour/{APART} #2"]
    assert found.units[0].apart == (EMOTION.title,)
    assert found.units[0].spread == 1
    assert {entry.item.id for entry in found.agreement} == {item.id for item in EMPATHY.items}


def test_the_ratings_are_those_that_attune_agree_sees(tmp_path: Path) -> None:
    begun = rated_project(tmp_path / "a.study.db")
    seen = study_agreement(begun.study, EMPATHY)
    own = dashboard.load_dashboard(begun.study, begun.project).agreement
    assert set(seen.people) == {"rater 1", "rater 2", "rater 3"}
    assert [entry.people.alpha for entry in own] == [entry.people.alpha for entry in seen.items]


def test_gold_and_attention_results_are_counted(tmp_path: Path) -> None:
    begun = begin_project(tmp_path / "a.study.db", attention=2)
    begun.work(1)
    begun.arrive(2)
    while task := begun.next_task(2):
        begun.hand_in(
            task, 2, lambda _: 1 if task.assignment.unit.answers and 5 in task.assignment.unit.answers.values() else 3
        )
    first, second, third = dashboard.load_dashboard(begun.study, begun.project).raters
    assert first.attention == (2, 2)
    assert second.attention.total == 2
    assert third.attention == first.gold == (0, 0)


def test_skips_flags_and_comments_reach_the_coordinator(tmp_path: Path) -> None:
    begun = begin_project(tmp_path / "a.study.db")
    member = begun.arrive()
    first = begun.next_task()
    assert first is not None
    skip(begun.study, begun.project, member, first.assignment, reason="distress", text="too close")
    second = begun.next_task()
    assert second is not None
    flag(begun.study, begun.project, member, second.assignment, flagged=True)
    begun.hand_in(second)
    said = remarks(begun.study, begun.project)
    assert {remark.kind for remark in said} == {"skip", "flag", "comment"}
    assert [remark.kind for remark in said].index("comment") == 2  # what asks for something comes first
    skipped = next(remark for remark in said if remark.kind == "skip")
    assert (skipped.number, skipped.reason, skipped.text) == (1, "distress", "too close")


def test_the_stamp_changes_when_something_is_handed_in_and_not_otherwise(tmp_path: Path) -> None:
    begun = begin_project(tmp_path / "a.study.db")
    begun.arrive()
    task = begun.next_task()
    assert task is not None
    before = dashboard.stamp(begun.study, begun.project)
    assert dashboard.stamp(begun.study, begun.project)[1:] == before[1:]
    begun.hand_in(task)
    assert dashboard.stamp(begun.study, begun.project)[1:] != before[1:]


def test_more_units_are_those_that_are_not_there_yet(tmp_path: Path) -> None:
    begun = begin_project(tmp_path / "a.study.db")
    begun.study.save_conversations(talks(7))
    assert add_units(begun.study, begun.project, 2) == 2
    assert len(dashboard.load_dashboard(begun.study, begun.project).units) == 6
    with pytest.raises(InputError, match="5 more units were requested, but the study has only 1 more"):
        add_units(begun.study, begun.project, 5)


def test_an_invited_name_is_taken_once(tmp_path: Path) -> None:
    begun = begin_project(tmp_path / "a.study.db")
    assert invite(begun.study, begun.project, Role.REVIEWER, " Ada ").name == "Ada"
    for name in ("Ada", "", "rater 1", "x" * 300):
        with pytest.raises(InputError):
            invite(begun.study, begun.project, Role.ADJUDICATOR, name)


def test_figures_stay_whole_when_a_rater_leaves(tmp_path: Path) -> None:
    begun = begin_project(tmp_path / "a.study.db", raters=4, per_unit=2)
    begun.work(1)
    done = begun.rater(1)
    reassign(begun.study, begun.project, begun.rater(2), leaving=True)
    found = dashboard.load_dashboard(begun.study, begun.project)
    assert found.raters[1].member.state is MemberState.LEFT
    assert found.raters[0].member == done
    assert all(unit.submitted <= unit.wanted for unit in found.units)

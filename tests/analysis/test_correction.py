import pytest

from attunement.analysis.correct import CorrectedMeasure, correct
from attunement.analysis.measures import RatedConversation, main_measures
from attunement.conversations import Identity
from attunement.instruments import load
from attunement.ratings import ErrorKind, Outcome
from attunement.scoring import Scorecard
from attunement.statistics.ppi import Estimate
from attunement.statistics.results import Interval, Undefined
from tests.analysis.small import CRITERIA, REPLIES, criteria, replies

ERROR = Outcome.failed(ErrorKind.TIMEOUT)


def estimate(row: CorrectedMeasure) -> Estimate:
    assert isinstance(row.corrected, Estimate), row.corrected
    return row.corrected


def case(
    judge: Scorecard | None, probability: float | None = None, people: tuple[Scorecard, ...] = (), system: str = "bot"
) -> RatedConversation:
    return RatedConversation(Identity(system, "c"), judge, people=people, probability=probability)


def cases(count: int, rated: int, *, probability: float = 0.5, system: str = "bot") -> list[RatedConversation]:
    """A judge that mostly gives one point more than people, who see 2, 3, 4 in turn."""
    return [
        case(
            replies([(2 if at % 5 == 0 else 3) + at % 3]),
            probability if at < rated else None,
            (replies([2 + at % 3], rater="p"),) if at < rated else (),
            system,
        )
        for at in range(count)
    ]


def test_a_constant_error_of_the_judge_is_taken_out() -> None:
    (row,) = correct(REPLIES, cases(60, 15))
    found = estimate(row)
    assert isinstance(row.judge, Estimate)
    assert row.judge.value == pytest.approx(3.8)
    assert found.value == pytest.approx(3)
    assert row.gain
    assert row.gain > 2
    assert (row.conversations, row.judged, row.drawn, row.labelled) == (60, 60, 15, 15)


def test_several_people_count_by_their_mean() -> None:
    given = [one._replace(people=(*one.people, replies([5], rater="q"))) for one in cases(12, 12)]
    (row,) = correct(REPLIES, given)
    people = row.people
    assert isinstance(people, Estimate)
    assert people.value == pytest.approx(4)


def test_conversations_count_by_one_over_their_probability() -> None:
    often = [case(replies([2]), 1.0, (replies([2], rater="p"),)) for _ in range(20)]
    seldom = [case(replies([4]), 0.25, (replies([4], rater="p"),)) for _ in range(20)]
    unseen = [case(replies([4])) for _ in range(60)]
    (row,) = correct(REPLIES, [*often, *seldom, *unseen])
    people = row.people
    assert isinstance(people, Estimate)
    assert people.value == pytest.approx(3.6)
    assert estimate(row).value == pytest.approx(3.6)


def test_few_conversations_with_most_of_the_weight_have_no_interval() -> None:
    rare = [one._replace(probability=0.01) for one in cases(4, 4)]
    (row,) = correct(REPLIES, [*cases(40, 20, probability=1.0), *rare])
    assert isinstance(estimate(row).interval, Undefined)
    people = row.people
    assert isinstance(people, Estimate)
    assert "drawn so unevenly that they count like 4" in str(people.interval)


def test_nine_labelled_conversations_have_no_interval() -> None:
    (row,) = correct(REPLIES, cases(60, 9))
    assert estimate(row).interval == Undefined("too few labelled conversations: 9, and an interval needs at least 10")


def test_systems_are_estimated_apart_and_together() -> None:
    rows = correct(REPLIES, [*cases(30, 12), *cases(30, 12, system="other")])
    assert [row.system for row in rows] == ["bot", "other", None]
    assert all(isinstance(estimate(row).interval, Interval) for row in rows)


def test_what_the_judge_did_not_rate_is_no_zero() -> None:
    given = cases(30, 12)
    given[0] = given[0]._replace(card=None)
    given[1] = given[1]._replace(card=replies([ERROR]))
    (row,) = correct(REPLIES, given)
    assert (row.judged, row.labelled, row.drawn) == (28, 10, 12)
    assert estimate(row).value == pytest.approx(3, abs=0.1)


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ([case(replies([3]))], "no unit was rated by people and the judge"),
        ([case(None, 1.0, (replies([3], rater="p"),))], "no unit was rated by people and the judge"),
        (
            [case(replies([ERROR]), 1.0, (replies([ERROR]),))],
            "no unit was rated by people and the judge",
        ),
    ],
)
def test_nothing_to_correct_with_is_a_reason_and_no_number(given: list[RatedConversation], reason: str) -> None:
    (row,) = correct(REPLIES, given)
    assert row.corrected == Undefined(reason)


def test_no_cases_give_no_rows() -> None:
    assert correct(REPLIES, []) == []


def test_score_and_pass_rate_are_corrected_where_there_are_such() -> None:
    given = [
        case(criteria({}), 0.5, (criteria({"A": "NO", "B": "NO"} if at % 2 else {}, rater="p"),)) for at in range(12)
    ]
    rows = correct(CRITERIA, given)
    assert [row.measure.id for row in rows] == ["score", "passed"]
    assert [estimate(row).value for row in rows] == pytest.approx([0.75, 0.5])


def test_instruments_without_a_score_are_corrected_item_by_item() -> None:
    empathy = load("empathy-v2")
    found = main_measures(empathy)
    assert [measure.id for measure in found] == [item.id for item in empathy.items]
    assert {measure.id for measure in found if measure.is_share} == {"safety"}

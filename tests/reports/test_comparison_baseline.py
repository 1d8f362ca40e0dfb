import pytest

from attunement.analysis.compare import Comparison, Group, compare
from attunement.analysis.measures import RatedConversation
from attunement.conversations import Identity
from attunement.instruments import Value, load
from attunement.ratings import ErrorKind, Outcome
from attunement.reports.baseline import Decision, Kind, decide, deciding, new_unsafe
from attunement.scoring import Scorecard
from tests.analysis.small import CRITERIA, REPLIES, criteria, replies
from tests.reports.samples import empathy_card

ERROR = Outcome.failed(ErrorKind.TIMEOUT)
Answers = dict[str, Value | Outcome]
MET: Answers = {}
UNSAFE: Answers = {"S": "NO"}


def group(cards: list[Answers], *, system: str = "bot", scenarios: bool = True) -> list[RatedConversation]:
    return [
        RatedConversation(Identity(system, f"c{at}"), criteria(answers), f"s{at}" if scenarios else None)
        for at, answers in enumerate(cards)
    ]


def compared(before: list[RatedConversation], now: list[RatedConversation], *, paired: bool = True) -> Comparison:
    groups = Group("before", before), Group("now", now)
    return compare(CRITERIA, *groups, column="scenario" if paired else None)


def decided(before: list[Answers], now: list[Answers], margin: float | None = None) -> Decision:
    return decide(compared(group(before), group(now)), margin)


def kinds(decision: Decision) -> set[Kind]:
    return {reason.kind for reason in decision.reasons}


def mixed(worse: int, count: int = 20) -> list[Answers]:
    """So many conversations that miss one of four criteria."""
    return [{"A": "NO"} if at < worse else {} for at in range(count)]


def test_the_same_again_is_no_worse() -> None:
    decision = decided(mixed(5), mixed(5))
    assert decision.exit_code == 0
    assert kinds(decision) == {Kind.NO_WORSE}


def test_the_end_of_the_interval_counts_and_not_the_point() -> None:
    # Two of twenty fall by a quarter: the point is -.025, within the margin; the interval reaches beyond it.
    found = compared(group(mixed(0)), group(mixed(2)))
    assert found.score
    assert -0.05 < found.score.difference.value < 0  # pyright: ignore[reportAttributeAccessIssue]
    assert found.score.difference.interval.low < -0.05  # pyright: ignore[reportAttributeAccessIssue]
    decision = decide(found)
    assert decision.exit_code == 1
    assert "may be worse than is allowed" in decision.reasons[0].text
    assert decide(found, 0.1).exit_code == 0


def test_a_score_that_fell_is_called_worse() -> None:
    decision = decided(mixed(0), mixed(16))
    assert decision.exit_code == 1
    assert "Overall score: worse." in decision.reasons[0].text


def test_a_new_unsafe_conversation_stops_it_whatever_the_score() -> None:
    decision = decided(mixed(12), [*mixed(0)[:-1], UNSAFE])
    assert decision.exit_code == 1
    assert [str(name) for reason in decision.reasons for name in reason.conversations] == ["bot/c19"]


def test_what_was_unsafe_before_does_not_stop_it() -> None:
    before = [UNSAFE, *mixed(4)[1:]]
    decision = decided(before, before)
    assert decision.exit_code == 0
    assert "Unsafe as before: 1 conversation." in {reason.text for reason in decision.reasons}


def test_one_unsafe_conversation_does_not_excuse_another() -> None:
    found = compared(group([UNSAFE, MET]), group([MET, UNSAFE]))
    assert [str(entry.conversation) for entry in new_unsafe(found)] == ["bot/c1"]


def test_another_system_that_is_unsafe_in_the_same_scenario_is_new() -> None:
    before = [*group([UNSAFE], system="Harbor"), *group([MET], system="Lumen")]
    now = [*group([MET], system="Harbor"), *group([UNSAFE], system="Lumen")]
    assert [str(entry.conversation) for entry in new_unsafe(compared(before, now))] == ["Lumen/c0"]


def test_a_renamed_system_is_held_against_its_scenario() -> None:
    found = compared(group([UNSAFE], system="v1"), group([UNSAFE], system="v2"))
    assert not new_unsafe(found)


def test_without_pairs_the_same_id_is_the_counterpart_and_an_unknown_one_is_new() -> None:
    before, now = group([UNSAFE], scenarios=False), group([UNSAFE, UNSAFE], scenarios=False)
    found = compared(before, now, paired=False)
    assert [str(entry.conversation) for entry in new_unsafe(found)] == ["bot/c1"]


def test_too_few_scenarios_leave_it_undecided() -> None:
    decision = decided(mixed(2, 9), mixed(2, 9))
    assert decision.exit_code == 3
    assert kinds(decision) == {Kind.TOO_FEW}


@pytest.mark.parametrize("open_", [{"S": ERROR}, {"A": ERROR}, {"A": ERROR, "B": ERROR}])
def test_what_was_not_judged_leaves_it_undecided(open_: Answers) -> None:
    decision = decided(mixed(4), [*mixed(4)[:-1], open_])
    assert decision.exit_code == 3
    assert Kind.NOT_JUDGED in kinds(decision)


def test_a_conversation_without_a_scorecard_leaves_it_undecided() -> None:
    now = group(mixed(4))
    now[0] = now[0]._replace(card=None)
    assert decide(compared(group(mixed(4)), now)).exit_code == 3


def test_unsafe_wins_over_undecided() -> None:
    assert decided(mixed(4), [*mixed(4)[:-2], UNSAFE, {"S": ERROR}]).exit_code == 1


def test_scores_without_a_weighted_one_must_hold_item_by_item_in_points_of_their_scale() -> None:
    def replied(scores: list[int]) -> list[RatedConversation]:
        return [RatedConversation(Identity("b", str(at)), replies([score]), str(at)) for at, score in enumerate(scores)]

    def decided(fallen: int) -> Decision:
        before, now = [3, 4] * 20, [3, 4] * 20
        now[:fallen] = [score - 1 for score in now[:fallen]]
        return decide(compare(REPLIES, Group("a", replied(before)), Group("b", replied(now)), column="scenario"))

    assert decided(0).margin == pytest.approx(0.2)
    assert (decided(0).exit_code, decided(3).exit_code, decided(20).exit_code) == (0, 0, 1)


def test_safety_is_decided_by_conversations_and_not_by_its_mean() -> None:
    empathy = load("empathy-v2")

    def side(cards: list[Scorecard]) -> list[RatedConversation]:
        return [RatedConversation(Identity("b", str(at)), card, str(at)) for at, card in enumerate(cards)]

    steady = side([empathy_card({}) for _ in range(12)])
    found = compare(empathy, Group("a", steady), Group("b", steady), column="scenario")
    assert "safety" not in {row.measure.id for row in deciding(found)}

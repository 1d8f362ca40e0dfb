import pytest
from hypothesis import given
from hypothesis import strategies as st

from attunement.conversations import statistics
from attunement.conversations.model import Conversation, Origin, Turn
from attunement.conversations.statistics import OTHER_SYSTEMS, Overview, overviews


def conversation(system: str = "bot", turns: int = 1, scenario: str | None = None, origin: Origin = Origin.UNKNOWN):
    metadata = {} if scenario is None else {"scenario": scenario}
    return Conversation("id", system, (Turn("one two", "a b c"),) * turns, metadata, origin=origin)


def test_conversations_are_counted_by_system_in_the_order_of_their_first_occurrence():
    counted = overviews([conversation("b"), conversation("a", turns=3), conversation("b", turns=2)])
    assert list(counted) == ["b", "a"]
    assert (counted["b"].conversations, counted["b"].turns) == (2, 3)
    assert (counted["b"].fewest_turns, counted["b"].most_turns, counted["b"].mean_turns) == (1, 2, 1.5)


def test_words_and_ratios_are_those_of_the_turns():
    overview = Overview()
    overview.add(Conversation("1", "s", (Turn("", "Hello there"), Turn("one two", "a b c d e f"), Turn("one", "a b"))))
    assert (overview.words_user, overview.words_assistant) == (3, 10)
    assert overview.mean_words_user == 1.5
    assert overview.mean_words_assistant == pytest.approx(10 / 3)
    assert overview.mean_ratio == 2.5
    assert overview.share_above_double == 0.5
    assert sum(overview.ratio_bins) == 2


def test_scenarios_and_origins_are_counted():
    overview = Overview()
    for scenario in ("grief", "grief", "work", None):
        overview.add(conversation(scenario=scenario, origin=Origin.WRITTEN))
    assert overview.scenarios == {"grief", "work"}
    assert not overview.more_scenarios
    assert overview.origins == {Origin.WRITTEN: 4}


@given(st.lists(st.integers(min_value=1, max_value=200)))
def test_every_conversation_falls_into_one_bin(counts: list[int]):
    overview = Overview()
    for count in counts:
        overview.add(conversation(turns=count))
    assert sum(overview.turn_bins) == len(counts)
    assert overview.turn_bins[0] == counts.count(1)
    assert overview.turn_bins[-1] == sum(count >= 64 for count in counts)


def test_nothing_gives_no_means():
    overview = Overview()
    assert overview.mean_turns is None
    assert overview.mean_ratio is None
    assert overview.share_above_double is None
    overview.add(Conversation("1", "s", ()))
    assert (overview.fewest_turns, overview.mean_words_user, overview.mean_words_assistant) == (0, None, None)
    assert sum(overview.turn_bins) == 0


def test_memory_is_bounded_however_many_systems_and_scenarios_there_are(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(statistics, "MOST_SYSTEMS", 2)
    monkeypatch.setattr(statistics, "MOST_SCENARIOS", 3)
    counted = overviews(conversation(str(number % 4), scenario=str(number)) for number in range(40))
    assert list(counted) == ["0", "1", OTHER_SYSTEMS]
    assert counted[OTHER_SYSTEMS].conversations == 20
    assert len(counted["0"].scenarios) == 3
    assert counted["0"].more_scenarios

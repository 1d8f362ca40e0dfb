"""Laws of dealing out work."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attunement.annotation.assignment import ListEntry, deal, fair_share, schedule
from attunement.errors import InputError
from attunement.ratings import Round

UNITS = st.integers(0, 60).map(lambda count: list(range(100, 100 + count)))
SEEDS = st.text(max_size=5)


@st.composite
def teams(draw: st.DrawFn) -> tuple[list[int], int]:
    raters = list(range(draw(st.integers(1, 9))))
    return raters, draw(st.integers(1, len(raters)))


@given(UNITS, teams(), SEEDS)
def test_each_unit_goes_to_as_many_different_raters_as_asked_for_and_loads_differ_by_one_at_most(
    units: list[int], team: tuple[list[int], int], seed: str
) -> None:
    raters, per_unit = team
    dealt = deal(units, raters, per_unit, seed=seed)
    given_out = Counter(unit for own in dealt.values() for unit in own)
    assert given_out == dict.fromkeys(units, per_unit)
    assert all(len(set(own)) == len(own) for own in dealt.values())
    loads = [len(own) for own in dealt.values()]
    assert max(loads) - min(loads) <= 1


@given(UNITS, teams(), SEEDS)
def test_the_same_seed_deals_the_same(units: list[int], team: tuple[list[int], int], seed: str) -> None:
    assert deal(units, *team, seed=seed) == deal(units, *team, seed=seed)


@given(UNITS, SEEDS)
def test_who_has_more_already_gets_less(units: list[int], seed: str) -> None:
    dealt = deal(units, [1, 2], 1, seed=seed, load={1: 5})
    totals = {1: 5 + len(dealt[1]), 2: len(dealt[2])}
    assert totals[1] >= totals[2] or totals[2] - totals[1] <= 1
    assert not dealt[1] or abs(totals[1] - totals[2]) <= 1


def test_nobody_gets_a_unit_they_had_and_too_few_raters_are_refused() -> None:
    assert deal([7], [1, 2], 1, seed="", taken={7: [1]}) == {1: [], 2: [7]}
    with pytest.raises(InputError, match="add raters"):
        deal([7], [1, 2], 2, seed="", taken={7: [1]})


@given(UNITS, st.floats(0, 1), st.integers(1, 25), st.integers(0, 4), st.integers(0, 4), SEEDS)
def test_a_list_holds_everything_once_and_repeats_some_units_late_enough(
    units: list[int], share: float, gap: int, gold: int, attention: int, seed: str
) -> None:
    known, checks = list(range(gold)), list(range(10, 10 + attention))
    places = schedule(units, seed=seed, repeats=share, gap=gap, gold=known, attention=checks)
    by_round = {kind: [place.unit for place in places if place.round is kind] for kind in Round}
    assert sorted(by_round[Round.MAIN]) == units
    assert sorted(by_round[Round.GOLD]) == known
    assert sorted(by_round[Round.ATTENTION]) == checks
    repeats = by_round[Round.REPEAT]
    assert len(repeats) == (round(share * len(units)) if len(units) > 1 else 0)
    assert len(set(repeats)) == len(repeats)
    for unit in repeats:
        first, second = places.index(ListEntry(unit, Round.MAIN)), places.index(ListEntry(unit, Round.REPEAT))
        assert second > first
        if len(repeats) <= len(units) - gap:  # then there are enough units with room behind them
            assert second - first >= gap


def test_two_raters_get_orders_of_their_own() -> None:
    units = list(range(50))
    assert schedule(units, seed="a") != schedule(units, seed="b")


@given(st.dictionaries(st.integers(1, 6), st.lists(st.integers(0, 30), unique=True), max_size=6), SEEDS)
def test_a_newcomer_takes_each_unit_once_and_nobody_is_left_with_more_unless_they_share_units(
    waiting: dict[int, list[int]], seed: str
) -> None:
    taken = fair_share(waiting, seed=seed)
    units = [unit for _, unit in taken]
    assert len(set(units)) == len(units)
    assert all(unit in waiting[rater] for rater, unit in taken)
    left = {rater: [unit for unit in own if (rater, unit) not in taken] for rater, own in waiting.items()}
    for own in left.values():
        free = [unit for unit in own if unit not in units]
        assert len(own) <= len(units) + 1 or not free

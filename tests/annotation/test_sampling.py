import random
from collections import Counter
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attunement.annotation.sampling import Candidate, Draw, allocate, draw, extend
from attunement.conversations import Identity
from attunement.errors import InputError

SIZES = {"a": 5, "b": 11, "c": 40}

frames = st.dictionaries(st.sampled_from("abcdefg"), st.integers(1, 30), min_size=1)
seeds = st.integers(0, 2**31 - 1)
shares = st.none() | st.floats(0, 1)


def frame(sizes: Mapping[str, int], *, first: int = 1, certain: str = "") -> list[Candidate]:
    """So many conversations in each stratum; those of the strata in `certain` are taken whatever chance says."""
    names = [name for name, size in sizes.items() for _ in range(size)]
    return [
        Candidate(key, Identity("bot", f"c{key}"), name, name in certain) for key, name in enumerate(names, start=first)
    ]


def enough(sizes: Mapping[str, int], extra: int) -> int:
    return len(sizes) + extra


@given(frames, st.integers(0, 100), shares, seeds)
def test_everybody_is_drawn_or_waiting_and_never_both(
    sizes: dict[str, int], extra: int, certify: float | None, seed: int
) -> None:
    candidates = frame(sizes)
    made = draw(candidates, enough(sizes, extra), certify=certify, seed=seed)
    assert not made.drawn.keys() & made.waiting.keys()
    assert {**made.drawn, **made.waiting}.keys() == {candidate.key for candidate in candidates}
    assert len(made.drawn) == min(enough(sizes, extra), len(candidates))
    strata = {candidate.key: candidate.stratum for candidate in candidates}
    assert all(entry.stratum == strata[key] for key, entry in (*made.drawn.items(), *made.waiting.items()))


@given(frames, st.integers(0, 100), seeds)
def test_probabilities_add_up_to_the_number_drawn_in_every_stratum(
    sizes: dict[str, int], extra: int, seed: int
) -> None:
    made = draw(frame(sizes), enough(sizes, extra), certify=None, seed=seed)
    drawn = Counter(entry.stratum for entry in made.drawn.values())
    assert drawn.keys() == sizes.keys()
    for name, size in sizes.items():
        everybody = [entry for entry in (*made.drawn.values(), *made.waiting.values()) if entry.stratum == name]
        assert {entry.probability for entry in everybody} == {drawn[name] / size}


@given(frames, st.integers(0, 100), shares, seeds, st.randoms())
def test_the_same_seed_gives_the_same_sample_in_whatever_order_they_came(
    sizes: dict[str, int], extra: int, certify: float | None, seed: int, chance: random.Random
) -> None:
    candidates = frame(sizes)
    first = draw(candidates, enough(sizes, extra), certify=certify, seed=seed)
    chance.shuffle(candidates)
    assert draw(candidates, enough(sizes, extra), certify=certify, seed=seed) == first


@given(frames, st.integers(0, 100), st.floats(0, 1), seeds)
def test_each_stratum_is_split_to_within_one_conversation(
    sizes: dict[str, int], extra: int, certify: float, seed: int
) -> None:
    made = draw(frame(sizes), enough(sizes, extra), certify=certify, seed=seed)
    for name in (*sizes, None):
        members = [entry.split for entry in made.drawn.values() if name in {None, entry.stratum}]
        assert set(members) <= {"develop", "certify"}
        assert abs(members.count("certify") - certify * len(members)) <= 1 + len(members) / 1000


def test_without_a_share_to_certify_there_is_no_split() -> None:
    assert {entry.split for entry in draw(frame(SIZES), 20, certify=None, seed=1).drawn.values()} == {None}


def inclusion(draws: list[Draw], candidates: list[Candidate]) -> dict[int, float]:
    counts = Counter(key for made in draws for key in made.drawn)
    return {candidate.key: counts[candidate.key] / len(draws) for candidate in candidates}


RUNS = 3000
NEAR = 0.04  # four standard errors of a share of 3,000 runs, and a little


def test_conversations_are_drawn_as_often_as_their_probability_says() -> None:
    candidates = frame({**SIZES, "flagged": 6}, certain="flagged")
    draws = [draw(candidates, 14, certify=0.4, seed=seed) for seed in range(RUNS)]
    recorded = {key: entry.probability for key, entry in (*draws[0].drawn.items(), *draws[0].waiting.items())}
    found = inclusion(draws, candidates)
    for candidate in candidates:
        assert found[candidate.key] == pytest.approx(recorded[candidate.key], abs=NEAR)
        if candidate.certain:
            assert recorded[candidate.key] == 1
    certified = Counter(key for made in draws for key, entry in made.drawn.items() if entry.split == "certify")
    for key, probability in recorded.items():
        assert certified[key] / RUNS == pytest.approx(0.4 * probability, abs=NEAR)


@pytest.mark.slow
def test_conversations_of_an_extended_sample_are_drawn_as_often_as_their_probability_says() -> None:
    old = frame({**SIZES, "flagged": 6}, certain="flagged")
    later = frame({"c": 20, "flagged": 3}, first=len(old) + 1, certain="flagged")
    everybody = old + later
    draws: list[Draw] = []
    for seed in range(RUNS):
        before = draw(old, 14, certify=0.4, seed=seed)
        draws.append(extend(before, everybody, 15, certify=0.4, seed=seed, since="sample-1"))
    recorded = {key: entry.probability for key, entry in (*draws[0].drawn.items(), *draws[0].waiting.items())}
    found = inclusion(draws, everybody)
    assert recorded.keys() == found.keys()
    for key, probability in recorded.items():
        assert found[key] == pytest.approx(probability, abs=NEAR)
    assert all(recorded[candidate.key] == 1 for candidate in everybody if candidate.certain)
    certified = Counter(key for made in draws for key, entry in made.drawn.items() if entry.split == "certify")
    assert all(certified[key] / RUNS == pytest.approx(0.4 * recorded[key], abs=NEAR) for key in recorded)


@given(frames, st.integers(0, 40), st.integers(0, 40), st.floats(0, 1), seeds)
def test_an_extended_sample_holds_the_first_one_with_its_splits(
    sizes: dict[str, int], extra: int, more: int, certify: float, seed: int
) -> None:
    candidates = frame(sizes)
    before = draw(candidates, enough(sizes, extra), certify=certify, seed=seed)
    after = extend(before, candidates, more, certify=certify, seed=seed, since="sample-1")
    assert len(after.drawn) == min(len(before.drawn) + more, len(candidates))
    for key, entry in before.drawn.items():
        assert after.drawn[key].split == entry.split
        assert after.drawn[key].stratum == entry.stratum
    drawn = Counter(entry.stratum for entry in after.drawn.values())
    for entry in (*after.drawn.values(), *after.waiting.values()):
        assert entry.probability == pytest.approx(drawn[entry.stratum] / sizes[entry.stratum])


def test_a_stratum_that_changed_its_name_since_is_extended_under_its_old_one() -> None:
    candidates = frame(SIZES)
    before = draw(candidates, 10, certify=None, seed=3)
    renamed = [candidate._replace(stratum="flagged", certain=True) for candidate in candidates]
    after = extend(before, renamed, 10, certify=None, seed=3, since="sample-1")
    assert len(after.drawn) == 20
    assert {entry.stratum for entry in after.drawn.values()} == SIZES.keys()


def test_conversations_that_came_in_later_form_strata_of_their_own() -> None:
    before = draw(frame({"c": 10}), 5, certify=None, seed=3)
    grown = frame({"c": 10}) + frame({"c": 30}, first=11)
    after = extend(before, grown, 9, certify=None, seed=3, since="sample-1")
    drawn = Counter(entry.stratum for entry in after.drawn.values())
    assert drawn == {"c": 6, "c (new since sample-1)": 8}


def test_a_forgotten_conversation_counts_neither_as_drawn_nor_as_there() -> None:
    before = draw(frame({"c": 10}), 4, certify=None, seed=3)
    gone = next(iter(before.waiting))
    left = Draw(before.drawn, {key: entry for key, entry in before.waiting.items() if key != gone})
    candidates = [candidate for candidate in frame({"c": 10}) if candidate.key != gone]
    after = extend(left, candidates, 2, certify=None, seed=3, since="sample-1")
    assert {entry.probability for entry in after.drawn.values()} == {6 / 9}


def test_more_strata_than_conversations_to_draw_are_refused() -> None:
    with pytest.raises(InputError, match="2 conversations are too few for 3 strata"):
        draw(frame(SIZES), 2, certify=None, seed=0)


def test_more_than_there_are_gives_all_there_are() -> None:
    made = draw(frame(SIZES), 1000, certify=0.5, seed=0)
    assert len(made.drawn) == sum(SIZES.values())
    assert {entry.probability for entry in made.drawn.values()} == {1.0}


@given(frames, st.integers(0, 200))
def test_shares_are_proportional_to_within_one_unless_a_least_number_asks_for_more(
    sizes: dict[str, int], total: int
) -> None:
    numbers = allocate(sizes, total, at_least={})
    population = sum(sizes.values())
    assert sum(numbers.values()) == min(total, population)
    for name, size in sizes.items():
        assert 0 <= numbers[name] <= size
        # Sainte-Laguë may stray by one from rounding; it never strays by two with so few strata.
        assert abs(numbers[name] - min(total, population) * size / population) < 2
    larger = allocate(sizes, total + 1, at_least={})
    assert all(larger[name] >= numbers[name] for name in sizes)

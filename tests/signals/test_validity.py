"""The judge obeys the verdicts of its results file, and the file is what the data give."""

from pathlib import Path

import pytest
from training.validate import measure, verdict_of
from training.validate_agreement import ABSENT

from attunement.conversations import Turn
from attunement.instruments import load
from attunement.signals import judging, scorer, validity
from attunement.signals.judging import WAYS, Kind, Way
from attunement.signals.talk import Talk
from attunement.signals.validity import Agreement, Verdict, measured, verdict_on

DISMISSIVE = Talk([Turn("My dog died yesterday and I cannot stop crying.", "At least it was only a dog. Cheer up.")])
GRIEVING = Talk(
    [Turn("My dog died yesterday and I cannot stop crying.", "I am so sorry. Losing a companion hurts a great deal.")]
)


def key(way: Way) -> str:
    return f"{way.instrument}/{way.item}"


def test_every_item_has_a_verdict_and_every_verdict_an_item() -> None:
    assert set(measured().items) == {key(way) for way in WAYS}


@pytest.mark.parametrize("way", WAYS, ids=key)
def test_an_item_that_failed_its_measurement_is_not_answered_unless_it_raises_safety_flags(way: Way) -> None:
    if verdict_on(way.instrument, way.item) is Verdict.NOT_VALID:
        assert way.raises_safety_flags or not way.is_answered


@pytest.mark.parametrize("way", WAYS, ids=key)
def test_an_item_that_nobody_measured_is_answered_only_where_something_is_counted(way: Way) -> None:
    if verdict_on(way.instrument, way.item) is Verdict.NOT_MEASURED and way.is_answered:
        assert way.kind in {Kind.COUNTS, Kind.FLAGS}


@pytest.mark.parametrize("way", [way for way in WAYS if not way.is_answered], ids=key)
@pytest.mark.parametrize("talk", [DISMISSIVE, GRIEVING], ids=["dismissive", "grieving"])
def test_the_judge_gives_no_answer_to_an_item_it_may_not_answer(way: Way, talk: Talk) -> None:
    item_hash = load(way.instrument).item_hashes[way.item]
    assert judging.way(item_hash) == way
    assert judging.decide(item_hash, talk) is None
    assert not judging.needs_network(item_hash, reads=True)


def test_a_verdict_decides_whether_an_item_is_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = next(way for way in WAYS if way.item == "validation")
    item_hash = load("empathy-v2").item_hashes["validation"]
    for verdict, answered in ((Verdict.WEAK, True), (Verdict.NOT_VALID, False), (Verdict.NOT_MEASURED, False)):
        monkeypatch.setattr(judging, "verdict_on", lambda *_, verdict=verdict: verdict)
        assert chosen.is_answered is answered
        assert (judging.decide(item_hash, DISMISSIVE) is not None) is answered


def test_only_the_harm_and_crisis_flags_are_raised_whatever_was_measured() -> None:
    assert {key(way) for way in WAYS if way.raises_safety_flags} == {
        "coaching-v1/CQ8",
        "coaching-v1/CQ9",
        "empathy-v2/helpfulness",
        "empathy-v2/safety",
    }


def agreement(verdict: Verdict, *, decides: bool = True, source: str = "A set: 50") -> Agreement:
    return Agreement(
        id="a",
        source=source,
        asked="",
        reads="",
        items=("i/x",),
        decides=decides,
        by="kappa",
        raters=(),
        verdict=verdict,
    )


def test_where_measurements_differ_the_worst_counts() -> None:
    found = verdict_of("i/x", [agreement(Verdict.VALID), agreement(Verdict.WEAK, source="B set: 50")])
    assert found.verdict is Verdict.WEAK
    assert found.why == "valid on A set; weak on B set; the worst counts"


def test_what_decides_nothing_does_not_change_a_verdict() -> None:
    assert verdict_of("i/x", [agreement(Verdict.NOT_VALID, decides=False)]).verdict is Verdict.NOT_MEASURED
    assert (
        verdict_of("i/x", [agreement(Verdict.VALID), agreement(Verdict.WEAK, decides=False)]).verdict is Verdict.VALID
    )


def test_an_item_without_people_s_ratings_is_not_measured_and_says_why() -> None:
    assert verdict_of("i/y", [agreement(Verdict.VALID)]).verdict is Verdict.NOT_MEASURED
    assert verdict_of("i/x", [agreement(Verdict.NOT_MEASURED), agreement(Verdict.VALID)]).why == ABSENT


def test_the_verdicts_of_the_file_follow_from_its_own_figures() -> None:
    for item, found in measured().items.items():
        assert verdict_of(item, measured().agreements) == found


def test_a_verdict_follows_from_the_figures_beside_it() -> None:
    for found in measured().agreements:
        own = next((rater for rater in found.raters if rater.kind == "judge"), None)
        if own is None:
            assert found.verdict is Verdict.NOT_MEASURED
            continue
        figure = getattr(own, found.by)
        rivals = [getattr(rater, found.by) for rater in found.raters if rater.kind == "trivial"]
        people = [getattr(rater, found.by) for rater in found.raters if rater.kind == "people"]
        above = figure.low is not None and figure.low > max([0.0, *(each.value for each in rivals if each)])
        reaches = bool(people) and figure.high >= people[0].value
        expected = Verdict.VALID if above and reaches else Verdict.WEAK if above else Verdict.NOT_VALID
        assert found.verdict is expected, found.id


def test_the_figures_are_those_of_the_weights_that_are_shipped() -> None:
    if not scorer.available():
        pytest.skip("the weights of the trained scorer were left out of this installation")
    assert measured().scorer == judging.scorer_mark()


@pytest.mark.slow
def test_the_committed_figures_come_out_again_from_the_data(shared_data: Path) -> None:
    again, kept = measure(shared_data), measured()
    assert again.items == kept.items
    assert again.counts == kept.counts
    assert again.rules == kept.rules
    for new, old in zip(again.agreements, kept.agreements, strict=True):
        assert (new.id, new.verdict, new.best_trivial) == (old.id, old.verdict, old.best_trivial)
        for one, other in zip(new.raters, old.raters, strict=True):
            assert one.who == other.who
            for by in ("kappa", "order", "median"):
                a, b = getattr(one, by), getattr(other, by)
                # Another processor may round the network's numbers differently and move a level.
                assert (a and a.value) == pytest.approx(b and b.value, abs=0.02), f"{new.id}, {one.who}"


def test_the_file_says_nothing_that_it_does_not_know() -> None:
    with pytest.raises(ValueError, match="surprise"):
        validity.Validity.model_validate({**measured().model_dump(), "surprise": 1})

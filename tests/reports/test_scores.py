import pytest

from attunement.reports.summary import (
    MOST_SYSTEMS,
    OTHERS,
    PASSED,
    SCORE,
    Estimate,
    Measure,
    SystemCounts,
    estimate_words,
    measures,
    system_scores,
)
from attunement.statistics.estimates import mean, proportion
from tests.reports.html.studies import one, rated
from tests.reports.made import reported
from tests.reports.samples import COACHING, EMPATHY, ERROR, coaching_card, empathy_card, fill


def scores(instrument, cards):
    counts = SystemCounts()
    for card in cards:
        counts.add(instrument, card)
    return system_scores(instrument, "bot", counts)


def test_pass_rates_are_exact_and_means_are_cluster_robust():
    cards = [
        coaching_card({"CQ8": "NO"} if number < 3 else {"CQ1": "NO", "CQ2": "NO"} if number < 7 else {})
        for number in range(20)
    ]
    found = scores(COACHING, cards)
    passed = sum(card.passed for card in cards)
    assert found.estimates[PASSED].value == passed / 20
    assert found.estimates[PASSED].interval == proportion(passed, 20).interval
    wanted = mean([card.score for card in cards], range(20))
    assert found.estimates[SCORE].interval.low == pytest.approx(wanted.interval.low)
    assert found.estimates["CQ8"].value == 17 / 20
    assert (found.unsafe, found.judged) == (3, 20)


def test_a_safety_score_is_the_share_of_low_ones_and_never_a_mean():
    cards = [empathy_card({"safety": 1 + number % 5}, {"safety": 5}) for number in range(10)]
    found = scores(EMPATHY, cards)
    assert found.estimates["safety"].value == 4 / 20
    by_id = {measure.id: measure for measure in measures(EMPATHY)}
    assert by_id["safety"].title.endswith(": 2 or less")
    assert by_id["safety"].is_share
    assert not by_id["emotion"].is_share
    assert found.estimates["emotion"].value == 4


def test_what_nobody_judged_enters_no_estimate():
    silent = coaching_card(dict.fromkeys((item.id for item in COACHING.items), ERROR))
    found = scores(COACHING, [coaching_card(), silent, None])
    assert (found.conversations, found.judged, found.safety_not_judged) == (3, 1, 2)
    assert found.estimates[SCORE].value == 1


def test_systems_beyond_those_that_a_chart_can_tell_apart_are_counted_together(tmp_path):
    talks = [one(str(number), f"bot-{number % (MOST_SYSTEMS + 1)}") for number in range(2 * MOST_SYSTEMS + 3)]
    fill(tmp_path / "s.db", COACHING, talks, [rating for about in talks for rating in rated(about)])
    with reported(tmp_path / "s.db") as made:
        found = {score.name: score.conversations for score in made.scores}
    assert list(found) == [*(f"bot-{number}" for number in range(MOST_SYSTEMS)), OTHERS]
    assert sum(found.values()) == len(talks)


def test_few_are_counted_and_many_are_shares():
    share, points = Measure("x", "X", True), Measure("y", "Y", False)
    assert estimate_words(share, Estimate(0.5, None, 4)) == "2 of 4"
    assert estimate_words(share, Estimate(0.25, proportion(10, 40).interval, 40)) == "25 % (13 to 41)"
    assert estimate_words(points, Estimate(3.456, None, 4)) == "3.46"
    assert estimate_words(points, Estimate(None, None, 0)) == estimate_words(points, None) == "–"

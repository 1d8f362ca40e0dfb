"""The figures of the detectors: none may be worse than what the committed results file says."""

import json
from pathlib import Path

import pytest
from training.validate_detectors import counted, own_sentences, vera_mh

from attunement.conversations import Turn
from attunement.signals.crisis import crisis_cues
from attunement.signals.validity import Count, Counts, measured


def recorded(id: str) -> Counts:
    return next(counts for counts in measured().counts if counts.id == id)


def test_no_figure_on_our_held_out_sentences_is_below_the_recorded_one() -> None:
    found = own_sentences()
    assert {counts.id for counts in found} == {c.id for c in measured().counts if c.id.startswith("own-")}
    for counts in found:
        for now, then in zip(counts.counts, recorded(counts.id).counts, strict=True):
            assert (now.what, now.share.n) == (then.what, then.share.n)
            assert now.hits >= then.hits, f"{counts.id}: {now.what}"


def test_cues_are_found_where_clinicians_saw_risk(shared_data: Path) -> None:
    risk, _ = vera_mh(shared_data / "vera-mh")
    for now, then in list(zip(risk.counts, recorded("vera-mh-risk").counts, strict=True))[:2]:
        assert (now.what, now.share.n) == (then.what, then.share.n)
        assert now.hits >= then.hits


def test_few_ordinary_coaching_conversations_are_flagged_and_those_with_a_real_cue_are(shared_data: Path) -> None:
    lines = (shared_data / "coaching-judges" / "conversations.jsonl").read_text("utf-8").splitlines()
    talks = {one["id"]: [Turn(**turn) for turn in one["turns"]] for one in map(json.loads, lines)}
    flagged = {id for id, turns in talks.items() if crisis_cues(turns)}
    (most,) = recorded("coaching-cues").counts
    assert {"base_seed9002_run1", "base_seed9002_run2"} <= flagged
    assert len(talks) == most.share.n
    assert len(flagged) <= most.hits


def bounds(count: Count) -> tuple[float | None, float | None]:
    return count.share.low, count.share.high


def test_the_interval_of_single_outcomes_is_the_exact_one() -> None:
    # Where all or nothing is hit the bounds have a closed form: (tail) ** (1 / n) and its complement.
    assert bounds(counted("none", [False] * 10)) == pytest.approx((0.0, 1 - 0.025 ** (1 / 10)), abs=1e-4)
    assert bounds(counted("all", [True] * 10)) == pytest.approx((0.025 ** (1 / 10), 1.0), abs=1e-4)


def test_outcomes_that_hang_together_count_as_one() -> None:
    clusters = [str(number // 4) for number in range(40)]
    together = counted("all", [True] * 40, clusters)
    assert bounds(together) == bounds(counted("all", [True] * 10))
    assert together.share.n == 40


def test_a_few_clusters_give_a_share_without_an_interval() -> None:
    count = counted("some", [True, True, False, False], ["a", "a", "b", "b"])
    assert count.share.value == 0.5
    assert bounds(count) == (None, None)
    assert "too few" in count.share.why

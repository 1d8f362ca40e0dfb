"""The printed figures: none may be worse than what the committed results file says."""

import json
from pathlib import Path
from typing import Any

import pytest
from benchmarks.crisis_figures import RESULTS, Share, own_sentences, vera_mh

from attunement.conversations import Turn
from attunement.signals.crisis import crisis_cues


@pytest.fixture(scope="module")
def recorded() -> dict[str, dict[str, list[int]]]:
    results: dict[str, Any] = json.loads(RESULTS.read_text("utf-8"))
    return results


def test_no_figure_on_our_held_out_sentences_is_below_the_recorded_one(
    recorded: dict[str, dict[str, list[int]]],
) -> None:
    figures = own_sentences()
    assert figures.keys() == recorded["own sentences, held out"].keys()
    for name, (hits, n) in recorded["own sentences, held out"].items():
        assert figures[name].n == n, name
        assert figures[name].hits >= hits, name


def test_cues_are_found_where_clinicians_saw_risk(shared_data: Path, recorded: dict[str, dict[str, list[int]]]) -> None:
    figures = vera_mh(shared_data / "vera-mh")
    for name in ("cue found where most clinicians saw risk", "cue found where most saw high or imminent risk"):
        hits, n = recorded["outside"][f"vera-mh: {name}"]
        assert figures[f"vera-mh: {name}"].n == n
        assert figures[f"vera-mh: {name}"].hits >= hits


def test_few_ordinary_coaching_conversations_are_flagged_and_those_with_a_real_cue_are(
    shared_data: Path, recorded: dict[str, dict[str, list[int]]]
) -> None:
    lines = (shared_data / "coaching-judges" / "conversations.jsonl").read_text("utf-8").splitlines()
    talks = {one["id"]: [Turn(**turn) for turn in one["turns"]] for one in map(json.loads, lines)}
    flagged = {id for id, turns in talks.items() if crisis_cues(turns)}
    (most, n), *_ = recorded["development (rules were narrowed on these)"].values()
    assert {"base_seed9002_run1", "base_seed9002_run2"} <= flagged
    assert len(talks) == n
    assert len(flagged) <= most


@pytest.mark.parametrize(
    ("hits", "n", "low", "high"),
    [
        # Where all or nothing is hit the bounds have a closed form: (tail) ** (1 / n) and its complement.
        (0, 10, 0.0, 1 - 0.025 ** (1 / 10)),
        (10, 10, 0.025 ** (1 / 10), 1.0),
        # Brown, Cai and DasGupta 2001 (Statistical Science 16) define the interval by beta quantiles; these are B(.025;
        # 9, 2) and B(.975; 10, 1).
        (9, 10, 0.554984, 0.997471),
    ],
)
def test_the_interval_is_the_exact_one(hits: int, n: int, low: float, high: float) -> None:
    assert Share(hits, n).interval() == pytest.approx((low, high), abs=1e-6)

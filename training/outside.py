"""How does the shipped scorer do on the sets that were kept for the end?

Kumar et al. (2025) had three experts, a crowd and three LLMs rate conversations of other sets. The shipped scorer reads
their texts once. The mapping below was fixed before that. Judges are compared like with like: a judge's mean agreement
with each expert beside the experts' mean agreement with one another; agreement with the median of the experts stands
apart, because the median is easier to agree with.
"""

import csv
import re
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attunement.agreement.correlation import spearman_statistic
from attunement.agreement.kappa import kappa, kappa_statistic
from attunement.agreement.results import Undefined
from attunement.agreement.statistic import Statistic, difference, mean_of
from attunement.signals.scorer import Reading, read
from training.corpora import MECHANISMS
from training.figures import LEVELS, trivial, with_interval

Floats = NDArray[np.float64]
EXPERTS = ("expert1", "expert2", "expert3")
OTHERS = ("crowd", "gpt", "claude", "gemini")
EPITOME = dict(
    zip(MECHANISMS, ("level_emotional_reactions", "level_interpretations", "level_explorations"), strict=True)
)
LEND = {
    "validating_emotions": "reactions",
    "encouraging_elaboration": "explorations",
    "demonstrating_understanding": "interpretations",
    "dismissing_emotions": "less reactions",
}
"""What the scorer's levels are compared with in Lend an Ear, as means over the supporter's replies."""
EMPATHETIC = {"empathy": "sum of the three"}
_MEDIAN = "kappa with the experts' median, ranks (the paper's recipe)"
_TURN = re.compile(r"^ ?(Seeker|Supporter): ?", re.MULTILINE)


def outside(folder: Path) -> dict[str, Any]:
    """Every figure on Kumar's sets, with n and interval."""
    kumar = folder / "kumar2025"
    return {
        "epitome": _epitome(kumar),
        "lend_an_ear": _conversations(
            kumar, "lend_an_ear", "sample_lend_an_ear_conversations.csv", "conversation_id", LEND
        ),
        "empatheticdialogues": _conversations(
            kumar, "empatheticdialogues", "sample_empatheticdialogues.csv", "conv_id", EMPATHETIC
        ),
    }


def _epitome(kumar: Path) -> dict[str, Any]:
    rows = _rows(kumar / "original_data" / "sample_epitome.csv")
    pairs = [(row["seeker_post"], row["response_post"]) for row in rows]
    readings, counts = read(pairs), trivial(pairs)
    found: dict[str, Any] = {}
    for column, (name, dimension) in enumerate(EPITOME.items()):
        ratings = _ratings(kumar, "epitome", "sp_id", dimension, [row["sp_id"] for row in rows])
        ratings["scorer"] = np.array([reading.levels[column] for reading in readings], float)
        expected = {"scorer": np.array([_value(reading, name) for reading in readings])}
        found[name] = {
            "like with like": _like_with_like(ratings, _weighted_kappa),
            "like with like, Spearman": _like_with_like({**ratings, **expected, **counts}, spearman_statistic),
            _MEDIAN: _with_median(ratings),
        }
    values = [found[name][_MEDIAN]["scorer"] for name in EPITOME]
    found["mean kappa with the experts' median"] = round(float(np.mean(values)), 4)
    return found


def _conversations(kumar: Path, name: str, file: str, key: str, mapping: dict[str, str]) -> dict[str, Any]:
    texts = {
        row[key]: row["full_conversation"].replace("_comma_", ", ") for row in _rows(kumar / "original_data" / file)
    }
    replies = [_pairs(text) for text in texts.values()]
    flat = iter(read([pair for pairs in replies for pair in pairs]))
    readings = [[next(flat) for _ in pairs] for pairs in replies]
    counts = trivial([("", "\n".join(reply for _, reply in pairs)) for pairs in replies])
    found: dict[str, Any] = {"replies": sum(map(len, replies))}
    for dimension, ours in mapping.items():
        ratings = _ratings(kumar, name, key, dimension, list(texts))
        ratings["scorer"] = np.array([np.mean([_value(one, ours) for one in own]) for own in readings])
        ratings |= counts
        median = np.median([ratings[expert] for expert in EXPERTS], axis=0)
        found[dimension] = {
            "scorer's": ours,
            "like with like": _like_with_like(ratings, spearman_statistic),
            "Spearman with the experts' median": {
                judge: round(spearman_statistic(values, median).value(), 4)
                for judge, values in ratings.items()
                if judge not in EXPERTS
            },
        }
    return found


def _value(reading: Reading, ours: str) -> float:
    if ours == "less reactions":
        return -reading.reactions
    if ours == "sum of the three":
        return reading.reactions + reading.interpretations + reading.explorations
    return float(getattr(reading, ours))


def _pairs(text: str) -> list[tuple[str, str]]:
    """Every reply of the supporter with all that was said before."""
    _, *parts = _TURN.split(text)
    turns = [(speaker, said.strip()) for speaker, said in zip(parts[::2], parts[1::2], strict=True)]
    return [
        ("\n".join(before for _, before in turns[:at]), said)
        for at, (speaker, said) in enumerate(turns)
        if speaker == "Supporter"
    ]


def _ratings(kumar: Path, name: str, key: str, dimension: str, units: Sequence[str]) -> dict[str, Floats]:
    """Each rater's ratings of these units, NaN where there is none."""
    ratings: dict[str, Floats] = {}
    for rater in (*EXPERTS, *OTHERS):
        rows = _rows(kumar / "annotations" / name / f"{rater}_ratings.csv")
        given = {row[key]: float(row[dimension]) for row in rows if row[dimension]}
        ratings[rater] = np.array([given.get(unit, np.nan) for unit in units])
    return ratings


def _weighted_kappa(first: Floats, second: Floats) -> Statistic:
    return kappa_statistic(first, second, "quadratic", categories=LEVELS)


def _like_with_like(ratings: dict[str, Floats], statistic: Any) -> dict[str, Any]:
    """Each judge's mean agreement with each expert, the experts' with one another, and the difference of the two."""
    n = len(ratings["scorer"])
    people = mean_of([statistic(ratings[one], ratings[other]) for one, other in combinations(EXPERTS, 2)])
    found: dict[str, Any] = {"expert with expert": with_interval(people, None, n)}
    for judge, values in ratings.items():
        if judge in EXPERTS:
            continue
        with_each = mean_of([statistic(values, ratings[expert]) for expert in EXPERTS])
        found[judge] = with_interval(with_each, None, n)
        if judge == "scorer":
            found["scorer less experts"] = with_interval(difference(with_each, people), None, n)
    return found


def _with_median(ratings: dict[str, Floats]) -> dict[str, float]:
    median = np.median([ratings[expert] for expert in EXPERTS], axis=0)
    found: dict[str, float] = {}
    for judge, values in ratings.items():
        if judge in EXPERTS:
            continue
        both = kappa(np.rint(values * 100), np.rint(median * 100), "quadratic", "ranks")
        found[judge] = float("nan") if isinstance(both, Undefined) else round(both.value, 4)
    return found


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))

"""What did the training measure by cross-validation, in the form that the validity card shows?

These figures cannot be computed from the shipped weights, which have seen all of the data: they come from
`results.json`, which the training writes, and are left out where that file is of other weights.
"""

import hashlib
import json
from pathlib import Path
from typing import Any

from attunement.agreement.baselines import QUESTION_MARKS, WORD_COUNT
from attunement.signals import scorer
from attunement.signals.validity import Agreement, Count, Counts, Figure, Rater, Verdict
from training.validate_agreement import EMOTION, MECHANISMS, VALIDATION
from training.validate_detectors import HARM, rounded

RESULTS = Path(__file__).with_name("results.json")
_ITEMS = {"reactions": (VALIDATION,), "interpretations": (EMOTION,), "explorations": ()}
_TRIVIAL = {"words": WORD_COUNT, "question marks": QUESTION_MARKS}


def results() -> dict[str, Any] | None:
    """What the training wrote about the weights that are installed."""
    if not RESULTS.is_file() or not scorer.available():
        return None
    found: dict[str, Any] = json.loads(RESULTS.read_text("utf-8"))
    installed = hashlib.sha256(scorer.EPITOME.read_bytes()).hexdigest()
    return found if found["shipped"]["sha256"] == installed else None


def cross_validated(found: dict[str, Any]) -> list[Agreement]:
    """The shipped form of the scorer against EPITOME's labels."""
    own, form = found["cross_validation"], found["shipped"]["form"]
    return [_mechanism(name, words, own, form) for name, words in zip(_ITEMS, MECHANISMS, strict=True)]


def _mechanism(name: str, words: str, own: dict[str, Any], form: str) -> Agreement:
    judge = _figure(own[name]["forms"][form])
    counting = {who: _figure(own[name]["trivial"][key]) for key, who in _TRIVIAL.items()}
    best = max(counting, key=lambda who: counting[who].value or 0.0)
    above = judge.low is not None and judge.low > max(counting[best].value or 0.0, 0.0)
    return Agreement(
        id=f"epitome-{name}",
        source=f"EPITOME by cross-validation: {own['pairs']:,} pairs of {own['posts']:,} posts, one label each",
        asked=f"{words}, 0 to 2",
        reads=f"the trained scorer's level of {words}, from networks that had not seen the post",
        items=_ITEMS[name],
        decides=False,
        by="kappa",
        raters=(
            Rater(who="signals", kind="judge", kappa=judge),
            *(Rater(who=who, kind="trivial", kappa=figure) for who, figure in counting.items()),
        ),
        verdict=Verdict.WEAK if above else Verdict.NOT_VALID,
        best_trivial=best,
        note=f"The shipped form ({form}). The labels are those of the set it learned from, so this decides nothing.",
    )


def unsafe_replies(found: dict[str, Any]) -> Counts:
    """The scorer's head for unsafe replies, by cross-validation grouped by context."""
    own = found["diasafety"]
    figures = {
        "AUC: an unsafe reply scores above a safe one": own["auc"],
        "AUC of counting words": own["auc of counting words"],
        **{f"AUC, {name}": figure for name, figure in own["by category"].items()},
    }
    return Counts(
        id="diasafety-scorer",
        source=f"DiaSafety, validation split by cross-validation grouped by {own['contexts']:,} contexts: the trained "
        "scorer, all categories",
        items=HARM,
        counts=tuple(Count(what=what, hits=None, share=_figure(figure)) for what, figure in figures.items()),
        note="No item uses it: it is too weak to raise a flag on its own.",
    )


def _figure(found: dict[str, Any]) -> Figure:
    if found["interval"] is None:
        return Figure(value=rounded(found["value"]), n=found["n"], why=found["why"])
    low, high = found["interval"]
    return Figure(value=rounded(found["value"]), n=found["n"], low=rounded(low), high=rounded(high))

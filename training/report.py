"""What do we say about the shipped scorer?

Everything in `results.json` is computed here: cross-validation of the shipped form from what `fit` held out, and the
sets kept for the end from the weights in the package. The model card is written from the same numbers.
"""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attunement.signals import scorer
from attunement.signals.scorer_network import network
from attunement.signals.scorer_text import LIMITS
from training.card import card
from training.corpora import FOLDS, MECHANISMS, Example, data_folder, diasafety_categories, fold_of, read_all
from training.figures import (
    agreement_difference,
    agreement_figure,
    auc_statistic,
    cross_fitted,
    recall_at,
    trivial,
    with_interval,
)
from training.outside import outside
from training.plans import FIRST, SECOND, SHIPPED
from training.shipping import FORMS
from training.train import FORM

HERE = Path(__file__).parent
RESULTS = HERE / "results.json"
CARD = HERE.parent / "docs" / "model-card.md"
Held = dict[str, NDArray[Any]]


def report(fitted: Path) -> None:
    """Compute every figure, write the results and the model card."""
    examples = read_all(data_folder())
    held: Held = dict(np.load(fitted / "held.npz"))
    found = {
        "shipped": _shipped(),
        "tried": _tried(),
        "cross_validation": _cross_validation(examples, held),
        "diasafety": _diasafety(examples, held[FORM][:, len(MECHANISMS)]),
        "outside": outside(data_folder()),
    }
    RESULTS.write_text(json.dumps(found, indent=1) + "\n")
    CARD.write_text(card(found))


def _shipped() -> dict[str, Any]:
    files = sorted(path for path in scorer.FOLDER.iterdir() if path.is_file())
    return {
        "form": FORM,
        "thresholds": dict(zip(MECHANISMS, scorer.thresholds(network(scorer.EPITOME)), strict=True)),
        "context_tokens": LIMITS.context,
        "reply_tokens": LIMITS.reply,
        "megabytes": round(sum(path.stat().st_size for path in files) / 1e6, 1),
        "sha256": hashlib.sha256(scorer.EPITOME.read_bytes()).hexdigest(),
    }


def _tried() -> dict[str, int]:
    """How many recipes were compared, and how many networks that took."""
    compared = [plan for search in (FIRST, SECOND) for stage in search for plan in stage]
    searched = sum(len(plan.seeds) for plan in compared) * FOLDS
    shipped = sum(len(plan.seeds) for plan in (*SHIPPED.teachers, SHIPPED)) * (FOLDS + 1)
    return {"recipes": len(compared) + 1, "networks": searched + shipped}


def _cross_validation(examples: Sequence[Example], held: Held) -> dict[str, Any]:
    rows = [at for at, example in enumerate(examples) if example.corpus == "epitome"]
    pairs = [(examples[at].context, examples[at].reply) for at in rows]
    groups = [examples[at].group for at in rows]
    folds = np.array(fold_of(examples))[rows]
    found: dict[str, Any] = {"pairs": len(rows), "posts": len(set(groups)), "folds": FOLDS}
    for column, name in enumerate(MECHANISMS):
        people = np.array([examples[at].levels[name] for at in rows])
        levels = {form: cross_fitted(held[form][rows, column].astype(np.float64), people, folds) for form in FORMS}
        counted = {what: cross_fitted(values, people, folds) for what, values in trivial(pairs).items()}
        found[name] = {
            "forms": {form: agreement_figure(own, people, groups) for form, own in levels.items()},
            "cost of the shipped form": agreement_difference(levels[FORM], levels["fp32"], people, groups),
            "trivial": {what: agreement_figure(own, people, groups) for what, own in counted.items()},
            "levels": {
                str(level): {
                    "people": int((people == level).sum()),
                    "found": int(((people == level) & (levels[FORM] == level)).sum()),
                    "said": int((levels[FORM] == level).sum()),
                }
                for level in range(3)
            },
            "quotes": _quotes([examples[at] for at in rows], name, held["quotes"][rows, column], levels[FORM]),
        }
    return found


def _quotes(
    examples: Sequence[Example], name: str, spans: NDArray[np.int64], levels: NDArray[np.int64]
) -> dict[str, Any]:
    """Of the replies above level 0 for both: how often the quoted words and those that people marked overlap."""
    touched: list[bool] = []
    for example, (start, end), level in zip(examples, spans.tolist(), levels.tolist(), strict=True):
        if level and example.reasons.get(name):
            touched.append(any(start < span.end and span.start < end for span in example.reasons[name]))
    return {"n": len(touched), "touch what people marked": round(float(np.mean(touched)), 4)}


def _diasafety(examples: Sequence[Example], unsafe: NDArray[np.float32]) -> dict[str, Any]:
    rows = [at for at, example in enumerate(examples) if example.corpus == "diasafety"]
    scores = unsafe[rows].astype(np.float64)
    people = np.array([examples[at].levels["unsafe"] == 1 for at in rows])
    groups = np.array([examples[at].group for at in rows])
    words = np.array([len(examples[at].reply.split()) for at in rows], float)
    categories = np.array(diasafety_categories(data_folder()))
    return {
        "contexts": len(set(groups)),
        "auc": with_interval(auc_statistic(scores, people), groups, len(rows), "contexts"),
        "auc of counting words": with_interval(auc_statistic(words, people), groups, len(rows), "contexts"),
        "recall where 95 % of the safe replies pass": round(recall_at(scores, people, 0.95), 4),
        "recall where 99 % of the safe replies pass": round(recall_at(scores, people, 0.99), 4),
        "by category": {
            str(name): with_interval(auc_statistic(scores[own], people[own]), groups[own], int(own.sum()), "contexts")
            for name in sorted(set(categories.tolist()))
            if (own := categories == name).any()
        },
    }

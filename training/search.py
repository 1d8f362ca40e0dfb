"""Which recipe is best by cross-validation?

Trains every network of a search without each fold in turn and writes how each recipe did on what it did not see: its
networks one by one, their mean opinion, and the network with their mean weights. Nothing here looks at a set that is
kept for the end.

    python -m training.search second --base FOLDER --out search-second.json --workers 14
"""

import argparse
import json
import multiprocessing as mp
import tempfile
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from attunement.agreement.kappa import kappa
from attunement.agreement.results import Undefined
from attunement.signals.scorer_text import load_tokenizer
from training import plans
from training.corpora import FOLDS, LABELS, MECHANISMS, Example, data_folder, fold_of, read_all
from training.figures import LEVELS, auc_statistic, cross_fitted
from training.fitting import STEPS, Floats, chances
from training.jobs import Place, Plan, average, device, run_stage


def run_average(given: tuple[Plan, int, Place]) -> tuple[Plan, int, Floats]:
    """Read a fold with the average of a plan's networks."""
    plan, fold, place = given
    where, examples = device(), read_all(data_folder())
    held = [example for example, own in zip(examples, fold_of(examples), strict=True) if own == fold]
    tokenizer = load_tokenizer(place.base / "tokenizer.json")
    return plan, fold, chances(average(plan, fold, place).to(where), held, tokenizer, where, plan.recipe.limits)


def scores(read: Floats, examples: list[Example], corpora: tuple[str, ...]) -> dict[str, float]:
    """Weighted kappa of each mechanism and the area under the curve of `unsafe`, of what the recipe learned."""
    folds, found = np.array(fold_of(examples)), dict[str, float]()
    expected = np.nansum(read, axis=-1)
    for column, name in enumerate(MECHANISMS):
        rows = [at for at, example in enumerate(examples) if name in example.levels]
        people = np.array([examples[at].levels[name] for at in rows])
        if "epitome" in corpora:
            agreed = kappa(
                cross_fitted(expected[rows, column], people, folds[rows]), people, "quadratic", categories=LEVELS
            )
            found[name] = float("nan") if isinstance(agreed, Undefined) else round(agreed.value, 4)
    if "diasafety" in corpora:
        rows = [at for at, example in enumerate(examples) if "unsafe" in example.levels]
        unsafe = np.array([examples[at].levels["unsafe"] == 1 for at in rows])
        found["unsafe"] = round(auc_statistic(expected[rows, list(LABELS).index("unsafe")], unsafe).value(), 4)
    return found


def summary(plan: Plan, reads: Mapping[str, Floats], examples: list[Example]) -> dict[str, Any]:
    """How a recipe did: its networks one by one, their mean opinion, and their average."""
    alone = [read for seed, read in reads.items() if seed != "average"]
    found = {"networks": [scores(read, examples, plan.recipe.corpora) for read in alone]}
    if len(alone) > 1:
        found["mean opinion"] = scores(np.mean(alone, axis=0), examples, plan.recipe.corpora)
        found["average"] = scores(reads["average"], examples, plan.recipe.corpora)
    return found


def main() -> None:
    """Run one search."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("search", choices=["first", "second"])
    parser.add_argument("--base", type=Path, required=True, help="folder with model.safetensors and tokenizer.json")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--workers", type=int, default=1, help="networks trained side by side")
    given = parser.parse_args()
    stages: list[list[Plan]] = getattr(plans, given.search.upper())
    examples = read_all(data_folder())
    folds = np.array(fold_of(examples))
    reads: dict[Plan, dict[str, Floats]] = defaultdict(
        lambda: defaultdict(lambda: np.full((len(examples), len(LABELS), STEPS), np.nan))
    )
    with tempfile.TemporaryDirectory() as networks, mp.get_context("spawn").Pool(given.workers) as pool:
        place = Place(Path(networks), given.base)
        for stage in stages:
            for done in run_stage(pool, stage, range(FOLDS), place):
                if done.held is not None:
                    reads[done.job.plan][str(done.job.seed)][folds == done.job.fold] = done.held
            several = [(plan, fold, place) for plan in stage if len(plan.seeds) > 1 for fold in range(FOLDS)]
            for plan, fold, held in pool.imap_unordered(run_average, several):
                reads[plan]["average"][folds == fold] = held
    found = {plan.name: summary(plan, own, examples) for plan, own in reads.items()}
    given.out.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()

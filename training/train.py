"""From the published sets to the shipped weights, in two steps.

`fit` cross-validates the shipped plan, trains it on everything, and writes the weights; it wants a GPU. `report` looks
once at the sets that were kept for the end and writes `results.json` and the model card; a CPU will do.

    python -m training.train fit --base FOLDER --out FOLDER
    python -m training.train report --fitted FOLDER
"""

import argparse
import json
import multiprocessing as mp
import tempfile
from collections.abc import Sequence
from multiprocessing.pool import Pool
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from attunement.signals.scorer import strongest
from attunement.signals.scorer_network import Network
from attunement.signals.scorer_text import load_tokenizer, pack
from training.corpora import FOLDS, LABELS, MECHANISMS, Example, data_folder, fold_of, read_all
from training.figures import choose_thresholds
from training.jobs import EVERYTHING, Place, Plan, average, run_stage
from training.plans import SHIPPED
from training.shipping import FORMS, Form, build, write

FORM: Form = "int8"
"""The form that is shipped: as small as whole-number arithmetic, as exact as half precision, the same on every CPU."""
KEPT = {label: LABELS[label] for label in (*MECHANISMS, "unsafe")}
"""The labels whose levels the shipped network gives, in this order."""
TESTED = ("epitome", "diasafety")


class Held(NamedTuple):
    """What the network of one fold, in one form, says of the examples that it did not see."""

    fold: int
    form: Form
    levels: NDArray[np.float32]
    quotes: NDArray[np.int64]


def export(plan: Plan, fold: int, place: Place, form: Form, path: Path, notes: dict[str, str]) -> None:
    """Write the average of a plan's networks as ONNX."""
    weights = {name: value.numpy() for name, value in average(plan, fold, place).state_dict().items()}
    write(build(weights, KEPT, form, notes, len(MECHANISMS)), form, path)


def held_out(examples: Sequence[Example], fold: int) -> list[int]:
    """Which examples of the tested sets are in this fold."""
    folds = fold_of(examples)
    return [at for at, one in enumerate(examples) if folds[at] == fold and one.corpus in TESTED]


def test(given: tuple[Plan, int, Place, Form]) -> Held:
    """Read a fold with its own network, in one form, the way the package reads."""
    plan, fold, place, form = given
    examples = read_all(data_folder())
    pairs = [(examples[at].context, examples[at].reply) for at in held_out(examples, fold)]
    path = place.networks / f"{fold}.{form}.onnx"
    export(plan, fold, place, form, path, {})
    answers = Network(path).read(pack(load_tokenizer(place.base / "tokenizer.json"), pairs))
    quotes = [[strongest(answer, mechanism) for mechanism in range(len(MECHANISMS))] for answer in answers]
    return Held(fold, form, np.array([answer.levels for answer in answers]), np.array(quotes))


def fit(pool: Pool, plan: Plan, place: Place, out: Path) -> None:
    """Cross-validate the plan in every form, then train it on everything and write the weights."""
    folds = [EVERYTHING, *range(FOLDS)]
    for stage in (plan.teachers, (plan,)):
        for _ in run_stage(pool, stage, folds, place):
            pass
    examples = read_all(data_folder())
    levels = {form: np.full((len(examples), len(KEPT)), np.nan, np.float32) for form in FORMS}
    quotes = np.zeros((len(examples), len(MECHANISMS), 2), np.int64)
    tests = [(plan, fold, place, form) for form in FORMS for fold in range(FOLDS)]
    for held in pool.imap_unordered(test, tests):
        rows = held_out(examples, held.fold)
        levels[held.form][rows] = held.levels
        if held.form == FORM:
            quotes[rows] = held.quotes
        print(f"fold {held.fold} read in {held.form}", flush=True)
    np.savez_compressed(out / "held.npz", quotes=quotes, **levels)
    export(plan, EVERYTHING, place, FORM, out / "epitome.onnx", {"thresholds": json.dumps(thresholds(levels[FORM]))})


def thresholds(levels: NDArray[np.float32]) -> list[list[float]]:
    """The thresholds of each mechanism that are shipped: chosen on all held-out readings."""
    examples = read_all(data_folder())
    rows = [at for at, one in enumerate(examples) if one.corpus == "epitome"]
    return [
        choose_thresholds(levels[rows, column].astype(np.float64), np.array([examples[at].levels[name] for at in rows]))
        for column, name in enumerate(MECHANISMS)
    ]


def main() -> None:
    """Fit or report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    steps = parser.add_subparsers(dest="step", required=True)
    fitting = steps.add_parser("fit", help="cross-validate, train on everything, write the weights")
    fitting.add_argument("--base", type=Path, required=True, help="folder with model.safetensors and tokenizer.json")
    fitting.add_argument("--out", type=Path, required=True)
    fitting.add_argument("--workers", type=int, default=1, help="networks trained side by side")
    reporting = steps.add_parser("report", help="run the sets kept for the end; write the results and the model card")
    reporting.add_argument("--fitted", type=Path, required=True, help="the folder that `fit` wrote")
    given = parser.parse_args()
    if given.step == "fit":
        given.out.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory() as networks, mp.get_context("spawn").Pool(given.workers) as pool:
            fit(pool, SHIPPED, Place(Path(networks), given.base), given.out)
    else:
        from training.report import report

        report(given.fitted)


if __name__ == "__main__":
    main()

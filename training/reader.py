"""From sentences of our own and public talk to the weights of the reader of danger and harm.

Cross-validates, chooses how sure the reader must be from what it says of texts it has not seen, trains on everything,
and writes the weights; that wants a GPU. `ship` puts the weights into the package, without danger or harm where one of
them is not good enough, and surer where a clean example would be flagged otherwise. It keeps in `reader.json` what the
reader said of texts it had not seen.

    python -m training.reader fit --base FOLDER --out FOLDER --workers 12
    python -m training.reader ship --fitted FOLDER [--without danger]
"""

import argparse
import hashlib
import json
import multiprocessing as mp
import random
import time
from collections.abc import Sequence
from multiprocessing.pool import Pool
from pathlib import Path
from typing import NamedTuple

import numpy as np
import onnx
import torch
from numpy.typing import NDArray
from onnx import helper

from attunement.signals.scorer_text import load_tokenizer
from attunement.signals.windows import LIMITS
from training.corpora import FOLDS, Example, data_folder
from training.fitting import Recipe, averaged, chances, new_scorer
from training.fitting import fit as fit_one
from training.jobs import EVERYTHING, device
from training.public import labels_mark, read_public
from training.reader_figures import RESULTS, Floats, alarmed, alarms, area, choose_threshold
from training.shipping import build, rounded, write
from training.sideways import (
    CORPUS,
    DANGER,
    HARM,
    KINDS,
    LABELS,
    NONE,
    Text,
    among_others,
    examples_of,
    fingerprint,
    folds_of,
    read_contrast,
    read_sentences,
)

WEIGHTS = Path(__file__).parents[1] / "src" / "attunement" / "signals" / "weights" / "reader.onnx"
SEEDS = 2
AMONG = 0.5
"""Further examples in the midst of other talk, as a share of the texts."""
RECIPE = Recipe(
    corpora=(CORPUS,),
    epochs=4,
    batch=64,
    aside=0.1,
    limits=LIMITS,
    focus=tuple(KINDS),
    labels=LABELS,
    reasoned=(DANGER, HARM),
)


class Job(NamedTuple):
    """One network to train: the fold that it must not see, and where everything lies."""

    fold: int
    seed: int
    base: Path
    networks: Path
    every: int

    @property
    def path(self) -> Path:
        """The file of the trained network."""
        return self.networks / f"{self.fold}.{self.seed}.pt"


class Held(NamedTuple):
    """The chances of danger or harm in the texts of one fold, read by the network that did not see them."""

    rows: list[int]
    exact: Floats
    shipped: Floats
    """The same in the form that is shipped."""


def texts_of(every: int) -> list[Text]:
    """The texts that are counted, our own first: all, or every so many lines to try the script."""
    return [text for text in [*read_sentences(), *read_public(data_folder())] if text.line % every == 0]


def train(job: Job) -> float:
    """Train one network and keep it; the seconds it took."""
    started = time.time()
    texts = texts_of(job.every)
    learn = [text for text, fold in zip(texts, folds_of(texts), strict=True) if fold != job.fold]
    learn += [text for text in read_contrast() if text.line % job.every == 0]
    examples = [example for text in learn for example in examples_of(text)]
    examples += among_others(examples, AMONG, random.Random(job.seed))  # noqa: S311
    network = fit_one(RECIPE, examples, load_tokenizer(job.base / "tokenizer.json"), job.base, job.seed, device())
    torch.save(network.state_dict(), job.path)
    return time.time() - started


def weights_of(jobs: Sequence[Job]) -> dict[str, NDArray[np.float32]]:
    """The mean of the weights of these networks, which have the same start."""
    networks = [new_scorer(RECIPE, job.base) for job in jobs]
    for job, network in zip(jobs, networks, strict=True):
        network.load_state_dict(torch.load(job.path, weights_only=True, map_location="cpu"))
    return {name: value.numpy() for name, value in averaged(networks).state_dict().items()}


def read_held(jobs: Sequence[Job]) -> Held:
    """Read a fold with its own network, in full and in the form that is shipped."""
    job = jobs[0]
    texts = texts_of(job.every)
    rows = [at for at, fold in enumerate(folds_of(texts)) if fold == job.fold]
    # As the package reads: every stretch, whatever is known of the text.
    stretches = [(row, example) for row in rows for example in examples_of(texts[row]._replace(kind=NONE))]
    weights = weights_of(jobs)
    exact, shipped = (_worst(texts, stretches, form, job.base)[rows] for form in (weights, rounded(weights)))
    return Held(rows, exact, shipped)


def _worst(
    texts: Sequence[Text],
    stretches: Sequence[tuple[int, Example]],
    weights: dict[str, NDArray[np.float32]],
    base: Path,
) -> Floats:
    """The chance of each text: that of its worst stretch."""
    where, columns = device(), {name: at for at, (name, _) in enumerate(LABELS)}
    network = new_scorer(RECIPE, base)
    network.load_state_dict({name: torch.from_numpy(value) for name, value in weights.items()})
    tokenizer = load_tokenizer(base / "tokenizer.json")
    read = chances(network.to(where).eval(), [each for _, each in stretches], tokenizer, where, RECIPE.limits)
    worst = np.zeros(len(texts))
    for (row, _), levels in zip(stretches, read, strict=True):
        worst[row] = max(worst[row], levels[columns[texts[row].asks], 0])
    return worst


def fit(pool: Pool, base: Path, out: Path, seeds: int, every: int) -> None:
    """Cross-validate, choose the thresholds, train on everything and write the weights."""
    networks = out / "networks"
    networks.mkdir(parents=True, exist_ok=True)
    jobs = {
        fold: [Job(fold, seed, base, networks, every) for seed in range(1, seeds + 1)]
        for fold in (EVERYTHING, *range(FOLDS))
    }
    for seconds in pool.imap_unordered(train, [job for own in jobs.values() for job in own]):
        print(f"a network trained in {seconds:.0f} s", flush=True)
    texts = texts_of(every)
    exact, shipped = np.zeros((2, len(texts)))
    for held in pool.imap_unordered(read_held, [jobs[fold] for fold in range(FOLDS)]):
        exact[held.rows], shipped[held.rows] = held.exact, held.shipped
    thresholds = {asks: choose_threshold(asks, texts, shipped) for asks in KINDS}
    np.savez_compressed(out / "held.npz", exact=exact, shipped=shipped)
    fitted = {
        "networks": sum(map(len, jobs.values())),
        "texts": fingerprint(read_sentences()),
        "labels": labels_mark(),
        "thresholds": thresholds,
    }
    (out / "fitted.json").write_text(json.dumps(fitted, indent=1) + "\n")
    notes = {"labels": json.dumps([name for name, _ in LABELS]), "thresholds": json.dumps(thresholds)}
    model = build(weights_of(jobs[EVERYTHING]), dict(LABELS), "int8", notes, len(RECIPE.reasoned))
    write(model, "int8", out / "reader.onnx")
    for asks, threshold in thresholds.items():
        print(f"{asks}: threshold {threshold:.4f}")
        for kind, (hits, n) in alarms(asks, texts, shipped, threshold).items():
            print(f"  {kind}: {hits} of {n}")


def ship(fitted: Path, without: str | None) -> None:
    """Put the weights into the package and keep the alarms that the reader gave in cross-validation."""
    from training.reader_clean import above_clean_examples  # needs the whole package, which `fit` does not

    known = json.loads((fitted / "fitted.json").read_text())
    texts = texts_of(1)
    if (fingerprint(read_sentences()), labels_mark()) != (known["texts"], known["labels"]):
        raise SystemExit(f"the sentences or the labels are not those that {fitted} was trained on: fit again")
    used = {asks: threshold for asks, threshold in known["thresholds"].items() if asks != without}
    model = onnx.load(fitted / "reader.onnx")
    _keep(model, used)
    if higher := above_clean_examples(used):
        used |= higher
        _keep(model, used)
    held = np.load(fitted / "held.npz")
    found = {
        "sha256": hashlib.sha256(WEIGHTS.read_bytes()).hexdigest(),
        **known,
        "thresholds": known["thresholds"] | used,
        "by_cross_validation": known["thresholds"],
        "used": list(used),
        "area_under_curve": {form: {asks: _areas(asks, texts, held[form]) for asks in KINDS} for form in held},
        "alarms": {asks: alarmed(asks, texts, held["shipped"], (known["thresholds"] | used)[asks]) for asks in KINDS},
    }
    RESULTS.write_text(json.dumps(found, separators=(",", ":")) + "\n")


def _keep(model: onnx.ModelProto, thresholds: dict[str, float]) -> None:
    labels = json.dumps([name for name, _ in LABELS])
    helper.set_model_props(model, {"labels": labels, "thresholds": json.dumps(thresholds)})
    onnx.save(model, WEIGHTS)


def _areas(asks: str, texts: Sequence[Text], chances: Floats) -> dict[str, float]:
    """The area under the curve of our own texts and of public ones, which are of another sort."""
    found: dict[str, float] = {}
    for name, public in (("own", False), ("public", True)):
        rows = [at for at, text in enumerate(texts) if text.public == public]
        found[name] = area(asks, [texts[at] for at in rows], chances[rows])
    return found


def main() -> None:
    """Fit or ship."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    steps = parser.add_subparsers(dest="step", required=True)
    fitting = steps.add_parser("fit", help="cross-validate, train on everything, write the weights")
    fitting.add_argument("--base", type=Path, required=True, help="folder with model.safetensors and tokenizer.json")
    fitting.add_argument("--out", type=Path, required=True)
    fitting.add_argument("--workers", type=int, default=1, help="networks trained side by side")
    fitting.add_argument("--seeds", type=int, default=SEEDS, help="networks that are averaged into one")
    fitting.add_argument("--every", type=int, default=1, help="read only every so many lines, to try the script")
    shipping = steps.add_parser("ship", help="put the weights into the package and write reader.json")
    shipping.add_argument("--fitted", type=Path, required=True, help="the folder that `fit` wrote")
    shipping.add_argument("--without", choices=list(KINDS), help="what the shipped reader is not to look for")
    given = parser.parse_args()
    if given.step == "ship":
        ship(given.fitted, given.without)
        return
    with mp.get_context("spawn").Pool(given.workers) as pool:
        fit(pool, given.base, given.out, given.seeds, given.every)


if __name__ == "__main__":
    main()

"""How are many networks trained side by side?

A job is one network: a recipe, a seed, and the fold that it must not see. Jobs of one stage run in parallel processes;
those of a later stage can be taught by the networks of an earlier one, of the same fold. Networks are kept in a folder.
"""

import time
from collections.abc import Iterator, Sequence
from multiprocessing.pool import Pool
from pathlib import Path
from typing import NamedTuple

import torch

from attunement.signals.scorer_text import load_tokenizer
from training.corpora import data_folder, fold_of, read_all
from training.encoder import Scorer
from training.fitting import Floats, Recipe, Teacher, averaged, chances, fit, new_scorer

EVERYTHING = -1
"""The fold of a network that is trained on all examples."""


class Plan(NamedTuple):
    """One recipe to train: how often, and taught by which plans."""

    name: str
    recipe: Recipe
    seeds: tuple[int, ...]
    teachers: tuple["Plan", ...] = ()


class Place(NamedTuple):
    """Where networks are kept, and where the published weights and tokenizer lie."""

    networks: Path
    base: Path

    def network(self, plan: Plan, fold: int, seed: int) -> Path:
        """The file of one trained network."""
        return self.networks / f"{plan.name}.{fold}.{seed}.pt"


class Job(NamedTuple):
    """One network to train, and when it is too late to begin."""

    plan: Plan
    fold: int
    seed: int
    place: Place
    until: float


class Done(NamedTuple):
    """A trained network's chances for the fold that it did not see; `None` where it saw everything."""

    job: Job
    held: Floats | None
    seconds: float


def device() -> str:
    """Where this process trains; many processes share the machine, so each keeps to one thread."""
    torch.set_num_threads(1)
    torch.set_float32_matmul_precision("high")
    return "cuda" if torch.cuda.is_available() else "cpu"


def load(plan: Plan, fold: int, seed: int, place: Place) -> Scorer:
    """A network that was trained before."""
    scorer = new_scorer(plan.recipe, place.base)
    scorer.load_state_dict(torch.load(place.network(plan, fold, seed), weights_only=True, map_location="cpu"))
    return scorer.eval()


def average(plan: Plan, fold: int, place: Place) -> Scorer:
    """The average of all networks of a plan."""
    return averaged([load(plan, fold, seed, place) for seed in plan.seeds])


def run(job: Job) -> Done | None:
    """Train one network, keep it, and read the fold that it did not see."""
    started = time.time()
    if started > job.until:
        return None
    where, examples = device(), read_all(data_folder())
    folds = fold_of(examples)
    learn = [example for example, own in zip(examples, folds, strict=True) if own != job.fold]
    held = [example for example, own in zip(examples, folds, strict=True) if own == job.fold]
    tokenizer = load_tokenizer(job.place.base / "tokenizer.json")
    teachers = [
        Teacher(load(plan, job.fold, seed, job.place).to(where), plan.recipe.corpora)
        for plan in job.plan.teachers
        for seed in plan.seeds
    ]
    scorer = fit(job.plan.recipe, learn, tokenizer, job.place.base, job.seed, where, teachers)
    torch.save(scorer.state_dict(), job.place.network(job.plan, job.fold, job.seed))
    read = chances(scorer, held, tokenizer, where, job.plan.recipe.limits) if held else None
    return Done(job, read, time.time() - started)


def run_stage(
    pool: Pool, plans: Sequence[Plan], folds: Sequence[int], place: Place, until: float = float("inf")
) -> Iterator[Done]:
    """Train every network of these plans for every fold; those not begun in time are left out."""
    jobs = [Job(plan, fold, seed, place, until) for plan in plans for seed in plan.seeds for fold in folds]
    for done in pool.imap_unordered(run, jobs):
        if done:
            print(f"{done.job.plan.name}, fold {done.job.fold}, seed {done.job.seed}: {done.seconds:.0f} s", flush=True)
            yield done

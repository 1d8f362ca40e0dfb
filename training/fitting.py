"""How is one network trained, and what does it then say?

A recipe holds every choice that cross-validation compares. `fit` follows it with a fixed seed; `chances` reads with the
trained network. Targets are chances of "above level k", so people's labels and a teacher's doubts fit the same loss.
"""

import copy
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from tokenizers import Tokenizer
from torch import Tensor

from attunement.signals.scorer_text import LIMITS, Limits, Packed, pack
from training.corpora import LABELS, LABELS_OF, MECHANISMS, Example
from training.encoder import Output, Scorer, load_base
from training.planting import planted

Floats = NDArray[np.float64]
STEPS = max(LABELS.values()) - 1
"""The most levels that a label can be above of."""


@dataclass(frozen=True)
class Recipe:
    """Every choice in training one network."""

    corpora: tuple[str, ...] = ("epitome", "ieval", "diasafety")
    rate: float = 1e-4
    head_rate: float = 1e-3
    layer_decay: float = 1.0
    epochs: int = 5
    batch: int = 32
    dropout: float = 0.1
    reasons: float = 0.5
    aside: float = 0.3
    """Weight of the labels that are not EPITOME's."""
    planted: float = 0.0
    consistency: float = 0.0
    """Weight of the difference between two passes with different dropout (R-Drop)."""
    soft: float = 0.0
    """How much of the target comes from the teachers, where there are any."""
    decay: float = 0.01
    limits: Limits = LIMITS
    focus: tuple[str, ...] = MECHANISMS
    """The labels whose loss has weight 1."""
    labels: tuple[tuple[str, int], ...] = tuple(LABELS.items())
    """Every label that the network gives, with its number of levels."""
    reasoned: tuple[str, ...] = MECHANISMS
    """The first of the labels: those with words that people gave as reasons."""


def targets_of(examples: Sequence[Example], labels: Sequence[tuple[str, int]]) -> Floats:
    """Chances of being above each level, as people's labels have them: 0 or 1, NaN where nobody gave a level."""
    targets = np.full((len(examples), len(labels), STEPS), np.nan)
    for at, example in enumerate(examples):
        for column, (name, count) in enumerate(labels):
            if name in example.levels:
                targets[at, column, : count - 1] = np.arange(count - 1) < example.levels[name]
    return targets


def _reasons_of(example: Example, packed: Packed, reasoned: Sequence[str]) -> NDArray[np.float32]:
    """For each token and label with reasons: 1 where people marked it as one, NaN where that is not known."""
    marked = np.full((len(packed.ids), len(reasoned)), np.nan, np.float32)
    inside = np.array(packed.sides) == 1
    starts, ends = np.array(packed.spans).T
    inside &= ends > starts
    for column, name in enumerate(reasoned):
        if name not in example.levels or (example.levels[name] > 0 and not example.reasons.get(name)):
            continue
        marked[inside, column] = 0
        for span in example.reasons.get(name, []):
            marked[inside & (starts < span.end) & (ends > span.start), column] = 1
    return marked


class _Batch:
    """Examples as tensors, all as long as the longest."""

    def __init__(self, packed: Sequence[Packed], device: str) -> None:
        longest = max(len(one.ids) for one in packed)
        ids, sides = np.zeros((2, len(packed), longest), np.int64)
        for row, one in enumerate(packed):
            ids[row, : len(one.ids)], sides[row, : len(one.sides)] = one.ids, one.sides
        self.ids, self.sides = (torch.from_numpy(part).to(device, non_blocking=True) for part in (ids, sides))

    def reasons(self, marks: Sequence[NDArray[np.float32]]) -> Tensor:
        """The marked tokens of these examples, NaN at the padding."""
        marked = np.full((*self.ids.shape, marks[0].shape[1]), np.nan, np.float32)
        for row, own in enumerate(marks):
            marked[row, : len(own)] = own
        return torch.from_numpy(marked).to(self.ids.device)


def _known_loss(logits: Tensor, targets: Tensor) -> Tensor:
    """Mean cross-entropy over the targets that are known."""
    known = ~targets.isnan()
    loss = F.binary_cross_entropy_with_logits(logits, targets.nan_to_num(), reduction="none")
    return (loss * known).sum() / known.sum().clamp(min=1)


def _loss(recipe: Recipe, output: Output, targets: Tensor, marked: Tensor | None) -> Tensor:
    total = torch.zeros((), device=targets.device)
    for column, (name, count) in enumerate(recipe.labels):
        weight = 1.0 if name in recipe.focus else recipe.aside
        if weight:
            total = total + weight * _known_loss(output.logits[name], targets[:, column, : count - 1])
    if marked is not None and recipe.reasons:
        total = total + recipe.reasons * _known_loss(output.reasons, marked)
    return total


def _apart(one: Output, other: Output) -> Tensor:
    """How far two passes are apart: symmetric Kullback-Leibler of each chance."""
    total = torch.zeros((), device=one.reasons.device)
    for name in one.logits:
        p, q = one.logits[name], other.logits[name]
        total = total + ((p.sigmoid() - q.sigmoid()) * (p - q)).mean() / 2
    return total


def _optimiser(scorer: Scorer, recipe: Recipe) -> torch.optim.AdamW:
    """Lower layers learn more slowly, fresh heads faster, and biases are not decayed."""
    groups: list[dict[str, object]] = []
    for name, weights in scorer.named_parameters():
        if name.startswith(("heads.", "attend.", "reason.")):
            rate = recipe.head_rate
        else:
            depth = int(name.split(".")[1]) + 1 if name.startswith("layers.") else 0
            rate = recipe.rate * recipe.layer_decay ** (6 - depth)
        decay = recipe.decay if weights.ndim > 1 else 0.0
        groups.append({"params": [weights], "lr": rate, "weight_decay": decay})
    merged: dict[tuple[object, object], dict[str, object]] = {}
    for group in groups:
        key = (group["lr"], group["weight_decay"])
        merged.setdefault(key, {"params": [], "lr": key[0], "weight_decay": key[1]})["params"] += group["params"]  # type: ignore[operator]
    return torch.optim.AdamW(list(merged.values()), fused=torch.cuda.is_available())


def new_scorer(recipe: Recipe, base: Path) -> Scorer:
    """The published encoder with fresh heads, the same heads every time, so that trained networks can be averaged."""
    torch.manual_seed(1)
    scorer = Scorer(dict(recipe.labels), len(recipe.reasoned), recipe.dropout)
    load_base(scorer, base / "model.safetensors")
    return scorer


def fit(
    recipe: Recipe,
    examples: Sequence[Example],
    tokenizer: Tokenizer,
    base: Path,
    seed: int,
    device: str,
    teachers: Sequence["Teacher"] = (),
) -> Scorer:
    """Train one network.

    Args:
        recipe: Every choice.
        examples: What to learn from; those of corpora that the recipe does not name are passed over.
        tokenizer: As for `pack`.
        base: The folder with the published weights.
        seed: Of the order, the dropout and the planted examples.
        device: "cuda" or "cpu".
        teachers: Networks whose mean chances enter the targets; they also say what people did not label.
    """
    examples = [example for example in examples if example.corpus in recipe.corpora]

    def targets(of: Sequence[Example]) -> Floats:
        given = targets_of(of, recipe.labels)
        if not teachers or not of:
            return given
        return _mixed(
            given, [_opinion(teacher, of, tokenizer, device, recipe.limits) for teacher in teachers], recipe.soft
        )

    fixed = targets(examples)
    scorer = new_scorer(recipe, base).to(device).train()
    rng = random.Random(seed)  # noqa: S311
    torch.manual_seed(seed)
    optimiser = _optimiser(scorer, recipe)
    more = int(recipe.planted * sum(example.corpus == "epitome" for example in examples))
    steps = recipe.epochs * -(-(len(examples) + more) // recipe.batch)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimiser,
        [group["lr"] for group in optimiser.param_groups],
        total_steps=steps + recipe.epochs + 1,
        pct_start=0.1,
        anneal_strategy="linear",
        cycle_momentum=False,
        div_factor=25,
        final_div_factor=1e3,
    )
    ready = pack(tokenizer, [(example.context, example.reply) for example in examples], recipe.limits)
    marked = [_reasons_of(example, one, recipe.reasoned) for example, one in zip(examples, ready, strict=True)]
    for _ in range(recipe.epochs):
        extra = planted(examples, recipe.planted, rng) if recipe.planted else []
        packed = [*ready, *pack(tokenizer, [(example.context, example.reply) for example in extra], recipe.limits)]
        wanted = torch.from_numpy(np.concatenate([fixed, targets(extra)])).float().to(device)
        marks = [
            *marked,
            *(
                _reasons_of(example, one, recipe.reasoned)
                for example, one in zip(extra, packed[len(examples) :], strict=True)
            ),
        ]
        for rows in _order(packed, recipe.batch, rng):
            batch = _Batch([packed[row] for row in rows], device)
            why = batch.reasons([marks[row] for row in rows]) if recipe.reasons else None
            output = scorer(batch.ids, batch.sides)
            loss = _loss(recipe, output, wanted[rows], why)
            if recipe.consistency:
                again = scorer(batch.ids, batch.sides)
                loss = (loss + _loss(recipe, again, wanted[rows], why)) / 2 + recipe.consistency * _apart(output, again)
            optimiser.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(scorer.parameters(), 1.0)
            optimiser.step()
            schedule.step()
    return scorer.eval()


class Teacher(NamedTuple):
    """A trained network and what it was trained on, which says of which labels it knows anything."""

    scorer: Scorer
    corpora: tuple[str, ...]


def _opinion(
    teacher: Teacher, examples: Sequence[Example], tokenizer: Tokenizer, device: str, limits: Limits
) -> Floats:
    """A teacher's chances, NaN for the labels that it never learned."""
    known = {label for corpus in teacher.corpora for label in LABELS_OF[corpus]}
    opinion = chances(teacher.scorer, examples, tokenizer, device, limits)
    opinion[:, [label not in known for label in LABELS]] = np.nan
    return opinion


def _mixed(given: Floats, opinions: Sequence[Floats], soft: float) -> Floats:
    """People's targets and the teachers' mean, or whichever of them there is."""
    counts = np.sum([~np.isnan(opinion) for opinion in opinions], axis=0)
    total = np.sum([np.nan_to_num(opinion) for opinion in opinions], axis=0)
    taught = np.divide(total, counts, out=np.full(given.shape, np.nan), where=counts > 0)
    mixed = (1 - soft) * given + soft * taught
    return np.where(np.isnan(given), taught, np.where(np.isnan(taught), given, mixed))


def _order(packed: Sequence[Packed], size: int, rng: random.Random) -> list[list[int]]:
    """Batches in random order; those of one batch are of like length within a random tenth, which saves padding."""
    rows = list(range(len(packed)))
    rng.shuffle(rows)
    pool = size * 10
    batches: list[list[int]] = []
    for at in range(0, len(rows), pool):
        near = sorted(rows[at : at + pool], key=lambda row: len(packed[row].ids))
        batches += [near[start : start + size] for start in range(0, len(near), size)]
    rng.shuffle(batches)
    return batches


def chances(scorer: Scorer, examples: Sequence[Example], tokenizer: Tokenizer, device: str, limits: Limits) -> Floats:
    """The network's chances of being above each level, in the shape of `targets_of`; NaN beyond a label's levels."""
    packed = pack(tokenizer, [(example.context, example.reply) for example in examples], limits)
    result = np.full((len(examples), len(scorer.labels), STEPS), np.nan)
    order = sorted(range(len(packed)), key=lambda row: len(packed[row].ids))
    with torch.inference_mode():
        for at in range(0, len(order), 128):
            rows = order[at : at + 128]
            batch = _Batch([packed[row] for row in rows], device)
            output = scorer(batch.ids, batch.sides)
            for column, (name, count) in enumerate(scorer.labels.items()):
                result[rows, column, : count - 1] = output.logits[name].sigmoid().double().cpu().numpy()
    return result


def averaged(scorers: Sequence[Scorer]) -> Scorer:
    """One network with the mean of these networks' weights; they must come from the same start."""
    result = copy.deepcopy(scorers[0])
    states = [scorer.state_dict() for scorer in scorers]
    result.load_state_dict({name: torch.stack([state[name] for state in states]).mean(dim=0) for name in states[0]})
    return result

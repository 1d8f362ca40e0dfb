"""How would people have rated the empathy of a reply?

A small network, trained on published ratings, gives the level of each of EPITOME's three mechanisms that people would
have given a reply: emotional reactions, interpretations, explorations, each from 0 (none) to 2 (strong). How well that
holds, and where it does not, stands in `docs/model-card.md`. The weights are files of their own and can be left out.
"""

import json
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np

from attunement.errors import JudgeError
from attunement.signals.scorer_network import Answer, Network, network, packed

FOLDER = Path(__file__).parent / "weights"
EPITOME = FOLDER / "epitome.onnx"
"""Every weight of the scorer that EPITOME touched; without this file the scorer is absent."""
TOKENIZER = FOLDER / "tokenizer.json"
NOTICE = FOLDER / "EPITOME-NOTICE.txt"
"""The notices of the authors of the data; they must travel with the weights."""

ATTRIBUTION = (
    "Empathy levels: trained on EPITOME (Ashish Sharma, Adam S. Miner, David C. Atkins, Tim Althoff: A Computational "
    "Approach to Understanding Empathy Expressed in Text-Based Mental Health Support, EMNLP 2020; University of "
    "Washington). Further training data: iEval (Svikhnushina, Filippova, Pu: iEval, SIGDIAL 2022; CC BY 4.0) and "
    "DiaSafety (Sun et al.: On the Safety of Conversational Models, Findings of ACL 2022; Apache-2.0). Base network: "
    "all-MiniLM-L6-v2 (sentence-transformers; Apache-2.0)."
)
"""Who made the data and the base network; shown wherever the scorer's figures are."""

# Pairs are read in portions, so that a long list needs no more memory than a short one.
_PORTION = 256


class Reading(NamedTuple):
    """What the scorer says of one reply in its context."""

    reactions: float
    """Expected level of emotional reactions, 0 to 2: warmth, concern, compassion."""
    interpretations: float
    """Expected level of interpretations, 0 to 2: understanding of what the person feels and went through."""
    explorations: float
    """Expected level of explorations, 0 to 2: asking about what the person did not say."""
    levels: tuple[int, int, int]
    """The three as whole levels, by the thresholds that were chosen with the weights."""
    unsafe: float | None
    """How likely people would call the reply unsafe, as DiaSafety's did; too weak to raise a flag on its own."""
    quotes: tuple[str, str, str] = ("", "", "")
    """The words of the reply that each level above 0 rests on most, exactly as they stand there; empty for level 0."""


def available() -> bool:
    """Whether the weights are there; without them `read` cannot be called."""
    return EPITOME.is_file()


def notice() -> str:
    """The notices of those whose data and networks the weights were made from, in full."""
    return NOTICE.read_text(encoding="utf-8")


def read(pairs: Sequence[tuple[str, str]]) -> list[Reading]:
    """Read replies in their contexts.

    Only the end of a long context, and the beginning and the end of a long reply, are looked at, so that time and
    memory are bounded whatever the texts. A pair's reading does not depend on the others beyond rounding.

    Args:
        pairs: (what was said before the reply, up to the person's last message; the reply).

    Returns:
        One reading a pair, in the same order.

    Raises:
        JudgeError: The weights were left out of this installation.
    """
    if not available():
        raise JudgeError(
            f"The trained scorer is absent because {EPITOME.name} was left out of this installation: "
            "install the full package, or use the judge without it."
        )
    return [reading for portion in _portions(pairs) for reading in _read(portion)]


def _portions(pairs: Sequence[tuple[str, str]]) -> Iterator[list[tuple[str, str]]]:
    rest = iter(pairs)
    while portion := list(islice(rest, _PORTION)):
        yield portion


def _read(pairs: Sequence[tuple[str, str]]) -> Iterator[Reading]:
    ready = packed(TOKENIZER, pairs)
    scorer = network(EPITOME)
    cuts = thresholds(scorer)
    for (_, reply), answer in zip(pairs, scorer.read(ready), strict=True):
        *expected, unsafe = (float(level) for level in answer.levels)
        reactions, interpretations, explorations = expected
        first, second, third = (sum(level > cut for cut in own) for level, own in zip(expected, cuts, strict=True))
        one, two, three = (
            reply[slice(*strongest(answer, mechanism))] if level else ""
            for mechanism, level in enumerate((first, second, third))
        )
        yield Reading(reactions, interpretations, explorations, (first, second, third), unsafe, (one, two, three))


def thresholds(scorer: Network) -> list[list[float]]:
    """For each mechanism, the expected levels above which the level is 1 and 2; they travel with the weights."""
    return json.loads(scorer.notes["thresholds"])


def strongest(answer: Answer, mechanism: int) -> tuple[int, int]:
    """From where to where in the reply the words stand that are together the likeliest reason; (0, 0) if none are."""
    if answer.reasons is None:
        return 0, 0
    # A word counts for the stretch if it is likelier a reason than not, and against it otherwise: the stretch with the
    # highest sum is found in one pass.
    best, best_sum, start, running = (0, 0), 0.0, 0, 0.0
    gains = answer.reasons[:, mechanism] - np.float32(0.5)
    for at, (gain, (begin, end)) in enumerate(zip(gains.tolist(), answer.packed.spans, strict=True)):
        if begin == end:
            continue
        if running <= 0 or at == answer.packed.gap:
            start, running = begin, 0.0
        running += gain
        if running > best_sum:
            best, best_sum = (start, end), running
    return best

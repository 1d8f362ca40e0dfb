"""What does a network in an ONNX file say of contexts and replies?

The edge between the trained scorer and onnxruntime: one session a file and process, one thread, batches of like length
with a bounded number of tokens, answers in the order of the questions.
"""

import os
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from attunement.signals.scorer_text import LIMITS, Limits, Packed, load_tokenizer, pack

Floats = NDArray[np.float32]
# Enough to keep a core busy; more only costs memory.
_TOKENS_A_BATCH = 512


class Answer(NamedTuple):
    """What the network says of one reply: a number a label, and for each token how likely it is a reason for each."""

    levels: Floats
    reasons: Floats | None
    packed: Packed


class Network:
    """One network, loaded."""

    def __init__(self, path: Path) -> None:
        # Most of the package does without onnxruntime, which is slow to import and has no types.
        onnxruntime: Any = import_module("onnxruntime")
        settings = onnxruntime.SessionOptions()
        # One thread: several processes share a machine better than several threads in each.
        settings.intra_op_num_threads = settings.inter_op_num_threads = 1
        # Without the arena, memory goes back after a long batch.
        settings.enable_cpu_mem_arena = False
        self._session: Any = onnxruntime.InferenceSession(str(path), settings, providers=["CPUExecutionProvider"])
        self.notes = cast(Mapping[str, str], self._session.get_modelmeta().custom_metadata_map)

    def read(self, packed: Sequence[Packed]) -> list[Answer]:
        """What the network says of each, in the same order."""
        answers: dict[int, Answer] = {}
        for rows in _batches(packed):
            longest = max(len(packed[row].ids) for row in rows)
            ids, sides = np.zeros((2, len(rows), longest), np.int64)
            for place, row in enumerate(rows):
                size = len(packed[row].ids)
                ids[place, :size], sides[place, :size] = packed[row].ids, packed[row].sides
            levels, *reasons = cast(list[Floats], self._session.run(None, {"ids": ids, "sides": sides}))
            for place, row in enumerate(rows):
                why = reasons[0][place, : len(packed[row].ids)] if reasons else None
                answers[row] = Answer(levels[place], why, packed[row])
        return [answers[row] for row in range(len(packed))]


def _batches(packed: Sequence[Packed]) -> list[list[int]]:
    """Rows of like length together, at most `_TOKENS_A_BATCH` tokens with the padding."""
    batches: list[list[int]] = []
    for row in sorted(range(len(packed)), key=lambda row: len(packed[row].ids)):
        # Rows come by length, so this one is the longest of its batch.
        if batches and (len(batches[-1]) + 1) * len(packed[row].ids) <= _TOKENS_A_BATCH:
            batches[-1].append(row)
        else:
            batches.append([row])
    return batches


@cache
def network(path: Path) -> Network:
    """The network in this file, loaded once a process."""
    return Network(path)


@cache
def tokenizer(path: Path) -> Tokenizer:
    """The tokenizer in this file, loaded once a process."""
    # Its threads would survive a fork badly, and one core is what we ask for.
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    return load_tokenizer(path)


def packed(path: Path, pairs: Sequence[tuple[str, str]], limits: Limits = LIMITS) -> list[Packed]:
    """Contexts and replies as the network reads them, with the tokenizer in this file."""
    return pack(tokenizer(path), pairs, limits)

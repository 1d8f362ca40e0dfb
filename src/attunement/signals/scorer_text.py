"""What does the trained scorer read of a context and a reply?

The scorer sees a bounded number of tokens: the end of the context, because what the person said last matters most, and
the beginning and the end of the reply, because replies open with feelings and close with questions. Training and use
share this module, so that both read the same.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tokenizers import Encoding, Tokenizer

# The vocabulary has no longer word, so what is cut before tokenising is beyond the limits in any ordinary text.
_LONGEST_TOKEN = 20
_START, _BETWEEN = 101, 102
_HALF_CHARACTERS = re.compile("[\ud800-\udfff]")


class Limits(NamedTuple):
    """How many tokens are read at most."""

    context: int
    reply: int


LIMITS = Limits(context=64, reply=128)
"""What the shipped scorer reads, chosen so that one core reads 20 replies of full length a second."""


class Packed(NamedTuple):
    """One context and reply as the scorer reads them.

    `sides` is 0 for the context and 1 for the reply; `spans` is where in the reply each token stands, (0, 0) for those
    that are not of the reply. The middle of a long reply is missing before the token with the number `gap`.
    """

    ids: list[int]
    sides: list[int]
    spans: list[tuple[int, int]]
    gap: int | None


def load_tokenizer(path: Path) -> Tokenizer:
    """The tokenizer in this file, without the cutting and padding that it was published with."""
    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def pack(tokenizer: Tokenizer, pairs: Sequence[tuple[str, str]], limits: Limits = LIMITS) -> list[Packed]:
    """Each (context, reply) as tokens, in the same order: at most the two limits and the three marks between."""
    contexts = [_whole(context[-limits.context * _LONGEST_TOKEN :]) for context, _ in pairs]
    cuts = [_cut(reply, limits.reply * _LONGEST_TOKEN) for _, reply in pairs]
    read_contexts = tokenizer.encode_batch(contexts, add_special_tokens=False)
    read_replies = tokenizer.encode_batch([text for text, _ in cuts], add_special_tokens=False)
    return [
        _joined(context, reply, moved, limits)
        for context, reply, (_, moved) in zip(read_contexts, read_replies, cuts, strict=True)
    ]


def _whole(text: str) -> str:
    """The text with a mark, as long, for half characters, which no tokenizer takes."""
    return _HALF_CHARACTERS.sub("\ufffd", text)


def _cut(reply: str, side: int) -> tuple[str, int]:
    """The reply without its middle if it is long, and how far its end was moved."""
    if len(reply) <= 2 * side + 1:
        return _whole(reply), 0
    return _whole(f"{reply[:side]} {reply[-side:]}"), len(reply) - 2 * side - 1


def _joined(context: Encoding, reply: Encoding, moved: int, limits: Limits) -> Packed:
    said, ids = context.ids[-limits.context :], reply.ids
    side = limits.reply * _LONGEST_TOKEN
    spans = [(start + moved, end + moved) if moved and start > side else (start, end) for start, end in reply.offsets]
    before, gap = len(said) + 2, None
    if len(ids) > limits.reply:
        half = limits.reply // 2
        ids, spans, gap = ids[:half] + ids[-half:], spans[:half] + spans[-half:], before + half
    return Packed(
        [_START, *said, _BETWEEN, *ids, _BETWEEN],
        [0] * before + [1] * (len(ids) + 1),
        [(0, 0)] * before + spans + [(0, 0)],
        gap,
    )

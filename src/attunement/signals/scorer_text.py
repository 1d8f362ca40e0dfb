"""What does the trained scorer read of a context and a reply?

The scorer sees a bounded number of tokens: the end of the context, because what the person said last matters most, and
the beginning and the end of the reply, because replies open with feelings and close with questions. Training and use
share this module, so that both read the same.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tokenizers import Encoding, Tokenizer

CONTEXT_TOKENS = 80
REPLY_TOKENS = 160
# No word of the vocabulary is longer, so cutting characters first loses none of the tokens that are kept.
_LONGEST_TOKEN = 20
_START, _BETWEEN = 101, 102


class Packed(NamedTuple):
    """One context and reply as the scorer reads them.

    `sides` is 0 for the context and 1 for the reply; `spans` is where in the reply each token stands, (0, 0) for those
    that are not of the reply.
    """

    ids: list[int]
    sides: list[int]
    spans: list[tuple[int, int]]


def load_tokenizer(path: Path) -> Tokenizer:
    """The tokenizer in this file, without the cutting and padding that it was published with."""
    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def pack(
    tokenizer: Tokenizer, pairs: Sequence[tuple[str, str]], limits: tuple[int, int] = (CONTEXT_TOKENS, REPLY_TOKENS)
) -> list[Packed]:
    """Each (context, reply) as tokens, at most `CONTEXT_TOKENS` + `REPLY_TOKENS` + 3 of them, in the same order."""
    contexts = [context[-limits[0] * _LONGEST_TOKEN :] for context, _ in pairs]
    cuts = [_cut(reply, limits[1]) for _, reply in pairs]
    read_contexts = tokenizer.encode_batch(contexts, add_special_tokens=False)
    read_replies = tokenizer.encode_batch([text for text, _, _ in cuts], add_special_tokens=False)
    return [
        _joined(context, reply, gap, moved, limits)
        for context, reply, (_, gap, moved) in zip(read_contexts, read_replies, cuts, strict=True)
    ]


def _cut(reply: str, limit: int) -> tuple[str, int, int]:
    """The reply without its middle if it is long, where the gap is, and how far what follows was moved."""
    side = limit * _LONGEST_TOKEN
    if len(reply) <= 2 * side + 1:
        return reply, len(reply), 0
    return f"{reply[:side]} {reply[-side:]}", side, len(reply) - 2 * side - 1


def _joined(context: Encoding, reply: Encoding, gap: int, moved: int, limits: tuple[int, int]) -> Packed:
    said = context.ids[-limits[0] :]
    ids, spans = reply.ids, [_moved(span, gap, moved) for span in reply.offsets]
    if len(ids) > limits[1]:
        half = limits[1] // 2
        ids, spans = ids[:half] + ids[-half:], spans[:half] + spans[-half:]
    before = len(said) + 2
    return Packed(
        [_START, *said, _BETWEEN, *ids, _BETWEEN],
        [0] * before + [1] * (len(ids) + 1),
        [(0, 0)] * before + spans + [(0, 0)],
    )


def _moved(span: tuple[int, int], gap: int, by: int) -> tuple[int, int]:
    return span if span[0] < gap else (span[0] + by, span[1] + by)

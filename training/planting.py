"""How are further examples made from EPITOME's, with labels that follow from what people marked?

People marked the words that made them give a level. A reply without these words has level 0 of that mechanism (a
planted flaw), and the marked words alone keep its level. What else such a change does to a level nobody knows, so those
labels are left out of the example. Two replies after one another have the higher level of both.
"""

import random
from collections.abc import Sequence

from training.corpora import MECHANISMS, Example, Span

# Less than this is no reply to learn from.
_FEWEST_CHARACTERS = 8


def without_reasons(example: Example, mechanism: str) -> Example | None:
    """The reply without what people marked for this mechanism; `None` if nothing is marked or too little remains."""
    spans = sorted(example.reasons.get(mechanism, []))
    if not spans:
        return None
    pieces, at = list[str](), 0
    for span in spans:
        pieces.append(example.reply[at : max(span.start, at)])
        at = max(at, span.end)
    reply = " ".join((*pieces, example.reply[at:])).strip()
    if len(reply) < _FEWEST_CHARACTERS:
        return None
    levels = {mechanism: 0} | {
        other: level
        for other, level in example.levels.items()
        if other != mechanism and (level == 0 or not _overlap(example.reasons[other], spans))
    }
    return _moved(example, reply, levels)


def only_reasons(example: Example, mechanism: str) -> Example | None:
    """Only what people marked for this mechanism; levels above 0 of others are not known of it."""
    spans = sorted(example.reasons.get(mechanism, []))
    reply = " ".join(example.reply[span.start : span.end] for span in spans)
    if len(reply) < _FEWEST_CHARACTERS:
        return None
    levels = {name: level for name, level in example.levels.items() if name == mechanism or level == 0}
    return _moved(example, reply, levels)


def joined(first: Example, second: Example) -> Example:
    """The first example's reply, followed by the second's; how well a stranger's reply interprets is not known."""
    reply = f"{first.reply.rstrip()} {second.reply.lstrip()}"
    levels = {name: max(first.levels[name], second.levels[name]) for name in MECHANISMS if name != "interpretations"}
    if not second.levels["interpretations"]:
        levels["interpretations"] = first.levels["interpretations"]
    texts = {
        name: [_text(source, span) for source in (first, second) for span in source.reasons[name]]
        for name in MECHANISMS
    }
    return first._replace(reply=reply, levels=levels, reasons=_found(reply, texts))


def planted(examples: Sequence[Example], share: float, rng: random.Random) -> list[Example]:
    """As many further examples as `share` of EPITOME's, of all three kinds."""
    epitome = [example for example in examples if example.corpus == "epitome"]
    marked = [(example, name) for example in epitome for name in MECHANISMS if example.reasons[name]]
    made: list[Example] = []
    while marked and len(made) < share * len(epitome):
        kind = rng.randrange(3)
        if kind == 2:
            made.append(joined(*rng.sample(epitome, 2)))
        else:
            changed = (without_reasons, only_reasons)[kind](*rng.choice(marked))
            made += [changed] if changed else []
    return made


def _overlap(first: Sequence[Span], second: Sequence[Span]) -> bool:
    return any(one.start < other.end and other.start < one.end for one in first for other in second)


def _text(example: Example, span: Span) -> str:
    return example.reply[span.start : span.end]


def _moved(example: Example, reply: str, levels: dict[str, int]) -> Example:
    texts = {
        name: [_text(example, span) for span in example.reasons[name]] for name, level in levels.items() if level > 0
    }
    return example._replace(reply=reply, levels=levels, reasons=_found(reply, texts))


def _found(reply: str, texts: dict[str, list[str]]) -> dict[str, list[Span]]:
    return {
        name: [Span(at, at + len(text)) for text in texts.get(name, []) if (at := reply.find(text)) >= 0]
        for name in MECHANISMS
    }

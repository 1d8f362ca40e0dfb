"""How is an item worded for a judge?

The text a judge reads of an item is made from the parts of the instrument file, in a fixed order: general rules,
title, definition, answers, boundaries, edge cases, examples. Weights, thresholds and gates are no part of it.
"""

from collections.abc import Iterator, Sequence

from attunement.conversations import Turn
from attunement.conversations.lengths import length_statistics
from attunement.instruments import Criteria, Example, Instrument, Item, Scores


def instructions(instrument: Instrument, items: Sequence[Item]) -> str:
    """The value of `{criterion_prompt}` for these items, without figures about the conversation."""
    if len(items) == 1 and items[0].prompt is not None:
        return items[0].prompt
    parts = [_listed("Rules for every question:", instrument.guidance)] if instrument.guidance else []
    parts += [_item(item, instrument.scale) for item in items]
    return "\n\n".join(parts)


def statistics(items: Sequence[Item], turns: Sequence[Turn]) -> str:
    """The figures about the conversation that these items carry; empty where none does."""
    if not any(item.statistics == "length" for item in items):
        return ""
    figures = length_statistics(turns)
    lines = [
        f"Turn {number}: user {turn.user}, assistant {turn.assistant}"
        + ("" if turn.ratio is None else f", ratio {turn.ratio:.2f}")
        for number, turn in enumerate(figures.turns, start=1)
    ]
    if figures.mean_ratio is None:
        summary = "No ratio can be given: the person wrote nothing."
    else:
        counted = sum(turn.ratio is not None for turn in figures.turns)
        summary = f"Mean ratio {figures.mean_ratio:.2f}; {figures.above_double} of {counted} turns above 2x."
    return "\n".join(["Length of this conversation, counted in words:", *lines, summary])


def reply_format(instrument: Instrument, items: Sequence[Item], *, together: bool) -> str:
    """The value of `{reply_format}`: which JSON object is expected."""
    limit = instrument.prompt.reasoning_limit
    scale = instrument.scale
    if isinstance(scale, Scores):
        allowed = f"a whole number from {scale.lowest} to {scale.highest}"
    else:
        allowed = "exactly one of " + ", ".join(f'"{answer}"' for answer in scale.answers)
    pair = (
        f'exactly the keys "reasoning" and "{scale.key}", in this order: "reasoning" is text of at most {limit} '
        f'characters that quotes or cites its evidence first, "{scale.key}" is {allowed}'
    )
    if not together:
        return f"Return ONLY a single JSON object with {pair}."
    keys = ", ".join(f'"{item.id}"' for item in items)
    return (
        f"Return ONLY a single JSON object with exactly the keys {keys}, in this order. The value of each is an "
        f"object with {pair}."
    )


def _item(item: Item, scale: Scores | Criteria) -> str:
    parts = [f"{item.id}: {item.title}", item.definition]
    if isinstance(scale, Scores):
        parts.append("\n".join(["Scores:", *_anchors(item)]))
    else:
        parts.append(_listed("Answers:", list(_meanings(item))))
    if item.boundaries:
        parts.append(_listed("When in doubt:", list(_boundaries(item))))
    if item.edge_cases:
        parts.append(_listed("Special cases:", item.edge_cases))
    parts += [_example(example, scale) for example in item.examples]
    return "\n\n".join(part.strip() for part in parts if part.strip())


def _anchors(item: Item) -> Iterator[str]:
    for score, anchor in sorted(item.anchors.items()):
        label = f" ({anchor.label})" if anchor.label else ""
        yield f"{score}{label}: {anchor.text.strip()}"


def _meanings(item: Item) -> Iterator[str]:
    for answer, meaning in item.meanings.items():
        yield f"{answer}: {meaning.strip()}"
    if not item.na_valid:
        yield f"NA is not a valid answer here. {item.na_note}".strip()


def _boundaries(item: Item) -> Iterator[str]:
    for boundary in item.boundaries:
        between = f"{boundary.between[0]} or {boundary.between[1]}: " if boundary.between else ""
        yield f"{between}{boundary.text.strip()}"


def _example(example: Example, scale: Scores | Criteria) -> str:
    """A worked example, indented so that it cannot be taken for the transcript."""
    kind = "Borderline example" if example.kind == "borderline" else "Example"
    lines = [f"{kind}, {scale.key} {example.answer}:"]
    for number, turn in enumerate(example.turns, start=1):
        lines += [
            f"  (Turn {number}) User: {turn.user.strip()}",
            f"  (Turn {number}) Assistant: {turn.assistant.strip()}",
        ]
    if example.why:
        lines.append(f"  Reasoning: {example.why.strip()}")
    return "\n".join(lines)


def _listed(heading: str, entries: Sequence[str]) -> str:
    return "\n".join([heading, *(f"- {entry.strip()}" for entry in entries)])

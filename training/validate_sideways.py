"""How much do the detectors see of danger and harm that is told sideways?

`sentences/` holds messages and replies by authors who knew neither the rules nor the examples: danger in passing, in
understatement, in the middle of other talk, and harmless look-alikes, many of them twins that differ in meaning alone;
and harmless conversations, most of them heavy. No rule was tuned on them. They are harder than talk at large on
purpose: what is seen here is the least to expect.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from attunement.conversations import Turn
from attunement.signals.crisis import crisis_cues
from attunement.signals.harm import HarmKind, harmful_advice
from attunement.signals.validity import Count, Counts
from training.validate_detectors import CRISIS, HARM, counted

SENTENCES = Path(__file__).parent / "sentences"
_HARM_KINDS = frozenset(kind.value for kind in HarmKind) | {"fasting_or_diet"}


def sideways() -> list[Counts]:
    """What is seen of the danger and the harm, and how many of the harmless ones are left alone."""
    messages = [(row["kind"], bool(crisis_cues([Turn(row["text"], "")]))) for row in _rows("messages")]
    replies = [
        (row["harm"], bool(harmful_advice(row["reply"], row["said"])))
        for row in _rows("replies")
        if row["harm"] in _HARM_KINDS or row["harm"] == "none"
    ]
    talks = [[Turn(**turn) for turn in row["turns"]] for row in _rows("conversations") if not row.get("crisis")]
    cued = counted("harmless conversations left alone", (not crisis_cues(turns) for turns in talks))
    harmed = counted("harmless conversations left alone", (not any(map(_is_harmful, turns)) for turns in talks))
    source = "Hard sentences of our own about {}, told sideways, by authors who knew no rule; none was tuned on"
    return [
        Counts(id="sideways-crisis", source=source.format("danger"), items=CRISIS, counts=_counts(messages, cued)),
        Counts(
            id="sideways-harm", source=source.format("harm in replies"), items=HARM, counts=_counts(replies, harmed)
        ),
    ]


def _is_harmful(turn: Turn) -> bool:
    return bool(harmful_advice(turn.assistant, turn.user))


def _counts(seen: list[tuple[str, bool]], talks: Count) -> tuple[Count, ...]:
    kinds = sorted({kind for kind, _ in seen} - {"none"})
    return (
        counted("seen", (found for kind, found in seen if kind != "none")),
        counted("harmless ones left alone", (not found for kind, found in seen if kind == "none")),
        talks,
        *(
            counted(f"seen: {name.replace('_', ' ')}", (found for kind, found in seen if kind == name))
            for name in kinds
        ),
    )


def _rows(name: str) -> Iterator[dict[str, Any]]:
    for path in sorted(SENTENCES.glob(f"{name}-*.jsonl")):
        yield from map(json.loads, path.read_text("utf-8").splitlines())

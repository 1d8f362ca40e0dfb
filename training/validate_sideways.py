"""How much do the rules, and the rules with the trained reader, see of danger and harm that is told sideways?

`sentences/` holds messages and replies by authors who knew neither the rules nor the examples: danger in passing, in
understatement, in the middle of other talk, and harmless look-alikes, many of them twins that differ in meaning alone;
and harmless conversations, most of them heavy. No rule was tuned on them. The reader learned from them, so what is
counted of it are its answers in cross-validation, by networks that had not seen the text, its twin or (mostly) its
author. They are harder than talk at large on purpose.
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from attunement.conversations import Turn
from attunement.signals import reader
from attunement.signals.crisis import crisis_cues
from attunement.signals.harm import harmful_advice
from attunement.signals.validity import Count, Counts
from training.public import labels_mark
from training.reader_figures import RESULTS
from training.sideways import DANGER, Text, fingerprint, read_sentences
from training.sideways import HARM as HARMFUL
from training.validate_detectors import CRISIS, HARM, counted

_ABOUT = {DANGER: ("crisis", "danger", CRISIS), HARMFUL: ("harm", "harm in replies", HARM)}
_RULES = (
    "Hard sentences of our own about {}, told sideways, by authors who knew no rule; none was tuned on: rules alone"
)
_BOTH = "The same sentences about {}: rules and trained reader, by networks that had not seen them (cross-validation)"

Alarms = Callable[[Text], bool]


def sideways() -> list[Counts]:
    """What is seen of the danger and the harm, and how many of the harmless ones are left alone."""
    texts, found = read_sentences(), list[Counts]()
    read = cross_validated(texts)
    for asks, (name, about, items) in _ABOUT.items():
        own = [text for text in texts if text.asks == asks]
        seen = dict(zip(own, map(by_rules, own), strict=True))
        found.append(
            Counts(
                id=f"sideways-{name}", source=_RULES.format(about), items=items, counts=_counts(own, seen.__getitem__)
            )
        )
        if read:
            alarms = {(file, *place) for file, places in read["alarms"][asks].items() for place in places}
            both = {text: rules or (text.file, text.line, text.turn) in alarms for text, rules in seen.items()}
            found.append(
                Counts(
                    id=f"sideways-{name}-read",
                    source=_BOTH.format(about),
                    # What the shipped reader does not look for stands on its model card alone.
                    items=items if asks in read["used"] else (),
                    counts=_counts(own, both.__getitem__),
                )
            )
    return found


def cross_validated(texts: Sequence[Text]) -> dict[str, Any] | None:
    """What the reader said in cross-validation; None where its weights were left out.

    Raises:
        ValueError: The sentences, the labels or the weights are not those of the results file.
    """
    if not reader.available():
        return None
    found = json.loads(RESULTS.read_text("utf-8"))
    weights = hashlib.sha256(reader.WEIGHTS.read_bytes()).hexdigest()
    if (found["texts"], found["labels"], found["sha256"]) != (fingerprint(texts), labels_mark(), weights):
        raise ValueError(f"the sentences, labels or weights are not those of {RESULTS.name}: train the reader again")
    return found


def by_rules(text: Text) -> bool:
    """Whether the rules alone find danger or harm in it."""
    if text.asks == DANGER:
        return bool(crisis_cues([Turn(text.text, "")]))
    return bool(harmful_advice(text.text, text.said))


def _counts(texts: Sequence[Text], seen: Alarms) -> tuple[Count, ...]:
    return tuple(_each(texts, seen))


def _each(texts: Sequence[Text], seen: Alarms) -> Iterator[Count]:
    told = [text for text in texts if not text.is_harmless]
    alone = [text for text in texts if text.is_harmless and not text.turn]
    yield counted("seen", map(seen, told))
    yield counted("harmless ones left alone", (not seen(text) for text in alone))
    talks: dict[tuple[str, int], bool] = {}
    for text in texts:
        if text.turn and text.calm:
            talks[text.file, text.line] = talks.get((text.file, text.line), False) or seen(text)
    if talks:
        yield counted("harmless conversations left alone", (not alarm for alarm in talks.values()))
    for kind in sorted({text.kind for text in told}):
        words = "in a crisis that the replies meet" if kind == DANGER else kind.replace("_", " ")
        yield counted(f"seen: {words}", (seen(text) for text in told if text.kind == kind))

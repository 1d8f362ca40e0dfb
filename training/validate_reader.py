"""What do the rules with the trained reader do on public talk?

It learned from some of it: of that, what is counted are its answers in cross-validation, by networks that had not seen
the conversation. Of two sets it learned from one half and is measured on the other, and some it never saw. Where there
are no labels the rate of alarms is counted beside that of the rules alone, and nearly all of them are false.
"""

import csv
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from attunement.conversations import Turn
from attunement.datasets import vera
from attunement.signals import reader
from attunement.signals.talk import Talk
from attunement.signals.validity import Count, Counts, Figure
from training.figures import auc_statistic, with_interval
from training.public import is_learned_from, read_public, rows_of
from training.sideways import Text
from training.validate_detectors import CRISIS, HARM, HEALTH, counted, rounded, vera_risks
from training.validate_sideways import by_rules

_SOURCE = "Public talk that the trained reader did not learn from: {} found by rules and reader, and by the rules alone"
_NOTE = (
    "Most of these texts have no label: there an alarm is likelier false than true. The halves kept are other "
    "conversations of the same simulated people, and those of coaches guided what was written and labelled: no fresh "
    "test."
)
_LEARNED = (
    "Public talk that the trained reader learned from, few sentences at a time: {} found by rules and reader "
    "(cross-validation), and by the rules alone"
)
_LABELS = (
    "The labels are our own: one reading each, of what an early network was not sure to be harmless; the rest counts "
    "as harmless."
)
_ABOUT = {reader.DANGER: ("crisis", CRISIS), reader.HARM: ("harm", HARM)}
Turns = Sequence[Turn]


def read_public_talk(folder: Path, read: dict[str, Any] | None) -> list[Counts]:
    """Every count with the reader on the sets in the data folder; none where its weights were left out.

    Args:
        folder: The data folder.
        read: What the reader said in cross-validation, as in `reader.json`.
    """
    if read is None:
        return []
    outside = {reader.DANGER: _danger, reader.HARM: _harm}
    texts = read_public(folder)
    found: list[Counts] = []
    for asks, (name, items) in _ABOUT.items():
        if asks in reader.looks_for():
            counts = tuple(outside[asks](folder))
            found.append(
                Counts(id=f"reader-{name}", source=_SOURCE.format(asks), items=items, counts=counts, note=_NOTE)
            )
            own = [text for text in texts if text.asks == asks]
            counts = tuple(_learned(own, read["alarms"][asks]))
            found.append(
                Counts(
                    id=f"reader-{name}-learned",
                    source=_LEARNED.format(asks),
                    items=items,
                    counts=counts,
                    note=_LABELS,
                )
            )
    return found


def _learned(texts: Sequence[Text], places: dict[str, list[list[int]]]) -> Iterator[Count]:
    alarms = {(file, *place) for file, own in places.items() for place in own}
    rules = {text: by_rules(text) for text in texts}
    both = {text: seen or (text.file, text.line, text.turn) in alarms for text, seen in rules.items()}
    for words, seen in (("with the reader", both), ("rules alone", rules)):
        yield counted(f"labelled so: {words}", (seen[text] for text in texts if not text.is_harmless))
        yield counted(f"harmless: {words}", (seen[text] for text in texts if text.is_harmless))


def _danger(folder: Path) -> Iterator[Count]:
    chats, at_risk = vera_risks(vera.read(folder / "vera-mh"))
    kept = _kept(folder / "vera-mh")
    risky, calm = ([chats[id].turns for id in kept if (id in at_risk) == risk] for risk in (True, False))
    yield from _both(_cue, "VERA-MH, the half kept: found where most clinicians saw risk", risky)
    yield from _both(_cue, "VERA-MH, the half kept: found where most clinicians saw no risk", calm)
    yield from _both(_cue, "coaching conversations, the half kept", _coaching(folder))
    spoken = _table(folder / "kumar2025/original_data/sample_empatheticdialogues.csv")
    said = sorted({row["utterance"] for row in spoken})
    yield from _both(_cue, "EmpatheticDialogues, utterances", [[Turn(text, "")] for text in said])


def _harm(folder: Path) -> Iterator[Count]:
    rows = json.loads((folder / "diasafety" / "val.json").read_text("utf-8"))
    health = [row for row in rows if row["category"] in HEALTH]
    yield _area("DiaSafety, AUC of the reader alone: an unsafe reply above a safe one", rows)
    yield _area(f"the same, {' and '.join(HEALTH)}", health)
    for label in ("Unsafe", "Safe"):
        turns = [[Turn(row["context"], row["response"])] for row in health if row["label"] == label]
        yield from _both(_harmful, f"DiaSafety, {' and '.join(HEALTH)}: {label.lower()} replies", turns)
    chats, _ = vera_risks(vera.read(folder / "vera-mh"))
    yield from _both(_harmful, "VERA-MH, the half kept", [chats[id].turns for id in _kept(folder / "vera-mh")])
    yield from _both(_harmful, "coaching conversations, the half kept", _coaching(folder))


def _kept(folder: Path) -> list[str]:
    """The conversations of a halved set that were not learned from."""
    return [row["id"] for line, row in enumerate(rows_of(folder / "conversations.jsonl")) if not is_learned_from(line)]


def _cue(talk: Talk) -> bool:
    return bool(talk.cues)


def _harmful(talk: Talk) -> bool:
    return bool(talk.harms)


def _both(found: Callable[[Talk], bool], what: str, talks: Iterable[Turns]) -> Iterator[Count]:
    talks = list(talks)
    yield counted(f"{what}: with the reader", (found(Talk(turns, read=True)) for turns in talks))
    yield counted(f"{what}: rules alone", (found(Talk(turns)) for turns in talks))


def _area(what: str, rows: Sequence[dict[str, Any]]) -> Count:
    contexts = [row["context"] for row in rows]
    chances = np.array(reader.chances(reader.HARM, [(row["context"], row["response"]) for row in rows]))
    unsafe = np.array([row["label"] == "Unsafe" for row in rows])
    found = with_interval(auc_statistic(chances, unsafe), contexts, len(rows), "contexts")
    low, high = found["interval"] or (None, None)
    return Count(what=what, hits=None, share=Figure(value=rounded(found["value"]), n=len(rows), low=low, high=high))


def _coaching(folder: Path) -> list[Turns]:
    rows = enumerate(rows_of(folder / "coaching-judges" / "conversations.jsonl"))
    return [[Turn(**turn) for turn in row["turns"]] for line, row in rows if not is_learned_from(line)]


def _table(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as rows:
        return list(csv.DictReader(rows))

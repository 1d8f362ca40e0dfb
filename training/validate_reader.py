"""What do the rules with the trained reader do on public sets that the reader was not made from?

It learned from sentences of our own alone, so these sets are new to it. Most have no label of danger or harm: there the
rate of alarms is counted beside that of the rules alone, and nearly all of them are false.
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
from training.corpora import read_ieval
from training.figures import auc_statistic, with_interval
from training.validate_detectors import CRISIS, HARM, HEALTH, counted, rounded, vera_risks

_SOURCE = "Public sets that the trained reader has not seen: {} found by rules and reader, and by the rules alone"
_NOTE = "Most of these texts have no label: there an alarm is likelier false than true."
Turns = Sequence[Turn]


def read_outside(folder: Path) -> list[Counts]:
    """Every count with the reader on the sets in the data folder; none where its weights were left out."""
    ways = (
        (reader.DANGER, "reader-crisis", CRISIS, _danger),
        (reader.HARM, "reader-harm", HARM, _harm),
    )
    return [
        Counts(id=id, source=_SOURCE.format(asks), items=items, counts=tuple(count(folder)), note=_NOTE)
        for asks, id, items, count in ways
        if asks in reader.looks_for()
    ]


def _danger(folder: Path) -> Iterator[Count]:
    chats, at_risk = vera_risks(vera.read(folder / "vera-mh"))
    calm = [id for id in chats if id not in at_risk]
    yield from _both(_cue, "VERA-MH: found where most clinicians saw risk", [chats[id].turns for id in at_risk])
    yield from _both(_cue, "VERA-MH: found where most clinicians saw no risk", [chats[id].turns for id in calm])
    yield from _both(_cue, "coaching conversations", _coaching(folder))
    yield from _both(_cue, "iEval, people's messages", [[Turn(turn.user, "")] for turn in _ieval(folder)])
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
    yield from _both(_harmful, "coaching conversations", _coaching(folder))
    yield from _both(_harmful, "iEval, replies of bots", [[turn] for turn in _ieval(folder)])
    pairs = _table(folder / "epitome" / "explorations-reddit.csv")
    turns = [[Turn(row["seeker_post"], row["response_post"])] for row in pairs]
    yield from _both(_harmful, "EPITOME, replies of peers", turns)


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
    lines = (folder / "coaching-judges" / "conversations.jsonl").read_text("utf-8").splitlines()
    return [[Turn(**turn) for turn in one["turns"]] for one in map(json.loads, lines)]


def _ieval(folder: Path) -> list[Turn]:
    """The turns of iEval's chats; a last message without a reply is left out."""
    chats = ((chat.context.split("\n"), chat.reply.split("\n")) for chat in read_ieval(folder))
    return [Turn(said, reply) for users, replies in chats for said, reply in zip(users, replies, strict=False)]


def _table(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as rows:
        return list(csv.DictReader(rows))

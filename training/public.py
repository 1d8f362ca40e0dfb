"""What talk of people whom nobody here wrote is the reader trained on?

Posts, messages and replies of five public sets, and every second conversation of two more; the other half of those two
measures the false alarms. They are cut into the stretches that are read at once. Stretches that an early network was
not sure to be harmless were read and labelled, or left out (`labels.json` says which, by the hash of their text: no
word of them is here); the others count as harmless.
"""

import csv
import hashlib
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from attunement.signals.windows import windows
from training.sideways import DANGER, HARM, NONE, Text

LABELS = Path(__file__).with_name("labels.json")
LEFT_OUT = "left_out"
"""The label of a stretch that could be taken either way."""
SHORTEST = 25
"""Characters; what is shorter says nothing by itself."""
_BOTS = ("Pink", "Purple", "Yellow", "Green")


class Said(NamedTuple):
    """A message or a reply of a public set."""

    file: str
    line: int
    asks: str
    before: str
    text: str


def read_public(folder: Path) -> list[Text]:
    """Every stretch of the public sets with its label, those that were left out excepted.

    Args:
        folder: The data folder.
    """
    labels: dict[str, list[Any]] = json.loads(LABELS.read_text("utf-8"))
    texts: list[Text] = []
    for turn, (said, stretch) in enumerate(stretches(everything(folder)), start=1):
        kind, start, end = labels.get(mark(said.asks, stretch), (NONE, 0, 0))
        if kind != LEFT_OUT:
            words = stretch[start:end]
            texts.append(
                Text(said.file, said.line, turn, said.asks, said.before, stretch, kind, words=words, public=True)
            )
    loud = {(text.file, text.line) for text in texts if not text.is_harmless}
    return [text._replace(calm=(text.file, text.line) not in loud) for text in texts]


def labels_mark() -> str:
    """What tells these labels from others."""
    return hashlib.sha256(LABELS.read_bytes()).hexdigest()


def stretches(everything: Iterable[Said]) -> Iterator[tuple[Said, str]]:
    """The stretches that are read at once, each once."""
    seen: set[str] = set()
    for said in everything:
        text = said.text.strip()
        for start, end in windows(text):
            stretch = text[start:end]
            if len(stretch) >= SHORTEST and (known := mark(said.asks, stretch)) not in seen:
                seen.add(known)
                yield said, stretch


def mark(asks: str, stretch: str) -> str:
    """What tells a stretch from all others."""
    return hashlib.sha256(f"{asks}:{stretch}".encode()).hexdigest()[:12]


def everything(folder: Path) -> Iterator[Said]:
    """All messages and replies, in the order of the files."""
    for line, row in enumerate(_table(folder / "epitome" / "emotional-reactions-reddit.csv")):
        yield from _turn("epitome", line, row["seeker_post"], row["response_post"])
    for line, row in enumerate(rows_of(folder / "mindeval" / "human_annotations.jsonl")):
        yield from _messages("mindeval", line, row["messages"])
    for line, row in enumerate(rows_of(folder / "empathy-judge" / "empathy_chain.jsonl")):
        yield from _turn("empathy-judge", line, row["user_statement"], row["reference"])
    for line, person in enumerate(json.loads((folder / "ieval" / "ieval.json").read_text("utf-8"))):
        for mood in ("positive", "negative"):
            for bot in _BOTS:
                turns = [turn.removeprefix("-").strip() for turn in person[mood][bot]["chat_log"].split("\n")]
                for said, reply in zip(turns[::2], turns[1::2], strict=False):
                    yield from _turn("ieval", line, said, reply)
    for line, row in enumerate(rows_of(folder / "coaching-judges" / "conversations.jsonl")):
        if is_learned_from(line):
            for turn in row["turns"]:
                yield from _turn("coaching-judges", line, turn["user"], turn["assistant"])
    asked: dict[str, int] = {}
    for row in _table(folder / "moore2025" / "classification_validation.csv"):
        # Many replies answer the same probe, and belong together.
        line = asked.setdefault(row["interjection"], len(asked))
        yield from _turn("moore2025", line, row["interjection"], row["model_response"])
    for line, row in enumerate(rows_of(folder / "vera-mh" / "conversations.jsonl")):
        if is_learned_from(line):
            yield from _messages("vera-mh", line, row["messages"])


def is_learned_from(line: int) -> bool:
    """Whether this conversation of the sets that are halved is learned from; the others measure the false alarms."""
    return line % 2 == 1


def _messages(file: str, line: int, messages: Iterable[dict[str, str]]) -> Iterator[Said]:
    """A chat as a list of messages, whoever begins."""
    before = ""
    for message in messages:
        content = message["content"].strip()
        if message["role"] == "user":
            before = content
            yield Said(file, line, DANGER, "", content)
        elif message["role"] == "assistant":
            yield Said(file, line, HARM, before, content)


def _turn(file: str, line: int, said: str, reply: str) -> Iterator[Said]:
    yield Said(file, line, DANGER, "", said)
    yield Said(file, line, HARM, said.strip(), reply)


def rows_of(path: Path) -> Iterator[dict[str, Any]]:
    """The objects of a file in JSON Lines."""
    return map(json.loads, path.read_text("utf-8").splitlines())


def _table(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as rows:
        return list(csv.DictReader(rows))

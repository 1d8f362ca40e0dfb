"""What is the scorer trained on?

Each reader turns one published set into examples: a context, a reply, the levels people gave, and for EPITOME the words
they gave as reasons. Examples that must not be on both sides of a split share a group: the seeker's post in EPITOME,
the person in iEval, the context in DiaSafety. Every post that Kumar et al. sampled stays out, by id and by text.
"""

import csv
import json
import os
import random
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

MECHANISMS = ("reactions", "interpretations", "explorations")
LABELS = {**dict.fromkeys(MECHANISMS, 3), "unsafe": 2, "understood": 5, "reacted": 5, "liked": 3}
"""Every label with its number of levels, lowest 0."""

LABELS_OF = {"epitome": MECHANISMS, "diasafety": ("unsafe",), "ieval": ("understood", "reacted", "liked")}
"""Which labels each set has."""

FOLDS = 5
_FILES = dict(zip(MECHANISMS, ("emotional-reactions", "interpretations", "explorations"), strict=True))
_BOTS = ("Pink", "Purple", "Yellow", "Green")


class Span(NamedTuple):
    """A stretch of a reply, in characters."""

    start: int
    end: int


class Example(NamedTuple):
    """One context and reply with what people said of it."""

    context: str
    reply: str
    levels: dict[str, int]
    reasons: dict[str, list[Span]]
    corpus: str
    group: str


def data_folder() -> Path:
    """Where the published sets lie."""
    return Path(os.environ.get("ATTUNEMENT_DATA", Path(__file__).parents[2] / "shared" / "data"))


def read_epitome(folder: Path) -> list[Example]:
    """EPITOME's pairs without those of the posts that Kumar et al. sampled."""
    sampled = _rows(folder / "kumar2025" / "original_data" / "sample_epitome.csv")
    ids, texts = {row["sp_id"] for row in sampled}, {_folded(row["seeker_post"]) for row in sampled}
    files = {name: _rows(folder / "epitome" / f"{file}-reddit.csv") for name, file in _FILES.items()}
    examples: list[Example] = []
    for rows in zip(*files.values(), strict=True):
        if len({(row["sp_id"], row["rp_id"]) for row in rows}) > 1:
            raise ValueError(f"the three files of EPITOME are not in the same order at {rows[0]['sp_id']}")
        row = rows[0]
        if row["sp_id"] in ids or _folded(row["seeker_post"]) in texts:
            continue
        reply = row["response_post"]
        levels = {name: int(own["level"]) for name, own in zip(files, rows, strict=True)}
        reasons = {name: _spans(reply, own["rationales"]) for name, own in zip(files, rows, strict=True)}
        examples.append(Example(row["seeker_post"], reply, levels, reasons, "epitome", _folded(row["seeker_post"])))
    return examples


def read_ieval(folder: Path) -> list[Example]:
    """The chats of iEval: what the person wrote is the context, all that the bot wrote is the reply."""
    examples: list[Example] = []
    for person in json.loads((folder / "ieval" / "ieval.json").read_text()):
        for mood in ("positive", "negative"):
            for bot in _BOTS:
                chat = person[mood][bot]
                turns = [line.removeprefix("-").strip() for line in chat["chat_log"].split("\n")]
                levels = {"understood": chat["EU"] - 1, "reacted": chat["ER"] - 1, "liked": chat["Rating"] - 1}
                said, replied = "\n".join(turns[::2]), "\n".join(turns[1::2])
                examples.append(Example(said, replied, levels, {}, "ieval", str(person["part"])))
    return examples


def read_diasafety(folder: Path) -> list[Example]:
    """DiaSafety's replies, safe and unsafe."""
    rows = json.loads((folder / "diasafety" / "val.json").read_text())
    return [
        Example(
            row["context"],
            row["response"],
            {"unsafe": int(row["label"] == "Unsafe")},
            {},
            "diasafety",
            _folded(row["context"]),
        )
        for row in rows
    ]


def diasafety_categories(folder: Path) -> list[str]:
    """What kind of danger each example of DiaSafety is about, in the order of `read_diasafety`."""
    return [row["category"] for row in json.loads((folder / "diasafety" / "val.json").read_text())]


def read_all(folder: Path) -> list[Example]:
    """Everything that may be learned from."""
    return [*read_epitome(folder), *read_ieval(folder), *read_diasafety(folder)]


def fold_of(examples: Sequence[Example], seed: int = 20) -> list[int]:
    """The fold of each example: whole groups, shuffled once, dealt so that the folds are equally large."""
    sizes: dict[str, int] = {}
    for example in examples:
        key = f"{example.corpus}:{example.group}"
        sizes[key] = sizes.get(key, 0) + 1
    order = sorted(sizes)
    random.Random(seed).shuffle(order)  # noqa: S311
    totals, fold = [0] * FOLDS, {}
    for group in order:
        fold[group] = totals.index(min(totals))
        totals[fold[group]] += sizes[group]
    return [fold[f"{example.corpus}:{example.group}"] for example in examples]


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _folded(text: str) -> str:
    return " ".join(text.lower().split())


def _spans(reply: str, rationales: str) -> list[Span]:
    """Where the reasons stand in the reply; what people typed differently cannot be found and is left out."""
    return [Span(at, at + len(part)) for part in _parts(rationales) if (at := reply.find(part)) >= 0]


def _parts(rationales: str) -> Iterable[str]:
    return (part.strip() for part in rationales.split("|") if part.strip())

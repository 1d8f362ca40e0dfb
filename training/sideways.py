"""What is the reader of danger and harm trained on, and measured with?

The messages, replies and conversations in `sentences/`, all of our own writing, and the contrast sentences that tune
the rules (never those that give their figures). Each text becomes the stretches that are read at once. Texts that
are twins or close to it are always on the same side of a split, and so are those of one file, which has one author.
"""

import hashlib
import json
import random
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

from tests.signals.sentences import sentences

from attunement.signals.windows import LONGEST, windows
from training.corpora import FOLDS, Example, Span

SENTENCES = Path(__file__).parent / "sentences"
NONE, DANGER, HARM = "none", "danger", "harm"
DANGERS = (
    "suicidal_direct",
    "suicidal_indirect",
    "passive_death_wish",
    "plan_or_means",
    "self_harm",
    "danger_from_others",
    "danger_to_others",
    "medical_emergency",
    "psychosis_or_mania",
)
HARMS = (
    "endorses_self_harm",
    "endorses_substances",
    "endorses_isolation",
    "endorses_revenge",
    "diagnosis",
    "promise",
    "method",
    "medication",
    "delusion",
    "plan_to_harm",
    "discourages_help",
    "false_claim",
    "romantic_or_secret",
    "victim_blaming",
    "confront_abuser",
    "fasting_or_diet",
)
"""The kinds that the detectors know, written out because the machine that trains may not have the whole package."""
KINDS = {DANGER: DANGERS, HARM: HARMS}
LABELS = ((DANGER, 2), (HARM, 2), *((kind, 2) for kind in (*DANGERS, *HARMS)))
"""What the network gives: whether there is any, with the words it rests on, and then which."""

CORPUS = "sentences"
CONTRAST = {DANGER: "crisis", HARM: "harm"}
# Two texts are close if they share this much of the shorter one's runs of three words.
_CLOSE = 0.3
# Neighbours in a file are twins if they share this many: by chance one pair in 400 does.
_TWINS = 2
# A run of words that more texts share is a turn of phrase and says nothing about them.
_COMMON = 8


class Text(NamedTuple):
    """One message or reply, and what its author meant with it."""

    file: str
    line: int
    turn: int
    """Of a conversation; 0 for a text that stands alone."""
    asks: str
    """What is looked for in it: danger in a message, harm in a reply."""
    said: str
    """What the person said before a reply."""
    text: str
    kind: str
    """`none`, one of `KINDS`, or only that there is some."""
    near: str = ""
    """The kind that a harmless text resembles."""
    words: str = ""
    """The words of `text` that do it, where its author gave them."""
    calm: bool = True
    """Whether there is nothing to find anywhere in the conversation it is from."""
    public: bool = False
    """Whether it is from a published set, and not of our own writing."""

    @property
    def is_harmless(self) -> bool:
        """Whether there is nothing to find."""
        return self.kind == NONE


def read_sentences(folder: Path = SENTENCES) -> list[Text]:
    """Every text in the folder, in the order of its files and lines; of texts that are the same, the first."""
    seen: set[tuple[str, str]] = set()
    texts: list[Text] = []
    for path in sorted(folder.glob("*.jsonl")):
        for line, row in enumerate(_rows(path), start=1):
            for text in _texts(path.stem, line, row):
                if (text.said, text.text) not in seen:
                    seen.add((text.said, text.text))
                    texts.append(text)
    return texts


def fingerprint(texts: Sequence[Text]) -> str:
    """What tells these texts from others, and another order."""
    return hashlib.sha256(json.dumps(texts).encode()).hexdigest()


def read_contrast() -> list[Text]:
    """The contrast sentences that tune the rules; they are learned from and never counted."""
    return [
        Text(f"contrast {name}", line, 0, asks, one.user, one.text, one.expect)
        for asks, name in CONTRAST.items()
        for line, one in enumerate(sentences(name, held=False), start=1)
    ]


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    return map(json.loads, path.read_text("utf-8").splitlines())


def _texts(file: str, line: int, row: dict[str, Any]) -> Iterator[Text]:
    if "turns" in row:
        dangers = set(row.get("danger_turns", ()))
        for turn, said in enumerate(row["turns"], start=1):
            # Of a crisis without the turns in which it is told, the messages say nothing.
            if dangers or not row.get("crisis"):
                kind = DANGER if turn in dangers else NONE
                yield Text(file, line, turn, DANGER, "", said["user"], kind, calm=not dangers)
            yield Text(file, line, turn, HARM, said["user"], said["assistant"], NONE)
    elif "reply" in row:
        # Faults that are no harm by the detector's list are not looked for, and not safe to call harmless either.
        if row["harm"] in (NONE, *HARMS):
            yield Text(
                file,
                line,
                0,
                HARM,
                row["said"],
                row["reply"],
                row["harm"],
                row.get("near") or "",
                row.get("words") or "",
            )
    else:
        yield Text(file, line, 0, DANGER, "", row["text"], row["kind"], row.get("near") or "", row.get("words") or "")


def examples_of(text: Text) -> list[Example]:
    """What there is to learn from a text: each stretch that is read at once, with what is known of it."""
    places = windows(text.text)
    if text.is_harmless:
        return [_example(text, place) for place in places]
    at = text.text.find(text.words) if text.words else -1
    if len(places) < 2 or at < 0:
        # Where it stands is not known: the text as a whole.
        return [_example(text, (0, len(text.text)))]
    end = at + len(text.words)
    return [_example(text, (start, stop)) for start, stop in places if start < end and at < stop]


def _example(text: Text, place: tuple[int, int]) -> Example:
    start, end = place
    at = text.text.find(text.words) if text.words else -1
    reasons = {text.asks: [Span(max(at, start) - start, min(at + len(text.words), end) - start)]} if at >= 0 else {}
    return Example(text.said, text.text[start:end], _levels(text), reasons, CORPUS, text.file)


def _levels(text: Text) -> dict[str, int]:
    levels = {text.asks: int(not text.is_harmless)}
    if text.kind != text.asks:
        levels |= {kind: int(kind == text.kind) for kind in KINDS[text.asks]}
    return levels


def among_others(examples: Sequence[Example], share: float, rng: random.Random) -> list[Example]:
    """Further examples: a text in the midst of a harmless one, so that length says nothing and little is enough.

    Args:
        examples: What to make them from.
        share: How many, as a share of the examples; as many with something to find as without, where there are any.
        rng: Chooses.
    """
    made: list[Example] = []
    for asks in KINDS:
        own = [example for example in examples if asks in example.levels]
        quiet = [example for example in own if not example.levels[asks]]
        loud = [example for example in own if example.levels[asks]]
        for turn in range(int(share * len(own)) if quiet else 0):
            one = rng.choice(loud if loud and turn % 2 else quiet)
            made.append(_among(one, rng.choice(quiet).reply, asks, before=rng.random() < 0.5))
    return made


def _among(example: Example, other: str, asks: str, *, before: bool) -> Example:
    """The example with as much of another text before or after it as can be read at once."""
    room = LONGEST - len(example.reply) - 1
    if room <= 0 or not other:
        return example
    if before:
        lead = f"{other[-room:].partition(' ')[2] if len(other) > room else other} "
        moved = [Span(start + len(lead), end + len(lead)) for start, end in example.reasons.get(asks, [])]
        return example._replace(reply=lead + example.reply, reasons={asks: moved} if moved else {})
    return example._replace(reply=f"{example.reply} {other[:room].rpartition(' ')[0] if len(other) > room else other}")


def folds_of(texts: Sequence[Text], seed: int = 20) -> list[int]:
    """The fold of each text.

    A file stays whole where it is no larger than a fold of its sort; larger ones are dealt in close groups or whole
    conversations. A text that is close to an earlier one follows it, whatever its file.
    """
    sort = [re.sub(r"-?\d+$", "", text.file) for text in texts]
    sizes: dict[str, int] = defaultdict(int)
    for text in texts:
        sizes[text.file] += 1
    totals: dict[str, int] = defaultdict(int)
    for name in sort:
        totals[name] += 1
    keys = list[str]()
    for at, first in enumerate(close(texts)):
        lead = texts[first]
        whole = sizes[lead.file] * FOLDS <= totals[sort[first]]
        keys.append(keys[first] if first < at else lead.file if whole else f"{lead.file}:{lead.line}")
    folds: dict[str, int] = {}
    for name in sorted(totals):
        folds |= _dealt([key for key, own in zip(keys, sort, strict=True) if own == name and key not in folds], seed)
    return [folds[key] for key in keys]


def _dealt(keys: Iterable[str], seed: int) -> dict[str, int]:
    """Keys to folds: the largest first, each to the fold that is the smallest by then."""
    sizes: dict[str, int] = defaultdict(int)
    for key in keys:
        sizes[key] += 1
    order = sorted(sizes)
    random.Random(seed).shuffle(order)  # noqa: S311
    totals, folds = [0] * FOLDS, dict[str, int]()
    for key in sorted(order, key=lambda key: -sizes[key]):
        folds[key] = totals.index(min(totals))
        totals[folds[key]] += sizes[key]
    return folds


def close(texts: Sequence[Text]) -> list[int]:
    """For each text the first one that it is close to, directly or through others, or that is of its conversation."""
    parent = list(range(len(texts)))

    def root(at: int) -> int:
        while parent[at] != at:
            parent[at] = parent[parent[at]]
            at = parent[at]
        return at

    def link(one: int, other: int) -> None:
        one, other = sorted((root(one), root(other)))
        parent[other] = one

    told: dict[tuple[str, int], int] = {}
    for at, text in enumerate(texts):
        if text.turn:
            link(told.setdefault((text.file, text.line), at), at)
    runs = [_runs(f"{text.said} {text.text}" if not text.turn else "") for text in texts]
    sharing: dict[str, list[int]] = defaultdict(list)
    for at, own in enumerate(runs):
        for run in own:
            sharing[run].append(at)
    tried: set[tuple[int, int]] = set()
    for rows in sharing.values():
        for pair in combinations(rows, 2) if len(rows) <= _COMMON else ():
            if pair not in tried:
                tried.add(pair)
                one, other = (runs[at] for at in pair)
                shared = len(one & other)
                if shared >= _CLOSE * min(len(one), len(other)) or (shared >= _TWINS and pair[1] - pair[0] == 1):
                    link(*pair)
    return [root(at) for at in range(len(texts))]


def _runs(text: str) -> frozenset[str]:
    words = re.findall(r"[\w']+", text.lower())
    return frozenset(" ".join(words[at : at + 3]) for at in range(len(words) - 2))

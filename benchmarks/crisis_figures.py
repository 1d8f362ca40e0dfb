"""How well the crisis, harm and resource detectors do: on our own held-out sentences, and against clinicians.

Run `python -m benchmarks.crisis_figures`. The outside sets are read from the folder that ATTUNEMENT_DATA names; where
it is absent only our own sentences are counted. All counts are written to `crisis_figures.json` beside this script.
Rules are tuned on the other half of our own sentences. They were also narrowed on 37 coaching conversations, an outside
set of ordinary talk in which few hold a cue: its figure shows what was reached there, not what to expect elsewhere. No
other outside set was tuned on, with two exceptions that `NOT_UNSEEN` names.
"""

import csv
import json
import math
import os
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from tests.signals.sentences import resource_sentences, sentences

from attunement.conversations import Turn
from attunement.signals.crisis import crisis_cues
from attunement.signals.harm import harmful_advice
from attunement.signals.resources import Answer, crisis_resources, names_resource

RESULTS = Path(__file__).with_suffix(".json")
OUTSIDE_LOOKS = 2
"""How often the outside figures were looked at while the rules could still change."""

NOT_UNSEEN = (
    "Not of unseen data: resources on VERA-MH (the finder of crisis lines' numbers and names was mended after its hits",
    "in that text had been read), and Moore's bridges probe (its signals were written knowing it).",
)


class Share(NamedTuple):
    """`hits` of `n`, with the exact (Clopper-Pearson) 95 % interval."""

    hits: int
    n: int

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """The proportions under which so few or so many hits are no less likely than half of 1 - level."""
        tail = (1 - level) / 2
        low = 0.0 if self.hits == 0 else _root(lambda p: 1 - _at_most(self.hits - 1, self.n, p) - tail)
        high = 1.0 if self.hits == self.n else _root(lambda p: tail - _at_most(self.hits, self.n, p))
        return low, high

    def __str__(self) -> str:
        if not self.n:
            return "none"
        low, high = self.interval()
        return f"{self.hits}/{self.n} = {self.hits / self.n:.3f} [{low:.3f}, {high:.3f}]"


def _at_most(hits: int, n: int, p: float) -> float:
    if p in {0.0, 1.0}:
        return 1.0 if p == 0.0 or hits >= n else 0.0
    logs = (
        math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1) + k * math.log(p) + (n - k) * math.log1p(-p)
        for k in range(hits + 1)
    )
    return math.fsum(map(math.exp, logs))


def _root(rises: Callable[[float], float]) -> float:
    low, high = 0.0, 1.0
    for _ in range(60):  # 2 ** -60 is below what a float can tell apart here
        middle = (low + high) / 2
        low, high = (middle, high) if rises(middle) < 0 else (low, middle)
    return (low + high) / 2


def share(outcomes: Iterable[bool]) -> Share:
    """How many of these are true."""
    counted = Counter(outcomes)
    return Share(counted[True], counted.total())


Figures = dict[str, Share]


def own_sentences() -> Figures:
    """The held-out half of our own sentences: what is seen, what is left alone, and whether the kind is right."""
    figures: Figures = {}
    for name, detect in (("crisis", _cue_kinds), ("harm", _harm_kinds)):
        held = [(sentence.expect, detect(sentence.text, sentence.user)) for sentence in sentences(name, held=True)]
        figures[f"{name}: seen"] = share(bool(kinds) for expect, kinds in held if expect != "none")
        figures[f"{name}: of the right kind"] = share(expect in kinds for expect, kinds in held if expect != "none")
        figures[f"{name}: left alone"] = share(not kinds for expect, kinds in held if expect == "none")
        for kind in sorted({expect for expect, _ in held} - {"none"}):
            figures[f"{name}: {kind}"] = share(bool(kinds) for expect, kinds in held if expect == kind)
    held = resource_sentences(held=True)
    figures["resources: answer right"] = share(names_resource(one.text, one.country) == one.answer for one in held)
    figures["resources: standings right"] = share(
        {resource.standing.value for resource in crisis_resources(one.text, one.country)} == one.standings
        for one in held
    )
    return figures


def _cue_kinds(text: str, _user: str) -> set[str]:
    return {cue.kind for cue in crisis_cues([Turn(text, "")])}


def _harm_kinds(text: str, user: str) -> set[str]:
    return {harm.kind for harm in harmful_advice(text, user)}


def vera_mh(folder: Path) -> Figures:
    """Clinicians' risk levels and what they saw under "guides", against the detectors."""
    chats = {one["id"]: _turns(one["messages"]) for one in _json_lines(folder / "conversations.jsonl")}
    ratings: dict[tuple[str, str], list[str]] = defaultdict(list)
    for row in _table(folder / "ratings.csv"):
        ratings[row["conversation"].lstrip("#"), row["dimension"]].append(row["value"])
    seen = {id: bool(crisis_cues(turns)) for id, turns in chats.items()}
    saw_risk = {id: _most(ratings[id, "risk_level"], lambda level: level != "None") for id in chats}
    saw_high = {id: _most(ratings[id, "risk_level"], lambda level: level in {"High", "Imminent"}) for id in chats}
    offered = {id: _best_answer(turns) for id, turns in chats.items()}
    guides = {id: Counter(ratings[id, "guides"]).most_common(1)[0] for id in chats}
    agreed = {id: value for id, (value, votes) in guides.items() if votes >= 2}
    figures = {
        "vera-mh: cue found where most clinicians saw risk": share(seen[id] for id in chats if saw_risk[id]),
        "vera-mh: cue found where most saw high or imminent risk": share(seen[id] for id in chats if saw_high[id]),
        "vera-mh: cue found where most saw no risk": share(seen[id] for id in chats if not saw_risk[id]),
    }
    for value in sorted(set(agreed.values())):
        named = share(offered[id] is Answer.YES for id in agreed if agreed[id] == value)
        figures[f"vera-mh: resource named where most clinicians rated guides {value!r}"] = named
    return figures


def _most(values: list[str], holds: Callable[[str], bool]) -> bool:
    return 2 * sum(map(holds, values)) > len(values)


def _best_answer(turns: list[Turn]) -> Answer:
    answers = {names_resource(turn.assistant) for turn in turns}
    return next((answer for answer in (Answer.YES, Answer.UNCLEAR) if answer in answers), Answer.NO)


def diasafety(folder: Path) -> Figures:
    """The harm rules on the two categories that are about health; the trained scorer is measured elsewhere."""
    rows: list[dict[str, str]] = json.loads((folder / "val.json").read_text("utf-8"))
    figures: Figures = {}
    for category in ("Risk Ignorance", "Unauthorized Expertise"):
        judged = [
            (row["label"] == "Unsafe", bool(harmful_advice(row["response"], row["context"])))
            for row in rows
            if row["category"] == category
        ]
        figures[f"diasafety val, {category}: unsafe replies flagged"] = share(flag for unsafe, flag in judged if unsafe)
        figures[f"diasafety val, {category}: flagged replies unsafe"] = share(unsafe for unsafe, flag in judged if flag)
    risks = [row for row in rows if row["category"] == "Risk Ignorance"]
    cues = share(bool(crisis_cues([Turn(row["context"], "")])) for row in risks)
    return {**figures, "diasafety val, Risk Ignorance: contexts with a crisis cue": cues}


def moore(folder: Path) -> Figures:
    """Ten probes by condition: in how many is a cue found? And how often are the replies flagged?"""
    rows = _table(folder / "classification_validation.csv")
    probes: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        probes[row["condition"]].add(row["interjection"])
    figures = {
        f"moore2025, {condition}: probes with a cue": share(bool(crisis_cues([Turn(text, "")])) for text in texts)
        for condition, texts in sorted(probes.items())
    }
    flagged = [bool(harmful_advice(row["model_response"], row["interjection"])) for row in rows]
    return {**figures, "moore2025: replies flagged as harmful": share(flagged)}


def posts(folder: Path) -> Figures:
    """How often a cue is found in what people wrote elsewhere, and harm in the answers: rates without a truth."""
    pairs = _table(folder / "epitome" / "explorations-reddit.csv")
    seekers = {row["seeker_post"] for row in pairs}
    spoken = {row["utterance"] for row in _table(folder / "kumar2025/original_data/sample_empatheticdialogues.csv")}
    return {
        "epitome: seeker posts with a cue": share(bool(crisis_cues([Turn(text, "")])) for text in sorted(seekers)),
        "epitome: peers' responses flagged as harmful": share(
            bool(harmful_advice(row["response_post"], row["seeker_post"])) for row in pairs
        ),
        "EmpatheticDialogues sample: utterances with a cue": share(
            bool(crisis_cues([Turn(text, "")])) for text in sorted(spoken)
        ),
    }


def coaching_talk(conversations: list[list[Turn]]) -> Figures:
    """Ordinary coaching conversations in which a cue is found: what the rules were narrowed on, for false alarms."""
    return {
        "coaching conversations with a cue (rules were narrowed on these)": share(
            bool(crisis_cues(turns)) for turns in conversations
        )
    }


def speed(talk: str, turns: list[Turn]) -> str:
    """Conversations of 25 turns per second on one core: cues and harm in all turns, resources in replies to a cue."""
    cut = [Turn(turn.user[:300], turn.assistant[:600]) for turn in turns]
    talks = [cut[start : start + 25] for start in range(0, len(cut) - 24, 25)]
    took = 0.0
    for _ in range(2):  # the first round compiles the patterns
        began = time.process_time()
        for turns in talks:
            cued = {cue.turn for cue in crisis_cues(turns)}
            for number, turn in enumerate(turns, start=1):
                harmful_advice(turn.assistant, turn.user)
                if number in cued:
                    names_resource(turn.assistant)
        took = time.process_time() - began
    return f"{talk}: {len(talks) / took:.0f} conversations of 25 turns a second (at most 300 and 600 characters a turn)"


def _turns(messages: list[dict[str, str]]) -> list[Turn]:
    turns: list[Turn] = []
    for message in messages:
        if message["role"] == "user":
            turns.append(Turn(message["content"], ""))
        elif turns:
            turns[-1] = Turn(turns[-1].user, turns[-1].assistant + message["content"])
    return turns


def _json_lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def _table(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as rows:
        return list(csv.DictReader(rows))


def main() -> None:
    """Print every figure with its interval and write the counts."""
    folder = Path(os.environ.get("ATTUNEMENT_DATA", Path(__file__).parents[2] / "shared" / "data"))
    own = own_sentences()
    print("Our own sentences (the half that was held out; the same author wrote sentences and rules)")
    _show(own)
    if not folder.is_dir():
        print(
            f"{folder} is absent: set ATTUNEMENT_DATA to the folder with the public data sets for the outside figures"
        )
        return
    outside = {
        **vera_mh(folder / "vera-mh"),
        **diasafety(folder / "diasafety"),
        **moore(folder / "moore2025"),
        **posts(folder),
    }
    print(f"Outside (looked at {OUTSIDE_LOOKS} times before the rules were final)")
    print(*NOT_UNSEEN, sep="\n")
    _show(outside)
    vera = [turn for one in _json_lines(folder / "vera-mh/conversations.jsonl") for turn in _turns(one["messages"])]
    coaching = [
        [Turn(**turn) for turn in one["turns"]]
        for one in _json_lines(folder / "coaching-judges" / "conversations.jsonl")
    ]
    developed = coaching_talk(coaching)
    print(f"Development: rules were narrowed on {len(coaching)} coaching conversations")
    _show(developed)
    print(speed("coaching talk", [turn for turns in coaching for turn in turns]))
    print(speed("talk full of crisis", vera))
    written = {
        "own sentences, held out": own,
        "outside": outside,
        "outside looks": OUTSIDE_LOOKS,
        "development (rules were narrowed on these)": developed,
    }
    RESULTS.write_text(json.dumps(written, indent=1, ensure_ascii=False) + "\n", "utf-8")


def _show(figures: Figures) -> None:
    for name, figure in figures.items():
        print(f"  {name:<88} {figure}")


if __name__ == "__main__":
    main()

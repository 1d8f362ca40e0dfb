"""What do the crisis, harm and resource detectors do, on our own held-out sentences and on public sets?

Rules are tuned on the other half of our own sentences. They were also narrowed on 37 coaching conversations, an outside
set of ordinary talk in which few hold a cue: its figure shows what was reached there, not what to expect elsewhere. No
other outside set was tuned on, with two exceptions that the notes name.
"""

import csv
import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from tests.signals.sentences import resource_sentences, sentences

from attunement.agreement.means import Mean, mean
from attunement.agreement.proportions import Proportion, proportion
from attunement.agreement.results import FEWEST_CLUSTERS, Interval, Undefined
from attunement.conversations import Conversation, Turn
from attunement.datasets import kumar, vera
from attunement.datasets.model import Loaded
from attunement.signals import judging
from attunement.signals.crisis import crisis_cues
from attunement.signals.harm import harmful_advice
from attunement.signals.resources import Answer, crisis_resources, names_resource
from attunement.signals.talk import Talk
from attunement.signals.validity import Count, Counts, Figure

CRISIS = ("coaching-v1/CQ9", "empathy-v2/safety")
HARM = ("coaching-v1/CQ8", "empathy-v2/helpfulness", "empathy-v2/safety")
OWN = "Our own sentences about {}: the half that was held out; the same author wrote sentences and rules"
LOOKED = "Looked at several times while the rules could still change."
HEALTH = ("Risk Ignorance", "Unauthorized Expertise")
"""The categories of DiaSafety that are about harm to the person."""

_DIGITS = 4


def rounded(value: float) -> float:
    """A figure as it is kept: more digits would only differ between machines."""
    return round(float(value), _DIGITS)


def counted(what: str, outcomes: Iterable[bool], clusters: Sequence[str] | None = None) -> Count:
    """How many of these are true; exact where each stands for itself, clustered where several hang together."""
    seen = list(outcomes)
    hits = sum(seen)
    if clusters is None or len(set(clusters)) == len(seen):
        exact = proportion(hits, len(seen))
        value, interval = (exact.value, exact.interval) if isinstance(exact, Proportion) else (None, exact)
    else:
        found = mean(np.array(seen, float), np.array(clusters))
        value, interval = (found.value, found.interval) if isinstance(found, Mean) else (None, found)
        if hits in {0, len(seen)} and len(set(clusters)) >= FEWEST_CLUSTERS:
            # All alike: there is no spread to compute an interval from, but whole clusters still bound it.
            exact = proportion(len(set(clusters)) if hits else 0, len(set(clusters)))
            interval = exact.interval if isinstance(exact, Proportion) else exact
    return Count(what=what, hits=hits, share=_share(value, interval, len(seen)))


def _share(value: float | None, interval: Interval | Undefined, n: int) -> Figure:
    if value is None or isinstance(interval, Undefined):
        why = interval.reason if isinstance(interval, Undefined) else ""
        return Figure(value=None if value is None else rounded(value), n=n, why=why)
    low, high = max(interval.low, 0.0), min(interval.high, 1.0)
    return Figure(value=rounded(value), n=n, low=rounded(low), high=rounded(high))


def own_sentences() -> list[Counts]:
    """The held-out half of our own sentences: what is seen, what is left alone, and whether the kind is right."""
    detectors: tuple[tuple[str, tuple[str, ...], Callable[[str, str], set[str]]], ...] = (
        ("crisis", CRISIS, _cue_kinds),
        ("harm", HARM, _harm_kinds),
    )
    found: list[Counts] = []
    for name, items, detect in detectors:
        held = [(sentence.expect, detect(sentence.text, sentence.user)) for sentence in sentences(name, held=True)]
        counts = [
            counted("seen", (bool(kinds) for expect, kinds in held if expect != "none")),
            counted("seen and of the right kind", (expect in kinds for expect, kinds in held if expect != "none")),
            counted("harmless ones left alone", (not kinds for expect, kinds in held if expect == "none")),
        ]
        counts += [
            counted(f"seen: {kind.replace('_', ' ')}", (bool(kinds) for expect, kinds in held if expect == kind))
            for kind in sorted({expect for expect, _ in held} - {"none"})
        ]
        found.append(Counts(id=f"own-{name}", source=OWN.format(name), items=items, counts=tuple(counts)))
    held = resource_sentences(held=True)
    counts = (
        counted("whether a resource is named: right", (names_resource(s.text, s.country) == s.answer for s in held)),
        counted(
            "how each resource stands: right",
            ({each.standing.value for each in crisis_resources(s.text, s.country)} == s.standings for s in held),
        ),
    )
    return [*found, Counts(id="own-resources", source=OWN.format("crisis resources"), items=CRISIS, counts=counts)]


def _cue_kinds(text: str, _user: str) -> set[str]:
    return {cue.kind for cue in crisis_cues([Turn(text, "")])}


def _harm_kinds(text: str, user: str) -> set[str]:
    return {harm.kind for harm in harmful_advice(text, user)}


def vera_mh(folder: Path) -> list[Counts]:
    """Clinicians' risk levels and what they saw under "guides", against the detectors."""
    loaded = vera.read(folder)
    chats, at_risk = vera_risks(loaded)
    risk, guides = _said(loaded, "risk_level"), _said(loaded, "guides")
    seen = {id: bool(crisis_cues(chat.turns)) for id, chat in chats.items()}
    high = [id for id in chats if _most(risk[id], lambda level: level in {2, 3})]
    # One clinician, where both others saw risk: what a person reaches on the same chats.
    alone = [
        (id, level != 0)
        for id in chats
        for at, level in enumerate(risk[id])
        if len(risk[id]) > 2 and all(other != 0 for place, other in enumerate(risk[id]) if place != at)
    ]
    crisis = Counts(
        id="vera-mh-risk",
        source="VERA-MH: 45 chats with a simulated person at risk, 3 clinicians each, the risk level they saw",
        items=CRISIS,
        counts=(
            counted("RECALL: cue found where most clinicians saw risk", (seen[id] for id in at_risk)),
            counted("cue found where most saw high or imminent risk", (seen[id] for id in high)),
            counted("a clinician saw risk where both others did", (saw for _, saw in alone), [id for id, _ in alone]),
            counted("cue found where most saw no risk", (seen[id] for id in chats if id not in at_risk)),
        ),
        note="Precision cannot be known here: nearly every chat has a risk, and always saying so has recall 1. "
        f"{LOOKED}",
    )
    offered = {id: _best_answer(chat.turns) for id, chat in chats.items()}
    agreed = {id: grade for id, grades in guides.items() for grade, votes in _first(grades) if votes >= 2}
    words = {3: "best practice", 2: "suboptimal", 1: "harmful", "NA": "not relevant"}
    resources = Counts(
        id="vera-mh-guides",
        source="The same chats, rated by the clinicians on whether the person is led to human help",
        items=CRISIS,
        counts=tuple(
            counted(
                f"resource named where most rated it {said}",
                (offered[id] is Answer.YES for id in agreed if agreed[id] == grade),
            )
            for grade, said in words.items()
        ),
        note="A named resource is not yet good guidance. Not of unseen data: the finder of crisis lines was mended "
        "after its hits in this text had been read.",
    )
    return [crisis, resources]


def vera_risks(loaded: Loaded) -> tuple[dict[str, Conversation], list[str]]:
    """The chats by id, and the ids of those in which most clinicians saw a risk."""
    chats = {conversation.id: conversation for conversation in loaded.parts[0].conversations}
    risk = _said(loaded, "risk_level")
    return chats, [id for id in chats if _most(risk[id], lambda level: level != 0)]


def _said(loaded: Loaded, item: str) -> dict[str, list[int | str | None]]:
    """What the clinicians said of each chat."""
    said: dict[str, list[int | str | None]] = defaultdict(list)
    for part in loaded.parts:
        for answer in part.answers:
            if answer.item == item:
                value = answer.outcome.value
                said[answer.conversation.id].append("NA" if value is None else value)
    return said


def _first(grades: Sequence[int | str | None]) -> list[tuple[int | str | None, int]]:
    return Counter(grades).most_common(1)


def _most(values: Sequence[int | str | None], holds: Callable[[int | str | None], bool]) -> bool:
    return 2 * sum(map(holds, values)) > len(values)


def _best_answer(turns: Sequence[Turn]) -> Answer:
    answers = {names_resource(turn.assistant) for turn in turns}
    return next((answer for answer in (Answer.YES, Answer.UNCLEAR) if answer in answers), Answer.NO)


def diasafety_rows(folder: Path) -> list[dict[str, str]]:
    """DiaSafety's replies in the categories that are about harm to the person."""
    rows: list[dict[str, str]] = json.loads((folder / "val.json").read_text("utf-8"))
    return [row for row in rows if row["category"] in HEALTH]


def diasafety(folder: Path) -> Counts:
    """The harm rules on replies that people called safe or unsafe."""
    rows = diasafety_rows(folder)
    flagged = [bool(harmful_advice(row["response"], row["context"])) for row in rows]
    counts: list[Count] = []
    for category in HEALTH:
        here = [(row, flag) for row, flag in zip(rows, flagged, strict=True) if row["category"] == category]
        unsafe = [(row["context"], flag) for row, flag in here if row["label"] == "Unsafe"]
        hit = [(row["context"], row["label"] == "Unsafe") for row, flag in here if flag]
        for what, pairs in ((f"{category}: unsafe replies flagged", unsafe), (f"{category}: flagged are unsafe", hit)):
            counts.append(counted(what, (outcome for _, outcome in pairs), [context for context, _ in pairs]))
    risks = sorted({row["context"] for row in rows if row["category"] == HEALTH[0]})
    cues = counted(f"{HEALTH[0]}: contexts with a crisis cue", (bool(crisis_cues([Turn(text, "")])) for text in risks))
    return Counts(
        id="diasafety-rules",
        source="DiaSafety, validation split: replies that people called safe or unsafe",
        items=HARM,
        counts=(*counts, cues),
        note=f"The rules see little of what people call unsafe there. {LOOKED}",
    )


def moore(folder: Path) -> Counts:
    """Ten probes by condition: in how many is a cue found? And how often are the replies flagged?"""
    rows = _table(folder / "classification_validation.csv")
    probes: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        probes[row["condition"]].add(row["interjection"])
    counts = [
        counted(f"{condition}: probes with a cue", (bool(crisis_cues([Turn(text, "")])) for text in sorted(texts)))
        for condition, texts in sorted(probes.items())
    ]
    return Counts(
        id="moore2025-probes",
        source="Moore et al. (2025): ten probes with mania, delusions, compulsion, voices or suicidal thoughts",
        items=CRISIS,
        counts=tuple(counts),
        note=f"The signals for the probe about bridges were written knowing it. {LOOKED}",
    )


def posts(folder: Path) -> Counts:
    """How often a cue is found in what people wrote elsewhere, and harm in the answers: rates without a truth."""
    pairs = _table(folder / "epitome" / "explorations-reddit.csv")
    seekers = sorted({row["seeker_post"] for row in pairs})
    spoken = sorted(
        {row["utterance"] for row in _table(folder / "kumar2025/original_data/sample_empatheticdialogues.csv")}
    )
    return Counts(
        id="rates-elsewhere",
        source="How often the detectors fire where nobody labelled crisis or harm",
        items=tuple(sorted({*CRISIS, *HARM})),
        counts=(
            counted("EPITOME: seeker posts with a cue", (bool(crisis_cues([Turn(text, "")])) for text in seekers)),
            counted(
                "EPITOME: peers' responses flagged",
                (bool(harmful_advice(row["response_post"], row["seeker_post"])) for row in pairs),
                [row["seeker_post"] for row in pairs],
            ),
            counted(
                "EmpatheticDialogues: utterances with a cue",
                (bool(crisis_cues([Turn(text, "")])) for text in spoken),
            ),
        ),
        note=f"Rates without a truth. {LOOKED}",
    )


def coaching(folder: Path) -> list[Counts]:
    """Coaching talk: false alarms, and what LLM judges said of the same conversations. No person rated them."""
    with (folder / "conversations.jsonl").open(encoding="utf-8") as lines:
        talks = {one["id"]: Talk([Turn(**turn) for turn in one["turns"]]) for one in map(json.loads, lines)}
    narrowed = Counts(
        id="coaching-cues",
        source=f"{len(talks)} coaching conversations, on which the rules were narrowed",
        items=CRISIS,
        counts=(counted("conversations with a cue", (bool(talk.cues) for talk in talks.values())),),
        note="What was reached there, not what to expect elsewhere. Some of these cues are real.",
    )
    said = {(row["conversation"], row["criterion"]): row["answer"] for row in _table(folder / "answers.csv")}
    beside: list[Counts] = []
    for way in judging.WAYS:
        if way.instrument != "coaching-v1" or way.decide is None:
            continue
        pairs = [
            (id, str(answer.value), said[id, way.item])
            for id, talk in talks.items()
            if (answer := way.decide(talk)) and said.get((id, way.item)) in {"YES", "NO"}
        ]
        counts = [
            counted(
                f"an LLM judge says {words} where signals does",
                (theirs == value for _, own, theirs in pairs if own == value),
                [_seed(id) for id, own, _ in pairs if own == value],
            )
            for value, words in (("NO", "not met"), ("YES", "met"))
            if any(own == value for _, own, _ in pairs)
        ]
        if counts:
            beside.append(
                Counts(
                    id=f"coaching-llm-{way.item}",
                    source=f"{len(talks)} coaching conversations with the answers of LLM judges; no person rated them",
                    items=(f"{way.instrument}/{way.item}",),
                    counts=tuple(counts),
                    note="A reference, not the truth: no verdict rests on it.",
                )
            )
    return [narrowed, *beside]


def _seed(id: str) -> str:
    """Conversations that began with the same message of the simulated person hang together."""
    found = re.search(r"seed\d+", id)
    return found[0] if found else id


def dismissing(folder: Path) -> Counts:
    """Whether the words that make feelings smaller are found where experts saw feelings brushed aside."""
    part = next(part for part in kumar.read(folder).parts if part.instrument.id == "kumar2025-lend-an-ear")
    scores: dict[str, list[int]] = defaultdict(list)
    for answer in part.answers:
        if answer.item == "dismissing_emotions" and answer.rater in kumar.EXPERTS:
            scores[answer.conversation.id].append(int(answer.outcome.value or 0))
    found = {talk.id: _minimises(talk) for talk in part.conversations}
    saw = {id: _most(levels, lambda level: int(level or 0) >= 3) for id, levels in scores.items()}
    return Counts(
        id="lend-an-ear-dismissing",
        source="Lend an Ear (Kumar et al. 2025): 50 conversations, 3 experts on brushing feelings aside (1 to 5)",
        items=("coaching-v1/CQ3", "empathy-v2/validation"),
        counts=(
            counted("words found where most experts gave 3 or more", (found[id] for id in saw if saw[id])),
            counted("words found where most gave 1 or 2", (found[id] for id in saw if not saw[id])),
        ),
        note="The rule sees few of them, and fires too rarely to be held against people.",
    )


def _minimises(conversation: Conversation) -> bool:
    return bool(Talk(conversation.turns).in_replies("minimising"))


def _table(path: Path) -> list[dict[str, Any]]:
    with path.open(encoding="utf-8", newline="") as rows:
        return list(csv.DictReader(rows))


def outside(folder: Path) -> list[Counts]:
    """Every count on the sets in the data folder."""
    return [
        *vera_mh(folder / "vera-mh"),
        diasafety(folder / "diasafety"),
        moore(folder / "moore2025"),
        dismissing(folder / "kumar2025"),
        posts(folder),
        *coaching(folder / "coaching-judges"),
    ]

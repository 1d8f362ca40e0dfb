"""How does the embedded judge stand to people who rated the same, beside crowd, LLMs and judges that only count?

What is held against what was fixed before the shipped weights were run: each item against the dimension that asks most
nearly the same. Everybody is held against single people, never against their median, because that is how people are
held against each other. The scorer is run once on each set, and whatever comes out is kept.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from attunement.agreement.baselines import QUESTION_MARKS, WORD_COUNT, baselines
from attunement.agreement.gathered import Scale
from attunement.agreement.kappa import kappa_statistic
from attunement.agreement.order import favoured, judge_order, people_order
from attunement.agreement.results import Undefined
from attunement.agreement.single_raters import judge_statistic, people_statistic
from attunement.agreement.statistic import Statistic
from attunement.agreement.tables import Floats, Ints
from attunement.agreement.validity import Measured, Stand, measured, stand
from attunement.conversations import Conversation, Turn
from attunement.conversations.lengths import words
from attunement.datasets import kumar, moore, vera
from attunement.datasets.model import Part
from attunement.signals import judging, scorer
from attunement.signals.talk import Talk
from attunement.signals.trained import MAPPED
from attunement.signals.validity import Agreement, Count, Figure, Rater, Verdict
from training.validate_detectors import HARM, counted, diasafety_rows, rounded

ABSENT = "the weights of the trained scorer are not installed"
_FAILS = Scale((0.0, 1.0), ("a failure", "fine"))


class Held(NamedTuple):
    """What is held against each other on one dimension: the same units everywhere, NaN for no answer."""

    people: Floats
    conversation: Ints
    judge: Floats | None
    """Answers on the people's scale."""
    order: Floats | None
    """What the judge's answers are cut from, where it is finer than they are."""
    trivial: Mapping[str, Floats]
    """Counts."""
    models: Mapping[str, Floats]
    """The answers of LLMs."""
    crowd: tuple[Ints, Floats] | None
    """Each answer of a single person of the crowd: the number of its unit, and the answer."""


class Asked(NamedTuple):
    """One dimension of Kumar's sets, and what of the scorer is held against it."""

    set: str
    dimension: str
    items: tuple[str, ...]
    asked: str
    mechanism: int | None
    """The mechanism; None for all three together."""
    reverse: bool = False
    """Whether less of the mechanism is held against more of the dimension."""


REACTIONS, INTERPRETATIONS, EXPLORATIONS = 0, 1, 2
MECHANISMS = ("emotional reactions", "interpretations", "explorations")
EMOTION, VALIDATION, OVERALL = "empathy-v2/emotion", "empathy-v2/validation", "empathy-v2/overall"

KUMAR = (
    Asked("epitome", "level_interpretations", (EMOTION,), "saying what was understood, 0 to 2", INTERPRETATIONS),
    Asked("epitome", "level_emotional_reactions", (VALIDATION,), "warmth and concern, 0 to 2", REACTIONS),
    Asked("epitome", "level_explorations", (), "asking further, 0 to 2", EXPLORATIONS),
    Asked(
        "lend_an_ear", "demonstrating_understanding", (EMOTION,), "showing what was understood, 1 to 5", INTERPRETATIONS
    ),
    Asked(
        "lend_an_ear", "validating_emotions", (VALIDATION,), "treating feelings as understandable, 1 to 5", REACTIONS
    ),
    Asked("lend_an_ear", "encouraging_elaboration", (), "inviting to say more, 1 to 5", EXPLORATIONS),
    Asked("lend_an_ear", "dismissing_emotions", (), "brushing feelings aside, 1 to 5", REACTIONS, reverse=True),
    Asked("empathetic_dialogues", "empathy", (OVERALL,), "empathy on the whole, 1 to 5", None),
)
"""What is held against what."""

_TITLES = {
    "epitome": "EPITOME pairs of Kumar et al. (2025), none of them learned from",
    "lend_an_ear": "Lend an Ear (Kumar et al. 2025), whole conversations",
    "empathetic_dialogues": "EmpatheticDialogues (Kumar et al. 2025), whole conversations",
}


def kumar_sets(folder: Path) -> list[Agreement]:
    """The trained scorer on the sets that three experts rated."""
    parts = {part.conversations[0].system: part for part in kumar.read(folder).parts}
    read = {name: _read(parts[name].conversations) for name in _TITLES}
    return [_kumar(asked, parts[asked.set], read[asked.set]) for asked in KUMAR]


class _Read(NamedTuple):
    """For each conversation and mechanism the expected level, and the whole one."""

    expected: Floats
    levels: Floats


def _read(conversations: Sequence[Conversation]) -> _Read | None:
    """Each reply in its context, as the judge reads it; a conversation is the mean of its replies."""
    if not scorer.available():
        return None
    pairs = [
        (owner, pair) for owner, talk in enumerate(conversations) for pair in _pairs(talk.turns) if pair[1].strip()
    ]
    readings = scorer.read([pair for _, pair in pairs])
    owner = np.array([owner for owner, _ in pairs])
    columns = [[reading.reactions, reading.interpretations, reading.explorations] for reading in readings]
    levels = [reading.levels for reading in readings]
    number = np.bincount(owner, minlength=len(conversations))[:, None]
    expected, whole = (
        np.column_stack([np.bincount(owner, column, len(conversations)) for column in np.array(given, float).T])
        / number
        for given in (columns, levels)
    )
    return _Read(expected, whole)


def _pairs(turns: Sequence[Turn]) -> list[tuple[str, str]]:
    """Each reply with all that was said before it."""
    pairs: list[tuple[str, str]] = []
    said: list[str] = []
    for turn in turns:
        said += [turn.user]
        pairs.append(("\n".join(text for text in said if text), turn.assistant))
        said += [turn.assistant]
    return pairs


def _kumar(asked: Asked, part: Part, read: _Read | None) -> Agreement:
    place = {conversation.id: at for at, conversation in enumerate(part.conversations)}
    given: dict[str, Floats] = {}
    for answer in part.answers:
        if answer.item == asked.dimension and answer.outcome.value is not None:
            column = given.setdefault(answer.rater, np.full(len(place), np.nan))
            column[place[answer.conversation.id]] = float(answer.outcome.value)
    crowd = {name: values for name, values in given.items() if name.startswith(kumar.CROWD)}
    rows = [(unit, value) for values in crowd.values() for unit, value in enumerate(values) if not np.isnan(value)]
    scale = part.instrument.scale
    lowest, highest = int(scale.answers[0]), int(scale.answers[-1])
    judge, order = _answers(asked, read, mapped=lowest == 1)
    held = Held(
        people=np.column_stack([given[expert] for expert in kumar.EXPERTS]),
        conversation=np.arange(len(place)),
        judge=judge,
        order=order,
        trivial=_counts([" ".join(turn.assistant for turn in talk.turns) for talk in part.conversations]),
        models={name: given[name] for name in kumar.MODELS.values()},
        crowd=(np.array([unit for unit, _ in rows]), np.array([value for _, value in rows])) if rows else None,
    )
    whole = Scale(tuple(float(level) for level in range(lowest, highest + 1)), ())
    what = "mean of its three levels" if asked.mechanism is None else f"level of {MECHANISMS[asked.mechanism]}"
    mapped = ", mapped to 1, 3 or 4 for kappa" if judge is not None and lowest == 1 else ""
    what = f"{what}, reversed" if asked.reverse else what
    about = About(
        id=f"kumar2025-{asked.set}-{asked.dimension}",
        source=f"{_TITLES[asked.set]}: {len(place)}, 3 experts",
        asked=asked.asked,
        reads=f"the trained scorer's {what}{mapped}",
        items=asked.items,
        by="kappa" if lowest == 0 else "order",
        people="expert with expert",
    )
    return _agreement(held, whole, about, median=asked.set == "epitome")


def _answers(asked: Asked, read: _Read | None, *, mapped: bool) -> tuple[Floats | None, Floats | None]:
    """The judge's answers on the people's scale, and what they are cut from."""
    if read is None:
        return None, None
    if asked.mechanism is None:
        return None, read.expected.mean(axis=1)
    if asked.reverse:
        return None, -read.expected[:, asked.mechanism]
    levels = read.levels[:, asked.mechanism]
    # The mean of several replies' levels lies between two of them; so does its place on the other scale.
    answers = np.rint(np.interp(levels, [0, 1, 2], MAPPED)) if mapped else np.rint(levels)
    return answers, read.expected[:, asked.mechanism]


def _counts(replies: Sequence[str]) -> dict[str, Floats]:
    return {
        WORD_COUNT: np.array([words(reply) for reply in replies], float),
        QUESTION_MARKS: np.array([reply.count("?") for reply in replies], float),
    }


class About(NamedTuple):
    """What is said about a measurement."""

    id: str
    source: str
    asked: str
    reads: str
    items: tuple[str, ...]
    by: Literal["kappa", "order"]
    people: str
    """What two people who rated the same are called; empty where nobody did."""
    note: str = ""


def _agreement(held: Held, scale: Scale, about: About, *, median: bool = False) -> Agreement:
    """Everybody against single people, and the verdict that follows."""
    counting = baselines(held.trivial, held.people, scale)
    ordered = about.by == "order" or median
    common = {name: value for name, value in about._asdict().items() if name not in {"people", "note"}}
    common["raters"] = tuple(_raters(held, counting, about.people, ordered=ordered, median=median))
    found = _stand(held, counting, about)
    if found is None:
        return Agreement(**common, verdict=Verdict.NOT_MEASURED, note=ABSENT)
    return Agreement(
        **common,
        verdict=found.verdict,
        best_trivial=found.best,
        ahead=figure(found.ahead),
        gap=None if found.gap is None else figure(found.gap),
        note=about.note,
    )


def _raters(held: Held, counting: Mapping[str, Floats], people: str, *, ordered: bool, median: bool) -> Iterator[Rater]:
    """The figures of everybody; `counting` are the trivial judges' answers on the people's scale."""
    rated, where = held.people, held.conversation

    def against(who: str, kind: str, answers: Floats | None, finer: Floats | None, units: Ints | slice) -> Rater:
        here, places = rated[units], where[units]
        return Rater(
            who=who,
            kind=kind,
            kappa=None if answers is None else _figure(judge_statistic(answers, here), places),
            order=_figure(judge_order(finer, here), places) if ordered and finer is not None else None,
            median=_median(answers, here) if median and answers is not None and kind != "trivial" else None,
        )

    everything = slice(None)
    if held.judge is not None or held.order is not None:
        yield against("signals", "judge", held.judge, held.order, everything)
    if people:
        order = _figure(people_order(rated), where) if ordered else None
        yield Rater(who=people, kind="people", kappa=_figure(people_statistic(rated), where), order=order)
    if held.crowd is not None:
        units, values = held.crowd
        yield against("one of the crowd", "crowd", values, values, units)
    for name, values in held.models.items():
        yield against(name, "llm", values, values, everything)
    for name, values in held.trivial.items():
        yield against(name, "trivial", counting.get(name), favoured(values, rated), everything)


def _stand(held: Held, counting: Mapping[str, Floats], about: About) -> Stand | None:
    """How the judge stands by the figure that decides; None where it gave nothing."""
    rated = held.people
    if about.by == "kappa":
        judge, agreement, among = held.judge, judge_statistic, people_statistic
        trivial = {name: counting[name] for name in held.trivial if name in counting}
    else:
        judge, agreement, among = held.order, judge_order, people_order
        trivial = {name: favoured(values, rated) for name, values in held.trivial.items()}
    if judge is None:
        return None
    rivals = {name: agreement(values, rated) for name, values in trivial.items()}
    return stand(agreement(judge, rated), among(rated) if about.people else None, rivals, held.conversation)


def _figure(statistic: Statistic, conversation: Ints) -> Figure:
    return figure(measured(statistic, conversation))


def figure(found: Measured) -> Figure:
    """A figure as it is kept."""
    if isinstance(found.value, Undefined):
        return Figure(value=None, n=found.units, why=found.value.reason)
    if isinstance(found.interval, Undefined):
        return Figure(value=rounded(found.value), n=found.units, why=found.interval.reason)
    low, high = found.interval.low, found.interval.high
    return Figure(value=rounded(found.value), n=found.units, low=rounded(low), high=rounded(high))


def _median(values: Floats, people: Floats) -> Figure:
    """As Kumar et al. count: with the median of the experts, weights on the ranks of the answers that occur."""
    statistic = kappa_statistic(values, np.median(people, axis=1), "quadratic", "ranks")
    return _figure(statistic, np.arange(len(values)))


def crisis_handling(folder: Path) -> Agreement:
    """CQ9 against what clinicians called harmful in how a risk was noticed, asked about and led to help."""
    part = vera.read(folder).parts[0]
    place = {conversation.id: at for at, conversation in enumerate(part.conversations)}
    given: dict[str, Floats] = {}
    for answer in part.answers:
        if answer.item in {"detects", "confirms", "guides"}:
            column = given.setdefault(answer.rater, np.full(len(place), np.nan))
            at = place[answer.conversation.id]
            column[at] = 0.0 if answer.outcome.value == 1 or column[at] == 0 else 1.0
    about = About(
        id="vera-mh-handling",
        source=f"VERA-MH: {len(place)} chats with a simulated person at risk, 3 clinicians each",
        asked="harm in how a risk was noticed, asked about or led to help",
        reads="CQ9: flagged or not",
        items=("coaching-v1/CQ9",),
        by="kappa",
        people="clinician with clinician",
    )
    people = np.column_stack(list(given.values()))
    return _flags([talk.turns for talk in part.conversations], people, np.arange(len(place)), about)


def inappropriate(folder: Path) -> Agreement:
    """CQ8 against replies to critical probes that annotators called inappropriate."""
    part = moore.read(folder).parts[0]
    place = {conversation.id: at for at, conversation in enumerate(part.conversations)}
    given: dict[str, Floats] = {}
    kinds = {"annotator_1", "annotator_2"}
    for answer in part.answers:
        if answer.rater in kinds and answer.outcome.value is not None:
            column = given.setdefault(answer.rater, np.full(len(place), np.nan))
            column[place[answer.conversation.id]] = float(answer.outcome.value == "YES")
    about = About(
        id="moore2025-replies",
        source="Moore et al. (2025): 350 replies to ten critical probes, 2 annotators (98 replies by both)",
        asked="inappropriate replies",
        reads="CQ8: flagged or not",
        items=("coaching-v1/CQ8",),
        by="kappa",
        people="annotator with annotator",
        note="Some of these probes were known when the rules were written.",
    )
    people = np.column_stack(list(given.values()))
    # Replies to the same probe hang together.
    probes = np.unique([talk.turns[0].user for talk in part.conversations], return_inverse=True)[1]
    return _flags([talk.turns for talk in part.conversations], people, probes, about)


def unsafe(folder: Path, item: str) -> Agreement:
    """An item against replies that people called unsafe; one label each, so there is no person with person."""
    rows = diasafety_rows(folder)
    name = item.partition("/")[2]
    about = About(
        id=f"diasafety-{name}",
        source=f"DiaSafety, validation split: {len(rows)} replies, one released label each",
        asked="unsafe replies: a risk ignored, or expertise that is not there",
        reads=f"{name}: flagged or not",
        items=(item,),
        by="kappa",
        people="",
    )
    talks = [(Turn(row["context"], row["response"]),) for row in rows]
    people = np.array([[float(row["label"] == "Safe")] for row in rows])
    contexts = np.unique([row["context"] for row in rows], return_inverse=True)[1]
    return _flags(talks, people, contexts, about)


def _flags(talks: Sequence[Sequence[Turn]], people: Floats, conversation: Ints, about: About) -> Agreement:
    """A flag of the judge against people's yes and no; no flag counts as nothing found."""
    decide = _decides(about.items[0])
    judge = np.array([float(not decide(Talk(turns))) for turns in talks])
    counts = _counts([" ".join(turn.assistant for turn in turns) for turns in talks])
    held = Held(people, conversation, judge, order=None, trivial=counts, models={}, crowd=None)
    return _agreement(held, _FAILS, about).model_copy(update={"flags": _flagged(judge, people, conversation)})


def _flagged(judge: Floats, people: Floats, conversation: Ints) -> tuple[Count, Count]:
    """How many of what most people called a failure is flagged, and how many of the rest."""
    failure = (people == 0).sum(axis=1) > (people == 1).sum(axis=1)
    said = [("RECALL: flagged where most people saw a failure", failure), ("flagged where most saw none", ~failure)]
    rated = ~np.isnan(people).all(axis=1)
    first, second = (
        counted(what, (judge[here & rated] == 0).tolist(), conversation[here & rated].astype(str).tolist())
        for what, here in said
    )
    return first, second


def _decides(item: str) -> Callable[[Talk], object]:
    """How the judge decides an item, whatever an earlier verdict made of it."""
    way = next(way for way in judging.WAYS if f"{way.instrument}/{way.item}" == item)
    if way.decide is None:
        raise ValueError(f"{item} is never answered, so there is nothing to measure")
    return way.decide


def agreements(folder: Path) -> list[Agreement]:
    """Everything that can be held against people's ratings in the data folder."""
    return [
        *kumar_sets(folder / "kumar2025"),
        crisis_handling(folder / "vera-mh"),
        inappropriate(folder / "moore2025"),
        *(unsafe(folder / "diasafety", item) for item in HARM),
    ]

"""Draw a seeded random sample of conversations for people to rate, by stratum; extend it; choose a project's units.

Within a stratum every conversation has the same probability: the number drawn divided by the size of the stratum. Each
conversation gets a random number from the seed and its name, and the smallest numbers are drawn: the same seed gives
the same sample regardless of the order of the conversations, and a larger draw contains the smaller one.

A sample is split into dev, for tuning a judge, and test, for the numbers that are reported (studies store `develop` and
`certify`). Every drawn conversation has exactly the same chance of being in the test split, even in a small stratum.

Strata are defined by the system, the origin, a metadata column, the judges' verdict, or whether they flag the
conversation. People's ratings never define a stratum, because samples are drawn for people to rate.
"""

import hashlib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from heapq import heapify, heappop, heappush
from math import floor
from random import Random
from typing import Any, NamedTuple

from attunement.analysis.planning import is_flagged
from attunement.conversations import Identity, Responses, UnitKind
from attunement.errors import InputError, StudyError
from attunement.instruments import Instrument
from attunement.scoring import Scorecard
from attunement.store import ConversationSummary, Study, scored_conversations
from attunement.store.projects import UnitKey
from attunement.store.samples import (
    NotDrawn,
    Sample,
    SampledConversation,
    Split,
    latest_sample,
    not_drawn,
    samples,
    save_sample,
)

VERDICT = "verdict"
DEFAULT_UNITS = 100
"""Default number of units for a project."""
_PAGE = 1000
_SHOWN = 12


class Candidate(NamedTuple):
    key: int
    identity: Identity
    stratum: str
    certain: bool = False  # always drawn, like everything in its stratum


class Draw(NamedTuple):
    """The drawn conversations and the candidates, by key."""

    drawn: dict[int, SampledConversation]
    waiting: dict[int, NotDrawn]


def draw(
    candidates: Iterable[Candidate], size: int, *, certify: float | None, seed: int, before: Draw | None = None
) -> Draw:
    """Draw `size` conversations in addition to the certain ones, allocated in proportion to the strata's sizes.

    Every stratum gets at least one, so that every conversation has a chance.

    If there are fewer than `size`, all are drawn. `certify` is the share of the test split; None makes no split.
    The result includes what was drawn `before`; see `extend`.

    Raises:
        InputError: There are more new strata than conversations to draw.
    """
    everybody, before = list(candidates), before or Draw({}, {})
    strata: dict[str, list[Candidate]] = {}
    for candidate in sorted(everybody, key=lambda candidate: candidate.stratum):
        if candidate.key not in before.drawn:
            strata.setdefault(candidate.stratum, []).append(candidate)
    sizes = {name: len(members) for name, members in strata.items() if not members[0].certain}
    new = sizes.keys() - {entry.stratum for entry in (*before.drawn.values(), *before.waiting.values())}
    if size < len(new):
        raise InputError(
            f"{size} conversations are too few for {len(new)} strata, which need at least one each: draw more, or "
            f"stratify by fewer columns"
        )
    numbers = allocate(sizes, size, at_least=dict.fromkeys(new, 1))
    there = Counter(candidate.stratum for candidate in everybody)
    taken = Counter(before.drawn[candidate.key].stratum for candidate in everybody if candidate.key in before.drawn)
    for name, members in strata.items():
        taken[name] += numbers.get(name, len(members))
    probability = {name: taken[name] / there[name] for name in there}
    added: dict[int, SampledConversation] = {}
    left: dict[int, NotDrawn] = {}
    for name, members in strata.items():
        number = numbers.get(name, len(members))
        ordered = sorted(members, key=lambda member: _chance(seed, "draw", member.identity))
        added |= {member.key: SampledConversation(name, probability[name], None) for member in ordered[:number]}
        left |= {member.key: NotDrawn(name, probability[name]) for member in ordered[number:]}
    drawn = {key: entry._replace(probability=probability[entry.stratum]) for key, entry in before.drawn.items()}
    names = {candidate.key: candidate.identity for candidate in everybody}
    return Draw(drawn | _split(added, names, certify, seed), left)


def extend(
    before: Draw, candidates: Iterable[Candidate], more: int, *, certify: float | None, seed: int, since: str
) -> Draw:
    """Draw `more` conversations in addition to those that were drawn `before`; the result has both.

    The strata are those of the first draw, because the probabilities were equal within them. Drawing m more at random
    from the rest equals drawing n + m at once, so the probability becomes (n + m) / N for the whole stratum, including
    earlier draws. Conversations that were added later could not be drawn then, so they form separate strata, marked
    with `since`, the name of the extended sample. Earlier draws stay in their split.

    `certify` and `seed` are those of the first draw, and every conversation of it is among the candidates.

    Raises:
        InputError: There are more new strata than conversations to draw.
    """
    known = {**before.waiting, **before.drawn}
    frozen = [
        candidate._replace(stratum=f"{candidate.stratum} (new since {since})")
        if candidate.key not in known
        else candidate._replace(stratum=known[candidate.key].stratum, certain=False)
        for candidate in candidates
    ]
    return draw(frozen, more, certify=certify, seed=seed, before=before)


def allocate(sizes: Mapping[str, int], total: int, *, at_least: Mapping[str, int]) -> dict[str, int]:
    """Divide `total` among strata in proportion to their sizes, within each stratum's minimum and size.

    The result depends only on the sizes and not on chance, so the resulting probabilities are exact. It adds up to
    `total`, or to all conversations; `total` must cover the minimums.
    """
    numbers = {name: min(at_least.get(name, 0), size) for name, size in sizes.items()}
    # Sainte-Laguë's rule: one by one to the stratum furthest behind its share. A larger total never reduces any
    # stratum.
    behind = [((2 * numbers[name] + 1) / size, name) for name, size in sizes.items() if numbers[name] < size]
    heapify(behind)
    for _ in range(min(total, sum(sizes.values())) - sum(numbers.values())):
        _, name = heappop(behind)
        numbers[name] += 1
        if numbers[name] < sizes[name]:
            heappush(behind, ((2 * numbers[name] + 1) / sizes[name], name))
    return numbers


def _split(
    drawn: dict[int, SampledConversation], names: Mapping[int, Identity], certify: float | None, seed: int
) -> dict[int, SampledConversation]:
    """Assign splits by systematic sampling: strata in a row, shuffled within each, every k-th goes to the test split.

    The count begins at a random place, which gives every conversation the same chance and each stratum its share to
    within one conversation.
    """
    if certify is None:
        return drawn
    line = sorted(drawn, key=lambda key: (drawn[key].stratum, _chance(seed, "split", names[key])))
    share = Fraction(certify).limit_denominator(1000)  # exact steps: a float would drift
    start = Fraction(int.from_bytes(_chance(seed, "start", Identity("", ""))), 2**256)
    splits: dict[int, Split] = {
        key: "certify" if floor(start + share * (place + 1)) > floor(start + share * place) else "develop"
        for place, key in enumerate(line)
    }
    return {key: entry._replace(split=splits[key]) for key, entry in drawn.items()}


def _chance(seed: int, purpose: str, identity: Identity) -> bytes:
    """The random number of a conversation; the length of the system's name makes the key unambiguous."""
    system, id = identity
    words = f"{seed}\n{purpose}\n{len(system)}:{system}{id}"
    return hashlib.sha256(words.encode("utf-8", "surrogatepass")).digest()


def candidates(
    study: Study, instrument: Instrument, by: Sequence[str] = (), *, all_flagged: bool = False
) -> list[Candidate]:
    """Every conversation of the study in its stratum, made `by` `system`, `origin`, `verdict` or metadata columns.

    With `all_flagged`, conversations that judges flagged form strata of their own and are certain to be drawn.

    Raises:
        InputError: No conversation has such a column, or all flagged are wanted and no judge has judged safety.
    """
    if all_flagged and not instrument.gate:
        raise InputError(
            f"{instrument.id} has no safety items, so no conversation can be flagged: leave out --all-flagged"
        )
    found: list[Candidate] = []
    columns: set[str] = set()
    judged = False
    for conversation, card in _cards(study, instrument, wanted=all_flagged or VERDICT in by):
        columns |= conversation.metadata.keys()
        parts = [f"{column}={_value(conversation, card, column)}" for column in by]
        flagged = all_flagged and is_flagged(card)
        if all_flagged:
            judged |= card is not None
            complete = card is not None and not any(slot.item in instrument.gate_ids for slot in card.open)
            parts.insert(0, "flagged" if flagged else "not flagged" if complete else "not judged")
        found.append(Candidate(conversation.key, conversation.identity, ", ".join(parts) or "all", certain=flagged))
    if all_flagged and found and not judged:
        raise InputError(
            "no judge has rated anything yet, so nothing is flagged: run attune judge first, or leave out --all-flagged"
        )
    for column in by:
        if found and column not in {"system", "origin", VERDICT, *columns}:
            known = ", ".join(["system", "origin", VERDICT, *sorted(columns)][:_SHOWN])
            raise InputError(f"no conversation has a column {column!r}; stratify by {known}")
    return found


def _cards(
    study: Study, instrument: Instrument, *, wanted: bool
) -> Iterator[tuple[ConversationSummary, Scorecard | None]]:
    """The conversations with the judges' scorecard, which is computed only if needed."""
    if wanted:
        for entry in scored_conversations(study, instrument):
            yield entry.conversation, entry.deciding if entry.cards.judges else None
    else:
        for page in study.summaries(_PAGE):
            for summary in page:
                yield summary, None


def _value(conversation: ConversationSummary, card: Scorecard | None, column: str) -> Any:
    match column:
        case "system":
            return conversation.identity.system
        case "origin":
            return conversation.origin.value
        case "verdict":
            return "not judged" if card is None else card.verdict.value
        case _:
            return conversation.metadata.get(column, "not given")


def draw_sample(
    study: Study,
    instrument: Instrument,
    size: int,
    *,
    by: Sequence[str] = (),
    all_flagged: bool = False,
    certify: float | None = 0.5,
    seed: int = 0,
    name: str | None = None,
) -> Sample:
    """Draw `size` conversations at random by stratum, and with `all_flagged` all that judges flagged; save the sample.

    The instrument is saved too. A sample without a name gets a number. See `candidates` and `draw` for the arguments.

    Raises:
        StudyError: The study has no conversation, or has a sample of this name.
        InputError: The strata are not possible for this size.
    """
    frame = candidates(study, instrument, by, all_flagged=all_flagged)
    if not frame:
        raise StudyError(f"{study.place} has no conversation to draw from: judge or import some first")
    made = draw(frame, size, certify=certify, seed=seed)
    design = {"size": size, "by": list(by), "all_flagged": all_flagged, "certify": certify, "extends": None}
    return _save(study, instrument, made, name, seed, design)


def extend_sample(study: Study, instrument: Instrument, extended: str, more: int, *, name: str | None = None) -> Sample:
    """Draw `more` conversations in addition to a sample, in the way it was drawn; the new sample has both.

    Its strata, its seed and its share of the test split stay as they are; see `extend` for the probabilities.

    Raises:
        StudyError: There is no such sample for this instrument, or there is one of the new name.
        InputError: There is nothing left to draw, or too few for the new strata.
    """
    first = find_sample(study, extended)
    if first.instrument != instrument.id:
        raise StudyError(f"the sample {extended!r} is for {first.instrument}, not for {instrument.id}")
    before = Draw(first.units, not_drawn(study, first))
    design: dict[str, Any] = first.design
    frame = candidates(study, instrument, design["by"], all_flagged=design["all_flagged"])
    if len(frame) == len(before.drawn):
        raise StudyError(f"the sample {extended!r} already contains every conversation of {study.place}")
    made = extend(before, frame, more, certify=design["certify"], seed=first.seed, since=first.name)
    return _save(study, instrument, made, name, first.seed, {**design, "size": more, "extends": first.name})


def find_sample(study: Study, name: str) -> Sample:
    """The sample of this name.

    Raises:
        StudyError: There is none; the message lists the samples.
    """
    known = samples(study)
    for sample in known:
        if sample.name == name:
            return sample
    names = ", ".join(sample.name for sample in known) or "none"
    raise StudyError(f"{study.place} has no sample {name!r}; it has {names}")


def _save(
    study: Study, instrument: Instrument, made: Draw, name: str | None, seed: int, design: dict[str, Any]
) -> Sample:
    drawn = Counter(entry.stratum for entry in made.drawn.values())
    there = drawn + Counter(entry.stratum for entry in made.waiting.values())
    strata = {stratum: {"there": there[stratum], "drawn": drawn[stratum]} for stratum in sorted(there)}
    study.save_instrument(instrument)
    return save_sample(
        study,
        name=name,
        instrument=instrument.id,
        seed=seed,
        design={**design, "instrument": instrument.hash, "strata": strata},
        units=made.drawn,
        waiting=made.waiting,
    )


class ChosenUnits(NamedTuple):
    units: list[UnitKey]
    source: str  # where they come from, in words


def choose_units(study: Study, instrument: Instrument, count: int | None, *, seed: int) -> ChosenUnits:
    """The units of the newest sample for this instrument, or `count` at random from the whole study.

    Of a sample all units are chosen, or `count` of them at random.

    Raises:
        InputError: There are none, or fewer than requested.
    """
    sample = latest_sample(study, instrument.id)
    units = _all_units(study, instrument, None if sample is None else sample.units.keys())
    if not units:
        raise InputError(f"{study.place} has nothing to rate: add conversations with --conversations")
    number = count or (min(DEFAULT_UNITS, len(units)) if sample is None else len(units))
    if number > len(units):
        raise InputError(f"{number} units were requested, but there are only {len(units)}")
    drawn = Random(f"{seed}/units").sample(units, number)  # noqa: S311 - a reproducible sample
    if sample is None:
        return ChosenUnits(drawn, f"{number} drawn at random from {len(units)}")
    return ChosenUnits(drawn, f"{number} of the {len(units)} units of {sample.name}")


def choose_more_units(
    study: Study, instrument: Instrument, known: Collection[UnitKey], count: int, *, seed: str
) -> list[UnitKey]:
    """`count` units at random that are not `known`, first of the newest sample, then of the study.

    Raises:
        InputError: The study has fewer.
    """
    sample = latest_sample(study, instrument.id)
    known = set(known)
    left = [unit for unit in _all_units(study, instrument, None) if unit not in known]
    if count > len(left):
        raise InputError(f"{count} more units were requested, but the study has only {len(left)} more: ask for fewer")
    Random(seed).shuffle(left)  # noqa: S311 - a reproducible sample
    return sorted(left, key=lambda unit: sample is None or unit.conversation not in sample.units)[:count]


def listed_units(study: Study, instrument: Instrument, names: Iterable[str]) -> ChosenUnits:
    """The units with these names, once each; see `units_named`."""
    units = [unit for name in names for unit in units_named(study, instrument, name)]
    return ChosenUnits(list(dict.fromkeys(units)), "from the list")


def units_named(study: Study, instrument: Instrument, name: str) -> list[UnitKey]:
    """The units that a name refers to: one reply, or all units of a conversation.

    A name is the id of a conversation, or `system/id`, and for one reply `#` with its turn.

    Raises:
        InputError: It matches no unit, or several conversations.
    """
    id, mark, turn = name.rpartition("#")
    found = study.find(id) if mark and turn.isdecimal() else []
    number = int(turn) if found else None
    found = found or study.find(name)
    if len(found) != 1:
        what = "matches several conversations: use system/id" if found else "matches no conversation in the study"
        raise InputError(f"{name!r} {what}")
    turns = len(found[0].conversation.turns)
    if number is None:
        return list(_units(instrument, study.responses(instrument.id), found[0].key, turns))
    if UnitKind(instrument.unit) is UnitKind.CONVERSATION or not 1 <= number <= turns:
        raise InputError(f"{name!r} is not a unit of {instrument.id}: correct the turn number, or leave it out")
    return [UnitKey(found[0].key, number)]


def _all_units(study: Study, instrument: Instrument, conversations: Collection[int] | None) -> list[UnitKey]:
    responses = study.responses(instrument.id)
    return [
        unit
        for page in study.summaries(_PAGE)
        for summary in page
        if conversations is None or summary.key in conversations
        for unit in _units(instrument, responses, summary.key, summary.turns)
    ]


def _units(instrument: Instrument, responses: Responses, key: int, turns: int) -> Iterator[UnitKey]:
    if UnitKind(instrument.unit) is UnitKind.CONVERSATION:
        yield UnitKey(key)
    else:
        for turn in range(turns if responses is Responses.LAST else 1, turns + 1):
            yield UnitKey(key, turn)

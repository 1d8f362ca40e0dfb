"""Draw a seeded random sample of conversations for people to rate, by stratum, and extend it.

Within a stratum every conversation has the same chance, so its probability is the number drawn over the number there.
Each conversation gets a random number from the seed and its name, and the smallest numbers are drawn: the same seed
gives the same sample in whatever order the conversations came, and drawing more adds to what was drawn.

A sample is split into `develop`, for tuning a judge, and `certify`, for the figures that are reported. Every drawn
conversation has exactly the same chance to come into `certify`, however small its stratum is.

Strata are made of the system, the origin, a column of the metadata, or what the judges say: their verdict, and
whether they flag the conversation. What people said never makes a stratum, because samples are drawn for them.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from heapq import heapify, heappop, heappush
from math import floor
from typing import Any, NamedTuple

from attunement.conversations import Identity
from attunement.errors import InputError, StudyError
from attunement.instruments import Instrument
from attunement.scoring import Scorecard
from attunement.store import ConversationSummary, Study, scored_conversations
from attunement.store.samples import NotDrawn, Sample, SampledConversation, Split, not_drawn, samples, save_sample


class Candidate(NamedTuple):
    """A conversation that can be drawn."""

    key: int
    identity: Identity
    stratum: str
    certain: bool = False
    """It is taken whatever chance says; so must be everything in its stratum."""


class Draw(NamedTuple):
    """What was drawn, and what could have been and was not, by the key of the conversation."""

    drawn: dict[int, SampledConversation]
    waiting: dict[int, NotDrawn]


def draw(candidates: Iterable[Candidate], size: int, *, certify: float | None, seed: int) -> Draw:
    """Draw `size` conversations beside the certain ones, shared out among the strata by how large they are.

    Every stratum gets at least one, so that no conversation is without a chance.

    Args:
        candidates: All conversations that the sample is to speak for.
        size: How many to draw of those that are not certain; all of them where there are fewer.
        certify: The share that goes to `certify`, the rest to `develop`; None makes no split.
        seed: Of the random numbers.

    Raises:
        InputError: There are more strata than conversations to draw.
    """
    return _draw(list(candidates), size, Draw({}, {}), certify=certify, seed=seed)


def extend(
    before: Draw, candidates: Iterable[Candidate], more: int, *, certify: float | None, seed: int, since: str
) -> Draw:
    """Draw `more` conversations beside those that were drawn `before`; the result holds both.

    The strata stay those of the first draw, because it is within them that everybody had the same chance: to draw m
    more at random of those who are left is the same as to have drawn n + m at once, so that the probability becomes
    (n + m) / N for the whole stratum, also for those who were drawn before. Conversations that came in later could
    not be drawn then, so they form strata of their own, marked with `since`. What was drawn keeps its split.

    Args:
        before: The first draw. Every conversation of it is among the candidates.
        candidates: All conversations now, in their present strata.
        more: How many to draw of those that are not certain.
        certify: As it was for the first draw.
        seed: As it was for the first draw.
        since: The name of the sample that is extended.

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
    return _draw(frozen, more, before, certify=certify, seed=seed)


def _draw(everybody: list[Candidate], size: int, before: Draw, *, certify: float | None, seed: int) -> Draw:
    strata = _by_stratum(candidate for candidate in everybody if candidate.key not in before.drawn)
    left = {name: len(members) for name, members in strata.items() if not members[0].certain}
    begun = {entry.stratum for entry in (*before.drawn.values(), *before.waiting.values())}
    unbegun = left.keys() - begun
    if size < len(unbegun):
        raise InputError(
            f"{size} conversations are too few for {len(unbegun)} strata, of which each needs at least one: "
            "draw more, or stratify by less"
        )
    numbers = allocate(left, size, at_least=dict.fromkeys(unbegun, 1))
    there = Counter(candidate.stratum for candidate in everybody)
    taken = Counter(before.drawn[candidate.key].stratum for candidate in everybody if candidate.key in before.drawn)
    for name, members in strata.items():
        taken[name] += numbers.get(name, len(members))
    probability = {name: taken[name] / there[name] for name in there}
    added: dict[int, SampledConversation] = {}
    waiting: dict[int, NotDrawn] = {}
    for name, members in strata.items():
        number = numbers.get(name, len(members))
        ordered = sorted(members, key=lambda member: _chance(seed, "draw", member.identity))
        added |= {member.key: SampledConversation(name, probability[name], None) for member in ordered[:number]}
        waiting |= {member.key: NotDrawn(name, probability[name]) for member in ordered[number:]}
    drawn = {key: entry._replace(probability=probability[entry.stratum]) for key, entry in before.drawn.items()}
    names = {candidate.key: candidate.identity for candidate in everybody}
    return Draw(drawn | _split(added, names, certify, seed), waiting)


def allocate(sizes: Mapping[str, int], total: int, *, at_least: Mapping[str, int]) -> dict[str, int]:
    """Share `total` out among strata by their sizes: none gets more than its size, and none less than its least.

    The result depends on the sizes alone and not on chance, so that the probabilities that follow from it are exact.
    It adds up to `total`, or to all there are; `total` must cover the least numbers.
    """
    numbers = {name: min(at_least.get(name, 0), size) for name, size in sizes.items()}
    # Sainte-Laguë's rule: one by one to whoever is furthest behind their share. More to share out never takes from any.
    behind = [((2 * numbers[name] + 1) / size, name) for name, size in sizes.items() if numbers[name] < size]
    heapify(behind)
    for _ in range(min(total, sum(sizes.values())) - sum(numbers.values())):
        _, name = heappop(behind)
        numbers[name] += 1
        if numbers[name] < sizes[name]:
            heappush(behind, ((2 * numbers[name] + 1) / sizes[name], name))
    return numbers


def _by_stratum(candidates: Iterable[Candidate]) -> dict[str, list[Candidate]]:
    strata: dict[str, list[Candidate]] = {}
    for candidate in candidates:
        strata.setdefault(candidate.stratum, []).append(candidate)
    return dict(sorted(strata.items()))


def _split(
    drawn: Mapping[int, SampledConversation], names: Mapping[int, Identity], certify: float | None, seed: int
) -> dict[int, SampledConversation]:
    """Give each its split: in a line of strata, in random order within each, one in so many goes to `certify`.

    The count begins at a random place, which gives everybody the same chance and each stratum its share to within one
    conversation.
    """
    if certify is None:
        return dict(drawn)
    line = sorted(drawn, key=lambda key: (drawn[key].stratum, _chance(seed, "split", names[key])))
    share = Fraction(certify).limit_denominator(1000)  # exact steps: a float would drift over a long line
    start = Fraction(int.from_bytes(_chance(seed, "start", Identity("", ""))), 2**256)
    splits: dict[int, Split] = {
        key: "certify" if floor(start + share * (place + 1)) > floor(start + share * place) else "develop"
        for place, key in enumerate(line)
    }
    return {key: entry._replace(split=splits[key]) for key, entry in drawn.items()}


def _chance(seed: int, purpose: str, identity: Identity) -> bytes:
    """The random number of a conversation; the length of the system keeps two different names apart."""
    system, id = identity
    words = f"{seed}\n{purpose}\n{len(system)}:{system}{id}"
    return hashlib.sha256(words.encode("utf-8", "surrogatepass")).digest()


VERDICT = "verdict"
_PAGE = 1000
_SHOWN = 12


def candidates(
    study: Study, instrument: Instrument, by: Sequence[str] = (), *, all_flagged: bool = False
) -> list[Candidate]:
    """Every conversation of the study in its stratum.

    Args:
        study: Where they are.
        instrument: What the judges' verdicts and flags are made with.
        by: `system`, `origin`, `verdict`, or a column of the metadata.
        all_flagged: Flagged conversations form strata of their own and are certain to be taken.

    Raises:
        InputError: No conversation has such a column, or all flagged are wanted and no judge has looked at safety.
    """
    if all_flagged and not instrument.gate:
        raise InputError(f"{instrument.id} has no safety items, so no conversation is flagged: leave out --all-flagged")
    found: list[Candidate] = []
    columns: set[str] = set()
    looked = False
    for conversation, card in _cards(study, instrument, wanted=all_flagged or VERDICT in by):
        columns |= conversation.metadata.keys()
        parts = [f"{column}={_value(conversation, card, column)}" for column in by]
        flagged = False
        if all_flagged:
            flagged = is_flagged(card)
            looked |= card is not None
            parts.insert(0, "flagged" if flagged else "not flagged" if looked_at(instrument, card) else "not judged")
        found.append(Candidate(conversation.key, conversation.identity, ", ".join(parts) or "all", certain=flagged))
    if all_flagged and found and not looked:
        raise InputError(
            "no judge has rated anything yet, so nothing is flagged: judge first, or leave out --all-flagged"
        )
    for column in by:
        if found and column not in {"system", "origin", VERDICT, *columns}:
            known = ", ".join(["system", "origin", VERDICT, *sorted(columns)][:_SHOWN])
            raise InputError(f"no conversation has {column!r}; stratify by {known}")
    return found


def is_flagged(card: Scorecard | None) -> bool:
    """Whether a safety failure was found, or a person must look."""
    return card is not None and bool(card.unsafe or card.needs_person)


def looked_at(instrument: Instrument, card: Scorecard | None) -> bool:
    """Whether every safety item has an answer."""
    return card is not None and not any(slot.item in instrument.gate_ids for slot in card.open)


def _cards(
    study: Study, instrument: Instrument, *, wanted: bool
) -> Iterator[tuple[ConversationSummary, Scorecard | None]]:
    """The conversations with what the judges say, which is computed only where it is wanted."""
    if not wanted:
        for page in study.summaries(_PAGE):
            for summary in page:
                yield summary, None
        return
    for entry in scored_conversations(study, instrument):
        yield entry.conversation, entry.deciding if entry.cards.judges else None


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
    """Draw `size` conversations at random by stratum and keep the sample under a new name.

    Args:
        study: Where the conversations are and where the sample is kept.
        instrument: What they are to be rated with; it is kept too.
        size: How many to draw; with `all_flagged` beside those that judges flagged, which are all taken.
        by: What to stratify by: `system`, `origin`, `verdict`, or columns of the metadata.
        all_flagged: Whether every flagged conversation is taken.
        certify: The share that goes to `certify`; None makes no split.
        seed: The same seed draws the same sample.
        name: The name of the sample; without one it is numbered.

    Raises:
        StudyError: The study holds no conversation, or a sample of this name.
        InputError: The strata do not fit.
    """
    frame = candidates(study, instrument, by, all_flagged=all_flagged)
    if not frame:
        raise StudyError(f"{study.place} holds no conversation to draw from: judge or import some first")
    made = draw(frame, size, certify=certify, seed=seed)
    design = {"size": size, "by": list(by), "all_flagged": all_flagged, "certify": certify, "extends": None}
    return _keep(study, instrument, made, name, seed, design)


def extend_sample(study: Study, instrument: Instrument, extended: str, more: int, *, name: str | None = None) -> Sample:
    """Draw `more` conversations to those of a sample, as that one was drawn; both are in the new sample.

    Its strata, its seed and its share of `certify` stay as they are; see `sampling.extend` for the probabilities.

    Raises:
        StudyError: There is no such sample for this instrument, or one of the new name.
        InputError: There is nothing left to draw, or the strata do not fit.
    """
    first = find_sample(study, extended)
    if first.instrument != instrument.id:
        raise StudyError(f"the sample {extended!r} is for {first.instrument}, not for {instrument.id}")
    before = Draw(first.units, not_drawn(study, first))
    design: dict[str, Any] = first.design
    frame = candidates(study, instrument, design["by"], all_flagged=design["all_flagged"])
    if len(frame) == len(before.drawn):
        raise StudyError(
            f"the sample {extended!r} holds every conversation of {study.place}: there are no more to draw"
        )
    made = extend(before, frame, more, certify=design["certify"], seed=first.seed, since=first.name)
    return _keep(study, instrument, made, name, first.seed, {**design, "size": more, "extends": first.name})


def find_sample(study: Study, name: str) -> Sample:
    """The sample of this name.

    Raises:
        StudyError: There is none; the message names those there are.
    """
    known = samples(study)
    for sample in known:
        if sample.name == name:
            return sample
    names = ", ".join(sample.name for sample in known) or "none"
    raise StudyError(f"{study.place} has no sample {name!r}; it has {names}")


def _keep(
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

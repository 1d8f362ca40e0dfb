"""The scorecards of a study: one per conversation, rater and repeat, and one for the panel where there are several.

Scorecards are computed when they are read. Ratings are the record; a new weight, threshold or rule gives new
scorecards without a call.
"""

from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

from sqlalchemy import select

from attunement.errors import StudyError
from attunement.instruments import Instrument
from attunement.instruments.lint import checked
from attunement.ratings import RaterKind, Rating, Round
from attunement.scoring import Cards, Case, Scorecard, decide, is_signals, scorecard
from attunement.store import schema
from attunement.store.study import ConversationSummary, Study

_BATCH = 200  # conversations whose ratings are in memory at a time

# Judges' cards come first, then in the order in which raters joined, then by repeat.
_FIRST = (RaterKind.MODEL, RaterKind.PERSON, RaterKind.SIMULATION)
_Order = tuple[int, int, int]
_ORDER = itemgetter(0)


class ScoredConversation(NamedTuple):
    """A conversation of the study and its scorecards."""

    conversation: ConversationSummary
    cards: Cards

    @property
    def deciding(self) -> Scorecard | None:
        """The card that decides; None where nobody who decides has rated the conversation."""
        return self.cards.deciding


def chosen_instrument(study: Study, name: str | None = None) -> Instrument:
    """The newest version of the instrument with this id or hash in the study, or of the only one there is.

    A `.yaml` file is loaded: it scores what was rated with the same words, with its own weights and threshold.
    """
    if name and name.endswith((".yaml", ".yml")):
        return checked(name)
    instruments = study.instruments()
    if not instruments:
        raise StudyError(f"{study.place} has no instrument yet: judge something first, with attune judge")
    ids = list(dict.fromkeys(instrument.id for instrument in instruments))
    if name is None and len(ids) > 1:
        raise StudyError(f"{study.place} has several instruments: choose one with --instrument ({', '.join(ids)})")
    wanted = name or ids[0]
    for instrument in reversed(instruments):
        if wanted in {instrument.id, instrument.hash}:
            return instrument
    raise StudyError(f"{study.place} has no instrument {wanted!r}; it has {', '.join(ids)}")


def decided_by_people(study: Study, instrument: Instrument) -> bool:
    """Whether people decide: they have rated with this instrument, and no judge has."""
    # Judges first: where there are millions of ratings, nearly all are theirs, and the first one is enough.
    return not _rated_by(study, instrument, RaterKind.MODEL) and _rated_by(study, instrument, RaterKind.PERSON)


def _rated_by(study: Study, instrument: Instrument, kind: RaterKind) -> bool:
    ratings = schema.ratings.c
    keys = [rater.key for rater in study.raters() if rater.kind is kind and not is_signals(rater.name)]
    query = select(ratings.key).where(ratings.rater.in_(keys), ratings.round == Round.MAIN)
    query = query.where(ratings.item_hash.in_(instrument.item_hashes.values())).limit(1)
    with study.reading() as connection:
        return bool(keys) and connection.scalar(query) is not None


def scored_conversations(
    study: Study, instrument: Instrument, *, rater: str | None = None
) -> Iterator[ScoredConversation]:
    """Every conversation of the study with its scorecards, in order, with flat memory.

    `rater` limits the cards to one rater, who then decides unless it is a simulation.
    """
    responses = study.responses(instrument.id)
    if rater is None:
        by_people = decided_by_people(study, instrument)
    else:
        by_people = any(known.name == rater and known.kind is RaterKind.PERSON for known in study.raters())
    for batch in study.summaries(_BATCH):
        by_key: dict[int, list[tuple[_Order, Rating]]] = {summary.key: [] for summary in batch}
        for key, rater_key, rating in study.scored(list(by_key), round=Round.MAIN):
            current = rating.item_hash == instrument.item_hashes.get(rating.item)
            if current and (rater is None or rating.rater == rater):
                by_key[key].append(((_FIRST.index(rating.rater_kind), rater_key, rating.repeat), rating))
        for summary in batch:
            case = Case(summary.identity, summary.turns, responses)
            ordered = sorted(by_key[summary.key], key=_ORDER)  # stable: within a card the order in time
            groups = groupby(ordered, key=_ORDER)
            cards = [scorecard(instrument, case, [rating for _, rating in group]) for _, group in groups]
            yield ScoredConversation(summary, decide(instrument, cards, by_people=by_people))

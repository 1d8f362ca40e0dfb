"""The scorecards of a study: one per conversation, rater and repeat, and one for the panel where there are several.

Cards are made when they are read. Ratings are the record; a new weight, threshold or rule gives new cards without a
single call.
"""

from collections.abc import Iterator
from itertools import groupby
from typing import NamedTuple

from attunement.conversations import Responses
from attunement.errors import StudyError
from attunement.instruments import Instrument
from attunement.instruments.lint import checked
from attunement.ratings import RaterKind, Rating, Round
from attunement.scoring import Case, Scorecard, panel, scorecard
from attunement.study.store import Study, Summary

_BATCH = 200
"""Conversations whose ratings are in memory at a time."""


_FIRST = (RaterKind.MODEL, RaterKind.PERSON, RaterKind.SIMULATION)
"""Whose cards come before whose."""


class Judged(NamedTuple):
    """A conversation of the study and its scorecards."""

    conversation: Summary
    cards: tuple[Scorecard, ...]
    """One per rater and repeat, in the order in which the raters joined; empty where nobody rated it."""
    panel: Scorecard | None
    """All judges together; None where there is only one."""

    @property
    def verdict_card(self) -> Scorecard | None:
        """The card that decides: the panel's, or the only judge's; people's cards stand beside it, until there is none.

        That of a simulation decides only where it is alone.
        """
        if self.panel:
            return self.panel
        return next((card for card in self.cards), None)


def chosen_instrument(study: Study, name: str | None = None) -> Instrument:
    """The newest version of the instrument with this id or hash in the study, or of the only one there is.

    A `.yaml` file is loaded: it scores what was rated with the same words, with its own weights and threshold.
    """
    if name and name.endswith((".yaml", ".yml")):
        return checked(name)
    instruments = study.instruments()
    if not instruments:
        raise StudyError(f"{study.place} holds no instrument yet: judge something first, with attune judge")
    ids = list(dict.fromkeys(instrument.id for instrument in instruments))
    if name is None and len(ids) > 1:
        raise StudyError(f"{study.place} holds several instruments: choose one with --instrument ({', '.join(ids)})")
    wanted = name or ids[0]
    for instrument in reversed(instruments):
        if wanted in {instrument.id, instrument.hash}:
            return instrument
    raise StudyError(f"{study.place} holds no instrument {wanted!r}; it has {', '.join(ids)}")


def judged(study: Study, instrument: Instrument, *, rater: str | None = None) -> Iterator[Judged]:
    """Every conversation of the study with its scorecards, in order, with flat memory.

    `rater` limits the cards to one rater. People's cards are made too, but only judges form the panel.
    """
    responses = study.responses(instrument.id)
    for batch in study.summaries(_BATCH):
        by_key: dict[int, list[_Rating]] = {summary.key: [] for summary in batch}
        for key, rater_key, rating in study.scored(list(by_key), round=Round.MAIN):
            current = rating.item_hash == instrument.item_hashes.get(rating.item)
            if current and (rater is None or rating.rater == rater):
                by_key[key].append(_Rating(rater_key, rating))
        for summary in batch:
            yield _judged(instrument, summary, by_key[summary.key], responses)


class _Rating(NamedTuple):
    rater: int
    rating: Rating


def _judged(instrument: Instrument, summary: Summary, ratings: list[_Rating], responses: Responses) -> Judged:
    case = Case(summary.identity, summary.turns, responses)

    def by(entry: _Rating) -> tuple[int, int, int]:
        """Judges first, then in the order in which they joined, then by repeat."""
        return _FIRST.index(entry.rating.rater_kind), entry.rater, entry.rating.repeat

    cards: list[Scorecard] = []
    of_judges: list[Scorecard] = []
    for (place, *_), group in groupby(sorted(ratings, key=by), key=by):  # stable: within a card the order in time
        card = scorecard(instrument, case, [entry.rating for entry in group])
        cards.append(card)
        if not place:
            of_judges.append(card)
    return Judged(summary, tuple(cards), panel(instrument, case, of_judges) if len(of_judges) > 1 else None)

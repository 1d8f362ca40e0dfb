"""Which stratum does each conversation of a study belong to?

Strata are made of the system, the origin, a column of the metadata, or what the judges say: their verdict, and
whether they flag the conversation. What people said never makes a stratum, because samples are drawn for them.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from attunement.errors import InputError
from attunement.instruments import Instrument
from attunement.people.sampling import Candidate
from attunement.scoring import Scorecard
from attunement.study import Study, Summary, judged

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


def _cards(study: Study, instrument: Instrument, *, wanted: bool) -> Iterator[tuple[Summary, Scorecard | None]]:
    """The conversations with what the judges say, which is computed only where it is wanted."""
    if not wanted:
        for page in study.summaries(_PAGE):
            for summary in page:
                yield summary, None
        return
    for entry in judged(study, instrument):
        yield entry.conversation, entry.deciding if entry.cards.judges else None


def _value(conversation: Summary, card: Scorecard | None, column: str) -> Any:
    match column:
        case "system":
            return conversation.identity.system
        case "origin":
            return conversation.origin.value
        case "verdict":
            return "not judged" if card is None else card.verdict.value
        case _:
            return conversation.metadata.get(column, "not given")

"""Which data sets can be read, where to get them, and how one is saved in a study."""

from collections.abc import Iterator
from typing import NamedTuple

from attunement.conversations import Responses, UnitKind
from attunement.datasets import empathy_judge, kumar, long_table, mentalalign, moore, vera
from attunement.datasets.base import Dataset, LoadedDataset, load_yaml
from attunement.errors import InputError
from attunement.ratings import Rating
from attunement.store import Rater, Study

_READERS = {
    "kumar2025": kumar.read,
    "vera-mh": vera.read,
    "moore2025": moore.read,
    "mentalalign": mentalalign.read,
    "empathy-judge": empathy_judge.read,
    "table": long_table.read,
}
DATASETS = [Dataset(**entry, read=_READERS[entry["name"]]) for entry in load_yaml("catalogue")]


def find_dataset(name: str) -> Dataset:
    """The data set with this name.

    Raises:
        InputError: There is none; the message names those there are.
    """
    for entry in DATASETS:
        if entry.name == name:
            return entry
    raise InputError(f"there is no data set {name!r}; there are {', '.join(entry.name for entry in DATASETS)}")


class SavedDataset(NamedTuple):
    conversations: int
    ratings: int
    new_ratings: int


def save_dataset(loaded: LoadedDataset, study: Study) -> SavedDataset:
    """Save the whole set in one transaction. What the study already has stays as it is.

    Raises:
        StudyError: The study has different text for one of the conversations. Nothing is saved then.
    """
    conversations = [conversation for part in loaded.parts for conversation in part.conversations]
    study.keys(conversations)  # refuses different text before anything is written
    raters = {entry.name: study.save_rater(entry.name, entry.kind, entry.settings) for entry in loaded.raters}
    for part in loaded.parts:
        study.save_instrument(part.instrument)
        if part.instrument.unit is UnitKind.RESPONSE:
            study.save_responses(part.instrument.id, Responses.ALL)
    new = study.save_all(conversations, _ratings(loaded, raters), list(raters.values()))
    count = len({conversation.identity for conversation in conversations})
    return SavedDataset(count, sum(len(part.answers) for part in loaded.parts), new)


def _ratings(loaded: LoadedDataset, raters: dict[str, Rater]) -> Iterator[Rating]:
    for part in loaded.parts:
        for answer in part.answers:
            rater, item_hash = raters[answer.rater], part.instrument.item_hashes[answer.item]
            yield Rating(
                conversation=answer.conversation,
                turn=answer.turn,
                item=answer.item,
                outcome=answer.outcome,
                rater=rater.name,
                rater_kind=rater.kind,
                repeat=answer.repeat,
                reasoning=answer.reasoning,
                item_hash=item_hash,
                asked=item_hash,  # the prompt is not known; the item is
                instrument=part.instrument.hash,
                detail=answer.detail,
            )

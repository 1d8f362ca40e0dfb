"""A data set goes into a study as a whole, once."""

from dataclasses import replace
from pathlib import Path

import pytest

from attunement.conversations import Turn
from attunement.datasets import vera
from attunement.datasets.base import LoadedDataset
from attunement.datasets.catalogue import save_dataset
from attunement.errors import StudyError
from attunement.ratings import RaterKind, State
from attunement.store import Study, scored_conversations
from tests.datasets.files import public_vera


@pytest.fixture
def loaded(tmp_path: Path) -> LoadedDataset:
    return vera.read(public_vera(tmp_path / "data"))


def test_conversations_raters_instruments_and_ratings_are_kept(loaded: LoadedDataset, study_place: str) -> None:
    with Study(study_place, create=True) as study:
        done = save_dataset(loaded, study)
        assert (done.conversations, done.ratings, done.new_ratings) == (2, 24, 24)
        assert study.conversation_count() == 2
        assert {instrument.id for instrument in study.instruments()} == {"vera-mh", "vera-mh-risk"}
        ratings = list(study.ratings())
        assert len(ratings) == 24
        assert {rating.rater_kind for rating in ratings} == {RaterKind.PERSON}
        assert sum(rating.outcome.state is State.NA for rating in ratings) == 5
        assert {rating.asked for rating in ratings} == {rating.item_hash for rating in ratings}
        assert any(card.cards for card in scored_conversations(study, vera.SAFETY))


def test_loading_twice_changes_nothing(loaded: LoadedDataset, study_place: str) -> None:
    with Study(study_place, create=True) as study:
        save_dataset(loaded, study)
        before = list(study.ratings())
        assert save_dataset(loaded, study).new_ratings == 0
        assert list(study.ratings()) == before
        assert len(study.raters()) == 3


def test_other_words_under_a_known_name_are_refused_and_nothing_is_kept(loaded: LoadedDataset, tmp_path: Path) -> None:
    safety, _ = loaded.parts
    other = replace(safety.conversations[1], turns=(Turn("Other", "words"),))
    with Study(tmp_path / "a.db", create=True) as study:
        study.save_conversations([other])
        with pytest.raises(StudyError, match="with different text"):
            save_dataset(loaded, study)
        assert study.conversation_count() == 1
        assert not list(study.ratings())
        assert not study.raters()


def test_a_failure_in_the_middle_leaves_no_half_of_the_set(loaded: LoadedDataset, tmp_path: Path) -> None:
    safety, risk = loaded.parts
    broken = replace(risk, answers=[*risk.answers, risk.answers[0]._replace(item="unknown")])
    with Study(tmp_path / "a.db", create=True) as study:
        with pytest.raises(KeyError):
            save_dataset(replace(loaded, parts=[safety, broken]), study)
        assert study.conversation_count() == 0
        assert not list(study.ratings())
        assert save_dataset(loaded, study).new_ratings == 24

from collections.abc import Iterator

import pytest

from attunement.conversations import Conversation
from attunement.errors import StudyError
from attunement.instruments import Instrument
from attunement.ratings import ErrorKind, Outcome, RaterKind, Round
from attunement.store import Rater, StoredRating, Study
from attunement.store.samples import (
    NotDrawn,
    Sample,
    SampledConversation,
    latest_sample,
    not_drawn,
    samples,
    save_sample,
    versions_tried_on_certify,
)
from tests.builders import rating
from tests.store.samples import COACHING, EMPATHY, keep_rating, talks

TALKS = talks(4)


@pytest.fixture
def study(study_place: str) -> Iterator[Study]:
    with Study(study_place, create=True) as opened:
        opened.save_instrument(COACHING)
        opened.save_conversations(TALKS)
        yield opened


def keys(study: Study) -> list[int]:
    return [kept.key for kept in study.conversations()]


def drawn(study: Study, name: str | None = None, instrument: str = COACHING.id) -> Sample:
    first, second, third, _ = keys(study)
    return save_sample(
        study,
        name=name,
        instrument=instrument,
        seed=7,
        design={"by": ["system"], "text": "a lone \ud800 surrogate"},
        units={
            first: SampledConversation("system=bot", 0.5, "certify"),
            second: SampledConversation("system=bot", 0.5, "develop"),
        },
        waiting={third: NotDrawn("system=bot", 0.5)},
    )


def rated_with(study: Study, judge: Rater, conversation: Conversation, instrument: Instrument) -> None:
    """The judge was asked the first item of this version of an instrument."""
    (key,) = study.save_conversations([conversation])
    made = rating(instrument, instrument.items[0].id, 1, conversation=conversation.identity, asked=instrument.hash)
    study.write([], [StoredRating(key, judge.key, made)])


def test_a_sample_comes_back_as_it_was_kept(study: Study) -> None:
    sample = drawn(study, "first")
    assert samples(study) == [sample]
    assert not_drawn(study, sample) == {keys(study)[2]: NotDrawn("system=bot", 0.5)}


def test_a_sample_is_never_overwritten(study: Study) -> None:
    sample = drawn(study, "first")
    with pytest.raises(StudyError, match="has a sample 'first' already"):
        drawn(study, "first")
    assert samples(study) == [sample]


def test_samples_without_a_name_are_numbered_around_those_that_have_the_name(study: Study) -> None:
    assert [drawn(study, name).name for name in (None, "sample-3", None, None)] == [
        "sample-1",
        "sample-3",
        "sample-2",
        "sample-4",
    ]


def test_the_latest_sample_is_that_of_the_instrument(study: Study) -> None:
    assert latest_sample(study, COACHING.id) is None
    drawn(study, "old")
    newer = drawn(study, "new")
    drawn(study, "other", EMPATHY.id)
    assert latest_sample(study, COACHING.id) == newer


def test_a_forgotten_conversation_leaves_its_samples_and_the_others_keep_their_probability(study: Study) -> None:
    sample = drawn(study)
    first, second, third, _ = keys(study)
    study.delete(first)
    study.delete(third)
    (after,) = samples(study)
    assert after.units == {second: sample.units[second]}
    assert not_drawn(study, after) == {}


def test_a_sample_of_a_conversation_that_is_gone_is_refused(study: Study) -> None:
    with pytest.raises(StudyError, match="draw it again"):
        save_sample(
            study,
            name=None,
            instrument="coaching-v1",
            seed=0,
            design={},
            units={999: SampledConversation("all", 1.0, None)},
        )
    assert samples(study) == []


def test_every_version_of_a_judge_that_rated_certify_counts(study: Study) -> None:
    sample = drawn(study)
    newer = Instrument.model_validate(COACHING.model_copy(update={"version": "1.0.1"}).model_dump())
    study.save_instrument(newer)
    study.save_instrument(EMPATHY)
    item, other = COACHING.items[0].id, COACHING.items[1].id
    certify, develop = TALKS[0], TALKS[1]
    cold = study.save_rater("openai:m", RaterKind.MODEL, {"temperature": 0})
    warm = study.save_rater("openai:m", RaterKind.MODEL, {"temperature": 1})
    late = study.save_rater("anthropic:n", RaterKind.MODEL, {})
    person = study.save_rater("Ada", RaterKind.PERSON, {})
    assert versions_tried_on_certify(study, sample) == {}
    keep_rating(study, cold, certify, item, "YES")
    keep_rating(study, cold, certify, other, "YES")
    keep_rating(study, late, develop, item, "YES")
    keep_rating(study, person, certify, item, "YES", rater_kind=RaterKind.PERSON)
    keep_rating(study, late, certify, item, "YES", round=Round.REPEAT)
    rated_with(study, late, certify, EMPATHY)
    assert versions_tried_on_certify(study, sample) == {"openai:m": 1}
    keep_rating(study, warm, certify, item, Outcome.failed(ErrorKind.SERVER))
    rated_with(study, cold, certify, newer)
    assert versions_tried_on_certify(study, sample) == {"openai:m": 3}

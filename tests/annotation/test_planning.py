from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest

from attunement.annotation.planning import PASS_RATE, failures_for_recall, paragraphs, plan
from attunement.annotation.sampling import draw_sample
from attunement.conversations import Conversation, Turn
from attunement.instruments import Value, load
from attunement.ratings import ErrorKind, Outcome, RaterKind
from attunement.statistics.estimates import Mean, mean
from attunement.statistics.results import Undefined
from attunement.store import StoredRating, Study
from tests.builders import ratings, talk

COACHING = load("coaching-v1")
EMPATHY = load("empathy-v2")
GATE = sorted(COACHING.gate_ids)[0]
OTHER = next(item.id for item in COACHING.items if item.id not in COACHING.gate_ids)


def filled(
    place: Path,
    count: int,
    answer: Callable[[int], Mapping[str, Value | Outcome]],
    *,
    kind: RaterKind = RaterKind.MODEL,
) -> Study:
    """A study in which one rater met every criterion of each conversation but for what `answer` says."""
    study = Study(place, create=True)
    study.save_instrument(COACHING)
    rater = study.save_rater("r", kind, {})
    for number in range(count):
        conversation = talk((f"Hello {number}", "Hi"), id=f"c{number}", system="ab"[number % 2])
        (key,) = study.save_conversations([conversation])
        made = ratings(COACHING, answer(number), conversation=conversation.identity, rater=rater.name, rater_kind=kind)
        study.write([], [StoredRating(key, rater.key, rating) for rating in made])
    return study


def test_the_number_asked_for_gives_an_interval_of_the_wanted_width(tmp_path: Path) -> None:
    with filled(tmp_path / "a.db", 80, lambda number: {OTHER: "NO" if number % 4 < 2 else "YES"}) as study:
        needs = {need.figure: need for need in plan(study, COACHING, width=0.1).needs}
    need = needs[OTHER]
    assert (need.source, need.rated, need.mean) == ("judges", 80, 0.5)
    values = np.arange(need.conversations) % 4 >= 2
    made = mean(values, np.arange(need.conversations))
    assert isinstance(made, Mean)
    assert not isinstance(made.interval, Undefined)
    assert made.interval.high - made.value == pytest.approx(0.1, rel=0.03)


def test_half_the_width_takes_four_times_as_many(tmp_path: Path) -> None:
    with filled(tmp_path / "a.db", 80, lambda number: {OTHER: "NO" if number % 3 else "YES"}) as study:
        wide, narrow = (
            next(need for need in plan(study, COACHING, width=width).needs if need.figure == OTHER)
            for width in (0.1, 0.05)
        )
    assert narrow.conversations == pytest.approx(4 * wide.conversations, abs=4)


def test_an_item_that_seldom_applies_takes_more(tmp_path: Path) -> None:
    with filled(tmp_path / "a.db", 80, lambda number: {OTHER: ("NA", "NA", "YES", "NO")[number // 2 % 4]}) as study:
        need = next(need for need in plan(study, COACHING).needs if need.figure == OTHER)
    assert need.applies == 0.5
    assert need.conversations == pytest.approx(2 * 1.96**2 * 0.25 / 0.05**2, rel=0.06)


def test_what_never_varied_is_planned_for_the_worst_case(tmp_path: Path) -> None:
    with filled(tmp_path / "a.db", 80, lambda _: {}) as study:
        needs = plan(study, COACHING).needs
    assert {(need.source, need.conversations) for need in needs} == {("assumed", 385)}
    assert needs[0].figure == PASS_RATE


def test_differences_between_systems_are_not_taken_for_spread(tmp_path: Path) -> None:
    def answer(number: int) -> dict[str, Value]:
        return {OTHER: "YES" if number % 2 or number == 0 else "NO"}

    with filled(tmp_path / "a.db", 80, answer) as study:
        need = next(need for need in plan(study, COACHING).needs if need.figure == OTHER)
    assert need.spread < 0.15


def test_people_are_believed_before_judges(tmp_path: Path) -> None:
    with filled(tmp_path / "a.db", 60, lambda number: {GATE: "NO" if number < 3 else "YES"}) as study:
        assert plan(study, COACHING).failures[:4] == ("judges", 60, 3, 0.05)  # type: ignore[index]
    with filled(
        tmp_path / "a.db", 30, lambda number: {GATE: "NO" if number < 6 else "YES"}, kind=RaterKind.PERSON
    ) as study:
        found = plan(study, COACHING)
    assert found.failures is not None
    assert found.failures[:4] == ("people", 30, 6, 0.2)
    assert found.failures.conversations == 150
    assert found.failures.flagged == 3
    assert (found.by_judges, found.by_people) == (60, 30)


def test_beside_all_flagged_it_says_how_many_of_the_others_must_be_rated(tmp_path: Path) -> None:
    with filled(tmp_path / "a.db", 340, lambda number: {GATE: "NO" if number < 40 else "YES"}) as study:
        found = plan(study, COACHING)
        words = " ".join(paragraphs(found, COACHING, "a.db"))
    assert found.failures is not None
    # Ten more beside forty that were caught are the most that leave a recall of .8: one in thirty of the others.
    assert found.failures.unflagged == np.ceil(np.log(0.025) / np.log(1 - 1 / 30))
    assert f"it takes {found.failures.unflagged} of the 300 others" in words


def test_failures_of_a_sample_count_as_often_as_they_were_likely_to_be_drawn(tmp_path: Path) -> None:
    place = tmp_path / "a.db"
    with filled(place, 100, lambda number: {GATE: "NO" if number < 10 else "YES"}) as study:
        sample = draw_sample(study, COACHING, 10, all_flagged=True)
        person = study.save_rater("Ada", RaterKind.PERSON, {})
        for kept in study.conversations():
            if kept.key in sample.units:
                conversation = kept.conversation
                truth = {GATE: "NO" if int(conversation.id[1:]) < 10 else "YES"}
                made = ratings(COACHING, truth, conversation=conversation.identity, rater="Ada")
                study.write([], [StoredRating(kept.key, person.key, rating) for rating in made])
        failures = plan(study, COACHING).failures
    assert failures is not None
    assert (failures.rated, failures.found) == (20, 10)
    assert failures.rate == pytest.approx(0.1)
    assert failures.conversations == 300


def test_where_no_failure_was_seen_the_bound_says_how_many_there_may_be(tmp_path: Path) -> None:
    with filled(tmp_path / "a.db", 60, lambda _: {}) as study:
        failures = plan(study, COACHING).failures
    assert failures is not None
    assert failures.highest == pytest.approx(1 - 0.05 ** (1 / 60))
    assert failures.conversations == 616


def test_an_answer_that_failed_says_nothing_about_safety(tmp_path: Path) -> None:
    error = Outcome.failed(ErrorKind.SERVER)
    with filled(tmp_path / "a.db", 20, lambda _: {item.id: error for item in COACHING.items}) as study:
        failures = plan(study, COACHING).failures
    assert failures is not None
    assert (failures.source, failures.rated, failures.rate) == ("assumed", 0, None)


def test_replies_of_one_conversation_count_less_than_conversations(tmp_path: Path) -> None:
    with Study(tmp_path / "a.db", create=True) as study:
        study.save_conversations([Conversation(f"c{n}", "a", (Turn(f"{n}", "b"),) * 4) for n in range(3)])
        found = plan(study, EMPATHY)
    assert found.units == 4
    assert {need.source for need in found.needs} == {"assumed"}
    # Four replies with ICC .5 are worth 1.6 independent ones.
    assert {need.conversations for need in found.needs} == {int(np.ceil(1.96**2 / 0.2**2 / 1.6))}


def test_a_gate_takes_at_least_thirty_failures() -> None:
    assert [failures_for_recall(recall) for recall in (0.99, 0.95, 0.9)] == [30, 34, 69]


def test_the_words_say_what_each_number_rests_on(tmp_path: Path) -> None:
    def answer(number: int) -> dict[str, Value]:
        return {GATE: "NO" if number < 6 else "YES", OTHER: "NO" if number % 4 < 2 else "YES"}

    with filled(tmp_path / "a.db", 60, answer) as study:
        text = "\n".join(paragraphs(plan(study, COACHING), COACHING, "a.db"))
    assert "a.db has 60 conversations (a 30, b 30)" in text
    assert "judges have rated 60 of them and people 0" in text
    assert f"{OTHER}: 398; so far 50 % (judges, 60 conversations)" in text
    assert "Judges found a failure in 6 of 60 conversations, so it takes about 300" in text
    assert "A judge's flags may be wrong" in text


def test_the_words_admit_that_nothing_is_known(tmp_path: Path) -> None:
    with Study(tmp_path / "a.db", create=True) as study:
        study.save_conversations([talk(("Hello", "Hi"))])
        text = "\n".join(paragraphs(plan(study, COACHING), COACHING, "a.db"))
    assert "so this assumes a share of one half, the worst case" in text
    assert "the failure rate is unknown" in text

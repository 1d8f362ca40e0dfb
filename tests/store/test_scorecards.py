import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest

from attunement.errors import InstrumentError, StudyError
from attunement.instruments import Instrument
from attunement.instruments.loader import to_yaml
from attunement.ratings import RaterKind, Round
from attunement.scoring import PANEL, Verdict
from attunement.store import Study, chosen_instrument, scorecards, scored_conversations
from attunement.store.scorecards import decided_by_people
from tests.store.samples import COACHING, EMPATHY, fill, keep_rating, talks


@pytest.fixture
def study(tmp_path: Path) -> Iterator[Study]:
    """A study of three conversations that the judge `j` met in every criterion."""
    with fill(tmp_path / "a.db") as opened:
        yield opened


def reworded(item: str) -> Instrument:
    """The coaching instrument with another wording of one item."""
    items = [
        entry.model_copy(update={"definition": "Something else."}) if entry.id == item else entry
        for entry in COACHING.items
    ]
    return Instrument.model_validate({**COACHING.model_dump(), "items": items, "version": "2"})


def test_every_conversation_has_its_card_in_order(study: Study) -> None:
    study.save_conversations(talks(4))
    cases = list(scored_conversations(study, COACHING))
    assert [case.conversation.identity.id for case in cases] == ["c0", "c1", "c2", "c3"]
    assert [[card.verdict for card in case.cards.all] for case in cases] == [[Verdict.PASS]] * 3 + [[]]
    assert [case.cards.panel for case in cases] == [None] * 4
    assert [case.deciding for case in cases[:3]] == [case.cards.all[0] for case in cases[:3]]
    assert cases[3].deciding is None


def test_cards_come_judges_first_in_the_order_in_which_they_joined_and_only_judges_form_the_panel(study: Study) -> None:
    simulated = study.save_rater("actor", RaterKind.SIMULATION, {})
    person = study.save_rater("Ada", RaterKind.PERSON, {})
    second = study.save_rater("a", RaterKind.MODEL, {})
    here = talks(1)[0]
    for rater in (simulated, person, second):
        for item in COACHING.items:
            keep_rating(study, rater, here, item.id, "NO" if rater is not second else "YES")
    case = next(scored_conversations(study, COACHING))
    assert [card.rater for card in case.cards.all] == ["j", "a", "Ada", "actor"]
    assert case.cards.panel is not None
    assert case.cards.panel.members == ("j", "a")
    assert case.cards.panel.rater == PANEL
    assert case.cards.panel.verdict is Verdict.PASS
    assert case.deciding is case.cards.panel


def test_repeats_of_one_judge_are_cards_of_their_own(study: Study) -> None:
    judge = study.raters()[0]
    for item in COACHING.items:
        keep_rating(study, judge, talks(1)[0], item.id, "YES", repeat=1)
    case = next(scored_conversations(study, COACHING))
    assert [(card.rater, card.repeat) for card in case.cards.all] == [("j", 0), ("j", 1)]
    assert case.cards.panel is not None


def test_one_rater_can_be_chosen(study: Study) -> None:
    other = study.save_rater("k", RaterKind.MODEL, {})
    keep_rating(study, other, talks(1)[0], "CQ1", "NO")
    cases = list(scored_conversations(study, COACHING, rater="k"))
    assert [card.rater for case in cases for card in case.cards.all] == ["k"]
    assert [case.deciding for case in cases] == [cases[0].cards.all[0], None, None]


def keep_all(
    study: Study, name: str, kind: RaterKind, answers: dict[str, str] | None = None, *, number: int = 0
) -> None:
    """Let a rater answer YES to everything about one conversation, but for `answers`."""
    rater = study.save_rater(name, kind, {})
    here = talks(number + 1)[number]
    for item in COACHING.items:
        keep_rating(study, rater, here, item.id, (answers or {}).get(item.id, "YES"))


@pytest.fixture
def unjudged(study_place: str) -> Iterator[Study]:
    """A study of two conversations that nobody has rated yet."""
    with Study(study_place, create=True) as opened:
        opened.save_instrument(COACHING)
        opened.save_conversations(talks(2))
        yield opened


def test_where_only_people_have_rated_one_no_on_safety_makes_a_conversation_unsafe(unjudged: Study) -> None:
    keep_all(unjudged, "Ada", RaterKind.PERSON)
    keep_all(unjudged, "Ben", RaterKind.PERSON, {"CQ8": "NO"})
    first, second = scored_conversations(unjudged, COACHING)
    assert decided_by_people(unjudged, COACHING)
    assert first.deciding is not None
    assert first.deciding is first.cards.panel
    assert (first.deciding.verdict, first.deciding.members) == (Verdict.UNSAFE, ("Ada", "Ben"))
    assert second.deciding is None


def test_people_decide_nowhere_once_a_judge_has_rated_anything_with_the_instrument(unjudged: Study) -> None:
    keep_all(unjudged, "Ada", RaterKind.PERSON, {"CQ8": "NO"})
    judge = unjudged.save_rater("j", RaterKind.MODEL, {})
    keep_rating(unjudged, judge, talks(2)[1], "CQ1", "YES")
    first, second = scored_conversations(unjudged, COACHING)
    assert not decided_by_people(unjudged, COACHING)
    assert (first.deciding, [card.rater for card in first.cards.people]) == (None, ["Ada"])
    assert second.deciding is not None
    assert second.deciding.rater == "j"
    # Asked for by name, a person's answers decide.
    named = next(scored_conversations(unjudged, COACHING, rater="Ada"))
    assert named.deciding is not None
    assert named.deciding.verdict is Verdict.UNSAFE


@pytest.mark.parametrize("more", [{"round": Round.CALIBRATION}, {"item_hash": "of other words"}])
def test_a_judge_in_another_round_or_with_other_words_takes_nothing_from_people(
    unjudged: Study, more: dict[str, object]
) -> None:
    keep_all(unjudged, "Ada", RaterKind.PERSON)
    judge = unjudged.save_rater("j", RaterKind.MODEL, {})
    keep_rating(unjudged, judge, talks(2)[0], "CQ8", "NO", **more)
    assert decided_by_people(unjudged, COACHING)
    first = next(scored_conversations(unjudged, COACHING))
    assert first.deciding is not None
    assert (first.deciding.rater, first.deciding.verdict) == ("Ada", Verdict.PASS)


@pytest.mark.parametrize("rater", [None, "actor"])
def test_a_simulation_decides_nothing_even_where_it_is_alone_or_asked_for(unjudged: Study, rater: str | None) -> None:
    keep_all(unjudged, "actor", RaterKind.SIMULATION)
    case = next(scored_conversations(unjudged, COACHING, rater=rater))
    assert [card.rater for card in case.cards.all] == ["actor"]
    assert case.deciding is None
    assert not decided_by_people(unjudged, COACHING)


@pytest.mark.parametrize("rater", [None, "signals"])
def test_where_only_the_rule_check_has_read_nothing_is_judged(unjudged: Study, rater: str | None) -> None:
    keep_all(unjudged, "signals", RaterKind.MODEL, {"CQ8": "NO"})  # as an earlier version answered
    first, second = scored_conversations(unjudged, COACHING, rater=rater)
    assert (first.cards.all, first.deciding) == ((), None)
    assert first.cards.rule_check is not None
    assert first.cards.rule_check.verdict is Verdict.NOT_JUDGED
    assert second.cards.rule_check is None


def test_the_rule_check_takes_no_decision_from_people(unjudged: Study) -> None:
    keep_all(unjudged, "signals", RaterKind.MODEL)
    keep_all(unjudged, "Ada", RaterKind.PERSON)
    assert decided_by_people(unjudged, COACHING)
    first = next(scored_conversations(unjudged, COACHING))
    assert first.deciding is not None
    assert (first.deciding.rater, first.deciding.verdict) == ("Ada", Verdict.PASS)


def test_only_the_main_round_counts(study: Study) -> None:
    keep_rating(study, study.raters()[0], talks(1)[0], "CQ8", "NO", asked="again", round=Round.CALIBRATION)
    assert next(scored_conversations(study, COACHING)).cards.all[0].verdict is Verdict.PASS


def test_a_reworded_item_is_missing_until_it_is_asked_and_the_rest_stays(study: Study) -> None:
    (card,) = next(scored_conversations(study, reworded("CQ8"))).cards.all
    assert card.verdict is Verdict.SAFETY_MISSING
    assert [slot.item for slot in card.open] == ["CQ8"]


def test_of_several_ratings_of_one_item_the_latest_counts(study: Study) -> None:
    keep_rating(study, study.raters()[0], talks(1)[0], "CQ8", "NO", asked="rendered anew")
    assert next(scored_conversations(study, COACHING)).cards.all[0].verdict is Verdict.UNSAFE


def test_the_instrument_is_the_only_one_or_the_one_that_is_named(study: Study, tmp_path: Path) -> None:
    assert chosen_instrument(study) == COACHING
    study.save_instrument(EMPATHY)
    with pytest.raises(StudyError, match=r"several instruments: choose one.*coaching-v1, empathy-v2"):
        chosen_instrument(study)
    assert chosen_instrument(study, "empathy-v2") == EMPATHY
    assert chosen_instrument(study, COACHING.hash) == COACHING
    with pytest.raises(StudyError, match="no instrument 'other'"):
        chosen_instrument(study, "other")
    newer = reworded("CQ1")
    study.save_instrument(newer)
    assert chosen_instrument(study, "coaching-v1") == newer
    with Study(tmp_path / "empty.db", create=True) as empty, pytest.raises(StudyError, match="no instrument yet"):
        chosen_instrument(empty)


def test_an_instrument_file_scores_what_was_rated_with_the_same_words(study: Study, tmp_path: Path) -> None:
    own = tmp_path / "own.yaml"
    scoring = COACHING.scoring.model_copy(update={"threshold": 0.5})
    own.write_text(to_yaml(COACHING.model_copy(update={"scoring": scoring}), None))
    chosen = chosen_instrument(study, str(own))
    assert chosen.scoring.threshold == 0.5
    assert next(scored_conversations(study, chosen)).cards.all[0].verdict is Verdict.PASS
    with pytest.raises(InstrumentError, match="cannot be read"):
        chosen_instrument(study, str(tmp_path / "nowhere.yaml"))


def test_reading_cards_takes_no_more_memory_for_many_conversations_than_for_few(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scorecards, "_BATCH", 20)
    peaks: list[int] = []
    for count in (40, 160):
        with fill(tmp_path / f"{count}.db", talks(count)) as study:
            next(scored_conversations(study, COACHING))  # what is loaded once is no matter of conversations
            tracemalloc.start()
            try:
                assert sum(1 for _ in scored_conversations(study, COACHING)) == count
                peaks.append(tracemalloc.get_traced_memory()[1])
            finally:
                tracemalloc.stop()
    assert peaks[1] < 1.5 * peaks[0]

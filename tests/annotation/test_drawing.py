from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from attunement.annotation.sampling import draw_sample, extend_sample
from attunement.errors import InputError, StudyError
from attunement.ratings import RaterKind
from attunement.store import Study
from attunement.store.samples import samples
from tests.builders import talk
from tests.store.samples import COACHING, EMPATHY, fill, keep_rating

GATE = sorted(COACHING.gate_ids)[0]
OTHER = next(item.id for item in COACHING.items if item.id not in COACHING.gate_ids)
TALKS = [
    replace(
        talk((f"I feel {n}.", "Tell me."), id=f"c{n}", system="ab"[n % 2]), metadata={"risk": "high"} if n < 10 else {}
    )
    for n in range(40)
]


@pytest.fixture
def study(tmp_path: Path) -> Iterator[Study]:
    with fill(tmp_path / "a.db", TALKS) as opened:
        careful = opened.save_rater("careful", RaterKind.MODEL, {})
        for conversation in TALKS[:4]:
            keep_rating(opened, careful, conversation, GATE, "NO")
        yield opened


def strata(study: Study, **wanted: object) -> dict[str, int]:
    sample = draw_sample(study, COACHING, 20, **wanted)  # type: ignore[arg-type]
    return dict(Counter(drawn.stratum for drawn in sample.units.values()))


def test_a_sample_is_drawn_by_system_and_by_any_column(study: Study) -> None:
    assert strata(study) == {"all": 20}
    assert strata(study, by=["system"]) == {"system=a": 10, "system=b": 10}
    assert strata(study, by=["risk"]) == {"risk=high": 5, "risk=not given": 15}
    assert strata(study, by=["verdict"]) == {"verdict=PASS": 18, "verdict=REJECTED: unsafe": 2}


def test_all_flagged_are_taken_for_certain_beside_the_others(study: Study) -> None:
    sample = draw_sample(study, COACHING, 9, all_flagged=True)
    names = {kept.key: kept.conversation.id for kept in study.conversations()}
    flagged = {names[key] for key, drawn in sample.units.items() if drawn.stratum == "flagged"}
    assert flagged == {"c0", "c1", "c2", "c3"}
    assert {drawn.probability for drawn in sample.units.values()} == {1.0, 9 / 36}
    assert sample.design["strata"] == {
        "flagged": {"there": 4, "drawn": 4},
        "not flagged": {"there": 36, "drawn": 9},
    }


def test_what_people_said_flags_nothing(study: Study) -> None:
    person = study.save_rater("Ada", RaterKind.PERSON, {})
    keep_rating(study, person, TALKS[20], GATE, "NO")
    sample = draw_sample(study, COACHING, 9, all_flagged=True)
    assert sum(drawn.stratum == "flagged" for drawn in sample.units.values()) == 4


@pytest.mark.parametrize(("name", "kind"), [("Ada", RaterKind.PERSON), ("signals", RaterKind.MODEL)])
def test_where_no_judge_has_rated_neither_people_nor_the_rule_check_make_a_stratum(
    tmp_path: Path, name: str, kind: RaterKind
) -> None:
    with Study(tmp_path / "b.db", create=True) as unjudged:
        unjudged.save_instrument(COACHING)
        unjudged.save_conversations(TALKS)
        rater = unjudged.save_rater(name, kind, {})
        for conversation in TALKS[:4]:
            keep_rating(unjudged, rater, conversation, GATE, "NO")
        assert strata(unjudged, by=["verdict"]) == {"verdict=not judged": 20}
        with pytest.raises(InputError, match="no judge has rated anything yet"):
            draw_sample(unjudged, COACHING, 5, all_flagged=True)


def test_what_no_judge_has_looked_at_is_not_called_unflagged(study: Study) -> None:
    study.save_conversations([talk(("New", "one"), id="new")])
    assert strata(study, all_flagged=True) == {"flagged": 4, "not flagged": 19, "not judged": 1}


def test_the_same_seed_draws_the_same_and_another_seed_another_sample(study: Study) -> None:
    first, again, other = (draw_sample(study, COACHING, 10, seed=seed) for seed in (1, 1, 2))
    assert first.units == again.units != other.units
    assert [sample.name for sample in samples(study)] == ["sample-1", "sample-2", "sample-3"]


def test_an_extended_sample_is_a_new_one_that_holds_the_old_one(study: Study) -> None:
    first = draw_sample(study, COACHING, 8, by=["system"], all_flagged=True, name="first")
    study.save_conversations([talk(("New", "one"), id="new", system="a")])
    after = extend_sample(study, COACHING, "first", 9)
    assert samples(study) == [first, after]
    assert first.units.keys() < after.units.keys()
    assert all(after.units[key].split == drawn.split for key, drawn in first.units.items())
    assert after.design["extends"] == "first"
    assert after.design["strata"] == {
        "flagged, system=a": {"there": 2, "drawn": 2},
        "flagged, system=b": {"there": 2, "drawn": 2},
        "not flagged, system=a": {"there": 18, "drawn": 8},
        "not flagged, system=b": {"there": 18, "drawn": 8},
        "not judged, system=a (new since first)": {"there": 1, "drawn": 1},
    }


def test_an_extended_sample_can_be_extended(study: Study) -> None:
    draw_sample(study, COACHING, 8, name="first")
    extend_sample(study, COACHING, "first", 8, name="second")
    third = extend_sample(study, COACHING, "second", 100)
    assert len(third.units) == 40
    assert {drawn.probability for drawn in third.units.values()} == {1.0}
    with pytest.raises(StudyError, match="already contains every conversation"):
        extend_sample(study, COACHING, third.name, 1)


def test_a_sample_that_is_not_there_or_is_for_another_instrument_is_not_extended(study: Study) -> None:
    with pytest.raises(StudyError, match="has no sample 'x'; it has none"):
        extend_sample(study, COACHING, "x", 1)
    draw_sample(study, EMPATHY, 5, name="x")
    with pytest.raises(StudyError, match="'x' is for empathy-v2, not for coaching-v1"):
        extend_sample(study, COACHING, "x", 1)


def test_a_column_that_nobody_has_is_named_with_those_there_are(study: Study) -> None:
    with pytest.raises(InputError, match="no conversation has a column 'mood'; stratify by system, origin"):
        draw_sample(study, COACHING, 5, by=["mood"])


def test_all_flagged_is_refused_where_no_judge_has_looked(tmp_path: Path) -> None:
    with Study(tmp_path / "b.db", create=True) as empty:
        with pytest.raises(StudyError, match="has no conversation to draw from"):
            draw_sample(empty, COACHING, 5)
        empty.save_conversations(TALKS[:10])
        with pytest.raises(InputError, match="no judge has rated anything yet"):
            draw_sample(empty, COACHING, 5, all_flagged=True)
        assert samples(empty) == []

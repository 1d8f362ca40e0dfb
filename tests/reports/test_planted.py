"""The check of a judge on the bundled conversations, compared with judges whose answers are known."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from attunement import api
from attunement.conversations import Responses
from attunement.instruments import load
from attunement.ratings import ABSTAINED, Outcome
from attunement.reports import planted
from attunement.reports.planted import sentences
from attunement.scoring import Verdict
from attunement.store import Study, scored_conversations
from tests.builders import HERE
from tests.fake_judge import Asked, Behaviour, FakeJudge

COACHING, EMPATHY = load("coaching-v1"), load("empathy-v2")
FILES = [planted.folder() / name for names in planted.FILES.values() for name in names]


def checked(tmp_path: Path, instrument: Any, answer: Callable[[Asked], str]) -> planted.Check:
    place = tmp_path / f"{instrument.id}.study.db"
    with FakeJudge(Behaviour(answer=answer)) as fake:
        for name in planted.FILES[instrument.id]:
            api.judge(
                planted.folder() / name,
                place,
                judges="openai:fake",
                base_url=fake.url,
                instrument=instrument,
                responses=Responses.LAST,
            )
    with Study(place) as study:
        return planted.check(scored_conversations(study, instrument), instrument)


def always(value: str) -> Callable[[Asked], str]:
    return lambda asked: json.dumps({"reasoning": "Turn 1", "answer": value})


def test_every_bundled_file_belongs_to_an_instrument() -> None:
    assert {path.name for path in FILES} == {path.name for path in planted.folder().glob("*.jsonl")}


def test_a_judge_that_always_says_no_sees_every_fault_and_flags_every_clean_conversation(tmp_path: Path) -> None:
    check = checked(tmp_path, COACHING, always("NO"))
    assert all(each.seen for each in check.planted)
    assert all(each.flags and each.verdict is Verdict.UNSAFE for each in check.clean)
    assert "Safety flags raised on them: none" not in sentences([(COACHING, check)])[1]


def test_a_judge_that_always_says_yes_misses_every_fault(tmp_path: Path) -> None:
    check = checked(tmp_path, COACHING, always("YES"))
    assert not any(each.seen or each.unjudged for each in check.planted)
    assert not any(each.flags for each in check.clean)
    assert {each.verdict for each in check.clean} == {Verdict.PASS}
    assert sentences([(COACHING, check)])[1].endswith(f"Called PASS: {len(check.clean)}.")


def test_does_not_apply_sees_nothing_even_where_it_counts_as_a_failure(tmp_path: Path) -> None:
    check = checked(tmp_path, COACHING, always("NA"))
    assert not any(each.seen for each in check.planted)


@pytest.mark.parametrize(("score", "all_seen"), [(1, True), (5, False)])
def test_a_score_shows_a_fault_from_its_limit_down(tmp_path: Path, score: int, all_seen: bool) -> None:
    def answer(asked: Asked) -> str:
        return json.dumps({item.id: {"reasoning": "Turn 1", "score": score} for item in EMPATHY.items})

    check = checked(tmp_path, EMPATHY, answer)
    assert check.planted
    assert {each.seen for each in check.planted} == {all_seen}


def test_an_abstention_is_not_a_miss_but_not_judged() -> None:
    each = planted.Planted("a", "promise", "NO", HERE, {"CQ8": ABSTAINED})
    assert each.unjudged
    assert not each.seen
    assert each._replace(answers={"CQ8": Outcome.of("NO")}).seen

"""What can be said about a run from Python, and what is refused before anything is asked."""

import math
from pathlib import Path
from typing import Any

import pytest

import attunement
from attunement.api import Settings
from attunement.conversations import Responses
from attunement.errors import InputError
from attunement.prompts import Layout
from tests.builders import talk


@pytest.mark.parametrize("wrong", [math.nan, -1.0, math.inf])
@pytest.mark.parametrize("name", ["temperature", "max_cost", "price_in", "price_out"])
def test_a_number_that_could_keep_no_limit_is_refused(name: str, wrong: float):
    both = {"price_in": 1.0, "price_out": 1.0} if name.startswith("price") else {}
    with pytest.raises(InputError, match=f"{name.replace('_', '-')} must be 0 or more"):
        Settings(judges="openai:fake", **{**both, name: wrong})


def test_zero_is_a_limit():
    settings = Settings(judges="openai:fake", max_cost=0, max_calls=0, price_in=0, price_out=0, temperature=0)
    assert settings.max_cost == settings.max_calls == 0


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"repeats": 0}, "repeats must be 1 or more, not 0"),
        ({"timeout": 0}, "timeout must be 0.1 or more"),
        ({"items": []}, "leave it out"),
        ({"price_in": 1.0}, "both parts"),
        ({"limit": 0}, "limit must be 1 or more"),
        ({"sample": -1}, "sample must be 1 or more"),
    ],
)
def test_what_cannot_be_meant_is_refused(given: dict[str, object], message: str):
    with pytest.raises(InputError, match=message):
        Settings(judges="openai:fake", **given)


def test_the_judge_may_be_named_as_on_the_command_line(tmp_path: Path):
    talks = [talk(("Hello.", "Hi."), id="c1")]
    one = attunement.judge(talks, tmp_path / "one.db", judge="signals", items=["CQ9"])
    more = attunement.judge(talks, tmp_path / "more.db", judges=["signals"], items=["CQ9"])
    assert one.only_rule_check
    assert one.progress.conversations == more.progress.conversations == 1
    with pytest.raises(InputError, match="judge and judges mean the same: give only one of them"):
        attunement.judge(talks, tmp_path / "two.db", judge="signals", judges="signals")
    assert not (tmp_path / "two.db").exists()


def test_a_result_shows_its_scorecards_in_a_notebook(tmp_path: Path):
    messages = [{"role": "user", "content": "Hi <you>"}, {"role": "assistant", "content": "Hello."}]
    result = attunement.judge([messages], tmp_path / "a.db", judge="signals", items=["CQ9"])
    shown = result._repr_html_()
    assert shown.startswith("<p>Result(")
    assert "1 conversation" in shown
    assert "<you>" not in shown


def test_settings_can_be_named_as_on_the_command_line():
    named = Settings(judges="signals", layout="transcript-first", ask="separately", responses="last").prepare()
    assert named.scope.questionnaire.layout is Layout.TRANSCRIPT_FIRST
    assert not named.scope.questionnaire.together
    assert named.scope.responses is Responses.LAST


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"layout": "sideways"}, "layout is criterion-first or transcript-first, not 'sideways'"),
        ({"ask": "bogus"}, "ask is together or separately, not 'bogus'"),
        ({"responses": "some"}, "responses is all or last, not 'some'"),
        ({"filter": "Harbor"}, "a filter looks like system=NAME"),
    ],
)
def test_names_that_nothing_has_are_refused(given: dict[str, str], message: str):
    with pytest.raises(InputError, match=message):
        Settings(judges="signals", **given).prepare()


def test_conversations_can_be_chosen(tmp_path: Path):
    talks = [talk(("Hello.", "Hi."), id=f"c{n}", system="Harbor" if n % 2 else "Lumen") for n in range(8)]

    def judged(**chosen: Any) -> list[str]:
        place = tmp_path / f"{len(list(tmp_path.iterdir()))}.study.db"
        attunement.judge(talks, place, judges="signals", items=["CQ9"], **chosen)
        return [str(entry.conversation.identity) for entry in attunement.scorecards(place)]

    assert judged(filter="system=Harbor", limit=2) == ["Harbor/c1", "Harbor/c3"]
    assert judged(filter=["system=Harbor", "id=c5"]) == ["Harbor/c5"]
    assert len(judged(sample=3, seed=1)) == 3

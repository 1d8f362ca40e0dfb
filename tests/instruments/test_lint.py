from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attunement.errors import InstrumentError
from attunement.instruments import available, load
from attunement.instruments.lint import Level, Problem, checked, lint, tells_consequence
from tests.instruments.samples import criteria, instrument, scores, write

Change = Callable[[dict[str, Any]], object]


def problems(plain: dict[str, Any], change: Change) -> list[Problem]:
    change(plain)
    return lint(instrument(plain))


def item(plain: dict[str, Any], number: int = 0) -> dict[str, Any]:
    return plain["items"][number]


@pytest.mark.parametrize("plain", [criteria(), scores()])
def test_a_complete_instrument_has_no_problem(plain: dict[str, Any]):
    assert lint(instrument(plain)) == []


@pytest.mark.parametrize("id", [entry.id for entry in available() if entry.built_in])
def test_the_built_in_instruments_have_no_error_and_only_a_holistic_item_lacks_examples(id: str):
    found = lint(load(id))
    assert all(problem.level is Level.WARNING and "has no example" in problem.text for problem in found)
    assert all(load(id).item(problem.where).holistic for problem in found)


ERRORS: list[tuple[dict[str, Any], Change, str]] = [
    (scores(), lambda p: p.update(title=" "), "title is empty"),
    (scores(), lambda p: p.update(items=[]), "items is empty"),
    (scores(), lambda p: p["scale"].update(highest=1), "scale goes from 1 to 1"),
    (scores(), lambda p: p["scale"].update(highest=10**12), "scale goes from 1 to 1000000000000"),
    (scores(), lambda p: p["items"].append(item(p)), "clarity is the id of 2 items"),
    (scores(), lambda p: item(p).update(title=""), "clarity has no title"),
    (scores(), lambda p: item(p).update(definition="\n "), "clarity has no definition"),
    (scores(), lambda p: item(p)["anchors"].pop("2"), "clarity has no anchor for 2;"),
    (scores(), lambda p: item(p)["anchors"]["2"].update(text=" "), "clarity has no anchor for 2;"),
    (scores(), lambda p: item(p).update(anchors={}), "clarity has no anchor for 1 and 2 and 3;"),
    (scores(), lambda p: item(p)["anchors"].update({4: {"text": "Better still."}}), "clarity has an anchor for 4"),
    (scores(), lambda p: item(p).update(meanings={"YES": "It is."}), "clarity has `meanings`"),
    (scores(), lambda p: item(p)["boundaries"][0].update(between=[3, 4]), "clarity has a boundary between 3 and 4"),
    (scores(), lambda p: item(p)["boundaries"][0].update(between=[3, 2]), "clarity has a boundary between 3 and 2"),
    (scores(), lambda p: item(p).update(examples=[]), "clarity has no example"),
    (scores(), lambda p: item(p)["examples"][1].update(answer=4), "clarity, example 2 has the answer 4"),
    (scores(), lambda p: item(p)["examples"][0].update(answer="3"), "clarity, example 1 has the answer '3'"),
    (scores(), lambda p: item(p)["examples"][0].update(turns=[]), "clarity, example 1 has no reply"),
    (scores(), lambda p: p.update(gate=[{"item": "clarity"}]), "gate, clarity does not say which score fails"),
    (scores(), lambda p: p.update(gate=[{"item": "clarity", "fails_at": 0}]), "gate, clarity fails at 0"),
    (scores(), lambda p: p.update(gate=[{"item": "clarity", "fails_at": 3}]), "gate, clarity fails at 3"),
    (scores(), lambda p: p["scoring"].update(weights={"x": 1.0}), "scoring has weights, but only criteria"),
    (criteria(), lambda p: item(p)["meanings"].pop("NO"), "ASK does not say what NO means"),
    (criteria(), lambda p: item(p)["meanings"].pop("NA"), "ASK does not say what NA means"),
    (criteria(), lambda p: item(p).update(anchors={1: {"text": "x"}}), "ASK has `anchors`"),
    (criteria(), lambda p: item(p).update(boundaries=[{"between": [1, 2], "text": "x"}]), "ASK has a boundary"),
    (criteria(), lambda p: item(p, 1)["meanings"].update(NA="Nothing is said."), "ROLE says what NA means although"),
    (criteria(), lambda p: item(p, 1)["examples"][0].update(answer="NA"), "ROLE, example 1 has the answer NA"),
    (criteria(), lambda p: item(p)["examples"][0].update(answer="Yes"), "ASK, example 1 has the answer 'Yes'"),
    (criteria(), lambda p: item(p).update(category="warmth"), "ASK has the category 'warmth', which has no title"),
    (criteria(), lambda p: item(p).update(category=None), "ASK has no category"),
    (criteria(), lambda p: p["scoring"].update(weights={}), "scoring has a threshold but no weights"),
    (criteria(), lambda p: p["scoring"]["weights"].update(contact=0.9), "scoring has weights that add up to 0.9"),
    (criteria(), lambda p: p["scoring"]["weights"].update(calm=0.0), "scoring gives a weight to 'calm'"),
    (criteria(), lambda p: p["scoring"]["weights"].update(safety=-0.0), "scoring gives 'safety' the weight -0"),
    (criteria(), lambda p: p.update(gate=[]), "scoring gives no weight to 'safety'"),
    (criteria(), lambda p: p["gate"].append({"item": "CQ8"}), "gate names 'CQ8', but there is no such item"),
    (criteria(), lambda p: p["gate"].append({"item": "ROLE"}), "gate names 'ROLE' 2 times"),
    (criteria(), lambda p: p["gate"][0].update(fails_at=1), "gate, ROLE has `fails_at`"),
    (criteria(), lambda p: p["prompt"].update(user="Go."), "prompt never names {conversation}"),
    (criteria(), lambda p: p["prompt"].update(system="Judge."), "prompt never names {criterion_prompt}"),
]


@pytest.mark.parametrize(("plain", "change", "said"), ERRORS, ids=[said for _, _, said in ERRORS])
def test_a_fault_is_found_where_it_is(plain: dict[str, Any], change: Change, said: str):
    found = problems(plain, change)
    assert [problem.level for problem in found if str(problem).startswith(said)] == [Level.ERROR]


WARNINGS: list[tuple[dict[str, Any], Change, str]] = [
    (scores(), lambda p: item(p, 1).update(holistic=True, examples=[]), "choice has no example"),
    (scores(), lambda p: item(p).update(prompt="Rate it.", examples=[]), "clarity has no example"),
    (scores(), lambda p: item(p).update(prompt="Rate it.", anchors={}), "clarity has no anchor for 1 and 2 and 3"),
    (scores(), lambda p: item(p).update(holistic=True), "clarity judges the whole but is not asked last"),
    (criteria(), lambda p: item(p).update(prompt="Judge it.", meanings={}), "ASK does not say what YES and NO and NA"),
    (criteria(), lambda p: p["categories"].update(calm="Calm"), "categories, calm holds no item"),
    (criteria(), lambda p: p["prompt"].update(user="{conversation} {tone}"), "prompt names {tone}, which nothing"),
    (criteria(), lambda p: p.update(guidance=["A NO trips the gate."]), "guidance tells the judge"),
    (criteria(), lambda p: item(p, 1)["meanings"].update(NO="It is rejected: the reply is rejected."), "ROLE tells"),
]


@pytest.mark.parametrize(("plain", "change", "said"), WARNINGS, ids=[said for _, _, said in WARNINGS])
def test_what_is_only_doubtful_is_a_warning(plain: dict[str, Any], change: Change, said: str):
    found = problems(plain, change)
    assert [str(problem).startswith(said) for problem in found] == [True]
    assert found[0].level is Level.WARNING


CRISIS = {"kind": "crisis_needs_resources", "item": "choice", "from_score": 3, "text": "x"}
HARM = {"kind": "harmful_advice", "limits": {"clarity": 1, "choice": 2}, "text": "x", "notice": "y"}
CUE = {"kind": "crisis_cue_but_na", "item": "ASK", "text": "x"}


@pytest.mark.parametrize(
    ("plain", "rule", "said"),
    [
        (scores(), CRISIS | {"item": "calm"}, "names 'calm', but there is no such item"),
        (scores(), CRISIS | {"from_score": 4}, "names the score 4"),
        (scores(), HARM | {"limits": {"clarity": 1, "calm": 2}}, "names 'calm'"),
        (scores(), HARM | {"limits": {"clarity": 0}}, "names the score 0"),
        (scores(), CUE | {"item": "clarity"}, "is about the answer NA"),
        (criteria(), CUE | {"item": "CQ9"}, "names 'CQ9'"),
        (criteria(), CUE | {"item": "ROLE"}, "is about NA, which is not valid for ROLE"),
        (criteria(), HARM | {"limits": {"ASK": 1}}, "is about scores"),
    ],
)
def test_a_rule_that_cannot_apply_is_an_error(plain: dict[str, Any], rule: dict[str, Any], said: str):
    found = lint(instrument(plain | {"rules": [rule]}))
    assert [problem.level for problem in found] == [Level.ERROR]
    assert str(found[0]).startswith(f"rule 1 ({rule['kind']}) {said}")


@pytest.mark.parametrize(("plain", "rule"), [(scores(), CRISIS), (scores(), HARM), (criteria(), CUE)])
def test_a_rule_that_can_apply_is_fine(plain: dict[str, Any], rule: dict[str, Any]):
    assert lint(instrument(plain | {"rules": [rule]})) == []


def test_weights_may_be_written_as_decimals_that_floats_cannot_hold():
    plain = criteria(categories={"contact": "a", "calm": "b", "safety": "c"})
    plain["items"].append(plain["items"][0] | {"id": "CALM", "category": "calm"})
    plain["scoring"]["weights"] = {"contact": 0.7, "calm": 0.1 + 0.2}
    assert lint(instrument(plain)) == []


@pytest.mark.parametrize(
    ("one", "other", "level"),
    [
        ("Names the feeling.", "names  a feeling", Level.ERROR),
        (
            "The reply names one feeling and ties it to what the person said about work.",
            "The reply names one feeling and ties it to what the person told about work.",
            Level.WARNING,
        ),
        ("Names no feeling.", "Names one feeling.", None),
    ],
)
def test_levels_that_repeat_each_other_are_found(one: str, other: str, level: Level | None):
    plain = scores()
    item(plain)["anchors"]["1"]["text"] = one
    item(plain)["anchors"]["3"]["text"] = other
    found = lint(instrument(plain))
    assert [problem.level for problem in found] == ([level] if level else [])
    assert all("the same for 1 and 3" in problem.text for problem in found)


def test_yes_and_no_that_say_the_same_are_an_error():
    found = problems(criteria(), lambda p: item(p)["meanings"].update(NO=item(p)["meanings"]["YES"]))
    assert [(problem.level, problem.where) for problem in found] == [(Level.ERROR, "ASK")]
    assert "says the same for YES and NO" in found[0].text


@pytest.mark.parametrize(
    "definition",
    [
        "Does the assistant notice the feeling and suggest a next step?",
        "The assistant names the feeling or offers help.",
        "The assistant is warm and never lectures.",
        "Is the reply short, and does it stay on the topic?",
        "Does it listen? Does it ask?",
        "Whether it kept the topic and came back and kept asking.",
    ],
)
def test_a_criterion_that_asks_two_things_is_a_warning_until_it_says_how_they_combine(definition: str):
    def ask(plain: dict[str, Any]) -> None:
        item(plain)["definition"] = definition

    found = problems(criteria(), ask)
    assert [(problem.level, problem.where) for problem in found] == [(Level.WARNING, "ASK")]
    assert "two things" in found[0].text
    plain = criteria()
    item(plain)["edge_cases"] = ["Both are needed."]
    assert problems(plain, ask) == []


@pytest.mark.parametrize(
    "definition",
    [
        "Does the assistant respond to fear and sadness in the person's words?",
        "Does it offer support and help?",
        "Does it return to the topic or the question of the first turn?",
    ],
)
def test_one_question_about_several_things_is_no_double_question(definition: str):
    assert problems(criteria(), lambda p: item(p).update(definition=definition)) == []


def test_a_dimension_may_name_several_sides_of_one_score():
    definition = "How far does the reply accept the feeling and does so warmly?"
    assert problems(scores(), lambda p: item(p).update(definition=definition)) == []


@pytest.mark.parametrize(
    "text",
    [
        "The criterion has a weight of 0.3.",
        "It goes into the weighted score.",
        "The passing threshold is high.",
        "A threshold of 0.8 applies.",
        "A NO triggers the gate.",
        "This is part of the safety\n  gate.",
        "That is an automatic rejection.",
        "The conversation is rejected then.",
        "An NA is treated as a failure.",
        "The bot will fail.",
    ],
)
def test_text_that_tells_what_an_answer_leads_to_is_noticed(text: str):
    assert tells_consequence(text)


@pytest.mark.parametrize(
    "text",
    [
        "Give each topic the weight it has for the person.",
        "The person fears rejection and feels rejected.",
        "The overall score is a judgement of its own.",
        "She opened the gate to her garden of memories.",
        "The pain is below the threshold of what they can bear.",
        "It fails when most replies open alike.",
    ],
)
def test_ordinary_words_are_no_consequence(text: str):
    assert tells_consequence(text) is None


@settings(deadline=None)
@given(missing=st.sets(st.sampled_from([1, 2, 3]), min_size=1))
def test_each_missing_anchor_is_named(missing: set[int]):
    plain = scores()
    for score in missing:
        del item(plain, 1)["anchors"][str(score)]
    (found,) = lint(instrument(plain))
    assert found.where == "choice"
    assert all((str(score) in found.text) == (score in missing) for score in (1, 2, 3))


@settings(deadline=None)
@given(answer=st.one_of(st.integers(), st.text(max_size=5)), invalid=st.booleans())
def test_an_example_is_accepted_only_with_an_answer_that_a_rater_could_give(answer: int | str, invalid: bool):
    plain = criteria()
    number = 1 if invalid else 0
    item(plain, number)["examples"][0]["answer"] = answer
    allowed = {"YES", "NO"} if invalid else {"YES", "NO", "NA"}
    assert (lint(instrument(plain)) == []) == (answer in allowed)


def test_an_unfinished_file_can_be_opened_and_every_gap_is_listed():
    bare = {
        "id": "draft",
        "version": "0",
        "title": "",
        "unit": "conversation",
        "scale": {"kind": "criteria"},
        "items": [{"id": "A", "title": ""}, {"id": "A", "title": "x"}],
        "prompt": {"system": "", "user": ""},
    }
    found = lint(instrument(bare))
    assert {problem.where for problem in found} == {"title", "A", "prompt"}
    assert len(found) == 11
    assert all("\n" not in str(problem) and not str(problem).endswith(".") for problem in found)


def test_an_instrument_without_errors_can_be_used_even_with_warnings(tmp_path: Path):
    plain = scores()
    item(plain)["holistic"] = True
    path = write(tmp_path / "mine.yaml", plain)
    assert lint(load(path))
    assert checked(path) == load(path)


def test_an_instrument_with_errors_is_refused_with_the_first_and_their_number(tmp_path: Path):
    plain = criteria(title="", gate=[{"item": "CQ8"}])
    path = write(tmp_path / "mine.yaml", plain)
    with pytest.raises(InstrumentError, match=r"my-instrument cannot be used, it has 3 errors; the first: title"):
        checked(path)

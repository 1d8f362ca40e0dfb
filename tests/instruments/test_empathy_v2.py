"""Does the built-in instrument `empathy-v2` carry the empathy rubric whole, in our own words?"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from attunement.conversations import UnitKind
from attunement.instruments import Instrument, available, load, load_file

EMPATHY = load("empathy-v2")
FIXED_WORDS = {"kind", "unit", "ask"}  # only certain words are allowed there; another one would not load
DIMENSIONS = ("emotion", "validation", "helpfulness", "safety")


def words(text: str) -> list[str]:
    return re.findall(r"[a-z0-9']+", text.lower().replace("’", "'"))


def texts(content: Any) -> Iterator[str]:
    """Every string in plain data."""
    if isinstance(content, str):
        yield content
    elif isinstance(content, dict | list):
        for value in content.values() if isinstance(content, dict) else content:
            yield from texts(value)


def places(content: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to every string in plain data."""
    if isinstance(content, str):
        yield way
    elif isinstance(content, dict | list):
        for step, value in content.items() if isinstance(content, dict) else enumerate(content):
            yield from places(value, (*way, step))


def written() -> Any:
    """The file's content as plain data, read anew each time."""
    (path,) = [entry.path for entry in available() if entry.id == "empathy-v2"]
    return yaml.safe_load(path.read_text("utf-8"))


def read_by_a_judge() -> str:
    """All text that can reach a judge: the prompt, the guidance, and the items without their validity."""
    content = written()
    return "\n".join(texts([content["prompt"], content["guidance"], content["items"]]))


def test_it_asks_four_dimensions_and_overall_last_about_single_replies() -> None:
    assert [item.id for item in EMPATHY.items] == [*DIMENSIONS, "overall"]
    assert [item.id for item in EMPATHY.items if item.holistic] == ["overall"]
    assert EMPATHY.unit is UnitKind.RESPONSE
    assert EMPATHY.scale.answers == (1, 2, 3, 4, 5)


@pytest.mark.parametrize("item", EMPATHY.items, ids=lambda item: item.id)
def test_every_item_describes_all_five_levels_differently(item: Any) -> None:
    assert sorted(item.anchors) == [1, 2, 3, 4, 5]
    assert len({anchor.text for anchor in item.anchors.values()}) == 5


def test_levels_of_the_four_dimensions_have_labels_and_those_of_overall_have_none() -> None:
    labels = {1: "Poor", 2: "Below average", 3: "Adequate", 4: "Good", 5: "Excellent"}
    for id in DIMENSIONS:
        assert {level: anchor.label for level, anchor in EMPATHY.item(id).anchors.items()} == labels
    assert {anchor.label for anchor in EMPATHY.item("overall").anchors.values()} == {None}


@pytest.mark.parametrize(
    ("id", "level", "said"),
    [
        ("emotion", 1, "ignores .* wrong"),
        ("emotion", 2, "misses the main feeling.* stock phrases"),
        ("emotion", 3, "general mood.* miss further"),
        ("emotion", 4, "main feeling right.* at least one specific feeling is named"),
        ("emotion", 5, "accurate and specific.* secondary"),
        ("validation", 1, "dismisses or minimises.* lecture, blame or preach.* cold"),
        ("validation", 2, "formulaic.* advice too quickly"),
        ("validation", 3, "surface.* lacks genuine warmth"),
        ("validation", 4, "some warmth .* specific"),
        ("validation", 5, "heartfelt.* understood.* natural"),
        ("helpfulness", 1, "platitudes.* irrelevant.* nothing at all"),
        ("helpfulness", 2, "too generally .* off the point.* without any empathy"),
        ("helpfulness", 3, "vague"),
        ("helpfulness", 4, "one concrete step"),
        ("helpfulness", 5, "practical.* tailored.* carry out"),
        ("safety", 1, "dangerous.* prescribed medicine.* promises.* crisis"),
        ("safety", 2, "overconfident.* diagnosis.* overlooks"),
        ("safety", 3, "nothing clearly harmful.* not bring up"),
        ("safety", 4, "suggests professional help"),
        ("safety", 5, "on its own.* cannot do.* no promised outcome, no diagnosis.* crisis resources"),
        ("overall", 1, "harmful.* unhelpful"),
        ("overall", 2, "several of the four"),
        ("overall", 3, "acceptable.* not harmful"),
        ("overall", 4, "genuine"),
        ("overall", 5, "model"),
    ],
)
def test_a_level_says_what_the_rubric_says_of_it(id: str, level: int, said: str) -> None:
    assert re.search(said, EMPATHY.item(id).anchors[level].text.lower())


@pytest.mark.parametrize(
    ("id", "between", "said"),
    [
        ("emotion", (1, 2), "nothing .* emotional side.* misses the point"),
        ("emotion", (3, 4), "fit anybody.* named specifically"),
        ("emotion", None, "need not be named"),
        ("validation", (1, 2), "dismisses .* blames .* lectures .* formulaic"),
        ("validation", (3, 4), "fit anyone.* own situation"),
        ("validation", None, "normal response.* not to give advice.* normalising"),
        ("helpfulness", (1, 2), "no guidance.* misses the point or comes without empathy"),
        ("helpfulness", (3, 4), "perhaps talk to somebody.* who and how"),
        ("helpfulness", None, "grief.* warm reply without advice can still get 3.* not how much"),
        ("helpfulness", None, "could harm .* gets 1 here.* safety score"),
        ("safety", (1, 2), "dangerous.* not address a crisis.* careless"),
        ("safety", (3, 4), "passive.* at least once"),
        (
            "safety",
            None,
            "crisis rule.* suicide.* self-harm.* active danger.* only .* crisis resources.* 4 or 5",
        ),
        ("safety", None, "safe default.* mild .* harmless, 3"),
        ("overall", None, "holistic.* not the mean"),
    ],
)
def test_a_boundary_rule_of_the_rubric_is_there(id: str, between: tuple[int, int] | None, said: str) -> None:
    rules = [rule.text.lower() for rule in EMPATHY.item(id).boundaries if rule.between == between]
    assert any(re.search(said, text) for text in rules)


def test_there_are_no_boundary_rules_beyond_the_rubric() -> None:
    assert {item.id: len(item.boundaries) for item in EMPATHY.items} == {
        "emotion": 3, "validation": 3, "helpfulness": 4, "safety": 4, "overall": 1
    }  # fmt: skip


@pytest.mark.parametrize(
    ("id", "levels", "borderline"),
    [
        ("emotion", [5, 3, 1], [3]),
        ("validation", [5, 2, 1], [2]),
        ("helpfulness", [5, 3, 1], [3]),
        ("safety", [5, 3, 1], [3]),
        ("overall", [], []),
    ],
)
def test_worked_examples_stand_at_the_levels_of_the_rubric(id: str, levels: list[int], borderline: list[int]) -> None:
    examples = EMPATHY.item(id).examples
    assert [example.answer for example in examples] == levels
    assert [example.answer for example in examples if example.kind == "borderline"] == borderline
    assert all(example.why and example.turns for example in examples)


@pytest.mark.parametrize("id", DIMENSIONS)
def test_the_reasons_of_worked_examples_quote_them_and_keep_to_the_limit_a_judge_has(id: str) -> None:
    for example in EMPATHY.item(id).examples:
        said = "\n".join(f"{turn.user}\n{turn.assistant}" for turn in example.turns)
        # A quote opens after a space; an apostrophe inside a word does not.
        quotes = re.findall(r"(?<= )'((?:[^']|(?<=\w)'(?=\w))+)'", example.why)
        assert quotes
        assert [quote for quote in quotes if quote not in said] == []
        assert example.why.startswith("Turn 1: '")
        assert len(example.why) <= EMPATHY.prompt.reasoning_limit


def test_the_example_of_a_handled_crisis_keeps_the_crisis_rule() -> None:
    best = EMPATHY.item("safety").examples[0]
    assert "988" in best.turns[0].assistant
    assert "emergency" in best.turns[0].assistant


def test_it_has_no_pass_mark_and_no_weights_but_flags_unsafe_replies() -> None:
    assert EMPATHY.scoring.weights == {}
    assert EMPATHY.scoring.threshold is None
    assert [(entry.item, entry.fails_at) for entry in EMPATHY.gate] == [("safety", 2)]


def test_rules_are_declared_and_explained() -> None:
    crisis, harm = EMPATHY.rules
    assert (crisis.kind, crisis.item, crisis.from_score) == ("crisis_needs_resources", "safety", 4)
    assert (harm.kind, harm.limits) == ("harmful_advice", {"helpfulness": 1, "safety": 2})
    assert re.search("suicide or self-harm.* names no crisis line", crisis.text)
    assert re.search("1 for helpfulness and at most 2 for safety", harm.text)
    assert re.search("harmful advice, or .* miss a crisis", harm.notice)


def test_nothing_claims_agreement_with_people_that_was_not_measured() -> None:
    assert not any(item.validity.findings for item in EMPATHY.items)


def test_the_reader_is_told_how_it_differs_from_the_coaching_instrument() -> None:
    assert any("coaching-v1" in note and "deliberately" in note for note in EMPATHY.notes)


@pytest.mark.parametrize(
    "word",
    ["weight", "weights", "weighted", "gate", "threshold", "pass", "fail", "fails", "reject", "rejected", "rejection",
     "flag", "flagged", "verdict", "consequence", "consequences", "cutoff", "contested"],
)  # fmt: skip
def test_a_judge_never_reads_what_a_score_leads_to(word: str) -> None:
    assert word not in words(read_by_a_judge())


def test_prompt_asks_for_all_scores_at_once_with_the_reasoning_before_each() -> None:
    prompt = EMPATHY.prompt
    assert (prompt.ask, prompt.reasoning_limit) == ("together", 300)
    assert re.findall(r"\{(\w+)\}", prompt.system) == ["reply_format", "criterion_prompt"]
    assert re.findall(r"\{(\w+)\}", prompt.user) == ["conversation"]
    for said in (
        "ONLY the marked reply",
        "EVIDENCE FIRST",
        "reasoning before its score",
        "the rubric exactly",
    ):
        assert said in prompt.system


@pytest.mark.parametrize("document", ["rubric-v2.md", "assessor-template.md"])
def test_no_eight_words_in_a_row_are_those_of_the_source(shared_data: Path, document: str) -> None:
    source = shared_data.parent / "seeds" / document
    if not source.is_file():
        pytest.skip(f"{source} is absent")

    def runs(text: str) -> set[tuple[str, ...]]:
        row = words(text)
        return {tuple(row[start : start + 8]) for start in range(len(row) - 7)}

    ours = set[tuple[str, ...]]().union(*(runs(text) for text in texts(written())))
    assert ours & runs(source.read_text("utf-8")) == set()


@pytest.mark.parametrize("style", [{"default_flow_style": True}, {"indent": 6, "width": 40}, {"sort_keys": False}])
def test_hash_is_the_same_in_another_yaml_style(tmp_path: Path, style: dict[str, Any]) -> None:
    other = tmp_path / "other.yaml"
    other.write_text("# a comment\n" + yaml.safe_dump(written(), **style), "utf-8")
    assert load_file(other).hash == EMPATHY.hash


@given(st.data())
def test_hash_changes_with_any_word(data: st.DataObject) -> None:
    content = written()
    *way, last = data.draw(st.sampled_from([place for place in places(content) if place[-1] not in FIXED_WORDS]))
    parent: Any = content
    for step in way:
        parent = parent[step]
    row = parent[last].split(" ")
    position = data.draw(st.integers(0, len(row) - 1))
    row[position] += "s"
    parent[last] = " ".join(row)
    assert Instrument.model_validate(content).hash != EMPATHY.hash

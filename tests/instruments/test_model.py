import random
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from attunement.errors import InstrumentError
from attunement.instruments import Instrument, available, load, load_file
from attunement.instruments.model import Criteria, Scores
from tests.instruments.samples import criteria, instrument, scores

INSTRUMENTS = [instrument(criteria()), instrument(scores()), *(load(e.id) for e in available() if e.built_in)]
ANY = st.sampled_from(INSTRUMENTS)
SMALL = st.sampled_from(INSTRUMENTS[:2])  # the large ones take long to write and read again
ORDER = st.integers(0, 2**32).map(random.Random)

Path_ = tuple[str | int, ...]


def texts(value: Any, path: Path_ = ()) -> Iterator[Path_]:
    """Where texts stand in plain data."""
    if isinstance(value, str):
        yield path
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from texts(inner, (*path, key))
    elif isinstance(value, list):
        for position, inner in enumerate(value):
            yield from texts(inner, (*path, position))


def is_free_text(path: Path_) -> bool:
    """Whether a rater or reader may find any words there; the others are ids or one of a few fixed words."""
    return path[-1] not in {"id", "kind", "answer", "unit", "na", "ask", "statistics", "category"} and not (
        path[0] in {"gate", "rules"} and path[-1] == "item"
    )


def reworded(made: Instrument, path: Path_) -> Instrument:
    """The instrument with one more letter in one place."""
    content = made.canonical()
    place = content
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] += "x"
    return Instrument.model_validate(content)


def shuffled(value: Any, order: random.Random) -> Any:
    if isinstance(value, dict):
        keys = list(value)
        order.shuffle(keys)
        return {key: shuffled(value[key], order) for key in keys}
    return [shuffled(inner, order) for inner in value] if isinstance(value, list) else value


@settings(deadline=None)
@given(
    made=SMALL,
    order=ORDER,
    flow=st.booleans(),
    style=st.sampled_from([None, '"', "'", "|"]),
    width=st.integers(20, 400),
    indent=st.integers(2, 9),
    explicit=st.booleans(),
)
def test_layout_comments_and_the_order_of_keys_change_no_hash(
    made: Instrument,
    order: random.Random,
    flow: bool,
    style: str | None,
    width: int,
    indent: int,
    explicit: bool,
):
    # Keys are quoted with the values in some styles, and what equals a default may be written out.
    content = made.model_dump(mode="json") if explicit else made.canonical()
    text = yaml.safe_dump(
        shuffled(content, order),
        sort_keys=False,
        allow_unicode=True,
        default_flow_style=flow,
        default_style=None if flow else style,
        width=width,
        indent=indent,
    )
    if not flow and style is None:
        text = re.sub(r"(?m)^(?=\w+:)", "\n# a remark\n", text)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "same.yaml"
        path.write_text(f"# a remark\n---\n{text}", "utf-8")
        again = load_file(path)
    assert again.hash == made.hash
    assert again.item_hashes == made.item_hashes


@settings(deadline=None)
@given(made=ANY, choice=ORDER)
def test_any_word_changes_the_hash_of_the_instrument(made: Instrument, choice: random.Random):
    path = choice.choice([path for path in texts(made.canonical()) if is_free_text(path)])
    assert reworded(made, path).hash != made.hash


@settings(deadline=None)
@given(made=ANY, choice=ORDER)
def test_any_word_of_an_item_changes_its_hash_and_no_other_items(made: Instrument, choice: random.Random):
    places = [path for path in texts(made.canonical()) if path[0] == "items" and is_free_text(path)]
    path = choice.choice([path for path in places if path[2] != "validity"])
    changed = reworded(made, path).item_hashes
    id = made.items[int(path[1])].id
    assert {other for other in changed if changed[other] != made.item_hashes[other]} == {id}


@settings(deadline=None)
@given(
    made=ANY,
    weight=st.floats(0.01, 100).filter(lambda weight: weight != 1),
    turns=st.integers(1, 100),
    words=st.text(st.characters(exclude_categories=["Cs"])),
)
def test_what_no_rater_reads_leaves_the_hashes_of_items_alone(made: Instrument, weight: float, turns: int, words: str):
    content = made.canonical()
    content["notes"] = [words]
    for item in content["items"]:
        item["weight"], item["minimum_turns"] = weight, turns
        item["validity"] = {"contested": words, "findings": [{"text": words, "source": words}]}
    content["scoring"] = {"weights": {"x": 1.0}, "threshold": 0.5}
    changed = Instrument.model_validate(content)
    assert changed.item_hashes == made.item_hashes
    assert changed.hash != made.hash


@pytest.mark.parametrize("change", [{"scale": {"kind": "scores", "lowest": 1, "highest": 4}}, {"gate": []}])
def test_scale_and_gate_are_part_of_the_hash(change: dict[str, Any]):
    plain = scores(gate=[{"item": "choice", "fails_at": 1}])
    assert instrument(plain | change).hash != instrument(plain).hash


def test_the_same_words_on_another_scale_are_another_item():
    item = instrument(criteria()).items[0]
    hashes = {item.hash(scale) for scale in (Criteria(kind="criteria"), Scores(kind="scores"))}
    assert len(hashes) == 2


def test_hashes_are_the_same_on_every_machine_and_in_every_release():
    # If this fails, every rating in every study loses its link to what was asked: say so in the changelog.
    plain = {
        "id": "tiny",
        "version": "1",
        "title": "Größe",
        "unit": "response",
        "scale": {"kind": "criteria"},
        "items": [{"id": "A", "title": "a", "meanings": {"YES": "y", "NO": "n"}, "na_valid": False}],
        "prompt": {"system": "{criterion_prompt}", "user": "{conversation}"},
    }
    made = instrument(plain)
    assert made.hash == "a75a16a18667d26f8d4dcffe623e2b6e8259bbc10e4ca71ad24b0e8e43cc7cde"
    assert made.items[0].hash(made.scale) == "f0339e4352e2eec19c45f09329034a83355368f7be248ab3c908c90e4dcd96a0"


@pytest.mark.parametrize("made", INSTRUMENTS, ids=lambda made: made.id)
def test_the_canonical_content_makes_the_same_instrument_again(made: Instrument):
    assert Instrument.model_validate(made.canonical()) == made


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"colour": "red"}, "colour"),
        ({"id": "Has Spaces"}, "id"),
        ({"id": ""}, "id"),
        ({"unit": "turn"}, "unit"),
        ({"scale": {}}, "scale"),
        ({"scale": {"kind": "criteria", "lowest": 1}}, "lowest"),
        ({"items": [{"id": "1A", "title": "x"}]}, "items"),
        ({"items": [{"id": "A"}]}, "title"),
        ({"items": [{"id": "A", "title": "x", "weight": 0}]}, "weight"),
        ({"items": [{"id": "A", "title": "x", "examples": [{"answer": True, "turns": []}]}]}, "answer"),
        ({"items": [{"id": "A", "title": "x", "meanings": {"MAYBE": "x"}}]}, "meanings"),
        ({"scoring": {"threshold": 80}}, "threshold"),
        ({"scoring": {"na": "ignore"}}, "na"),
        ({"rules": [{"kind": "guess"}]}, "rules"),
    ],
)
def test_unknown_keys_and_wrong_values_are_refused(change: dict[str, Any], said: str):
    with pytest.raises(ValidationError, match=said):
        instrument(criteria(**change))


def test_nothing_changes_after_loading():
    made = instrument(criteria())
    with pytest.raises(ValidationError, match="frozen"):
        made.items[0].title = "Other"  # pyright: ignore[reportAttributeAccessIssue]


def test_an_item_is_found_by_its_id():
    made = instrument(criteria())
    assert made.item("ROLE") is made.items[1]
    with pytest.raises(InstrumentError, match="my-instrument has no item 'role'; it has ASK, ROLE"):
        made.item("role")


def test_answers_are_those_of_the_scale():
    assert instrument(criteria()).scale.answers == ("YES", "NO", "NA")
    assert instrument(scores()).scale.answers == (1, 2, 3)

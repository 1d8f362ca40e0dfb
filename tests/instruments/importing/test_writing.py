from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from attunement.conversations import UnitKind
from attunement.instruments import (
    Anchor,
    Boundary,
    Criteria,
    Example,
    Instrument,
    Item,
    NaPolicy,
    Prompt,
    Scores,
    Scoring,
    Validity,
    load,
    load_file,
)
from attunement.instruments.loader import to_yaml
from attunement.instruments.model import CrisisNeedsResources, Finding, GateItem, HarmfulAdvice, Message

NASTY = [
    *("", " ", "\n", "\n\n", "\t", "\r", "\r\n", "\x00", "\x1b", "\x7f", "\x85", "\xa0", "\u2028", "\u2029", "\ufeff"),
    *("- a", "a: b", "a #b", "# c", "'", '"', "\\", "|", ">", "%", "@", "`", "&", "*", "!", "?", "---", "...", "{x}"),
    *("YES", "no", "null", "~", "1", "1.0", "1e3", "2026-02-18", "0x1", "=", "<<", "[", "é", "â†’", "שלום", "😀"),
    *("\uffff", "\U0010ffff", "word ", "  indented", "a" * 120),
]
texts = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"])),
    st.lists(st.sampled_from(NASTY), max_size=6).map("".join),
    st.lists(st.sampled_from(NASTY), max_size=6).map("\n".join),
)
ids = st.from_regex(r"[A-Za-z][A-Za-z0-9_.-]{0,8}", fullmatch=True)
shares = st.floats(min_value=1e-9, max_value=1e9)
wholes = st.integers(-(2**31), 2**31)
values = st.one_of(st.integers(-9, 99), texts)


def models(model: type[Any], **parts: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Instances with any of these parts given and the others left at their defaults."""
    required = {name: part for name, part in parts.items() if model.model_fields[name].is_required()}
    optional = {name: part for name, part in parts.items() if name not in required}
    return st.fixed_dictionaries(required, optional=optional).map(lambda chosen: model(**chosen))


def tuples(part: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.lists(part, max_size=2).map(tuple)


items = models(
    Item,
    id=ids,
    title=texts,
    definition=texts,
    anchors=st.dictionaries(st.integers(-3, 12), models(Anchor, label=texts, text=texts), max_size=2),
    meanings=st.dictionaries(st.sampled_from(["YES", "NO", "NA"]), texts),
    boundaries=tuples(models(Boundary, between=st.tuples(st.integers(1, 5), st.integers(1, 5)), text=texts)),
    examples=tuples(
        models(
            Example,
            answer=values,
            kind=st.sampled_from(["clear", "borderline"]),
            turns=tuples(models(Message, user=texts, assistant=texts)),
            why=texts,
        )
    ),
    edge_cases=tuples(texts),
    category=texts,
    weight=shares,
    na_valid=st.booleans(),
    na_note=texts,
    statistics=st.just("length"),
    prompt=texts,
    validity=models(Validity, findings=tuples(models(Finding, text=texts, source=texts)), contested=texts),
)
rules = st.one_of(
    models(CrisisNeedsResources, kind=st.just("crisis_needs_resources"), item=ids, from_score=wholes, text=texts),
    models(
        HarmfulAdvice,
        kind=st.just("harmful_advice"),
        limits=st.dictionaries(texts, wholes, max_size=2),
        text=texts,
        notice=texts,
    ),
)
instruments = models(
    Instrument,
    id=st.from_regex(r"[a-z0-9][a-z0-9._-]{0,12}", fullmatch=True),
    version=texts,
    title=texts,
    about=texts,
    source=tuples(texts),
    language=texts,
    unit=st.sampled_from(UnitKind),
    scale=st.one_of(
        st.just(Criteria(kind="criteria")), models(Scores, kind=st.just("scores"), lowest=wholes, highest=wholes)
    ),
    guidance=tuples(texts),
    notes=tuples(texts),
    categories=st.dictionaries(texts, texts, max_size=2),
    items=tuples(items),
    scoring=models(
        Scoring,
        weights=st.dictionaries(texts, shares, max_size=2),
        threshold=st.floats(0, 1),
        na=st.sampled_from(NaPolicy),
    ),
    gate=tuples(models(GateItem, item=ids, fails_at=wholes)),
    rules=tuples(rules),
    prompt=models(Prompt, system=texts, user=texts, ask=st.just("together"), reasoning_limit=st.integers(50, 9999)),
)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("yaml") / "instrument.yaml"


@settings(deadline=None)
@given(instrument=instruments)
def test_what_is_written_and_loaded_again_is_the_same_instrument(instrument: Instrument, file: Path) -> None:
    file.write_text(to_yaml(instrument, "schema.json"), "utf-8")
    again = load_file(file)
    assert again == instrument
    assert again.hash == instrument.hash


@settings(deadline=None)
@given(text=texts)
def test_any_yaml_reader_gets_the_text_to_the_character(text: str) -> None:
    instrument = _instrument(about=f"x{text}")
    assert yaml.safe_load(to_yaml(instrument, None))["about"] == f"x{text}"


@pytest.mark.parametrize("name", ["empathy-v2", "coaching-v1"])
def test_a_built_in_instrument_survives_being_written(name: str, file: Path) -> None:
    file.write_text(to_yaml(load(name), None), "utf-8")
    assert load_file(file).hash == load(name).hash


def test_the_schema_is_named_on_the_first_line_where_one_is_given() -> None:
    assert to_yaml(_instrument(), "../s.json").startswith("# yaml-language-server: $schema=../s.json\nid: a\n")
    assert to_yaml(_instrument(), None).startswith("id: a\n")


def test_text_of_several_lines_stands_in_the_file_as_it_is() -> None:
    text = "First: 'one'  \n\n\t- second \"two\" → # no comment\n  third"
    written = to_yaml(_instrument(about=text), None)
    assert "about: |-\n  First: 'one'  \n\n  \t- second \"two\" → # no comment\n    third\n" in written


def test_a_long_text_is_neither_folded_nor_escaped() -> None:
    text = 'It\'s "long": ' + "word " * 100 + "end"
    assert f"about: |-\n  {text}\n" in to_yaml(_instrument(about=text), None)


def test_keys_come_in_the_order_of_the_model_and_defaults_are_left_out() -> None:
    written = yaml.safe_load(to_yaml(_instrument(), None))
    assert list(written) == ["id", "version", "title", "about", "unit", "scale", "items", "prompt"]
    assert written["scale"] == {"kind": "scores", "lowest": 1, "highest": 5}
    assert written["items"] == [{"id": "i", "title": "t", "anchors": {3: {"text": "x"}}}]


def _instrument(about: str = "words") -> Instrument:
    return Instrument(
        id="a",
        version="1",
        title="t",
        about=about,
        unit=UnitKind.RESPONSE,
        scale=Scores(kind="scores"),
        items=(Item(id="i", title="t", anchors={3: Anchor(text="x")}),),
        prompt=Prompt(system="s", user="u"),
    )

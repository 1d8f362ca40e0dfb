import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attunement.conversations.names import any_of, folded


def found(names: list[str], text: str, *, any_case: bool = True) -> list[str]:
    return any_of(names, any_case=any_case).findall(text)


def test_names_are_found_as_whole_words_in_any_case():
    assert found(["Anna"], "Anna, ANNA and anna met Annabel and Joanna.") == ["Anna", "ANNA", "anna"]


def test_the_longest_of_several_names_wins():
    assert found(["Anna", "Anna Maria", "Maria"], "Anna Maria saw Anna and Maria") == ["Anna Maria", "Anna", "Maria"]


def test_a_name_may_be_broken_over_a_line():
    assert found(["Anna Maria"], "Anna\n  Maria") == ["Anna\n  Maria"]


@pytest.mark.parametrize("text", ["José", "JOSÉ", "Jose", unicodedata.normalize("NFD", "José")])
def test_accents_may_be_composed_decomposed_or_missing(text: str):
    assert found(["José"], f"I met {text} today") == [text]


def test_a_plain_name_is_not_found_in_an_accented_one():
    assert found(["Rene"], f"René {unicodedata.normalize('NFD', 'René')}") == []


@pytest.mark.parametrize("text", ["O'Brien", "O’Brien"])
def test_apostrophes_are_alike(text: str):
    assert found(["O'Brien"], f"{text}'s dog") == [text]


@pytest.mark.parametrize(("name", "text"), [("田中", "田中さんです"), ("민수", "민수가 왔다"), ("สมชาย", "คุณสมชายครับ")])
def test_names_are_found_inside_running_text_where_words_have_no_spaces(name: str, text: str):
    assert found([name], text) == [name]


def test_capital_letters_are_kept_where_case_matters():
    names = ["Open Arms", "SAMHSA"]
    assert found(names, "with open arms; Open arms; Open Arms; OPEN ARMS; Samhsa; SAMHSA", any_case=False) == [
        "Open Arms",
        "OPEN ARMS",
        "SAMHSA",
    ]


def test_blank_names_find_nothing():
    assert found(["", "  "], "any text") == []


@given(st.lists(st.text(alphabet=st.characters(codec="utf-8"), min_size=1).filter(str.strip), min_size=1), st.data())
def test_every_listed_name_is_found_where_it_stands_alone(names: list[str], data: st.DataObject):
    name = data.draw(st.sampled_from(names))
    assert any_of(names, any_case=True).fullmatch(" ".join(unicodedata.normalize("NFC", name).split()))


def test_what_is_found_folds_to_the_name_it_was_found_by():
    (match,) = re.finditer(any_of(["Suicide & Crisis Lifeline"], any_case=False), "the Suicide and  Crisis Lifeline")
    assert folded(match[0]) == folded("Suicide & Crisis Lifeline")


def test_a_thousand_names_are_found_in_a_long_text():
    names = [f"name{number}" for number in range(1000)]
    text = "word " * 20_000 + "name777"
    assert found(names, text) == ["name777"]

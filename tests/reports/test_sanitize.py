import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from attunement.reports.sanitize import MARKS, for_terminal, in_a_line, plain

ANY_TEXT = st.text(st.characters(exclude_categories=[]))  # control characters and lone surrogates as well


@given(ANY_TEXT)
def test_nothing_that_steers_a_terminal_is_left_and_every_place_stays_the_same(text):
    shown = for_terminal(text)
    assert len(shown) == len(text)
    assert all(unicodedata.category(sign) != "Cc" or sign == "\n" for sign in shown)
    shown.encode()  # no lone surrogates


@given(ANY_TEXT)
def test_the_signs_around_evidence_cannot_be_forged(text):
    assert not set(MARKS) & set(for_terminal(f"{text}{MARKS}"))


def test_ordinary_text_of_any_script_stays_as_it_is():
    text = "Ça va? – 日本語, עברית, 🙂 [red]no markup[/red]\nnext"
    assert for_terminal(text) == text


def test_breaks_of_other_systems_are_breaks_and_not_signs():
    assert for_terminal("a\r\nb\u2028c\td") == "a \nb\nc d"
    assert for_terminal("\x1b[31m\x9b\u202e") == "␛[31m\ufffd\ufffd"


def test_a_line_is_one_line_and_says_that_it_was_shortened():
    assert in_a_line("a\n\n b") == "a b"
    assert in_a_line("word " * 100, 12) == "word word w…"


def test_prose_has_no_entities_and_markup_has_no_effect():
    assert plain("p < 0.05, A & B, x > 1") == "p < 0.05, A & B, x > 1"
    assert plain("<b>&lt;</b> & <!-- <") == "&lt;b>&amp;lt;&lt;/b> & &lt;\\!-- &lt;"

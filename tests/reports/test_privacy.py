import pytest
from hypothesis import given
from hypothesis import strategies as st

from attunement.conversations.redaction import Redactor
from attunement.reports.privacy import Moved, Privacy, for_page

HIDING = Privacy(Redactor(["Anna", "Maria"]).redact_text)


@given(st.text())
def test_text_is_drawn_as_long_as_it_was_and_fits_a_file(text):
    made = for_page(text)
    assert len(made) == len(text)
    made.encode()
    assert "\x00" not in made


def test_letters_of_other_scripts_and_zero_width_signs_stay():
    for text in ("שלום עולם", "a\u200bb\u200d", "naïve 😀"):
        assert for_page(text) == text


def test_what_turns_a_line_around_is_replaced():
    assert for_page("\u202ecod.exe\u2066") == "\ufffdcod.exe\ufffd"


WORDS = st.sampled_from(["Anna", "Maria", "a@b.org", "+49 30 1234567", "hello", "there,", "my", "[name]"])


@given(st.lists(WORDS, max_size=10).map(" ".join))
def test_places_stay_in_order_and_within_the_redacted_text(text):
    moved = Moved(text, HIDING)
    places = [moved.place(at) for at in range(len(text) + 1)]
    assert places == sorted(places)
    assert places[0] == 0
    assert all(0 <= place <= len(moved.text) for place in places)


@pytest.mark.parametrize(
    ("text", "quote", "shown"),
    [
        ("Call Anna today, it will help.", "it will help", "it will help"),
        ("Write to a@b.org or to c@d.org, then rest.", "then rest", "then rest"),
        ("Ask Anna about it.", "Ask Anna", "Ask [name]"),
        ("Anna Maria said that you rest.", "you rest", "you rest"),
        ("Nothing to replace.", "to replace", "to replace"),
    ],
)
def test_quoted_words_are_found_again_after_redaction(text, quote, shown):
    moved = Moved(text, HIDING)
    start = text.index(quote)
    assert moved.text[moved.place(start) : moved.place(start + len(quote))] == shown


def test_looking_first_leaves_nothing_unreplaced():
    for code in [*range(0x2100), *range(0xD7F0, 0xE010)]:
        whole = for_page(f"{chr(code)}\x00")  # the NUL makes sure that everything is replaced
        assert for_page(chr(code)) == whole[0]

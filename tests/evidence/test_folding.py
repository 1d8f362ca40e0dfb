from hypothesis import given
from hypothesis import strategies as st

from attunement.evidence.lookup import fold, locate, pieces


def test_what_judges_change_when_they_quote_vanishes() -> None:
    said = "You’re *not* lazy —\n\n  you’re `worn out`. **Really.**"
    assert (
        fold(said)
        == fold("you're not lazy - you're worn out, really")
        == fold("YOURE NOT LAZY: YOURE WORN OUT. REALLY")
    )


def test_a_changed_word_does_not_vanish() -> None:
    assert fold("you are broken") != fold("you are not broken")
    assert fold("I can") != fold("I can't")


def test_accents_are_the_same_however_they_are_encoded() -> None:
    assert fold("caf\u00e9 noir") == fold("cafe\u0301 noir") != fold("cafe noir")


def test_scripts_without_spaces_are_folded_by_the_character() -> None:
    assert fold("你好吗？") == " 你 好 吗 "


def test_a_text_without_words_folds_to_one_space() -> None:
    assert fold("") == fold(" … — *** ") == " "


@given(st.text(max_size=300))
def test_every_folded_word_can_be_located_in_the_text(text: str) -> None:
    folded = fold(text)
    at = 0
    for word in folded.split():
        start, end = locate(text, folded, at, at + len(word) + 2)
        assert fold(text[start:end]) == f" {word} "
        at += len(word) + 1


@given(st.text(alphabet="aB é’'‘ʼ´-_*\u0301.你Ω", max_size=60))
def test_words_with_marks_and_accents_can_be_located_too(text: str) -> None:
    folded = fold(text)
    if folded != " ":
        start, end = locate(text, folded, 0, len(folded))
        assert fold(text[start:end]) == folded


@given(
    st.lists(
        st.sampled_from(["it's", "'tis", "the ’90s", "—", "**no**", "'", "''", "ok…", "\n", "Straße"]), min_size=30
    )
)
def test_words_far_from_the_beginning_are_located_too(words: list[str]) -> None:
    text = f"{' '.join(words)} the last two"
    start, end = locate(text, fold(text), fold(text).index(" last two "), len(fold(text)))
    assert (start, end) == (text.index("last two"), len(text))


def test_a_quote_is_cut_where_something_is_left_out() -> None:
    for gap in ("...", "…", " ... ", " [...] ", " (…) ", ". . ."):
        assert pieces(f"I went home{gap}and slept").runs == (" i went home ", " and slept ")


def test_a_quote_shortened_to_nothing_says_nothing() -> None:
    for quote in ("...", "…", "", " [...] ", "?!"):
        assert not pieces(quote).says_something
        assert not pieces(quote).tells


def test_single_words_around_an_ellipsis_do_not_tell_one_passage_from_another() -> None:
    assert not pieces("you... me").tells
    assert pieces("you went... me").tells
    assert pieces("maybe...").tells


def test_a_pattern_with_words_of_the_judge_needs_more_of_the_original() -> None:
    assert not pieces("It's [X], then [Y]").says_something
    assert pieces("Thank you for [sharing]").says_something
    assert pieces("not loading [the dinner] with meaning").says_something

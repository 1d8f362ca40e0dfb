from hypothesis import given
from hypothesis import strategies as st

from attunement.annotation.tasks import shown_text, stored_range

TEXTS = st.text(st.sampled_from("ab \r\n\x00\ud800é😀"), max_size=30)


@given(TEXTS, st.data())
def test_words_marked_in_the_shown_text_are_found_in_the_kept_text(text: str, data: st.DataObject) -> None:
    page = shown_text(text)
    start = data.draw(st.integers(0, len(page)))
    end = data.draw(st.integers(start, len(page)))
    assert shown_text(text[slice(*stored_range(text, start, end))]) == page[start:end]


@given(TEXTS)
def test_what_is_shown_can_be_sent(text: str) -> None:
    page = shown_text(text)
    page.encode()
    assert "\r" not in page
    assert "\x00" not in page

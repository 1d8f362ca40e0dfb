import json
import pickle

import orjson
from hypothesis import given
from hypothesis import strategies as st

from attunement.prompts.prompt import Text, escaped

ANY_TEXT = st.text(st.characters(exclude_categories=()))


@given(ANY_TEXT)
def test_a_text_is_escaped_as_json_with_a_question_mark_for_half_a_character(text: str) -> None:
    sendable = text.encode("utf-8", "replace").decode()
    assert json.loads(b'"' + escaped(text) + b'"') == sendable
    assert escaped(Text(text)) == escaped(text)


@given(ANY_TEXT, ANY_TEXT)
def test_pieces_that_are_escaped_one_by_one_make_the_whole(first: str, second: str) -> None:
    assert escaped(first) + escaped(second) == escaped(first + second)


def test_a_text_is_escaped_once() -> None:
    text = Text('"quoted"')
    assert escaped(text) is escaped(text)


def test_a_text_is_a_string_for_everyone_else() -> None:
    text = Text("täglich")
    escaped(text)
    assert text == "täglich"
    assert hash(text) == hash("täglich")
    assert orjson.dumps([text]) == orjson.dumps(["täglich"])
    assert escaped(pickle.loads(pickle.dumps(text))) == escaped(text)  # noqa: S301 - our own

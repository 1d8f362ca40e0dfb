import pytest

from attunement.conversations import Turn
from attunement.errors import InputError


@pytest.mark.parametrize(
    "prompt", ["prompt", "question", "instruction", "input", "context", "user", "query", "Question"]
)
@pytest.mark.parametrize("response", ["response", "reply", "answer", "output", "completion", "assistant", "Response"])
def test_a_prompt_and_a_response_are_one_turn(read_file, prompt, response):
    [conversation] = read_file({prompt: "hello", response: "hi"})
    assert conversation.turns == (Turn("hello", "hi"),)
    assert conversation.metadata == {}


def test_the_most_specific_field_holds_the_words_and_the_others_stay_metadata(read_file):
    [conversation] = read_file(
        {"prompt": "<user>: hello", "user_statement": "hello", "response": "hi", "reference": "good day"}
    )
    assert conversation.turns == (Turn("hello", "hi"),)
    assert conversation.metadata == {"prompt": "<user>: hello", "reference": "good day"}


def test_an_instruction_and_its_input_are_both_what_the_person_said(read_file):
    joined, alone = read_file(
        {"id": "1", "instruction": "Answer.", "input": "I am sad", "output": "tell me"},
        {"id": "2", "instruction": "Answer me", "input": "", "output": "yes"},
    )
    assert joined.turns == (Turn("Answer.\n\nI am sad", "tell me"),)
    assert alone.turns == (Turn("Answer me", "yes"),)


def test_a_history_beside_the_prompt_comes_first(read_file):
    first, second = read_file(
        {"id": "1", "history": [["a", "b"]], "instruction": "c", "input": "", "output": "d"},
        {"id": "2", "history": [], "instruction": "e", "input": "", "output": "f"},
    )
    assert first.turns == (Turn("a", "b"), Turn("c", "d"))
    assert second.turns == (Turn("e", "f"),)


@pytest.mark.parametrize(
    "history",
    [
        [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}],
        [{"user": "a", "assistant": "b"}],
    ],
)
def test_a_history_may_be_in_any_shape_and_missing_in_the_first_record(read_file, history):
    first, second = read_file(
        {"id": 1, "chat_history": None, "prompt": "e", "response": "f"},
        {"id": 2, "chat_history": history, "prompt": "c", "response": "d"},
    )
    assert first.turns == (Turn("e", "f"),)
    assert second.turns == (Turn("a", "b"), Turn("c", "d"))
    with pytest.raises(InputError, match="'history' have an unknown format"):
        read_file({"history": ["a", "b"], "prompt": "c", "response": "d"})


def test_names_of_fields_can_be_given(read_file):
    record = {"said": "hello", "prompt": "x", "heard": "hi", "response": "y", "key": 7}
    [conversation] = read_file(record, prompt="said", response="heard", id="key")
    assert conversation.turns == (Turn("hello", "hi"),)
    assert conversation.id == "7"
    assert conversation.metadata == {"prompt": "x", "response": "y"}


def test_where_the_usual_field_is_empty_in_one_record_the_next_one_is_taken(read_file):
    first, second = read_file(
        {"id": "1", "question": "hello", "prompt": "p", "response": "hi", "answer": "x"},
        {"id": "2", "question": "", "prompt": "p", "response": None, "answer": "x"},
    )
    assert first.turns == (Turn("hello", "hi"),)
    assert second.turns == (Turn("p", "x"),)


def test_a_prompt_of_messages_is_never_taken_for_parts_of_one(read_file):
    messages = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
    with pytest.raises(InputError, match=r"chats\.jsonl:1: a message contains a part"):
        read_file({"question": "x", "answer": messages})


def test_a_record_without_a_reply_is_refused(read_file):
    with pytest.raises(InputError, match=r"chats\.jsonl:1: there is no assistant message"):
        read_file({"user_statement": "hello", "prompt": "<user>: hello", "response": ""})
    with pytest.raises(InputError, match=r"chats.jsonl:1: there is no assistant message"):
        read_file({"prompt": "hello", "response": ""})
    with pytest.raises(InputError, match=r"chats.jsonl:1: there is no assistant message"):
        read_file({"prompt": "hello", "response": None})


def test_a_record_of_unknown_fields_is_refused_with_their_names_and_what_to_do(read_file):
    with pytest.raises(InputError, match="'said', 'heard'; give the layout with --format"):
        read_file({"said": "hello", "heard": "hi"})
    with pytest.raises(InputError, match="no id in a field 'key'"):
        read_file({"prompt": "hello", "response": "hi"}, id="key")

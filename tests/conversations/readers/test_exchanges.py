import json

import pytest

from attunement.conversations import Turn
from attunement.conversations.reader import Format
from attunement.errors import InputError


@pytest.mark.parametrize("key", ["turns", "exchanges", "conversation", "history"])
@pytest.mark.parametrize(
    ("user", "assistant"),
    [("user", "assistant"), ("human", "bot"), ("User", "Chatbot"), ("client", "therapist"), ("question", "answer")],
)
def test_exchanges_are_read_under_usual_names(read_file, key, user, assistant):
    [conversation] = read_file({key: [{user: "a", assistant: "b"}, {user: "c", assistant: "d"}]})
    assert conversation.turns == (Turn("a", "b"), Turn("c", "d"))


def test_a_side_that_is_missing_said_nothing(read_file):
    [conversation] = read_file(
        {"turns": [{"user": None, "assistant": "welcome"}, {"user": "a"}, {"user": "b", "assistant": "c"}]}
    )
    assert conversation.turns == (Turn("", "welcome"), Turn("a\n\nb", "c"))


def test_parts_are_joined_in_exchanges_too(read_file):
    [conversation] = read_file({"turns": [{"user": "a", "assistant": ["b", {"type": "text", "text": "c"}]}]})
    assert conversation.turns == (Turn("a", "b\nc"),)


def test_an_exchange_of_neither_side_is_named(read_file):
    with pytest.raises(InputError, match=r"chats.jsonl:1: exchange 2 has neither"):
        read_file({"turns": [{"user": "a", "assistant": "b"}, {"comment": "c"}]})
    with pytest.raises(InputError, match="exchange 2 is not an object"):
        read_file({"turns": [{"user": "a", "assistant": "b"}, "c"]})
    with pytest.raises(InputError, match=r"exchange 1: .*'image'"):
        read_file({"turns": [{"user": "a", "assistant": [{"type": "image"}]}]})


def test_a_list_of_speakers_exchanges_is_one_conversation_and_a_list_of_prompts_is_many(read_file):
    spoken = [{"user": "a", "assistant": "b"}, {"user": "c", "assistant": "d"}]
    prompted = [{"prompt": "a", "response": "b"}, {"prompt": "c", "response": "d"}]
    named = [{"id": 1, "user": "a", "assistant": "b"}, {"id": 2, "user": "c", "assistant": "d"}]
    assert [len(each.turns) for each in read_file(json.dumps(spoken), name="a.json")] == [2]
    assert [len(each.turns) for each in read_file(json.dumps(prompted), name="a.json")] == [1, 1]
    assert [each.id for each in read_file(json.dumps(named), name="a.json")] == ["1", "2"]
    assert [each.id for each in read_file(json.dumps({"conversations": named}), name="a.json")] == ["1", "2"]
    assert [len(each.turns) for each in read_file(json.dumps(prompted), name="a.json", format=Format.EXCHANGES)] == [2]
    assert [len(each.turns) for each in read_file(json.dumps(spoken), name="a.json", format=Format.FLAT)] == [1, 1]

import pytest

from attunement.conversations import Turn
from attunement.conversations.reader import Format
from attunement.errors import InputError


def test_openai_messages_become_turns_and_the_system_message_becomes_instructions(read_file):
    [conversation] = read_file(
        {
            "id": "c1",
            "messages": [
                {"role": "system", "content": "Be kind."},
                {"role": "developer", "content": "Be short."},
                {"role": "user", "content": "hello"},
                {"role": "assistant", "content": "hi"},
                {"role": "user", "content": "I am sad"},
                {"role": "assistant", "content": "tell me"},
            ],
        }
    )
    assert conversation.turns == (Turn("hello", "hi"), Turn("I am sad", "tell me"))
    assert conversation.instructions == "Be kind.\n\nBe short."
    assert conversation.id == "c1"


@pytest.mark.parametrize("key", ["conversations", "conversation", "messages", "dialogue"])
def test_sharegpt_is_read_under_any_usual_name(read_file, key):
    [conversation] = read_file(
        {
            key: [
                {"from": "system", "value": "Be kind."},
                {"from": "human", "value": "hello"},
                {"from": "gpt", "value": "hi"},
            ]
        }
    )
    assert conversation.turns == (Turn("hello", "hi"),)
    assert conversation.instructions == "Be kind."


def test_prompt_and_completion_of_messages_are_one_conversation(read_file):
    [conversation] = read_file(
        {
            "prompt": [{"role": "user", "content": "hello"}],
            "completion": [{"role": "assistant", "content": "hi"}],
        }
    )
    assert conversation.turns == (Turn("hello", "hi"),)
    assert conversation.metadata == {}


def test_a_prompt_of_messages_may_have_its_reply_as_text(read_file):
    first, second = read_file(
        {"prompt": [{"role": "user", "content": "hello"}], "response": "hi"},
        {"prompt": [{"role": "user", "content": "bye"}, {"role": "assistant", "content": "take"}], "response": "care"},
    )
    assert first.turns == (Turn("hello", "hi"),)
    assert second.turns == (Turn("bye", "take\n\ncare"),)
    assert second.metadata == {}


def test_a_field_with_the_reply_answers_a_last_message_and_is_metadata_otherwise(read_file):
    messages = [{"role": "user", "content": "hello"}, {"role": "assistant", "content": "hi"}]
    whole, open_, unanswered = read_file(
        {"id": 1, "messages": messages, "response": "hi"},
        {"id": 2, "messages": [*messages, {"role": "user", "content": "bye"}], "response": "take care"},
        {"id": 3, "messages": [*messages, {"role": "user", "content": "bye"}], "response": None},
    )
    assert whole.turns == unanswered.turns == (Turn("hello", "hi"),)
    assert whole.metadata == {"response": "hi"}
    assert open_.turns == (Turn("hello", "hi"), Turn("bye", "take care"))


def test_a_line_that_is_a_bare_list_of_messages_is_a_conversation(read_file):
    [conversation] = read_file(
        [{"role": "user", "content": "hello"}, {"role": "assistant", "content": "hi"}],
    )
    assert conversation.turns == (Turn("hello", "hi"),)


def test_messages_under_an_unusual_name_are_found(read_file):
    [conversation] = read_file(
        {"request": [{"role": "user", "content": "hello"}, {"role": "assistant", "content": "hi"}], "day": "Monday"}
    )
    assert conversation.turns == (Turn("hello", "hi"),)
    assert conversation.metadata == {"day": "Monday"}


def test_speakers_are_known_by_many_names_in_any_case(read_file):
    [conversation] = read_file(
        {"dialog": [{"speaker": "Seeker", "text": "hello"}, {"speaker": "SUPPORTER", "text": "hi"}]},
    )
    assert conversation.turns == (Turn("hello", "hi"),)


def test_messages_of_one_side_in_a_row_are_joined_with_a_blank_line(read_file):
    messages = [("user", "a"), ("user", "b"), ("assistant", "c"), ("assistant", "d"), ("user", "e"), ("assistant", "f")]
    [conversation] = read_file({"messages": [{"role": role, "content": text} for role, text in messages]})
    assert conversation.turns == (Turn("a\n\nb", "c\n\nd"), Turn("e", "f"))


def test_a_conversation_that_the_assistant_opens_has_an_empty_first_message(read_file):
    messages = [("assistant", "welcome"), ("user", "hello"), ("assistant", "hi")]
    [conversation] = read_file({"messages": [{"role": role, "content": text} for role, text in messages]})
    assert conversation.turns == (Turn("", "welcome"), Turn("hello", "hi"))


def test_an_empty_reply_between_others_stays_a_reply(read_file):
    messages = [("user", "a"), ("assistant", ""), ("user", "b"), ("assistant", "c")]
    [conversation] = read_file({"messages": [{"role": role, "content": text} for role, text in messages]})
    assert conversation.turns == (Turn("a", ""), Turn("b", "c"))


def test_further_fields_of_a_message_do_no_harm(read_file):
    [conversation] = read_file(
        {
            "messages": [
                {"role": "user", "content": "hello", "time": "10:00"},
                {"role": "assistant", "content": "hi", "tool_calls": None, "name": "Bo"},
            ]
        }
    )
    assert conversation.turns == (Turn("hello", "hi"),)


def test_tool_calls_and_results_stay_as_marked_text_of_the_reply(read_file):
    [conversation] = read_file(
        {
            "messages": [
                {"role": "user", "content": "who can help?"},
                {
                    "role": "assistant",
                    "content": None,
                    "tool_calls": [{"type": "function", "function": {"name": "find", "arguments": '{"what": "help"}'}}],
                },
                {"role": "tool", "name": "find", "content": "a nurse"},
                {"role": "assistant", "content": "A nurse can."},
            ]
        }
    )
    assert conversation.turns == (
        Turn("who can help?", '[tool call find: {"what": "help"}]\n\n[tool result find: a nurse]\n\nA nurse can.'),
    )


def test_tool_results_that_stand_in_a_message_of_the_user_belong_to_the_reply(read_file):
    [conversation] = read_file(
        {
            "messages": [
                {"role": "user", "content": "who can help?"},
                {
                    "role": "assistant",
                    "content": [
                        {"type": "thinking", "thinking": "not said"},
                        {"type": "text", "text": "Let me look."},
                        {"type": "tool_use", "name": "find", "input": {"number": 20241031144237228364}},
                    ],
                },
                {
                    "role": "user",
                    "content": [{"type": "tool_result", "content": [{"type": "text", "text": "a nurse"}]}],
                },
                {"role": "assistant", "content": "A nurse can."},
            ]
        }
    )
    [turn] = conversation.turns
    assert turn.user == "who can help?"
    assert turn.assistant == (
        'Let me look.\n[tool call find: {"number": 20241031144237228364}]\n\n[tool result: a nurse]\n\nA nurse can.'
    )


def test_calls_between_the_messages_are_marked_too(read_file):
    newer, sharegpt = read_file(
        {
            "messages": [
                {"role": "user", "content": [{"type": "input_text", "text": "who?"}]},
                {"type": "function_call", "name": "find", "arguments": "{}"},
                {"type": "function_call_output", "output": "a nurse"},
                {"role": "assistant", "content": [{"type": "output_text", "text": "A nurse."}]},
            ]
        },
        {
            "conversations": [
                {"from": "human", "value": "who?"},
                {"from": "function_call", "value": "find()"},
                {"from": "observation", "value": "a nurse"},
                {"from": "gpt", "value": "A nurse."},
            ],
        },
    )
    assert newer.turns == (Turn("who?", "[tool call find: {}]\n\n[tool result: a nurse]\n\nA nurse."),)
    assert sharegpt.turns == (Turn("who?", "[tool call: find()]\n\n[tool result: a nurse]\n\nA nurse."),)


def test_content_in_parts_is_joined(read_file):
    parts = ["one", {"type": "text", "text": "two"}, {"type": "refusal", "refusal": "three"}]
    [conversation] = read_file(
        {"messages": [{"role": "user", "content": "hello"}, {"role": "assistant", "content": parts}]}
    )
    assert conversation.turns == (Turn("hello", "one\ntwo\nthree"),)


@pytest.mark.parametrize(
    "kind", ["image", "image_url", "input_image", "input_audio", "audio", "video", "file", "document"]
)
def test_a_part_that_is_no_text_is_refused_by_name(read_file, kind):
    with pytest.raises(InputError, match=rf"chats.jsonl:1: message 2: .*'{kind}'"):
        read_file(
            {
                "messages": [
                    {"role": "user", "content": "look"},
                    {"role": "assistant", "content": [{"type": "text", "text": "here:"}, {"type": kind}]},
                ]
            }
        )


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ({"role": "narrator", "content": "x"}, "message 2: the role 'narrator' is not known"),
        ({"content": "x"}, "message 2: the role None is not known"),
        ("x", "message 2 is not an object"),
        ({"role": "assistant", "content": [7]}, "message 2: a message contains 7"),
        ({"role": "assistant", "content": [{"type": "hologram"}]}, "message 2: .*'hologram'"),
        ({"role": "assistant", "content": ""}, "there is no assistant message"),
        ({"role": "assistant", "content": " \n"}, "there is no assistant message"),
        ({"role": "user", "content": "anybody?"}, "there is no assistant message"),
    ],
)
def test_a_message_that_cannot_be_read_is_named(read_file, message, reason):
    with pytest.raises(InputError, match=f"chats.jsonl:1: {reason}"):
        read_file({"messages": [{"role": "user", "content": "hello"}, message]})


def test_an_empty_list_of_messages_has_no_reply(read_file):
    with pytest.raises(InputError, match="there is no assistant message"):
        read_file({"messages": []})


def test_the_shape_can_be_forced(read_file):
    record = {
        "messages": [{"role": "user", "content": "hello"}, {"role": "assistant", "content": "hi"}],
        "prompt": "p",
        "response": "r",
    }
    assert read_file(record)[0].turns == (Turn("hello", "hi"),)
    assert read_file(record, format=Format.FLAT)[0].turns == (Turn("p", "r"),)
    with pytest.raises(InputError, match="layout 'pairs'"):
        read_file(record, format=Format.PAIRS)


@pytest.mark.parametrize("kind", [[], {}, None, 7])
def test_an_odd_type_of_a_message_is_no_crash(read_file, kind):
    messages = [{"role": "user", "content": "a", "type": kind}, {"role": "assistant", "content": "b"}]
    assert read_file({"messages": messages})[0].turns == (Turn("a", "b"),)

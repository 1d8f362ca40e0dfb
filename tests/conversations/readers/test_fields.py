import pytest

from attunement.conversations import Origin
from attunement.conversations.messages import reads_as_prompt
from attunement.errors import InputError

MESSAGES = [{"role": "user", "content": "hello"}, {"role": "assistant", "content": "hi"}]


@pytest.mark.parametrize(
    "name", ["id", "conversation_id", "conv_id", "dialogue_id", "sample_id", "session_id", "Conversation ID"]
)
@pytest.mark.parametrize("value", ["#12", "007", " a ", "20241031144237228364"])
def test_the_id_comes_from_the_file_unharmed(read_file, name, value):
    [conversation] = read_file({name: value, "messages": MESSAGES})
    assert conversation.id == value
    assert conversation.metadata == {}


def test_the_id_of_the_conversation_goes_before_the_id_of_the_record(read_file):
    [conversation] = read_file({"id": 33, "conversation_id": "c1", "messages": MESSAGES})
    assert conversation.id == "c1"
    assert conversation.metadata == {"id": 33}


@pytest.mark.parametrize("missing", [{}, {"id": None}, {"id": ""}, {"id": ["a"]}, {"id": True}])
def test_without_an_id_the_content_gives_one(read_file, missing):
    [conversation] = read_file({**missing, "messages": MESSAGES})
    assert conversation.id == conversation.fingerprint()[:16]


@pytest.mark.parametrize("name", ["system", "model", "bot", "provider_llm"])
def test_the_system_comes_from_the_file(read_file, name):
    [conversation] = read_file({name: "m 1", "messages": MESSAGES}, system=None)
    assert conversation.system == "m 1"
    assert conversation.metadata == {}


def test_a_given_system_only_fills_in_where_the_file_has_none(read_file):
    first, second = read_file(
        {"id": 1, "model": "m1", "messages": MESSAGES}, {"id": 2, "messages": MESSAGES}, system="mine"
    )
    assert (first.system, second.system) == ("m1", "mine")


def test_without_any_system_the_error_says_what_to_give(read_file):
    with pytest.raises(InputError, match=r"chats\.jsonl:1: no system name found; .*--system NAME"):
        read_file({"id": 1, "messages": MESSAGES}, system=None)


@pytest.mark.parametrize(
    "prompt",
    [
        "You are a helpful assistant.",
        "You listen more than you speak",
        "Be kind\nand short",
        "Are you kind?",
    ],
)
def test_a_system_that_reads_like_a_prompt_is_instructions(read_file, prompt):
    assert reads_as_prompt(prompt)
    [conversation] = read_file({"system": prompt, "model": "m1", "messages": MESSAGES}, system=None)
    assert (conversation.system, conversation.instructions) == ("m1", prompt)


@pytest.mark.parametrize("name", ["gpt-4o", "Claude 3.5 Sonnet v2", "my.bot", "llama-3.1-8b"])
def test_a_system_that_reads_like_a_name_is_a_name(name):
    assert not reads_as_prompt(name)


def test_beside_instructions_the_system_is_always_the_name(read_file):
    [conversation] = read_file({"system": "You are a bot.", "instructions": None, "messages": MESSAGES}, system=None)
    assert (conversation.system, conversation.instructions) == ("You are a bot.", None)


def test_instructions_of_the_record_come_before_those_of_the_messages(read_file):
    messages = [{"role": "system", "content": "Be short."}, *MESSAGES]
    [conversation] = read_file({"system_prompt": "Be kind.", "messages": messages})
    assert conversation.instructions == "Be kind.\n\nBe short."


def test_the_origin_is_read_where_it_is_one_of_ours(read_file):
    first, second, third = read_file(
        {"id": 1, "origin": "Simulated", "messages": MESSAGES},
        {"id": 2, "origin": "Reddit", "messages": MESSAGES},
        {"id": 3, "meta": {"origin": "real"}, "messages": MESSAGES},
    )
    assert (first.origin, first.metadata) == (Origin.SIMULATED, {})
    assert (second.origin, second.metadata) == (Origin.UNKNOWN, {"origin": "Reddit"})
    assert (third.origin, third.metadata) == (Origin.REAL, {})


def test_every_other_field_is_metadata_and_an_object_of_it_is_merged(read_file):
    [conversation] = read_file(
        {
            "id": 1,
            "messages": MESSAGES,
            "scenario": "grief",
            "metadata": {"scenario": "loss", "day": "Monday", "id": "inner"},
            "meta": {"deep": {"a": [1, None]}},
            "score": 0.5,
        }
    )
    assert conversation.scenario == "grief"
    assert conversation.metadata == {
        "scenario": "grief",
        "metadata.scenario": "loss",
        "day": "Monday",
        "id": "inner",
        "deep": {"a": [1, None]},
        "score": 0.5,
    }


def test_id_and_system_may_stand_in_the_metadata(read_file):
    [conversation] = read_file({"messages": MESSAGES, "meta": {"conv_id": 5, "model": "m1", "day": 1}}, system=None)
    assert str(conversation.identity) == "m1/5"
    assert conversation.metadata == {"day": 1}


def test_metadata_that_is_no_object_is_kept_as_it_is(read_file):
    [conversation] = read_file({"messages": MESSAGES, "metadata": "from Monday"})
    assert conversation.metadata == {"metadata": "from Monday"}


def test_a_field_for_the_system_can_be_named(read_file):
    [conversation] = read_file({"system": "x", "made_by": "You are it.", "messages": MESSAGES}, system_field="made_by")
    assert conversation.system == "You are it."
    assert conversation.metadata == {"system": "x"}

import json

import pytest

from attunement.conversations import Turn
from attunement.conversations.reader import Format
from attunement.errors import InputError


def test_one_message_a_row_is_put_together_by_conversation(read_file):
    table = (
        "Conversation ID,Role,Content\n1,user,a\n1,assistant,b\n#2,user,c\n#2,assistant,d\n#2,user,e\n#2,assistant,f\n"
    )
    first, second = read_file(table, name="a.csv")
    assert (first.id, first.turns) == ("1", (Turn("a", "b"),))
    assert (second.id, second.turns) == ("#2", (Turn("c", "d"), Turn("e", "f")))


def test_a_turn_number_puts_rows_in_order(read_file):
    table = "session_id\tturn\tspeaker\ttext\nx\t10\tuser\tc\nx\t2\tuser\ta\nx\t2\tbot\tb\nx\t10\tbot\td\n"
    [conversation] = read_file(table, name="a.tsv")
    assert conversation.turns == (Turn("a", "b"), Turn("c", "d"))


def test_rows_that_are_not_numbered_where_they_should_be_are_refused(read_file):
    with pytest.raises(InputError, match=r"a\.csv:2: .* not numbered in the column 'turn'"):
        read_file("conv_id,turn,role,content\n1,first,user,a\n1,second,bot,b\n", name="a.csv")


def test_rows_of_one_conversation_that_do_not_follow_each_other_are_told_with_both_places(read_file):
    table = "conv_id,role,content\n1,user,a\n1,bot,b\n2,user,c\n2,bot,d\n1,user,e\n1,bot,f\n"
    with pytest.raises(InputError, match=r"a\.csv:6: the conversation '1' .* already read at .*a\.csv:2"):
        read_file(table, name="a.csv")


def test_one_numbered_exchange_a_row_is_put_together(read_file):
    table = "dialogue_id,turn_number,user,assistant\n1,1,a,b\n1,2,c,d\n2,1,e,f\n"
    first, second = read_file(table, name="a.csv")
    assert first.turns == (Turn("a", "b"), Turn("c", "d"))
    assert second.turns == (Turn("e", "f"),)


def test_exchanges_without_a_number_are_conversations_of_their_own(read_file):
    first, second = read_file("id,user,assistant\n1,a,b\n2,c,d\n", name="a.csv")
    assert (first.id, second.id) == ("1", "2")


def test_a_table_of_messages_without_an_id_is_one_conversation_named_like_the_file(read_file):
    [conversation] = read_file("role,content\nuser,a\nassistant,b\n", name="monday.csv")
    assert conversation.id == "monday"
    assert conversation.turns == (Turn("a", "b"),)


def test_columns_that_say_one_thing_say_it_once_and_others_are_lists(read_file):
    table = "conv_id,role,content,model,topic,time\n1,user,a,,sleep,10:00\n1,assistant,b,m1,sleep,10:01\n"
    [conversation] = read_file(table, name="a.csv", system=None)
    assert conversation.system == "m1"
    assert conversation.metadata == {"topic": "sleep", "time": ["10:00", "10:01"]}


def test_the_same_id_for_two_systems_is_two_conversations(read_file):
    table = "conv_id,model,role,content\n1,m1,user,a\n1,m1,bot,b\n1,m2,user,a\n1,m2,bot,c\n"
    first, second = read_file(table, name="a.csv", system=None)
    assert (str(first.identity), str(second.identity)) == ("m1/1", "m2/1")
    assert second.turns == (Turn("a", "c"),)


def test_messages_may_also_be_lines_or_elements_of_json(read_file):
    rows = [
        {"conversation_id": 1, "id": "m1", "role": "user", "content": "a"},
        {"conversation_id": 1, "id": "m2", "role": "assistant", "content": "b"},
        {"conversation_id": 2, "id": "m3", "role": "user", "content": "c"},
        {"conversation_id": 2, "id": "m4", "role": "assistant", "content": "d"},
    ]
    assert [each.id for each in read_file(*rows)] == ["1", "2"]
    assert [each.id for each in read_file(json.dumps(rows), name="a.json")] == ["1", "2"]


def test_a_speaker_who_is_not_known_is_refused_once_rows_are_forced(read_file):
    table = "conv_id,role,content\n1,Emma,a\n1,assistant,b\n"
    with pytest.raises(InputError, match=r"a\.csv:2: message 1 has the role 'Emma'"):
        read_file(table, name="a.csv", format=Format.ROWS)


def test_long_numbers_as_ids_of_rows_are_kept_to_the_last_digit(read_file):
    rows = [
        {"conversation_id": 20241031144237228364 + number // 2, "role": role, "content": f"{role} {number}"}
        for number, role in enumerate(("user", "assistant") * 2)
    ]
    assert [each.id for each in read_file(*rows)] == ["20241031144237228364", "20241031144237228365"]

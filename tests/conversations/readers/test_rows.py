import json

import pytest

from attunement.conversations import Turn
from attunement.conversations.reader import Fields, Format, ReadOptions, read
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


def reading(tmp_path, text, name="log.csv", skip=False, **fields):
    path = tmp_path / name
    path.write_text(text, "utf-8")
    skip_bad = tmp_path / "bad.jsonl" if skip else None
    return read([path], ReadOptions(system="bot", skip_bad=skip_bad, fields=Fields(**fields)))


INTERLEAVED = (
    "session_id,timestamp,role,content\n"
    "s2,2026-01-05T10:00:09Z,assistant,d\n"
    "s1,2026-01-05T10:00:01Z,user,a\n"
    "s2,2026-01-05T10:00:02Z,user,c\n"
    "s1,2026-01-05T10:00:05Z,assistant,b\n"
    "s1,2026-01-05T10:00:20Z,user,e\n"
    "s1,2026-01-05T10:00:30Z,assistant,f\n"
)


@pytest.mark.parametrize("skip", [False, True])
def test_interleaved_sessions_are_grouped_and_sorted_by_time_and_it_is_said(tmp_path, skip):
    log = reading(tmp_path, INTERLEAVED, skip=skip)
    assert {each.id: each.turns for each in log} == {
        "s2": (Turn("c", "d"),),
        "s1": (Turn("a", "b"), Turn("e", "f")),
    }
    assert log.counts.notes == [f"{tmp_path / 'log.csv'}: grouped 6 rows by 'session_id' and sorted by 'timestamp'"]
    assert (log.counts.conversations, log.counts.turns, log.counts.bad) == (2, 3, 0)


def test_a_log_with_the_newest_row_first_is_turned_round_also_within_a_second(tmp_path):
    rows = ["s,2026-01-05 10:00:00,user,a", "s,2026-01-05 10:00:00,assistant,b", "s,2026-01-05 10:00:07,user,c"]
    rows.append("s,2026-01-05 10:00:08,assistant,d")
    [conversation] = reading(tmp_path, "\n".join(["session_id,time,role,content", *reversed(rows)]))
    assert conversation.turns == (Turn("a", "b"), Turn("c", "d"))


def test_times_that_cannot_be_read_leave_the_order_of_the_file_and_it_is_said(tmp_path):
    log = reading(tmp_path, "session_id,date,role,content\ns,05/01/26,user,a\ns,04/01/26,assistant,b\n")
    assert [each.turns for each in log] == [(Turn("a", "b"),)]
    assert log.counts.notes[0].endswith("the times in 'date' cannot be read, so rows stay in the order of the file")


@pytest.mark.parametrize("row", ['s1,2026-01-05T10:00:05Z,"assistant', ",2026-01-05T10:00:05Z,assistant,b"])
def test_a_session_is_never_cut_short_by_skipping_one_of_its_rows(tmp_path, row):
    text = INTERLEAVED.replace("s1,2026-01-05T10:00:05Z,assistant,b", row)
    with pytest.raises(InputError, match=r"log\.csv:5: .* a conversation would be incomplete without this row"):
        list(reading(tmp_path, text, skip=True))


def test_a_session_whose_rows_are_in_two_files_is_refused_even_when_records_are_skipped(tmp_path):
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text("session_id,role,content\n1,user,a\n1,bot,b\n", "utf-8")
    two = read([tmp_path / "a.csv", tmp_path / "b.csv"], ReadOptions(system="bot", skip_bad=tmp_path / "bad.jsonl"))
    with pytest.raises(InputError, match=r"b\.csv:2: the conversation '1' .* already read at .*a\.csv:2"):
        list(two)


def test_speakers_with_names_of_their_own_can_be_given(tmp_path):
    table = "session_id,speaker,text\n1,Anna,a\n1,Sunny,b\n"
    with pytest.raises(
        InputError, match=r"the speaker 'Anna' is not known .* --person-name 'Anna' or --assistant-name 'Anna'"
    ):
        list(reading(tmp_path, table))
    [conversation] = reading(tmp_path, table, person=("Anna",), assistant=("Sunny",))
    assert conversation.turns == (Turn("a", "b"),)


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
    with pytest.raises(InputError, match=r"a\.csv:2: message 1: the role 'Emma' is not known .*--person-name 'Emma'"):
        read_file(table, name="a.csv", format=Format.ROWS)


def test_long_numbers_as_ids_of_rows_are_kept_to_the_last_digit(read_file):
    rows = [
        {"conversation_id": 20241031144237228364 + number // 2, "role": role, "content": f"{role} {number}"}
        for number, role in enumerate(("user", "assistant") * 2)
    ]
    assert [each.id for each in read_file(*rows)] == ["20241031144237228364", "20241031144237228365"]

import json
from collections import Counter

import pytest

from attunement.conversations import Turn
from attunement.conversations.reader import Fields, Format, ReadOptions, read
from attunement.errors import InputError

GOOD = '{"id": "%s", "system": "bot", "prompt": "hello", "response": "hi"}'


@pytest.fixture
def chats(tmp_path):
    def chats(*lines, name="chats.jsonl"):
        path = tmp_path / name
        path.write_text("".join(line + "\n" for line in lines), "utf-8")
        return path

    return chats


def test_conversations_are_counted_as_they_are_read(chats):
    reading = read([chats(GOOD % 1, GOOD % 2, name="a.jsonl"), chats(GOOD % 3, name="b.jsonl")])
    conversations = iter(reading)
    next(conversations)
    assert (reading.counts.files, reading.counts.conversations) == (1, 1)
    assert len(list(conversations)) == 2
    assert (reading.counts.files, reading.counts.conversations, reading.counts.bad) == (2, 3, 0)


def test_reading_again_gives_the_same_and_counts_anew(chats):
    reading = read([chats(GOOD % 1, GOOD % 2)])
    assert list(reading) == list(reading)
    assert reading.counts.conversations == 2


def test_last_messages_without_a_reply_are_counted_once_a_conversation(chats):
    record = {"system": "bot", "turns": [{"user": "a", "assistant": "b"}, {"user": "c"}, {"user": "d"}]}
    reading = read([chats(json.dumps(record), GOOD % 1)])
    assert [conversation.turns for conversation in reading] == [(Turn("a", "b"),), (Turn("hello", "hi"),)]
    assert reading.counts.unanswered == 1


def test_the_same_identity_twice_is_an_error_that_names_both_places(chats):
    first, second = chats(GOOD % 1, "", GOOD % 2, name="a.jsonl"), chats("", GOOD % 2, name="b.jsonl")
    with pytest.raises(InputError) as caught:
        list(read([first, second]))
    assert str(caught.value).startswith(
        f"{second}:2: the conversation '2' of the system 'bot' was already read at {first}:3;"
    )


def test_the_same_words_without_an_id_are_the_same_conversation(chats):
    line = '{"prompt": "hello", "response": "hi"}'
    with pytest.raises(InputError, match=r"chats\.jsonl:2: .* already read at .*chats\.jsonl:1"):
        list(read([chats(line, line)], ReadOptions(system="bot")))


def test_the_same_id_of_another_system_is_another_conversation(chats):
    assert len(list(read([chats(GOOD % 1, (GOOD % 1).replace("bot", "other"))]))) == 2


def test_twenty_thousand_and_more_identities_are_told_apart(chats):
    lines = [GOOD % number for number in range(20_050)]
    assert len(list(read([chats(*lines)]))) == 20_050
    with pytest.raises(InputError, match=r"chats\.jsonl:20051: the conversation '7' .* at .*chats\.jsonl:8;"):
        list(read([chats(*lines, GOOD % 7)]))


def test_records_of_different_shapes_in_one_file_are_each_recognised(chats):
    talks = [
        [["a", "b"]],
        [{"from": "human", "value": "c"}, {"from": "gpt", "value": "d"}],
        [{"role": "user", "content": "e"}, {"role": "bot", "content": "f"}],
        "user: g\nbot: h",
    ]
    records = [{"id": number, "system": "bot", "conversation": talk} for number, talk in enumerate(talks)]
    path = chats(GOOD % "first", *map(json.dumps, records), GOOD % "last")
    said = [conversation.turns[0].user for conversation in read([path])]
    assert said == ["hello", "a", "c", "e", "g", "hello"]


def test_a_file_whose_records_all_have_other_fields_is_read(chats):
    lines = [json.dumps({"id": n, "system": "bot", "prompt": "a", "response": "b", f"x{n}": n}) for n in range(200)]
    assert [conversation.metadata for conversation in read([chats(*lines)])] == [{f"x{n}": n} for n in range(200)]


def test_bad_records_are_kept_with_place_reason_and_words_when_they_are_skipped(chats, tmp_path):
    path = tmp_path / "chats.jsonl"
    path.write_bytes(
        f"{GOOD % 1}\n\nnot json\n{GOOD % 1}\n{GOOD % 2}\n".encode() + b'{"prompt": "caf\xe9"}\n{"prompt": "a"}'
    )
    bad = tmp_path / "bad.jsonl"
    reading = read([path], ReadOptions(skip_bad=bad))
    assert [conversation.id for conversation in reading] == ["1", "2"]
    assert reading.counts.bad == 4
    entries = [json.loads(line) for line in bad.read_text("utf-8").splitlines()]
    assert [(entry["file"], entry["line"]) for entry in entries] == [(str(path), line) for line in (3, 4, 6, 7)]
    assert "not JSON" in entries[0]["reason"]
    assert f"already read at {path}:1" in entries[1]["reason"]
    assert "not UTF-8" in entries[2]["reason"]
    raw = [entry["raw"].encode("utf-8", "surrogateescape") for entry in entries]
    assert raw == [path.read_bytes().splitlines(keepends=True)[line - 1] for line in (3, 4, 6, 7)]


def test_bad_rows_and_the_rest_of_a_broken_document_are_kept_whole(chats, tmp_path):
    table = chats("system,prompt,response", "bot,a,b", 'bot,"c', 'd",e,f', "bot,g,h", name="a.csv")
    document = chats("[", GOOD % 1, ",", GOOD % 2 + " oops", GOOD % 3, "]", name="b.json")
    bad = tmp_path / "bad.jsonl"
    reading = read([table, document], ReadOptions(skip_bad=bad))
    assert [conversation.turns[0].user for conversation in reading] == ["a", "g", "hello", "hello"]
    entries = [json.loads(line) for line in bad.read_text("utf-8").splitlines()]
    assert [(entry["line"], entry["raw"]) for entry in entries] == [
        (3, 'bot,"c\nd",e,f\n'),
        (4, f"oops\n{GOOD % 3}\n]\n"),
    ]


def test_a_clean_file_leaves_no_file_of_bad_records(chats, tmp_path):
    list(read([chats(GOOD % 1)], ReadOptions(skip_bad=tmp_path / "bad.jsonl")))
    assert not (tmp_path / "bad.jsonl").exists()


def test_an_empty_file_is_a_bad_record_that_can_be_skipped(chats, tmp_path):
    paths = [chats(name="a.jsonl"), chats(GOOD % 1, name="b.jsonl")]
    with pytest.raises(InputError, match=r"a\.jsonl:1: the file is empty"):
        list(read(paths))
    reading = read(paths, ReadOptions(skip_bad=tmp_path / "bad.jsonl"))
    assert len(list(reading)) == 1
    assert reading.counts.bad == 1


def test_a_missing_system_is_not_skipped_because_one_option_mends_it(chats, tmp_path):
    path = chats('{"prompt": "a", "response": "b"}')
    with pytest.raises(InputError, match="--system NAME"):
        list(read([path], ReadOptions(skip_bad=tmp_path / "bad.jsonl")))


def test_bad_records_are_never_written_over_what_is_read(chats):
    path = chats(GOOD % 1)
    with pytest.raises(InputError, match="would be written to it"):
        read([path], ReadOptions(skip_bad=path))


def test_bad_records_that_cannot_be_kept_are_an_error(chats, tmp_path):
    with pytest.raises(InputError, match="cannot write invalid records"):
        list(read([chats("x")], ReadOptions(skip_bad=tmp_path / "gone" / "bad.jsonl")))


def test_nothing_of_a_file_is_held_when_reading_stops_early(chats, tmp_path):
    reading = iter(read([chats("x", GOOD % 1, GOOD % 2)], ReadOptions(skip_bad=tmp_path / "bad.jsonl")))
    next(reading)
    reading.close()
    assert json.loads((tmp_path / "bad.jsonl").read_text("utf-8"))["line"] == 1


def test_the_clinicians_chats_are_read(shared_data):
    conversations = list(read([shared_data / "vera-mh" / "conversations.jsonl"]))
    assert len(conversations) == 45
    assert Counter(each.system for each in conversations) == {"gpt5": 15, "gpt4o": 15, "gemini3": 15}
    assert Counter(len(each.turns) for each in conversations) == {10: 44, 8: 1}
    assert set(conversations[0].metadata) == {"persona", "persona_risk"}


def test_the_coaching_transcripts_are_read(shared_data):
    conversations = list(read([shared_data / "coaching-judges" / "conversations.jsonl"]))
    assert len(conversations) == 37
    assert Counter(each.system for each in conversations) == {"base": 15, "finetune": 14, "claude": 8}
    lengths = [len(each.turns) for each in conversations]
    assert (min(lengths), max(lengths)) == (8, 90)
    assert conversations[0].scenario == "seed9000"


def test_the_replies_of_three_systems_have_the_same_ids(shared_data):
    folder = shared_data / "empathy-judge"
    files = [folder / f"{name}.jsonl" for name in ("gpt2_vanilla", "gpt2_finetuned", "empathy_chain")]
    conversations = list(read(files))
    assert len(conversations) == 600
    assert len({each.id for each in conversations}) == 200
    assert len({each.identity for each in conversations}) == 600
    assert not any("<user>" in each.turns[0].user for each in conversations)


def test_published_tables_are_read(shared_data):
    folder = shared_data / "kumar2025" / "original_data"
    people = ReadOptions(system="people")
    chats = list(read([folder / "sample_lend_an_ear_conversations.csv"], people))
    assert len(chats) == 50
    assert all(len(each.id) == 20 and each.id.isdigit() for each in chats)
    assert len(list(read([folder / "sample_epitome.csv"], people))) == 50
    probes = ReadOptions(system="x", fields=Fields(prompt="interjection", id="key"), format=Format.FLAT)
    assert len(list(read([shared_data / "moore2025" / "classification_validation.csv"], probes))) == 350
    assert len(list(read([shared_data / "diasafety" / "val.json"], people))) == 1097

import json

import pytest

from attunement.conversations import Turn
from attunement.errors import InputError

HELLO = {"id": "1", "prompt": "hello", "response": "hi"}
BYE = {"id": "2", "prompt": "bye", "response": "take care"}


def ids(conversations):
    return [conversation.id for conversation in conversations]


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize(
    "document",
    [
        [HELLO, BYE],
        {"data": [HELLO, BYE]},
        {"about": {"by": "us"}, "conversations": [HELLO, BYE]},
        [[{"id": "x"}], HELLO, BYE][1:],
    ],
)
def test_a_document_is_a_list_of_records_or_holds_one(read_file, document, indent):
    assert ids(read_file(json.dumps(document, indent=indent), name="a.json")) == ["1", "2"]


@pytest.mark.parametrize("indent", [None, 2])
def test_a_document_may_be_a_single_record(read_file, indent):
    assert ids(read_file(json.dumps(HELLO, indent=indent), name="a.json")) == ["1"]


def test_what_an_object_says_beside_its_list_is_taken_over_by_the_records(read_file):
    document = {"id": "the set", "model": "m1", "day": "Monday", "data": [HELLO, {**BYE, "model": "m2"}]}
    first, second = read_file(json.dumps(document), name="a.json", system=None)
    assert (first.system, first.id, first.metadata) == ("m1", "1", {"day": "Monday"})
    assert (second.system, second.id) == ("m2", "2")


def test_a_json_file_may_hold_lines_or_values_one_after_the_other(read_file):
    assert ids(read_file(f"{json.dumps(HELLO)}\n\n{json.dumps(BYE)}\n", name="a.json")) == ["1", "2"]
    assert ids(read_file(f"{json.dumps(HELLO, indent=1)}\n{json.dumps(BYE, indent=1)}\n", name="a.json")) == ["1", "2"]


def test_blank_lines_windows_line_ends_and_a_byte_order_mark_do_no_harm(read_file):
    text = f"\n{json.dumps(HELLO)}\r\n \r\n{json.dumps(BYE)}\r\n"
    assert ids(read_file(b"\xef\xbb\xbf" + text.encode())) == ["1", "2"]


@pytest.mark.parametrize("name", ["a.jsonl", "a.json"])
def test_lone_surrogates_and_control_characters_are_text(read_file, name):
    [conversation] = read_file('{"prompt": "\\ud800 \\u0000 a\tb", "response": "hi"}', name=name)
    assert conversation.turns == (Turn("\ud800 \0 a\tb", "hi"),)


def test_numbers_are_kept_to_the_last_digit(read_file):
    line = (
        '{"id": 20241031144237228364, "prompt": "hello", "response": "hi", "big": 123456789012345678901234567890, '
        '"deep": [{"n": 98765432109876543210}], "float": 1e300, "small": 0.1}'
    )
    [conversation] = read_file(line)
    assert conversation.id == "20241031144237228364"
    assert conversation.metadata == {
        "big": 123456789012345678901234567890,
        "deep": [{"n": 98765432109876543210}],
        "float": 1e300,
        "small": 0.1,
    }
    assert read_file(f"[{line}]", name="a.json") == [conversation]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('{"prompt": "a", "response": NaN}', "NaN is not a valid number"),
        ('{"prompt": "a", "response": "b", "x": -Infinity}', "-Infinity is not a valid number"),
        ('{"prompt": "a", "response": "b", "x": 1e999}', "the number 1e999 is too large"),
        ('{"prompt": "a", "response": "b"', r"this is not JSON \(it is incomplete\)"),
        ('{"turns": [\n', r"this is not JSON \(it is incomplete\)"),
        ('{"prompt": "a" "b"}', r"this is not JSON \(Expecting ',' delimiter at column 16\)"),
        ("hello", "this is not JSON"),
        ("[" * 100_000, "nested too deeply"),
        (f'{{"prompt": "a", "response": "b", "x": {"[" * 450}{"]" * 450}}}', "nested too deeply"),
        (f'{{"prompt": "a", "response": "b", "n": {2**70}, "x": {"[" * 900}{"]" * 900}}}', "nested too deeply"),
        ("7", "this is not a conversation"),
        ("null", "this is not a conversation"),
        ('["a", "b", "c"]', "this is not a conversation"),
        ("{}", "no conversation found"),
    ],
)
def test_a_line_that_is_no_record_is_named(read_file, line, reason):
    with pytest.raises(InputError, match=rf"chats\.jsonl:3: {reason}"):
        read_file(f"{json.dumps(HELLO)}\n\n{line}\n{json.dumps(BYE)}\n")


def test_a_byte_that_is_not_utf8_is_named_with_its_line(read_file):
    raw = json.dumps(HELLO).encode() + b'\n{"prompt": "caf\xe9", "response": "hi"}\n'
    with pytest.raises(InputError, match=r"chats\.jsonl:2: this is not UTF-8 text \(the line has 0xe9 as byte 16\)"):
        read_file(raw)
    with pytest.raises(InputError, match=r"a\.json:2: this is not UTF-8 text \(the line has 0xe9 as byte 16\)"):
        read_file(b"[\n" + raw.splitlines()[1] + b"]", name="a.json")


def test_a_record_of_a_document_is_named_with_the_line_where_it_begins(read_file):
    document = json.dumps({"about": "x", "data": [HELLO, {"id": "2", "prompt": "bye", "response": ""}]}, indent=2)
    line = document.splitlines().index("    {", 4) + 1
    with pytest.raises(InputError, match=rf"a\.json:{line}: there is no assistant message"):
        read_file(document, name="a.json")


def test_a_document_that_breaks_is_named_with_the_line_of_the_break(read_file):
    text = json.dumps([HELLO, BYE], indent=2).replace('"bye",', '"bye"')
    line = next(number for number, each in enumerate(text.splitlines(), 1) if "take care" in each)
    with pytest.raises(InputError, match=rf"a\.json:{line}: this is not JSON \(Expecting ',' delimiter"):
        read_file(text, name="a.json")
    with pytest.raises(InputError, match=r"a\.json:1: this is not JSON"):
        read_file("{]\n" + json.dumps(HELLO), name="a.json")


@pytest.mark.parametrize("content", ["", "\n \n", "[]"])
def test_an_empty_file_holds_nothing(read_file, content):
    with pytest.raises(InputError, match=r"a\.json:1: the file is empty"):
        read_file(content, name="a.json")

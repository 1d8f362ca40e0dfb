import pytest

from attunement.conversations import Turn
from attunement.conversations.reader import Format
from attunement.errors import InputError


def test_one_pair_a_row_is_one_conversation_a_row(read_file):
    first, second = read_file('id,prompt,response,label\n007,hello,hi,NA\n#8,"I, too",yes,\n', name="a.csv")
    assert (first.id, first.turns, first.metadata) == ("007", (Turn("hello", "hi"),), {"label": "NA"})
    assert (second.id, second.turns, second.metadata) == ("#8", (Turn("I, too", "yes"),), {"label": ""})


@pytest.mark.parametrize(
    ("sign", "name"), [(",", "a.csv"), (";", "a.csv"), ("\t", "a.tsv"), ("\t", "a.csv"), ("|", "a.csv")]
)
def test_the_delimiter_is_found(read_file, sign, name):
    [conversation] = read_file(
        sign.join(("id", "prompt", "response")) + "\n" + sign.join(("1", "hello", "hi")), name=name
    )
    assert conversation.turns == (Turn("hello", "hi"),)


def test_a_message_may_hold_line_breaks_and_the_next_row_has_its_own_line(read_file):
    table = 'prompt,response\n"one\ntwo\n\nthree",hi\n\n"four\r\nfive",hi,too many\n'
    with pytest.raises(InputError, match=r"a\.csv:7: this row has 3 fields where the header has 2\."):
        read_file(table, name="a.csv")
    [conversation] = read_file(table.replace(",too many", "")[: table.index('\n\n"four')], name="a.csv")
    assert conversation.turns[0].user == "one\ntwo\n\nthree"


def test_a_field_may_be_huge(read_file):
    words = "so it goes " * 50_000
    [conversation] = read_file(f"prompt,response\nhello,{words}\n", name="a.csv")
    assert conversation.turns == (Turn("hello", words),)


def test_windows_line_ends_a_byte_order_mark_and_blank_lines_do_no_harm(read_file):
    [conversation] = read_file(b"\xef\xbb\xbf\r\nprompt,response\r\n\r\nhello,hi\r\n\r\n", name="a.csv")
    assert conversation.turns == (Turn("hello", "hi"),)


def test_a_nul_and_right_to_left_text_are_text(read_file):
    [conversation] = read_file("prompt,response\n\0שלום,مرحبا\n", name="a.csv")
    assert conversation.turns == (Turn("\0שלום", "مرحبا"),)


def test_a_quotation_mark_that_is_never_closed_is_named_with_the_line_of_its_row(read_file):
    with pytest.raises(InputError, match=r"a\.csv:3: this row cannot be read .*quotation mark"):
        read_file('prompt,response\nhello,hi\n"oh,no\nx,y\n', name="a.csv")


def test_a_byte_that_is_not_utf8_is_named_with_its_line(read_file):
    with pytest.raises(InputError, match=r"a\.csv:3: this is not UTF-8 text \(the line has 0xe9 as byte 4\)"):
        read_file(b"prompt,response\nhello,hi\ncaf\xe9,hi\n", name="a.csv")
    with pytest.raises(InputError, match=r"a\.csv:3: this is not UTF-8 text \(the line has 0xe9 as byte 1\)"):
        read_file(b'prompt,response\n"hello\n\xe9",hi\n', name="a.csv")


def test_a_column_that_occurs_twice_is_refused(read_file):
    with pytest.raises(InputError, match=r"a\.csv:1: the header has the column 'prompt' twice"):
        read_file("prompt,prompt,response\na,b,c\n", name="a.csv")


def test_a_header_without_rows_holds_nothing(read_file):
    with pytest.raises(InputError, match=r"a\.csv:1: the file is empty"):
        read_file("prompt,response\n", name="a.csv")


def test_a_table_is_known_by_its_header_where_the_name_says_nothing(read_file):
    [conversation] = read_file("id\tprompt\tresponse\n1\thello\thi\n", name="export.txt")
    assert conversation.turns == (Turn("hello", "hi"),)
    [conversation] = read_file(
        "said;heard\nhello;hi\n", name="export", format=Format.CSV, prompt="said", response="heard"
    )
    assert conversation.turns == (Turn("hello", "hi"),)

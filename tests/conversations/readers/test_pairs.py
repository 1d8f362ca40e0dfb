import pytest

from attunement.conversations import Turn
from attunement.errors import InputError


def test_pairs_are_read_as_a_record_or_under_a_name(read_file):
    pairs = [["a", "b"], ["c", "d"]]
    for record in (pairs, {"pairs": pairs}, {"history": pairs}, {"conversation": pairs}, {"dialogue": pairs}):
        [conversation] = read_file(record, {"pairs": [["other", "words"]]})[:1]
        assert conversation.turns == (Turn("a", "b"), Turn("c", "d"))


def test_null_in_a_pair_means_that_this_side_said_nothing(read_file):
    [conversation] = read_file({"pairs": [[None, "welcome"], ["a", "b"], ["c", None]]})
    assert conversation.turns == (Turn("", "welcome"), Turn("a", "b"))


@pytest.mark.parametrize("pair", [["a"], ["a", "b", "c"], "ab", {"a": "b"}, ["a", 7]])
def test_what_is_no_pair_is_named(read_file, pair):
    with pytest.raises(InputError, match=r"chats.jsonl:1: pair 2 is not a list of two messages"):
        read_file({"pairs": [["a", "b"], pair]})

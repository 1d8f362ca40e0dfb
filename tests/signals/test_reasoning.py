import pytest
from hypothesis import given
from hypothesis import strategies as st

from attunement.conversations import Turn
from attunement.evidence import Standing, verify
from attunement.signals.reasoning import LIMIT, Seen, answer, apart, onward, quote, whole
from tests.signals.test_lexicon import ANY_TEXT


@pytest.mark.parametrize(
    ("message", "quoted"),
    [
        ("I'm not the users' friend, ok?", "I'm not the users"),
        ('She said "fair enough" and left the room.', "and left the room"),
        ("One line\nand a longer second line", "and a longer second line"),
        ("😀!!", ""),
    ],
)
def test_a_quote_is_the_longest_run_that_can_stand_between_marks(message: str, quoted: str) -> None:
    assert quote(whole(1, message)) == quoted


def test_a_quote_ends_with_a_whole_word() -> None:
    assert quote(whole(1, "one two three four"), longest=10) == "one two"


def test_evidence_runs_on_to_the_end_of_its_sentence_and_does_not_overlap() -> None:
    seen = onward(Seen(1, "You need to go. Now.", 0, 8))
    assert seen.message[seen.start : seen.end] == "You need to go"
    assert apart([seen, seen._replace(start=4), whole(2, "Ok")]) == [seen, whole(2, "Ok")]


@given(st.lists(st.tuples(ANY_TEXT, ANY_TEXT), min_size=1, max_size=4), st.data())
def test_every_quote_of_a_reasoning_is_found_in_its_turn(pairs: list[tuple[str, str]], data: st.DataObject) -> None:
    turns = [Turn(*pair) for pair in pairs]
    seen: list[Seen] = []
    for turn, (_, reply) in enumerate(turns, start=1):
        start = data.draw(st.integers(0, len(reply)))
        seen.append(Seen(turn, reply, start, data.draw(st.integers(start, len(reply)))))
    given_ = answer("NO", seen, "This is what the turns say")
    assert len(given_.reasoning) <= LIMIT
    assert given_.reasoning.endswith(": NO.")
    for finding in verify(given_.reasoning, turns):
        assert finding.quote is None or finding.standing is Standing.FOUND

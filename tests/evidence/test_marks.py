import pytest
from hypothesis import given
from hypothesis import strategies as st

from attunement.evidence.citations import quotes


def found(text: str) -> list[str]:
    return [quote.words for quote in quotes(text)]


@pytest.mark.parametrize(
    "quoted",
    [
        "'I am tired'",
        '"I am tired"',
        "“I am tired”",
        "‘I am tired’",
        "«I am tired»",
        "„I am tired“",
        "‚I am tired‘",
        "「I am tired」",
    ],
)
def test_quotes_are_found_in_every_kind_of_marks(quoted: str) -> None:
    text = f"Turn 3: {quoted}, which is clear."
    assert found(text) == ["I am tired"]
    start, end, _ = quotes(text)[0]
    assert text[start:end] == quoted


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("it says 'I'm sure you're fine' warmly", ["I'm sure you're fine"]),
        ("it says ‘I’m sure you’re fine’ warmly", ["I’m sure you’re fine"]),
        ("takes up 'my parents' house is cold' (Turn 2)", ["my parents' house is cold"]),
        ("takes up 'she kept talkin' about it', then", ["she kept talkin' about it"]),
        ("'hard feelings' are met and the users' view is heard", ["hard feelings"]),
        ("the users' view and the bot's reply", []),
        ("back in the '90s he said 'not now'", ["not now"]),
        ("both 'numb' and 'tired'", ["numb", "tired"]),
        ("('You're here', 'I hear you')", ["You're here", "I hear you"]),
        ("Turn 2's 'numb' feeling", ["numb"]),
        ("he is 5'10\" tall", []),
        ("'' and \"\"", []),
        ("助手说'你好吗？'然后", ["你好吗？"]),
    ],
)
def test_apostrophes_are_told_from_quotation_marks(text: str, expected: list[str]) -> None:
    assert found(text) == expected


def test_of_a_quote_within_a_quote_only_the_outer_one_counts() -> None:
    assert found("opens with 'When you say \"I can't\"' and") == ['When you say "I can\'t"']
    assert found("recalls \"you called it 'the fog' once\".") == ["you called it 'the fog' once"]
    assert found("'It's not 'broken' at all' (Turn 1)") == ["It's not 'broken' at all"]


def test_a_quote_that_the_reasoning_breaks_off_in_is_kept_up_to_its_last_whole_word() -> None:
    assert found("Turn 3: 'That sounds really har") == ["That sounds really"]
    assert found('Turn 3: "I feel so') == ["I feel"]


def test_an_unmatched_mark_in_a_finished_sentence_is_no_quote() -> None:
    assert found("Back in the '90s this was fine.") == []


@given(st.text(alphabet="ab s'\"‘’“”«»„ .()", max_size=200))
def test_quotes_never_overlap_and_hold_what_stands_between_their_marks(text: str) -> None:
    end = 0
    for quote in quotes(text):
        assert quote.start >= end
        assert text[quote.start + 1 :].startswith(quote.words)
        end = quote.end
    assert end <= len(text)

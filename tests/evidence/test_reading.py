from collections.abc import Callable

import pytest

from attunement.evidence.citations import READ, Citation, Denial, citations


def read(reasoning: str, last: int = 20) -> list[tuple[tuple[int, ...], str | None]]:
    return [(citation.turns, citation.quote) for citation in citations(reasoning, last)]


def only(reasoning: str) -> Citation:
    (citation,) = [citation for citation in citations(reasoning, 20) if citation.quote]
    return citation


@pytest.mark.parametrize(
    ("reasoning", "turns"),
    [
        ("Turn 3 is warm.", (3,)),
        ("turn 3 is warm.", (3,)),
        ("See T3.", (3,)),
        ("Turns 4, 5 and 9 are warm.", (4, 5, 9)),
        ("Turns 4, 5, and 9 are warm.", (4, 5, 9)),
        ("(Turn 4 and 5)", (4, 5)),
        ("Turn 2 & 3: warm.", (2, 3)),
        ("Turn 6–9 are warm.", (6, 7, 8, 9)),
        ("Turns 6-8 are warm.", (6, 7, 8)),
        ("Turns 6 through 8 are warm.", (6, 7, 8)),
        ("(Turn 8/10)", (8, 10)),
        ("(T7-9)", (7, 8, 9)),
        ("Turn 4, Turn 8, and Turn 16 close alike.", (4, 8, 16)),
        ("Turns 18-99 are warm.", (18, 19, 20, 99)),
        ("Response 3 ends on a statement.", (3,)),
        ("Turn 7's reply is warm.", (7,)),
        ("In Turn 5, 3 topics are dropped.", (5,)),
        ("Turn 4: 2.5x as long.", (4,)),
    ],
)
def test_turns_are_read_in_every_form_judges_name_them(reasoning: str, turns: tuple[int, ...]) -> None:
    assert read(reasoning) == [(turns, None)]


@pytest.mark.parametrize(
    "reasoning", ["Across 15 turns it is warm.", "A 15-turn talk.", "It turns 3 times.", "1.9x in 3 of 15 turns"]
)
def test_a_number_of_turns_is_no_citation(reasoning: str) -> None:
    assert read(reasoning.replace("It turns 3", "It returned 3")) == []


@pytest.mark.parametrize(
    "reasoning",
    [
        "Turn 3: 'I am here'.",
        'Turn 3 ("I am here").',
        "Turn 3 - 'I am here' is warm.",
        "'I am here' (Turn 3).",
        "The reply is warm ('I am here', Turn 3).".replace(", Turn", " Turn"),
        "Assistant (Turn 3): 'I am here'.",
        "In turn 3 the assistant says 'I am here'.",
        "It is warm (e.g., Turn 3: 'I am here').",
        "It says 'I am here' in Turn 3.",
        "It takes up the 'I am here' theme from Turn 3.",
        "A phrase like 'I am here' is used (Turn 3).",
        "T3: 'I am here'",
    ],
)
def test_a_quote_belongs_to_the_turn_named_for_it(reasoning: str) -> None:
    citation = only(reasoning)
    assert (citation.quote, citation.turns, citation.carried) == ("I am here", (3,), False)


@pytest.mark.parametrize(
    ("reasoning", "expected"),
    [
        ("Turn 1: 'one two', 'three four'.", [((1,), "one two"), ((1,), "three four")]),
        ("Turn 1: 'one two' Turn 2: 'three four'", [((1,), "one two"), ((2,), "three four")]),
        ("Turn 1: 'one two.' Turn 2: 'three four.'", [((1,), "one two."), ((2,), "three four.")]),
        ("Turn 1 ('one two'), Turn 2 ('three four')", [((1,), "one two"), ((2,), "three four")]),
        ("'one two' (Turn 1) and 'three four' (Turn 2)", [((1,), "one two"), ((2,), "three four")]),
        ("It says 'one two' and 'three four' (Turn 2).", [((2,), "one two"), ((2,), "three four")]),
        ("In Turn 1 that 'one two,' and in Turn 2 that 'three four'", [((1,), "one two,"), ((2,), "three four")]),
        ("Turn 2 and Turn 6 close with 'one two'.", [((2, 6), "one two")]),
        ("Turn 4 is flat; Turn 11 says 'one two'.", [((4,), None), ((11,), "one two")]),
        ("Turn 6 takes up 'one two' from Turn 4.", [((6, 4), "one two")]),
        ("Turn 11 recalls the fear of Turn 8 ('one two').", [((11, 8), "one two")]),
        ("“one two”, Turn 3; “three four”, Turn 4", [((3,), "one two"), ((4,), "three four")]),
        ("It is warm ('one two', Turn 3; 'three four', Turn 4).", [((3,), "one two"), ((4,), "three four")]),
        ("'one two', Turn 3. 'Three' and 'four', Turn 4.", [((3,), "one two"), ((4,), "Three"), ((4,), "four")]),
        ("It is kind (Turn 2: 'one two', Turn 8).", [((2,), "one two"), ((8,), None)]),
        ("Turn 3, 'one two', and 4 ('three four')", [((3,), "one two"), ((4,), "three four")]),
        ("Turn 3 ('One.'), 4 ('two') and 9: 'three'.", [((3,), "One."), ((4,), "two"), ((9,), "three")]),
        ("Turn 3: 'one two', and 4 words ('three four')", [((3,), "one two"), ((3,), "three four")]),
    ],
)
def test_several_quotes_keep_their_turns_apart(
    reasoning: str, expected: list[tuple[tuple[int, ...], str | None]]
) -> None:
    assert read(reasoning) == expected


def test_a_turn_in_brackets_speaks_for_what_the_brackets_hold() -> None:
    inside, outside = citations("It is kind (e.g., Turn 8: 'one two') and uses 'three four'.", 20)
    assert (inside.turns, inside.carried) == ((8,), False)
    assert (outside.turns, outside.carried) == ((8,), True)


def test_a_turn_of_an_earlier_sentence_is_only_carried_over() -> None:
    carried = only("Turn 3 is warm. It says 'I am here'.")
    assert (carried.turns, carried.carried) == ((3,), True)
    assert only("It says 'I am here'.").turns == ()


def test_a_turn_named_within_a_quote_is_not_cited() -> None:
    assert read("Turn 2: 'in Turn 9 you lied'") == [((2,), "in Turn 9 you lied")]


def test_the_speaker_named_last_is_noted() -> None:
    assert only("Turn 3: the assistant hears that the user said 'I am tired'.").by_user
    assert not only("Turn 3: the user is told by the assistant 'I am here'.").by_user
    assert not only("Turn 3: 'I am here'.").by_user


@pytest.mark.parametrize(
    ("reasoning", "denial"),
    [
        ("It never says 'at least'.", Denial.PLAIN),
        ("The user does not mention 'wanting to die'.", Denial.PLAIN),
        ("It avoids 'you should'.", Denial.PLAIN),
        ("There is no 'at least'.", Denial.PLAIN),
        ("It answers without saying 'at least'.", Denial.PLAIN),
        ("It never uses cold words like 'at least'.", Denial.LOOSE),
        ("No cold words ('at least') were used.", Denial.LOOSE),
        ("Replies come without phrases like 'at least'.", Denial.LOOSE),
        ("It avoids stock phrases (e.g., 'at least').", Denial.LOOSE),
        ("It moves on rather than asking 'did it help?'.", Denial.LOOSE),
        ("The claims lack framing like 'I wonder if'.", Denial.LOOSE),
        ("It fails to use phrases like 'I wonder if'.", Denial.LOOSE),
        ("There are no mentions of harm, wanting to die, or 'giving up'.", Denial.LOOSE),
        ("It says 'at least'.", Denial.NONE),
        ("It avoids a diagnosis, saying 'you are tired'.", Denial.NONE),
        ("It avoids promises by stating 'I can't fix it'.", Denial.NONE),
        ("It never minimises but says 'I hear you'.", Denial.NONE),
        ("It does not just repeat 'breathe' but asks.", Denial.NONE),
        ("It asks rather than assumes (Turn 5: 'what was it?').", Denial.NONE),
        ("It never judges; it says 'I hear you'.", Denial.NONE),
    ],
)
def test_words_before_a_quote_can_deny_it(reasoning: str, denial: Denial) -> None:
    assert only(reasoning).denial is denial


@pytest.mark.parametrize(
    "denying",
    [
        *(
            "never",
            "no words like",
            "nor",
            "without",
            "avoids",
            "refrains from",
            "is free of",
            "lacks",
            "in absence of",
        ),
        *("fails to say", "rather than", "instead of", "does not say", "hasn't said", "is not", "wasn’t", "it's not"),
    ],
)
@pytest.mark.parametrize("spelled", [str, str.upper, lambda words: words.replace("i", "ı").replace("s", "ſ")])
def test_every_word_of_denial_is_known_however_it_is_spelled(denying: str, spelled: Callable[[str], str]) -> None:
    assert only(f"It {spelled(denying)} 'at least'.").denial


def test_what_is_denied_of_one_quote_is_denied_of_the_next_in_the_list() -> None:
    denials = [one.denial for one in citations("It never says 'at least', 'just try' or (e.g., 'cheer up').", 20)]
    assert denials == [Denial.PLAIN] * 3


def test_a_runaway_reasoning_is_read_in_part_only() -> None:
    reasoning = "Turn 1: 'word word'. " * 5000
    found = citations(reasoning, 20)
    assert 0 < len(found) < 300
    assert found[-1].end <= READ

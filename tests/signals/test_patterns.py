import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attunement.signals.lexicon import FOLDER, fold, read
from attunement.signals.patterns import Pattern, PatternError, any_of

LISTS = {"pet": "(cat|dog|guinea pig)"}


def found(pattern: str, text: str) -> str | None:
    match = Pattern(pattern, LISTS).regex.search(fold(text))
    return text[match.start() : match.end()] if match else None


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        ("want to die", "I want to die.", "want to die"),
        ("want to die", "I want, to -- die", "want, to -- die"),
        ("want to die", "I want to diet", None),
        ("don't care", "i dont care", "dont care"),
        ("don't care", "I DON’T care", "DON’T care"),
        ("can go", "I can't go", None),
        ("self-harm", "self harm", "self harm"),
        ("self-harm", "selfharm", "selfharm"),
        ("(red|dark blue) coat", "a dark blue coat", "dark blue coat"),
        ("really? sad", "so sad", "sad"),
        ("really? sad", "really sad", "really sad"),
        ("sad (again|today)?", "sad today", "sad today"),
        ("my @pet died", "my guinea pig died", "my guinea pig died"),
        ("kill .. day", "kill the day", "kill the day"),
        ("kill .. day", "kill the whole long day", None),
        ("kill ... day", "kill the whole long day", "kill the whole long day"),
        (
            "hit ~ again",
            "hit me so hard that I lay there for an hour, again",
            "hit me so hard that I lay there for an hour, again",
        ),
        ("in 19##", "in 1998", "in 1998"),
        ("in 19##", "in 19988", None),
        ("ice", "twice, nice ice", "ice"),
        ("em", "y'em, ''em", "em"),
        ("(go|going) home", "he goes home, going home", "going home"),
        ("(sad|so sad (today)?)", "sadly, so sad today", "so sad today"),
        ("(go home|stay|go|go home now)", "go home now", "go home"),
        ("(go|stay|go home)", "go home", "go"),
        ("(go home|really? go) now", "go home, really go now", "really go now"),
    ],
)
def test_a_pattern_matches_words_and_not_letters(pattern: str, text: str, expected: str | None) -> None:
    assert found(pattern, text) == expected


@pytest.mark.parametrize(
    ("pattern", "complaint"),
    [
        ("(want|wish to die", "not closed"),
        ("want) to", "not opened"),
        ("want|wish", "outside of brackets"),
        (".. die", "begins and ends with a word"),
        ("die ...", "begins and ends with a word"),
        ("(|die)", "begins and ends with a word"),
        ("? die", "follows nothing"),
        ("@bird sang", "no list @bird"),
        ("they 'd go", "hangs on the word before it"),
    ],
)
def test_a_line_that_is_not_in_the_language_is_refused_with_the_reason(pattern: str, complaint: str) -> None:
    with pytest.raises(PatternError, match=re.escape(complaint)):
        _ = Pattern(pattern, LISTS).regex


def test_a_line_in_which_nothing_must_occur_is_refused() -> None:
    with pytest.raises(PatternError, match="no word that must occur"):
        _ = Pattern("sad? tired?", LISTS).clues


def test_a_clue_asks_for_the_other_words_of_its_own_alternative() -> None:
    clues = Pattern("(pack your bags|hail a cab) (now|tomorrow)", LISTS).clues
    assert clues["pack"] == ({"bags"}, {"your"}, {"now", "tomorrow"})
    assert clues["hail"] == ({"cab"}, {"now", "tomorrow"}, {"a"})


def test_a_clue_of_several_alternatives_asks_for_the_words_of_any_of_them() -> None:
    assert Pattern("(wooden spoon|spoon rest)", LISTS).clues["spoon"] == ({"rest"},)
    assert Pattern("(zinc spoon|spoon)", LISTS).clues["spoon"] == ()


LINES = [
    Pattern(line, {name: words for other in files for name, words in other.lists.items()})
    for files in [[read(path) for path in sorted(FOLDER.glob("*.yaml"))]]
    for file in files
    for signal in file.signals
    for line in signal.patterns
]


@st.composite
def phrases(draw: st.DrawFn, parts) -> str:
    """Words that a line allows, without what may be absent or anything."""
    said: list[str] = []
    for part in parts:
        if part.choices:
            one = draw(phrases(draw(st.sampled_from(part.choices))))
        else:
            one = "" if part.filler else part.text.replace("#", "7")
        said += [] if part.optional and draw(st.booleans()) else [one]
    return " ".join(filter(None, said))


@given(st.data())
def test_every_phrase_of_a_line_is_found_and_holds_its_clues(data: st.DataObject) -> None:
    line = data.draw(st.sampled_from(LINES))
    phrase = fold(data.draw(phrases(line.parts)))
    words = set(re.findall(r"\w+", phrase.replace("'", "")))
    assert line.regex.search(f"so {phrase}, yes")
    assert re.search(any_of([Pattern("never", {}), line]), phrase)
    assert any(word in words and all(words & those for those in sets) for word, sets in line.clues.items())


def test_every_line_of_every_lexicon_is_in_the_language() -> None:
    files = [read(path) for path in sorted(FOLDER.glob("*.yaml"))]
    lists = {name: words for file in files for name, words in file.lists.items()}
    for file in files:
        for signal in file.signals:
            for line in signal.patterns:
                assert Pattern(line, lists).clues
        for guard in file.guards.values():
            for line in (*guard.patterns, *(guard.unless.patterns if guard.unless else ())):
                assert Pattern(line, lists).regex

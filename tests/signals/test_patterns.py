import re

import pytest

from attunement.signals.lexicon import FOLDER, fold, read
from attunement.signals.patterns import Pattern, PatternError

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

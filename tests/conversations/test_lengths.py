import csv
import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attunement.conversations.model import Turn
from attunement.conversations.statistics import LengthStatistics, TurnLength, length_statistics, words


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("", 0),
        (" \n\t ", 0),
        ("I can't sleep — it's 24/7.", 6),
        ("“I can’t sleep” – it’s… 24/7.", 6),
        ("non\u00a0breaking", 2),
        ("isn’t\u00a0breaking", 2),
        ("“我很难过。”", 4),
        ("naïve Straße", 2),
        ("잠을 못 자요", 3),
        ("我很难过。", 4),
        ("我用Python写代码", 6),
        ("眠れない、ずっと。", 7),
        ("ฉันเหนื่อยมาก", 4),  # 13 signs
        ("ฉัน เหนื่อย", 3),
        ("。", 1),
    ],
)
def test_words_are_what_spaces_separate_and_scripts_without_spaces_are_counted_by_their_signs(text: str, count: int):
    assert words(text) == count


@given(st.text(), st.text())
def test_words_of_two_texts_add_up(first: str, second: str):
    assert words(f"{first} {second}") == words(first) + words(second)


@given(
    st.text(alphabet=st.characters(max_codepoint=0x2000)).filter(lambda text: not re.search("[\u0e00-\u17ff]", text))
)
def test_spaced_scripts_are_counted_by_white_space_alone(text: str):
    assert words(text) == len(text.split())


def test_the_mean_ratio_is_the_mean_of_the_turns_ratios():
    statistics = length_statistics([Turn("one two", "a b c d e f"), Turn("one two three four", "a b c d")])
    assert statistics == LengthStatistics((TurnLength(2, 6, 3.0), TurnLength(4, 4, 1.0)), 3.0, 5.0, 2.0, 1)
    assert statistics.share_above_double == 0.5


def test_exactly_double_is_not_above_double():
    assert length_statistics([Turn("one", "a b")]).above_double == 0


def test_an_opening_of_the_assistant_has_no_ratio_and_does_not_dilute_the_rest():
    statistics = length_statistics([Turn("", "Hello, what brings you here?"), Turn("I am tired", "a b c d e f g")])
    assert statistics.turns[0] == TurnLength(0, 5, None)
    assert statistics.mean_user == 3.0
    assert statistics.mean_ratio == pytest.approx(7 / 3)
    assert statistics.share_above_double == 1.0


@pytest.mark.parametrize("turns", [[], [Turn("", "Hello")]])
def test_where_nothing_can_be_compared_there_is_no_ratio_and_no_share(turns: list[Turn]):
    statistics = length_statistics(turns)
    assert statistics.mean_ratio is None
    assert statistics.share_above_double is None
    assert statistics.mean_user == 0.0


def test_the_figures_agree_with_those_quoted_in_the_published_study(shared_data: Path):
    # The judges of the study were shown these statistics and repeat the mean ratio and the turns above 2x.
    folder = shared_data / "coaching-judges"
    with (folder / "conversations.jsonl").open(encoding="utf-8") as lines:
        turns = {record["id"]: [Turn(**turn) for turn in record["turns"]] for record in map(json.loads, lines)}
    with (folder / "answers.csv").open(encoding="utf-8", newline="") as file:
        answers = [row for row in csv.reader(file) if row[2] == "CP2"]
    quoted = 0
    for conversation, _, _, _, reasoning in answers:
        # One partial run of the study was judged after its first turn; the others quote the whole conversation.
        found = re.search(r"(\d\.\d\d)x\b.*?\b(\d+)/(\d+) turns", reasoning)
        if not found or int(found[3]) != len(turns[conversation]):
            continue
        statistics = length_statistics(turns[conversation])
        assert statistics.mean_ratio == pytest.approx(float(found[1]), abs=0.0051), conversation
        assert statistics.above_double == int(found[2]), conversation
        quoted += 1
    assert quoted >= 10

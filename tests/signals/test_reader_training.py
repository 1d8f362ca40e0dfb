"""What the trained reader learns from, how its texts are kept apart, and how sure it must be."""

import hashlib
import json
import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from training.corpora import FOLDS
from training.public import LABELS as PUBLIC_LABELS
from training.public import LEFT_OUT, Said, is_learned_from, labels_mark, mark, read_public, stretches
from training.reader_card import CARD, card
from training.reader_figures import LOOK_ALIKES, PUBLIC, RESULTS, TALKS, alarmed, alarms, area, choose_threshold
from training.sideways import (
    DANGER,
    DANGERS,
    HARM,
    HARMS,
    LABELS,
    NONE,
    Text,
    among_others,
    examples_of,
    fingerprint,
    folds_of,
    read_contrast,
    read_sentences,
)

from attunement.signals import reader
from attunement.signals.crisis import CueKind
from attunement.signals.harm import HarmKind
from attunement.signals.validity import measured
from attunement.signals.windows import LONGEST
from tests.signals.sentences import sentences

TALK = {
    "turns": [
        {"user": "The bus was late again.", "assistant": "That is tiring. What did you do while you waited?"},
        {"user": "I gave my cat away. I won't need her.", "assistant": "Are you thinking of ending your life?"},
    ]
}


@pytest.fixture(scope="module")
def texts() -> list[Text]:
    return read_sentences()


def message(text: str, kind: str = NONE, file: str = "messages-1", line: int = 1, words: str = "") -> Text:
    return Text(file, line, 0, DANGER, "", text, kind, words=words)


def written(folder: Path, *rows: dict[str, object]) -> list[Text]:
    (folder / "conversations-1.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")
    return read_sentences(folder)


def test_the_kinds_are_those_of_the_detectors(texts: list[Text]) -> None:
    assert set(DANGERS) == set(CueKind)
    assert set(HARMS) == {*HarmKind, reader.DIET}
    for asks, kinds in ((DANGER, DANGERS), (HARM, HARMS)):
        assert {text.kind for text in texts if text.asks == asks} - {NONE, asks} == set(kinds)
    assert [name for name, _ in LABELS[:2]] == [reader.DANGER, reader.HARM]


def test_no_contrast_sentence_that_gives_a_figure_is_learned_from() -> None:
    learned = {text.text for text in read_contrast()}
    assert learned
    for name in ("crisis", "harm"):
        held = {sentence.text for sentence in sentences(name, held=True)}
        tuned = {sentence.text for sentence in sentences(name, held=False)}
        assert not learned & (held - tuned)


def test_no_text_occurs_twice_and_nearly_all_reasons_are_words_of_their_text(texts: list[Text]) -> None:
    assert len({(text.said, text.text) for text in texts}) == len(texts)
    assert sum(text.words not in text.text for text in texts) < 0.02 * len(texts)


def test_of_a_harmless_conversation_nothing_is_danger_or_harm(tmp_path: Path) -> None:
    found = written(tmp_path, TALK)
    assert [(text.turn, text.asks, text.kind, text.calm) for text in found] == [
        (turn, asks, NONE, True) for turn in (1, 2) for asks in (DANGER, HARM)
    ]


def test_of_a_crisis_the_turns_that_tell_it_are_danger_and_the_conversation_is_not_calm(tmp_path: Path) -> None:
    found = written(tmp_path, TALK | {"crisis": True, "danger_turns": [2]})
    assert [(text.kind, text.calm) for text in found if text.asks == DANGER] == [(NONE, False), (DANGER, False)]
    assert all(text.is_harmless for text in found if text.asks == HARM)


def test_of_a_crisis_without_its_turns_the_messages_are_left_out(tmp_path: Path) -> None:
    assert {text.asks for text in written(tmp_path, TALK | {"crisis": True})} == {HARM}


def test_a_danger_of_unknown_kind_says_nothing_of_the_kinds() -> None:
    (example,) = examples_of(message("I gave my cat away.", DANGER))
    assert example.levels == {DANGER: 1}
    (known,) = examples_of(message("I gave my cat away.", "plan_or_means"))
    assert known.levels == {DANGER: 1} | dict.fromkeys(DANGERS, 0) | {"plan_or_means": 1}


def test_of_a_long_text_the_stretch_with_the_words_is_learned_and_of_a_harmless_one_every_stretch() -> None:
    filler, words = "We went to the lake and the cat slept in the sun. " * 12, "I won't need her after Friday."
    told = message(f"{filler}{words} {filler}", "plan_or_means", words=words)
    (example,) = examples_of(told)
    (span,) = example.reasons[DANGER]
    assert example.reply[span.start : span.end] == words
    quiet = examples_of(told._replace(kind=NONE, words=""))
    assert len(quiet) > 2
    assert all(len(one.reply) <= LONGEST and one.levels[DANGER] == 0 for one in quiet)


def test_twins_and_conversations_are_on_one_side_and_the_folds_are_alike(texts: list[Text]) -> None:
    folds = folds_of(texts)
    by_line: dict[tuple[str, int], set[int]] = {}
    for text, fold in zip(texts, folds, strict=True):
        by_line.setdefault((text.file, text.line), set()).add(fold)
    assert all(len(own) == 1 for own in by_line.values())
    twins = [(line, line + 1) for line in range(1, 900, 2)]
    apart = [pair for pair in twins if len(set.union(*(by_line.get(("messages-2", at), set()) for at in pair))) > 1]
    assert len(apart) <= 1  # one pair shares the scene and hardly a word
    sizes = np.bincount(folds, minlength=FOLDS)
    assert sizes.max() < 2 * sizes.min()


def test_a_file_no_larger_than_a_fold_stays_whole() -> None:
    words = [f"{first}{second}" for first in "abcdefghij" for second in "klmnopqrst"]
    texts = [
        message(f"{words[10 * file + line]} walks alone today", file=f"messages-{file}", line=line)
        for file in range(10)
        for line in range(10)
    ]
    folds = folds_of(texts)
    assert all(len({folds[10 * file + line] for line in range(10)}) == 1 for file in range(10))
    assert set(folds) == set(range(FOLDS))


@given(st.lists(st.text("abc. ", min_size=1, max_size=200), min_size=2, max_size=6), st.integers(0, 9))
def test_a_text_among_others_keeps_its_words_and_what_is_known_of_it(texts: list[str], seed: int) -> None:
    loud = message(f"x {texts[0]} y", "self_harm", words=f"x {texts[0]} y")
    examples = [*examples_of(loud), *(one for text in texts for one in examples_of(message(text)))]
    for made in among_others(examples, 2.0, random.Random(seed)):
        assert len(made.reply) <= max(LONGEST, len(loud.text))
        for span in made.reasons.get(DANGER, []):
            assert made.reply[span.start : span.end] == loud.text
        assert made.levels[DANGER] == (loud.text in made.reply)


CHANCES = st.lists(st.floats(0, 1), min_size=1, max_size=300)


@given(CHANCES, CHANCES, CHANCES)
def test_the_threshold_is_the_lowest_with_few_false_alarms(
    alike: list[float], told: list[float], public: list[float]
) -> None:
    texts = [message(f"{at}", line=at)._replace(near="self_harm") for at in range(len(alike))]
    texts += [Text("conversations-1", at // 3, 1 + at % 3, DANGER, "", f"{at}", NONE) for at in range(len(told))]
    texts += [Text("a set", at, 1, DANGER, "", f"{at}", NONE, public=True) for at in range(len(public))]
    threshold = choose_threshold(DANGER, texts, np.array([*alike, *told, *public]))
    talks = [max(told[at : at + 3]) for at in range(0, len(told), 3)]
    groups = ((alike, LOOK_ALIKES), (talks, TALKS), (public, PUBLIC))

    def few(cut: float) -> bool:
        return all(sum(one > cut for one in group) <= share * len(group) for group, share in groups)

    assert few(threshold)
    lower = [one for group, _ in groups for one in group if one < threshold]
    assert not lower or not few(max(lower))


def test_alarms_are_counted_by_kind_and_found_again_by_line() -> None:
    texts = [message("a", line=1), message("b", "self_harm", line=2), message("c", "self_harm", line=3)]
    chances = np.array([0.1, 0.9, 0.2])
    assert alarms(DANGER, texts, chances, 0.5) == {"found": (1, 2), "harmless": (0, 1), "self_harm": (1, 2)}
    assert alarmed(DANGER, texts, chances, 0.5) == {"messages-1": [[2, 0]]}
    assert area(DANGER, texts, chances) == 1.0
    assert area(DANGER, texts, np.zeros(3)) == 0.5


def test_other_texts_or_another_order_are_told_apart() -> None:
    one, other = message("a"), message("b", line=2)
    assert len({fingerprint(each) for each in ([one], [other], [one, other], [other, one])}) == 4


@pytest.mark.skipif(not reader.available(), reason="the weights of the trained reader are left out")
def test_the_card_and_the_results_are_those_of_the_shipped_weights(texts: list[Text]) -> None:
    results = json.loads(RESULTS.read_text("utf-8"))
    assert hashlib.sha256(reader.WEIGHTS.read_bytes()).hexdigest() == results["sha256"]
    assert (fingerprint(texts), labels_mark()) == (results["texts"], results["labels"])
    assert set(results["used"]) == reader.looks_for()
    assert CARD.read_text("utf-8") == card(results, texts, measured())


def test_no_word_of_public_talk_stands_in_the_labels() -> None:
    kinds = {NONE, LEFT_OUT, *DANGERS, *HARMS}
    for name, (kind, start, end) in json.loads(PUBLIC_LABELS.read_text("utf-8")).items():
        assert len(name) == 12
        assert int(name, 16) >= 0
        assert kind in kinds
        assert 0 <= start <= end <= LONGEST


def test_a_stretch_that_occurs_again_is_read_once_and_one_that_says_nothing_not_at_all() -> None:
    talk = "I went to the lake with my sister on Sunday."
    said = [Said("a set", 1, DANGER, "", text) for text in (talk, f" {talk}", "Okay.")]
    assert [stretch for _, stretch in stretches(said)] == [talk]
    assert mark(DANGER, talk) != mark(HARM, talk)


def test_every_label_is_found_again_in_the_public_talk(shared_data: Path) -> None:
    texts = read_public(shared_data)
    labels = json.loads(PUBLIC_LABELS.read_text("utf-8"))
    read = {mark(text.asks, text.text): text for text in texts}
    assert {name for name, (kind, *_) in labels.items() if kind != LEFT_OUT} <= read.keys()
    assert {name for name, (kind, *_) in labels.items() if kind == LEFT_OUT}.isdisjoint(read)
    assert all(text.public and text.words in text.text for text in texts)
    assert all(text.kind == labels.get(name, [NONE])[0] for name, text in read.items())
    halved = {(text.file, text.line) for text in texts if text.file in {"coaching-judges", "vera-mh"}}
    assert halved
    assert all(is_learned_from(line) for _, line in halved)

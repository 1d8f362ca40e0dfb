"""The trained scorer: what it reads, what it says, and what is said about it."""

import csv
import hashlib
import json
import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from training.card import card
from training.corpora import FOLDS, MECHANISMS, Example, Span, fold_of, read_all, read_epitome
from training.outside import outside
from training.planting import joined, only_reasons, planted, without_reasons

from attunement.errors import JudgeError
from attunement.signals import scorer
from attunement.signals.scorer_network import packed
from attunement.signals.scorer_text import LIMITS

ROOT = Path(__file__).parents[2]
RESULTS = json.loads((ROOT / "training" / "results.json").read_text(encoding="utf-8"))

WORRY = "My sister moved away last month and the house is so quiet now. I do not know what to do with my evenings."
WARM = "I'm so sorry, that must hurt. I'm here for you."
ASKING = "What were your evenings like when she was still there?"
DRY = "Get a dog."
PAIRS = [(WORRY, WARM), (WORRY, ASKING), (WORRY, DRY)]


def near(one: scorer.Reading, other: scorer.Reading) -> bool:
    return one[:3] == pytest.approx(other[:3], abs=1e-4) and one.levels == other.levels and one.quotes == other.quotes


def test_a_warm_reply_has_emotional_reactions_and_a_dry_one_has_none() -> None:
    warm, _, dry = scorer.read(PAIRS)
    assert warm.levels[0] == 2
    assert dry.levels == (0, 0, 0)
    assert warm.reactions > 1 > dry.reactions


def test_a_reply_that_asks_about_the_person_has_explorations() -> None:
    warm, asking, _ = scorer.read(PAIRS)
    assert asking.levels[2] == 2
    assert warm.levels[2] == 0


def test_quotes_are_the_words_that_a_level_rests_on() -> None:
    (mixed,) = scorer.read([(WORRY, f"{DRY} {WARM} {ASKING}")])
    assert "sorry" in mixed.quotes[0]
    assert "Get a dog" not in mixed.quotes[0]
    assert "evenings like" in mixed.quotes[2]
    assert "sorry" not in mixed.quotes[2]


@settings(max_examples=15)
@given(st.lists(st.tuples(st.text(max_size=40), st.text(max_size=200)), max_size=6))
def test_any_text_is_read_within_the_scale_and_quoted_as_it_stands(pairs: list[tuple[str, str]]) -> None:
    readings = scorer.read(pairs)
    assert len(readings) == len(pairs)
    for (_, reply), reading in zip(pairs, readings, strict=True):
        assert all(0 <= level <= 2 for level in reading[:3])
        assert set(reading.levels) <= {0, 1, 2}
        assert reading.unsafe is not None
        assert 0 <= reading.unsafe <= 1
        assert all(quote in reply for quote in reading.quotes)
        assert not any(quote for quote, level in zip(reading.quotes, reading.levels, strict=True) if not level)


def test_empty_texts_and_half_characters_are_read() -> None:
    assert len(scorer.read([("", ""), ("", DRY), (WORRY, ""), ("\ud800", "\udfff and so on")])) == 4
    assert scorer.read([]) == []


def test_readings_come_in_the_order_of_the_pairs_whatever_their_company() -> None:
    pairs = [(WORRY, f"{reply} {'And so on. ' * times}") for times in (0, 3, 30) for _, reply in PAIRS]
    alone = [scorer.read([pair])[0] for pair in pairs]
    order = random.Random(3).sample(range(len(pairs)), len(pairs))
    together = scorer.read([pairs[at] for at in order])
    assert all(near(together[place], alone[at]) for place, at in enumerate(order))


def test_the_same_pairs_are_read_the_same_twice() -> None:
    assert scorer.read(PAIRS) == scorer.read(PAIRS)


def test_more_pairs_than_one_portion_are_all_read() -> None:
    readings = scorer.read([(WORRY, WARM)] * 300)
    assert len(readings) == 300
    assert near(readings[0], readings[-1])


def test_of_a_long_reply_the_beginning_and_the_end_are_read_and_of_a_long_context_the_end() -> None:
    padding = "This is a sentence about nothing in particular. " * 20_000
    long, short = scorer.read([(padding + WORRY, WARM + padding + ASKING), (WORRY, padding)])
    assert long.levels[0] > 0
    assert long.levels[2] == 2
    assert "sorry" in long.quotes[0]
    assert "evenings like" in long.quotes[2]
    # A quotation never spans what was not read.
    assert all(len(quote) < 2000 for quote in (*long.quotes, *short.quotes))
    (tokens,) = packed(scorer.TOKENIZER, [(padding, padding)])
    assert len(tokens.ids) == LIMITS.context + LIMITS.reply + 3


def test_words_far_apart_in_a_long_blank_reply_are_found_where_they_stand() -> None:
    reply = f"{WARM}{' ' * 100_000}{ASKING}"
    (tokens,) = packed(scorer.TOKENIZER, [(WORRY, reply)])
    last = [span for span in tokens.spans if span != (0, 0)][-1]
    assert reply[slice(*last)] == "?"


def test_without_the_weights_file_the_scorer_says_that_it_is_absent(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(scorer, "EPITOME", tmp_path / "epitome.onnx")
    assert not scorer.available()
    with pytest.raises(JudgeError, match=r"absent because epitome\.onnx was left out"):
        scorer.read(PAIRS)


def test_the_weights_are_small_and_travel_with_the_notices_of_those_whose_data_they_come_from() -> None:
    assert sum(path.stat().st_size for path in scorer.FOLDER.iterdir()) < 50e6
    for text in (scorer.ATTRIBUTION, scorer.notice()):
        for word in (
            "Sharma",
            "Miner",
            "Atkins",
            "Althoff",
            "University of Washington",
            "iEval",
            "DiaSafety",
            "MiniLM",
        ):
            assert word in text
    assert "BSD 3-Clause License" in scorer.notice()


def test_the_model_card_shows_the_figures_of_the_results_file() -> None:
    assert (ROOT / "docs" / "model-card.md").read_text(encoding="utf-8") == card(RESULTS)


def test_the_results_are_those_of_the_shipped_file_and_reach_the_aims() -> None:
    assert hashlib.sha256(scorer.EPITOME.read_bytes()).hexdigest() == RESULTS["shipped"]["sha256"]
    cross, form = RESULTS["cross_validation"], RESULTS["shipped"]["form"]
    for name, aim in zip(MECHANISMS, (0.68, 0.74, 0.79), strict=True):
        assert cross[name]["forms"][form]["value"] >= aim


@pytest.mark.slow
def test_the_sets_kept_for_the_end_give_the_figures_of_the_results_file_again(shared_data: Path) -> None:
    again, before = json.loads(json.dumps(outside(shared_data))), RESULTS["outside"]
    assert again.keys() == before.keys()
    for name in MECHANISMS:
        assert again["epitome"][name]["like with like"] == before["epitome"][name]["like with like"]
    for name in ("lend_an_ear", "empatheticdialogues"):
        for dimension, own in before[name].items():
            if dimension == "replies":
                assert again[name][dimension] == own
            else:
                # Other processors round the last digits otherwise, which can swap neighbours in a ranking.
                now, then = (each["like with like"]["scorer"]["value"] for each in (again[name][dimension], own))
                assert now == pytest.approx(then, abs=0.01)


def test_no_post_that_kumar_sampled_is_learned_from(shared_data: Path) -> None:
    with (shared_data / "kumar2025" / "original_data" / "sample_epitome.csv").open(
        encoding="utf-8", newline=""
    ) as file:
        sampled = {" ".join(row["seeker_post"].lower().split()) for row in csv.DictReader(file)}
    learned = {example.group for example in read_epitome(shared_data)}
    assert len(sampled) == 50
    assert not sampled & learned


def test_no_post_person_or_context_is_on_both_sides_of_a_split(shared_data: Path) -> None:
    examples = read_all(shared_data)
    folds: dict[tuple[str, str], set[int]] = {}
    for example, fold in zip(examples, fold_of(examples), strict=True):
        folds.setdefault((example.corpus, example.group), set()).add(fold)
    assert all(len(own) == 1 for own in folds.values())
    assert {fold for own in folds.values() for fold in own} == set(range(FOLDS))


REPLY = "I am sorry. I lost a friend too. How are you today?"
LABELLED = Example(
    context="My cat died.",
    reply=REPLY,
    levels={"reactions": 2, "interpretations": 1, "explorations": 2},
    reasons={"reactions": [Span(0, 11)], "interpretations": [Span(12, 32)], "explorations": [Span(33, 51)]},
    corpus="epitome",
    group="my cat died.",
)
PLAIN = LABELLED._replace(
    reply="Sleep more.", levels=dict.fromkeys(MECHANISMS, 0), reasons={name: [] for name in MECHANISMS}
)


def marked(example: Example, name: str) -> list[str]:
    return [example.reply[span.start : span.end] for span in example.reasons[name]]


@pytest.mark.parametrize("name", MECHANISMS)
def test_a_reply_without_what_people_marked_loses_that_level_and_keeps_the_others(name: str) -> None:
    flawed = without_reasons(LABELLED, name)
    assert flawed is not None
    assert flawed.levels == {**LABELLED.levels, name: 0}
    assert marked(LABELLED, name)[0] not in flawed.reply
    assert all(marked(flawed, other) == marked(LABELLED, other) for other in MECHANISMS if other != name)


def test_where_what_is_removed_was_also_the_reason_for_another_level_that_one_is_not_known() -> None:
    shared = LABELLED._replace(reasons={**LABELLED.reasons, "interpretations": [Span(0, 32)]})
    flawed = without_reasons(shared, "reactions")
    assert flawed is not None
    assert flawed.levels == {"reactions": 0, "explorations": 2}


def test_only_what_people_marked_keeps_that_level_alone() -> None:
    short = only_reasons(LABELLED, "explorations")
    assert short is not None
    assert short.reply == "How are you today?"
    assert short.levels == {"explorations": 2}


def test_two_replies_after_one_another_have_the_higher_level_of_both() -> None:
    both = joined(PLAIN, LABELLED)
    assert both.levels == {"reactions": 2, "explorations": 2}
    assert marked(both, "reactions") == ["I am sorry."]
    assert joined(LABELLED, PLAIN).levels == LABELLED.levels


def test_nothing_is_planted_where_nothing_is_marked() -> None:
    assert without_reasons(PLAIN, "reactions") is None
    assert only_reasons(PLAIN, "reactions") is None
    assert planted([PLAIN], 1.0, random.Random(1)) == []
    assert len(planted([LABELLED, PLAIN], 2.0, random.Random(1))) == 4

from pathlib import Path

import pytest

from attunement.instruments import load
from attunement.ratings import Mark, RaterKind
from attunement.reports.overview import about_judge, about_raters
from attunement.store import StoredRating, Study
from tests.builders import rating, talk

COACHING = load("coaching-v1")


@pytest.mark.parametrize(
    ("name", "address", "systems", "said"),
    [
        ("openai:gpt-5.2-2025-12-11", "https://api.openai.com/v1", ["Harbor"], []),
        ("openai:gpt-5.2", "https://api.openai.com/v1", ["Harbor"], ["without a date"]),
        ("openai:gpt-5.2", "http://127.0.0.1:8080/v1", ["our-gpt-4o"], ["same model family (gpt)"]),
        ("local:qwen.gguf", None, ["Harbor"], []),
    ],
)
def test_a_judge_of_the_same_family_and_a_name_without_a_date_are_pointed_out(
    name: str, address: str | None, systems: list[str], said: list[str]
):
    sentences = list(about_judge(name, address, systems))
    assert len(sentences) == len(said)
    assert all(words in sentence for words, sentence in zip(said, sentences, strict=True))


def test_reasoning_that_was_longer_than_asked_for_is_counted_per_judge(tmp_path: Path):
    with Study(tmp_path / "a.study.db", create=True) as study:
        study.save_instrument(COACHING)
        (key,) = study.save_conversations([talk(("a", "b"))])
        for name, long in (("local:wordy", 2), ("local:brief", 0)):
            rater = study.save_rater(name, RaterKind.MODEL, {})
            for number, item in enumerate(COACHING.items[:3]):
                marks = frozenset({Mark.LONG_REASONING} if number < long else ())
                study.write(
                    [], [StoredRating(key, rater.key, rating(COACHING, item.id, "YES", rater=name, marks=marks))]
                )
        (sentence,) = about_raters(study, study.raters(), ["bot"])
    assert "local:wordy" in sentence
    assert "2 of 3 answers" in sentence

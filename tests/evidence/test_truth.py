"""On truth we can make: what was really said must be found however a judge quotes it, and what was not must not."""

import random
from collections import Counter
from collections.abc import Callable
from itertools import islice
from pathlib import Path

import pytest

from attunement.conversations import Turn
from attunement.evidence import CitationStatus, Finding, verify
from tests.evidence.restyling import (
    Sentence,
    cited,
    conversations,
    restyled,
    sentences,
    shortened,
    stands_in,
    with_a_negation_added,
    with_a_negation_removed,
    with_a_word_changed,
)


@pytest.fixture(scope="module")
def talks(shared_data: Path) -> list[tuple[Turn, ...]]:
    return list(conversations(shared_data / "coaching-judges" / "conversations.jsonl").values())


def accepted(findings: list[Finding], turn: int) -> bool:
    """Whether a quote is said to stand in `turn`, for which it is cited."""
    return any(one.status is CitationStatus.FOUND and one.found_turn == turn for one in findings)


def test_what_was_said_is_found_however_a_judge_writes_it(talks: list[tuple[Turn, ...]]) -> None:
    chance = random.Random(1)
    missed: list[str] = []
    cases = list(islice(sentences(talks, chance), 2000))
    for sentence in cases:
        reasoning = cited(restyled(shortened(sentence.words, chance), chance), sentence.turn, chance)
        if not accepted(verify(reasoning, sentence.turns), sentence.turn):
            missed.append(reasoning)
    print(f"true quotes: {len(cases) - len(missed)} of {len(cases)} found in their turn")
    print(*missed, sep="\n")
    assert len(missed) <= 0.01 * len(cases)


@pytest.mark.parametrize("falsify", [with_a_word_changed, with_a_negation_added, with_a_negation_removed])
def test_a_falsified_quote_is_not_accepted(
    talks: list[tuple[Turn, ...]], falsify: Callable[[list[str], Sentence, random.Random], list[str] | None]
) -> None:
    chance = random.Random(2)
    standings: Counter[str] = Counter()
    wrong: list[str] = []
    cases = 0
    for sentence in sentences(talks, chance):
        words = falsify(shortened(sentence.words, chance), sentence, chance)
        if words is None:
            continue
        cases += 1
        reasoning = cited(restyled(words, chance), sentence.turn, chance)
        findings = verify(reasoning, sentence.turns)
        standings.update(one.status.value for one in findings if one.quote)
        if accepted(findings, sentence.turn):
            wrong.append(reasoning)
        if cases == 800:
            break
    print(f"{falsify.__name__}: {len(wrong)} of {cases} accepted; {dict(standings)}")
    print(*wrong, sep="\n")
    assert len(wrong) <= 0.01 * cases
    assert standings["close"] >= 0.95 * cases


def test_a_quote_of_another_turn_is_not_accepted_in_the_cited_one(talks: list[tuple[Turn, ...]]) -> None:
    chance = random.Random(3)
    wrong: list[str] = []
    cases = elsewhere = 0
    for sentence in sentences(talks, chance):
        shifted = sentence.turn + chance.choice((-2, -1, 1, 2))
        if not 1 <= shifted <= len(sentence.turns):
            continue
        kept = shortened(sentence.words, chance)
        # Some sentences truly come twice.
        if any(stands_in(" ".join(kept), message) for message in sentence.turns[shifted - 1]):
            continue
        cases += 1
        reasoning = cited(restyled(kept, chance), shifted, chance)
        findings = verify(reasoning, sentence.turns)
        elsewhere += any(one.status is CitationStatus.ELSEWHERE for one in findings)
        if accepted(findings, shifted):
            wrong.append(reasoning)
        if cases == 800:
            break
    print(f"turn shifted: {len(wrong)} of {cases} accepted, {elsewhere} found elsewhere")
    print(*wrong, sep="\n")
    assert len(wrong) <= 0.01 * cases
    assert elsewhere >= 0.97 * cases

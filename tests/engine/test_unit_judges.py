"""The embedded judge in a run: through the engine, the study, the rules, the scorecards and the gate."""

import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from attunement import api
from attunement.conversations import Conversation
from attunement.conversations.writing import Shape, write
from attunement.instruments import load
from attunement.questions import Layout
from attunement.ratings import ErrorKind, Rating, State
from attunement.scoring import Verdict
from attunement.study import Study
from tests.builders import talk
from tests.fake_judge import Asked, Behaviour, FakeJudge

EXAMPLES = Path(__file__).parents[2] / "examples"
COACHING = load("coaching-v1")
CALM = talk(*[(f"The move is on Friday, part {n}.", f"Boxes for part {n}, then.") for n in range(3)], id="calm")
MISSED = talk(("Some nights I hope I never wake up.", "Try journaling for ten minutes."), id="missed")


def judge(conversations: list[Conversation], place: Path, **settings: Any) -> api.Result:
    return api.judge(conversations, place, **{"judges": "signals", "instrument": COACHING, **settings})


def kept(place: Path) -> list[Rating]:
    with Study(place) as study:
        return list(study.ratings())


def verdicts(place: Path, rater: str = "signals") -> dict[str, Verdict]:
    return {
        judged.conversation.identity.id: card.verdict
        for judged in api.scorecards(place, COACHING.hash)
        for card in judged.cards
        if card.rater == rater
    }


def content(_: Asked) -> str:
    """The reply of another judge that finds everything met."""
    return '{"reasoning": "Turn 1: fine.", "answer": "YES"}'


def attune(*words: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "attunement", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_an_answer_is_kept_with_its_checked_evidence_and_an_abstention_as_one(place: Path) -> None:
    judge([MISSED], place)
    ratings = {rating.item: rating for rating in kept(place)}
    assert str(ratings["CQ9"].outcome) == "NO"
    assert {finding["standing"] for finding in ratings["CQ9"].evidence} == {"found"}
    assert ratings["CQ8"].outcome.state is State.ABSTAINED
    assert ratings["CQ8"].reasoning == ""


def test_nothing_is_called_paid_or_left_in_error(place: Path) -> None:
    result = judge([CALM, MISSED], place, max_cost=0.0, max_calls=0)
    assert result.progress.calls == 0
    assert result.progress.cost == 0
    assert not result.progress.errors
    assert result.progress.answered == len(kept(place))


def test_a_second_run_reads_nothing_again_in_whatever_layout(place: Path) -> None:
    judge([CALM, MISSED], place)
    first = kept(place)
    again = judge([CALM, MISSED], place)
    assert (again.progress.answered, again.progress.kept) == (0, len(first))
    assert kept(place) == first
    judge([CALM, MISSED], place, layout=Layout.TRANSCRIPT_FIRST)
    assert {rating.rater for rating in kept(place)} == {"signals"}


def test_equal_words_are_rated_alike_in_each_conversation(place: Path) -> None:
    twin = Conversation("twin", "bot", MISSED.turns)
    judge([MISSED, twin], place)
    outcomes = {identity: Counter[str]() for identity in ("missed", "twin")}
    for rating in kept(place):
        outcomes[rating.conversation.id][f"{rating.item} {rating.outcome}"] += 1
    assert outcomes["missed"] == outcomes["twin"]


def test_only_signals_on_safety_is_screened_never_a_pass_and_a_flag_rejects(place: Path) -> None:
    judge([CALM, MISSED], place)
    assert verdicts(place) == {"calm": Verdict.SCREENED, "missed": Verdict.UNSAFE}


def test_the_gate_stays_undecided_on_a_screened_study_and_stops_on_a_flag(tmp_path: Path) -> None:
    for conversation, code in ((CALM, 3), (MISSED, 1)):
        place = tmp_path / f"{conversation.id}.db"
        judge([conversation], place)
        assert attune("gate", place).returncode == code


def test_it_takes_no_safety_question_from_another_judge(place: Path) -> None:
    with FakeJudge(Behaviour(answer=content)) as fake:
        judge([MISSED], place, judges=["signals", "openai:fake"], base_url=fake.url, stop_on_gate=True)
    asked = {rating.item for rating in kept(place) if rating.rater == "openai:fake" and not rating.outcome.error}
    assert {item.id for item in COACHING.items if item.minimum_turns == 1} == asked
    own = Counter(rating.outcome.error for rating in kept(place) if rating.rater == "signals")
    assert own[ErrorKind.SKIPPED] > 0, "its own further items are skipped, as with any judge"


def test_a_panel_with_another_judge_keeps_the_flag_and_ignores_abstentions(place: Path) -> None:
    with FakeJudge(Behaviour(answer=content)) as fake:
        judge([CALM, MISSED], place, judges=["signals", "openai:fake"], base_url=fake.url)
    panels = {judged.conversation.identity.id: judged.panel for judged in api.scorecards(place, COACHING.hash)}
    calm, missed = panels["calm"], panels["missed"]
    assert calm is not None
    assert missed is not None
    assert missed.verdict is Verdict.UNSAFE
    assert not calm.open


def test_several_processes_share_a_study(tmp_path: Path) -> None:
    place = tmp_path / "a.study.db"
    chats = tmp_path / "chats.jsonl"
    write([Conversation(f"c{n}", "bot", CALM.turns) for n in range(6)], chats, Shape.MESSAGES)
    words = [sys.executable, "-m", "attunement", "judge", str(chats), "--judge", "signals", "--study", str(place), "-q"]
    running = [subprocess.Popen(words) for _ in range(2)]
    assert [process.wait() for process in running] == [0, 0]
    ratings = kept(place)
    assert len(ratings) == len({(rating.conversation, rating.item) for rating in ratings})
    assert len({rating.conversation for rating in ratings}) == 6


def test_on_the_command_line_an_abstention_is_shown_as_not_judged_by_signals(tmp_path: Path) -> None:
    place = tmp_path / "a.study.db"
    done = attune("judge", EXAMPLES / "first.jsonl", "--judge", "signals", "--study", place)
    assert done.returncode == 0, done.stderr
    shown = attune("show", place, "Harbor/anniversary")
    assert "not judged by signals" in " ".join(shown.stdout.split()), shown.stdout + shown.stderr


def test_a_judge_of_replies_answers_all_items_of_a_reply_at_once(place: Path) -> None:
    judge([MISSED], place, instrument="empathy-v2")
    ratings = {rating.item: rating for rating in kept(place)}
    assert set(ratings) == {item.id for item in load("empathy-v2").items}
    assert ratings["safety"].outcome.value in {1, 2}
    assert ratings["overall"].outcome.state is State.ABSTAINED

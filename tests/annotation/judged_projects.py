"""A project in which three people and a judge have rated, with one disagreement and one unsafe reply."""

from pathlib import Path

from attunement.annotation.projects import invite
from attunement.conversations import Conversation, Origin, Turn
from attunement.instruments import Value
from attunement.ratings import RaterKind, Rating
from attunement.store import StoredRating, Study
from attunement.store.projects import Member, Role
from tests.annotation.projects import EMPATHY, Begun, begin_project
from tests.reports.samples import judged

JUDGE = "judge-one"
UNSAFE = "c3"
"""The conversation that the judge holds to be unsafe, and people do not."""
APART = "c5"
"""The conversation on which people disagree about how well it names the feeling."""
CRISIS = "c7"


def lively_talks(count: int) -> list[Conversation]:
    """So many conversations of two turns; in one the person speaks of suicide."""
    found: list[Conversation] = []
    for number in range(count):
        first = "I want to kill myself tonight." if f"c{number}" == CRISIS else f"Week {number} at work wears me out."
        found.append(
            Conversation(
                f"c{number}",
                "harbour",
                (
                    Turn(first, "That sounds heavy. What happened today?"),
                    Turn("My lead shouted at me again.", f"Being shouted at hurts. Shall we plan day {number}?"),
                ),
                origin=Origin.WRITTEN,
            )
        )
    return found


def rate_all(begun: Begun) -> None:
    """Let all three raters hand everything in. The third is a little milder, and one unit splits them."""
    for number in (1, 2, 3):
        begun.arrive(number)
        while task := begun.next_task(number):
            name = task.unit.conversation.id

            def answer(item: str, name: str = name, number: int = number) -> Value:
                if name == APART and item == "emotion":
                    return {1: 1, 2: 5, 3: 3}[number]
                return min(5, 3 + int(name[1:]) % 2 + (number == 3 and int(name[1:]) % 3 == 0))

            begun.hand_in(task, number, answer)


def judge_all(study: Study, conversations: list[Conversation], *, name: str = JUDGE) -> None:
    """Let a judge answer everything; one reply is unsafe to it, and it quotes words that are there."""
    rater = study.save_rater(name, RaterKind.MODEL, {"model": name})
    keys = study.save_conversations(conversations)
    made: list[StoredRating] = []
    for key, talk in zip(keys, conversations, strict=True):
        for turn in (1, 2):
            low = {"safety": 1} if talk.id == UNSAFE and turn == 2 else {}
            reasoning = (
                f"Turn {turn}: 'What happened today' opens the talk."
                if turn == 1
                else "Turn 2: 'Being shouted at hurts' names it."
            )
            ratings: list[Rating] = judged(
                talk, low, instrument=EMPATHY, others=4, turn=turn, rater=name, reasoning=reasoning
            )
            made += [StoredRating(key, rater.key, rating) for rating in ratings]
    study.write([], made)


def rated_project(place: str | Path, count: int = 12) -> Begun:
    """A study in which everybody has rated everything."""
    talks = lively_talks(count)
    begun = begin_project(place, talks, instrument=EMPATHY)
    judge_all(begun.study, talks)
    rate_all(begun)
    return begun


def adjudicator(begun: Begun, name: str = "Grace Adjudicator") -> Member:
    return invite(begun.study, begun.project, Role.ADJUDICATOR, name)


def reviewer(begun: Begun, name: str = "Dr. Ada Reviewer") -> Member:
    return invite(begun.study, begun.project, Role.REVIEWER, name)

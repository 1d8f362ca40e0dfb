"""Small projects of people that tests start from, and a rater who works through them."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from attunement.annotation import projects
from attunement.annotation.submission import save, submit
from attunement.annotation.tasks import Change, Step, Task, begin, next_step, open_unit, save_profile, task_of
from attunement.conversations import Conversation, Origin, Turn
from attunement.instruments import Instrument, Value, load
from attunement.store import Study
from attunement.store.projects import Member, Project, Role, Settings, UnitKey, members

EMPATHY, COACHING = load("empathy-v2"), load("coaching-v1")
SYSTEM = "unmistakable-bot"
"""A system name that stands nowhere else, so that it can be searched for."""


OPENED: list[Study] = []
"""Studies to be closed at the end of a test."""


@pytest.fixture(autouse=True)
def close_studies() -> Iterator[None]:
    """Let go of the databases when a test ends."""
    yield
    while OPENED:
        OPENED.pop().close()


class Begun(NamedTuple):
    """A project in its study."""

    study: Study
    project: Project

    def rater(self, number: int = 1) -> Member:
        """The rater with this number, as they are now."""
        return members(self.study, self.project, Role.RATER)[number - 1]

    def coordinator(self) -> Member:
        return members(self.study, self.project, Role.COORDINATOR)[0]

    def arrive(self, number: int = 1) -> Member:
        """Let a rater say who they are and begin."""
        member = self.rater(number)
        save_profile(self.study, self.project, member, {"profession": "nurse"})
        begin(self.study, self.project, member)
        return self.rater(number)

    def next_task(self, number: int = 1) -> Task | None:
        """What the rater has to do next, opened; None where there is nothing."""
        member = self.rater(number)
        step, assignment = next_step(self.study, self.project, member)
        if step is not Step.TASK or assignment is None:
            return None
        open_unit(self.study, self.project, member, assignment)
        return task_of(self.study, self.project, assignment)

    def hand_in(self, task: Task, number: int = 1, answer: Callable[[str], Value] = lambda _: 3) -> None:
        """Answer everything and submit."""
        member = self.rater(number)
        changes = [change(item, answer(item), comment="because") for item in task.items]
        save(self.study, self.project, member, task, changes)
        assert submit(self.study, self.project, member, task) == ()

    def work(self, number: int = 1, answer: Callable[[str], Value] = lambda _: 3) -> int:
        """Do everything there is to do, practice as the instrument answers it; returns how many were handed in."""
        self.arrive(number)
        count = 0
        while task := self.next_task(number):
            known = task.assignment.unit.answers
            self.hand_in(task, number, lambda item, known=known: known.get(item, answer(item)))
            count += 1
        return count


def change(item: str, value: Value | None, *, number: int = 1, **more: Any) -> Change:
    """A change that sets an item to a value; None takes the answer back."""
    state = None if value is None else "na" if value == "NA" else "value"
    return Change(item=item, number=number, state=state, value=value, **more)


def talks(count: int, *, origin: Origin = Origin.WRITTEN) -> list[Conversation]:
    """So many conversations of one turn, each with words of its own."""
    return [
        Conversation(f"c{number}", SYSTEM, (Turn(f"I feel {number}.", f"Tell me about {number}."),), origin=origin)
        for number in range(count)
    ]


def begin_project(
    place: str | Path,
    conversations: Sequence[Conversation] | None = None,
    *,
    instrument: Instrument = EMPATHY,
    raters: int = 3,
    **settings: Any,
) -> Begun:
    """A study with a project whose units are all replies of `conversations`, or of four small ones."""
    study = Study(place, create=True)
    OPENED.append(study)
    talk = talks(4) if conversations is None else conversations
    keys = study.save_conversations(talk)
    whole = instrument.unit == "conversation"
    units = [
        UnitKey(key, None if whole else turn)
        for key, conversation in zip(keys, talk, strict=True)
        for turn in range(1, 2 if whole else len(conversation.turns) + 1)
    ]
    chosen = Settings(**{"calibration": 0, "attention": 0, "per_unit": min(3, raters), **settings})
    names = [f"rater {number}" for number in range(1, raters + 1)]
    return Begun(study, projects.create(study, instrument, units, names, chosen))

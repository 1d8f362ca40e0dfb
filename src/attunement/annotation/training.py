"""Practice on worked examples, and examples that check a rater's attention later.

An example has a known answer for one item. Those on a boundary teach the most, so they come first in the practice;
clear ones that are left over appear unmarked among a rater's units later.

After the last example of an attempt the rater has passed, gets a second attempt, or is asked to talk to the
coordinator. A score counts as correct if it is at most one level from the known one, a criterion if it is the same.

Answers to examples are in a separate table: agreement and scores never include them.
"""

import math
from collections.abc import Mapping
from itertools import zip_longest
from random import Random
from typing import NamedTuple

from attunement.conversations import Conversation, Origin, Turn, Unit, UnitKind
from attunement.errors import StudyError
from attunement.instruments import Instrument, Item, Value
from attunement.instruments.model import Example
from attunement.ratings import Outcome, Round
from attunement.store import Study
from attunement.store import projects as store
from attunement.store.annotation import Draft, drafts_in, events
from attunement.store.projects import Assignment, AssignmentState, Member, MemberState, Project, Transaction

ATTEMPTS = 2
_PER_ITEM, _AT_MOST = 2, 20
"""Defaults: two examples per item to learn its scale, and at most twenty in total, which take up to an hour."""
_UNITS_PER_CHECK = 25
_TINY = 1e-9


class WorkedExample(NamedTuple):
    item: Item
    number: int  # its position among the item's examples, from 0
    example: Example

    @property
    def name(self) -> str:
        return f"{self.item.id}/{self.number}"


def calibration_examples(instrument: Instrument, count: int | None, *, seed: str) -> list[WorkedExample]:
    """The practice examples, in the same order for everybody.

    Items alternate, and the boundary cases of each come first.
    """
    items = [item for item in instrument.items if item.examples]
    count = min(_PER_ITEM * len(items), _AT_MOST) if count is None else count
    by_item = [sorted(_examples(item), key=lambda worked: worked.example.kind == "clear") for item in items]
    chosen = [worked for row in zip_longest(*by_item) for worked in row if worked is not None][:count]
    Random(seed).shuffle(chosen)  # noqa: S311 - guards nothing
    return chosen


def attention_examples(
    instrument: Instrument, count: int | None, units: int, practice: list[WorkedExample], *, seed: str
) -> list[WorkedExample]:
    """Clear examples that are not used in the practice, for a list of `units`."""
    seen = {words_of(worked.example) for worked in practice}
    free = [
        worked
        for item in instrument.items
        for worked in _examples(item)
        if worked.example.kind == "clear" and words_of(worked.example) not in seen
    ]
    count = round(units / _UNITS_PER_CHECK) if count is None else count
    return Random(seed).sample(free, min(count, len(free)))  # noqa: S311 - guards nothing


def example_named(instrument: Instrument, name: str) -> WorkedExample:
    item_id, _, number = name.rpartition("/")
    examples = _examples(instrument.item(item_id))
    if not number.isdigit() or int(number) >= len(examples):
        raise StudyError(f"{instrument.id} has no worked example {name}: another program has changed the study")
    return examples[int(number)]


def example_unit(instrument: Instrument, worked: WorkedExample) -> Unit:
    turns = tuple(Turn(message.user, message.assistant) for message in worked.example.turns)
    # The example was written for the instrument: it is not from a real person.
    conversation = Conversation(id=worked.name, system="", turns=turns, origin=Origin.WRITTEN)
    return Unit(conversation, len(turns) if UnitKind(instrument.unit) is UnitKind.RESPONSE else None)


def words_of(text: Example | Conversation) -> tuple[tuple[str, str], ...]:
    return tuple((turn.user, turn.assistant) for turn in text.turns)


def _examples(item: Item) -> list[WorkedExample]:
    return [WorkedExample(item, number, example) for number, example in enumerate(item.examples)]


class PracticeResult(NamedTuple):
    attempt: int
    right: int
    total: int
    passed: bool


def agrees(known: Value, outcome: Outcome | None) -> bool:
    """Whether an answer is the known one, or for scores at most one level away."""
    if outcome is None or outcome.value is None:
        return False
    if isinstance(known, int) and isinstance(outcome.value, int):
        return abs(known - outcome.value) <= 1
    return known == outcome.value


def finish_attempt(connection: Transaction, project: Project, member: Member, assignment: Assignment) -> None:
    """If `assignment` was the last of its attempt, log the result and start the next step."""
    attempt = assignment.attempt
    own = store.assignments_where(connection, member=member.key, round=Round.CALIBRATION, attempt=attempt)
    if any(entry.state is AssignmentState.OPEN for entry in own):
        return
    right = sum(is_right(entry.unit.answers, drafts_in(connection, entry)) for entry in own)
    result = PracticeResult(attempt, right, len(own), right >= pass_mark(project, len(own)))
    store.log_event(connection, project, "calibrated", member=member, content=result._asdict())
    if result.passed:
        return
    if attempt < ATTEMPTS:
        ordered = sorted(own, key=lambda entry: entry.position, reverse=True)
        again = [(entry.unit.key, Round.CALIBRATION) for entry in ordered]
        store.insert_assignments(connection, project, member.key, again, start=len(own), attempt=attempt + 1)
        return
    store.update(connection, member, state=MemberState.HELD)
    store.log_event(connection, project, "held", member=member)


def pass_mark(project: Project, examples: int) -> int:
    """How many of the practice examples must be right."""
    return math.ceil(project.settings.pass_mark * examples - _TINY)


def is_right(known: Mapping[str, Value], answers: Mapping[str, Draft]) -> bool:
    """Whether the answers agree with all that are known."""
    return all(item in answers and agrees(answer, answers[item].outcome) for item, answer in known.items())


def results(study: Study, project: Project) -> dict[int, list[PracticeResult]]:
    """The results of all attempts, by the key of the member."""
    found: dict[int, list[PracticeResult]] = {}
    for event in events(study, project, "calibrated"):
        found.setdefault(event.member, []).append(PracticeResult(**event.content))
    return found


def release(study: Study, project: Project, member: Member, by: Member | None) -> None:
    """Let a rater who failed the practice continue after talking to the coordinator."""
    with study.writing() as connection:
        store.update(connection, member, state=MemberState.ACTIVE)
        store.log_event(connection, project, "released", member=by, content={"rater": member.name})

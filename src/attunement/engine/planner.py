"""What is still to be asked: conversations x items x repeats, minus what the study has, for the chosen conversations.

Only one batch of conversations is in memory. Safety criteria come first; in the transcript-first layout one question
opens a conversation, so that the others find its prefix in the server's cache; with stop-on-gate the rest waits for the
safety criteria.
"""

import hashlib
import heapq
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from typing import NamedTuple

from attunement.conversations import Conversation, Responses, UnitKind, units
from attunement.errors import InputError
from attunement.prompts import Layout, Question, Questionnaire
from attunement.ratings import ErrorKind, Outcome
from attunement.scoring import trips_gate
from attunement.store import AnswerRecord, Rater, StoredConversation, Study

NOT_FINAL = frozenset({ErrorKind.BUDGET, ErrorKind.SKIPPED, ErrorKind.AUTH, ErrorKind.NOT_RECORDED})
"""Errors that say nothing about the question: the next run asks it."""


class Task(NamedTuple):
    """One question to ask, for one conversation in the study."""

    conversation: int
    question: Question
    repeat: int
    known: AnswerRecord | None = None  # the answer, if the same prompt was answered before
    recovered: bool = False  # whether it was answered for this task, by a run that ended before it made the ratings

    @property
    def prompt(self) -> tuple[str, int]:
        """What is asked: tasks with the same prompt share an answer."""
        return self.question.hash, self.repeat


@dataclass
class OpenConversation:
    """A conversation with what is left to ask, in stages: one starts when the one before is done."""

    key: int
    conversation: Conversation
    stages: list[list[Task]]
    tripped: bool = False  # whether an answer so far trips the gate
    questions: int = 0  # everything that is asked about it, including what the study has
    flawless: bool = True  # whether no question has ended in an ERROR
    left: int = 0  # tasks of the current stage that are not finished


@dataclass(frozen=True)
class Scope:
    """What a run asks about each conversation."""

    questionnaire: Questionnaire
    responses: Responses = Responses.ALL
    repeats: int = 1
    stop_on_gate: bool = False
    retry_errors: bool = False  # ask only what ended in an ERROR before

    @cached_property
    def digest(self) -> str:
        """A hash of what is asked about each conversation, whether a run stops early or not."""
        parts = f"{self.questionnaire.digest} {self.responses} {self.repeats}"
        return hashlib.sha256(parts.encode()).hexdigest()

    def questions(self, conversation: Conversation) -> list[Question]:
        """All questions about a conversation, safety first."""
        kind = UnitKind(self.questionnaire.instrument.unit)
        found = [
            question
            for unit in units(conversation, kind, self.responses)
            for question in self.questionnaire.questions(unit)
        ]
        if kind is UnitKind.RESPONSE:
            found.sort(key=lambda question: not question.about_safety)
        return found

    def tasks(self, conversation: StoredConversation) -> list[Task]:
        questions = self.questions(conversation.conversation)
        return [Task(conversation.key, question, repeat) for question in questions for repeat in range(self.repeats)]


_Done = dict[tuple[int | None, str, str, int], Outcome]
"""A rater's outcomes for a conversation, by turn, item, prompt and repeat."""


@dataclass
class Plan:
    """What a batch of conversations leaves to ask one rater."""

    conversations: list[OpenConversation] = field(default_factory=list[OpenConversation])
    already_done: int = 0  # questions that the study has an outcome for
    already_failed: int = 0  # those of them whose outcome is an ERROR


def plan(batch: Sequence[StoredConversation], scope: Scope, rater: Rater, study: Study) -> Plan:
    """Look up what the rater has answered about `batch` and arrange the rest."""
    result = Plan()
    finished = study.finished([stored.key for stored in batch], rater, scope.digest)
    result.already_done = sum(finished.values())
    result.conversations = [OpenConversation(each.key, each.conversation, []) for each in batch if each.key in finished]
    batch = [stored for stored in batch if stored.key not in finished]
    done: dict[int, _Done] = {}
    for row in study.rated([stored.key for stored in batch], rater):
        done.setdefault(row.conversation, {})[row.turn, row.item, row.asked, row.repeat] = row.outcome
    opened: list[tuple[OpenConversation, list[Task]]] = []
    for stored in batch:
        tasks = scope.tasks(stored)
        conversation = OpenConversation(stored.key, stored.conversation, [], questions=len(tasks))
        if stored.key in done or scope.retry_errors:  # most conversations are new and need no look at each task
            tasks = _remaining(tasks, done.get(stored.key, {}), conversation, scope, result)
        opened.append((conversation, tasks))
    prompts = sorted({task.question.hash for _, tasks in opened for task in tasks})
    known = study.answered(prompts, rater) if prompts else {}
    unrated = set(known)  # answers that have no ratings yet
    if known:
        unrated -= study.asked(sorted({prompt for prompt, _ in known}), rater)
    for conversation, tasks in opened:
        for number, task in enumerate(tasks):
            if answer := known.get(task.prompt):
                tasks[number] = task._replace(known=answer, recovered=task.prompt in unrated)
                unrated.discard(task.prompt)  # a second conversation with the same words only shares the answer
        conversation.stages = _stages(tasks, scope)
        result.conversations.append(conversation)
    return result


def _remaining(
    tasks: Sequence[Task], done: _Done, conversation: OpenConversation, scope: Scope, result: Plan
) -> list[Task]:
    """Those of `tasks` that are still to be asked; what is `done` is counted."""
    remaining: list[Task] = []
    for task in tasks:
        question = task.question
        before = [done.get((question.unit.turn, item.id, question.hash, task.repeat)) for item in question.items]
        outcomes = [outcome for outcome in before if outcome is not None]
        complete = len(outcomes) == len(before)
        if scope.retry_errors:
            to_ask = any(outcome.error for outcome in outcomes)
        else:
            to_ask = not complete or any(outcome.error in NOT_FINAL for outcome in outcomes)
        if to_ask:
            remaining.append(task)
        elif complete:
            result.already_done += 1
            failed = any(outcome.error for outcome in outcomes)
            result.already_failed += failed
            conversation.flawless &= not failed
            instrument = question.questionnaire.instrument
            conversation.tripped |= scope.stop_on_gate and any(
                trips_gate(instrument, item, outcome) for item, outcome in zip(question.items, outcomes, strict=True)
            )
        else:
            conversation.flawless = False  # nothing is known about it, and nothing is asked
    return remaining


def _stages(tasks: list[Task], scope: Scope) -> list[list[Task]]:
    gate = [task for task in tasks if scope.stop_on_gate and task.question.about_safety]
    rest = tasks[len(gate) :]  # safety comes first in `tasks`
    stages = [stage for stage in (gate, rest) if stage]
    if stages and scope.questionnaire.layout is Layout.TRANSCRIPT_FIRST:
        # The first question about each unit brings the unit's transcript into the server's cache.
        leaders: dict[int | None, Task] = {}
        for task in stages[0]:
            if task.known is None:
                leaders.setdefault(task.question.unit.turn, task)
        leading = {task.prompt for task in leaders.values()}
        stages[:1] = [list(leaders.values()), [task for task in stages[0] if task.prompt not in leading]]
    return [stage for stage in stages if stage]


class Filter(NamedTuple):
    """A condition such as `system=Harbor`: on the system, the id, the origin, or a field of the metadata."""

    field: str
    value: str

    @classmethod
    def parse(cls, text: str) -> "Filter":
        """Read `FIELD=VALUE`."""
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise InputError(f"a filter looks like system=NAME, not {text!r}")
        return cls(name.strip(), value.strip())

    def matches(self, conversation: Conversation) -> bool:
        """Whether the conversation has this value in this field."""
        if self.field in {"system", "id", "origin"}:
            found = getattr(conversation, self.field)
        else:
            found = conversation.metadata.get(self.field)
        return found is not None and str(found) == self.value


@dataclass(frozen=True)
class Selection:
    """Which conversations of the input the user wants. Filters come first, then the sample, then the limit."""

    filters: tuple[Filter, ...] = ()
    sample: int | None = None
    limit: int | None = None
    seed: int = 0

    def of(self, conversations: Iterable[Conversation]) -> Iterator[Conversation]:
        """The chosen ones, in their order."""
        chosen = (entry for entry in conversations if all(wanted.matches(entry) for wanted in self.filters))
        if self.sample is not None:
            # Those with the smallest hashes: the same ones whatever the order or growth of the file around them.
            numbered = ((self._hash(entry), position, entry) for position, entry in enumerate(chosen))
            drawn = heapq.nsmallest(self.sample, numbered, key=lambda entry: entry[:2])
            chosen = (entry for _, _, entry in sorted(drawn, key=lambda entry: entry[1]))
        return islice(chosen, self.limit)

    def _hash(self, conversation: Conversation) -> bytes:
        words = f"{self.seed}\n{conversation.system}\n{conversation.id}".encode("utf-8", "surrogatepass")
        return hashlib.sha256(words).digest()

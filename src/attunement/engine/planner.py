"""What is still to be asked: conversations x items x repeats, minus what the study has, for the chosen conversations.

Nothing is materialised beyond a batch of conversations. Safety criteria come first; in the transcript-first layout
one question opens a conversation so that the others find its prefix in the server's cache; with stop-on-gate the rest
waits for the safety criteria.
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
from attunement.ratings import ErrorKind, Outcome, State
from attunement.scoring import trips_gate
from attunement.store import AnswerRecord, Rater, StoredConversation, Study

ASK_AGAIN = frozenset({ErrorKind.BUDGET, ErrorKind.SKIPPED, ErrorKind.AUTH})
"""Errors that say nothing about the question: the next run asks it."""


class Task(NamedTuple):
    """One question to ask, for one conversation in the study."""

    conversation: int
    question: Question
    repeat: int
    known: AnswerRecord | None = None
    """The answer, where the same prompt was answered before."""
    left_over: bool = False
    """Whether the answer was given for this task, by a run that was killed before it could make the ratings."""

    @property
    def prompt(self) -> tuple[str, int]:
        """What is asked: tasks with the same prompt share an answer."""
        return self.question.hash, self.repeat


@dataclass
class Opened:
    """A conversation with what is left to ask, in stages: one starts when the one before is done."""

    key: int
    conversation: Conversation
    stages: list[list[Task]]
    tripped: bool = False
    """Whether an answer the study has already trips the gate."""
    questions: int = 0
    """Everything that is asked about it, what the study has included."""
    flawless: bool = True
    """Whether no question has ended in an ERROR."""
    left: int = 0
    """Tasks of the present stage that are not finished."""


@dataclass(frozen=True)
class Scope:
    """What a run asks of each conversation."""

    questionnaire: Questionnaire
    responses: Responses = Responses.ALL
    repeats: int = 1
    stop_on_gate: bool = False
    retry_errors: bool = False
    """Ask only what ended in an ERROR before."""

    @cached_property
    def digest(self) -> str:
        """A hash of what is asked of each conversation, whether a run stops early or not."""
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


_Done = dict[tuple[int | None, str, str, int], Outcome]
"""What a rater said of a conversation, by turn, item, prompt and repeat."""


@dataclass
class Plan:
    """What a batch of conversations leaves to ask of one rater."""

    opened: list[Opened] = field(default_factory=list[Opened])
    kept: int = 0
    """Questions that the study has an outcome for."""
    kept_errors: int = 0
    """Those of them whose outcome is an ERROR."""


def plan(batch: Sequence[StoredConversation], scope: Scope, rater: Rater, study: Study) -> Plan:
    """Look up what the rater has answered of `batch` and arrange the rest."""
    found = Plan()
    finished = study.finished([kept.key for kept in batch], rater, scope.digest)
    found.kept = sum(finished.values())
    found.opened = [Opened(kept.key, kept.conversation, []) for kept in batch if kept.key in finished]
    _look_through([kept for kept in batch if kept.key not in finished], scope, rater, study, found)
    return found


def _look_through(batch: Sequence[StoredConversation], scope: Scope, rater: Rater, study: Study, found: Plan) -> None:
    """Find what is left to ask of conversations that are not known to be finished."""
    done: dict[int, _Done] = {}
    for row in study.rated([kept.key for kept in batch], rater):
        done.setdefault(row.conversation, {})[row.turn, row.item, row.asked, row.repeat] = row.outcome
    for kept in batch:
        opened = Opened(kept.key, kept.conversation, [])
        questions = scope.questions(kept.conversation)
        opened.questions = len(questions) * scope.repeats
        tasks = [Task(kept.key, question, repeat) for question in questions for repeat in range(scope.repeats)]
        if kept.key in done or scope.retry_errors:  # most conversations are new: nothing need be looked up for them
            tasks = _left(tasks, done.get(kept.key, {}), opened, scope, found)
        opened.stages = [tasks]
        found.opened.append(opened)
    _fill_in_known(found, rater, study)
    for opened in found.opened:
        if opened.stages:
            opened.stages = _stages(opened.stages[0], scope)


def _left(tasks: Sequence[Task], done: _Done, opened: Opened, scope: Scope, found: Plan) -> list[Task]:
    """Those of `tasks` that are still to do; what is `done` is counted."""
    left: list[Task] = []
    for task in tasks:
        question = task.question
        before = [done.get((question.unit.turn, item.id, question.hash, task.repeat)) for item in question.items]
        if _to_ask(before, retry_errors=scope.retry_errors):
            left.append(task)
        elif not scope.retry_errors or all(before):
            found.kept += 1
            failed = any(outcome and outcome.error for outcome in before)
            found.kept_errors += failed
            opened.flawless &= not failed
            opened.tripped |= scope.stop_on_gate and _tripped(question, before)
        else:
            opened.flawless = False  # nothing is known of it, and nothing is asked
    return left


def _to_ask(before: Sequence[Outcome | None], *, retry_errors: bool) -> bool:
    for outcome in before:
        if outcome is None:
            if not retry_errors:
                return True
        elif outcome.state is State.ERROR and (retry_errors or outcome.error in ASK_AGAIN):
            return True
    return False


def _tripped(question: Question, outcomes: Sequence[Outcome | None]) -> bool:
    instrument = question.questionnaire.instrument
    return any(
        outcome is not None and trips_gate(instrument, item, outcome)
        for item, outcome in zip(question.items, outcomes, strict=True)
    )


def _stages(tasks: list[Task], scope: Scope) -> list[list[Task]]:
    gate = [task for task in tasks if scope.stop_on_gate and task.question.about_safety]
    rest = tasks[len(gate) :]  # safety comes first in `tasks`
    stages = [stage for stage in (gate, rest) if stage]
    if stages and scope.questionnaire.layout is Layout.TRANSCRIPT_FIRST:
        leaders = _leaders(stages[0])
        leading = {task.prompt for task in leaders}
        stages[:1] = [leaders, [task for task in stages[0] if task.prompt not in leading]]
    return [stage for stage in stages if stage]


def _leaders(tasks: list[Task]) -> list[Task]:
    """The first question about each unit: it brings the unit's transcript into the server's cache."""
    first: dict[int | None, Task] = {}
    for task in tasks:
        if task.known is None:
            first.setdefault(task.question.unit.turn, task)
    return list(first.values())


def _fill_in_known(found: Plan, rater: Rater, study: Study) -> None:
    prompts = {task.question.hash for opened in found.opened for stage in opened.stages for task in stage}
    if not prompts:
        return
    known = study.answered(sorted(prompts), rater)
    if not known:
        return
    left_over = known.keys() - study.asked(sorted({prompt for prompt, _ in known}), rater)

    def filled_in(task: Task) -> Task:
        answered = task.prompt in known
        first = task.prompt in left_over
        left_over.discard(task.prompt)  # a second conversation with the same words only shares the answer
        return task._replace(known=known[task.prompt], left_over=first) if answered else task

    for opened in found.opened:
        opened.stages = [[filled_in(task) for task in stage] for stage in opened.stages]


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
        match self.field:
            case "system" | "id" | "origin":
                found = getattr(conversation, self.field)
            case _:
                found = conversation.metadata.get(self.field)
        return found is not None and str(found) == self.value


@dataclass(frozen=True)
class Selection:
    """What the user wants of the input. Filters come first, then the sample, then the limit."""

    filters: tuple[Filter, ...] = ()
    sample: int | None = None
    limit: int | None = None
    seed: int = 0

    def of(self, conversations: Iterable[Conversation]) -> Iterator[Conversation]:
        """The chosen ones, in their order."""
        chosen = (entry for entry in conversations if all(wanted.matches(entry) for wanted in self.filters))
        if self.sample is not None:
            chosen = iter(self._sampled(chosen, self.sample))
        return islice(chosen, self.limit)

    def _sampled(self, conversations: Iterable[Conversation], size: int) -> list[Conversation]:
        """Those with the smallest hashes: the same ones whatever the order or growth of the file around them."""
        numbered = ((self._draw(entry), position, entry) for position, entry in enumerate(conversations))
        drawn = heapq.nsmallest(size, numbered, key=lambda entry: entry[:2])
        return [entry for _, _, entry in sorted(drawn, key=lambda entry: entry[1])]

    def _draw(self, conversation: Conversation) -> bytes:
        words = f"{self.seed}\n{conversation.system}\n{conversation.id}".encode("utf-8", "surrogatepass")
        return hashlib.sha256(words).digest()

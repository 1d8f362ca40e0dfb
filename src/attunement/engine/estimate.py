"""What a run will ask and cost, before a single call is made."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from attunement.conversations import Conversation
from attunement.engine.budget import REPLY_TOKENS, Price
from attunement.engine.planner import Scope, Task, plan
from attunement.judges.base import Usage
from attunement.prompts import Layout, Question
from attunement.store import Rater, StoredConversation, Study

_BATCH = 32
_NEW = 0  # instead of the key of a conversation that is not in the study: databases count from one


@dataclass
class Estimate:
    """The questions of one judge and their tokens."""

    layout: Layout
    conversations: int = 0
    questions: int = 0
    already_done: int = 0  # questions that the study has an outcome for
    prompt_tokens: int = 0
    shared_tokens: int = 0  # the part of `prompt_tokens` that a prefix cache could serve if transcripts came first
    reply_tokens: int = 0
    gate_questions: int = 0
    gate_tokens: int = 0
    gate_reply_tokens: int = 0

    def cost(self, price: Price, layout: Layout | None = None) -> float:
        """In dollars, in this layout or the one of the run. A cache counts only if it has its own price."""
        cached = self.shared_tokens if (layout or self.layout) is Layout.TRANSCRIPT_FIRST else 0
        return price.cost(Usage(self.prompt_tokens, self.reply_tokens, cached))

    def least_with_stop_on_gate(self, price: Price) -> float:
        """In dollars, if the gate of every conversation tripped: the least that a run with stop-on-gate can cost."""
        return price.cost(Usage(self.gate_tokens, self.gate_reply_tokens))

    def add(self, questions: Sequence[Question]) -> None:
        """Count what is to be asked about one conversation."""
        prefixes: dict[int | None, int] = {}
        for question in questions:
            tokens = question.tokens()
            self.questions += 1
            self.prompt_tokens += tokens
            reply = REPLY_TOKENS * len(question.items)
            self.reply_tokens += reply
            if question.unit.turn in prefixes:
                self.shared_tokens += prefixes[question.unit.turn]
            else:
                prefixes[question.unit.turn] = min(question.shareable_tokens(), tokens)
            if question.about_safety:
                self.gate_questions += 1
                self.gate_tokens += tokens
                self.gate_reply_tokens += reply


class _Counted:
    """The prompts that have been counted.

    Equal units get equal prompts, so unit, item and repeat identify a prompt. Most units get the same items, and they
    share one set: a long input takes the memory of one number per unit.
    """

    def __init__(self) -> None:
        self._of_unit: dict[int, frozenset[tuple[str, int]]] = {}
        self._sets: dict[frozenset[tuple[str, int]], frozenset[tuple[str, int]]] = {}

    def add(self, tasks: Iterable[Task]) -> list[Question]:
        """Count the prompts of `tasks`, and return the questions that no task before had."""
        units: dict[str, dict[tuple[str, int], Question]] = {}
        for task in tasks:
            question = task.question
            # Items that are asked together are in no other question about the unit, so the first identifies it.
            units.setdefault(question.unit_hash, {})[question.items[0].id, task.repeat] = question
        new: list[Question] = []
        for hash, asked in units.items():
            unit = int(hash, 16)
            before = self._of_unit.get(unit, frozenset())
            new += [question for slot, question in asked.items() if slot not in before]
            now = before.union(asked)
            self._of_unit[unit] = self._sets.setdefault(now, now)
        return new


def estimate(
    conversations: Iterable[Conversation],
    scope: Scope,
    known: tuple[Study, Rater] | None = None,
    *,
    equal_once: bool = True,
) -> Estimate:
    """Count the questions about `conversations`, minus what the rater has answered in the study, if there is one.

    A run asks equal prompts once, so they count once, however many conversations have the same words. A prompt that the
    rater has answered for another conversation is not asked again; nor is it already done, because this conversation
    has no rating of it yet. Without `equal_once` all count: a judge that reads units itself reads each of them.
    """
    total = Estimate(scope.questionnaire.layout)
    counted = _Counted()
    source = iter(conversations)
    while batch := list(islice(source, _BATCH)):
        total.conversations += len(batch)
        for tasks in _unanswered(batch, scope, known, total):
            total.add(counted.add(tasks) if equal_once else [task.question for task in tasks])
    return total


def _unanswered(
    batch: Sequence[Conversation], scope: Scope, known: tuple[Study, Rater] | None, total: Estimate
) -> Iterator[list[Task]]:
    """The tasks of each conversation that have no answer; what the study has is added to `total`."""
    keys = known[0].keys(batch) if known else {}
    stored = [StoredConversation(keys.get(entry.identity, _NEW), entry) for entry in batch]
    if known is None:
        yield from ([] if scope.retry_errors else scope.tasks(each) for each in stored)
        return
    study, rater = known
    found = plan(stored, scope, rater, study)
    total.already_done += found.already_done
    for opened in found.conversations:
        tasks = [task for stage in opened.stages for task in stage if task.known is None]
        # If the gate has tripped before, a run with stop-on-gate does not ask the rest now, either.
        yield [task for task in tasks if task.question.about_safety or not opened.tripped]

"""What will a run ask, and what will it cost? Answered before a single call is made."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

from attunement.conversations import Conversation
from attunement.engine.budget import REPLY_TOKENS, Price
from attunement.engine.plan import Scope, plan
from attunement.judges.protocol import Usage
from attunement.questions import Layout, Question
from attunement.study import Kept, Rater, Study

_BATCH = 32


@dataclass
class Estimate:
    """The questions of one judge and their tokens."""

    layout: Layout
    conversations: int = 0
    questions: int = 0
    kept: int = 0
    """Questions the study has answered already."""
    prompt_tokens: int = 0
    shared_tokens: int = 0
    """The part of `prompt_tokens` that a prefix cache could serve if transcripts came first."""
    reply_tokens: int = 0
    gate_questions: int = 0
    gate_tokens: int = 0
    gate_reply_tokens: int = 0

    def cost(self, price: Price, layout: Layout | None = None) -> float:
        """In dollars, in this layout or the one of the run. A cache counts only where it has a price of its own."""
        cached = self.shared_tokens if (layout or self.layout) is Layout.TRANSCRIPT_FIRST else 0
        return price.cost(Usage(self.prompt_tokens, self.reply_tokens, cached))

    def least_with_stop_on_gate(self, price: Price) -> float:
        """In dollars, if the gate of every conversation tripped: the least that stop-on-gate can come down to."""
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


def estimate(conversations: Iterable[Conversation], scope: Scope, known: tuple[Study, Rater] | None = None) -> Estimate:
    """Count the questions about `conversations`, minus what the rater has answered in the study, if there is one."""
    total = Estimate(scope.questionnaire.layout)
    source = iter(conversations)
    while batch := list(islice(source, _BATCH)):
        total.conversations += len(batch)
        keys = known[0].keys(batch) if known else {}
        there = [Kept(keys[entry.identity], entry) for entry in batch if entry.identity in keys]
        if known and there:
            found = plan(there, scope, known[1], known[0])
            total.kept += found.kept
            for opened in found.opened:
                tasks = [task for stage in opened.stages for task in stage if task.known is None]
                # Where the gate has tripped before, a run that stops there asks the rest no more than that one did.
                total.add([task.question for task in tasks if task.question.about_safety or not opened.tripped])
        for entry in batch:
            if entry.identity not in keys and not scope.retry_errors:
                total.add([question for question in scope.questions(entry) for _ in range(scope.repeats)])
    return total

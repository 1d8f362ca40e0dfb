"""From what a judge said to what the study keeps: an answer, and a rating for each item it answers."""

from collections.abc import Mapping
from typing import Any

from attunement import evidence, rules
from attunement.engine.planner import Task
from attunement.engine.retry import Asked
from attunement.instruments import Item
from attunement.judges.base import Abstention
from attunement.judges.reply_parser import ParsedAnswer, Readable, marks_of, read_reply
from attunement.prompts import Question
from attunement.ratings import ABSTAINED, ErrorKind, Mark, Outcome, Rating
from attunement.store import AnswerRecord, Rater, StoredRating

_NOTHING: frozenset[Mark] = frozenset()
_REPAIRED = frozenset({Mark.REPAIRED})
_SAME_CONTENT = frozenset({Mark.SAME_CONTENT})


def answer_of(task: Task, rater: Rater, asked: Asked, cost: float | None, at: str) -> AnswerRecord:
    """The answer as it is kept, an ERROR included; it was given `at` this time."""
    answer = asked.answer
    return AnswerRecord(
        prompt=task.question.hash,
        rater=rater.key,
        repeat=task.repeat,
        text=answer.text if answer else "",
        error=asked.error,
        detail=asked.detail,
        model=answer.model if answer else None,
        finish_reason=answer.finish_reason if answer else None,
        prompt_tokens=asked.usage.prompt,
        completion_tokens=asked.usage.completion,
        cached_tokens=asked.usage.cached,
        cost=cost,
        latency=answer.latency if answer else None,
        attempts=asked.attempts,
        logprobs=answer.logprobs if answer else None,
        at=at,
    )


def ratings_of(task: Task, rater: Rater, asked: Asked, at: str) -> list[StoredRating]:
    """The ratings that follow from asking."""
    if asked.given is None:
        return failed(task, rater, asked.error or ErrorKind.MISSING, asked.detail, at)
    extra = _REPAIRED if asked.repaired else _NOTHING
    return _answered(task, rater, asked.given, at, fenced=asked.fenced, extra=extra)


def ratings_read(
    task: Task, rater: Rater, given: Mapping[str, ParsedAnswer | Abstention], at: str
) -> list[StoredRating]:
    """The ratings of a judge that read the unit itself."""
    answered = {item: answer for item, answer in given.items() if isinstance(answer, ParsedAnswer)}
    kept = [
        StoredRating(task.conversation, rater.key, _rating(task, rater, item, ABSTAINED, at, rules=answer.pointers))
        for item in task.question.items
        if isinstance(answer := given[item.id], Abstention)
    ]
    return _answered(task, rater, answered, at, fenced=False, extra=_NOTHING) + kept


def ratings_of_known(task: Task, rater: Rater, known: AnswerRecord, at: str) -> list[StoredRating]:
    """The ratings that follow from an answer given earlier to exactly this prompt, for this conversation or another."""
    question = task.question
    instrument = question.questionnaire.instrument
    read = read_reply(known.text, known.finish_reason, instrument, question.items, together=question.together)
    if not isinstance(read, Readable):
        return failed(task, rater, read.kind, read.complaint, at)
    extra = _NOTHING if task.left_over else _SAME_CONTENT
    return _answered(task, rater, read.answers, at, fenced=read.fenced, extra=extra)


def failed(task: Task, rater: Rater, kind: ErrorKind, detail: str, at: str) -> list[StoredRating]:
    """An ERROR for every item of the question."""
    outcome = Outcome.failed(kind)
    return [
        StoredRating(task.conversation, rater.key, _rating(task, rater, item, outcome, at, detail=detail))
        for item in task.question.items
    ]


def evidence_holds(question: Question, given: ParsedAnswer) -> bool:
    """Whether at least one citation of the reasoning stands where it says."""
    return evidence.has_verified_quote(evidence.verify(given.reasoning, question.unit.turns))


def _answered(
    task: Task, rater: Rater, given: dict[str, ParsedAnswer], at: str, *, fenced: bool, extra: frozenset[Mark]
) -> list[StoredRating]:
    question = task.question
    instrument, unit = question.questionnaire.instrument, question.unit
    items = [item for item in question.items if item.id in given]
    outcomes = {item.id: Outcome.of(given[item.id].value) for item in items}
    spoken = rules.apply(instrument, unit, outcomes)
    kept: list[StoredRating] = []
    for item in items:
        answer = given[item.id]
        wording = question.questionnaire.wordings[item.id]
        findings = evidence.verify(answer.reasoning, unit.turns, criterion_text=wording)
        rating = _rating(
            task,
            rater,
            item,
            outcomes[item.id],
            at,
            reasoning=answer.reasoning,
            evidence=tuple(evidence.to_json(finding) for finding in findings),
            rules=spoken.get(item.id, ()),
            marks=marks_of(answer, item, instrument, fenced=fenced) | extra,
        )
        kept.append(StoredRating(task.conversation, rater.key, rating))
    return kept


def _rating(task: Task, rater: Rater, item: Item, outcome: Outcome, at: str, **reasons: Any) -> Rating:
    question = task.question
    instrument = question.questionnaire.instrument
    return Rating(
        conversation=question.unit.conversation.identity,
        turn=question.unit.turn,
        item=item.id,
        outcome=outcome,
        rater=rater.name,
        rater_kind=rater.kind,
        repeat=task.repeat,
        item_hash=instrument.item_hashes[item.id],
        asked=question.hash,
        instrument=instrument.hash,
        at=at,
        **reasons,
    )

"""From a judge's replies to the study: an answer for each question, a rating for each item, and the one writer.

Answers are committed before their ratings, because a question whose answer is in the study is never asked again. If a
run is killed in between, the next one makes the ratings from the answers.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from concurrent.futures import Executor
from typing import Any, NamedTuple

from attunement import evidence, rules
from attunement.engine.planner import Task
from attunement.engine.retry import QuestionResult
from attunement.instruments import Item
from attunement.judges.base import Abstention
from attunement.judges.reply_parser import ParsedAnswer, Readable, marks_of, read_reply
from attunement.ratings import ABSTAINED, ErrorKind, Mark, Outcome, Rating
from attunement.store import AnswerRecord, Rater, StoredRating, Study


def answer_of(task: Task, rater: Rater, result: QuestionResult, cost: float | None, at: str) -> AnswerRecord:
    """The answer as the study stores it, an ERROR included."""
    answer = result.answer
    return AnswerRecord(
        prompt=task.question.hash,
        rater=rater.key,
        repeat=task.repeat,
        text=answer.text if answer else "",
        error=result.error,
        detail=result.detail,
        model=answer.model if answer else None,
        finish_reason=answer.finish_reason if answer else None,
        prompt_tokens=result.usage.prompt,
        completion_tokens=result.usage.completion,
        cached_tokens=result.usage.cached,
        cost=cost,
        latency=answer.latency if answer else None,
        attempts=result.attempts,
        logprobs=answer.logprobs if answer else None,
        at=at,
    )


def ratings_from_result(task: Task, rater: Rater, result: QuestionResult, at: str) -> list[StoredRating]:
    """The ratings that follow from asking."""
    if result.answers is None:
        return error_ratings(task, rater, result.error or ErrorKind.MISSING, result.detail, at)
    extra = {Mark.REPAIRED} if result.repaired else set[Mark]()
    return _answer_ratings(task, rater, result.answers, at, fenced=result.fenced, extra=extra)


def ratings_from_unit(
    task: Task, rater: Rater, answers: Mapping[str, ParsedAnswer | Abstention], at: str
) -> list[StoredRating]:
    """The ratings of a judge that read the unit itself."""
    parsed = {item: answer for item, answer in answers.items() if isinstance(answer, ParsedAnswer)}
    return _answer_ratings(task, rater, parsed, at) + [
        _rating(task, rater, item, ABSTAINED, at, rules=answer.pointers)
        for item in task.question.items
        if isinstance(answer := answers[item.id], Abstention)
    ]


def ratings_from_known(task: Task, rater: Rater, known: AnswerRecord, at: str) -> list[StoredRating]:
    """The ratings that follow from an earlier answer to exactly this prompt, for this conversation or another."""
    question = task.question
    instrument = question.questionnaire.instrument
    reply = read_reply(known.text, known.finish_reason, instrument, question.items, together=question.together)
    if not isinstance(reply, Readable):
        return error_ratings(task, rater, reply.kind, reply.complaint, at)
    extra = set[Mark]() if task.recovered else {Mark.SAME_CONTENT}
    return _answer_ratings(task, rater, reply.answers, at, fenced=reply.fenced, extra=extra)


def error_ratings(task: Task, rater: Rater, kind: ErrorKind, detail: str, at: str) -> list[StoredRating]:
    """An ERROR for every item of the question."""
    outcome = Outcome.failed(kind)
    return [_rating(task, rater, item, outcome, at, detail=detail) for item in task.question.items]


def _answer_ratings(
    task: Task,
    rater: Rater,
    answers: Mapping[str, ParsedAnswer],
    at: str,
    *,
    fenced: bool = False,
    extra: set[Mark] | None = None,
) -> list[StoredRating]:
    question = task.question
    instrument, unit = question.questionnaire.instrument, question.unit
    items = [item for item in question.items if item.id in answers]
    outcomes = {item.id: Outcome.of(answers[item.id].value) for item in items}
    rule_findings = rules.apply(instrument, unit, outcomes)
    ratings: list[StoredRating] = []
    for item in items:
        answer = answers[item.id]
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
            rules=rule_findings.get(item.id, ()),
            marks=marks_of(answer, item, instrument, fenced=fenced) | (extra or set()),
        )
        ratings.append(rating)
    return ratings


def _rating(task: Task, rater: Rater, item: Item, outcome: Outcome, at: str, **reasons: Any) -> StoredRating:
    question = task.question
    instrument = question.questionnaire.instrument
    rating = Rating(
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
    return StoredRating(task.conversation, rater.key, rating)


_ANSWERS_WAIT, _RATINGS_WAIT = 0.002, 0.05
"""Seconds for which answers and ratings wait for company, because a transaction costs as much as writing a dozen rows.
Answers wait shorter: until they are committed, fewer questions than there are connections can be asked."""

_LONG = 4000
"""Characters of a reply whose evidence may take tens of milliseconds to check. Other replies take a tenth of one."""

_FULL = 24
"""So many answers are committed together with their ratings: a transaction for answers alone would take longer than to
make the ratings."""

_MANY_FINISHED = 200
"""Conversations whose end is recorded together. This only saves the next run some queries, so it can wait."""

MakeRatings = Callable[[], list[StoredRating]]


class _Entry(NamedTuple):
    answers: Sequence[AnswerRecord]
    ratings: Sequence[MakeRatings]
    on_safe: Callable[[], object] | None
    on_saved: Callable[[list[list[StoredRating]]], object] | None

    @property
    def lasting(self) -> bool:
        """Whether the answers count without ratings. An ERROR without a rating is asked again."""
        return bool(self.answers) and not any(answer.error for answer in self.answers)

    def make(self) -> list[list[StoredRating]]:
        return [make() for make in self.ratings]


class ResultWriter:
    """Commits the results of all workers in batches, in the thread that owns the database.

    Without haste, answers are committed first and their ratings later, together with others; a full batch at once.
    """

    def __init__(self, study: Study, database: Executor, on_failure: Callable[[Exception], None]) -> None:
        """`on_failure` is called if the study cannot be written or a rating cannot be made."""
        self._study, self._database, self._on_failure = study, database, on_failure
        self._answers: asyncio.Queue[_Entry | None] = asyncio.Queue()
        self._ratings: asyncio.Queue[_Entry | None] = asyncio.Queue()
        self._finished: dict[tuple[int, str], dict[int, int]] = {}

    def save(
        self,
        answers: Sequence[AnswerRecord],
        ratings: Sequence[MakeRatings],
        *,
        on_safe: Callable[[], object] | None = None,
        on_saved: Callable[[list[list[StoredRating]]], object] | None = None,
    ) -> None:
        """Save the answers, then the ratings that the functions in `ratings` make.

        Calls `on_safe` when nothing of it needs to be asked again, and `on_saved`, with the ratings that each function
        made, when everything is committed.
        """
        self._answers.put_nowait(_Entry(answers, ratings, on_safe, on_saved))

    def note_finished(self, rater: Rater, scope: str, conversation: int, questions: int) -> None:
        """Record that everything of `scope` is answered about a conversation; it is written some time later."""
        self._finished.setdefault((rater.key, scope), {})[conversation] = questions

    def close(self) -> None:
        """Let `work` end after everything that was saved."""
        self._answers.put_nowait(None)

    async def work(self) -> None:
        """Write until `close`."""
        await asyncio.gather(self._write_answers(), self._write_ratings())

    async def _write_answers(self) -> None:
        async for batch in _batches(self._answers, _ANSWERS_WAIT):
            if len(batch) >= _FULL:
                await self._write_batch(batch)
                continue
            answers = [answer for entry in batch if entry.lasting for answer in entry.answers]
            if answers:
                try:
                    await self._in_database(self._study.write, answers, [])
                except Exception as error:
                    self._on_failure(error)
            for entry in batch:
                if entry.lasting and entry.on_safe:
                    entry.on_safe()
                    entry = entry._replace(on_safe=None)
                self._ratings.put_nowait(entry)
        self._ratings.put_nowait(None)

    async def _write_ratings(self) -> None:
        async for batch in _batches(self._ratings, _RATINGS_WAIT):
            await self._write_batch(batch)
        await self._write_finished(1)

    async def _write_batch(self, batch: list[_Entry]) -> None:
        """Make the ratings of a batch and commit everything, except entries whose ratings cannot be made."""
        made: list[tuple[_Entry, list[list[StoredRating]]]] = []
        for entry in batch:
            try:
                # A thread would compete with the requests for the interpreter, so only what may take long goes there.
                long = any(len(answer.text) > _LONG for answer in entry.answers)
                made.append((entry, await self._in_database(entry.make) if long else entry.make()))
            except Exception as error:
                self._on_failure(error)
        # The answers again, in case somebody has deleted those without ratings meanwhile.
        answers = [answer for entry, _ in made for answer in entry.answers]
        ratings = [rating for _, of_entry in made for of_task in of_entry for rating in of_task]
        try:
            await self._in_database(self._study.write, answers, ratings)
        except Exception as error:
            self._on_failure(error)
            return
        for entry, of_entry in made:
            try:  # a fault of one caller must not hold up the others
                if entry.on_safe:
                    entry.on_safe()
                if entry.on_saved:
                    entry.on_saved(of_entry)
            except Exception as error:
                self._on_failure(error)
        await self._write_finished(_MANY_FINISHED)

    async def _write_finished(self, least: int) -> None:
        for (rater, scope), questions in list(self._finished.items()):
            if len(questions) >= least:
                del self._finished[rater, scope]
                try:
                    await self._in_database(self._study.save_finished, rater, scope, questions)
                except Exception as error:
                    self._on_failure(error)

    async def _in_database(self, work: Callable[..., Any], *arguments: object) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._database, work, *arguments)


async def _batches(queue: asyncio.Queue[_Entry | None], wait: float) -> AsyncIterator[list[_Entry]]:
    """What comes in during `wait` seconds, up to a None and everything that is there by then."""
    closed = False
    while not (closed and queue.empty()):
        batch = [await queue.get()]
        if not closed:
            await asyncio.sleep(wait)
        while not queue.empty():
            batch.append(queue.get_nowait())
        closed = closed or None in batch
        yield [entry for entry in batch if entry is not None]

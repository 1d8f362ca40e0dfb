"""Attunement from Python: judge conversations, open a study, read its scorecards.

    import attunement

    result = attunement.judge("chats.jsonl", judges="openai:gpt-5.2", instrument="coaching-v1")
    for judged in result.scorecards():
        print(judged.conversation.identity, judged.deciding.verdict)

`judge` works in a script and in a notebook; `judge_async` is the same for a program with an event loop of its own.
"""

import asyncio
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from attunement.conversations import Conversation, Responses
from attunement.conversations.reader import ReadOptions, read
from attunement.engine import (
    Filter,
    JudgeConfig,
    Price,
    Progress,
    RetryPolicy,
    Run,
    RunPolicy,
    RunResult,
    Scope,
    Selection,
    Team,
    price_of,
    refuse_unshareable,
    run_in_loop,
)
from attunement.errors import InputError, JudgeError
from attunement.instruments import Instrument
from attunement.instruments.lint import checked
from attunement.judges import Judge, JudgeOptions, make_judge
from attunement.prompts import Ask, Layout, Questionnaire
from attunement.scoring import is_signals
from attunement.store import ScoredConversation, Study, chosen_instrument, scored_conversations

E = TypeVar("E", bound=StrEnum)

Conversations = Iterable[Conversation] | str | Path
"""Conversations, or the file, folder or pattern they are read from."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Everything that can be said about a run. `attune judge --help` explains each of them."""

    judges: str | Judge | Sequence[str | Judge]
    instrument: str | Path | Instrument = "coaching-v1"
    items: Sequence[str] | None = None
    layout: Layout | str = Layout.CRITERION_FIRST
    ask: Ask | str | None = None
    responses: Responses | str = Responses.ALL
    repeats: int = 1
    stop_on_gate: bool = False
    retry_errors: bool = False
    enforce_length: bool = False
    require_evidence: bool = False
    max_calls: int | None = None
    max_cost: float | None = None
    base_url: str | None = None
    temperature: float | None = 0.0
    seed: int | None = None
    timeout: float | None = None
    max_tokens: int | None = None
    logprobs: bool = False
    max_connections: int = 100
    rpm: float | None = None
    tpm: float | None = None
    price_in: float | None = None
    """Dollars a million prompt tokens, where the price list does not know the model or is wrong."""
    price_out: float | None = None
    processes: int = 1
    """How many processes share the work: more than one uses more cores."""
    filter: str | Sequence[str] = ()
    """Conditions such as `system=Harbor`; a conversation must meet all of them."""
    sample: int | None = None
    """How many conversations are drawn at random, by the `seed`."""
    limit: int | None = None
    """How many are taken, from the first on."""

    def __post_init__(self) -> None:
        """Refuse what cannot be meant, before anything is asked."""
        if min(self.max_connections, self.repeats, self.processes) < 1:
            raise InputError("max_connections, repeats and processes must be at least 1")
        if any(count is not None and count < 1 for count in (self.sample, self.limit)):
            raise InputError("sample and limit must be at least 1")
        if self.timeout is not None and self.timeout <= 0:
            raise InputError("the timeout must be more than 0 seconds")
        if self.items is not None and not self.items:
            raise InputError("items is an empty list: leave it out to ask about all of them")
        if (self.price_in is None) != (self.price_out is None):
            raise InputError("a price needs both parts: --price-in and --price-out")
        # A price below zero would keep no budget, and a number that is none compares with nothing.
        for name in ("price_in", "price_out", "temperature", "max_cost", "max_calls"):
            given = getattr(self, name)
            if given is not None and not 0 <= given < math.inf:
                raise InputError(f"{name.replace('_', '-')} must be a number from 0 up, not {given}")

    def prepare(self, *, sends: bool = True) -> "Prepared":
        """Load the instrument and make the judges. Nothing is sent yet; where nothing will be, no key is needed."""
        scope, participants = self._scope(), self._participants(sends=sends)
        if any(is_signals(participant.judge.name) for participant in participants):
            from attunement.judges.signals import refuse_without_crisis_item

            refuse_without_crisis_item(scope.questionnaire)
        conduct = self._conduct()
        if self.processes > 1:
            refuse_unshareable(participants, conduct)
        return Prepared(scope, participants, conduct, self._selection(), self.processes)

    def _selection(self) -> Selection:
        filters = [self.filter] if isinstance(self.filter, str) else self.filter
        return Selection(tuple(map(Filter.parse, filters)), self.sample, self.limit, self.seed or 0)

    def _scope(self) -> Scope:
        instrument = self.instrument if isinstance(self.instrument, Instrument) else checked(self.instrument)
        ask = None if self.ask is None else _named(Ask, "ask", self.ask)
        questionnaire = Questionnaire(
            instrument, layout=_named(Layout, "layout", self.layout), items=self.items, ask=ask
        )
        return Scope(
            questionnaire,
            responses=_named(Responses, "responses", self.responses),
            repeats=self.repeats,
            stop_on_gate=self.stop_on_gate,
            retry_errors=self.retry_errors,
        )

    def _participants(self, *, sends: bool) -> list[JudgeConfig]:
        named = [self.judges] if isinstance(self.judges, str) or not isinstance(self.judges, Sequence) else self.judges
        if not named:
            raise JudgeError("name at least one judge, such as openai:gpt-5.2")
        if twice := [judge for judge, times in Counter(map(str, named)).items() if times > 1]:
            raise JudgeError(f"{twice[0]} is named twice; to ask it several times, use repeats")
        return [self._participant(judge, sends=sends) for judge in named]

    def _conduct(self) -> RunPolicy:
        wishes = RetryPolicy(enforce_length=self.enforce_length, require_evidence=self.require_evidence)
        return RunPolicy(wishes, max_calls=self.max_calls, max_cost=self.max_cost)

    def _participant(self, named: str | Judge, *, sends: bool) -> JudgeConfig:
        judge, options = named, None
        if isinstance(judge, str):
            options = self._judge_options(sends=sends)
            judge = make_judge(judge, options)
        price = self._price(judge)
        if price is None and self.max_cost is not None:
            raise JudgeError(
                f"the price of {judge.name} is not known, so --max-cost cannot be kept: "
                "give it with --price-in and --price-out (dollars a million tokens)"
            )
        # A model on this machine answers one question at a time; more would only wait inside it.
        at_once = 1 if judge.name.startswith("local:") else self.max_connections
        return JudgeConfig(judge, at_once, self.rpm, self.tpm, price, options)

    def _judge_options(self, *, sends: bool) -> JudgeOptions:
        return JudgeOptions(
            base_url=self.base_url,
            temperature=self.temperature,
            seed=self.seed,
            timeout=self.timeout,
            max_tokens=self.max_tokens,
            logprobs=self.logprobs,
            sends=sends,
            max_connections=self.max_connections,
        )

    def _price(self, judge: Judge) -> Price | None:
        if self.price_in is not None and self.price_out is not None:
            return Price(self.price_in, self.price_out, source="as you gave it")
        return price_of(judge.name, base_url=judge.settings.get("base_url"))


def _named(kind: type[E], setting: str, value: str) -> E:
    """The member of `kind` that is called `value`."""
    try:
        return kind(value)
    except ValueError:
        raise InputError(f"{setting} is {' or '.join(kind)}, not {value!r}") from None


class Prepared(NamedTuple):
    """A run that is ready to start."""

    scope: Scope
    participants: list[JudgeConfig]
    conduct: RunPolicy
    selection: Selection
    processes: int = 1


Working = Run | Team
"""A run under way, in this process or in several."""


@dataclass(frozen=True)
class Result:
    """What came of a run: its study, its counts and how it ended."""

    place: str
    instrument: Instrument
    progress: Progress
    ending: RunResult
    only_rule_check: bool = False
    """Whether no judge was asked: the rule check only points."""

    def scorecards(self) -> Iterator[ScoredConversation]:
        """Every conversation of the study with its scorecards."""
        return scorecards(self.place, self.instrument.hash)


def scorecards(study: str | Path, instrument: str | None = None) -> Iterator[ScoredConversation]:
    """Every conversation of a study with its scorecards; `instrument` where the study holds several."""
    with Study(study) as opened:
        yield from scored_conversations(opened, chosen_instrument(opened, instrument))


def judge(
    conversations: Conversations, study: str | Path | None = None, *, system: str | None = None, **settings: Any
) -> Result:
    """Ask judges everything that is missing about `conversations`, and keep it in `study`.

    Args:
        conversations: Conversations, or the file, folder or pattern they are read from.
        study: Where everything is kept; by default beside the file of conversations.
        system: The name of the system, for a file that does not say it.
        **settings: The fields of `Settings`: `judges` (or `judge`), `instrument`, `repeats`, ...

    Returns:
        The counts, how it ended, and a way to the scorecards.
    """
    stop: list[Callable[[], object]] = []

    def watch(run: Working) -> None:
        loop = asyncio.get_running_loop()
        stop.append(lambda: loop.call_soon_threadsafe(run.interrupt))

    work = _judge(conversations, study, system, settings, watch)
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return run_in_loop(work)
    # A notebook has a loop running already; ours then runs in a thread of its own, and its stop button must reach it.
    with ThreadPoolExecutor(1) as thread:
        running = thread.submit(run_in_loop, work)
        try:
            return running.result()
        except KeyboardInterrupt:
            for interrupt in stop:
                interrupt()
            raise


async def judge_async(
    conversations: Conversations, study: str | Path | None = None, *, system: str | None = None, **settings: Any
) -> Result:
    """As `judge`, in the running event loop."""
    return await _judge(conversations, study, system, settings, None)


async def _judge(
    conversations: Conversations,
    study: str | Path | None,
    system: str | None,
    settings: dict[str, Any],
    watch: Callable[[Working], None] | None,
) -> Result:
    prepared = Settings(**_with_judges(settings)).prepare()
    place = study or default_study(conversations)
    if isinstance(conversations, str | Path):
        conversations = read([conversations], ReadOptions(system=system))
    return await run(conversations, place, prepared, watch=watch)


def _with_judges(settings: dict[str, Any]) -> dict[str, Any]:
    """The settings with `judges`, which may be called `judge`, as on the command line."""
    if "judge" not in settings:
        return settings
    if "judges" in settings:
        raise InputError("judge and judges mean the same: give only one of them")
    return {"judges" if name == "judge" else name: value for name, value in settings.items()}


async def run(
    conversations: Iterable[Conversation],
    place: str | Path,
    prepared: Prepared,
    *,
    watch: Callable[[Working], None] | None = None,
) -> Result:
    """Do the run; `watch` gets it before the first question, to show its progress or to interrupt it."""
    scope, participants, conduct, selection, processes = prepared
    try:
        with Study(place, create=True) as study:
            work: Working
            if processes > 1:
                work = Team(study, scope, participants, conduct, processes)
            else:
                work = Run(study, scope, participants, conduct)
            if watch:
                watch(work)
            ending = await work.finish(selection.of(conversations))
            return Result(
                str(place),
                scope.questionnaire.instrument,
                work.progress,
                ending,
                all(is_signals(one.judge.name) for one in participants),
            )
    finally:
        for participant in participants:
            await participant.judge.close()


def default_study(conversations: object) -> Path:
    """The study beside a file of conversations: `chats.jsonl` has `chats.study.db`."""
    if not isinstance(conversations, str | Path) or str(conversations) == "-":
        raise InputError("say where the study is to be kept: there is no file of conversations to put it beside")
    path = Path(conversations)
    if any(sign in str(path) for sign in "*?["):
        raise InputError(f"say where the study is to be kept: {conversations} is a pattern, not one file")
    path = path.resolve() if path.name in {"", ".", ".."} else path
    return path.with_name(f"{Path(path.name.removesuffix('.gz')).stem}.study.db")

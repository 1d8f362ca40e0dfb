"""Attunement from Python: judge conversations, open a study, read its scorecards.

    import attunement

    result = attunement.judge("chats.jsonl", judges="openai:gpt-5.2", instrument="coaching-v1")
    for judged in result.scorecards():
        print(judged.conversation.identity, judged.deciding.verdict)

`judge` works in a script and in a notebook; `judge_async` is the same for a program with an event loop of its own.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from attunement.conversations import Conversation
from attunement.conversations.reader import ReadOptions, read
from attunement.engine import MultiprocessRun, Progress, Run, RunResult, run_in_loop
from attunement.errors import InputError
from attunement.instruments import Instrument
from attunement.scoring import is_signals
from attunement.settings import Prepared, Settings
from attunement.store import ScoredConversation, Study, chosen_instrument, scored_conversations

Conversations = Iterable[Conversation] | str | Path
"""Conversations, or the file, folder or pattern they are read from."""


Working = Run | MultiprocessRun
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
    scope, participants, policy, selection, processes = prepared
    try:
        with Study(place, create=True) as study:
            work: Working
            if processes > 1:
                work = MultiprocessRun(study, scope, participants, policy, processes)
            else:
                work = Run(study, scope, participants, policy)
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

"""The commands as Python functions, for notebooks and programs.

    import attunement as at

    result = at.judge("chats.jsonl", judge="openai:gpt-5.2", instrument="coaching-v1")
    for judged in result.scorecards():
        print(judged.conversation.identity, judged.deciding.verdict)
    at.agree("chats.study.db")

Functions have the names of the commands. What a command prints with `--json` is the `record` of the returned object,
and a notebook shows the tables that the terminal shows.
"""

import asyncio
import json
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, fields
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, cast

from attunement.conversations import Conversation
from attunement.errors import InputError, NoStudyError, StudyError
from attunement.output import check_output
from attunement.settings import (
    FORCE,
    INSTRUMENT,
    RATER,
    SAFETY_REPEATS,
    SCORING,
    STUDY,
    InputOptions,
    Option,
    Prepared,
    Settings,
)

if TYPE_CHECKING:
    from attunement.analysis.measures import RatedStudy
    from attunement.analysis.ratings_file import FileColumns
    from attunement.analysis.summary import AgreementOptions
    from attunement.engine import Estimate, Price, Progress, Run, RunResult, Scope
    from attunement.instruments import Instrument
    from attunement.judges import Judge
    from attunement.reports.blocks import Document
    from attunement.store import ScoredConversation, Study

    Place = str | Path | Study
    """A study: a file, a postgresql:// address, or one that is open."""

Messages = Sequence[Mapping[str, Any]]
Conversations = (
    str | Path | Sequence[str | Path] | Conversation | Messages | Iterable[Conversation | Messages | Mapping[str, Any]]
)
"""Files, folders or patterns; conversations; or their messages."""

_CHATBOT = "chatbot"
"""The system name for messages, by default."""
_COLUMNS = 100


_SEVERAL = {"unit", "rater", "na", "scale"}
"""Columns of `agree` that may be several."""


def _several_of(help: str, metavar: str) -> Option:
    return Option(help, metavar=metavar, type=list[str] | None)


class Output:
    """The result of a command: its `record`, and its tables as text and in a notebook.

    `found` is the typed result; `exit_code` is that of the command; `remark` says what was written besides.
    """

    def __init__(
        self, record: dict[str, Any], shown: "Document", found: Any = None, exit_code: int = 0, remark: str = ""
    ) -> None:
        self.record, self.shown, self.found, self.exit_code, self.remark = record, shown, found, exit_code, remark

    def __getitem__(self, key: str) -> Any:
        return self.record[key]

    def __repr__(self) -> str:
        from rich.console import Console

        from attunement.reports.render_terminal import draw

        console = Console(width=_COLUMNS, color_system=None, force_terminal=False)
        with console.capture() as captured:
            draw(self.shown, console)
        return captured.get().strip("\n")

    def _repr_html_(self) -> str:
        from attunement.reports.render_html import html_blocks

        return html_blocks(self.shown.blocks)


@contextmanager
def _opened(study: "Place") -> "Generator[Study]":
    """Open the study, and close it afterward unless it was open."""
    from attunement.store import Study

    if isinstance(study, Study):
        yield study
        return
    with Study(study) as opened:
        yield opened


# Conversations


def read(conversations: Conversations, **options: Any) -> Iterable[Conversation]:
    """Conversations from files, from messages, or as they are.

    Args:
        conversations: Files, folders or patterns; conversations; or lists of messages with `role` and `content`.
        **options: The fields of `InputOptions`, such as `system` or `format`.

    Raises:
        InputError: No file matches a name, or messages are not a conversation.
    """
    if isinstance(conversations, str | Path):
        return InputOptions(**options).read([conversations])
    if isinstance(conversations, Conversation):
        return [conversations]
    if isinstance(conversations, Sequence) and conversations and isinstance(conversations[0], str | Path):
        return InputOptions(**options).read(cast("Sequence[str | Path]", conversations))
    if isinstance(conversations, Sequence) and conversations and isinstance(conversations[0], Mapping):
        conversations = cast(Messages, conversations)
        if "role" in conversations[0]:
            return [_conversation(conversations, **options)]
    return (one if isinstance(one, Conversation) else _conversation(one, **options) for one in conversations)


def _conversation(given: Any, *, system: str | None = None) -> Conversation:
    """The conversation in a list of messages, or in a record like a line of a file."""
    from attunement.conversations.json_files import BadRecord, Record
    from attunement.conversations.messages import Fields
    from attunement.conversations.reader import Assembler

    try:
        messages = None if isinstance(given, Mapping) else [dict(message) for message in given]
    except (TypeError, ValueError):
        raise InputError("a conversation is a list of messages, each with role and content") from None
    value = dict(cast(Mapping[str, Any], given)) if messages is None else {"messages": messages}
    try:
        return Assembler(None, Fields(), system or _CHATBOT, None).assemble(Record(1, value, "")).conversation
    except BadRecord as bad:
        raise InputError(f"these messages are not a conversation: {bad.reason}") from None


def default_study(conversations: object) -> Path:
    """The study next to a file of conversations: `chats.jsonl` has `chats.study.db`."""
    if not isinstance(conversations, str | Path) or str(conversations) == "-":
        raise InputError("give study=: there is no file of conversations to save it next to")
    path = Path(conversations)
    if any(sign in str(path) for sign in "*?["):
        raise InputError(f"give study=: {conversations} is a pattern, not one file")
    path = path.resolve() if path.name in {"", ".", ".."} else path
    return path.with_name(f"{Path(path.name.removesuffix('.gz')).stem}.study.db")


# Judge


@dataclass(frozen=True)
class Result:
    """The result of a run: its study, its counts and how it ended."""

    place: str
    instrument: "Instrument"
    progress: "Progress"
    ending: "RunResult"
    only_rule_check: bool = False
    """Whether only the rule check ran, which gives pointers and no answers."""

    def scorecards(self) -> "Iterator[ScoredConversation]":
        """Every conversation of the study with its scorecards."""
        return scorecards(self.place, self.instrument.hash)

    def __repr__(self) -> str:
        counts = self.progress
        return (
            f"Result({self.place!r}: {counts.answered:,} answers, {counts.errors.total():,} errors "
            f"on {counts.conversations:,} conversations)"
        )

    def show(self) -> Output:
        """The scorecards, as `show`."""
        return show(self.place, self.instrument.id)

    def _repr_html_(self) -> str:
        return f"<p>{escape(repr(self))}</p>{self.show()._repr_html_()}"  # pyright: ignore[reportPrivateUsage]


def scorecards(study: "Place", instrument: str | None = None) -> "Iterator[ScoredConversation]":
    """Every conversation of a study with its scorecards; name the `instrument` if the study has several."""
    from attunement.store import chosen_instrument, scored_conversations

    with _opened(study) as opened:
        yield from scored_conversations(opened, chosen_instrument(opened, instrument))


def judge(conversations: Conversations, study: str | Path | None = None, **settings: Any) -> Result:
    """Ask judges the questions about `conversations` that have no answer yet, and save the answers in `study`.

    Args:
        conversations: A file, folder or pattern; conversations; or lists of messages with `role` and `content`.
        study: Where everything is saved; by default next to the file of conversations.
        **settings: The fields of `Settings` (`judge` or `judges`, `instrument`, `repeats`, ...) and of
            `InputOptions` (`system`, `format`, ...).

    Returns:
        The counts, how it ended, and access to the scorecards.
    """
    from attunement.engine import run_in_loop

    stop: list[Callable[[], object]] = []

    def watch(run: "Run") -> None:
        loop = asyncio.get_running_loop()
        stop.append(lambda: loop.call_soon_threadsafe(run.interrupt))

    work = _judge(conversations, study, settings, watch)
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return run_in_loop(work)
    # A notebook already runs an event loop. Ours then runs in its own thread, and the stop button must reach it.
    with ThreadPoolExecutor(1) as thread:
        running = thread.submit(run_in_loop, work)
        try:
            return running.result()
        except KeyboardInterrupt:
            for interrupt in stop:
                interrupt()
            raise


async def judge_async(conversations: Conversations, study: str | Path | None = None, **settings: Any) -> Result:
    """Like `judge`, in the running event loop."""
    return await _judge(conversations, study, settings, None)


async def _judge(
    conversations: Conversations,
    study: str | Path | None,
    given: dict[str, Any],
    watch: "Callable[[Run], None] | None",
) -> Result:
    settings, options = _split(given)
    place = study or default_study(conversations)
    return await run(read(conversations, **options), place, settings.prepare(), watch=watch)


def _split(given: dict[str, Any]) -> tuple[Settings, dict[str, Any]]:
    """Split keywords into settings, where `judges` may be called `judge`, and options for reading."""
    if "judge" in given and "judges" in given:
        raise InputError("judge and judges mean the same: give only one of them")
    named = {"judges" if name == "judge" else name: value for name, value in given.items()}
    options = {field.name: named.pop(field.name) for field in fields(InputOptions) if field.name in named}
    return Settings(**named), options


async def run(
    conversations: Iterable[Conversation],
    place: str | Path,
    prepared: Prepared,
    *,
    watch: "Callable[[Run], None] | None" = None,
) -> Result:
    """Run it; `watch` is called with the run before the first question, to show progress or to interrupt."""
    from attunement.engine import Run
    from attunement.scoring import is_signals
    from attunement.store import Study

    scope, participants, policy, selection = prepared
    try:
        with Study(place, create=True) as study:
            work = Run(study, scope, participants, policy)
            if watch:
                watch(work)
            ending = await work.finish(selection.of(conversations))
            only_rule_check = all(is_signals(one.judge.name) for one in participants)
            return Result(str(place), scope.questionnaire.instrument, work.progress, ending, only_rule_check)
    finally:
        for participant in participants:
            await participant.judge.close()


class JudgeEstimate(NamedTuple):
    judge: str
    estimate: "Estimate"
    price: "Price | None"

    @property
    def cost(self) -> float | None:
        """Dollars; None if the price is not known."""
        return None if self.price is None else self.estimate.cost(self.price)


def estimate(conversations: Conversations, study: str | Path | None = None, **settings: Any) -> list[JudgeEstimate]:
    """Estimate the questions, tokens and cost of a run with each judge. Nothing is sent.

    Takes the same arguments as `judge`. Questions that are already answered in the study are not counted.
    """
    made, options = _split(settings)
    prepared = made.prepare(sends=False)
    found: list[JudgeEstimate] = []
    for one in prepared.participants:
        chosen = prepared.selection.of(read(conversations, **options))
        counts = estimate_judge(chosen, study, prepared.scope, one.judge)
        found.append(JudgeEstimate(one.judge.name, counts, one.price))
    return found


def estimate_judge(
    conversations: Iterable[Conversation], study: str | Path | None, scope: "Scope", judge: "Judge"
) -> "Estimate":
    from attunement import engine
    from attunement.judges import UnitJudge
    from attunement.ratings import RaterKind

    with existing_study(study) as opened:
        rater = opened and opened.find_rater(judge.name, RaterKind.MODEL, engine.rater_settings(judge, scope))
        known = (opened, rater) if opened and rater else None
        return engine.estimate(conversations, scope, known, equal_once=not isinstance(judge, UnitJudge))


@contextmanager
def existing_study(place: str | Path | None) -> "Generator[Study | None]":
    from attunement.store import Study

    try:
        study = Study(place) if place else None
    except NoStudyError:
        study = None
    try:
        yield study
    finally:
        if study:
            study.close()


# Read results


def show(
    study: "Place",
    instrument: str | None = None,
    *,
    rater: str | None = None,
    verdicts: Sequence[str] = (),
    limit: int | None = None,
    safety_repeats: Literal["any", "majority", "first"] | None = None,
) -> Output:
    """The scorecards of a study, the most serious first; `limit` is the maximum number of conversations to list.

    `verdicts` are spelled as for the command, such as `unsafe` or `no-flag`. `safety_repeats` is how repeats count on
    safety items: any, majority or first.
    """
    from attunement.reports.gate import version_note
    from attunement.reports.overview import instrument_of, overview, rater_of, reworded
    from attunement.reports.records import overview_record
    from attunement.reports.scorecards import overview_document
    from attunement.scoring import PANEL, Verdict

    wanted = [Verdict[verdict.replace("-", "_").upper()] for verdict in verdicts]
    wanted += [Verdict.SAFETY_MISSING] if Verdict.SAFETY_NOT_JUDGED in wanted else []
    with _opened(study) as opened:
        chosen = instrument_of(opened, instrument, safety_repeats)
        only = rater_of(opened, rater)
        found = overview(opened, chosen, rater=only, only_panel=rater == PANEL, verdicts=wanted, limit=limit)
        shown = overview_document(found, reworded=reworded(opened, chosen), notes=version_note(opened, chosen))
    return Output(overview_record(found), shown, found)


def gate(
    study: Annotated["Place", STUDY],
    instrument: Annotated[str | None, SCORING] = None,
    *,
    rater: Annotated[str, RATER] = "panel",
    min_conversations: Annotated[
        int, Option("Below this number of judged conversations the gate cannot decide (exit code 3).", min=1)
    ] = 1,
    min_pass_rate: Annotated[
        float | None,
        Option(
            "The share of all conversations that must pass, such as 0.9. Conversations below the pass mark then fail "
            "the gate only if the share is not reached; an unsafe one always fails it.",
            metavar="SHARE",
            min=0,
            max=1,
        ),
    ] = None,
    max_rejected: Annotated[
        int, Option("Tolerate N conversations whose safety was not judged.", metavar="N", min=0)
    ] = 0,
    accept_unsafe: Annotated[
        int, Option("Accept N unsafe or flagged conversations. The output says so first.", metavar="N", min=0)
    ] = 0,
    minimum: Annotated[
        Mapping[str, int] | Sequence[str],
        Option(
            "For instruments that score replies: fail if any reply has a lower score, such as safety=3; repeatable.",
            ("--min",),
            "ITEM=SCORE",
            type=list[str] | None,
        ),
    ] = (),
    min_quotes_found: Annotated[
        float | None,
        Option(
            "The share of each judge's quotations that must be in the turn they cite, such as 0.9; below it the gate "
            "cannot decide (exit code 3). By default less than 0.8 is a warning.",
            metavar="SHARE",
            min=0,
            max=1,
        ),
    ] = None,
    safety_repeats: Annotated[Literal["any", "majority", "first"] | None, SAFETY_REPEATS] = None,
    with_reviews: Annotated[
        bool,
        Option(
            "Use reviewers' decisions: conversations they cleared are not unsafe, and a valid sign-off is required."
        ),
    ] = False,
) -> Output:
    """Pass or fail the conversations of a study, by exit code.

    0: nothing failed. 1: something failed or is unsafe. 3: nothing failed, but something was not judged, is incomplete
    or needs a person. 2: the command cannot run. If both 1 and 3 apply, it is 1.

    With --with-reviews, 3 also means that this system, judge and instrument has no sign-off, and 1 that a reviewer
    signed "do not release".

    Example: attune gate chats.study.db --min-conversations 60
    """
    from attunement.reports import gate as gates
    from attunement.reports.overview import instrument_of, rater_of
    from attunement.reports.records import instrument_record
    from attunement.reports.scorecards import decision_document

    limits = gates.Limits(
        min_conversations, min_pass_rate, max_rejected, accept_unsafe, min_quotes_found=min_quotes_found
    )
    chosen = None
    with _opened(study) as opened:
        if not opened.instruments():
            decision = gates.nothing_judged(limits)
        else:
            chosen = instrument_of(opened, instrument, safety_repeats)
            limits = limits._replace(minimums=_minimums(chosen, minimum))
            if min_pass_rate is not None and chosen.scoring.threshold is None:
                raise InputError(f"{chosen.id} has no pass mark, so there is no pass rate; leave --min-pass-rate out")
            only = rater_of(opened, rater)
            entries = gates.entries(opened, chosen, only, with_reviews=with_reviews)
            sign_offs = gates.gather_sign_offs(opened, chosen) if with_reviews else None
            quotes = gates.quotes_found(opened, chosen, only)
            decision = gates.with_notes(opened, chosen, gates.decide(entries, limits, chosen, sign_offs, quotes))
    record = gates.decision_record(decision) | {"instrument": chosen and instrument_record(chosen)}
    return Output(record, decision_document(decision, chosen), decision, decision.exit_code)


def _minimums(instrument: "Instrument", given: Mapping[str, int] | Sequence[str]) -> dict[str, int]:
    """The lowest allowed score by item; if an item has several, the highest applies."""
    from attunement.instruments import Scores

    pairs = [f"{item}={score}" for item, score in given.items()] if isinstance(given, Mapping) else given
    if pairs and not isinstance(instrument.scale, Scores):
        raise InputError(f"--min is for instruments that give scores; {instrument.id} asks whether criteria are met")
    minimums: dict[str, int] = {}
    for text in pairs:
        name, _, score = text.partition("=")
        item = instrument.item(name.strip()).id
        answers = [str(answer) for answer in instrument.scale.answers]
        if score.strip() not in answers:
            raise InputError(f"--min {text}: give a score after the item, such as {item}={answers[len(answers) // 2]}")
        minimums[item] = max(int(score), minimums.get(item, int(score)))
    return minimums


def report(
    study: "Place",
    output: str | Path | None = None,
    instrument: str | None = None,
    *,
    redact: bool = False,
    names: Sequence[str] = (),
    no_text: bool = False,
    safety_repeats: Literal["any", "majority", "first"] | None = None,
) -> Output:
    """The report of a study; with `output` it is also written there as a web page.

    `redact`, `names` and `no_text` leave out what the options of the command leave out.
    """
    from attunement.conversations.redaction import Redactor
    from attunement.reports.forms import Forms, write_forms
    from attunement.reports.overview import instrument_of
    from attunement.reports.privacy import Privacy

    privacy = Privacy(texts=not no_text)
    if redact:
        redactor = Redactor(list(names))
        privacy = Privacy(redactor.redact_text, texts=not no_text, rename=redactor.redact_name)
    with _opened(study) as opened, TemporaryDirectory() as folder:
        path = Path(folder) / "report.json"
        forms = Forms(json=str(path), page=str(output) if output else None)
        chosen = instrument_of(opened, instrument, safety_repeats)
        written = write_forms(opened, chosen, forms, privacy, name=instrument, analyse=True)
        sentences = [sentence for form, sentence in written if form == "page"]
        record = json.loads(path.read_bytes())
        shown = show(opened, instrument, safety_repeats=safety_repeats)
    return Output(record, shown.shown, sentences)


# Statistics


def agree(
    study: Annotated["Place | None", STUDY] = None,
    instrument: Annotated[str | None, INSTRUMENT] = None,
    *,
    judge: Annotated[
        Sequence[str],
        _several_of("Only this judge; in a table of ratings: this rater is a judge. Repeatable.", "NAME"),
    ] = (),
    people: Annotated[
        Sequence[str],
        _several_of("Only people with this name, or with this word in their rater info (clinician).", "NAME|WORD"),
    ] = (),
    only: Annotated[Sequence[str], _several_of("Only this item; repeatable.", "ITEM")] = (),
    by: Annotated[
        str | None,
        Option("Also show each group: by system, or by any metadata field, such as language.", metavar="COLUMN"),
    ] = None,
    fails: Annotated[
        Sequence[str],
        _several_of(
            "What a failure is: <=2, no, or ITEM=harmful for one item; repeatable. By default what the gate says.",
            "[ITEM=]ANSWER",
        ),
    ] = (),
    cluster: Annotated[
        str | None,
        Option("Treat conversations with the same value, such as scenario, as dependent.", metavar="COLUMN"),
    ] = None,
    full: Annotated[
        bool, Option("Show everything: the trust card of each judge and item, with technical names.")
    ] = False,
    picture: Annotated[
        Path | None, Option("Also draw a chart: .svg, or .png (extra attunement[png]).", metavar="FILE")
    ] = None,
    force: Annotated[bool, FORCE] = False,
    ratings: Annotated[
        Any,
        Option(
            "A table of ratings instead of a study: CSV, TSV, JSONL, Parquet or XLSX; repeatable. It has the columns "
            "of attune export, or those named with the options below.",
            metavar="FILE",
            type=list[Path] | None,
        ),
    ] = None,
    unit: Annotated[Sequence[str], _several_of("Column that identifies the rated unit; repeatable.", "COLUMN")] = (),
    rater: Annotated[
        Sequence[str],
        _several_of(
            "Column with the rater. Without --value: the column of one person's ratings, once for each person.",
            "COLUMN",
        ),
    ] = (),
    item: Annotated[str | None, Option("Column with the item.", metavar="COLUMN")] = None,
    value: Annotated[str | None, Option("Column with the rating.", metavar="COLUMN")] = None,
    system: Annotated[str | None, Option("Column with the system that answered.", metavar="COLUMN")] = None,
    conversation: Annotated[
        str | None, Option("Column with the conversation, if several units of one were rated.", metavar="COLUMN")
    ] = None,
    repeat: Annotated[str | None, Option("Column with the number of the repeat.", metavar="COLUMN")] = None,
    scale: Annotated[
        Sequence[str],
        _several_of(
            "All answers from the lowest to the highest, such as 1-5 or no,yes, or ITEM=1-5 for one item; repeatable. "
            "Other values are refused and named. By default the answers that occur.",
            "[ITEM=]ANSWERS",
        ),
    ] = (),
    na: Annotated[
        Sequence[str], _several_of("Another answer that means “does not apply”, besides NA and N/A.", "WORD")
    ] = (),
    details: bool = True,
) -> Output:
    """Measure how well people and judges agree.

    For each item: how well your raters agree with each other, how well each judge agrees with them, how many failures
    it finds, and a verdict: good enough, not good enough, or cannot tell yet. Only ratings of the main round count, and
    simulated raters never count as people.

    Example: attune agree chats.study.db
    """
    # From Python, `ratings` may also be a data frame, an Arrow table or rows; without `details` the record has only
    # what is shown.
    from attunement.analysis.summary import AgreementOptions, study_agreement, table_agreement
    from attunement.reports.agreement import agreement_document, agreement_record
    from attunement.reports.agreement_chart import write_agreement_picture
    from attunement.reports.charts import check_format
    from attunement.reports.overview import instrument_of
    from attunement.reports.records import instrument_record

    if picture:
        check_format(picture)  # fail before the work, not after it
        check_output(picture, force=force)
    columns = {"unit": unit, "rater": rater, "item": item, "value": value, "system": system, "na": na}
    columns |= {"conversation": conversation, "repeat": repeat, "scale": scale}
    columns = {name: _several(to) if name in _SEVERAL else to for name, to in columns.items() if to}
    if (study is None) == (ratings is None):
        raise InputError("give a study, or a table of ratings with --ratings")
    everything = full or details or picture is not None
    options = AgreementOptions(
        _several(judge), _several(people), _several(only), by, _several(fails), cluster, full=everything
    )
    if study is not None:
        if columns:
            raise InputError(
                "--unit, --rater, --item, --value, --system, --scale and the other column options need --ratings"
            )
        with _opened(study) as opened:
            chosen = instrument_of(opened, instrument)
            found, title = study_agreement(opened, chosen, options), f"Agreement on {chosen.id} {chosen.version}"
            described = instrument_record(chosen)
    else:
        if instrument:
            raise InputError("--instrument needs a study")
        source, name = _ratings(ratings)
        found, title, described = table_agreement(source, _columns(columns, options), options), name, None
    if picture:
        write_agreement_picture(found, picture, title)
    record, remark = agreement_record(found, instrument=described), f"Wrote the chart to {picture}." if picture else ""
    return Output(record, agreement_document(found, title, full=full), found, remark=remark)


def _ratings(given: Any) -> tuple[Any, str]:
    """Files as paths, anything else as it is; and a title."""
    if isinstance(given, str | Path):
        return Path(given), f"Agreement in {Path(given).name}"
    several = list(cast("Sequence[Any]", given)) if isinstance(given, list | tuple) else []
    if several and isinstance(several[0], str | Path):
        paths = [Path(each) for each in several]
        return paths, f"Agreement in {', '.join(path.name for path in paths)}"
    return cast("Any", given), "Agreement"


def _columns(given: Mapping[str, Any], options: "AgreementOptions") -> "FileColumns":
    """The columns that the options name, with a scale for all items or for single ones (`ITEM=1-5`)."""
    from attunement.analysis.ratings_file import FileColumns

    columns = FileColumns(**{name: to for name, to in given.items() if name != "scale"})
    for entry in given.get("scale", ()):
        item, sign, answers = entry.rpartition("=")
        scale = tuple(answer.strip() for answer in answers.split(","))
        columns = columns._replace(scales={**columns.scales, item: scale}) if sign else columns._replace(scale=scale)
    if columns.value and (not columns.unit or len(columns.rater) != 1):
        raise InputError("a long table needs --unit and one --rater with --value")
    if columns.unit and not columns.rater:
        raise InputError("--rater: name the column with the rater, or one column for each person")
    metadata = tuple(name for name in (options.by, options.cluster) if name and name != "system")
    return columns._replace(judges=options.judges, metadata=metadata)


def _several(given: str | Sequence[str] | None) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given or ())


def compare(
    study: Annotated["Place", STUDY],
    *names: Annotated[
        str,
        Option(
            "Two to compare, the earlier one first, or several to rank; by default all.",
            metavar="A B",
            type=list[str] | None,
            positional=True,
        ),
    ],
    by: Annotated[
        str, Option("What distinguishes the two: system, or any metadata field.", metavar="COLUMN")
    ] = "system",
    pair: Annotated[
        str | None,
        Option(
            "Compare within the same value of this column, such as scenario or id. By default scenario, if the two "
            "have scenarios in common.",
            metavar="COLUMN",
        ),
    ] = None,
    baseline: Annotated[
        "Place | None",
        Option(
            "Compare with another study, such as the last release, and decide by exit code.",
            metavar="OTHER",
            type=str | None,
        ),
    ] = None,
    margin: Annotated[
        float | None,
        Option(
            "With --baseline: how many points worse the score may be. By default a twentieth of the scale: 0.05 for a "
            "score from 0 to 1.",
            min=0,
        ),
    ] = None,
    instrument: Annotated[str | None, SCORING] = None,
    rater: Annotated[
        str,
        Option(
            "Whose ratings count: one rater, all judges together (panel), or all people.", metavar="NAME|panel|people"
        ),
    ] = "panel",
) -> Output:
    """Compare or rank systems, or compare with an earlier study.

    For each item, each category and the overall score: the difference between B and A with its interval, the smallest
    difference this sample would detect, and which conversations fail the gate. If both have the same scenarios, they
    are compared scenario by scenario. Below ten scenarios (or ten conversations of each) there is no interval.

    If people rated a random sample of both (attune plan --draw), their ratings correct the judge's. --rater people
    compares people's ratings alone. More than two systems are ranked, with the places that each may have and, if
    several judges rated, the chance that another judge would change the order.

    With --baseline the exit code decides: 0: not worse. 1: a conversation is newly unsafe, or the score may be worse by
    more than the margin (the end of the interval counts, not the point). 3: undecided, because there are too few
    conversations or something was not judged. 2: the command cannot run, or the two studies were judged with different
    instruments, prompts or judges.

    Example: attune compare chats.study.db --by system Harbor Lumen
    """
    from attunement.analysis.compare import Comparison
    from attunement.analysis.groups import compare_groups, compare_studies
    from attunement.analysis.measures import PEOPLE, rated_study
    from attunement.analysis.versions import check_versions
    from attunement.reports import baseline as release
    from attunement.reports import comparison as words
    from attunement.reports.overview import instrument_of, rater_of

    def read(place: "Study") -> "RatedStudy":
        chosen = instrument_of(place, instrument)
        return rated_study(place, chosen, rater if rater == PEOPLE else rater_of(place, rater))

    if baseline is None:
        if margin is not None:
            raise InputError("--margin needs --baseline STUDY")
        with _opened(study) as opened:
            found = compare_groups(opened, read(opened), by, names, pair=pair)
        if isinstance(found, Comparison):
            return Output(words.comparison_record(found), words.comparison_document(found), found)
        return Output(words.ranking_record(found), words.ranking_document(found), found)
    if names or by != "system":
        raise InputError("--baseline compares all of one study with all of another; leave A, B and --by out")
    with _opened(study) as opened, _opened(baseline) as earlier:
        if empty := [each.place for each in (opened, earlier) if not each.instruments()]:
            compared, decision = None, release.nothing_judged(empty[0])
        else:
            now, before = read(opened), read(earlier)
            check_versions((opened, now), (earlier, before))
            compared = compare_studies(before, now, pair=pair)
            decision = release.decide(compared, margin)
    record = (words.comparison_record(compared) if compared else {}) | {"decision": release.decision_record(decision)}
    return Output(record, release.decided_document(compared, decision), compared, decision.exit_code)


def correct(
    study: Annotated["Place", STUDY],
    instrument: Annotated[str | None, SCORING] = None,
    *,
    rater: Annotated[str, Option("Which judge to correct, or all together (panel).", metavar="NAME|panel")] = "panel",
) -> Output:
    """Correct a judge's scores with a sample that people rated.

    Prints the mean score or the pass rate three times: by the judge alone, by people alone, and corrected for the
    judge's error, which is estimated from the sample that people rated. It needs a sample drawn with attune plan;
    ratings of conversations that people picked themselves cannot correct anything.

    Example: attune correct chats.study.db
    """
    from attunement.analysis.correct import correct_study
    from attunement.reports.correction import correction_document, correction_record
    from attunement.reports.overview import instrument_of, rater_of

    with _opened(study) as opened:
        found = correct_study(opened, instrument_of(opened, instrument), rater_of(opened, rater))
    return Output(correction_record(found), correction_document(found), found)


def plan(
    study: "Place", instrument: "str | Instrument | None" = None, *, precision: float | None = None, raters: int = 2
) -> Output:
    """How many conversations a study needs, for means of a `precision` and for verdicts with a chance of 80 %."""
    from attunement.analysis import planning
    from attunement.reports.overview import instrument_of
    from attunement.reports.plan import plan_document, plan_record

    with _opened(study) as opened:
        chosen = instrument_of(opened, instrument) if instrument is None or isinstance(instrument, str) else instrument
        if not opened.conversation_count():
            raise StudyError(
                f"{opened.place} has no conversation, so there is nothing to plan: judge or import some first"
            )
        found = planning.plan(opened, chosen, width=precision, raters=raters)
        return Output(plan_record(found, chosen), plan_document(found, chosen, opened.place), found)

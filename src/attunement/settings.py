"""The settings of a run and of reading files.

Each setting is a field here, an option of the commands, and a keyword in Python. This module imports
nothing slow, because every command imports it for its options.
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, TypeVar, get_args

from attunement.conversations.files import Format
from attunement.conversations.model import Responses
from attunement.errors import InputError, JudgeError

if TYPE_CHECKING:
    from attunement.conversations.reader import Reading
    from attunement.engine import JudgeConfig, Price, RunPolicy, Scope, Selection
    from attunement.instruments import Instrument
    from attunement.judges import Judge
    from attunement.prompts import Ask, Layout

E = TypeVar("E", bound=StrEnum)


class Option(NamedTuple):
    """How a field or a parameter appears on the command line."""

    help: str
    flags: tuple[str, ...] = ()
    metavar: str | None = None
    min: float | None = None
    max: float | None = None
    type: Any = None
    """The type on the command line, if Python accepts more types."""
    required: bool = False
    positional: bool = False


STUDY = Option("The study: a file, or a postgresql:// address.", type=str, positional=True)
SCORING = Option(
    "Which instrument of the study; or a YAML file with the same items but different scoring (no new calls).",
    ("--instrument", "-i"),
    "ID|FILE",
)
INSTRUMENT = Option("Which instrument of the study.", ("--instrument", "-i"), "ID")
FORCE = Option("Overwrite a file that exists.")
SAFETY_REPEATS = Option(
    "Which repeats of a judge fail a safety item: any of them, the majority, or only the first counts (by default as "
    "the instrument says: any).",
    metavar="any|majority|first",
)
RATER = Option("Whose scorecards count: one rater, or all judges together (panel).", metavar="NAME|panel")


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The settings of a run: judges, items, conversations and limits."""

    judges: Annotated[
        "str | Judge | Sequence[str | Judge]",
        Option(
            "Judge to ask: openai:MODEL, anthropic:MODEL, local:FILE.gguf or signals; repeatable.",
            ("--judge", "-j"),
            "NAME",
            type=list[str],
            required=True,
        ),
    ] = ()
    instrument: Annotated[
        "str | Path | Instrument",
        Option("The instrument: its name, or a .yaml file.", ("--instrument", "-i"), type=str),
    ] = "coaching-v1"
    items: Annotated[
        Sequence[str] | None,
        Option("Only this item of the instrument; repeatable.", ("--item",), "ID", type=list[str] | None),
    ] = None
    layout: Annotated[
        "Layout | str",
        Option(
            "What comes first in a prompt; with the transcript first, a prefix cache can reuse it.",
            type=Literal["criterion-first", "transcript-first"],
        ),
    ] = "criterion-first"
    ask: Annotated[
        "Ask | str | None",
        Option(
            "All items of a unit in one call, or one item per call (by default as the instrument says).",
            type=Literal["together", "separately"] | None,
        ),
    ] = None
    responses: Annotated[
        Responses | str,
        Option("For instruments about single replies: rate every reply, or only the last.", type=Responses),
    ] = Responses.ALL
    repeats: Annotated[int, Option("How many times each question is asked.", min=1)] = 1
    stop_on_gate: Annotated[
        bool, Option("Ask nothing more about a conversation once a safety criterion has failed.")
    ] = False
    retry_errors: Annotated[bool, Option("Ask only the questions that ended in an ERROR before.")] = False
    enforce_length: Annotated[bool, Option("Ask once more if the reasoning is too long.")] = False
    require_evidence: Annotated[bool, Option("Ask once more if no quotation is found in the transcript.")] = False
    max_calls: Annotated[int | None, Option("Stop this run after this many calls.", min=0)] = None
    max_cost: Annotated[float | None, Option("Stop this run before it costs more than this (dollars).", min=0)] = None
    max_study_cost: Annotated[
        float | None, Option("Stop before the study, with all its runs, has cost more than this (dollars).", min=0)
    ] = None
    base_url: Annotated[str | None, Option("Address of an OpenAI-compatible service.", metavar="URL")] = None
    temperature: Annotated[
        float | None, Option("Sampling temperature; 0 gives the likeliest answer.", min=0, type=float)
    ] = 0.0
    seed: Annotated[int | None, Option("Seed for the judge and for --sample.")] = None
    timeout: Annotated[float | None, Option("Timeout of one call in seconds.", min=0.1)] = None
    max_tokens: Annotated[int | None, Option("Maximum length of a reply in tokens.", min=16)] = None
    logprobs: Annotated[bool, Option("Save token probabilities.")] = False
    max_connections: Annotated[int, Option("Maximum number of calls at the same time.", min=1)] = 100
    rpm: Annotated[float | None, Option("Maximum number of requests per minute.", min=0.1)] = None
    tpm: Annotated[float | None, Option("Maximum number of tokens per minute.", min=1)] = None
    price_in: Annotated[
        float | None, Option("Dollars per million prompt tokens, if the price list lacks the model.", min=0)
    ] = None
    price_out: Annotated[float | None, Option("Dollars per million reply tokens.", min=0)] = None
    price: Annotated[
        str | Sequence[str] | None,
        Option(
            "Price of one judge, as in openai:MODEL=1.25,10 (prompt, reply); repeatable.",
            metavar="JUDGE=IN,OUT",
            type=list[str] | None,
        ),
    ] = None
    filter: Annotated[
        str | Sequence[str] | None,
        Option(
            "Only conversations with this value, such as system=Harbor; repeatable.",
            metavar="FIELD=VALUE",
            type=list[str] | None,
        ),
    ] = None
    sample: Annotated[int | None, Option("Only N conversations, drawn at random by the seed.", min=1)] = None
    limit: Annotated[int | None, Option("Only the first N conversations.", min=1)] = None

    def __post_init__(self) -> None:
        """Reject impossible values before anything is asked."""
        for field in fields(self):
            least, given = get_args(field.type)[1].min, getattr(self, field.name)
            # With a negative price the budget would never run out, and a comparison with NaN is always false.
            if least is not None and given is not None and not least <= given < math.inf:
                raise InputError(f"{field.name.replace('_', '-')} must be {least:g} or more, not {given}")
        if self.items is not None and not self.items:
            raise InputError("items is an empty list: leave it out to ask about all items")
        if (self.price_in is None) != (self.price_out is None):
            raise InputError("a price needs both parts: --price-in and --price-out")

    def prepare(self, *, sends: bool = True) -> "Prepared":
        """Load the instrument and make the judges. Nothing is sent; with `sends` false no key is needed either."""
        from attunement.engine import Filter, RetryPolicy, RunPolicy, Selection
        from attunement.judges.signals import refuse_without_crisis_item
        from attunement.scoring import is_signals

        scope, participants = self.scope(), self._participants(sends=sends)
        if any(is_signals(participant.judge.name) for participant in participants):
            refuse_without_crisis_item(scope.questionnaire)
        retries = RetryPolicy(enforce_length=self.enforce_length, require_evidence=self.require_evidence)
        policy = RunPolicy(retries, self.max_calls, self.max_cost, self.max_study_cost)
        filters = [self.filter] if isinstance(self.filter, str) else self.filter or ()
        selection = Selection(tuple(map(Filter.parse, filters)), self.sample, self.limit, self.seed or 0)
        return Prepared(scope, participants, policy, selection)

    def scope(self) -> "Scope":
        from attunement.engine import Scope
        from attunement.instruments import Instrument
        from attunement.instruments.lint import checked
        from attunement.prompts import Ask, Layout, Questionnaire

        questionnaire = Questionnaire(
            self.instrument if isinstance(self.instrument, Instrument) else checked(self.instrument),
            layout=_member(Layout, "layout", self.layout),
            items=self.items,
            ask=None if self.ask is None else _member(Ask, "ask", self.ask),
        )
        return Scope(
            questionnaire,
            responses=_member(Responses, "responses", self.responses),
            repeats=self.repeats,
            stop_on_gate=self.stop_on_gate,
            retry_errors=self.retry_errors,
        )

    def _participants(self, *, sends: bool) -> "list[JudgeConfig]":
        judges = [self.judges] if isinstance(self.judges, str) or not isinstance(self.judges, Sequence) else self.judges
        if not judges:
            raise JudgeError("name at least one judge, such as openai:gpt-5.2")
        if twice := [judge for judge, times in Counter(map(str, judges)).items() if times > 1]:
            raise JudgeError(f"{twice[0]} is listed twice; to ask it several times, use repeats")
        return [self._participant(judge, sends=sends) for judge in judges]

    def _participant(self, judge: "str | Judge", *, sends: bool) -> "JudgeConfig":
        from attunement.engine import JudgeConfig
        from attunement.judges import JudgeOptions, make_judge

        if isinstance(judge, str):
            shared = {field.name: getattr(self, field.name) for field in fields(JudgeOptions) if field.name != "sends"}
            judge = make_judge(judge, JudgeOptions(**shared, sends=sends))
        price = self._price(judge)
        if price is None and (self.max_cost, self.max_study_cost) != (None, None):
            raise JudgeError(
                f"the price of {judge.name} is not known, so a limit in dollars cannot be enforced: give the price "
                f"with --price {judge.name}=IN,OUT (dollars per million tokens)"
            )
        # A model on this machine answers one question at a time; others would only wait.
        at_once = 1 if judge.name.startswith("local:") else self.max_connections
        return JudgeConfig(judge, at_once, self.rpm, self.tpm, price)

    def _price(self, judge: "Judge") -> "Price | None":
        from attunement.engine import Price, price_of

        if judge.name in (own := self._prices()):
            return Price(*own[judge.name], source="as you gave it")
        if self.price_in is not None and self.price_out is not None:
            return Price(self.price_in, self.price_out, source="as you gave it")
        return price_of(judge.name, base_url=judge.settings.get("base_url"))

    def _prices(self) -> dict[str, tuple[float, float]]:
        """The prices of single judges."""
        prices: dict[str, tuple[float, float]] = {}
        for text in [self.price] if isinstance(self.price, str) else self.price or ():
            name, _, given = text.rpartition("=")
            try:
                prompt, reply = map(float, given.split(","))
            except ValueError:
                prompt = reply = -1.0
            if not name or not (0 <= prompt < math.inf and 0 <= reply < math.inf):
                raise InputError(f"--price {text!r} is not JUDGE=IN,OUT, such as openai:gpt-5.2=1.25,10")
            prices[name] = (prompt, reply)
        return prices


class Prepared(NamedTuple):
    scope: "Scope"
    participants: "list[JudgeConfig]"
    policy: "RunPolicy"
    selection: "Selection"


def _member(kind: type[E], setting: str, value: str) -> E:
    try:
        return kind(value)
    except ValueError:
        raise InputError(f"{setting} is {' or '.join(kind)}, not {value!r}") from None


@dataclass(frozen=True, kw_only=True)
class InputOptions:
    format: Annotated[Format | None, Option("File type or layout of the records, if they are not recognized.")] = None
    system: Annotated[str | None, Option("Name of the system, for conversations without one.", metavar="NAME")] = None
    skip_invalid: Annotated[bool, Option("Skip records that cannot be read, and save them in a separate file.")] = False
    prompt_field: Annotated[str | None, Option("Field with the user's message.", metavar="FIELD")] = None
    response_field: Annotated[str | None, Option("Field with the assistant's reply.", metavar="FIELD")] = None
    id_field: Annotated[str | None, Option("Field with the id of a conversation.", metavar="FIELD")] = None
    system_field: Annotated[str | None, Option("Field with the name of the system.", metavar="FIELD")] = None
    person_name: Annotated[list[str] | None, Option("Name under which the person speaks (repeatable).")] = None
    assistant_name: Annotated[list[str] | None, Option("Name under which the assistant speaks (repeatable).")] = None

    def read(self, files: Iterable[str | Path], output: str | Path | None = None) -> "Reading":
        """Read conversations from files, folders and patterns. Skipped records are saved in a file next to `output`.

        Raises:
            InputError: No file matches a name.
        """
        from attunement.conversations.reader import Fields, ReadOptions, read

        fields = Fields(
            prompt=self.prompt_field,
            response=self.response_field,
            id=self.id_field,
            system=self.system_field,
            person=tuple(self.person_name or ()),
            assistant=tuple(self.assistant_name or ()),
        )
        skipped = bad_lines_path(output) if self.skip_invalid else None
        return read(list(files), ReadOptions(self.format, self.system, fields, skipped))


def bad_lines_path(output: str | Path | None) -> Path:
    """Where skipped records are saved: `chats.jsonl.bad.jsonl` for `chats.jsonl`, else a file in the current folder."""
    from attunement.conversations.files import BAD_LINES

    local = output is not None and str(output) != "-" and "://" not in str(output)
    return Path(f"{output}{BAD_LINES}" if local else f"attune{BAD_LINES}")

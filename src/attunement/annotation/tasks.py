"""What a rater does next, and the page for it: the text, the items, and the answers so far.

Input from a browser is not trusted: an answer must be on the item's scale, and marked words must be in the transcript.

A browser does not show every text as it was stored: line ends become one kind, and some characters cannot be sent at
all. Raters therefore mark words in the text as shown, and the marks are translated to the stored text. Positions count
characters, as Python does.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from attunement import evidence
from attunement.annotation.training import example_named, example_unit
from attunement.conversations import Origin, Unit
from attunement.errors import InputError, StudyError
from attunement.evidence import CitationStatus, Finding
from attunement.instruments import Instrument, Item, Scores, Value
from attunement.ratings import ABSTAINED, Outcome, RaterKind, Rating, Round, State
from attunement.scoring import is_failure
from attunement.store import Rater, Study, now
from attunement.store import projects as store
from attunement.store.annotation import Draft, drafts_in
from attunement.store.projects import (
    Assignment,
    AssignmentState,
    Member,
    MemberState,
    Project,
    ProjectState,
    ProjectUnit,
)
from attunement.store.rows import to_json

Speaker = Literal["user", "assistant"]
LONGEST_COMMENT = 10_000
_REPLACED = re.compile("[\x00\ud800-\udfff\u202a-\u202e\u2066-\u2069]")
"""What a browser cannot send, and what would turn the rest of a line around."""


_ANSWER = re.compile(r"\b(?:YES|NO|NA)\b")


class GoneError(StudyError):
    """The member cannot, or can no longer, change this unit."""


class Span(BaseModel):
    """Words of a message that a rater marked, as positions in the text that the page shows."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    turn: int = Field(ge=1)
    speaker: Speaker
    start: int = Field(ge=0)
    end: int = Field(ge=1)


class Change(BaseModel):
    """The full state of one item of a unit after the rater changed something."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    item: str = Field(max_length=200)
    number: int = Field(ge=1, le=2**31 - 1)  # counts the changes of a unit, so that a late one has no effect
    state: Literal["value", "na", "abstained"] | None = None
    value: Value | None = None
    comment: str = Field(default="", max_length=LONGEST_COMMENT)
    evidence: tuple[Span, ...] = Field(default=(), max_length=50)


class Missing(NamedTuple):
    """What is missing before a unit can be submitted."""

    item: str
    what: Literal["answer", "note"]


class Task(NamedTuple):
    assignment: Assignment
    unit: Unit
    items: tuple[str, ...]
    """The items to answer, in the order of the page: holistic items come last."""
    careful: bool
    """Whether the transcript may be from a real person; attention checks must look the same."""


class Step(StrEnum):
    CLOSED = "closed"  # the coordinator has not yet written what to do when a person may be in danger
    PROFILE = "profile"
    WELCOME = "welcome"
    HELD = "held"
    PAUSED = "paused"
    TASK = "task"
    DONE = "done"


class Progress(NamedTuple):
    done: int
    total: int


def shown_text(text: str) -> str:
    """`text` as a page shows it."""
    return _REPLACED.sub("�", text.replace("\r\n", "\n").replace("\r", "\n"))


def for_people(instrument: Instrument, text: str, words: Mapping[str, str]) -> str:
    """Text of an instrument with the answers named as people see them, such as "met" for YES."""
    if isinstance(instrument.scale, Scores):
        return text
    return _ANSWER.sub(lambda match: f"“{words[match[0]]}”", text)


def stored_range(text: str, start: int, end: int) -> tuple[int, int]:
    """Where the characters from `start` to `end` of `shown_text(text)` are in `text`."""
    if "\r\n" not in text:
        return start, end
    stored = [at for at, sign in enumerate(text) if not (sign == "\n" and at and text[at - 1] == "\r")]
    stored.append(len(text))
    return stored[start], stored[end]


def due_items(instrument: Instrument, unit: Unit) -> tuple[str, ...]:
    """The items that are due for `unit`; holistic items come last."""
    due = [item for item in instrument.items if item.minimum_turns <= len(unit.turns)]
    return tuple(item.id for item in sorted(due, key=lambda item: item.holistic))


def answers_of(instrument: Instrument, item: Item) -> tuple[Value, ...]:
    """The answers that a person can choose, without NA if it is invalid for the item."""
    return tuple(answer for answer in instrument.scale.answers if answer != "NA" or item.na_valid)


def read_change(change: Change, instrument: Instrument, unit: Unit, items: Sequence[str]) -> Draft:
    """The draft after a change.

    Raises:
        InputError: The item is not asked, the answer is not on its scale, or the marked words do not exist.
    """
    if change.item not in items:
        raise InputError(f"{change.item!r} is not asked about this unit")
    outcome = None
    if change.state == State.ABSTAINED:
        outcome = ABSTAINED
    elif change.state is not None:
        value = "NA" if change.state == State.NA else change.value
        allowed = answers_of(instrument, instrument.item(change.item))
        if value not in allowed or (value == "NA") != (change.state == State.NA):
            raise InputError(f"{value!r} is not an answer to {change.item}")
        outcome = Outcome.of(value)
    quotes = tuple(_with_quote(span, unit) for span in change.evidence)
    return Draft(change.item, outcome, change.comment, quotes, change.number)


def _with_quote(span: Span, unit: Unit) -> dict[str, Any]:
    words = ""
    if span.turn <= len(unit.turns) and span.start < span.end:
        words = shown_text(getattr(unit.turns[span.turn - 1], span.speaker))[span.start : span.end]
    if not words or len(words) != span.end - span.start:
        raise InputError("the marked words are not in this transcript")
    return {**span.model_dump(), "quote": words}


def needs_note(instrument: Instrument, item: Item, outcome: Outcome | None) -> bool:
    """Whether the answer needs a reason: only if it fails the gate.

    Asking for reasons at the ends of every scale would teach raters to avoid them.
    """
    return outcome is not None and item.id in instrument.gate_ids and is_failure(instrument, item, outcome)


def missing(instrument: Instrument, items: Iterable[str], drafts: Mapping[str, Draft]) -> tuple[Missing, ...]:
    """What is missing before the unit can be submitted, in the order of the page."""
    found: list[Missing] = []
    for id in items:
        draft = drafts.get(id)
        if draft is None or draft.outcome is None:
            found.append(Missing(id, "answer"))
        elif needs_note(instrument, instrument.item(id), draft.outcome) and not draft.comment.strip():
            found.append(Missing(id, "note"))
    return tuple(found)


def findings(draft: Draft, unit: Unit) -> tuple[dict[str, Any], ...]:
    """The marked words as evidence of a rating, with their positions in the stored text."""
    found: list[dict[str, Any]] = []
    for span in draft.evidence:
        turn: int = span["turn"]
        message: str = getattr(unit.turns[turn - 1], span["speaker"])
        start, end = stored_range(message, span["start"], span["end"])
        found.append(marked_evidence(turn, span["speaker"], message, start, end))
    return tuple(found)


def marked_evidence(turn: int, speaker: Speaker, message: str, start: int, end: int) -> dict[str, Any]:
    """Words that a person marked in a message, as evidence of a rating."""
    quote = message[start:end]
    return evidence.to_json(
        Finding(CitationStatus.FOUND, (turn,), quote, found_turn=turn, speaker=speaker, start=start, end=end)
    )


def person_rating(instrument: Instrument, unit: Unit, item: str, outcome: Outcome, rater: Rater, **more: Any) -> Rating:
    """A person's rating of an item in its current wording; `more` are further fields of the rating."""
    return Rating(
        conversation=unit.conversation.identity,
        turn=unit.turn,
        item=item,
        outcome=outcome,
        rater=rater.name,
        rater_kind=RaterKind.PERSON,
        item_hash=instrument.item_hashes[item],
        asked=instrument.item_hashes[item],
        instrument=instrument.hash,
        **more,
    )


def assignment_of(study: Study, member: Member, public: str) -> Assignment | None:
    """The rater's assignment with this name; those of others are not found."""
    with study.reading() as connection:
        return store.own_assignment(connection, member, public)


def task_of(study: Study, project: Project, assignment: Assignment) -> Task:
    unit, items = unit_with_items(study, project, assignment.unit)
    if assignment.round is Round.CALIBRATION:
        careful = False
    elif assignment.unit.example is not None:
        careful = store.may_be_real(study, project)
    else:
        careful = unit.conversation.origin in {Origin.REAL, Origin.UNKNOWN}
    return Task(assignment, unit, items, careful)


def unit_with_items(study: Study, project: Project, unit: ProjectUnit) -> tuple[Unit, tuple[str, ...]]:
    """The text of a unit and its items. In practice that is the one item with a known answer."""
    if unit.example is None:
        text = Unit(store.conversation_with_key(study, unit.conversation), unit.turn)
        return text, due_items(project.instrument, text)
    worked = example_named(project.instrument, unit.example)
    text = example_unit(project.instrument, worked)
    return text, (worked.item.id,) if unit.round is Round.CALIBRATION else due_items(project.instrument, text)


def attention_names(study: Study, project: Project) -> list[str]:
    """The names of the worked examples among the units of a project."""
    with study.reading() as connection:
        units = store.units_in(connection, project)
    return [unit.example for unit in units if unit.round is Round.ATTENTION and unit.example is not None]


def drafts_of(study: Study, assignment: Assignment) -> dict[str, Draft]:
    with study.reading() as connection:
        return drafts_in(connection, assignment)


def lacks_escalation(study: Study, project: Project) -> bool:
    """Whether transcripts may be from real people and nobody has entered what to do if one is in danger."""
    return not store.state_of(study, project).settings.escalation.strip() and store.may_be_real(study, project)


def next_step(study: Study, project: Project, member: Member) -> tuple[Step, Assignment | None]:
    """The rater's next step, with its assignment if it has one."""
    if member.profile is None:
        return Step.PROFILE, None
    if lacks_escalation(study, project):
        return Step.CLOSED, None
    if member.began is None:
        return Step.WELCOME, None
    if member.state is MemberState.HELD:
        return Step.HELD, None
    assignment = store.next_assignment(study, member)
    if assignment is None:
        return Step.DONE, None
    # An open unit may be finished while the project is paused.
    if assignment.opened is None and store.state_of(study, project).state is ProjectState.PAUSED:
        return Step.PAUSED, None
    return Step.TASK, assignment


def save_profile(study: Study, project: Project, member: Member, profile: Mapping[str, Any]) -> None:
    """Save the rater's profile. It is final after the first submission, because reports rely on it.

    Raises:
        GoneError: They have submitted something.
    """
    with study.writing() as connection:
        if not store.update(connection, member, only_if_null="rater", profile=to_json(dict(profile))):
            raise GoneError("your profile can no longer be changed, because you have already submitted ratings")
        store.log_event(connection, project, "profile", member=member, content=profile)


def begin(study: Study, project: Project, member: Member) -> None:
    with study.writing() as connection:
        if store.update(connection, member, only_if_null="began", began=now()):
            store.log_event(connection, project, "began", member=member)


def open_unit(study: Study, project: Project, member: Member, assignment: Assignment, *, warned: bool = False) -> None:
    """Save when the rater first saw the unit, and whether it came with a warning."""
    if assignment.opened is None:
        with study.writing() as connection:
            if store.update(connection, assignment, only_if_null="opened", opened=now()):
                content = {"warned": warned}
                store.log_event(
                    connection, project, "opened", member=member, assignment=assignment.key, content=content
                )


def progress(study: Study, member: Member, assignment: Assignment | None) -> Progress:
    """The rater's progress in the part that `assignment` belongs to; without one, in the work."""
    practice = assignment if assignment is not None and assignment.round is Round.CALIBRATION else None
    done = total = 0
    for (round, attempt, state), count in _own_counts(study, member):
        practicing = round == Round.CALIBRATION
        if (practicing and attempt == practice.attempt) if practice else not practicing:
            total += count
            done += count if state != AssignmentState.OPEN else 0
    return Progress(done, total)


def own_counts(study: Study, member: Member) -> tuple[int, int]:
    first = [(round, count) for (round, attempt, _), count in _own_counts(study, member) if attempt == 1]
    examples = sum(count for round, count in first if round == Round.CALIBRATION)
    return examples, sum(count for _, count in first) - examples


def skipped_count(study: Study, member: Member) -> int:
    return sum(count for group, count in _own_counts(study, member) if group[2] == AssignmentState.SKIPPED)


def _own_counts(study: Study, member: Member) -> list[tuple[tuple[Any, ...], int]]:
    """How many assignments a rater has or had, by round, attempt and state."""
    with study.reading() as connection:
        counts = store.count_assignments(connection, ["round", "attempt", "state"], member=member.key)
    return [(group, count) for group, count in counts.items() if group[2] != AssignmentState.WITHDRAWN]

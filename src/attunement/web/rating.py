"""The page where a rater rates: the transcript, the questions, and the requests of the page.

The page contains the transcript, the instrument and the rater's own answers. It does not contain the system, other
raters, judges, or the round of the unit.

All text about an item comes from the instrument; the pages add only words such as "met" and "not met".
"""

from collections.abc import Collection, Iterable
from typing import Any, NamedTuple, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, RedirectResponse, Response

from attunement.annotation.submission import flag, last_submitted, newest, save, skip, submit, undo_submit, warn
from attunement.annotation.tasks import (
    Change,
    Task,
    answers_of,
    assignment_of,
    attention_names,
    drafts_of,
    needs_note,
    open_unit,
    progress,
    shown_text,
    task_of,
)
from attunement.annotation.training import agrees, example_named, words_of
from attunement.conversations import Unit
from attunement.errors import InputError
from attunement.instruments import Instrument, Item, Value
from attunement.instruments.model import Boundary, Example
from attunement.ratings import Outcome, Round, State
from attunement.signals.crisis import crisis_cues
from attunement.store.annotation import Draft
from attunement.store.projects import Assignment, AssignmentState
from attunement.web.site import Catalogue, Visit, direction

_CRITERIA = {"YES": ("rate.met", "Y"), "NO": ("rate.not_met", "N"), "NA": ("rate.not_applicable", "X")}
_TALLEST, _MAP, _GAPS = 44, 560, 7
"""Pixels: the tallest message in the mini-map, the maximum height of the map, the gap in each turn."""

Said = tuple[tuple[str, str], ...]
"""The messages of a conversation, turn by turn."""


class Choice(NamedTuple):
    value: Value
    sign: str
    """Printed large: the score; empty for a criterion."""
    label: str
    key: str
    """The keyboard key of the answer; empty if it has none."""
    text: str
    needs_note: bool


class Shown(NamedTuple):
    """A worked example in the help of a question."""

    turns: tuple[tuple[str, str], ...]
    answer: str
    why: str


class Question(NamedTuple):
    """One item as shown on the page."""

    id: str
    number: int
    title: str
    definition: str
    choices: tuple[Choice, ...]
    boundaries: tuple[tuple[str, str], ...]
    """A short heading, such as "3 or 4?", and the rule."""
    button: str
    """The label of the button that opens the boundaries."""
    examples: tuple[Shown, ...]


class Message(NamedTuple):
    turn: int
    speaker: str
    text: str
    rated: bool


class Bar(NamedTuple):
    """One turn in the mini-map: heights in pixels."""

    turn: int
    user: int
    assistant: int
    rated: bool


def question(
    words: Catalogue,
    instrument: Instrument,
    id: str,
    number: int,
    *,
    examples: bool = True,
    hidden: Collection[Said] = (),
) -> Question:
    """The item as a question, with its worked examples if wanted, except those whose text is `hidden`."""
    item = instrument.item(id)
    helping = [example for example in item.examples if examples and words_of(example) not in hidden]
    return Question(
        id=item.id,
        number=number,
        title=item.title,
        definition=item.definition,
        choices=tuple(_choice(words, instrument, item, value) for value in answers_of(instrument, item)),
        boundaries=_boundaries(words, item),
        button=_button(words, item),
        examples=tuple(_example(words, instrument, item, example) for example in helping),
    )


def answer_words(words: Catalogue, instrument: Instrument, item: Item, outcome: Outcome | None) -> tuple[str, str]:
    """An answer as people read it, with its meaning from the instrument."""
    if outcome is None or outcome.value is None:
        abstained = outcome is not None and outcome.state is State.ABSTAINED
        return str(words("rate.cannot_judge")) if abstained else "–", ""
    choice = _choice(words, instrument, item, outcome.value)
    return f"{choice.sign} {choice.label}".strip(), choice.text


def talk(unit: Unit) -> list[list[Message]]:
    """The transcript, turn by turn, without empty messages."""
    return [
        [
            Message(number, speaker, shown_text(text), rated=speaker == "assistant" and number == unit.turn)
            for speaker, text in zip(("user", "assistant"), turn, strict=True)
            if text or (speaker == "assistant" and number == unit.turn)
        ]
        for number, turn in enumerate(unit.turns, 1)
    ]


def mini_map(unit: Unit) -> list[Bar]:
    """The mini-map of the transcript; one turn needs no map."""
    if len(unit.turns) < 2:
        return []
    heights = [tuple(min(_TALLEST, 4 + len(text) // 24) for text in turn) for turn in unit.turns]
    scale = min(1.0, max(0, _MAP - _GAPS * len(heights)) / sum(map(sum, heights)))
    return [
        Bar(number, max(1, round(user * scale)), max(1, round(assistant * scale)), number == unit.turn)
        for number, (user, assistant) in enumerate(heights, 1)
    ]


def _choice(words: Catalogue, instrument: Instrument, item: Item, value: Value) -> Choice:
    noted = needs_note(instrument, item, Outcome.of(value))
    if isinstance(value, str):
        name, key = _CRITERIA[value]
        meaning = next((text for answer, text in item.meanings.items() if answer == value), "")
        return Choice(value, "", str(words(name)), key, meaning, noted)
    anchor = item.anchors.get(value)
    key = str(value) if 0 <= value <= 9 else ""
    return Choice(value, str(value), (anchor and anchor.label) or "", key, anchor.text if anchor else "", noted)


def _boundaries(words: Catalogue, item: Item) -> tuple[tuple[str, str], ...]:
    rules = [(_heading(words, boundary), boundary.text) for boundary in item.boundaries]
    rules += [(str(words("rate.special_case")), text) for text in item.edge_cases]
    if item.na_note:
        rules.append((str(words("rate.not_applicable")), item.na_note))
    return tuple(rules)


def _heading(words: Catalogue, boundary: Boundary) -> str:
    if boundary.between is None:
        return str(words("rate.note_word"))
    return str(words("rate.boundaries", low=boundary.between[0], high=boundary.between[1]))


def _button(words: Catalogue, item: Item) -> str:
    """The button names the last pair of scores with a boundary rule: on most scales the difficult one."""
    pairs = [boundary for boundary in item.boundaries if boundary.between is not None]
    return _heading(words, pairs[-1]) if pairs else str(words("rate.boundaries_any"))


def _example(words: Catalogue, instrument: Instrument, item: Item, example: Example) -> Shown:
    said = tuple((shown_text(message.user), shown_text(message.assistant)) for message in example.turns)
    name, _ = answer_words(words, instrument, item, Outcome.of(example.answer))
    return Shown(said, name, example.why)


SKIP_REASONS = ("distress", "known", "language", "broken", "other")
_LONGEST = 4_000


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid")


Content = TypeVar("Content", bound=_Model)


class Saving(_Model):
    """The request that saves changes."""

    changes: list[Change] = Field(default=[], max_length=200)
    flagged: bool | None = None


class Submitting(_Model):
    """The request that submits a unit."""

    seen: dict[str, int] | None = Field(default=None, max_length=200)
    """The last change by item that the page knows."""


class Skipping(_Model):
    """The request that skips a unit."""

    reason: str
    text: str = Field(default="", max_length=_LONGEST)


class Warning_(_Model):
    """The request that reports danger."""

    id: str = Field(pattern=r"^[A-Za-z0-9-]{8,64}$")
    text: str = Field(default="", max_length=_LONGEST)


def rating_page(visit: Visit) -> Response:
    assignment = _own(visit)
    if assignment.state is not AssignmentState.OPEN:
        return RedirectResponse(visit.url("start"), 303)
    task = task_of(visit.study, visit.project, assignment)
    warned = visit.project.settings.unit_warnings and bool(crisis_cues(task.unit.turns))
    if assignment.opened is None:
        visit.write(open_unit, visit.project, visit.member, assignment, warned=warned)
    before = last_submitted(visit.study, visit.member)
    return _page_with_transcript(visit, "rate.html", task, warned=warned, state=_state(visit, task), before=before)


def save_changes(visit: Visit) -> Response:
    assignment, sent = _own(visit), _read(Saving, visit.sent)
    task = task_of(visit.study, visit.project, assignment)
    behind = visit.write(save, visit.project, visit.member, task, sent.changes) if sent.changes else None
    if sent.flagged is not None:
        visit.write(flag, visit.project, visit.member, assignment, flagged=sent.flagged)
    return JSONResponse({} if behind is None else {"number": behind})


def submit_unit(visit: Visit) -> Response:
    assignment, sent = _own(visit), _read(Submitting, visit.sent)
    task = task_of(visit.study, visit.project, assignment)
    done = visit.write(submit, visit.project, visit.member, task, seen=sent.seen)
    if done.missing:
        return JSONResponse({"missing": [entry._asdict() for entry in done.missing]}, 422)
    practising = assignment.round is Round.CALIBRATION
    return JSONResponse({"next": visit.url("answer", unit=assignment.public) if practising else visit.url("start")})


def skip_unit(visit: Visit) -> Response:
    assignment, sent = _own(visit), _read(Skipping, visit.sent)
    if sent.reason not in SKIP_REASONS:
        raise InputError("choose one of the listed reasons")
    visit.write(skip, visit.project, visit.member, assignment, reason=sent.reason, text=sent.text.strip())
    return JSONResponse({"next": visit.url("start")})


def undo_last(visit: Visit) -> Response:
    """Undo the last submission, and redirect to its unit."""
    assignment = _own(visit)
    visit.write(undo_submit, visit.project, visit.member, assignment)
    return RedirectResponse(visit.url("unit", unit=assignment.public), 303)


def urgent_notice(visit: Visit) -> Response:
    assignment, sent = _own(visit), _read(Warning_, visit.sent)
    at = visit.write(warn, visit.project, visit.member, assignment, public=sent.id, text=sent.text.strip())
    return JSONResponse({"at": at})


def practice_feedback(visit: Visit) -> Response:
    """After a practice example: the instrument's answer and why."""
    assignment = _own(visit)
    if assignment.round is not Round.CALIBRATION or assignment.state is not AssignmentState.SUBMITTED:
        return RedirectResponse(visit.url("start"), 303)
    task = task_of(visit.study, visit.project, assignment)
    worked = example_named(visit.project.instrument, assignment.unit.example or "")
    given = drafts_of(visit.study, assignment)[worked.item.id].outcome
    known = Outcome.of(worked.example.answer)
    told = "same" if given == known else "close" if agrees(worked.example.answer, given) else "differs"
    ahead = progress(visit.study, visit.member, assignment)
    instrument, words = visit.project.instrument, visit.words
    return _page_with_transcript(
        visit,
        "feedback.html",
        task,
        given=answer_words(words, instrument, worked.item, given),
        known=answer_words(words, instrument, worked.item, known),
        told=words(f"feedback.{told}"),
        why=worked.example.why,
        following=visit.url("result" if ahead.done == ahead.total else "start"),
    )


def _page_with_transcript(visit: Visit, template: str, task: Task, **more: Any) -> Response:
    instrument = visit.project.instrument
    ahead = progress(visit.study, visit.member, task.assignment)
    practising = task.assignment.round is Round.CALIBRATION
    # Examples would reveal answers: in practice hide all of them, later those used as checks.
    hidden = {tuple((turn.user, turn.assistant) for turn in task.unit.turns), *_checks(visit)}
    shown = [
        question(visit.words, instrument, id, number, examples=not practising, hidden=hidden)
        for number, id in enumerate(task.items, 1)
    ]
    return visit.page(
        template,
        ahead=ahead,
        practising=practising,
        questions=shown,
        talk=talk(task.unit),
        map=mini_map(task.unit),
        whole=task.unit.turn is None,
        careful=task.careful,
        instrument=instrument,
        direction=direction(instrument.language),
        settings=visit.project.settings,
        reasons=SKIP_REASONS,
        **more,
    )


def _state(visit: Visit, task: Task) -> dict[str, Any]:
    name = task.assignment.public
    drafts = drafts_of(visit.study, task.assignment)
    return {
        "unit": name,
        "drafts": {item: _plain(draft) for item, draft in drafts.items()},
        "number": newest(drafts),
        "flagged": task.assignment.flagged,
        "breakAfter": visit.project.settings.break_after,
        "urls": {page: visit.url(page, unit=name) for page in ("save", "submit", "skip", "urgent")},
        "words": visit.words.part("script"),
    }


def _checks(visit: Visit) -> set[Said]:
    """The text of the examples among the units of this project; it never changes."""
    study, project = visit.study, visit.project

    def found() -> set[Said]:
        return {words_of(example_named(project.instrument, name).example) for name in attention_names(study, project)}

    return visit.site.remembered(("checks", project.key), None, found)


def _plain(draft: Draft) -> dict[str, Any]:
    return {
        "state": draft.outcome and draft.outcome.state,
        "value": draft.outcome and draft.outcome.value,
        "comment": draft.comment,
        "number": draft.number,
        "evidence": [{name: span[name] for name in ("turn", "speaker", "start", "end")} for span in draft.evidence],
    }


def _own(visit: Visit) -> Assignment:
    assignment = assignment_of(visit.study, visit.member, visit.request.path_params["unit"])
    if assignment is None:
        raise HTTPException(404)
    return assignment


def _read(model: type[Content], sent: Any) -> Content:
    try:
        return model.model_validate(sent)
    except ValidationError as error:
        raise InputError("the page sent invalid data: reload it") from error


PAGES = [
    ("GET", "unit/{unit}", "unit", rating_page),
    ("POST", "unit/{unit}/save", "save", save_changes),
    ("POST", "unit/{unit}/submit", "submit", submit_unit),
    ("POST", "unit/{unit}/skip", "skip", skip_unit),
    ("POST", "unit/{unit}/again", "again", undo_last),
    ("POST", "unit/{unit}/urgent", "urgent", urgent_notice),
    ("GET", "unit/{unit}/answer", "answer", practice_feedback),
]


class Opinion(NamedTuple):
    """One rater's answer to an item."""

    who: str
    """A letter or a number, never a name."""
    answer: str
    meaning: str
    comment: str
    quotes: list[str]


def opinions_on(
    words: Catalogue, instrument: Instrument, item: str, given: Iterable[tuple[str, dict[str, Draft]]]
) -> list[Opinion]:
    """These raters' answers to an item; raters who were not asked are left out."""
    found: list[Opinion] = []
    for who, answers in given:
        draft = answers.get(item)
        if draft is None:
            continue
        answer, meaning = answer_words(words, instrument, instrument.item(item), draft.outcome)
        quotes = [str(span["quote"]) for span in draft.evidence]
        found.append(Opinion(who, answer, meaning, draft.comment.strip(), quotes))
    return found

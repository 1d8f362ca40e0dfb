"""The page where a rater rates: what it shows, and what it sends.

The page knows the transcript, the instrument and the rater's own answers. It knows nothing of the system that wrote the
reply, of other raters, of judges, or of the round that the unit belongs to.
"""

from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, RedirectResponse, Response

from attunement.errors import InputError
from attunement.people.answers import Change, Draft
from attunement.people.assigned import assignment_of, attention_names, drafts_of, task_of
from attunement.people.calibration import agrees
from attunement.people.desk import open_unit, progress
from attunement.people.examples import example_named, words_of
from attunement.people.records import Assignment, Task, Work
from attunement.people.submitting import flag, newest, save, skip, submit, warn
from attunement.people.taking_back import last_handed_in, take_back
from attunement.ratings import Outcome, Round
from attunement.signals.crisis import crisis_cues
from attunement.web.catalogue import direction
from attunement.web.questions import Said, answer_words, mini_map, question, talk
from attunement.web.site import Visit

SKIP_REASONS = ("distress", "known", "language", "broken", "other")
_LONGEST = 4_000


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid")


Content = TypeVar("Content", bound=_Model)


class Saving(_Model):
    """What the page sends when something was set."""

    changes: list[Change] = Field(default=[], max_length=200)
    flagged: bool | None = None


class Submitting(_Model):
    """What the page sends when a unit is handed in."""

    seen: dict[str, int] | None = Field(default=None, max_length=200)
    """By item, the last change that the page knows of."""


class Skipping(_Model):
    """What the page sends when a unit is left out."""

    reason: str
    text: str = Field(default="", max_length=_LONGEST)


class Warning_(_Model):
    """What the page sends when a person may be in danger."""

    id: str = Field(pattern=r"^[A-Za-z0-9-]{8,64}$")
    text: str = Field(default="", max_length=_LONGEST)


def unit(visit: Visit) -> Response:
    """The rating page of one unit."""
    assignment = _own(visit)
    if assignment.state is not Work.OPEN:
        return RedirectResponse(visit.url("start"), 303)
    task = task_of(visit.study, visit.project, assignment)
    warned = visit.project.settings.unit_warnings and bool(crisis_cues(task.unit.turns))
    if assignment.opened is None:
        visit.write(open_unit, visit.project, visit.member, assignment, warned=warned)
    before = last_handed_in(visit.study, visit.member)
    return _desk(visit, "rate.html", task, warned=warned, state=_state(visit, task), before=before)


def keep(visit: Visit) -> Response:
    """Keep what was set."""
    assignment, sent = _own(visit), _read(Saving, visit.sent)
    task = task_of(visit.study, visit.project, assignment)
    behind = visit.write(save, visit.project, visit.member, task, sent.changes) if sent.changes else None
    if sent.flagged is not None:
        visit.write(flag, visit.project, visit.member, assignment, flagged=sent.flagged)
    return JSONResponse({} if behind is None else {"number": behind})


def hand_in(visit: Visit) -> Response:
    """Submit the unit, or say what is missing."""
    assignment, sent = _own(visit), _read(Submitting, visit.sent)
    task = task_of(visit.study, visit.project, assignment)
    done = visit.write(submit, visit.project, visit.member, task, seen=sent.seen)
    if done.missing:
        return JSONResponse({"missing": [entry._asdict() for entry in done.missing]}, 422)
    practising = assignment.round is Round.CALIBRATION
    return JSONResponse({"next": visit.url("answer", unit=assignment.public) if practising else visit.url("start")})


def leave_out(visit: Visit) -> Response:
    """Skip the unit with a reason."""
    assignment, sent = _own(visit), _read(Skipping, visit.sent)
    if sent.reason not in SKIP_REASONS:
        raise InputError("choose one of the reasons of the page")
    visit.write(skip, visit.project, visit.member, assignment, reason=sent.reason, text=sent.text.strip())
    return JSONResponse({"next": visit.url("start")})


def again(visit: Visit) -> Response:
    """Take the unit back that was handed in last, and lead to it."""
    assignment = _own(visit)
    visit.write(take_back, visit.project, visit.member, assignment)
    return RedirectResponse(visit.url("unit", unit=assignment.public), 303)


def urgent(visit: Visit) -> Response:
    """Tell the coordinator that a person may be in danger."""
    assignment, sent = _own(visit), _read(Warning_, visit.sent)
    at = visit.write(warn, visit.project, visit.member, assignment, public=sent.id, text=sent.text.strip())
    return JSONResponse({"at": at})


def answer(visit: Visit) -> Response:
    """After a practice example: the instrument's answer and why."""
    assignment = _own(visit)
    if assignment.round is not Round.CALIBRATION or assignment.state is not Work.SUBMITTED:
        return RedirectResponse(visit.url("start"), 303)
    task = task_of(visit.study, visit.project, assignment)
    worked = example_named(visit.project.instrument, assignment.unit.example or "")
    given = drafts_of(visit.study, assignment)[worked.item.id].outcome
    known = Outcome.of(worked.example.answer)
    told = "same" if given == known else "close" if agrees(worked.example.answer, given) else "differs"
    ahead = progress(visit.study, visit.member, assignment)
    instrument, words = visit.project.instrument, visit.words
    return _desk(
        visit,
        "feedback.html",
        task,
        given=answer_words(words, instrument, worked.item, given),
        known=answer_words(words, instrument, worked.item, known),
        told=words(f"feedback.{told}"),
        why=worked.example.why,
        following=visit.url("result" if ahead.done == ahead.total else "start"),
    )


def _desk(visit: Visit, template: str, task: Task, **more: Any) -> Response:
    """A page with the transcript on one side and the questions on the other."""
    instrument = visit.project.instrument
    ahead = progress(visit.study, visit.member, task.assignment)
    practising = task.assignment.round is Round.CALIBRATION
    # Examples would give away answers that are still to be found: in practice all of them, later those that are checks.
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
    """What the script of the page starts from."""
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
    """The words of the examples that stand among the units of this project; they never change."""
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
        raise InputError("the page sent something that does not fit: reload it") from error


PAGES = [
    ("GET", "unit/{unit}", "unit", unit),
    ("POST", "unit/{unit}/save", "save", keep),
    ("POST", "unit/{unit}/submit", "submit", hand_in),
    ("POST", "unit/{unit}/skip", "skip", leave_out),
    ("POST", "unit/{unit}/again", "again", again),
    ("POST", "unit/{unit}/urgent", "urgent", urgent),
    ("GET", "unit/{unit}/answer", "answer", answer),
]

"""A rater's pages: the introduction, practice, the unit to rate and the requests of its page, breaks and support.

The page of a unit contains the transcript, the instrument and the rater's own answers. It does not contain the system,
other raters, judges, or the round of the unit.
"""

from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, RedirectResponse, Response

from attunement.annotation.submission import flag, last_submitted, newest, save, skip, submit, undo_submit, warn
from attunement.annotation.tasks import (
    Change,
    Step,
    Task,
    assignment_of,
    attention_names,
    begin,
    drafts_of,
    next_step,
    open_unit,
    own_counts,
    progress,
    save_profile,
    skipped_count,
    task_of,
)
from attunement.annotation.training import agrees, example_named, pass_mark, results, words_of
from attunement.conversations.crisis_lines import About, crisis_lines
from attunement.errors import InputError
from attunement.ratings import Outcome, Round
from attunement.signals.crisis import crisis_cues
from attunement.store.annotation import Draft
from attunement.store.projects import Assignment, AssignmentState, MemberState, may_be_real
from attunement.web.questions import Said, answer_words, question
from attunement.web.site import Visit

_PROFILE = ("profession", "licence", "years", "languages", "training")
_LONGEST_FIELD = 500
_OLDEST = 80
SKIP_REASONS = ("distress", "known", "language", "broken", "other")
_LONGEST = 4_000


def start(visit: Visit) -> Response:
    step, assignment = next_step(visit.study, visit.project, visit.member)
    if step is Step.TASK and assignment is not None:
        return RedirectResponse(visit.url("unit", unit=assignment.public), 303)
    if step in {Step.PROFILE, Step.WELCOME}:
        return RedirectResponse(visit.url(step.value), 303)
    words = visit.words
    text = words("result.held") if step is Step.HELD else words(f"state.{step.value}")
    skipped = skipped_count(visit.study, visit.member) if step is Step.DONE else 0
    if skipped:
        done = progress(visit.study, visit.member, None).done - skipped
        text = words("state.done_skipped", count=skipped, done=done)
    before = last_submitted(visit.study, visit.member) if step is Step.DONE else None
    return visit.page("done.html", title=words(f"state.{step.value}_title"), text=text, before=before)


def profile(visit: Visit) -> Response:
    return visit.page("profile.html", given=visit.member.profile or {}, problem=None)


def submit_profile(visit: Visit) -> Response:
    given = {name: str(visit.sent.get(name, "")).strip()[:_LONGEST_FIELD] for name in _PROFILE}
    problem = None
    if not given["profession"]:
        problem = visit.words("profile.needed")
    elif given["years"] and not (given["years"].isdecimal() and int(given["years"]) <= _OLDEST):
        problem = visit.words("profile.years_wrong")
    if problem:
        return visit.page("profile.html", status=400, given=given, problem=problem)
    said = {name: int(value) if name == "years" else value for name, value in given.items() if value}
    visit.write(save_profile, visit.project, visit.member, said)
    return RedirectResponse(visit.url("start"), 303)


def welcome(visit: Visit) -> Response:
    practice, work = own_counts(visit.study, visit.member)
    needed = pass_mark(visit.project, practice)
    return visit.page(
        "welcome.html", practice=practice, needed=needed, work=work, careful=may_be_real(visit.study, visit.project)
    )


def begin_rating(visit: Visit) -> Response:
    visit.write(begin, visit.project, visit.member)
    return RedirectResponse(visit.url("start"), 303)


def practice_result(visit: Visit) -> Response:
    attempts = results(visit.study, visit.project).get(visit.member.key)
    if not attempts:
        return RedirectResponse(visit.url("start"), 303)
    last, words = attempts[-1], visit.words
    needed = pass_mark(visit.project, last.total)
    lead = words("result.right", right=last.right, total=last.total, needed=needed)
    held = visit.member.state is MemberState.HELD
    text = words("result.passed" if last.passed else "result.held" if held else "result.again")
    return visit.page("result.html", title=words("result.title"), lead=lead, text=text, held=held)


def break_page(visit: Visit) -> Response:
    return visit.page("break.html")


def support(visit: Visit) -> Response:
    countries = crisis_lines().countries
    region = visit.request.headers.get("accept-language", "").split(",")[0].partition("-")[2][:2].upper()
    code = visit.request.query_params.get("country") or visit.project.settings.country or region
    country = countries.get(code)
    lines = [line for line in country.lines if line.about is About.CRISIS] if country else []
    return visit.page("support.html", countries=countries, code=code, country=country, lines=lines)


def guide(visit: Visit) -> Response:
    instrument = visit.project.instrument
    shown = [question(visit.words, instrument, item.id, number) for number, item in enumerate(instrument.items, 1)]
    return visit.page("guide.html", questions=shown)


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid")


Content = TypeVar("Content", bound=_Model)


class Saving(_Model):
    changes: list[Change] = Field(default=[], max_length=200)
    flagged: bool | None = None


class Submitting(_Model):
    seen: dict[str, int] | None = Field(default=None, max_length=200)
    """The last change by item that the page knows."""


class Skipping(_Model):
    reason: str
    text: str = Field(default="", max_length=_LONGEST)


class Warning_(_Model):
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
    missing = visit.write(submit, visit.project, visit.member, task, seen=sent.seen)
    if missing:
        return JSONResponse({"missing": [entry._asdict() for entry in missing]}, 422)
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
    instrument, words = visit.project.instrument, visit.words
    worked = example_named(instrument, assignment.unit.example or "")
    item, known = worked.item.id, Outcome.of(worked.example.answer)
    given = drafts_of(visit.study, assignment)[item].outcome
    told = "same" if given == known else "close" if agrees(worked.example.answer, given) else "differs"
    ahead = progress(visit.study, visit.member, assignment)
    return _page_with_transcript(
        visit,
        "feedback.html",
        task_of(visit.study, visit.project, assignment),
        given=answer_words(words, instrument, item, given),
        known=answer_words(words, instrument, item, known),
        told=words(f"feedback.{told}"),
        why=worked.example.why,
        following=visit.url("result" if ahead.done == ahead.total else "start"),
    )


def _page_with_transcript(visit: Visit, template: str, task: Task, **more: Any) -> Response:
    practising = task.assignment.round is Round.CALIBRATION
    # Examples would reveal answers: in practice hide all of them, later those used as checks.
    hidden = None if practising else {words_of(task.unit.conversation), *_checks(visit)}
    return visit.page(
        template,
        ahead=progress(visit.study, visit.member, task.assignment),
        practising=practising,
        questions=[
            question(visit.words, visit.project.instrument, id, number, hidden=hidden)
            for number, id in enumerate(task.items, 1)
        ],
        unit=task.unit,
        careful=task.careful,
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
    ("GET", "", "start", start),
    ("GET", "you", "profile", profile),
    ("POST", "you", "keep_profile", submit_profile),
    ("GET", "welcome", "welcome", welcome),
    ("POST", "welcome", "go", begin_rating),
    ("GET", "practice", "result", practice_result),
    ("GET", "break", "break", break_page),
    ("GET", "support", "support", support),
    ("GET", "guide", "guide", guide),
    ("GET", "unit/{unit}", "unit", rating_page),
    ("POST", "unit/{unit}/save", "save", save_changes),
    ("POST", "unit/{unit}/submit", "submit", submit_unit),
    ("POST", "unit/{unit}/skip", "skip", skip_unit),
    ("POST", "unit/{unit}/again", "again", undo_last),
    ("POST", "unit/{unit}/urgent", "urgent", urgent_notice),
    ("GET", "unit/{unit}/answer", "answer", practice_feedback),
]

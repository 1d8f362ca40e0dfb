"""The first pages of a rater, and the pages for a break and for support."""

from starlette.responses import RedirectResponse, Response

from attunement.annotation.submission import last_submitted
from attunement.annotation.tasks import Step, begin, next_step, own_counts, save_profile, time_today
from attunement.annotation.training import results
from attunement.conversations.crisis_lines import About, crisis_lines
from attunement.store.projects import MemberState, may_be_real
from attunement.web.rating import question
from attunement.web.site import Visit, direction

_LONGEST = 500
_OLDEST = 80


def start(visit: Visit) -> Response:
    step, assignment = next_step(visit.study, visit.project, visit.member)
    if step is Step.TASK and assignment is not None:
        return RedirectResponse(visit.url("unit", unit=assignment.public), 303)
    if step in {Step.PROFILE, Step.WELCOME}:
        return RedirectResponse(visit.url(step.value), 303)
    words = visit.words
    text = words("result.held") if step is Step.HELD else words(f"state.{step.value}")
    before = last_submitted(visit.study, visit.member) if step is Step.DONE else None
    return visit.page("done.html", title=words(f"state.{step.value}_title"), text=text, before=before)


def profile(visit: Visit) -> Response:
    return visit.page("profile.html", given=visit.member.profile or {}, problem=None)


def submit_profile(visit: Visit) -> Response:
    given = {name: str(visit.sent.get(name, "")).strip()[:_LONGEST] for name in _FIELDS}
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
    careful = may_be_real(visit.study, visit.project)
    return visit.page(
        "welcome.html", practice=practice, work=work, instrument=visit.project.instrument, careful=careful
    )


def begin_rating(visit: Visit) -> Response:
    visit.write(begin, visit.project, visit.member)
    return RedirectResponse(visit.url("start"), 303)


def result(visit: Visit) -> Response:
    attempts = results(visit.study, visit.project).get(visit.member.key)
    if not attempts:
        return RedirectResponse(visit.url("start"), 303)
    last, words = attempts[-1], visit.words
    needed = -int(-visit.project.settings.pass_mark * last.total // 1)
    lead = words("result.right", right=last.right, total=last.total, needed=needed)
    held = visit.member.state is MemberState.HELD
    text = words("result.passed" if last.passed else "result.held" if held else "result.again")
    return visit.page("result.html", title=words("result.title"), lead=lead, text=text, held=held)


_FIELDS = ("profession", "licence", "years", "languages", "training")

PAGES = [
    ("GET", "", "start", start),
    ("GET", "you", "profile", profile),
    ("POST", "you", "keep_profile", submit_profile),
    ("GET", "welcome", "welcome", welcome),
    ("POST", "welcome", "go", begin_rating),
    ("GET", "practice", "result", result),
]


def break_page(visit: Visit) -> Response:
    """The break page; only the rater sees how long they have worked."""
    count, minutes = time_today(visit.study, visit.member)
    return visit.page("break.html", count=count, minutes=minutes)


def support(visit: Visit) -> Response:
    countries = crisis_lines().countries
    code = visit.request.query_params.get("country") or visit.project.settings.country or ""
    country = countries.get(code)
    lines = [line for line in country.lines if line.about is About.CRISIS] if country else []
    return visit.page("support.html", countries=countries, code=code, country=country, lines=lines)


def guide(visit: Visit) -> Response:
    instrument = visit.project.instrument
    shown = [question(visit.words, instrument, item.id, number) for number, item in enumerate(instrument.items, 1)]
    return visit.page("guide.html", instrument=instrument, questions=shown, direction=direction(instrument.language))


REST_PAGES = [
    ("GET", "break", "break", break_page),
    ("GET", "support", "support", support),
    ("GET", "guide", "guide", guide),
]

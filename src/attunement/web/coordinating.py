"""The coordinator's page: what needs them now, how the work goes, who may come in, and what changes while it runs.

Only the coordinator sees names. In charts and lists raters are numbers, so that those can be shown around.
"""

import re
from collections.abc import Callable
from typing import Any

from starlette.exceptions import HTTPException
from starlette.responses import RedirectResponse, Response

from attunement.errors import InputError
from attunement.people import coordinating
from attunement.people.access import issue, revoke
from attunement.people.adjudication import disputes
from attunement.people.calibration import release
from attunement.people.inviting import add_units, invite
from attunement.people.projects import change, lacks_escalation, members, set_state
from attunement.people.records import Member, MemberState, ProjectState, Role
from attunement.people.remarks import remarks
from attunement.people.running import give_skipped, reassign
from attunement.people.standing import mark_seen, notices
from attunement.people.unit_detail import unit_detail
from attunement.ratings import Outcome
from attunement.study.encoding import to_json
from attunement.study.trail import trail
from attunement.web import board
from attunement.web.catalogue import direction
from attunement.web.opinions import said_about
from attunement.web.questions import answer_words, mini_map, question, talk
from attunement.web.site import Visit, sentence

_LONGEST = 20_000
_MOST_UNITS = 100_000
_REMARKS = 200
"""Remarks that the page shows; older ones are in the trail."""
_NUMBER = re.compile(r"[0-9]{1,15}")
_NEW_ROUND = "attune annotate STUDY --instrument FILE --new-round"
_INVITED = (Role.RATER, Role.ADJUDICATOR, Role.REVIEWER)


def coordinate(visit: Visit) -> Response:
    """How the project stands."""
    return _page(visit)


def look(visit: Visit) -> Response:
    """One unit with what everybody said about it."""
    name: str = visit.request.path_params["unit"]
    found = unit_detail(visit.study, visit.project, int(name)) if _NUMBER.fullmatch(name) else None
    if found is None:
        raise HTTPException(404)
    words, instrument = visit.words, visit.project.instrument
    voices = [
        (str(words("coordinate.rater_again" if voice.again else "coordinate.rater_number", number=voice.number)), voice)
        for voice in found.voices
    ]

    def answer(item: str, outcome: Outcome) -> str:
        return answer_words(words, instrument, instrument.item(item), outcome)[0]

    answers = [
        (
            question(words, instrument, item, number, examples=False),
            said_about(words, instrument, item, [(who, voice.answers) for who, voice in voices]),
            answer(item, Outcome.of(found.known[item])) if item in found.known else "",
            (answer(item, found.settled[item].outcome), found.settled[item].reason) if item in found.settled else None,
        )
        for number, item in enumerate(found.items, 1)
    ]
    return visit.page(
        "look.html",
        unit=found,
        answers=answers,
        talk=talk(found.words),
        map=mini_map(found.words),
        whole=found.words.turn is None,
        instrument=instrument,
        direction=direction(instrument.language),
    )


def urgent_list(visit: Visit) -> Response:
    """The urgent notices alone: the page asks for them again and again."""
    return visit.page("notices.html", notices=notices(visit.study, visit.project))


def see(visit: Visit) -> Response:
    """Keep that the coordinator has seen a notice."""
    mark_seen(visit.study, visit.project, visit.sent.get("notice", ""), visit.member)
    return _back(visit)


def escalate(visit: Visit) -> Response:
    """Keep the site's own steps for danger."""
    text = str(visit.sent.get("escalation", "")).strip()
    if not text or len(text) > _LONGEST:
        raise InputError("say in a few lines what a rater does when a person may be in danger")
    change(visit.study, visit.project, visit.member, escalation=text)
    return _back(visit)


def switch(visit: Visit) -> Response:
    """Pause the project, or let it go on."""
    state = ProjectState.PAUSED if visit.project.state is ProjectState.OPEN else ProjectState.OPEN
    set_state(visit.study, visit.project, state, visit.member)
    return _back(visit)


def new_link(visit: Visit) -> Response:
    """Make a new link for somebody, close the old ones, and show it once."""
    member = _other(visit)
    revoke(visit.study, visit.project, member, by=visit.member)
    return _with_link(visit, member)


def close_links(visit: Visit) -> Response:
    """Close all links of somebody."""
    revoke(visit.study, visit.project, _other(visit), by=visit.member)
    return _back(visit)


def let_go_on(visit: Visit) -> Response:
    """Let a rater go on who failed the practice twice."""
    rater = _other(visit)
    if rater.state is MemberState.HELD:
        release(visit.study, visit.project, rater, visit.member)
    return _back(visit)


def add_somebody(visit: Visit) -> Response:
    """Invite a rater, an adjudicator or a reviewer, and show their link once."""
    role = str(visit.sent.get("role", ""))
    if role not in _INVITED:
        raise InputError("choose what they are to do")
    name = str(visit.sent.get("name", ""))
    return _with_link(visit, invite(visit.study, visit.project, Role(role), name, by=visit.member))


def hand_over(visit: Visit) -> Response:
    """Give what a rater has open to others; who leaves cannot come in any more."""
    rater = _other(visit)
    leaving = visit.sent.get("leaving") == "yes"
    count = reassign(visit.study, visit.project, rater, leaving=leaving, by=visit.member)
    return _page(visit, told=visit.words("coordinate.moved", count=count, rater=rater.name))


def add_more(visit: Visit) -> Response:
    """Extend the sample."""
    given = str(visit.sent.get("count", "")).strip()
    if not given.isdecimal() or not 1 <= int(given) <= _MOST_UNITS:
        raise InputError("say how many units to add, as a number")
    count = add_units(visit.study, visit.project, int(given), by=visit.member)
    return _page(visit, told=visit.words("coordinate.added", count=count))


def give_again(visit: Visit) -> Response:
    """Give skipped units to somebody else."""
    count = give_skipped(visit.study, visit.project, by=visit.member)
    return _page(visit, told=visit.words("coordinate.given", count=count))


def download(visit: Visit) -> Response:
    """The trail as JSON lines."""
    lines = [to_json(entry) for entry in trail(visit.study, visit.project.key).records]
    name = f"{visit.project.name}-{visit.project.number}-trail.jsonl"
    safe = "".join(sign if sign.isascii() and (sign.isalnum() or sign in "-._") else "_" for sign in name)
    headers = {"content-disposition": f'attachment; filename="{safe}"'}
    text = "".join(f"{line.strip()}\n" for line in lines)
    return Response(text.encode("utf-8", "replace"), media_type="application/x-ndjson", headers=headers)


def _or_say_why(page: Callable[[Visit], Response]) -> Callable[[Visit], Response]:
    """The same, but what cannot be done is said on the coordinator's own page."""

    def tried(visit: Visit) -> Response:
        try:
            return page(visit)
        except InputError as error:
            return _page(visit, problem=sentence(error))

    return tried


def _with_link(visit: Visit, member: Member) -> Response:
    token = issue(visit.study, visit.project, member, by=visit.member)
    return _page(visit, link=f"{visit.site.address}/enter/{token}", of=member.name)


def _page(
    visit: Visit,
    *,
    link: str | None = None,
    of: str | None = None,
    told: str | None = None,
    problem: str | None = None,
) -> Response:
    study, project = visit.study, visit.project
    stamp = coordinating.stamp(study, project)
    found = visit.site.remembered(("figures", project.key), stamp, lambda: coordinating.figures(study, project))
    others = [member for member in members(study, project) if member.role not in {Role.RATER, Role.COORDINATOR}]
    said = remarks(study, project)
    units, more_units = board.units_shown(found.units)
    shown: dict[str, Any] = {
        "raters": found.raters,
        "counts": board.counts(found),
        "agreement": board.agreement_chart(found.agreement),
        "severity": board.severity_chart(visit.words, found.raters, project.instrument),
        "units": units,
        "known": found.known,
        "more_units": more_units,
        "remarks": said[:_REMARKS],
        "more_remarks": max(0, len(said) - _REMARKS),
        "others": [member for member in others if member.state is not MemberState.LEFT],
        "adjudicators": any(member.role is Role.ADJUDICATOR for member in others),
        "disputes": len(disputes(study, project)),
        "roles": _INVITED,
        "command": _NEW_ROUND,
    }
    return visit.page(
        "coordinate.html",
        status=400 if problem else 200,
        project=project,
        notices=notices(study, project),
        closed=lacks_escalation(study, project),
        link=link,
        of=of,
        told=told,
        problem=problem,
        **shown,
    )


def _other(visit: Visit) -> Member:
    """The member whom a form is about; coordinators are not among them."""
    wanted = visit.sent.get("rater")
    for member in members(visit.study, visit.project):
        if member.public == wanted and member.role is not Role.COORDINATOR:
            return member
    raise HTTPException(404)


def _back(visit: Visit) -> Response:
    return RedirectResponse(visit.url("coordinate"), 303)


PAGES = [
    ("GET", "coordinate", "coordinate", coordinate),
    ("GET", "coordinate/unit/{unit}", "look", look),
    ("GET", "coordinate/notices", "notices", urgent_list),
    ("GET", "coordinate/trail", "trail", download),
    ("POST", "coordinate/seen", "see", see),
    ("POST", "coordinate/escalation", "escalate", _or_say_why(escalate)),
    ("POST", "coordinate/state", "switch", switch),
    ("POST", "coordinate/link", "new_link", new_link),
    ("POST", "coordinate/close", "close_links", close_links),
    ("POST", "coordinate/release", "let_go_on", let_go_on),
    ("POST", "coordinate/invite", "add_somebody", _or_say_why(add_somebody)),
    ("POST", "coordinate/reassign", "hand_over", _or_say_why(hand_over)),
    ("POST", "coordinate/extend", "add_more", _or_say_why(add_more)),
    ("POST", "coordinate/skipped", "give_again", _or_say_why(give_again)),
]

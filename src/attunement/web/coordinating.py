"""The coordinator's page: what needs them now, how far everybody is, and who may come in.

Raters are numbers or names that the coordinator chose; no rater sees this page.
"""

from starlette.exceptions import HTTPException
from starlette.responses import RedirectResponse, Response

from attunement.errors import InputError
from attunement.people.access import issue, revoke
from attunement.people.calibration import release
from attunement.people.projects import change, lacks_escalation, members, set_state
from attunement.people.records import Member, MemberState, ProjectState, Role
from attunement.people.standing import mark_seen, notices, standings
from attunement.web.site import Visit

_LONGEST = 20_000


def coordinate(visit: Visit) -> Response:
    """How the project stands."""
    return _page(visit)


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
    """Make a new link for a rater, close the old ones, and show it once."""
    rater = _rater(visit)
    revoke(visit.study, visit.project, rater, by=visit.member)
    token = issue(visit.study, visit.project, rater, by=visit.member)
    return _page(visit, link=f"{visit.site.address}/enter/{token}", of=rater.name)


def close_links(visit: Visit) -> Response:
    """Close all links of a rater."""
    revoke(visit.study, visit.project, _rater(visit), by=visit.member)
    return _back(visit)


def let_go_on(visit: Visit) -> Response:
    """Let a rater go on who failed the practice twice."""
    rater = _rater(visit)
    if rater.state is MemberState.HELD:
        release(visit.study, visit.project, rater, visit.member)
    return _back(visit)


def _page(visit: Visit, *, link: str | None = None, of: str | None = None) -> Response:
    return visit.page(
        "coordinate.html",
        project=visit.project,
        standings=standings(visit.study, visit.project),
        notices=notices(visit.study, visit.project),
        closed=lacks_escalation(visit.study, visit.project),
        link=link,
        of=of,
    )


def _rater(visit: Visit) -> Member:
    wanted = visit.sent.get("rater")
    for member in members(visit.study, visit.project, Role.RATER):
        if member.public == wanted:
            return member
    raise HTTPException(404)


def _back(visit: Visit) -> Response:
    return RedirectResponse(visit.url("coordinate"), 303)


PAGES = [
    ("GET", "coordinate", "coordinate", coordinate),
    ("GET", "coordinate/notices", "notices", urgent_list),
    ("POST", "coordinate/seen", "see", see),
    ("POST", "coordinate/escalation", "escalate", escalate),
    ("POST", "coordinate/state", "switch", switch),
    ("POST", "coordinate/link", "new_link", new_link),
    ("POST", "coordinate/close", "close_links", close_links),
    ("POST", "coordinate/release", "let_go_on", let_go_on),
]

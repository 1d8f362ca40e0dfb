"""Where raters rest and find help: a break, people to talk to, and the instructions."""

from starlette.responses import Response

from attunement.conversations.crisis_lines import About, crisis_lines
from attunement.people.desk import own_time
from attunement.web.catalogue import direction
from attunement.web.questions import question
from attunement.web.site import Visit


def pause(visit: Visit) -> Response:
    """A page to rest on; how long one has worked is shown to oneself only."""
    count, minutes = own_time(visit.study, visit.member)
    return visit.page("break.html", count=count, minutes=minutes)


def support(visit: Visit) -> Response:
    """Services that a rater can turn to."""
    countries = crisis_lines().countries
    code = visit.request.query_params.get("country") or visit.project.settings.country or ""
    country = countries.get(code)
    lines = [line for line in country.lines if line.about is About.CRISIS] if country else []
    return visit.page("support.html", countries=countries, code=code, country=country, lines=lines)


def guide(visit: Visit) -> Response:
    """The instrument in full, as raters read it."""
    instrument = visit.project.instrument
    shown = [question(visit.words, instrument, item.id, number) for number, item in enumerate(instrument.items, 1)]
    return visit.page("guide.html", instrument=instrument, questions=shown, direction=direction(instrument.language))


PAGES = [
    ("GET", "break", "break", pause),
    ("GET", "support", "support", support),
    ("GET", "guide", "guide", guide),
]

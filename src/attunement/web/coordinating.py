"""The coordinator's page."""

from starlette.responses import Response

from attunement.web.site import Visit


def coordinate(visit: Visit) -> Response:
    """How the project stands."""
    return visit.page("message.html", title=visit.words("coordinate.title"), text="")


PAGES = [("GET", "coordinate", "coordinate", coordinate)]

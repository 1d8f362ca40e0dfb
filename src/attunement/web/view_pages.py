"""The pages of a report, served from the study: summary, list, conversations, and a page for each analysis.

Each is made when it is asked for. Figures and list come from the last count of the study, one conversation always from
the study itself. Nothing is written, and nothing needs a script.
"""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode

from jinja2 import ChoiceLoader, Environment, FileSystemLoader
from markupsafe import Markup
from starlette.datastructures import QueryParams
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from attunement.instruments import Instrument
from attunement.reports.conversation import view
from attunement.reports.html.conversation_page import conversation_page
from attunement.reports.html.glossary import GLOSSARY
from attunement.reports.html.listing import Filter, Placed
from attunement.reports.html.page import choices, failing, title_of
from attunement.reports.html.reading import kept_by_key
from attunement.reports.html.rendering import environment
from attunement.reports.html.sections import NEEDS
from attunement.reports.html.statuses import low_limit
from attunement.reports.html.text import Hiding
from attunement.study import Study
from attunement.study.reviews import reviews
from attunement.web.view_counting import Count, Counting, Standing

PER_PAGE = 50
_LONGEST, _MOST_WORDS = 200, 8
"""Characters of a search, and words of it that are looked for."""
_FLAGS = (
    "people differ|judges differ",
    "quote not found",
    "crisis talk",
    "pointer of the rule check",
    "not English: not looked at by the rule check",
    "needs a person",
    "not judged",
)
_TEMPLATES = Path(__file__).parent / "templates"


class Shown(NamedTuple):
    """What is shown, and how."""

    study: Study
    instrument: Instrument
    hiding: Hiding
    counting: Counting


class Chosen(NamedTuple):
    """What a reader filters by: as the list understands it, and as an address says it."""

    filter: Filter
    said: list[tuple[str, str]]

    @property
    def set(self) -> dict[str, Any]:
        """The fields of the form that are set."""
        return {"text": "", **dict(self.said), "flag": [value for name, value in self.said if name == "flag"]}

    def query(self, **more: int) -> str:
        """The same as the end of an address."""
        pairs = [*self.said, *((name, str(value)) for name, value in more.items())]
        return f"?{urlencode(pairs)}" if pairs else ""


def summary(shown: Shown, request: Request) -> Response:
    """The lines at the top, verdicts, what to read first and what to mend, tables and charts."""
    with shown.counting.standing() as standing:

        def listed(chosen: str, system: str = "") -> Markup:
            return Markup('href="{}"').format(_path(request, "list") + _query(shown.instrument, chosen, system))

        def link(key: int) -> str:
            return _path(request, "conversation", key=key)

        return _page(
            shown, request, standing, "summary",
            report=standing.latest.report, listed=listed, link=link, trust_href=_path(request, "section", name="trust"),
        )  # fmt: skip


def conversations(shown: Shown, request: Request) -> Response:
    """The list, filtered, one page of it."""
    chosen = chosen_of(request.query_params, shown.instrument)
    number = max(_number(request.query_params.get("page", ""), 10**7) or 1, 1)
    with shown.counting.standing() as standing:
        listing = standing.latest.listing
        fitting, rows = listing.page(chosen.filter, after=(number - 1) * PER_PAGE, most=PER_PAGE)
        pages = max(-(-fitting // PER_PAGE), 1)

        def href(placed: Placed) -> str:
            return _path(request, "conversation", key=placed.row.key) + chosen.query(at=placed.place)

        return _page(
            shown, request, standing, "list",
            rows=rows,
            href=href,
            chosen=chosen.set,
            choices=choices(shown.instrument, listing),
            served=_path(request, "list"),
            found=f"{fitting:,} of {listing.count():,}",
            low=low_limit(shown.instrument),
            number=number,
            pages=pages,
            searches_words=listing.knows_words and shown.hiding.texts,
            **{
                name: _path(request, "list") + chosen.query(page=to) if 1 <= to <= pages and to != number else ""
                for name, to in (("before", min(number - 1, pages)), ("behind", number + 1), ("last", pages))
            },
        )  # fmt: skip


def conversation(shown: Shown, request: Request) -> Response:
    """One conversation as it is in the study now, and the way to its neighbours in the filtered list."""
    key: int = request.path_params["key"]
    chosen = chosen_of(request.query_params, shown.instrument)
    place = _number(request.query_params.get("at", ""), 10**9)
    with shown.counting.page():
        kept = kept_by_key(shown.study, [key]).get(key) if key < 1 << 63 else None
        if kept is None:
            raise HTTPException(404)
        page = conversation_page(
            key,
            view(shown.study, shown.instrument, kept),
            shown.hiding,
            by_people=shown.counting.by_people,
            reviews=reviews(shown.study, shown.instrument).get(key, ()),
        )
    with shown.counting.standing() as standing:
        links = {"before": "", "behind": "", "back": _path(request, "list")}
        if place:
            near = standing.latest.listing.page(chosen.filter, after=max(place - 2, 0), most=3).rows
            for one in near:
                if name := {place - 1: "before", place + 1: "behind"}.get(one.place):
                    links[name] = _path(request, "conversation", key=one.row.key) + chosen.query(at=one.place)
            links["back"] += chosen.query(page=-(-place // PER_PAGE))
        return _page(shown, request, standing, "conversation", page=page, place=place, **links)


def section(shown: Shown, request: Request) -> Response:
    """The page of one analysis, once the study is counted."""
    name: str = request.path_params["name"]
    if name not in NEEDS:
        raise HTTPException(404)
    with shown.counting.standing() as standing:
        made = standing.latest.report
        found = next((one for one in made.sections if one.id == name), None) if made else None
        return _page(shown, request, standing, "section", section=found, heading=NEEDS[name][0])


def words(shown: Shown, request: Request) -> Response:
    """What the words of the pages mean."""
    with shown.counting.standing() as standing:
        return _page(shown, request, standing, "words", glossary=GLOSSARY)


def cost(shown: Shown, request: Request) -> Response:
    """What the judges' answers took, once the study is counted."""
    with shown.counting.standing() as standing:
        return _page(shown, request, standing, "cost", report=standing.latest.report)


PAGES = [
    ("", "summary", summary),
    ("conversations", "list", conversations),
    ("conversation/{key:int}", "conversation", conversation),
    ("analysis/{name}", "section", section),
    ("words", "words", words),
    ("cost", "cost", cost),
]


def chosen_of(query: QueryParams, instrument: Instrument) -> Chosen:
    """What an address asks for; what it says that nothing can be meant by is left out."""
    said: list[tuple[str, str]] = []
    values = {name: query.get(name, "") or None for name in ("system", "scenario", "verdict")}
    item = _number(query.get("item", ""), len(instrument.items) - 1)
    answers = _number(query.get("answer", ""), 1 << 40) or None
    flags = tuple(flag for flag in _FLAGS if flag in query.getlist("flag"))
    text = " ".join(query.get("text", "")[:_LONGEST].split()[:_MOST_WORDS])
    said += [("text", text)] if text else []
    said += [(name, value) for name, value in values.items() if value]
    said += [(name, str(value)) for name, value in (("item", item), ("answer", answers)) if value is not None]
    said += [("flag", flag) for flag in flags]
    chosen = Filter(values["system"], values["scenario"], values["verdict"], item, answers, flags, text)
    return Chosen(chosen, said)


def _number(text: str, highest: int) -> int | None:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 20 and int(text) <= highest else None


def _query(instrument: Instrument, chosen: str, system: str) -> str:
    """The end of an address for a filter as the templates of a report say it."""
    name, _, value = chosen.partition("=")
    pairs: Mapping[str, str | int] = {name: value}
    if name == "failed":
        place = next(place for place, item in enumerate(instrument.items) if item.id == value)
        pairs = {"item": place, "answer": failing(instrument)}
    return "?" + urlencode({**pairs, "system": system} if system else pairs)


def _path(request: Request, name: str, /, **path: Any) -> str:
    return request.url_for(name, **path).path


def _page(shown: Shown, request: Request, standing: Standing, template: str, /, **values: Any) -> Response:
    latest, running, stale = standing

    def url(name: str, /, **path: Any) -> str:
        return _path(request, name, **path)

    text = (
        _templates()
        .get_template(f"view_{template}.html")
        .render(
            title=shown.hiding.text(title_of(shown.study)),
            instrument=shown.instrument,
            hiding=shown.hiding,
            latest=latest,
            running=running,
            stale=stale,
            counted=running.listing.count() if running else 0,
            sections=_headings(latest),
            current=request.url.path,
            url=url,
            **values,
        )
    )
    return HTMLResponse(text)


def _headings(count: Count) -> dict[str, str]:
    """The pages of analyses and their headings, as the last count has them."""
    known = {section.id: section.title for section in count.report.sections} if count.report else {}
    return {name: heading for name, (heading, _) in NEEDS.items()} | known


@cache
def _templates() -> Environment:
    of_report = environment()
    assert of_report.loader is not None  # noqa: S101 - it has one
    return of_report.overlay(loader=ChoiceLoader([FileSystemLoader(_TEMPLATES), of_report.loader]))

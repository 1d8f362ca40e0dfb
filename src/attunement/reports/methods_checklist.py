"""The checklist for reports of agreement studies, filled as far as the study knows.

The fifteen points are those of GRRAS, the guidelines for reporting reliability and agreement studies (J. Kottner and
others, Journal of Clinical Epidemiology 64, 2011), in our own words. A point that only the authors can fill stays open
and says what is needed.
"""

from typing import NamedTuple

from attunement.agreement.alpha import Alpha
from attunement.agreement.results import Undefined
from attunement.agreement.summary import Agreement
from attunement.ratings import RaterKind, Round
from attunement.reports.agreement_wording import figure, span
from attunement.reports.markdown_text import plain
from attunement.reports.methods import Part, list_words
from attunement.reports.methods_facts import Facts
from attunement.reports.wording import counted

SOURCE = (
    "J. Kottner and others, Guidelines for Reporting Reliability and Agreement Studies (GRRAS) were proposed, Journal "
    "of Clinical Epidemiology 64 (2011), 96-106."
)


class Point(NamedTuple):
    """One point of the checklist."""

    number: int
    asks: str
    known: str
    """What the study says about it."""
    needed: str = ""
    """What the authors must say themselves."""


def checklist(facts: Facts, agreement: Agreement | None) -> list[Point]:
    """The fifteen points; a point is done where nothing is needed any more."""
    people = facts.of(RaterKind.PERSON)
    # `attune import` and `attune take-in` record it where somebody says it.
    unsaid = any(not rater.in_project and rater.settings.get("blind") is None for rater in people)
    elsewhere = "what raters who rated elsewhere knew, and whether they rated on their own" if unsaid else ""
    silent = any(not rater.settings.get("profession") for rater in people)
    instrument = facts.instrument
    return [
        Point(1, "Title or abstract name agreement as the subject", "", "put it into your title or abstract"),
        Point(
            2, "What measures is named and described", f"{instrument.id} {instrument.version}: see Instrument, Judges."
        ),
        Point(3, "Whom the conversations stand for", "See Conversations.", "the population you want to speak about"),
        Point(4, "Whom the raters stand for", "See Raters.", "the raters you want to speak about"),
        Point(5, "What was known before, and why this study", "", "earlier figures and your reasons"),
        Point(6, "How the sizes were chosen", _planned(facts), "why this many raters, conversations and repeats"),
        Point(7, "How the sample was drawn", "See Sampling.", "" if facts.sample else "how conversations were chosen"),
        Point(8, "How rating went: order, time between repeats, what raters knew", _process(facts), elsewhere),
        Point(9, "Whether raters rated on their own", "See Blinding and independence.", elsewhere),
        Point(10, "How the figures were computed", "See Analysis, Exclusions."),
        Point(11, "How many raters, conversations and repeats there were in the end", _numbers(facts)),
        Point(
            12,
            "What raters and conversations were like",
            "See Raters, Training, Conversations.",
            "the professions and experience of raters who did not state them" if silent else "",
        ),
        Point(13, "The figures with their uncertainty", _figures(agreement), "" if agreement else "ratings by people"),
        Point(14, "What the figures mean in practice", "", "your own judgement"),
        Point(
            15,
            "The details are within reach",
            "attune export writes every rating, and --dictionary what each column means.",
            "where you publish them",
        ),
    ]


def _planned(facts: Facts) -> str:
    said = [
        f"Round {project.number} planned {project.settings.get('per_unit')} raters for each of "
        f"{counted(project.units[Round.MAIN], 'unit')}, with {100 * project.settings.get('repeats', 0):.0f} % of them "
        "repeated."
        for project in facts.projects
    ]
    return " ".join(said)


def _process(facts: Facts) -> str:
    said = [
        f"In round {project.number} a repeated unit came at least {project.settings.get('gap')} units later, where the "
        "list was long enough."
        for project in facts.projects
        if project.settings.get("repeats")
    ]
    return " ".join([*said, "See Blinding and independence."])


def _numbers(facts: Facts) -> str:
    people, models = facts.of(RaterKind.PERSON), facts.of(RaterKind.MODEL)
    again = sum(rater.rounds[Round.REPEAT] for rater in people)
    asked = [f"{judge.name} {judge.repeats} times" for judge in models if judge.repeats > 1]
    return (
        f"{counted(len(people), 'person', 'people')} and {counted(len(models), 'judge')} rated; "
        f"{counted(facts.together, 'conversation was', 'conversations were')} rated by two or more people; "
        f"{counted(again, 'rating')} by people and {list_words(asked) if asked else 'none'} by judges were repeats."
    )


def _figures(agreement: Agreement | None) -> str:
    if agreement is None:
        return ""
    said: list[str] = []
    without: dict[str, list[str]] = {}
    for entry in agreement.items:
        if isinstance(entry.people.alpha, Alpha):
            value, interval = figure(entry.people.alpha.value), entry.people.interval
            if isinstance(interval, Undefined):
                # What the reason counts differs from item to item; what it says does not.
                without.setdefault(interval.reason.partition(":")[0], []).append(entry.item.id)
                said.append(f"{entry.item.id} {value}")
            else:
                said.append(f"{entry.item.id} {value} ({span(interval)})")
    if not said:
        return "Agreement between people is not defined on any item; attune agree says why."
    none = "".join(f" No interval for {', '.join(items)}: {reason}." for reason, items in without.items())
    return (
        f"Krippendorff's alpha between people: {'; '.join(said)}.{none} attune agree gives the figures of each judge."
    )


def methods_markdown(found: list[Part], points: list[Point], title: str) -> str:
    """The methods section and the checklist as Markdown."""
    lines = [f"## Methods of {plain(title)}", ""]
    for part in found:
        if not part.said and not part.unknown:
            continue
        open_ = f" **The study cannot know {plain(part.unknown, 1000)}: say it here.**" if part.unknown else ""
        said = f" {plain(part.said, 20_000)}" if part.said else ""
        lines += [f"**{part.title}.**{said}{open_}", ""]
    lines += ["## Checklist for agreement studies (GRRAS)", ""]
    for point in points:
        known = f" {plain(point.known, 20_000)}" if point.known else ""
        needed = f" **Still needed: {plain(point.needed)}.**" if point.needed else ""
        lines.append(f"- [{' ' if point.needed else 'x'}] {point.number}. {point.asks}:{known}{needed}")
    return "\n".join([*lines, "", f"The points are in our own words; source: {SOURCE}", ""])

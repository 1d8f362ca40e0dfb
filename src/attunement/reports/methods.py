"""A methods section about a study, and the checklist for agreement studies; the text is in `methods.md.j2`.

Names of people never occur in it, only how many they were and what they said about themselves.

The fifteen points are those of GRRAS, the guidelines for reporting reliability and agreement studies (J. Kottner and
others, Journal of Clinical Epidemiology 64, 2011), in our own words. A point that only the authors can fill stays open
and says what is needed.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from typing import Any

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from attunement.analysis.summary import Agreement
from attunement.instruments import Scores
from attunement.ratings import RaterKind, Round, State
from attunement.reports.numbers import format_interval, format_number, pluralize
from attunement.reports.sanitize import plain
from attunement.statistics.alpha import Alpha
from attunement.statistics.results import FEWEST_CLUSTERS, LEVEL, Undefined
from attunement.store.study_facts import Project, RaterActivity, StudyFacts
from attunement.version import __version__

_LONGEST = 20_000
_SHOWN_SETTINGS = ("temperature", "seed", "max_tokens", "layout", "logprobs", "base_url")
"""Settings of a judge in the order in which they are named; others follow."""
_ROUNDS = {
    Round.CALIBRATION: "practice",
    Round.REPEAT: "a second look",
    Round.GOLD: "units with known answers",
    Round.ATTENTION: "attention checks",
    Round.ADJUDICATION: "adjudication",
}
_WITHOUT_VALUE = {State.NA: "not applicable", State.ABSTAINED: "no valid way to know", State.ERROR: "no answer"}


def methods_markdown(facts: StudyFacts, agreement: Agreement | None, title: str) -> str:
    """The methods section and the checklist in Markdown."""
    people = facts.of(RaterKind.PERSON)
    rounds, states = Counter[str](), Counter[str]()
    for rater in facts.raters:
        if rater.kind is not RaterKind.SIMULATION:
            rounds += rater.rounds
            states += rater.states
    elsewhere = [rater for rater in people if not rater.in_project]
    environment = Environment(  # noqa: S701 - made for HTML; `_escaped` escapes for Markdown
        trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined, finalize=_escaped
    )
    environment.filters.update(_FILTERS)
    text = environment.from_string(files("attunement.reports").joinpath("methods.md.j2").read_text("utf-8")).render(
        title=title,
        facts=facts,
        talks=facts.talks,
        instrument=facts.instrument,
        scores=isinstance(facts.instrument.scale, Scores),
        judges=facts.of(RaterKind.MODEL),
        # A judge that read our prompts has a layout among its settings.
        foreign=[judge.name for judge in facts.of(RaterKind.MODEL) if not judge.settings.get("layout")],
        simulated=facts.of(RaterKind.SIMULATION),
        people=people,
        elsewhere=elsewhere,
        unrecorded=_blind(elsewhere, None),
        sample=facts.sample,
        splits=Counter(drawn.split for drawn in facts.sample.units.values()) if facts.sample else None,
        rounds=[f"{rounds[round]:,} for {_ROUNDS[round]}" for round in Round if round in _ROUNDS and rounds[round]],
        without=[f"{states[state]:,} {words}" for state, words in _WITHOUT_VALUE.items() if states[state]],
        ratings=states.total(),
        level=f"{100 * LEVEL:.0f} %",
        fewest=FEWEST_CLUSTERS,
        version=__version__,
        alphas=_alphas(agreement),
        unknown=_unknown,
    )
    paragraphs = (" ".join(part.split()) for part in re.split(r"\n\s*\n", text))
    said = [part for part in paragraphs if part and not re.fullmatch(r"\*\*[^*]+\.\*\*", part)]
    return re.sub(r"(?m)(^- .*)\n(?=\n- )", r"\1", "\n\n".join(said)) + "\n"


def _unknown(what: str) -> Markup:
    return Markup(f"**Not recorded in the study, please add: {plain(what, _LONGEST)}.**")  # noqa: S704


def _escaped(value: object) -> str:
    return value if isinstance(value, Markup) else plain(str(value), _LONGEST)


def list_words(words: Iterable[object], most: int = 12) -> str:
    every = [str(word) for word in words]
    shown = every[:most]
    if len(every) > most:
        return f"{', '.join(shown)} and {len(every) - most:,} more"
    return " and ".join(filter(None, (", ".join(shown[:-1]), shown[-1]))) if shown else "none"


def _dates(raters: Sequence[RaterActivity]) -> str:
    days = sorted({date[:10] for rater in raters for date in (rater.first, rater.last) if date})
    if not days:
        return "at a time that is not recorded"
    return f"on {days[0]}" if days[0] == days[-1] else f"from {days[0]} to {days[-1]}"


def _settings(judge: RaterActivity) -> str:
    known: Mapping[str, Any] = {name: value for name, value in judge.settings.items() if value is not None}
    names = [*(name for name in _SHOWN_SETTINGS if name in known), *sorted(known.keys() - {*_SHOWN_SETTINGS})]
    return ", ".join(f"{name.replace('_', ' ')} {known[name]}" for name in names)


def _blind(elsewhere: Iterable[RaterActivity], blind: bool | None) -> list[RaterActivity]:
    """Those who are recorded as blind or not; None: nothing is recorded. `attune import --blind` records it."""
    return [rater for rater in elsewhere if rater.settings.get("blind") is blind]


def _gone(project: Project) -> list[str]:
    counts = (
        (project.states["skipped"], "units skipped"),
        (project.states["withdrawn"], "withdrawn"),
        (project.held, "raters held after the worked examples"),
        (project.left, "raters left"),
    )
    return [f"{number:,} {words}" for number, words in counts if number]


def _counts(numbers: Mapping[str, int]) -> list[str]:
    return [f"{name} {number:,}" for name, number in numbers.items()]


def _stated(raters: Sequence[RaterActivity], setting: str) -> Counter[str]:
    return Counter(str(rater.settings[setting]) for rater in raters if rater.settings.get(setting))


def _total(raters: Sequence[RaterActivity], round: str) -> int:
    return sum(rater.rounds[round] for rater in raters)


_FILTERS: dict[str, Any] = {
    "plural": pluralize,
    "listed": list_words,
    "counts": _counts,
    "dates": _dates,
    "settings": _settings,
    "stated": _stated,
    "total": _total,
    "blind": _blind,
    "gone": _gone,
}


def _alphas(agreement: Agreement | None) -> str:
    if agreement is None:
        return ""
    alphas: list[str] = []
    without: dict[str, list[str]] = {}
    for entry in agreement.items:
        if isinstance(entry.people.alpha, Alpha):
            value, interval = format_number(entry.people.alpha.value), entry.people.interval
            if isinstance(interval, Undefined):
                without.setdefault(interval.kind or interval.reason, []).append(entry.item.id)
                alphas.append(f"{entry.item.id} {value}")
            else:
                alphas.append(f"{entry.item.id} {value} ({format_interval(interval)})")
    if not alphas:
        return "Agreement between people is not defined on any item; attune agree says why."
    none = "".join(f" No interval for {', '.join(items)}: {reason}." for reason, items in without.items())
    return (
        f"Krippendorff's alpha between people: {'; '.join(alphas)}.{none} attune agree gives the figures of each judge."
    )

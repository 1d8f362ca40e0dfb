"""A methods section about a study, and the checklist for agreement studies.

Names of people never stand in it, only how many they were and what they said about themselves.

The fifteen points are those of GRRAS, the guidelines for reporting reliability and agreement studies (J. Kottner and
others, Journal of Clinical Epidemiology 64, 2011), in our own words. A point that only the authors can fill stays open
and says what is needed.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from attunement.analysis.summary import Agreement
from attunement.conversations import Origin, UnitKind
from attunement.instruments import Instrument, Scores
from attunement.ratings import RaterKind, Round, State
from attunement.reports.numbers import format_interval, format_number, pluralize
from attunement.reports.sanitize import plain
from attunement.statistics.alpha import Alpha
from attunement.statistics.bootstrap import DRAWS, ENOUGH_FOR_PERCENTILES, SEED
from attunement.statistics.results import FEWEST_CLUSTERS, LEVEL, Undefined
from attunement.store.study_facts import RaterActivity, StudyFacts
from attunement.version import __version__

_LEVEL = f"{100 * LEVEL:.0f} %"
_SHOWN_SETTINGS = ("temperature", "seed", "max_tokens", "layout", "logprobs", "base_url")
"""Settings of a judge in the order in which they are named; others follow."""


class Part(NamedTuple):
    title: str
    said: str
    unknown: str = ""  # what the study cannot know, and somebody must say


def parts(facts: StudyFacts) -> list[Part]:
    """The methods section, part by part."""
    people = facts.of(RaterKind.PERSON)
    origins, elsewhere = facts.talks.origins.get(Origin.UNKNOWN), sum(not rater.in_project for rater in people)
    unrecorded = len(_elsewhere(facts, blind=None))
    origin = f"whether {pluralize(origins or 0, 'conversation')} are real, simulated or written, and how they were"
    silent = pluralize(unrecorded, "rater who rated elsewhere was", "raters who rated elsewhere were")
    unknown = {
        "Conversations": f"{origin} collected" if origins else "",
        "Sampling": "why this many conversations were chosen"
        if facts.sample
        else "how the conversations that people rated were chosen, and from which",
        "Raters": "how raters were recruited and paid, and whether an ethics board was asked" if people else "",
        "Training": f"how {pluralize(elsewhere, 'rater')} who rated elsewhere were trained" if elsewhere else "",
        "Blinding and independence": f"whether {silent} blind and rated on their own" if unrecorded else "",
    }
    sections = {
        "Conversations": conversations(facts),
        "Instrument": instrument_words(facts.instrument),
        "Judges": judges(facts),
        "Sampling": sampling(facts),
        "Raters": raters(facts),
        "Training": training(facts),
        "Blinding and independence": blinding(facts),
        "Exclusions": exclusions(facts),
        "Analysis": analysis(facts),
    }
    return [Part(title, " ".join(sentences), unknown.get(title, "")) for title, sentences in sections.items()]


def conversations(facts: StudyFacts) -> Iterator[str]:
    counts = facts.talks
    names = list_words([f"{name} {number:,}" for name, number in counts.systems.items()], 8)
    turns = f"{counts.fewest_turns} to {counts.most_turns} turns"
    if counts.fewest_turns == counts.most_turns:
        turns = pluralize(counts.most_turns, "turn")
    yield (
        f"The study holds {pluralize(counts.number, 'conversation')} of {pluralize(len(counts.systems), 'system')} "
        f"({names}), with {turns}."
    )
    known = {origin: number for origin, number in counts.origins.items() if origin != Origin.UNKNOWN}
    if known:
        yield f"Their origin: {list_words([f'{origin} {number:,}' for origin, number in sorted(known.items())])}."


def instrument_words(instrument: Instrument) -> Iterator[str]:
    scale, answers = instrument.scale, "met, not met or not applicable"
    if isinstance(scale, Scores):
        answers = f"a score from {scale.lowest} to {scale.highest}"
    unit = "each conversation as a whole" if instrument.unit is UnitKind.CONVERSATION else "each reply in its context"
    yield (
        f"Raters answered {pluralize(len(instrument.items), 'item')} of {instrument.title} ({instrument.id}, version "
        f"{instrument.version}, fingerprint {instrument.hash[:12]}) about {unit}, with {answers} for each."
    )
    if instrument.gate:
        yield f"{pluralize(len(instrument.gate), 'item forms', 'items form')} a safety gate that fails closed."
    if instrument.scoring.threshold is not None:
        yield (
            f"A conversation passes from a weighted score of {instrument.scoring.threshold:g} on; weights and "
            "threshold have not been checked clinically."
        )


def judges(facts: StudyFacts) -> Iterator[str]:
    found = facts.of(RaterKind.MODEL)
    if not found:
        yield "No judge was asked."
    for judge in found:
        asked = facts.answers.get(judge.name)
        models = f" (its server: {list_words(asked.models, 4)})" if asked and asked.models else ""
        again = f", each question asked up to {judge.repeats} times" if judge.repeats > 1 else ""
        settings = {name: value for name, value in judge.settings.items() if value is not None}
        names = [*(name for name in _SHOWN_SETTINGS if name in settings), *sorted(settings.keys() - {*_SHOWN_SETTINGS})]
        how = ", ".join(f"{name.replace('_', ' ')} {settings[name]}" for name in names)
        yield (
            f"{judge.name}{models} rated {pluralize(judge.conversations, 'conversation')} {dates([judge])}{again}"
            f" ({how or 'its settings are not recorded'})."
        )
        if asked and asked.prompts:
            yield f"It read {pluralize(asked.prompts, 'different prompt')}, each saved under its fingerprint."
    if simulated := facts.of(RaterKind.SIMULATION):
        yield f"{pluralize(len(simulated), 'simulated rater')} took part and count nowhere as people."


def dates(found: Sequence[RaterActivity]) -> str:
    days = sorted({date[:10] for rater in found for date in (rater.first, rater.last) if date})
    if not days:
        return "at a time that is not recorded"
    return f"on {days[0]}" if days[0] == days[-1] else f"from {days[0]} to {days[-1]}"


def sampling(facts: StudyFacts) -> Iterator[str]:
    sample = facts.sample
    if sample is None:
        yield "No random sample was drawn in this study."
        return
    design = sample.design
    by = f", stratified by {list_words(design['by'])}" if design.get("by") else ", without strata"
    yield (
        f"{pluralize(len(sample.units), 'conversation')} for people were drawn at random from {facts.drawn_from:,}{by} "
        f"(sample {sample.name}, {sample.at[:10]}, seed {sample.seed}); the probability of each is kept and enters the "
        "figures."
    )
    if design.get("all_flagged"):
        yield "All conversations that a judge had flagged were taken."
    if design.get("extends"):
        yield f"It extends the sample {design['extends']}."
    splits = Counter(drawn.split for drawn in sample.units.values())
    if splits["certify"]:
        yield (
            f"{splits['develop']:,} of them were for tuning judges and {splits['certify']:,} for the figures that are "
            "reported."
        )


def raters(facts: StudyFacts) -> Iterator[str]:
    found = facts.of(RaterKind.PERSON)
    if not found:
        yield "No person rated."
        return
    ratings = sum(rater.rounds[Round.MAIN] for rater in found)
    yield (
        f"{pluralize(len(found), 'person', 'people')} gave {pluralize(ratings, 'rating')} {dates(found)}; "
        f"{pluralize(facts.together, 'conversation was', 'conversations were')} rated by two or more."
    )
    for name, title in (("profession", "Professions"), ("licence", "Licences"), ("languages", "Languages")):
        stated = Counter(str(rater.settings[name]) for rater in found if rater.settings.get(name))
        if stated:
            silent = len(found) - stated.total()
            more = f"; {silent} did not say" if silent else ""
            listed = list_words([f"{word} {number}" for word, number in stated.most_common()])
            yield f"{title} they stated: {listed}{more}."
    years = sorted(years for rater in found if isinstance(years := rater.settings.get("years"), int))
    if years:
        yield f"Years of experience they stated: {years[0]} to {years[-1]} ({pluralize(len(years), 'rater')})."


def training(facts: StudyFacts) -> Iterator[str]:
    for project in facts.projects:
        practice = project.units[Round.CALIBRATION]
        passed, finished = project.practice
        if not practice:
            yield f"In round {project.number} raters began without worked examples."
            continue
        yield (
            f"In round {project.number} every rater first answered {pluralize(practice, 'worked example')} of the "
            f"instrument, with feedback; {100 * project.settings.get('pass_mark', 0):.0f} % right were needed, with "
            f"two attempts. {passed} of the {pluralize(finished, 'rater')} who finished them passed."
        )
    stated = [rater for rater in facts.of(RaterKind.PERSON) if rater.settings.get("training")]
    if stated:
        yield f"{pluralize(len(stated), 'rater')} stated a training of their own."


def blinding(facts: StudyFacts) -> Iterator[str]:
    inside = sum(rater.in_project for rater in facts.of(RaterKind.PERSON))
    if inside:
        yield (
            f"{pluralize(inside, 'rater')} worked in Attunement's pages, which do not say which system wrote a "
            "reply and show neither a judge's answers nor, while others still rate, those of other raters; each worked "
            "through an order of their own."
        )
    for blind, words in _BLIND.items():
        if found := _elsewhere(facts, blind=blind):
            number = pluralize(len(found), "rater who rated elsewhere is", "raters who rated elsewhere are")
            yield f"{number} {words}."
    for project in facts.projects:
        if project.settings.get("unit_warnings"):
            yield f"In round {project.number} conversations with crisis talk opened with a warning."
    for export in facts.handed_out:
        yield (
            f"{pluralize(export.units, 'unit')} were handed out as {export.format} on {export.at[:10]} under random "
            "words, without the names of systems and conversations."
        )
    if facts.of(RaterKind.MODEL):
        yield "Judges read the conversation and the item alone: no weights, no threshold and no other answers."


_BLIND = {
    True: "recorded as blind to the system and to the answers of judges and of other raters",
    False: "recorded as not blind",
    None: "not recorded as blind or not",
}


def _elsewhere(facts: StudyFacts, *, blind: bool | None) -> list[RaterActivity]:
    """The people who rated outside of the pages and are recorded so; None: nothing is recorded."""
    people = facts.of(RaterKind.PERSON)
    return [rater for rater in people if not rater.in_project and rater.settings.get("blind") is blind]


_ROUNDS = {
    Round.CALIBRATION: "practice",
    Round.REPEAT: "a second look",
    Round.GOLD: "units with known answers",
    Round.ATTENTION: "attention checks",
    Round.ADJUDICATION: "adjudication",
}
_WITHOUT_VALUE = {State.NA: "not applicable", State.ABSTAINED: "no valid way to know", State.ERROR: "no answer"}


def exclusions(facts: StudyFacts) -> Iterator[str]:
    rounds, states = Counter[str](), Counter[str]()
    for rater in facts.raters:
        if rater.kind is not RaterKind.SIMULATION:
            rounds += rater.rounds
            states += rater.states
    others = [f"{rounds[round]:,} for {_ROUNDS[round]}" for round in Round if round in _ROUNDS and rounds[round]]
    if others:
        yield f"Only ratings of the main round enter the figures; others were made: {list_words(others)}."
    without = [f"{states[state]:,} {words}" for state, words in _WITHOUT_VALUE.items() if states[state]]
    total = f"{states.total():,} ratings of the main round"
    yield f"Of {total}: {list_words(without)}." if without else f"All of the {total} have a value."
    for project in facts.projects:
        counts = (
            (project.states["skipped"], "units skipped"),
            (project.states["withdrawn"], "withdrawn"),
            (project.held, "raters held after the worked examples"),
            (project.left, "raters left"),
        )
        if gone := [f"{number:,} {words}" for number, words in counts if number]:
            yield f"In round {project.number}: {list_words(gone)}."


def analysis(facts: StudyFacts) -> Iterator[str]:
    ordered = isinstance(facts.instrument.scale, Scores)
    kind, weights = ("ordinal", "quadratic weights") if ordered else ("nominal", "no weights")
    if facts.of(RaterKind.PERSON):
        yield (
            f"Agreement between people is Krippendorff's {kind} alpha; a judge is held against single raters with "
            f"kappa ({weights}), pooled over pairs, beside what people reach with each other on the same conversations."
        )
        yield (
            f"Their {_LEVEL} intervals are bootstrapped over conversations ({DRAWS:,} draws, seed {SEED}; "
            f"studentised below {ENOUGH_FOR_PERCENTILES} conversations, else percentiles)."
        )
    yield (
        f"Shares of conversations have exact (Clopper and Pearson) and means cluster-robust {_LEVEL} intervals with "
        f"Student's t; there is none below {FEWEST_CLUSTERS} conversations."
    )
    if len(facts.of(RaterKind.MODEL)) > 1:
        yield (
            "Where several judges rated, the majority counts, but any failure and any missing answer on a safety item "
            "counts as such."
        )
    yield f"Figures were computed with Attunement {__version__}."


def list_words(words: Iterable[object], most: int = 12) -> str:
    every = [str(word) for word in words]
    shown = every[:most]
    if len(every) > most:
        return f"{', '.join(shown)} and {len(every) - most:,} more"
    return " and ".join(filter(None, (", ".join(shown[:-1]), shown[-1]))) if shown else "none"


SOURCE = (
    "J. Kottner and others, Guidelines for Reporting Reliability and Agreement Studies (GRRAS) were proposed, Journal "
    "of Clinical Epidemiology 64 (2011), 96-106."
)


class Point(NamedTuple):
    number: int
    asks: str
    known: str  # what the study says about it
    needed: str = ""  # what the authors must say themselves


def checklist(facts: StudyFacts, agreement: Agreement | None) -> list[Point]:
    """The fifteen points; a point is done where nothing is needed any more."""
    people, models, instrument = facts.of(RaterKind.PERSON), facts.of(RaterKind.MODEL), facts.instrument
    # `attune import` records it if --blind or --not-blind is given.
    elsewhere = "what raters who rated elsewhere knew, and whether they rated on their own"
    elsewhere = elsewhere if _elsewhere(facts, blind=None) else ""
    silent = any(not rater.settings.get("profession") for rater in people)
    planned = [
        f"Round {project.number} planned {project.settings.get('per_unit')} raters for each of "
        f"{pluralize(project.units[Round.MAIN], 'unit')}, with {100 * project.settings.get('repeats', 0):.0f} % of "
        "them repeated."
        for project in facts.projects
    ]
    process = [
        f"In round {project.number} a repeated unit came at least {project.settings.get('gap')} units later, where the "
        "list was long enough."
        for project in facts.projects
        if project.settings.get("repeats")
    ]
    again = sum(rater.rounds[Round.REPEAT] for rater in people)
    asked = [f"{judge.name} {judge.repeats} times" for judge in models if judge.repeats > 1]
    numbers = (
        f"{pluralize(len(people), 'person', 'people')} and {pluralize(len(models), 'judge')} rated; "
        f"{pluralize(facts.together, 'conversation was', 'conversations were')} rated by two or more people; "
        f"{pluralize(again, 'rating')} by people and {list_words(asked) if asked else 'none'} by judges were repeats."
    )
    measured = f"{instrument.id} {instrument.version}: see Instrument, Judges."
    export = "attune export writes every rating, and --dictionary what each column means."
    points = (
        ("Title or abstract name agreement as the subject", "", "put it into your title or abstract"),
        ("What measures is named and described", measured, ""),
        ("Whom the conversations stand for", "See Conversations.", "the population you want to speak about"),
        ("Whom the raters stand for", "See Raters.", "the raters you want to speak about"),
        ("What was known before, and why this study", "", "earlier figures and your reasons"),
        ("How the sizes were chosen", " ".join(planned), "why this many raters, conversations and repeats"),
        ("How the sample was drawn", "See Sampling.", "" if facts.sample else "how conversations were chosen"),
        (
            "How rating went: order, time between repeats, what raters knew",
            " ".join([*process, "See Blinding and independence."]),
            elsewhere,
        ),
        ("Whether raters rated on their own", "See Blinding and independence.", elsewhere),
        ("How the figures were computed", "See Analysis, Exclusions.", ""),
        ("How many raters, conversations and repeats there were in the end", numbers, ""),
        (
            "What raters and conversations were like",
            "See Raters, Training, Conversations.",
            "the professions and experience of raters who did not state them" if silent else "",
        ),
        ("The figures with their uncertainty", _alphas(agreement), "" if agreement else "ratings by people"),
        ("What the figures mean in practice", "", "your own judgement"),
        ("The details are within reach", export, "where you publish them"),
    )
    return [Point(number, *point) for number, point in enumerate(points, 1)]


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


def methods_markdown(found: list[Part], points: list[Point], title: str) -> str:
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

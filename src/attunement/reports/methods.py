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
from attunement.store.study_facts import ConversationCounts, RaterActivity, StudyFacts
from attunement.version import __version__

_LEVEL = f"{100 * LEVEL:.0f} %"
_SHOWN_SETTINGS = ("temperature", "seed", "max_tokens", "layout", "logprobs", "base_url")
"""Settings of a judge in the order in which they are named; others follow."""


class Part(NamedTuple):
    title: str
    said: str
    unknown: str = ""
    """What the study cannot know, and somebody must say."""


def parts(facts: StudyFacts) -> list[Part]:
    return [
        Part("Conversations", " ".join(conversations(facts)), _unknown_origin(facts)),
        Part("Instrument", " ".join(instrument_words(facts.instrument))),
        Part("Judges", " ".join(judges(facts))),
        Part("Sampling", " ".join(sampling(facts)), _unknown_sampling(facts)),
        Part("Raters", " ".join(raters(facts)), _unknown_raters(facts)),
        Part("Training", " ".join(training(facts)), _unknown_training(facts)),
        Part("Blinding and independence", " ".join(blinding(facts)), _unknown_blinding(facts)),
        Part("Exclusions", " ".join(exclusions(facts))),
        Part("Analysis", " ".join(analysis(facts))),
    ]


def conversations(facts: StudyFacts) -> Iterator[str]:
    talks = facts.talks
    names = list_words([f"{name} {number:,}" for name, number in talks.systems.items()], 8)
    yield (
        f"The study holds {pluralize(talks.number, 'conversation')} of {pluralize(len(talks.systems), 'system')} "
        f"({names}), with {_turns(talks)}."
    )
    known = {origin: number for origin, number in talks.origins.items() if origin != Origin.UNKNOWN}
    if known:
        yield f"Their origin: {list_words([f'{origin} {number:,}' for origin, number in sorted(known.items())])}."


def _turns(talks: ConversationCounts) -> str:
    if talks.fewest_turns == talks.most_turns:
        return pluralize(talks.most_turns, "turn")
    return f"{talks.fewest_turns} to {talks.most_turns} turns"


def _unknown_origin(facts: StudyFacts) -> str:
    if not facts.talks.origins.get(Origin.UNKNOWN):
        return ""
    number = pluralize(facts.talks.origins[Origin.UNKNOWN], "conversation")
    return f"whether {number} are real, simulated or written, and how they were collected"


def instrument_words(instrument: Instrument) -> Iterator[str]:
    scale = instrument.scale
    answers = (
        f"a score from {scale.lowest} to {scale.highest}"
        if isinstance(scale, Scores)
        else "met, not met or not applicable"
    )
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
        yield (
            f"{judge.name}{models} rated {pluralize(judge.conversations, 'conversation')} {dates([judge])}"
            f"{f', each question asked up to {judge.repeats} times' if judge.repeats > 1 else ''}"
            f" ({settings_words(judge)})."
        )
        if asked and asked.prompts:
            yield f"It read {pluralize(asked.prompts, 'different prompt')}, each saved under its fingerprint."
    if simulated := facts.of(RaterKind.SIMULATION):
        yield f"{pluralize(len(simulated), 'simulated rater')} took part and count nowhere as people."


def settings_words(judge: RaterActivity) -> str:
    settings = {name: value for name, value in judge.settings.items() if value is not None}
    names = [*(name for name in _SHOWN_SETTINGS if name in settings), *sorted(settings.keys() - {*_SHOWN_SETTINGS})]
    if not names:
        return "its settings are not recorded"
    return ", ".join(f"{name.replace('_', ' ')} {settings[name]}" for name in names)


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


def _unknown_sampling(facts: StudyFacts) -> str:
    if facts.sample is None:
        return "how the conversations that people rated were chosen, and from which"
    return "why this many conversations were chosen"


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
    yield from _stated(found, "profession", "Professions they stated")
    yield from _stated(found, "licence", "Licences they stated")
    yield from _stated(found, "languages", "Languages they stated")
    years = sorted(years for rater in found if isinstance(years := rater.settings.get("years"), int))
    if years:
        yield f"Years of experience they stated: {years[0]} to {years[-1]} ({pluralize(len(years), 'rater')})."


def _stated(found: Sequence[RaterActivity], name: str, title: str) -> Iterator[str]:
    said = Counter(str(rater.settings[name]) for rater in found if rater.settings.get(name))
    if said:
        silent = len(found) - said.total()
        more = f"; {silent} did not say" if silent else ""
        yield f"{title}: {list_words([f'{word} {number}' for word, number in said.most_common()])}{more}."


def _unknown_raters(facts: StudyFacts) -> str:
    if not facts.of(RaterKind.PERSON):
        return ""
    return "how raters were recruited and paid, and whether an ethics board was asked"


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


def _unknown_training(facts: StudyFacts) -> str:
    elsewhere = [rater for rater in facts.of(RaterKind.PERSON) if not rater.in_project]
    return f"how {pluralize(len(elsewhere), 'rater')} who rated elsewhere were trained" if elsewhere else ""


def blinding(facts: StudyFacts) -> Iterator[str]:
    people = facts.of(RaterKind.PERSON)
    inside = [rater for rater in people if rater.in_project]
    if inside:
        yield (
            f"{pluralize(len(inside), 'rater')} worked in Attunement's pages, which do not say which system wrote a "
            "reply and show neither a judge's answers nor, while others still rate, those of other raters; each worked "
            "through an order of their own."
        )
    for told, words in _BLIND.items():
        if found := _elsewhere(facts, blind=told):
            number = pluralize(len(found), "rater who rated elsewhere is", "raters who rated elsewhere are")
            yield f"{number} {words}."
    for project in facts.projects:
        if project.settings.get("unit_warnings"):
            yield f"In round {project.number} conversations with crisis talk opened with a warning."
    for handed in facts.handed_out:
        yield (
            f"{pluralize(handed.units, 'unit')} were handed out as {handed.format} on {handed.at[:10]} under random "
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


def _unknown_blinding(facts: StudyFacts) -> str:
    silent = _elsewhere(facts, blind=None)
    if not silent:
        return ""
    number = pluralize(len(silent), "rater who rated elsewhere was", "raters who rated elsewhere were")
    return f"whether {number} blind and rated on their own"


def exclusions(facts: StudyFacts) -> Iterator[str]:
    rounds, states = Counter[str](), Counter[str]()
    for rater in facts.raters:
        if rater.kind is RaterKind.SIMULATION:
            continue
        rounds += rater.rounds
        states += rater.states
    others = [f"{rounds[round]:,} for {_ROUNDS[round]}" for round in Round if round in _ROUNDS and rounds[round]]
    if others:
        yield f"Only ratings of the main round enter the figures; others were made: {list_words(others)}."
    named = {State.NA: "not applicable", State.ABSTAINED: "no valid way to know", State.ERROR: "no answer"}
    without = [f"{states[state]:,} {words}" for state, words in named.items() if states[state]]
    total = f"{states.total():,} ratings of the main round"
    yield f"Of {total}: {list_words(without)}." if without else f"All of the {total} have a value."
    for project in facts.projects:
        gone = [
            f"{number:,} {words}"
            for number, words in (
                (project.states["skipped"], "units skipped"),
                (project.states["withdrawn"], "withdrawn"),
                (project.held, "raters held after the worked examples"),
                (project.left, "raters left"),
            )
            if number
        ]
        if gone:
            yield f"In round {project.number}: {list_words(gone)}."


_ROUNDS = {
    Round.CALIBRATION: "practice",
    Round.REPEAT: "a second look",
    Round.GOLD: "units with known answers",
    Round.ATTENTION: "attention checks",
    Round.ADJUDICATION: "adjudication",
}


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
    known: str
    """What the study says about it."""
    needed: str = ""
    """What the authors must say themselves."""


def checklist(facts: StudyFacts, agreement: Agreement | None) -> list[Point]:
    people = facts.of(RaterKind.PERSON)
    # `attune import` records it if --blind or --not-blind is given.
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


def _planned(facts: StudyFacts) -> str:
    said = [
        f"Round {project.number} planned {project.settings.get('per_unit')} raters for each of "
        f"{pluralize(project.units[Round.MAIN], 'unit')}, with {100 * project.settings.get('repeats', 0):.0f} % of "
        "them "
        "repeated."
        for project in facts.projects
    ]
    return " ".join(said)


def _process(facts: StudyFacts) -> str:
    said = [
        f"In round {project.number} a repeated unit came at least {project.settings.get('gap')} units later, where the "
        "list was long enough."
        for project in facts.projects
        if project.settings.get("repeats")
    ]
    return " ".join([*said, "See Blinding and independence."])


def _numbers(facts: StudyFacts) -> str:
    people, models = facts.of(RaterKind.PERSON), facts.of(RaterKind.MODEL)
    again = sum(rater.rounds[Round.REPEAT] for rater in people)
    asked = [f"{judge.name} {judge.repeats} times" for judge in models if judge.repeats > 1]
    return (
        f"{pluralize(len(people), 'person', 'people')} and {pluralize(len(models), 'judge')} rated; "
        f"{pluralize(facts.together, 'conversation was', 'conversations were')} rated by two or more people; "
        f"{pluralize(again, 'rating')} by people and {list_words(asked) if asked else 'none'} by judges were repeats."
    )


def _figures(agreement: Agreement | None) -> str:
    if agreement is None:
        return ""
    said: list[str] = []
    without: dict[str, list[str]] = {}
    for entry in agreement.items:
        if isinstance(entry.people.alpha, Alpha):
            value, interval = format_number(entry.people.alpha.value), entry.people.interval
            if isinstance(interval, Undefined):
                # What the reason counts differs from item to item; what it says does not.
                without.setdefault(interval.reason.partition(":")[0], []).append(entry.item.id)
                said.append(f"{entry.item.id} {value}")
            else:
                said.append(f"{entry.item.id} {value} ({format_interval(interval)})")
    if not said:
        return "Agreement between people is not defined on any item; attune agree says why."
    none = "".join(f" No interval for {', '.join(items)}: {reason}." for reason, items in without.items())
    return (
        f"Krippendorff's alpha between people: {'; '.join(said)}.{none} attune agree gives the figures of each judge."
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

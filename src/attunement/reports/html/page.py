"""A report as a whole: the top lines, tables, charts, what to read first, and the glossary.

Nothing is marked as resting on people's ratings unless there are some.

Their order is fixed: what was read, safety, who checked the judge, and only then verdicts.

For each item that fails often the clearest example is chosen: one in which a rater quotes the assistant word for word,
best where people or all judges agree, with the shortest reason that says why.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from attunement.analysis.summary import Agreement
from attunement.evidence import CitationStatus, Finding, from_json
from attunement.instruments import Instrument
from attunement.ratings import RaterKind, Rating, Round
from attunement.reports.html import charts
from attunement.reports.html.charts import Distribution, System, distributions, item_share, percent
from attunement.reports.html.figures import (
    ALARMING,
    FAIL,
    FLAGGED,
    HELD_BACK,
    NO_FLAG,
    PASS,
    STATUSES,
    UNJUDGED,
    UNSAFE,
    Figures,
    Status,
    Who,
    low_limit,
    mask,
    not_met,
    possible,
)
from attunement.reports.html.listing import Filter, Listing, Placed, Row
from attunement.reports.html.sections import Checked, Section
from attunement.reports.html.summary import NOT_ENGLISH, POINTER, gather
from attunement.reports.html.text import Costs, Moved, Privacy, costs, drawn, kept_by_key
from attunement.reports.numbers import pluralize
from attunement.reports.overview import Tally, about_raters, reworded
from attunement.reports.wording import answer, answer_phrase, rater_words, reworded_words
from attunement.scoring import Verdict, is_failure
from attunement.signals.measured import in_a_line
from attunement.store import Study

_LINKED = 5
"""Unsafe conversations that are named in the line about safety."""
_MOST_NAMED = 4
"""Systems whose shares are named in the line about verdicts."""

_UNCHECKED = Checked("Not checked against people.")
_NO_JUDGE = Checked("There is no judge: people rated the conversations themselves.")


class Top(NamedTuple):
    """The four lines."""

    conversations: int
    not_judged: int
    unsafe: int
    unsafe_rows: list[Row]
    according: str
    safety_not_judged: int
    crisis: int
    crisis_na: int
    pointed: int
    """Conversations with a pointer of the rule check."""
    not_english: int
    """Conversations that the rule check did not look at."""
    checked: Checked
    sign_off: str
    judges: str
    verdict: str
    shares: list[tuple[str, str]]
    """The share that passes by system, in words, where there are a few."""
    hint: str = ""
    """What to do next, where nothing can be said yet."""

    @property
    def nobody_judged(self) -> bool:
        """Whether there are conversations and not one of them was judged."""
        return 0 < self.conversations == self.not_judged

    @property
    def measured(self) -> str:
        """How often pointers were right when that was measured."""
        return in_a_line()

    @property
    def by_system(self) -> str:
        """The shares in one line."""
        return ", ".join(f"{name} {share}" for name, share in self.shares)


def top_lines(
    figures: Figures,
    systems: Sequence[System],
    listing: Listing,
    hiding: Privacy,
    checked: Checked | None,
    sign_off: str,
) -> Top:
    """The lines about a study that was counted; `checked` is None where no analysis says who checked the judge."""
    total, statuses = figures.total, figures.total.statuses
    linked = [placed.row for status in ALARMING for placed in listing.rows(Filter(status=status.word), most=_LINKED)]
    names = [hiding.text(name) for name in figures.members]
    return Top(
        conversations=total.tally.conversations,
        not_judged=total.unanswered,
        unsafe=sum(statuses[status] for status in ALARMING),
        unsafe_rows=linked[:_LINKED],
        according=_according(figures),
        safety_not_judged=statuses[UNJUDGED],
        crisis=figures.crisis,
        crisis_na=figures.crisis_na,
        pointed=figures.flags[POINTER],
        not_english=figures.flags[NOT_ENGLISH],
        checked=checked or (_NO_JUDGE if figures.by_people else _UNCHECKED),
        sign_off=sign_off,
        judges=f"{len(names):,} people" if figures.by_people and len(names) > _MOST_NAMED else _and(names),
        verdict=_verdict_sentence(figures),
        shares=_shares(figures, systems),
        hint=_hint(figures),
    )


def _and(names: Sequence[str]) -> str:
    return " and ".join((", ".join(names[:-1]), names[-1])) if len(names) > 1 else "".join(names)


def _hint(figures: Figures) -> str:
    """What to do where nothing was judged."""
    total = figures.total
    if not total.tally.conversations:
        return "There is nothing in this study yet: attune judge takes conversations in and asks about them."
    if total.unanswered < total.tally.conversations:
        return ""
    if figures.judges:
        return "No question got an answer. The same attune judge again asks what is missing."
    return "Nobody was asked on this instrument yet: attune judge asks a judge, attune annotate asks people."


def _according(figures: Figures) -> str:
    if figures.by_people:
        return "people"
    return "the judges" if len(figures.members) > 1 else "the judge"


def _verdict_sentence(figures: Figures) -> str:
    """What comes between "According to JUDGE," and the name of the instrument."""
    total = figures.total
    if not total.passed.whole:
        return ""
    if figures.instrument.scoring.threshold is None:
        flagged = sum(total.statuses[status] for status in ALARMING)
        are = "is" if flagged == 1 else "are"
        whole = total.tally.conversations - total.statuses[UNJUDGED]
        return f"{flagged:,} of {pluralize(whole, 'conversation')} {are} flagged on"
    if total.passed.whole == 1:
        return f"the conversation {'passes' if total.passed.part else 'does not pass'}"
    share = percent(total.passed.part, total.passed.whole)
    return f"{share} {'of the conversations' if share.endswith('%') else 'conversations'} pass"


def _shares(figures: Figures, systems: Sequence[System]) -> list[tuple[str, str]]:
    """The share that passes for each of a few systems."""
    if figures.instrument.scoring.threshold is None or not 1 < len(systems) <= _MOST_NAMED:
        return []
    shares = [(system.name, figures.systems[system.name].passed) for system in systems]
    return [(name, percent(share.part, share.whole)) for name, share in shares if share.whole]


MOST_MENDED = 6
MOST_FIRST = 5
_SHORTEST = 30
"""Characters below which a reason hardly says why."""
_LONGEST = 420
"""Characters of a reason that are shown in an overview; the conversation has all of it."""
_QUOTE = 240


class Example(NamedTuple):
    """A failure with the words it rests on."""

    placed: Placed
    title: str
    turn: int | None
    quote: str
    """What the assistant said; empty where nothing is quoted word for word."""
    reason: str
    people: str
    """What people answered, if any did."""


class PerSystem(NamedTuple):
    """How often an item was not met by one system."""

    system: System
    width: float
    words: str


class Mended(NamedTuple):
    """An item that fails often."""

    id: str
    title: str
    part: int
    whole: int
    contested: bool
    systems: list[PerSystem]
    examples: list[Example]


def read_first(study: Study, figures: Figures, listing: Listing, hiding: Privacy) -> list[Example]:
    """The most serious failures, with the words and the reason."""
    found: list[Example] = []
    for status in ALARMING:
        for placed in listing.rows(Filter(status=status.word), most=MOST_FIRST - len(found)):
            example = _best(study, figures, [placed], sorted(figures.instrument.gate_ids), hiding)
            found.append(example or Example(placed, status.word, None, "", "", ""))
    return found


def what_to_mend(
    study: Study, figures: Figures, listing: Listing, systems: Sequence[System], hiding: Privacy
) -> list[Mended]:
    """The items that fail most, the most frequent first."""
    instrument = figures.instrument
    shares = {item.id: item_share(instrument, figures.total, item.id) for item in instrument.items}
    failing = sorted(
        (item for item in instrument.items if shares[item.id].part),
        key=lambda item: (-shares[item.id].part / shares[item.id].whole, item.id),
    )
    mended: list[Mended] = []
    used: set[int] = set()
    for item in failing[:MOST_MENDED]:
        own = [(system, item_share(instrument, figures.systems[system.name], item.id)) for system in systems]
        candidates = [placed for one in figures.examples.get(item.id, ()) if (placed := listing.find(one.key))]
        # A conversation serves once, where there is another: six times the same one shows little.
        fresh = [placed for placed in candidates if placed.row.key not in used]
        example = _best(study, figures, fresh or candidates, [item.id], hiding)
        used.update({example.placed.row.key} if example else ())
        mended.append(
            Mended(
                id=item.id,
                title=item.title,
                part=shares[item.id].part,
                whole=shares[item.id].whole,
                contested=bool(item.validity.contested),
                systems=[
                    PerSystem(system, 100 * share.part / share.whole, f"{share.part:,} of {share.whole:,}")
                    for system, share in own
                    if share.whole
                ],
                examples=[example] if example else [],
            )
        )
    return mended


class _Scored(NamedTuple):
    """A rating and how well it serves as an example; the lowest first."""

    lacks_quote: bool
    place: int
    length: int
    rating: Rating
    placed: Placed
    finding: Finding | None


def _best(
    study: Study, figures: Figures, candidates: Sequence[Placed], items: Sequence[str], hiding: Privacy
) -> Example | None:
    scored = sorted(_scored(study, figures, candidates, items), key=lambda one: one[:3])
    if not scored:
        return None
    best = scored[0]
    instrument, rating = figures.instrument, best.rating
    quote = _said(study, best.placed, best.finding, hiding) if best.finding and hiding.texts else ""
    return Example(
        placed=best.placed,
        title=instrument.item(rating.item).title,
        turn=best.finding.found_turn if best.finding else rating.turn,
        quote=quote,
        reason=_shortened(hiding.text(rating.reasoning), _LONGEST) if hiding.texts else "",
        people=_people(study, figures, best.placed, rating),
    )


def _scored(study: Study, figures: Figures, candidates: Sequence[Placed], items: Sequence[str]) -> Iterator[_Scored]:
    instrument = figures.instrument
    wanted = RaterKind.PERSON if figures.by_people else RaterKind.MODEL
    for number, placed in enumerate(candidates):
        for rating in study.ratings(conversations=[placed.row.key], round=Round.MAIN):
            known = rating.item in items and rating.item_hash == instrument.item_hashes.get(rating.item)
            if not known or rating.rater_kind is not wanted:
                continue
            item = instrument.item(rating.item)
            given = answer(instrument, item, rating.outcome)
            if not (not_met(instrument, given) or is_failure(instrument, item, rating.outcome)):
                continue
            finding = _quoted(rating)
            short = len(rating.reasoning) < _SHORTEST
            yield _Scored(finding is None or short, number, len(rating.reasoning), rating, placed, finding)


def _quoted(rating: Rating) -> Finding | None:
    """What the rating quotes of the assistant word for word, the longest within reason."""
    found = [
        finding
        for finding in map(from_json, rating.evidence)
        if finding.status in {CitationStatus.FOUND, CitationStatus.UNCITED} and finding.speaker == "assistant"
    ]
    fitting = [finding for finding in found if (finding.end or 0) - (finding.start or 0) <= _QUOTE]
    return max(fitting or found, key=lambda finding: (finding.end or 0) - (finding.start or 0), default=None)


def _said(study: Study, placed: Placed, finding: Finding, hiding: Privacy) -> str:
    """The words themselves, as they stand in the transcript."""
    kept = kept_by_key(study, [placed.row.key]).get(placed.row.key)
    if kept is None or finding.found_turn is None or finding.start is None or finding.end is None:
        return ""
    message = Moved(kept.conversation.turns[finding.found_turn - 1].assistant, hiding)
    return _shortened(message.text[message.place(finding.start) : message.place(finding.end)], _QUOTE)


def _people(study: Study, figures: Figures, placed: Placed, rating: Rating) -> str:
    if figures.by_people:
        return ""
    instrument = figures.instrument
    given = [
        answer_phrase(instrument, instrument.item(other.item), other.outcome).words
        for other in study.ratings(conversations=[placed.row.key], round=Round.MAIN)
        if other.rater_kind is RaterKind.PERSON
        and (other.item, other.turn, other.item_hash) == (rating.item, rating.turn, rating.item_hash)
    ]
    if not given:
        return ""
    words = max(set(given), key=given.count)
    said = "said by " if isinstance(answer(instrument, instrument.item(rating.item), rating.outcome), int) else ""
    return f"People: {words}, {said}{given.count(words)} of {len(given)}"


def _shortened(text: str, longest: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= longest else line[: longest - 1].rsplit(" ", 1)[0] + " …"


_MOST_SYSTEMS, _MOST_SCENARIOS = 500, 300


class VerdictRow(NamedTuple):
    """A system's conversations by status."""

    system: charts.System | None
    """None for all together."""
    total: int
    counts: list[int]
    segments: list[tuple[str, float, float]]
    """Class, place and width of each part of the bar."""
    label: str


class RaterRow(NamedTuple):
    """What one rater came to."""

    who: str
    person: bool
    rated: int
    counts: list[int]
    passed: int


class Repeats(NamedTuple):
    """How often answers differed."""

    who: str
    same: str
    worst: str


class Choices(NamedTuple):
    """What a reader can choose among."""

    systems: list[str]
    scenarios: list[str]
    statuses: list[Status]
    answers: list[tuple[str, int]]
    """The answers to an item, each with its bits."""


class Report(NamedTuple):
    """Everything but the conversations themselves."""

    title: str
    made: str
    instrument: Instrument
    figures: Figures
    top: Top
    statuses: list[Status]
    verdicts: list[VerdictRow]
    first: list[Example]
    mend: list[Mended]
    systems: list[charts.System]
    heat: list[charts.HeatGroup]
    intervals: list[charts.IntervalChart]
    distributions: list[Distribution]
    levels: list[charts.Levels]
    raters: list[RaterRow]
    repeats: list[Repeats]
    cautions: list[str]
    sections: Sequence[Section]
    costs: list[Costs]
    failing: int
    """The bits of the answers that count against a reply."""
    alarm: str
    """The word of the status that this instrument has for what is unsafe."""
    low: int | None
    """For an instrument of scores: the highest score that is low."""
    hiding: Privacy
    agreement: Agreement | None = None
    """How far people and judges agree, in full; None where nobody looked or no person rated."""


def report(
    study: Study,
    instrument: Instrument,
    listing: Listing,
    hiding: Privacy,
    *,
    checked: Checked | None = None,
    sign_off: str = "",
    sections: Sequence[Section] = (),
    agreement: Agreement | None = None,
    pace: Callable[[], None] | None = None,
) -> Report:
    """Count the study, fill the list, and make everything that stands before the conversations.

    `checked`, `sign_off`, `sections` and `agreement` come from analyses of people's ratings, where there are any.
    `pace` is called before each conversation.
    """
    figures = gather(study, instrument, listing, hiding, pace=pace)
    systems = charts.systems_of(figures)
    # A system that nobody judged with this instrument is counted, but there is nothing to draw.
    judged = [system for system in systems if figures.systems[system.name].passed.whole] or systems
    statuses = [status for status in STATUSES if figures.total.statuses[status] or status in _always(instrument)]
    raters = [rater for rater in study.raters() if any(who.rater == rater.name for who in figures.judges)]
    drawn_charts = (
        charts.pass_rates(figures, judged), charts.item_means(figures, judged), charts.by_length(figures, judged),
    )  # fmt: skip
    cautions = [*about_raters(study, raters, figures.systems)]
    if figures.judges and (never := reworded(study, instrument)):
        cautions.append(reworded_words(never))
    return Report(
        title=hiding.text(title_of(study)),
        made=datetime.now(UTC).strftime("%d %B %Y").lstrip("0"),
        instrument=instrument,
        figures=figures,
        top=top_lines(figures, systems, listing, hiding, checked, sign_off),
        statuses=statuses,
        verdicts=_verdicts(figures, systems, statuses),
        first=read_first(study, figures, listing, hiding),
        mend=what_to_mend(study, figures, listing, judged, hiding),
        systems=judged,
        heat=charts.heat_map(figures, judged) if figures.judges else [],
        intervals=[chart for chart in drawn_charts if chart],
        distributions=distributions(figures, judged),
        levels=charts.safety_levels(figures, judged) if figures.judges else [],
        raters=_raters(figures, statuses, hiding),
        repeats=_repeats(figures, hiding),
        cautions=[hiding.text(caution) for caution in cautions],
        sections=sections,
        costs=costs(study),
        failing=failing(instrument),
        alarm=(FLAGGED if instrument.scoring.threshold is None else UNSAFE).word,
        low=low_limit(instrument),
        hiding=hiding,
        agreement=agreement,
    )


def with_rates(made: Report, rates: Mapping[str, charts.Rate]) -> Report:
    """The report with the pass rates, by system, as people's ratings correct them."""
    chart = charts.pass_rates(made.figures, made.systems, rates)
    if not rates or chart is None:
        return made
    return made._replace(intervals=[chart if one.id == chart.id else one for one in made.intervals])


def choices(instrument: Instrument, listing: Listing) -> Choices:
    """What there is to choose among in this list."""
    there = listing.names("status", len(STATUSES))
    return Choices(
        listing.names("system", _MOST_SYSTEMS),
        listing.names("scenario", _MOST_SCENARIOS),
        [status for status in STATUSES if status.word in there or status in _always(instrument)],
        _answers(instrument),
    )


def _answers(instrument: Instrument) -> list[tuple[str, int]]:
    every = [
        (f"score {one}" if isinstance(one, int) else one.removeprefix("– "), 1 << number)
        for number, one in enumerate(possible(instrument))
    ]
    limit = low_limit(instrument)
    return every if limit is None else [(f"{limit} or less", failing(instrument)), *every]


def failing(instrument: Instrument) -> int:
    """The answers that count against a reply, as bits."""
    every = possible(instrument)
    return mask(every, [one for one in every if not_met(instrument, one)])


def _always(instrument: Instrument) -> tuple[Status, ...]:
    """The columns that stand in a table of verdicts even where they are 0."""
    if instrument.scoring.threshold is None:
        return FLAGGED, UNJUDGED, NO_FLAG
    return UNSAFE, UNJUDGED, FAIL, PASS


def title_of(study: Study) -> str:
    """What a study is called on its pages: the name of its file or database."""
    name = study.place.rpartition("/")[2]
    for ending in (".db", ".study"):
        name = name.removesuffix(ending)
    return drawn(name)


def _verdicts(figures: Figures, systems: Sequence[charts.System], statuses: Sequence[Status]) -> list[VerdictRow]:
    rows = [_verdict_row(system, figures.systems[system.name].statuses, statuses) for system in systems]
    if len(systems) != 1:
        rows.append(_verdict_row(None, figures.total.statuses, statuses))
    return rows


def _verdict_row(system: charts.System | None, counts: dict[Status, int], statuses: Sequence[Status]) -> VerdictRow:
    total = sum(counts.values())
    segments: list[tuple[str, float, float]] = []
    start = 0.0
    for status in statuses:
        width = 100 * counts[status] / total if total else 0.0
        if width:
            # Half a per cent between the parts, unless a part is hardly wider than that.
            gap = min(0.5, width / 3)
            segments.append((status.tone.split()[0], start + gap / 2, width - gap))
        start += width
    words = ", ".join(f"{status.word} {counts[status]}" for status in statuses)
    name = system.name if system else "All"
    return VerdictRow(system, total, [counts[status] for status in statuses], segments, f"{name}: {words}")


_ORDER = {RaterKind.MODEL: 0, RaterKind.PERSON: 1, RaterKind.SIMULATION: 2}


def _raters(figures: Figures, statuses: Sequence[Status], hiding: Privacy) -> list[RaterRow]:
    if len(figures.judges) < 2:
        return []
    repeated = {who.rater for who in figures.judges if who.repeat}
    return [
        RaterRow(
            who=hiding.text(_rater(who, repeated=who.rater in repeated)),
            person=who.kind is RaterKind.PERSON,
            rated=tally.conversations,
            counts=[_count(tally, status) for status in statuses],
            passed=tally.passed,
        )
        for who, tally in sorted(figures.judges.items(), key=lambda entry: _ORDER[entry[0].kind])
    ]


def _rater(who: Who, *, repeated: bool) -> str:
    return rater_words(who.rater, repeat=who.repeat if repeated else None, kind=who.kind)


def _count(tally: Tally, status: Status) -> int:
    if status is PASS:
        return tally.passed
    if status is HELD_BACK:
        return tally.verdicts[Verdict.PASS] - tally.passed
    if status is UNJUDGED:
        return tally.safety_not_judged
    return tally.verdicts[Verdict("REJECTED: unsafe" if status.word == "unsafe" else status.word.upper())]


def _repeats(figures: Figures, hiding: Privacy) -> list[Repeats]:
    found = [(f"{rater}, asked again", items) for rater, items in figures.again.items()]
    if figures.between:
        found.append(("Between the judges", figures.between))
    rows: list[Repeats] = []
    for who, items in found:
        compared = sum(flips.compared for flips in items.values())
        differing = sum(flips.differing for flips in items.values())
        worst = max(items, key=lambda item: items[item].differing / items[item].compared, default="")
        words = ""
        if worst and items[worst].differing:
            words = f"{worst}: {items[worst].differing:,} of {items[worst].compared:,} differ"
        rows.append(Repeats(hiding.text(who), f"{compared - differing:,} of {compared:,}", words))
    return rows


class Entry(NamedTuple):
    """A word for people, what it means, and what a statistician calls it."""

    word: str
    meaning: str
    technical: str = ""


GLOSSARY = (
    Entry("Judge", "A language model that answers the questions of the instrument."),
    Entry("Instrument", "The versioned file with the questions, the weights and the threshold."),
    Entry(
        "Version mark", "A short code that changes with any word of the instrument.", "first digits of its SHA-256 hash"
    ),
    Entry("Met, not met", "The behaviour that an item names was there, or was not.", "YES, NO"),
    Entry("Does not apply", "The situation that the item asks about did not come up.", "NA"),
    Entry(
        "Not judged", "There is no answer: it failed, is missing, or the rater has no way to know.", "ERROR, ABSTAINED"
    ),
    Entry("Not due", "The conversation is too short for the item, so it was not asked and counts nowhere."),
    Entry("Pass", "It met the instrument's threshold and no safety item tripped.", "PASS"),
    Entry("Fail", "Below the threshold, even if everything open were met.", "FAIL"),
    Entry("Unsafe", "A safety item is not met, whatever the score.", "REJECTED: unsafe"),
    Entry(
        "Flagged",
        "For instruments without a threshold: a safety score is too low.",
        "FLAGGED",
    ),
    Entry(
        "Safety not judged",
        "A safety item has no answer. It is kept apart from unsafe and can be asked again.",
        "REJECTED: safety not judged",
    ),
    Entry("Incomplete", "What is open could still change the verdict, so the score is a range.", "INCOMPLETE"),
    Entry(
        "Rule check, pointer",
        "Fixed patterns that point at crisis talk a reader should look at. They never judge, and they miss some.",
        "signals",
    ),
    Entry("No flag", "Nothing was flagged. The instrument has no threshold, so this is no pass.", "NO FLAG"),
    Entry(
        "Needs a person",
        "The answer about crises is “does not apply”, yet the person speaks of suicide or self-harm in plain words. "
        "It does not count as good until a person has looked.",
    ),
    Entry("Crisis talk", "The person speaks of suicide or self-harm, found by patterns that miss some."),
    Entry("Quote not found", "A judge quotes words, or names a turn, that are not in the conversation."),
    Entry(
        "Missed failures",
        "Of the failures that people found, how many the judge did not see.",
        "false negatives; 1 - recall",
    ),
    Entry(
        "False alarms",
        "Of what people found in order, how much the judge called a failure.",
        "false positives; 1 - specificity",
    ),
    Entry(
        "Agreement between your raters",
        "How far people agree beyond chance; 1 is perfect, 0 is chance.",
        "Krippendorff's alpha",
    ),
    Entry("How far single raters agree", "The mean agreement of pairs of raters.", "kappa, ICC"),
    Entry(
        "Score corrected with people's ratings",
        "What the score would be, had people rated everything, as far as their ratings tell.",
        "prediction-powered inference",
    ),
    Entry(
        "Could it stand in for one rater?",
        "Whether the judge agrees with people at least as well as one of them does.",
        "alternative annotator test",
    ),
    Entry(
        "Same answer when asked again",
        "How often a judge repeats its answer to the same question.",
        "test-retest agreement",
    ),
    Entry(
        "Interval",
        "Where the true value lies, in 95 of 100 studies like this one.",
        "95 % confidence interval; exact for shares, cluster-robust for means",
    ),
    Entry(
        "People differ, judges differ",
        "Answers are not the same. Neighbouring scores do not count, unless only one of them trips the gate.",
    ),
)

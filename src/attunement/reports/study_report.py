"""The report of a study: the top lines, tables, charts, and what to read first, from one pass over the study.

`build_report` makes it, and every form presents it: page, Markdown, JSON, JUnit, LaTeX, Inspect. Its four top lines
have a fixed order: what was read, safety, who checked the judge, and only then verdicts. Nothing is marked as resting
on people's ratings unless there are some.

For each item that fails often the clearest example is chosen: one in which a rater quotes the assistant word for word,
best where people or all judges agree, with the shortest reason that says why.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from attunement.analysis.summary import Agreement
from attunement.evidence import CitationStatus, Finding, from_json
from attunement.instruments import Instrument
from attunement.ratings import RaterKind, Rating, Round
from attunement.reports.baseline import Baseline
from attunement.reports.gate import Decision
from attunement.reports.html import charts
from attunement.reports.html.charts import Distribution, HeatGroup, IntervalChart, Levels, System, percent
from attunement.reports.html.listing import Filter, Listing, Placed, Row
from attunement.reports.html.sections import Analysed, Checked, Section
from attunement.reports.numbers import pluralize
from attunement.reports.overview import Tally, about_raters, reworded
from attunement.reports.privacy import Moved, Privacy, for_page
from attunement.reports.summary import (
    CRISIS,
    NOT_ENGLISH,
    POINTER,
    ReportedConversation,
    Summary,
    SystemCounts,
    SystemScores,
    summarize,
)
from attunement.reports.wording import (
    ALARMING,
    FAIL,
    FLAGGED,
    HELD_BACK,
    NO_FLAG,
    PASS,
    STATUS_OF,
    STATUSES,
    UNJUDGED,
    UNSAFE,
    Status,
    answer,
    answer_phrase,
    low_limit,
    mask,
    not_met,
    possible_answers,
    rater_words,
    reworded_words,
)
from attunement.scoring import Verdict, is_failure
from attunement.signals.measured import in_a_line
from attunement.store import Study
from attunement.store.queries import JudgeCost, conversations_by_key, judge_costs

_LINKED = 5  # unsafe conversations that are named in the line about safety
_MOST_NAMED = 4  # systems whose shares are named in the line about verdicts
_MOST_FAILING, _MOST_FIRST = 6, 5
_SHORTEST = 30  # characters below which a reason hardly says why
_LONGEST, _QUOTE = 420, 240  # characters of a reason and of a quotation; the conversation has all of it
_MOST_SYSTEMS, _MOST_SCENARIOS = 500, 300

_UNCHECKED = Checked("Not checked against people.")
_NO_JUDGE = Checked("There is no judge: people rated the conversations themselves.")


class Top(NamedTuple):
    conversations: int
    not_judged: int
    unsafe: int
    unsafe_rows: list[Row]
    according: str
    safety_not_judged: int
    crisis: int
    crisis_na: int
    pointed: int  # conversations with a pointer of the rule check
    not_english: int  # conversations that the rule check did not look at
    checked: Checked
    sign_off: str
    judges: str
    verdict: str
    shares: list[tuple[str, str]]  # the share that passes by system, in words, where there are a few
    hint: str  # what to do next, where nothing can be said yet

    @property
    def nobody_judged(self) -> bool:
        return 0 < self.conversations == self.not_judged

    @property
    def measured(self) -> str:
        return in_a_line()

    @property
    def by_system(self) -> str:
        return ", ".join(f"{name} {share}" for name, share in self.shares)


class Example(NamedTuple):
    """A failure with the words it rests on."""

    placed: Placed
    title: str
    turn: int | None = None
    quote: str = ""  # what the assistant said; empty where nothing is quoted word for word
    reason: str = ""
    people: str = ""  # what people answered, if any did


class FailingSystem(NamedTuple):
    system: System
    width: float
    words: str


class FailingItem(NamedTuple):
    id: str
    title: str
    part: int
    whole: int
    contested: bool
    systems: list[FailingSystem]
    examples: list[Example]


class VerdictRow(NamedTuple):
    system: System | None  # None for all together
    total: int
    counts: list[int]
    segments: list[tuple[str, float, float]]  # class, place and width of each part of the bar
    label: str


class RaterRow(NamedTuple):
    who: str
    person: bool
    rated: int
    counts: list[int]
    passed: int


class RepeatRow(NamedTuple):
    who: str
    same: str
    worst: str


class Choices(NamedTuple):
    """What a reader can filter the list by."""

    systems: list[str]
    scenarios: list[str]
    statuses: list[Status]
    answers: list[tuple[str, int]]  # the answers to an item, each with its bits


class Report(NamedTuple):
    """Everything but the conversations themselves."""

    study: Study
    listing: Listing
    title: str
    made: str
    instrument: Instrument
    summary: Summary
    top: Top
    statuses: list[Status]
    verdicts: list[VerdictRow]
    first: list[Example]
    failing_items: list[FailingItem]
    systems: list[System]
    heat: list[HeatGroup]
    intervals: list[IntervalChart]
    distributions: list[Distribution]
    levels: list[Levels]
    raters: list[RaterRow]
    repeats: list[RepeatRow]
    cautions: list[str]
    costs: list[JudgeCost]
    failing: int  # the bits of the answers that count against a reply
    alarm: str  # the word of the status that this instrument has for what is unsafe
    low: int | None  # for an instrument of scores: the highest score that is low
    hiding: Privacy
    sections: Sequence[Section] = ()
    agreement: Agreement | None = None  # in full; None where nobody looked or no person rated
    gate: Decision | None = None  # None where no form shows it
    baseline: Baseline | None = None

    @property
    def scores(self) -> list[SystemScores]:
        return self.summary.scores

    def with_analyses(self, found: Analysed) -> "Report":
        """The report with what rests on people's ratings, among it the pass rates as these correct them."""
        made = self._replace(
            top=self.top._replace(checked=found.checked or self.top.checked, sign_off=found.sign_off),
            sections=found.sections,
            agreement=found.agreement,
        )
        chart = charts.pass_rates(self.summary, self.systems, found.rates)
        if not found.rates or chart is None:
            return made
        return made._replace(intervals=[chart if one.id == chart.id else one for one in made.intervals])


def build_report(
    study: Study,
    instrument: Instrument,
    listing: Listing,
    privacy: Privacy,
    *,
    receivers: Sequence[Callable[[ReportedConversation], None]] = (),
    pace: Callable[[], None] | None = None,
) -> Report:
    """Read the study once, fill the list, and make everything that comes before the conversations.

    `receivers` and `pace` are those of `summarize`.
    """
    summary = summarize(study, instrument, listing, privacy, receivers=receivers, pace=pace)
    systems = charts.systems_of(summary)
    # A system that nobody judged with this instrument is counted, but there is nothing to draw.
    judged = [system for system in systems if summary.systems[system.name].judged] or systems
    statuses = [status for status in STATUSES if summary.total.statuses[status] or status in _always(instrument)]
    intervals = (
        charts.pass_rates(summary, judged),
        charts.item_means(summary, judged),
        charts.by_length(summary, judged),
    )
    raters = [rater for rater in study.raters() if any(who.rater == rater.name for who in summary.raters)]
    cautions = [*about_raters(study, raters, summary.systems)]
    if summary.raters and (never := reworded(study, instrument)):
        cautions.append(reworded_words(never))
    examples = _Examples(study, summary, listing, privacy)
    return Report(
        study=study,
        listing=listing,
        title=privacy.text(title_of(study)),
        made=datetime.now(UTC).strftime("%d %B %Y").lstrip("0"),
        instrument=instrument,
        summary=summary,
        top=_top(summary, systems, listing, privacy),
        statuses=statuses,
        verdicts=_verdicts(summary, systems, statuses),
        first=examples.read_first(),
        failing_items=examples.failing_items(judged),
        systems=judged,
        heat=charts.heat_map(summary, judged) if summary.raters else [],
        intervals=[chart for chart in intervals if chart],
        distributions=charts.distributions(summary, judged),
        levels=charts.safety_levels(summary, judged) if summary.raters else [],
        raters=_raters(summary, statuses, privacy),
        repeats=_repeats(summary, privacy),
        cautions=[privacy.text(caution) for caution in cautions],
        costs=judge_costs(study),
        failing=failing(instrument),
        alarm=(FLAGGED if instrument.scoring.threshold is None else UNSAFE).word,
        low=low_limit(instrument),
        hiding=privacy,
    )


def title_of(study: Study) -> str:
    """What a study is called on its pages: the name of its file or database."""
    name = study.place.rpartition("/")[2]
    for ending in (".db", ".study"):
        name = name.removesuffix(ending)
    return for_page(name)


# The top lines


def _top(summary: Summary, systems: Sequence[System], listing: Listing, privacy: Privacy) -> Top:
    total, flags = summary.total, summary.flags
    linked = [placed.row for status in ALARMING for placed in listing.rows(Filter(status=status.word), most=_LINKED)]
    names = [privacy.text(name) for name in summary.members]
    together = " and ".join((", ".join(names[:-1]), names[-1])) if len(names) > 1 else "".join(names)
    the_judges = "the judges" if len(names) > 1 else "the judge"
    return Top(
        conversations=total.tally.conversations,
        not_judged=total.unanswered,
        unsafe=_alarming(total),
        unsafe_rows=linked[:_LINKED],
        according="people" if summary.by_people else the_judges,
        safety_not_judged=total.statuses[UNJUDGED],
        crisis=flags[CRISIS],
        crisis_na=summary.crisis_na,
        pointed=flags[POINTER],
        not_english=flags[NOT_ENGLISH],
        checked=_NO_JUDGE if summary.by_people else _UNCHECKED,
        sign_off="",
        judges=f"{len(names):,} people" if summary.by_people and len(names) > _MOST_NAMED else together,
        verdict=_verdict_sentence(summary),
        shares=_shares(summary, systems),
        hint=_hint(summary),
    )


def _alarming(counts: SystemCounts) -> int:
    return sum(counts.statuses[status] for status in ALARMING)


def _hint(summary: Summary) -> str:
    if not summary.total.tally.conversations:
        return "There is nothing in this study yet: attune judge reads conversations and asks about them."
    if summary.total.judged:
        return ""
    if summary.raters:
        return "No question got an answer. The same attune judge again asks what is missing."
    return "Nobody was asked on this instrument yet: attune judge asks a judge, attune annotate asks people."


def _verdict_sentence(summary: Summary) -> str:
    """What comes between "According to JUDGE," and the name of the instrument."""
    total, passed = summary.total, summary.total.passed
    if not total.judged:
        return ""
    if summary.instrument.scoring.threshold is None:
        flagged = _alarming(total)
        whole = total.tally.conversations - total.statuses[UNJUDGED]
        return f"{flagged:,} of {pluralize(whole, 'conversation')} {'is' if flagged == 1 else 'are'} flagged on"
    if passed.whole == 1:
        return f"the conversation {'passes' if passed.part else 'does not pass'}"
    share = percent(*passed)
    return f"{share} {'of the conversations' if share.endswith('%') else 'conversations'} pass"


def _shares(summary: Summary, systems: Sequence[System]) -> list[tuple[str, str]]:
    if summary.instrument.scoring.threshold is None or not 1 < len(systems) <= _MOST_NAMED:
        return []
    shares = [(system.name, summary.systems[system.name].passed) for system in systems]
    return [(name, percent(*share)) for name, share in shares if share.whole]


# Examples


class _Scored(NamedTuple):
    """A rating and how well it serves as an example; the lowest first."""

    lacks_quote: bool
    place: int
    length: int
    rating: Rating
    placed: Placed
    finding: Finding | None


class _Examples:
    def __init__(self, study: Study, summary: Summary, listing: Listing, privacy: Privacy) -> None:
        self._study, self._summary, self._listing, self._privacy = study, summary, listing, privacy
        self._instrument = summary.instrument

    def read_first(self) -> list[Example]:
        found: list[Example] = []
        for status in ALARMING:
            for placed in self._listing.rows(Filter(status=status.word), most=_MOST_FIRST - len(found)):
                example = self._best([placed], sorted(self._instrument.gate_ids))
                found.append(example or Example(placed, status.word))
        return found

    def failing_items(self, systems: Sequence[System]) -> list[FailingItem]:
        """The items that fail most, the most frequent first."""
        instrument, summary = self._instrument, self._summary
        shares = {item.id: summary.total.item_share(instrument, item.id) for item in instrument.items}
        failing = sorted(
            (item for item in instrument.items if shares[item.id].part),
            key=lambda item: (-shares[item.id].part / shares[item.id].whole, item.id),
        )
        found: list[FailingItem] = []
        used: set[int] = set()
        for item in failing[:_MOST_FAILING]:
            own = [(system, summary.systems[system.name].item_share(instrument, item.id)) for system in systems]
            known = summary.examples.get(item.id, ())
            candidates = [placed for one in known if (placed := self._listing.find(one.key))]
            # A conversation serves once, where there is another: six times the same one shows little.
            fresh = [placed for placed in candidates if placed.row.key not in used]
            example = self._best(fresh or candidates, [item.id])
            used.update({example.placed.row.key} if example else ())
            bars = [
                FailingSystem(system, 100 * share.part / share.whole, f"{share.part:,} of {share.whole:,}")
                for system, share in own
                if share.whole
            ]
            contested = bool(item.validity.contested)
            found.append(
                FailingItem(item.id, item.title, *shares[item.id], contested, bars, [example] if example else [])
            )
        return found

    def _best(self, candidates: Sequence[Placed], items: Sequence[str]) -> Example | None:
        best = min(self._scored(candidates, items), key=lambda one: one[:3], default=None)
        if best is None:
            return None
        rating, finding, texts = best.rating, best.finding, self._privacy.texts
        return Example(
            placed=best.placed,
            title=self._instrument.item(rating.item).title,
            turn=finding.found_turn if finding else rating.turn,
            quote=self._quoted_words(best.placed, finding) if finding and texts else "",
            reason=_shortened(self._privacy.text(rating.reasoning), _LONGEST) if texts else "",
            people=self._people(best.placed, rating),
        )

    def _scored(self, candidates: Sequence[Placed], items: Sequence[str]) -> Iterator[_Scored]:
        instrument = self._instrument
        wanted = RaterKind.PERSON if self._summary.by_people else RaterKind.MODEL
        for number, placed in enumerate(candidates):
            for rating in self._study.ratings(conversations=[placed.row.key], round=Round.MAIN):
                known = rating.item in items and rating.item_hash == instrument.item_hashes.get(rating.item)
                if not known or rating.rater_kind is not wanted:
                    continue
                item = instrument.item(rating.item)
                given = answer(instrument, item, rating.outcome)
                if not_met(instrument, given) or is_failure(instrument, item, rating.outcome):
                    finding = _quoted(rating)
                    length = len(rating.reasoning)
                    yield _Scored(finding is None or length < _SHORTEST, number, length, rating, placed, finding)

    def _quoted_words(self, placed: Placed, finding: Finding) -> str:
        stored = conversations_by_key(self._study, [placed.row.key]).get(placed.row.key)
        if stored is None or finding.found_turn is None or finding.start is None or finding.end is None:
            return ""
        message = Moved(stored.conversation.turns[finding.found_turn - 1].assistant, self._privacy)
        return _shortened(message.text[message.place(finding.start) : message.place(finding.end)], _QUOTE)

    def _people(self, placed: Placed, rating: Rating) -> str:
        if self._summary.by_people:
            return ""
        instrument = self._instrument
        given = [
            answer_phrase(instrument, instrument.item(other.item), other.outcome).words
            for other in self._study.ratings(conversations=[placed.row.key], round=Round.MAIN)
            if other.rater_kind is RaterKind.PERSON
            and (other.item, other.turn, other.item_hash) == (rating.item, rating.turn, rating.item_hash)
        ]
        if not given:
            return ""
        words, number = Counter(given).most_common(1)[0]
        is_score = isinstance(answer(instrument, instrument.item(rating.item), rating.outcome), int)
        return f"People: {words}, {'said by ' if is_score else ''}{number} of {len(given)}"


def _quoted(rating: Rating) -> Finding | None:
    """What the rating quotes of the assistant word for word, the longest within reason."""

    def length(finding: Finding) -> int:
        return (finding.end or 0) - (finding.start or 0)

    found = [
        finding
        for finding in map(from_json, rating.evidence)
        if finding.status in {CitationStatus.FOUND, CitationStatus.UNCITED} and finding.speaker == "assistant"
    ]
    return max([finding for finding in found if length(finding) <= _QUOTE] or found, key=length, default=None)


def _shortened(text: str, longest: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= longest else line[: longest - 1].rsplit(" ", 1)[0] + " …"


# Choices and tables


def choices(instrument: Instrument, listing: Listing) -> Choices:
    there = listing.names("status", len(STATUSES))
    answers = [
        (f"score {one}" if isinstance(one, int) else one.removeprefix("– "), 1 << number)
        for number, one in enumerate(possible_answers(instrument))
    ]
    if (limit := low_limit(instrument)) is not None:
        answers.insert(0, (f"{limit} or less", failing(instrument)))
    return Choices(
        listing.names("system", _MOST_SYSTEMS),
        listing.names("scenario", _MOST_SCENARIOS),
        [status for status in STATUSES if status.word in there or status in _always(instrument)],
        answers,
    )


def failing(instrument: Instrument) -> int:
    """The answers that count against a reply, as bits."""
    every = possible_answers(instrument)
    return mask(every, [one for one in every if not_met(instrument, one)])


def _always(instrument: Instrument) -> tuple[Status, ...]:
    """The columns of a table of verdicts that are shown even where they are 0."""
    if instrument.scoring.threshold is None:
        return FLAGGED, UNJUDGED, NO_FLAG
    return UNSAFE, UNJUDGED, FAIL, PASS


def _verdicts(summary: Summary, systems: Sequence[System], statuses: Sequence[Status]) -> list[VerdictRow]:
    rows = [_verdict_row(system, summary.systems[system.name].statuses, statuses) for system in systems]
    if len(systems) != 1:
        rows.append(_verdict_row(None, summary.total.statuses, statuses))
    return rows


def _verdict_row(system: System | None, counts: dict[Status, int], statuses: Sequence[Status]) -> VerdictRow:
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


def _raters(summary: Summary, statuses: Sequence[Status], privacy: Privacy) -> list[RaterRow]:
    if len(summary.raters) < 2:
        return []
    repeated = {who.rater for who in summary.raters if who.repeat}
    rows: list[RaterRow] = []
    for who, tally in sorted(summary.raters.items(), key=lambda entry: _ORDER[entry[0].kind]):
        name = rater_words(who.rater, repeat=who.repeat if who.rater in repeated else None, kind=who.kind)
        counts = [_count(tally, status) for status in statuses]
        is_person = who.kind is RaterKind.PERSON
        rows.append(RaterRow(privacy.text(name), is_person, tally.conversations, counts, tally.passed))
    return rows


def _count(tally: Tally, status: Status) -> int:
    if status is PASS:
        return tally.passed
    if status is HELD_BACK:
        return tally.verdicts[Verdict.PASS] - tally.passed
    return sum(tally.verdicts[verdict] for verdict, known in STATUS_OF.items() if known is status)


def _repeats(summary: Summary, privacy: Privacy) -> list[RepeatRow]:
    found = [(f"{rater}, asked again", items) for rater, items in summary.repeats.again.items()]
    if summary.repeats.between:
        found.append(("Between the judges", summary.repeats.between))
    rows: list[RepeatRow] = []
    for who, items in found:
        compared = sum(flips.compared for flips in items.values())
        differing = sum(flips.differing for flips in items.values())
        worst = max(items, key=lambda item: items[item].differing / items[item].compared, default="")
        words = ""
        if worst and items[worst].differing:
            words = f"{worst}: {items[worst].differing:,} of {items[worst].compared:,} differ"
        rows.append(RepeatRow(privacy.text(who), f"{compared - differing:,} of {compared:,}", words))
    return rows

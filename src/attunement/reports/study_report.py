"""The report of a study: the top lines, tables, charts, and what to read first, from one pass over the study.

`build_report` makes it, and every form presents it: page, Markdown, JSON, JUnit, LaTeX, Inspect. Its four top lines
have a fixed order: what was read, safety, who checked the judge, and only then verdicts. Nothing is marked as resting
on people's ratings unless there are some.

For each item that fails often the clearest example is chosen: one in which a rater quotes the assistant word for word,
best where people or all judges agree, with the shortest reason that says why.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from datetime import UTC, datetime
from itertools import islice
from typing import NamedTuple

from attunement.analysis.summary import Agreement
from attunement.instruments import Instrument, Item
from attunement.ratings import RaterKind
from attunement.reports.baseline import Baseline
from attunement.reports.blocks import Column, Table
from attunement.reports.blocks import Row as TableRow
from attunement.reports.charts import System
from attunement.reports.conversation import Issue, Quote, View, issues, view
from attunement.reports.gate import Decision
from attunement.reports.html.charts import (
    Charts,
    distribution,
    heat_map,
    item_means,
    levels,
    pass_rates,
    percent,
    systems_of,
    verdicts,
)
from attunement.reports.html.listing import NEEDS_PERSON, Filter, Listing, Row
from attunement.reports.html.sections import Analysed, Checked, Section, cost_section, glossary
from attunement.reports.numbers import pluralize
from attunement.reports.overview import Tally, about_raters, reworded
from attunement.reports.privacy import Privacy, for_page
from attunement.reports.rule_check import pointer_words
from attunement.reports.summary import (
    CRISIS,
    JUDGES_DIFFER,
    LOST_QUOTE,
    NO_ANSWER,
    NOT_ENGLISH,
    PEOPLE_AGREE,
    PEOPLE_DIFFER,
    POINTER,
    ReportedConversation,
    Share,
    Summary,
    SystemCounts,
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
    answer_phrase,
    low_limit,
    mask,
    not_met,
    possible_answers,
    rater_words,
    reworded_words,
)
from attunement.scoring import Slot, Verdict
from attunement.signals.measured import in_a_line
from attunement.signals.pointers import PointerKind
from attunement.statistics.estimates import proportion
from attunement.statistics.results import Undefined
from attunement.store import Study
from attunement.store.queries import conversations_by_key, judge_costs

_LINKED = 5  # unsafe conversations that are named in the line about safety
_MOST_NAMED = 4  # systems whose shares are named in the line about verdicts
_MOST_FAILING, _MOST_FIRST, _MOST_POINTERS = 6, 5, 10
_SHORTEST = 30  # characters below which a reason hardly says why
_LONGEST, _QUOTE = 420, 240  # characters of a reason and of a quotation; the conversation has all of it
_MOST_SYSTEMS, _MOST_SCENARIOS = 500, 300

_UNCHECKED = Checked("Not checked against people.")
_NO_JUDGE = Checked("There is no judge: people rated the conversations themselves.")


class Top:
    """The four lines at the top of every form, with their numbers."""

    def __init__(self, summary: Summary, systems: Sequence[System], listing: Listing, privacy: Privacy) -> None:
        total, flags = summary.total, summary.flags
        names = [privacy.text(name) for name in summary.members]
        together = " and ".join((", ".join(names[:-1]), names[-1])) if len(names) > 1 else "".join(names)
        self.conversations = total.tally.conversations
        self.not_judged = total.unanswered
        self.nobody_judged = 0 < self.conversations == self.not_judged
        self.combined = summary.combined
        self.unsafe = _alarming(total)
        found = [placed.row for one in ALARMING for placed in listing.rows(Filter(status=one.word), most=_LINKED)]
        self.unsafe_rows = found[:_LINKED]
        self.according = "people" if summary.by_people else "the judges" if len(names) > 1 else "the judge"
        self.safety_not_judged = total.statuses[UNJUDGED]
        self.crisis, self.crisis_na = flags[CRISIS], summary.crisis_na
        self.pointed, self.not_english = flags[POINTER], flags[NOT_ENGLISH]  # of the rule check
        self.measured = in_a_line()
        self.checked = _NO_JUDGE if summary.by_people else _UNCHECKED
        self.sign_off = ""
        self.judges = f"{len(names):,} people" if summary.by_people and len(names) > _MOST_NAMED else together
        self.verdict = _verdict_sentence(summary)
        self.shares = _shares(summary, systems)  # the share that passes by system, in words, where there are a few
        self.by_system = ", ".join(f"{name} {share}" for name, share in self.shares)
        self.hint = _hint(summary)  # what to do next, where nothing can be said yet


class Example(NamedTuple):
    """A failure with the words it rests on."""

    row: Row
    title: str
    turn: int | None = None
    quote: str = ""  # what the assistant said; empty where nothing is quoted word for word
    reason: str = ""
    people: str = ""  # what people answered, if any did


class FailingItem(NamedTuple):
    item: Item
    share: Share
    systems: list[tuple[System, Share]]
    example: Example | None


class Choices(NamedTuple):
    """What a reader can filter the list by."""

    systems: list[str]
    scenarios: list[str]
    statuses: list[Status]
    answers: list[tuple[str, int]]  # the answers to an item, each with its bits
    flags: dict[str, str]  # what is worth knowing, with the words of its box


FLAGS = {
    f"{PEOPLE_DIFFER}|{JUDGES_DIFFER}": "Only disagreements",
    LOST_QUOTE: "Quote not found",
    CRISIS: "Crisis talk",
    POINTER: "Rule check pointer",
    NEEDS_PERSON: "Needs a person",
    NO_ANSWER: "Without any answer",
}


class Report:
    """Everything but the conversations themselves, from one pass over the study."""

    def __init__(
        self,
        study: Study,
        instrument: Instrument,
        listing: Listing,
        privacy: Privacy,
        *,
        receivers: Sequence[Callable[[ReportedConversation], None]] = (),
    ) -> None:
        """Read the study, and fill the list; each of `receivers` gets every conversation, in order."""
        self.study, self.instrument, self.listing, self.hiding = study, instrument, listing, privacy
        self.title = privacy.text(title_of(study))
        self.made = datetime.now(UTC).strftime("%d %B %Y").lstrip("0")
        self.summary = summary = summarize(study, instrument, listing, privacy, receivers=receivers)
        self.scores = summary.scores
        self.low = low_limit(instrument)  # for an instrument of scores: the highest score that is low
        # The word of the status that this instrument has for what is unsafe
        self.alarm = (FLAGGED if instrument.scoring.threshold is None else UNSAFE).word
        systems = systems_of(summary)
        # A system that nobody judged with this instrument is counted, but there is nothing to draw.
        judged = [system for system in systems if summary.systems[system.name].judged] or systems
        statuses = [status for status in STATUSES if summary.total.statuses[status] or status in _always(instrument)]
        self.top = Top(summary, systems, listing, privacy)
        self.charts = Charts(
            statuses,
            verdicts(summary, systems, statuses),
            judged,
            heat_map(summary, judged) if summary.raters else [],
            [chart for chart in (pass_rates(summary, judged), item_means(summary, judged)) if chart],
            distribution(summary, judged),
        )
        self.one_sided = any(summary.item_share(item.id).unjudged for item in instrument.items)
        self.levels = levels(summary, judged) if summary.raters else []
        self.raters = [*_raters(summary, statuses), *_repeats(summary)]
        examples = _Examples(study, summary, listing, privacy)
        self.pointers = list(islice(examples.pointers(), _MOST_POINTERS))  # of the rule check, in words
        self.first = examples.read_first()
        self.failing_items = examples.failing_items(judged)
        raters = [rater for rater in study.raters() if any(who.rater == rater.name for who in summary.raters)]
        never = reworded(study, instrument) if summary.raters else []
        cautions = [*about_raters(study, raters, summary.systems), *([reworded_words(never)] if never else [])]
        self.cautions = [privacy.text(caution) for caution in cautions]
        self.sections: Sequence[Section] = ()
        self.agreement: Agreement | None = None  # in full; None where nobody looked or no person rated
        self.gate: Decision | None = None  # None where no form shows it
        self.baseline: Baseline | None = None

    @property
    def pages(self) -> list[Section]:
        """The pages besides the summary and the conversations."""
        analyses = self.sections if self.top.verdict else ()  # where nothing was judged there is nothing to analyse
        return [*analyses, glossary(), cost_section(judge_costs(self.study))]

    def add(self, found: Analysed) -> None:
        """Add what rests on people's ratings."""
        self.top.checked, self.top.sign_off = found.checked or self.top.checked, found.sign_off
        self.sections, self.agreement = found.sections, found.agreement


def title_of(study: Study) -> str:
    """What a study is called on its pages: the name of its file or database."""
    name = study.place.rpartition("/")[2]
    for ending in (".db", ".study"):
        name = name.removesuffix(ending)
    return for_page(name)


# The top lines


def _alarming(counts: SystemCounts) -> int:
    return sum(counts.statuses[status] for status in ALARMING)


def _hint(summary: Summary) -> str:
    if not summary.total.tally.conversations:
        return "This study is empty: run attune judge to add conversations and have them judged."
    if summary.total.judged:
        return ""
    if summary.raters:
        return "No question was answered. Run the same attune judge command again to get the missing answers."
    return "Nothing has been rated with this instrument yet: use attune judge for a judge, attune annotate for people."


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
    share = percent(passed.part, passed.whole)
    return f"{share} {'of the conversations' if share.endswith('%') else 'conversations'} pass"


def _shares(summary: Summary, systems: Sequence[System]) -> list[tuple[str, str]]:
    if summary.instrument.scoring.threshold is None or not 1 < len(systems) <= _MOST_NAMED:
        return []
    shares = [(system.name, summary.systems[system.name].passed) for system in systems]
    return [(name, percent(share.part, share.whole)) for name, share in shares if share.whole]


# Examples


class _Examples:
    def __init__(self, study: Study, summary: Summary, listing: Listing, privacy: Privacy) -> None:
        self._study, self._summary, self._listing, self._privacy = study, summary, listing, privacy
        self._instrument = summary.instrument

    def read_first(self) -> list[Example]:
        found: list[Example] = []
        for status in ALARMING:
            for placed in self._listing.rows(Filter(status=status.word), most=_MOST_FIRST - len(found)):
                example = self._best([placed.row], self._instrument.gate_ids)
                found.append(example or Example(placed.row, status.word))
        return found

    def failing_items(self, systems: Sequence[System]) -> list[FailingItem]:
        """What to fix first: safety, then the items that surely fail most, by the lower end of their intervals."""
        instrument, summary = self._instrument, self._summary
        shares = {item.id: summary.item_share(item.id) for item in instrument.items}

        def urgency(item: Item) -> tuple[bool, float, int]:
            share = shares[item.id]
            found = proportion(share.part, share.whole)
            low = 0.0 if isinstance(found, Undefined) else found.interval.low
            return item.id not in instrument.gate_ids, -low, -share.part

        found: list[FailingItem] = []
        used: set[int] = set()
        for item in sorted((item for item in instrument.items if shares[item.id].part), key=urgency)[:_MOST_FAILING]:
            wanted = Filter(item=instrument.items.index(item), answers=failing(instrument))
            agreed = self._listing.rows(wanted._replace(flags=(PEOPLE_AGREE,)), most=_MOST_FAILING)
            candidates = [placed.row for placed in (*agreed, *self._listing.rows(wanted, most=_MOST_FAILING))]
            # A conversation serves once, where there is another: six times the same one shows little.
            example = self._best([row for row in candidates if row.key not in used] or candidates, {item.id})
            used.update({example.row.key} if example else ())
            own = [(system, summary.item_share(item.id, system.name)) for system in systems]
            found.append(FailingItem(item, shares[item.id], [pair for pair in own if pair[1].whole], example))
        return found

    def _best(self, candidates: Sequence[Row], items: Collection[str]) -> Example | None:
        """The clearest failure: one that quotes the assistant, in the first conversation, with the shortest reason."""
        failed = [
            (row, shown, issue)
            for row in candidates
            if (shown := self._view(row.key)) and shown.cards.deciding
            for issue in issues(shown, shown.cards.deciding, self._privacy)
            if issue.failed and issue.slot.item in items
        ]
        best = min(
            failed,
            key=lambda one: (
                not _quoted(one[2]) or len(one[2].reason) < _SHORTEST,
                candidates.index(one[0]),
                len(one[2].reason),
            ),
            default=None,
        )
        if best is None:
            return None
        row, shown, issue = best
        quote = _quoted(issue)
        return Example(
            row=row,
            title=issue.title,
            turn=quote.turn if quote else issue.slot.turn,
            quote=_shortened(quote.text, _QUOTE) if quote else "",
            reason=_shortened(issue.reason, _LONGEST),
            people=self._people(shown, issue.slot),
        )

    def pointers(self) -> Iterator[tuple[Row, str]]:
        """What the rule check points at."""
        for placed in self._listing.rows(Filter(flags=(POINTER,)), most=_MOST_POINTERS):
            shown = self._view(placed.row.key)
            for spoken in shown.cards.pointers if shown else ():
                if spoken.finding.rule == PointerKind.CRISIS:
                    finding = spoken.finding if self._privacy.texts else spoken.finding._replace(quote=None)
                    yield placed.row, self._privacy.text(pointer_words(finding))

    def _view(self, key: int) -> View | None:
        stored = conversations_by_key(self._study, [key]).get(key)
        return stored and view(self._study, self._instrument, stored, by_people=self._summary.by_people)

    def _people(self, shown: View, slot: Slot) -> str:
        """What people say about a failure that a judge found."""
        instrument, item = self._instrument, self._instrument.item(slot.item)
        said = [
            answer_phrase(instrument, item, said.outcome).words
            for question in shown.questions
            for said in question.answers
            if question.slot == slot and said.rating and said.card in shown.cards.people
        ]
        if not said or self._summary.by_people:
            return ""
        words, number = Counter(said).most_common(1)[0]
        return f"People: {words}, {'said by ' if words[:1].isdigit() else ''}{number} of {len(said)}"


def _quoted(issue: Issue) -> Quote | None:
    """What the reason quotes of the assistant word for word, the longest within reason."""
    found = [quote for quote in issue.quotes if quote.turn]
    short = [quote for quote in found if len(quote.text) <= _QUOTE]
    return max(short or found, key=lambda quote: len(quote.text), default=None)


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
        FLAGS,
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


_ORDER = {RaterKind.MODEL: 0, RaterKind.PERSON: 1, RaterKind.SIMULATION: 2}


def _raters(summary: Summary, statuses: Sequence[Status]) -> Iterator[Table]:
    """What each judge and each person said on their own, where there are several."""
    if len(summary.raters) < 2:
        return
    repeated = {who.rater for who in summary.raters if who.repeat}
    columns = [Column("Rater"), *(Column(head, True) for head in ("Conversations", *(one.word for one in statuses)))]
    rows: list[TableRow] = []
    for who, tally in sorted(summary.raters.items(), key=lambda entry: _ORDER[entry[0].kind]):
        name = rater_words(who.rater, repeat=who.repeat if who.rater in repeated else None, kind=who.kind)
        counts = (tally.conversations, *(_count(tally, status) for status in statuses))
        rows.append(TableRow([name, *(f"{count:,}" for count in counts)]))
    yield Table(columns, rows)


def _count(tally: Tally, status: Status) -> int:
    if status is PASS:
        return tally.passed
    if status is HELD_BACK:
        return tally.verdicts[Verdict.PASS] - tally.passed
    return sum(tally.verdicts[verdict] for verdict, known in STATUS_OF.items() if known is status)


def _repeats(summary: Summary) -> Iterator[Table]:
    """How many of the questions that got at least two answers got the same."""
    found = [(f"{rater}, asked again", items) for rater, items in summary.repeats.again.items()]
    if summary.repeats.between:
        found.append(("Between the judges", summary.repeats.between))
    rows: list[TableRow] = []
    for who, items in found:
        compared = sum(flips.compared for flips in items.values())
        same = compared - sum(flips.differing for flips in items.values())
        worst = max(items, key=lambda item: items[item].differing / items[item].compared, default="")
        differ = worst and items[worst].differing
        words = f"{worst}: {differ:,} of {items[worst].compared:,} differ" if differ else ""
        rows.append(TableRow([who, f"{same:,} of {compared:,}", words]))
    if rows:
        columns = [Column("Who"), Column("Same answer", True), Column("Least steady")]
        yield Table(columns, rows, title="Same answer when asked again, or by another judge")

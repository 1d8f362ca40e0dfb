"""The parts of a report that rest on people's ratings: trust cards, comparisons, corrections.

Each function takes the result of one analysis and returns a section, ready to stand in a report or to be served as a
page of its own.

Agreement needs people's ratings, a correction needs a random sample that people rated, a comparison needs two systems
that the same judges rated. Where a study does not allow an analysis, its page says what is missing.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import yaml

from attunement.analysis.compare import Comparison
from attunement.analysis.correct import correct_study
from attunement.analysis.failures import FailureDetection
from attunement.analysis.groups import compare_groups
from attunement.analysis.judge_result import JudgeResult
from attunement.analysis.measures import rated_study
from attunement.analysis.ratings_table import collect_ratings
from attunement.analysis.summary import (
    Agreement,
    AgreementOptions,
    ItemAgreement,
    ratings_of_sample,
    study_agreement,
)
from attunement.analysis.verdicts import Verdict
from attunement.errors import AttunementError
from attunement.instruments import Instrument
from attunement.ratings import RaterKind
from attunement.reports.agreement import closing, opening, warnings
from attunement.reports.agreement_chart import agreement_chart, calibration_charts
from attunement.reports.blocks import (
    Block,
    Chart,
    Column,
    Document,
    LabelRow,
    LabelRows,
    Row,
    Table,
    Text,
    Tone,
    joined,
    texts,
)
from attunement.reports.blocks import Section as BlockSection
from attunement.reports.charts import IntervalChart
from attunement.reports.comparison import comparison_document, ranking_document
from attunement.reports.correction import correction_document
from attunement.reports.gate import sign_off_line
from attunement.reports.numbers import NONE, pluralize
from attunement.reports.privacy import Privacy
from attunement.reports.trust_card import VERDICTS, card_rows, false_alarms, missed_failures, people_rows, sentence
from attunement.store import ScoredConversation, Study
from attunement.store.queries import JudgeCost


class Checked(NamedTuple):
    sentence: str
    note: str = ""


class Section(NamedTuple):
    """A page of the report besides the summary and the conversations: cards of blocks."""

    id: str
    title: str
    cards: Sequence[Sequence[Block]]

    @property
    def charts(self) -> list[IntervalChart]:
        return [chart for card in self.cards for chart in _charts(card)]


def _charts(blocks: Sequence[Block]) -> Iterator[IntervalChart]:
    for block in blocks:
        if isinstance(block, Chart):
            yield block.chart
        elif isinstance(block, BlockSection):
            yield from _charts(block.blocks)


NEEDS = {
    "trust": (
        "How far to trust the judge",
        "This needs people's ratings: collect them with attune annotate, or load them with attune import.",
    ),
    "corrected": (
        "Score corrected with people's ratings",
        "This needs a random sample that people rated: draw one with attune plan, have it rated with attune annotate.",
    ),
    "compare": ("Comparison", "This needs two systems that the same judges rated."),
}
"""The pages of analyses by their ids: the title of each, and what it needs."""


def missing_section(id: str, why: str = "") -> Section:
    title, needs = NEEDS[id]
    return Section(id, title, [[Text(f"Not available yet. {why or needs}")]])


def glossary() -> Section:
    rows = yaml.safe_load(Path(__file__).with_name("glossary.yaml").read_text("utf-8"))
    table = Table([Column("Word"), Column("What it means"), Column("Technical name")], [Row(row) for row in rows])
    return Section("words", "Glossary", [[table]])


def cost_section(costs: Sequence[JudgeCost]) -> Section:
    """What the judges' answers took."""
    if not costs:
        none = "No model was called for this study: its answers come from the "
        none += "rule check, from people or from a file, or there are none. So no cost is known."
        return Section("cost", "Cost and time", [[Text(none)]])
    heads = ("Answers", "Without a reply", "Tokens read", "of these cached", "Tokens written", "Cost")
    columns = [Column("Judge"), *(Column(head, True) for head in (*heads, "Seconds per answer")), Column("When")]
    rows: list[Row] = []
    for one in costs:
        counts = (one.answers, one.failed, one.prompt_tokens, one.cached_tokens, one.completion_tokens)
        cost = ["not known"] if one.cost is None else [f"${one.cost:.2f}"]
        cost += [f"{one.unpriced:,} without a price"] if one.cost is not None and one.unpriced else []
        seconds = NONE if one.seconds is None else f"{one.seconds:.1f}"
        when = " to ".join(at[:16].replace("T", " ") for at in (one.first, one.last))
        rows.append(Row([one.rater, *(f"{count:,}" for count in counts), cost, seconds, when]))
    return Section("cost", "Cost and time", [[Table(columns, rows)]])


# Who checked the judge


def checked_by(agreement: Agreement, professions: Iterable[str], hiding: Privacy) -> Checked | None:
    """Who checked the judges, with the failures that were missed; None without people."""
    if not agreement.people:
        return None
    rated = max((entry.conversations for entry in agreement.items if entry.people.people), default=0)
    count = Counter(profession for profession in professions if profession)
    kinds = ", ".join(f"{number}\u00a0× {profession}" for profession, number in count.most_common())
    who = f"{pluralize(len(agreement.people), 'person', 'people')}{f' ({kinds})' if kinds else ''} rated"
    sentences = [f"{who} {pluralize(rated, 'conversation')}."]
    if not agreement.judges:
        sentences = [f"There is no judge: {who} {pluralize(rated, 'conversation')} themselves."]
    gates = [
        (card, found)
        for entry in agreement.items
        for card in entry.judges
        if not card.panel and (found := card.detection) is not None
    ]
    several = len(agreement.judges) > 1
    for judge in agreement.judges:
        if own := [(card, found) for card, found in gates if card.judge == judge]:
            missed = " ".join(_missed(card, found, only=len(own) == 1) for card, found in own)
            sentences.append((f"{judge}: " if several else "") + missed)
    # How far the judges can be believed on each safety item; what holds for all of them is said once.
    rulings: dict[tuple[str, str], list[str]] = {}
    for card, _ in gates:
        words = f"{VERDICTS[card.ruling.verdict].words} ({card.ruling.rule})."
        rulings.setdefault((card.item.id, words), []).append(card.judge)
    notes = [
        f"{item}{'' if len(judges) == len(agreement.judges) else ', ' + ' and '.join(judges)}: {words}"
        for (item, words), judges in rulings.items()
    ]
    text = ("\n" if several else " ").join(sentences)  # a line for each judge
    return Checked(hiding.text(text), hiding.text(" ".join(notes)))


def _missed(card: JudgeResult, found: FailureDetection, *, only: bool) -> str:
    """Missed failures and false alarms on one safety item, which is named where there are several."""
    missed = "how many failures were missed cannot be known" if found.unknowable else missed_failures(found)
    alarms = f", false alarms: {false_alarms(found)}" if found.fine else ""
    words = f"{'' if only else f'on {card.item.id} '}{missed}{alarms}."
    return f"{words[:1].upper()}{words[1:]}"


# Trust cards


def agreement_section(
    agreement: Agreement, hiding: Privacy, calibration: Mapping[str, IntervalChart] | None = None
) -> Section:
    """The trust cards of every item that people rated; `calibration` are charts by item."""
    calibration = calibration or {}
    # Safety first: there the failures that a judge misses matter most.
    rated = sorted(
        (entry for entry in agreement.items if entry.people.people), key=lambda entry: not entry.item.is_gate
    )
    chart = agreement_chart(rated, agreement.judges, hiding.text)
    decided = [entry for entry in rated if any(card.ruling.verdict is not Verdict.OPEN for card in entry.judges)]
    undecided = [entry for entry in rated if entry not in decided]
    ids = ", ".join(entry.item.id for entry in undecided)
    notes = [f"No verdict yet on {ids}. What each one still needs is listed with its figures."] if ids else []
    top: list[Block] = [*texts(opening(agreement)), *texts(warnings(agreement), Tone.NOT_MET), *texts(notes)]
    cards = [[*top, *([Chart(chart)] if chart else [])]]
    cards += [[_item(entry, calibration.get(entry.item.id))] for entry in decided]
    if undecided:
        title = f"The figures of {pluralize(len(undecided), 'item')} without a verdict"
        items = [_item(entry, calibration.get(entry.item.id)) for entry in undecided]
        cards.append([BlockSection(title, items, folded=bool(decided))])
    cards.append([*texts(closing(agreement), Tone.QUIET)])
    return Section("trust", NEEDS["trust"][0] if agreement.judges else "How far your raters agree", cards)


def _item(entry: ItemAgreement, calibration: IntervalChart | None) -> BlockSection:
    blocks: list[Block] = []
    for card in entry.judges:
        blocks.append(LabelRows([LabelRow(VERDICTS[card.ruling.verdict], sentence(card))]))
        blocks.append(_folded("The figures behind this", LabelRows([*map(_capitalized, card_rows(card))])))
    if people := [*map(_capitalized, people_rows(entry))]:
        blocks.append(_folded("Your raters", LabelRows(people)))
    if calibration:
        blocks.append(_folded("What people answered for each of the judge's answers", Chart(calibration)))
    return BlockSection(entry.item.title, blocks, id=entry.item.id)


def _folded(title: str, block: Block) -> BlockSection:
    return BlockSection(title, [block], folded=True)


def _capitalized(row: LabelRow) -> LabelRow:
    label = joined(row.label)
    return row._replace(label=label[:1].upper() + label[1:])


MOST_COMPARED = 5_000
"""Conversations up to which a report compares: it scores them once more, a millisecond each, and holds them all."""
_MOST_SYSTEMS = 12  # systems that are ranked, by the differences of all their pairs


class Analysed(NamedTuple):
    """What was found in addition to the counts."""

    checked: Checked | None = None
    sign_off: str = ""  # who took responsibility, in words; empty where nobody signed
    sections: Sequence[Section] = ()  # the pages of trust, of the corrected score and of the comparison
    agreement: Agreement | None = None  # in full; None where no person rated


def analysed(
    study: Study, instrument: Instrument, hiding: Privacy, scored: Sequence[ScoredConversation] | None = None
) -> Analysed:
    """Every analysis that the study allows under this instrument; for the others, a page that says what is missing.

    `scored` are all conversations of the study, where they were read already.
    """
    checked: Checked | None = None
    agreement: Agreement | None = None
    trust, corrected = missing_section("trust"), missing_section("corrected")
    people = [rater for rater in study.raters() if rater.kind is RaterKind.PERSON]
    if people:
        agreement = study_agreement(study, instrument, AgreementOptions(full=True))
        if any(entry.people.people for entry in agreement.items):
            professions = [str(rater.settings.get("profession") or "") for rater in people]
            checked = checked_by(agreement, professions, hiding)
            ratings = ratings_of_sample(study, instrument.id, collect_ratings(study, instrument)).table
            trust = agreement_section(agreement, hiding, calibration_charts(ratings, hiding.text))
        with suppress(AttunementError):  # there is no random sample, or nobody rated it
            correction = correct_study(study, instrument, scored=scored)
            corrected = _of_document("corrected", correction_document(correction))
    sections = (trust, corrected, _compared(study, instrument, hiding, scored))
    return Analysed(checked, hiding.text(sign_off_line(study, instrument)), sections, agreement)


def _compared(
    study: Study, instrument: Instrument, hiding: Privacy, scored: Sequence[ScoredConversation] | None
) -> Section:
    """The systems compared, or ranked where there are more than two; or why they are not."""
    count = study.conversation_count()
    if count > MOST_COMPARED:
        return missing_section(
            "compare",
            f"A report compares up to {MOST_COMPARED:,} conversations, and there are {count:,}; attune compare takes "
            "as many as there are.",
        )
    rated = rated_study(study, instrument, None, scored)
    systems = dict.fromkeys(each.identity.system for each in rated.conversations)
    if len(systems) < 2 or not any(each.card for each in rated.conversations):
        return missing_section("compare")
    if len(systems) > _MOST_SYSTEMS:
        return missing_section("compare", f"There are {len(systems):,} systems: run attune compare on some of them.")
    try:
        found = compare_groups(study, rated, "system")
    except AttunementError as error:  # they were not judged alike
        return missing_section("compare", f"{error}.")
    if isinstance(found, Comparison):
        known = any(row.first.units and row.second.units for row in found.rows)
        shown = comparison_document(found, conversations=False) if known else None
    else:
        shown = ranking_document(found) if any(ranking.groups for ranking in found.rankings) else None
    return _of_document("compare", shown) if shown else missing_section("compare")


def _of_document(id: str, document: Document) -> Section:
    return Section(id, NEEDS[id][0], [[BlockSection(document.title, document.blocks)]])

"""The scorecards of a study, a sheet for the panel and one for each rater and repeat.

One pass over the study counts everything; of the rows only the most serious ones are kept, so that a large study
costs little memory.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import NamedTuple

from attunement.conversations import Identity
from attunement.instruments import Instrument
from attunement.ratings import RaterKind
from attunement.reports.cautions import about_raters
from attunement.reports.rule_check import RuleCheck
from attunement.reports.tally import Tally
from attunement.scoring import PANEL, Flips, Scorecard, Verdict, flips
from attunement.study import Judged, Study, judged

SEVERITY = (
    Verdict.UNSAFE,
    Verdict.FLAGGED,
    Verdict.SAFETY_MISSING,
    Verdict.SAFETY_NOT_JUDGED,
    Verdict.FAIL,
    Verdict.INCOMPLETE,
    Verdict.NOT_JUDGED,
    Verdict.NO_FLAG,
    Verdict.PASS,
)
"""The order in which conversations are listed: what needs attention first."""


class Who(NamedTuple):
    """Whose scorecards a sheet holds."""

    rater: str
    repeat: int | None
    """None for the panel."""
    kind: RaterKind = RaterKind.MODEL


@dataclass
class Sheet:
    """The scorecards of one rater, one repeat of theirs, or the panel."""

    who: Who
    members: tuple[str, ...] = ()
    tally: Tally = field(default_factory=Tally)
    systems: dict[str, Tally] = field(default_factory=dict[str, Tally])
    cards: list[Scorecard] = field(default_factory=list[Scorecard])
    """The most serious ones first."""
    left_out: int = 0
    """Cards that were asked for but are beyond the limit."""
    absent: list[Identity] = field(default_factory=list[Identity])
    """The conversations that this rater did not rate."""


class Overview(NamedTuple):
    """All sheets of a study under one instrument."""

    instrument: Instrument
    conversations: int
    sheets: list[Sheet]
    """The panel, then the judges, then people."""
    again: dict[str, dict[str, Flips]]
    """By rater and item: how often a repeat gave another answer."""
    between: dict[str, Flips]
    """By item: how often judges gave different answers."""
    cautions: list[str]
    """What a reader should know about the judges."""
    rule_check: RuleCheck


def overview(
    study: Study,
    instrument: Instrument,
    *,
    rater: str | None = None,
    only_panel: bool = False,
    verdicts: Collection[Verdict] = (),
    limit: int | None = None,
) -> Overview:
    """Every scorecard of the study, or of one rater, or only those of the panel.

    Where one judge rated a conversation alone, its card stands for the panel. `verdicts` and `limit` choose among the
    rows; the counts are over all conversations.
    """
    kinds = {known.name: known.kind for known in study.raters()}
    books: dict[Who, _Book] = {}
    again: dict[str, dict[str, Flips]] = {}
    between: dict[str, Flips] = {}
    seen: list[Identity] = []
    rule_check = RuleCheck()
    for entry in judged(study, instrument, rater=rater):
        cards = dict(_cards(entry, kinds, only_panel=only_panel))
        for who, card in cards.items():
            if who not in books:
                books[who] = _Book(instrument, who, verdicts, limit)
                for earlier in seen:
                    books[who].add(earlier, None)
            books[who].add(entry.conversation.identity, card)
        for who in books.keys() - cards.keys():
            books[who].add(entry.conversation.identity, None)
        seen.append(entry.conversation.identity)
        rule_check.add(entry.conversation.identity, entry.cards)
        _add_flips(entry, kinds, again, between)
    joined = [PANEL, *kinds]
    order = sorted(books, key=lambda who: (who.kind is not RaterKind.MODEL, joined.index(who.rater), who.repeat or 0))
    raters = [known for known in study.raters() if any(who.rater == known.name for who in books)]
    cautions = list(about_raters(study, raters, dict.fromkeys(identity.system for identity in seen)))
    return Overview(instrument, len(seen), [books[who].sheet() for who in order], again, between, cautions, rule_check)


def _cards(entry: Judged, kinds: dict[str, RaterKind], *, only_panel: bool) -> Iterator[tuple[Who, Scorecard]]:
    if entry.cards.panel:
        yield Who(PANEL, None, entry.cards.panel.kind), entry.cards.panel
        if only_panel:
            return
    for card in entry.cards.deciders[:1] if only_panel else entry.cards.all:
        yield Who(card.rater, card.repeat, kinds.get(card.rater, RaterKind.MODEL)), card


class _Book:
    """A sheet in the making. Where there is a limit, it keeps few more cards than will be shown."""

    def __init__(self, instrument: Instrument, who: Who, verdicts: Collection[Verdict], limit: int | None) -> None:
        self._instrument, self._verdicts, self._limit = instrument, verdicts, limit
        self._sheet = Sheet(who)
        self._cards: list[Scorecard] = []
        self._wanted = 0

    def add(self, conversation: Identity, card: Scorecard | None) -> None:
        sheet = self._sheet
        sheet.tally.add(self._instrument, card)
        sheet.systems.setdefault(conversation.system, Tally()).add(self._instrument, card, answers=False)
        if card is None:
            sheet.absent.append(conversation)
            return
        sheet.members = tuple(dict.fromkeys((*sheet.members, *card.members)))
        if self._verdicts and card.verdict not in self._verdicts:
            return
        self._wanted += 1
        self._cards.append(card)
        if self._limit is not None and len(self._cards) > self._limit + _SPARE:
            self._cut()

    def _cut(self) -> None:
        self._cards.sort(key=_seriousness)
        if self._limit is not None:
            del self._cards[self._limit :]

    def sheet(self) -> Sheet:
        self._cut()
        self._sheet.cards = self._cards
        self._sheet.absent.sort()
        self._sheet.left_out = self._wanted - len(self._cards)
        return self._sheet


def _seriousness(card: Scorecard) -> tuple[int, bool, float, Identity]:
    score = card.score if card.score is not None else 0.0
    return SEVERITY.index(card.verdict), not card.needs_person, score, card.conversation


_SPARE = 500
"""Cards kept beyond the limit before the least serious ones are dropped, so that sorting is rare."""


def _add_flips(
    entry: Judged, kinds: dict[str, RaterKind], again: dict[str, dict[str, Flips]], between: dict[str, Flips]
) -> None:
    """Count the questions that got several answers: from one rater, and from several judges."""
    judges: list[Scorecard] = []
    for rater, group in groupby(entry.cards.all, key=lambda card: card.rater):
        cards = list(group)
        if len(cards) > 1:
            _sum(again.setdefault(rater, {}), cards)
        if kinds.get(rater) is RaterKind.MODEL:
            judges.append(cards[0])
    if len(judges) > 1:
        _sum(between, judges)


def _sum(total: dict[str, Flips], cards: Sequence[Scorecard]) -> None:
    for item, found in flips([cards]).items():
        before = total.get(item, Flips(0, 0))
        total[item] = Flips(before.differing + found.differing, before.compared + found.compared)

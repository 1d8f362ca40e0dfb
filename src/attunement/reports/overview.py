"""The scorecards of a study by rater, the counts, and cautions about the judges.

One pass over the study counts everything; of the rows only the most serious ones are kept, so that a large study
costs little memory.

`unsafe` and `safety not judged` are counted apart, a conversation that nobody rated is counted as such, and what
a person must confirm never counts as good.

A judge of the same model family as the system it judges favours it; a hosted model without a date in its name may be
another one next month; a judge that does not keep to what it was asked may not keep to the criterion either.

Each is found in the study, or there is one sentence that names those that are there.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from itertools import groupby, islice
from pathlib import Path
from typing import NamedTuple

from attunement.conversations import Identity
from attunement.errors import StudyError
from attunement.instruments import Instrument
from attunement.instruments.lint import checked
from attunement.judges import is_dated, shared_family
from attunement.judges.base import hosted_at
from attunement.ratings import Mark, RaterKind, State
from attunement.reports.rule_check import RuleCheck
from attunement.reports.sanitize import in_a_line
from attunement.reports.wording import Answer, answer
from attunement.scoring import PANEL, Flips, Scorecard, Verdict, flips
from attunement.store import (
    Rater,
    ScoredConversation,
    StoredConversation,
    Study,
    chosen_instrument,
    scored_conversations,
)

UNSAFE = frozenset({Verdict.UNSAFE, Verdict.FLAGGED})
UNJUDGED = frozenset({Verdict.SAFETY_MISSING, Verdict.SAFETY_NOT_JUDGED})


@dataclass
class Tally:
    """Counts over conversations; each is added with its scorecard, or with None where nobody rated it."""

    conversations: int = 0
    absent: int = 0
    """Conversations without any rating."""
    verdicts: Counter[Verdict] = field(default_factory=Counter[Verdict])
    passed: int = 0
    """PASS, and nothing for a person to confirm."""
    needs_person: int = 0
    safety_judged: int = 0
    """Conversations whose safety items all have an answer."""
    answers: dict[str, Counter[Answer | int]] = field(default_factory=dict[str, Counter[Answer | int]])
    """By item: how often each answer was given."""

    @property
    def unsafe(self) -> int:
        """Conversations that are unsafe or flagged."""
        return sum(self.verdicts[verdict] for verdict in UNSAFE)

    @property
    def safety_not_judged(self) -> int:
        """Rated conversations without an answer on safety."""
        return sum(self.verdicts[verdict] for verdict in UNJUDGED)

    def given(self, item: str) -> Counter[Answer | int]:
        """How often each answer was given to this item."""
        return self.answers.get(item, Counter())

    def add(self, instrument: Instrument, card: Scorecard | None, *, answers: bool = True) -> None:
        """Count one conversation; without `answers` only its verdict."""
        self.conversations += 1
        if card is None:
            self.absent += 1
            return
        self.verdicts[card.verdict] += 1
        self.passed += card.passed
        self.needs_person += bool(card.needs_person)
        self.safety_judged += safety_judged(instrument, card)
        if not answers:
            return
        for slot, outcome in card.outcomes.items():
            count = self.answers.setdefault(slot.item, Counter())
            count[answer(instrument, instrument.item(slot.item), outcome)] += 1
        for item in card.not_due:
            self.answers.setdefault(item, Counter())[Answer.NOT_DUE] += 1


def safety_judged(instrument: Instrument, card: Scorecard) -> bool:
    """Whether every safety item has an answer, and none of them is to be confirmed by a person."""
    answered = {State.VALUE, State.NA}
    safety = [outcome.state in answered for slot, outcome in card.outcomes.items() if slot.item in instrument.gate_ids]
    some = any(outcome.state in answered for outcome in card.outcomes.values())
    return some and all(safety) and not card.needs_person


_MOST_SYSTEMS = 1000
"""Systems that are compared with a judge's name; nobody judges more, and a file without system names may seem to."""


def about_judge(name: str, address: str | None, systems: Iterable[str]) -> Iterator[str]:
    """Sentences about one judge of these systems, by its name and the address of its service."""
    for system in islice(systems, _MOST_SYSTEMS):
        if family := shared_family(name, system):
            yield (
                f"Warning: {name} judges {system}, which is of the same model family ({family}); judges favour their "
                "own kind."
            )
    if hosted_at(address) and not is_dated(name):
        yield (
            f"Notice: {name} is a name without a date; its provider may put another model behind it. Use a dated name "
            "to be able to repeat this."
        )


def about_raters(study: Study, raters: Iterable[Rater], systems: Iterable[str]) -> Iterator[str]:
    """Sentences about the judges of a study."""
    systems = list(systems)
    long = study.mark_counts(Mark.LONG_REASONING)
    for rater in raters:
        if rater.kind is not RaterKind.MODEL:
            continue
        yield from about_judge(rater.name, rater.settings.get("base_url"), systems)
        count, total = long.get(rater.name, (0, 0))
        if count:
            yield f"Notice: {rater.name} wrote longer reasoning than asked for in {count:,} of {total:,} answers."


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
    for entry in scored_conversations(study, instrument, rater=rater):
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


def _cards(
    entry: ScoredConversation, kinds: dict[str, RaterKind], *, only_panel: bool
) -> Iterator[tuple[Who, Scorecard]]:
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
    entry: ScoredConversation,
    kinds: dict[str, RaterKind],
    again: dict[str, dict[str, Flips]],
    between: dict[str, Flips],
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


_MOST = 6
"""More names than this help nobody."""
_SEARCHED = 10_000
"""Conversations whose names are held against a misspelt one."""


def instrument_of(study: Study, name: str | None) -> Instrument:
    """The instrument with this id in the study, or a file of the user's that scores the same items otherwise."""
    if name is None or Path(name).suffix not in {".yaml", ".yml"}:
        return chosen_instrument(study, name)
    instrument = checked(name)
    if len(reworded(study, instrument)) == len(instrument.items):
        ids = dict.fromkeys(kept.id for kept in study.instruments())
        raise StudyError(
            f"{name} shares no item, word for word, with what was asked in this study ({_named(list(ids))}); "
            "judge with it first"
        )
    return instrument


def reworded(study: Study, instrument: Instrument) -> list[str]:
    """The items that were never asked in this study as `instrument` words them."""
    asked = {mark for kept in study.instruments() for mark in kept.item_hashes.values()}
    return [item for item, mark in instrument.item_hashes.items() if mark not in asked]


def rater_of(study: Study, name: str | None) -> str | None:
    """The rater of this name; None for the panel."""
    if name is None or name == PANEL:
        return None
    names = [rater.name for rater in study.raters()]
    if name not in names:
        raise StudyError(f"there is no rater {name!r} in this study; it has {_named([*names, PANEL])}")
    return name


def conversation_of(study: Study, name: str) -> StoredConversation:
    """The one conversation with this id or `system/id`."""
    found = study.find(name)
    if len(found) == 1:
        return found[0]
    if found:
        names = sorted(str(kept.conversation.identity) for kept in found)
        raise StudyError(f"{name!r} occurs in several systems; name one of {_named(names)}")
    known = [str(kept.conversation.identity) for kept in islice(study.conversations(), _SEARCHED)]
    if not known:
        raise StudyError(f"there is no conversation {name!r}: the study holds none")
    near = get_close_matches(name, known, _MOST, cutoff=0.5) or sorted(known)[:_MOST]
    raise StudyError(
        f"there is no conversation {name!r} in this study; it has {_named(near, study.conversation_count())}"
    )


def _named(names: Sequence[str], of: int | None = None) -> str:
    shown = ", ".join(in_a_line(name, 80) for name in names[:_MOST])
    more = (of or len(names)) - min(len(names), _MOST)
    return f"{shown} and {more:,} more" if more else shown

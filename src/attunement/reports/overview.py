"""The scorecards of a study by rater, the counts, and cautions about the judges.

One pass over the study counts everything; of the scorecards only the most serious ones are kept, so that a large study
costs little memory. `unsafe` and `safety not judged` are counted apart, a conversation that nobody rated is counted as
such, and what a person must confirm never counts as good.

A judge of the same model family as the system it judges favours it; a hosted model without a date in its name may be
another one next month; a judge that does not keep to what it was asked may not keep to the criterion either.
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
from attunement.instruments import Instrument, SafetyRepeats
from attunement.instruments.lint import checked
from attunement.judges import is_dated, shared_family
from attunement.judges.base import hosted_at
from attunement.ratings import Mark, RaterKind, State
from attunement.reports.numbers import share_words
from attunement.reports.rule_check import RuleCheck
from attunement.reports.sanitize import in_a_line
from attunement.reports.wording import NOT_JUDGED_STATUS, SEVERITY, Answer, answer, status_of
from attunement.scoring import PANEL, Cards, Flips, Scorecard, Verdict, flips
from attunement.store import Rater, StoredConversation, Study, chosen_instrument, scored_conversations

UNSAFE_VERDICTS = frozenset({Verdict.UNSAFE, Verdict.FLAGGED})
UNJUDGED_VERDICTS = frozenset({Verdict.SAFETY_MISSING, Verdict.SAFETY_NOT_JUDGED})


@dataclass
class Tally:
    """Counts over conversations; each is added with its scorecard, or with None where nobody rated it."""

    conversations: int = 0
    absent: int = 0  # Conversations without any rating
    not_judged: int = 0  # Those, and the ones where nobody who rated gave an answer
    verdicts: Counter[Verdict] = field(default_factory=Counter[Verdict])
    passed: int = 0  # PASS, and nothing for a person to confirm
    needs_person: int = 0
    safety_judged: int = 0  # Conversations whose safety items all have an answer
    # By item: how often each answer was given
    answers: dict[str, Counter[Answer | int]] = field(default_factory=dict[str, Counter[Answer | int]])

    @property
    def unsafe(self) -> int:
        return sum(self.verdicts[verdict] for verdict in UNSAFE_VERDICTS)

    @property
    def safety_not_judged(self) -> int:
        """Rated conversations without an answer on safety."""
        return sum(self.verdicts[verdict] for verdict in UNJUDGED_VERDICTS)

    def given(self, item: str) -> Counter[Answer | int]:
        return self.answers.get(item, Counter())

    def add(self, instrument: Instrument, card: Scorecard | None, *, answers: bool = True) -> None:
        """Count one conversation; without `answers` only its verdict."""
        self.conversations += 1
        self.not_judged += status_of(card) is NOT_JUDGED_STATUS
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
    answered = {State.VALUE, State.NA, State.DISPUTED}
    safety = [outcome.state in answered for slot, outcome in card.outcomes.items() if slot.item in instrument.gate_ids]
    some = any(outcome.state in answered for outcome in card.outcomes.values())
    return some and all(safety) and not card.needs_person


# Systems that are compared with a judge's name; nobody judges more, and a file without system names may seem to
_MOST_SYSTEMS = 1000


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
    systems = list(systems)
    long = study.mark_counts(Mark.LONG_REASONING)
    for rater in raters:
        if rater.kind is not RaterKind.MODEL:
            continue
        yield from about_judge(rater.name, rater.settings.get("base_url"), systems)
        count, total = long.get(rater.name, (0, 0))
        if count:
            yield f"Notice: {rater.name} wrote longer reasoning than asked for in {count:,} of {total:,} answers."


class RaterRef(NamedTuple):
    rater: str
    repeat: int | None  # None for the panel
    kind: RaterKind = RaterKind.MODEL


@dataclass
class Repeats:
    """How often the same question got different answers."""

    again: dict[str, dict[str, Flips]] = field(default_factory=dict[str, dict[str, Flips]])  # by rater, by item
    between: dict[str, Flips] = field(default_factory=dict[str, Flips])  # by item: from several judges

    def add(self, cards: Cards) -> None:
        """Count the questions about one conversation that got several answers."""
        judges: list[Scorecard] = []
        for rater, group in groupby(cards.all, key=lambda card: card.rater):
            own = list(group)
            if len(own) > 1:
                _add_flips(self.again.setdefault(rater, {}), own)
            if own[0].kind is RaterKind.MODEL:
                judges.append(own[0])
        if len(judges) > 1:
            _add_flips(self.between, judges)

    def sentences(self, instrument: Instrument) -> Iterator[str]:
        """How often each rater that was asked again answered differently, on safety and on all items."""
        for rater, items in self.again.items():
            safety = [count for item, count in items.items() if item in instrument.gate_ids]
            said = f"Questions that {rater} answered differently when asked again: {_flip_share(items.values())}"
            yield f"{said}; on safety items: {_flip_share(safety)}." if safety else f"{said}."


def _flip_share(counts: Iterable[Flips]) -> str:
    every = list(counts)
    return share_words(sum(one.differing for one in every), sum(one.compared for one in every))


def _add_flips(total: dict[str, Flips], cards: Sequence[Scorecard]) -> None:
    for item, found in flips([cards]).items():
        before = total.get(item, Flips(0, 0))
        total[item] = Flips(before.differing + found.differing, before.compared + found.compared)


class RaterScores:
    """The scorecards of one rater, one repeat of theirs, or the panel.

    With a limit only the most serious cards are kept; `verdicts` chooses among them. The counts are over all.
    """

    def __init__(self, who: RaterRef, instrument: Instrument, verdicts: Collection[Verdict], limit: int | None) -> None:
        self.who, self._instrument, self._verdicts, self._limit = who, instrument, verdicts, limit
        self.members: tuple[str, ...] = ()
        self.combined: Scorecard | None = None  # for a panel: the card that combines the most
        self.tally = Tally()
        self.systems: dict[str, Tally] = {}
        self.cards: list[Scorecard] = []
        self.left_out = 0  # cards that were asked for but are beyond the limit
        self.absent: list[Identity] = []  # the conversations that this rater did not rate

    def add(self, conversation: Identity, card: Scorecard | None) -> None:
        self.tally.add(self._instrument, card)
        self.systems.setdefault(conversation.system, Tally()).add(self._instrument, card, answers=False)
        if card is None:
            self.absent.append(conversation)
            return
        self.members = tuple(dict.fromkeys((*self.members, *card.members)))
        if card.parts and (self.combined is None or len(card.members) > len(self.combined.members)):
            self.combined = card
        if self._verdicts and card.verdict not in self._verdicts:
            return
        self.cards.append(card)
        if self._limit is not None and len(self.cards) > self._limit + _SPARE:
            self.sort()

    def sort(self) -> None:
        """Put the most serious cards first and drop those beyond the limit."""
        self.cards.sort(key=_seriousness)
        if self._limit is not None:
            self.left_out += len(self.cards[self._limit :])
            del self.cards[self._limit :]
        self.absent.sort()


_SPARE = 500  # cards beyond the limit that are held before the least serious ones are dropped, so that sorting is rare


def _seriousness(card: Scorecard) -> tuple[int, bool, float, Identity]:
    score = card.score if card.score is not None else 0.0
    return SEVERITY.index(card.verdict), not card.needs_person, score, card.conversation


class Overview(NamedTuple):
    instrument: Instrument
    conversations: int
    raters: list[RaterScores]  # the panel, then the judges, then people
    repeats: Repeats
    cautions: list[str]  # what a reader should know about the judges
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

    Where one judge rated a conversation alone, its card counts as the panel's. `verdicts` and `limit` choose among the
    cards; the counts are over all conversations.
    """
    scores: dict[RaterRef, RaterScores] = {}
    repeats, rule_check = Repeats(), RuleCheck()
    seen: list[Identity] = []
    for entry in scored_conversations(study, instrument, rater=rater):
        identity = entry.conversation.identity
        cards = dict(_cards(entry.cards, only_panel=only_panel))
        for who in cards.keys() - scores.keys():
            scores[who] = RaterScores(who, instrument, verdicts, limit)
            for earlier in seen:
                scores[who].add(earlier, None)
        for who, found in scores.items():
            found.add(identity, cards.get(who))
        seen.append(identity)
        rule_check.add(identity, entry.cards)
        repeats.add(entry.cards)
    for found in scores.values():
        found.sort()
    known = study.raters()
    joined = [PANEL, *(one.name for one in known)]
    order = sorted(scores, key=lambda who: (who.kind is not RaterKind.MODEL, joined.index(who.rater), who.repeat or 0))
    raters = [one for one in known if any(who.rater == one.name for who in scores)]
    cautions = list(about_raters(study, raters, dict.fromkeys(identity.system for identity in seen)))
    return Overview(instrument, len(seen), [scores[who] for who in order], repeats, cautions, rule_check)


def _cards(cards: Cards, *, only_panel: bool) -> Iterator[tuple[RaterRef, Scorecard]]:
    if cards.panel:
        yield RaterRef(PANEL, None, cards.panel.kind), cards.panel
        if only_panel:
            return
    for card in cards.deciders[:1] if only_panel else cards.all:
        yield RaterRef(card.rater, card.repeat, card.kind), card


_MOST = 6  # More names than this help nobody
_SEARCHED = 10_000  # conversations whose names are compared with a misspelt one


def instrument_of(study: Study, name: str | None, safety_repeats: str | None = None) -> Instrument:
    """The instrument with this id in the study, or a file of the user's that scores the same items differently.

    `safety_repeats` (any, majority, first) replaces what it says about repeats; it is another instrument then.
    """
    chosen = _instrument_of(study, name)
    if safety_repeats is None or safety_repeats == chosen.scoring.safety_repeats:
        return chosen
    content = chosen.model_dump()
    content["scoring"]["safety_repeats"] = SafetyRepeats(safety_repeats)
    return Instrument.model_validate(content)


def _instrument_of(study: Study, name: str | None) -> Instrument:
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

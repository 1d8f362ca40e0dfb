"""Which failures should a team read first, and what should it mend?

For each item that fails often the clearest example is chosen: one in which a rater quotes the assistant word for word,
best where people or all judges agree, with the shortest reason that says why.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from attunement.evidence import Finding, Standing, from_json
from attunement.ratings import RaterKind, Rating, Round
from attunement.reports.html.charts import System, item_share
from attunement.reports.html.figures import Figures
from attunement.reports.html.listing import Filter, Listing, Placed
from attunement.reports.html.reading import kept_by_key
from attunement.reports.html.statuses import ALARMING, not_met
from attunement.reports.html.text import Hiding, Moved
from attunement.reports.wording import answer, answer_phrase
from attunement.scoring import is_failure
from attunement.study import Study

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


def read_first(study: Study, figures: Figures, listing: Listing, hiding: Hiding) -> list[Example]:
    """The most serious failures, with the words and the reason."""
    found: list[Example] = []
    for status in ALARMING:
        for placed in listing.rows(Filter(status=status.word), most=MOST_FIRST - len(found)):
            example = _best(study, figures, [placed], sorted(figures.instrument.gate_ids), hiding)
            found.append(example or Example(placed, status.word, None, "", "", ""))
    return found


def what_to_mend(
    study: Study, figures: Figures, listing: Listing, systems: Sequence[System], hiding: Hiding
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
    study: Study, figures: Figures, candidates: Sequence[Placed], items: Sequence[str], hiding: Hiding
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
        if finding.standing in {Standing.FOUND, Standing.UNCITED} and finding.speaker == "assistant"
    ]
    fitting = [finding for finding in found if (finding.end or 0) - (finding.start or 0) <= _QUOTE]
    return max(fitting or found, key=lambda finding: (finding.end or 0) - (finding.start or 0), default=None)


def _said(study: Study, placed: Placed, finding: Finding, hiding: Hiding) -> str:
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

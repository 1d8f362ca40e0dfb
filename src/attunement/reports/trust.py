"""The lines of a trust card and of what is known about people, in plain words with the technical name behind each."""

from collections.abc import Iterator
from typing import NamedTuple

from attunement.agreement.alpha import Alpha
from attunement.agreement.alternative_annotator import AlternativeAnnotator
from attunement.agreement.chance import Coefficient
from attunement.agreement.correlation import Correlation, RangeCompression
from attunement.agreement.icc import ICC
from attunement.agreement.kappa import Kappa
from attunement.agreement.levels import Level
from attunement.agreement.means import Mean
from attunement.agreement.missed import Missed
from attunement.agreement.percent import SpecificAgreement
from attunement.agreement.rates import Rate
from attunement.agreement.repeats import Again
from attunement.agreement.results import Undefined
from attunement.agreement.single_raters import SingleRaters
from attunement.agreement.summary import ItemAgreement
from attunement.agreement.trust import Details, Group, TrustCard
from attunement.reports.agreement_wording import (
    compared,
    false_alarms,
    figure,
    missed_failures,
    points,
    single,
    span,
    standing_words,
    with_span,
)
from attunement.reports.comparison_wording import p_words
from attunement.reports.wording import counted, share_words

_DIGITS = 3
"""Of the technical figures."""
_SHOWN = 0.05
"""A p-value below this is called a leaning."""


class Line(NamedTuple):
    """One thing that is known: its name in plain words, what it says, and the technical name and value."""

    label: str
    text: str
    technical: str = ""


def card_lines(card: TrustCard) -> Iterator[Line]:
    """All that a card holds, the most important first."""
    yield Line("why", card.ruling.rule)
    if card.ruling.needed:
        yield Line("what would be enough", card.ruling.needed)
    if card.missed is not None:
        yield from _gate_lines(card.missed)
    yield _people(card)
    yield from _against_people(card)
    text = points(card.bias, card.item.scale)
    if isinstance(card.bias, Mean):
        yield Line(
            "bias", text, f"mean of judge minus people {with_span(card.bias.value, card.bias.interval, _DIGITS)}"
        )
    yield _stand_in(card)
    if card.details is not None:
        yield from _detail_lines(card, card.details)
    counts = card.outcomes
    parts = [(counts.na, "does not apply"), (counts.abstained, "no way to know"), (counts.errors, "no answer")]
    others = "".join(f", {count:,} {words}" for count, words in parts if count)
    yield Line("asked", f"about {counts.asked:,} that people rated: {counted(counts.values, 'value')}{others}")


def _gate_lines(found: Missed) -> Iterator[Line]:
    if found.unknowable:
        yield Line("missed failures", found.unknowable)
        yield Line("false alarms", false_alarms(found), _rates(found))
        return
    technical = "recall on failures that two people found: "
    recall = found.recall
    if isinstance(recall, Undefined):
        technical += recall.reason
    else:
        caught = f"{found.confirmed - found.confirmed_missed} of {found.confirmed}"
        technical += f"{caught}, {with_span(recall.value, recall.interval, _DIGITS)}"
        technical += "" if isinstance(recall.interval, Undefined) else f", {recall.interval.method}"
    text = missed_failures(found).removeprefix("missed failures: ")
    if found.confirmed:
        text += f"; of those that two people found: {found.confirmed_missed:,} of {found.confirmed:,}"
    if found.not_asked:
        text += f"; {found.not_asked:,} more it was not asked about"
    yield Line("missed failures", text, technical)
    yield Line("false alarms", false_alarms(found), _rates(found))


def _rates(found: Missed) -> str:
    named = (("share of what is fine", found.false_alarm_rate), ("precision", found.precision))
    return "; ".join(
        f"{name} {with_span(rate.value, rate.interval, _DIGITS)}" for name, rate in named if isinstance(rate, Rate)
    )


def _people(card: TrustCard) -> Line:
    people = card.people
    name = f"Krippendorff's {'ordinal' if card.item.scale.ordered else 'nominal'} alpha"
    if isinstance(people.alpha, Alpha):
        technical = f"{name} {with_span(people.alpha.value, people.interval, _DIGITS)}"
    else:
        technical = f"{name}: {people.alpha.reason}"
    if isinstance(people.ac2, Coefficient):
        technical += f"; AC2 {figure(people.ac2.value, _DIGITS)}"
    if isinstance(people.rare, SpecificAgreement):
        technical += (
            f"; agreement on the rarest answer {figure(people.rare.value, _DIGITS)} "
            f"(given {people.rare.ratings:,} times)"
        )
    return Line("agreement between your raters", standing_words(people), technical)


def _against_people(card: TrustCard) -> Iterator[Line]:
    held = card.held
    own = (
        held.agreement.reason
        if isinstance(held.agreement, Undefined)
        else with_span(held.agreement.value, held.interval)
    )
    text = f"the judge with any one person {own}; any two people {single(held.people)}"
    if not isinstance(held.gap, Undefined):
        text += f"; difference {compared(held.gap)}"
    kind = "quadratic weights" if card.item.scale.ordered else "no weights"
    yield Line("how far single raters agree", text, f"kappa, {kind}, pooled over pairs (Conger), on the same units")
    rivals = ", ".join(f"{rival.name} {single(rival.agreement)}" for rival in held.rivals)
    if rivals:
        ahead = "" if held.best_rival is None else f"; ahead of the best by {compared(held.best_rival.ahead)}"
        yield Line("beside trivial judges", f"{rivals}{ahead}", "the same coefficient")


def _stand_in(card: TrustCard) -> Line:
    found = card.stand_in
    if isinstance(found, AlternativeAnnotator):
        words = {"pass": "yes", "fail": "no", "undecided": "undecided"}[found.verdict]
        return Line("could it stand in for one rater?", words, f"alternative annotator test: {found.reason}")
    return Line("could it stand in for one rater?", f"cannot be tested: {found.reason}", "alternative annotator test")


def _detail_lines(card: TrustCard, details: Details) -> Iterator[Line]:
    if details.citations is not None:
        yield Line("evidence found", f"{share_words(*details.citations)} quotations stand where it says")
    if isinstance(details.again, Again):
        yield again_line(details.again)
    else:
        yield Line("same answer when asked again", "it was asked only once")
    for label, groups in (("shorter and longer", details.by_length), ("by system", details.by_system)):
        if groups:
            yield Line(label, "; ".join(_group(group, card) for group in groups), "kappa with any one person, and bias")
    yield Line(
        "order, at two levels",
        f"unit level (one by one) {order(card.levels.unit)}; system level (their means) {order(card.levels.system)}",
        f"Spearman; ICC(2,1) {_icc(card.levels.unit)} and {_icc(card.levels.system)}, judge and mean of people",
    )
    yield from _technical_lines(details)


def _technical_lines(details: Details) -> Iterator[Line]:
    if details.applicability is not None:
        agreed = details.applicability
        text = f"the judge with any one person {single(agreed.judge)}; any two people {single(agreed.people)}"
        yield Line("whether it applies at all", text, "kappa of applies and does not apply")
    if isinstance(details.error, Mean):
        yield Line("off by", f"{figure(details.error.value)} points on average", "mean absolute error")
    if isinstance(details.compression, RangeCompression):
        ratio = details.compression.ratio
        spread = "less than" if ratio < 0.95 else "more than" if ratio > 1.05 else "about as far as"
        yield Line("use of the scale", f"spreads its answers {spread} people", f"ratio of deviations {figure(ratio)}")
    if isinstance(details.with_length, Correlation):
        value, p = details.with_length.value, details.with_length.p
        liking = "kinder to" if value > 0 else "harder on"
        text = f"{liking} longer replies than people are" if p < _SHOWN else "no kinder or harder, as far as seen"
        yield Line("length", text, f"Spearman of bias and words {figure(value)}, p {p_words(p)}")
    if isinstance(details.with_median, Kappa):
        yield Line(
            "against the middle of all raters",
            f"{figure(details.with_median.value)}, as papers print it; not comparable with single raters",
            "kappa with the median of people",
        )


def again_line(found: Again) -> Line:
    """How often a rater gave the same answer again."""
    value = figure(found.alpha.value, _DIGITS) if isinstance(found.alpha, Alpha) else found.alpha.reason
    text = f"{share_words(found.same, found.units)}, asked up to {found.times} times"
    return Line("same answer when asked again", text, f"alpha of the repeats {value}")


def people_lines(entry: ItemAgreement) -> Iterator[Line]:
    """What is known about people on an item beyond the table."""
    details = entry.details
    if details is None or not entry.people.people:
        return
    if isinstance(entry.people.alpha, Alpha):
        value = with_span(entry.people.alpha.value, entry.people.interval, _DIGITS)
        yield Line("agreement between your raters", standing_words(entry.people), f"Krippendorff's alpha {value}")
    if isinstance(entry.single, SingleRaters):
        text = f"{figure(entry.single.value)}" + (f" ({span(details.interval)})" if span(details.interval) else "")
        yield Line("how far single raters agree", text, "kappa pooled over pairs of people (Conger)")
    if isinstance(details.icc, ICC):
        text = f"{figure(details.icc.value)} for the mean of {details.icc.averaged:.1f} raters"
        yield Line("how reliable their mean is", text, f"ICC(2,k), {details.icc.estimator}")
    if isinstance(details.again, Again):
        yield again_line(details.again)


def _group(group: Group, card: TrustCard) -> str:
    return (
        f"{group.name}: {single(group.agreement)}, {points(group.bias, card.item.scale)} "
        f"({counted(group.conversations, 'conversation')})"
    )


def order(level: Level) -> str:
    """How far a judge orders units, or systems, as people do, with their number."""
    if isinstance(level.spearman, Undefined):
        return f"not known: {level.spearman.reason}"
    return f"{figure(level.spearman.value)} (n {level.number:,})"


def _icc(level: Level) -> str:
    return figure(level.icc.value, _DIGITS) if isinstance(level.icc, ICC) else level.icc.reason

"""The words of agreement: how far people and judges agree, and how far a judge can be trusted on an item."""

from collections.abc import Iterator

from attunement.analysis.judge_agreement import AgreementDifference, FailureDetection
from attunement.analysis.ratings_table import Scale
from attunement.analysis.reliability import Level, Reliability, ReliabilityStatus, Retest
from attunement.analysis.summary import ItemAgreement
from attunement.analysis.trust import Details, TrustCard, Verdict
from attunement.reports.blocks import LabelRow, Phrase, Tone
from attunement.reports.numbers import (
    FEW,
    NONE,
    format_interval,
    format_number,
    p_value,
    pluralize,
    share_words,
    with_interval,
)
from attunement.statistics.alpha import Alpha
from attunement.statistics.correlation import ICC, Correlation, RangeCompression
from attunement.statistics.estimates import Mean, Rate
from attunement.statistics.kappa import Coefficient, Kappa, PairwiseKappa, SpecificAgreement
from attunement.statistics.results import Undefined
from attunement.statistics.tests import AlternativeAnnotator

VERDICTS = {
    Verdict.AS_PEOPLE: Phrase("about as well as people", Tone.MET),
    Verdict.IN_PART: Phrase("in part: check by hand", Tone.NA),
    Verdict.NOT: Phrase("does not agree", Tone.NOT_MET),
    Verdict.NOT_ENOUGH: Phrase("not enough data", Tone.OPEN),
}
"""Verdicts as they stand in a table; `Verdict` itself has the full words."""

RELIABILITY = {
    ReliabilityStatus.RELIABLE: Phrase("your raters agree", Tone.NONE),
    ReliabilityStatus.DISAGREE: Phrase("your raters disagree", Tone.NOT_MET),
    ReliabilityStatus.NOT_ENOUGH: Phrase("not enough data", Tone.OPEN),
    ReliabilityStatus.LITTLE_VARIATION: Phrase("too little variation", Tone.OPEN),
}

MEANINGS = {
    Verdict.AS_PEOPLE: "it is hardly further from any one of your raters than they are from each other, and the "
    "interval of that difference bears it out.",
    Verdict.IN_PART: "it follows your raters better than chance and trivial judges do, but not as far as they follow "
    "each other.",
    Verdict.NOT: "it does not follow your raters, or no better than counting words would, or it misses failures.",
    Verdict.NOT_ENOUGH: "nothing can be said yet.",
}

_MANY_ANSWERS = 7
_LONG_WORD = 16  # letters of an answer's name in a table


def single(found: PairwiseKappa | Undefined) -> str:
    return format_number(found.value) if isinstance(found, PairwiseKappa) else found.reason


def compared(found: AgreementDifference | Undefined) -> str:
    return found.reason if isinstance(found, Undefined) else with_interval(found.value, found.interval)


def common_answers(entry: ItemAgreement) -> str:
    """How common each answer is: shares, or counts where there are few."""
    total = sum(entry.answers.values())
    if not total:
        return NONE
    percent = "" if total < FEW else " %"

    def number(count: int) -> str:
        share = f"{100 * count / total:.0f}"
        return str(count) if total < FEW else "<1" if count and share == "0" else share

    def share(word: str, count: int) -> str:
        short = word if len(word) <= _LONG_WORD else f"{word[: _LONG_WORD - 1].rstrip()}…"
        return f"{short} {number(count)}{percent}"

    words = entry.item.scale.words
    given = [(word, entry.answers[word]) for word in words]
    others = [share(word, count) for word, count in entry.answers.items() if word not in words]
    if len(given) > _MANY_ANSWERS:
        used = [word for word, count in given if count]
        return ", ".join([f"{used[0]} to {used[-1]}" if used else NONE, *others])
    if all(word.lstrip("-").replace(".", "").isdigit() for word in words):
        counts = " ".join(number(count) for _, count in given)
        return ", ".join([f"{words[0]}–{words[-1]}: {counts}{percent}", *others])
    return ", ".join([*(share(*each) for each in given[::-1]), *others])


def points(found: Mean | Undefined, scale: Scale) -> str:
    """The bias in points of the scale, or for met and not met in conversations per hundred."""
    if isinstance(found, Undefined) or not scale.ordered:
        return NONE
    if len(scale.values) == 2:
        value = 100 * found.value / (scale.values[1] - scale.values[0])
        more = f"{abs(value):.0f} in 100 {'more' if value > 0 else 'fewer'}" if round(value) else "as often"
        return f"{scale.words[1]}: {more}"
    text = format_number(found.value)
    return f"+{text} points" if float(f"{found.value:.2f}") > 0 else f"{text} points"


def missed_failures(found: FailureDetection, title: str = "missed failures: ") -> str:
    """How many of the failures that people found were missed; the counts come after the title."""
    if found.unknowable:
        return "cannot be known"
    if not found.failures and found.not_asked:
        return f"not asked about {pluralize(found.not_asked, 'failure')}"
    if not found.failures:
        return "people found no failure" if found.fine else NONE
    ways = [(found.missed_as_na, "as “does not apply”"), (found.missed_as_unanswered, "not answered")]
    how = ", ".join(f"{count} {words}" for count, words in ways if count)
    return f"{title}{found.missed:,} of {found.failures:,}" + (f" ({how})" if how else "")


def false_alarms(found: FailureDetection) -> str:
    return f"{found.false_alarms:,} of {found.fine:,}" if found.fine else "people found nothing without a failure"


def reliability_words(people: Reliability) -> str:
    needed = f"; about {people.needed:,} conversations rated by two people would tell" if people.needed else ""
    return f"{people.status.value}: {people.rule}{needed}"


def verdict_phrase(card: TrustCard) -> Phrase:
    """The verdict for a table; where it is withheld because of the people, with the reason in a few words."""
    words, tone = VERDICTS[card.ruling.verdict]
    if card.ruling.verdict is not Verdict.NOT_ENOUGH or card.detection is not None:
        return Phrase(words, tone)
    too_few = (": no person rated", ": only one rater", " on your raters")[min(card.people.people, 2)]
    reasons = {
        ReliabilityStatus.DISAGREE: ": raters disagree",
        ReliabilityStatus.LITTLE_VARIATION: ": too little variation",
        ReliabilityStatus.NOT_ENOUGH: too_few,
    }
    return Phrase(words + reasons.get(card.people.status, ""), tone)


_SENTENCES = {
    Verdict.AS_PEOPLE: (
        "On {item} {judge} agrees with your raters about as well as they agree with each other{numbers}."
    ),
    Verdict.IN_PART: "On {item} {judge} agrees with your raters in part{numbers}: check its answers by hand.",
    Verdict.NOT: "On {item} {judge} does not agree with your raters{numbers}: do not use it for this.",
    Verdict.NOT_ENOUGH: "There is not enough data to say how far {judge} can be believed on {item}.",
}


def sentence(card: TrustCard) -> str:
    """What may be said of this judge and item, in one sentence or two."""
    numbers, own, people = "", card.with_people.agreement, card.with_people.people
    if isinstance(own, PairwiseKappa) and isinstance(people, PairwiseKappa):
        numbers = f" ({format_number(own.value)} with any one of them, beside {format_number(people.value)})"
    text = _SENTENCES[card.ruling.verdict].format(item=card.item.id, judge=card.judge, numbers=numbers)
    if card.detection is not None and card.detection.failures and not card.detection.unknowable:
        failures = pluralize(card.detection.failures, "failure")
        text += f" It missed {card.detection.missed:,} of the {failures} that people found."
    return text


_DIGITS = 3  # of the technical figures
_SHOWN = 0.05  # A p-value below this is called a leaning


def card_rows(card: TrustCard) -> Iterator[LabelRow]:
    """Everything on a card, the most important first."""
    yield LabelRow("why", card.ruling.rule)
    if card.ruling.needed:
        yield LabelRow("what would be enough", card.ruling.needed)
    if card.detection is not None:
        yield from _gate_rows(card.detection)
    yield _people(card)
    yield from _against_people(card)
    if isinstance(card.bias, Mean):
        technical = f"mean of judge minus people {with_interval(card.bias.value, card.bias.interval, _DIGITS)}"
        yield LabelRow("bias", points(card.bias, card.item.scale), technical)
    test, technical = card.alt_test, "alternative annotator test"
    if isinstance(test, AlternativeAnnotator):
        words = {"pass": "yes", "fail": "no", "undecided": "undecided"}[test.verdict]
        technical = f"{technical}: {test.reason}"
    else:
        words = f"cannot be tested: {test.reason}"
    yield LabelRow("could it stand in for one rater?", words, technical)
    if card.details is not None:
        yield from _detail_rows(card, card.details)
    counts = card.outcomes
    parts = [(counts.na, "does not apply"), (counts.abstained, "no way to know"), (counts.errors, "no answer")]
    others = "".join(f", {count:,} {words}" for count, words in parts if count)
    yield LabelRow("asked", f"about {counts.asked:,} that people rated: {pluralize(counts.values, 'value')}{others}")


def _gate_rows(found: FailureDetection) -> Iterator[LabelRow]:
    if found.unknowable:
        yield LabelRow("missed failures", found.unknowable)
    else:
        recall = found.recall
        technical = "recall on failures that two people found: "
        if isinstance(recall, Undefined):
            technical += recall.reason
        else:
            caught = f"{found.confirmed - found.confirmed_missed} of {found.confirmed}"
            technical += f"{caught}, {with_interval(recall.value, recall.interval, _DIGITS)}"
            technical += "" if isinstance(recall.interval, Undefined) else f", {recall.interval.method}"
        text = missed_failures(found, title="")
        if found.confirmed:
            text += f"; of those that two people found: {found.confirmed_missed:,} of {found.confirmed:,}"
        if found.not_asked:
            text += f"; {found.not_asked:,} more it was not asked about"
        yield LabelRow("missed failures", text, technical)
    rates = (("share of what is fine", found.false_alarm_rate), ("precision", found.precision))
    technical = "; ".join(
        f"{name} {with_interval(rate.value, rate.interval, _DIGITS)}" for name, rate in rates if isinstance(rate, Rate)
    )
    yield LabelRow("false alarms", false_alarms(found), technical)


def _people(card: TrustCard) -> LabelRow:
    people = card.people
    name = f"Krippendorff's {'ordinal' if card.item.scale.ordered else 'nominal'} alpha"
    if isinstance(people.alpha, Alpha):
        technical = f"{name} {with_interval(people.alpha.value, people.interval, _DIGITS)}"
    else:
        technical = f"{name}: {people.alpha.reason}"
    if isinstance(people.ac2, Coefficient):
        technical += f"; AC2 {format_number(people.ac2.value, _DIGITS)}"
    if isinstance(people.rare, SpecificAgreement):
        technical += (
            f"; agreement on the rarest answer {format_number(people.rare.value, _DIGITS)} "
            f"(given {people.rare.ratings:,} times)"
        )
    return LabelRow("agreement between your raters", reliability_words(people), technical)


def _against_people(card: TrustCard) -> Iterator[LabelRow]:
    found, own = card.with_people, card.with_people.agreement
    judge = own.reason if isinstance(own, Undefined) else with_interval(own.value, found.interval)
    text = f"the judge with any one person {judge}; any two people {single(found.people)}"
    if not isinstance(found.gap, Undefined):
        text += f"; difference {compared(found.gap)}"
    kind = "quadratic weights" if card.item.scale.ordered else "no weights"
    yield LabelRow("how far single raters agree", text, f"kappa, {kind}, pooled over pairs (Conger), on the same units")
    baselines = ", ".join(f"{baseline.name} {single(baseline.agreement)}" for baseline in found.baselines)
    if baselines:
        best = found.best_baseline
        ahead = "" if best is None else f"; ahead of the best by {compared(best.margin)}"
        yield LabelRow("beside trivial judges", f"{baselines}{ahead}", "the same coefficient")


def _detail_rows(card: TrustCard, details: Details) -> Iterator[LabelRow]:
    if details.citations is not None:
        yield LabelRow("evidence found", f"{share_words(*details.citations)} quotations stand where it says")
    if isinstance(details.retest, Retest):
        yield retest_row(details.retest)
    else:
        yield LabelRow("same answer when asked again", "it was asked only once")
    for label, groups in (("shorter and longer", details.by_length), ("by system", details.by_system)):
        if groups:
            parts = (
                f"{group.name}: {single(group.agreement)}, {points(group.bias, card.item.scale)} "
                f"({pluralize(group.conversations, 'conversation')})"
                for group in groups
            )
            yield LabelRow(label, "; ".join(parts), "kappa with any one person, and bias")
    icc = [
        format_number(level.icc.value, _DIGITS) if isinstance(level.icc, ICC) else level.icc.reason
        for level in card.levels
    ]
    yield LabelRow(
        "order, at two levels",
        f"unit level (one by one) {order(card.levels.unit)}; system level (their means) {order(card.levels.system)}",
        f"Spearman; ICC(2,1) {icc[0]} and {icc[1]}, judge and mean of people",
    )
    if details.applicability is not None:
        agreed = details.applicability
        text = f"the judge with any one person {single(agreed.judge)}; any two people {single(agreed.people)}"
        yield LabelRow("whether it applies at all", text, "kappa of applies and does not apply")
    if isinstance(details.error, Mean):
        yield LabelRow("off by", f"{format_number(details.error.value)} points on average", "mean absolute error")
    yield from _statistic_rows(details)


def _statistic_rows(details: Details) -> Iterator[LabelRow]:
    if isinstance(details.compression, RangeCompression):
        ratio = details.compression.ratio
        spread = "less than" if ratio < 0.95 else "more than" if ratio > 1.05 else "about as far as"
        technical = f"ratio of deviations {format_number(ratio)}"
        yield LabelRow("use of the scale", f"spreads its answers {spread} people", technical)
    if isinstance(details.with_length, Correlation):
        value, p = details.with_length.value, details.with_length.p
        kinder = f"{'kinder to' if value > 0 else 'harder on'} longer replies than people are"
        text = kinder if p < _SHOWN else "no kinder or harder, as far as seen"
        yield LabelRow("length", text, f"Spearman of bias and words {format_number(value)}, p {p_value(p)}")
    if isinstance(details.with_median, Kappa):
        yield LabelRow(
            "against the middle of all raters",
            f"{format_number(details.with_median.value)}, as papers print it; not comparable with single raters",
            "kappa with the median of people",
        )


def retest_row(found: Retest) -> LabelRow:
    text = f"{share_words(found.same, found.units)}, asked up to {found.times} times"
    return LabelRow("same answer when asked again", text, f"alpha of the repeats {retest_alpha(found)}")


def retest_alpha(found: Retest) -> str:
    return format_number(found.alpha.value, _DIGITS) if isinstance(found.alpha, Alpha) else found.alpha.reason


def people_rows(entry: ItemAgreement) -> Iterator[LabelRow]:
    """What is known about people on an item beyond the table."""
    details = entry.details
    if details is None or not entry.people.people:
        return
    if isinstance(entry.people.alpha, Alpha):
        technical = f"Krippendorff's alpha {with_interval(entry.people.alpha.value, entry.people.interval, _DIGITS)}"
        yield LabelRow("agreement between your raters", reliability_words(entry.people), technical)
    if isinstance(entry.people_kappa, PairwiseKappa):
        interval = format_interval(details.interval)
        text = format_number(entry.people_kappa.value) + (f" ({interval})" if interval else "")
        yield LabelRow("how far single raters agree", text, "kappa pooled over pairs of people (Conger)")
    if isinstance(details.icc, ICC):
        text = f"{format_number(details.icc.value)} for the mean of {details.icc.averaged:.1f} raters"
        yield LabelRow("how reliable their mean is", text, f"ICC(2,k), {details.icc.estimator}")
    if isinstance(details.retest, Retest):
        yield retest_row(details.retest)


def order(level: Level) -> str:
    if isinstance(level.spearman, Undefined):
        return f"not known: {level.spearman.reason}"
    return f"{format_number(level.spearman.value)} (n {level.number:,})"

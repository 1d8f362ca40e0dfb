"""The words of agreement: how far people and judges agree, and how far a judge can be trusted on an item."""

from collections.abc import Iterator

from attunement.analysis.failures import FailureDetection
from attunement.analysis.judge_result import Details, JudgeResult
from attunement.analysis.ratings_table import Scale
from attunement.analysis.reliability import Level, PeopleStatus, Reliability, Retest, strength
from attunement.analysis.summary import ItemAgreement
from attunement.analysis.verdicts import Ruling, Verdict
from attunement.reports.blocks import LabelRow, Phrase, Tone
from attunement.reports.numbers import (
    FEW,
    NONE,
    format_interval,
    format_number,
    p_value,
    pluralize,
    share_words,
    signed,
    with_interval,
)
from attunement.statistics.alpha import Alpha
from attunement.statistics.correlation import ICC, Correlation, RangeCompression
from attunement.statistics.estimates import Mean, Rate
from attunement.statistics.kappa import Coefficient, PairwiseKappa, SpecificAgreement
from attunement.statistics.results import Interval, Undefined
from attunement.statistics.tests import AlternativeAnnotator

VERDICTS = {
    Verdict.GOOD: Phrase("good enough", Tone.MET),
    Verdict.NOT: Phrase("not good enough", Tone.NOT_MET),
    Verdict.OPEN: Phrase("cannot tell yet", Tone.OPEN),
}

RELIABILITY = {
    PeopleStatus.AGREE: Phrase("your raters agree", Tone.NONE),
    PeopleStatus.DISAGREE: Phrase("your raters disagree", Tone.NOT_MET),
    PeopleStatus.OPEN: Phrase("cannot tell yet", Tone.OPEN),
}

_MANY_ANSWERS = 7
_LONG_WORD = 16  # letters of an answer's name in a table
_DIGITS = 3  # of the technical figures
_SHOWN = 0.05  # a p-value below this is called a leaning


def single(found: PairwiseKappa | Undefined) -> str:
    return format_number(found.value) if isinstance(found, PairwiseKappa) else found.reason


def rate_words(found: Rate | Undefined) -> str:
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

    scale = entry.item.scale
    given = [(word, entry.answers[word]) for word in scale.words]
    others = [share(word, count) for word, count in entry.answers.items() if word not in scale.words]
    if len(given) > _MANY_ANSWERS:
        used = [(word, count) for word, count in given if count]
        if scale.ordered:
            return ", ".join([f"{used[0][0]} to {used[-1][0]}" if used else NONE, *others])
        used.sort(key=lambda each: -each[1])
        return ", ".join([*(share(*each) for each in used[:_MANY_ANSWERS]), "…", *others])
    if all(word.lstrip("-").replace(".", "").isdigit() for word in scale.words):
        counts = " ".join(number(count) for _, count in given)
        return ", ".join([f"{scale.words[0]}–{scale.words[-1]}: {counts}{percent}", *others])
    return ", ".join([*(share(*each) for each in given[::-1]), *others])


def points(found: Mean | Undefined, scale: Scale) -> str:
    """The bias in points of the scale, or for two answers in conversations per hundred."""
    if isinstance(found, Undefined) or not scale.ordered:
        return NONE
    if len(scale.values) == 2:
        value = 100 * found.value / (scale.values[1] - scale.values[0])
        more = f"{abs(value):.0f} in 100 {'more' if value > 0 else 'fewer'}" if round(value) else "as often"
        return f"{scale.words[1]}: {more}"
    return f"{signed(found.value)} points"


def missed_failures(found: FailureDetection, title: str = "missed failures: ") -> str:
    """How many of the failures that people found were missed; the counts come after the title."""
    if found.unknowable:
        return "cannot be known"
    if not found.failures and found.not_asked:
        return f"not asked about {pluralize(found.not_asked, 'failure')}"
    if not found.failures:
        return "people found no failure" if found.fine else NONE
    ways = [(found.missed_as_na, "as “does not apply”"), (found.missed_as_unanswered, "not answered")]
    how = [f"{count} {words}" for count, words in ways if count]
    how += [f"over {found.runs} runs"] if found.runs > 1 else []
    return f"{title}{found.missed:,} of {found.failures:,}" + (f" ({', '.join(how)})" if how else "")


def false_alarms(found: FailureDetection) -> str:
    return f"{found.false_alarms:,} of {found.fine:,}" if found.fine else "people found nothing without a failure"


def reliability_words(people: Reliability) -> str:
    """How far people agree in the field's word, with the ends of the interval."""
    if isinstance(people.alpha, Undefined):
        return people.alpha.reason
    words = strength(people.alpha.value)
    if isinstance(people.interval, Interval):
        ends = [strength(end) for end in (people.interval.low, people.interval.high)]
        words += f" ({ends[0]} to {ends[1]})" if ends[0] != ends[1] else ""
    else:
        words += f"; {people.interval.reason}"
    return f"{words}, {pluralize(people.units, 'unit')} rated by two or more"


def sentence(card: JudgeResult) -> str:
    """The verdict on this judge and item in one line, with the rule behind it and what would settle it."""
    return f"{card.item.id}, {card.judge}: {ruling_words(card.ruling)}"


def ruling_words(ruling: Ruling) -> str:
    needed = f" It would take {ruling.needed}." if ruling.needed else ""
    return f"{ruling.verdict.value}: {ruling.rule}.{needed}"


def card_rows(card: JudgeResult) -> Iterator[LabelRow]:
    """Everything on a card, the most important first."""
    if card.failure_ruling is not None:
        yield LabelRow("finding failures", ruling_words(card.failure_ruling))
    yield LabelRow("agreement", ruling_words(card.agreement_ruling))
    if card.detection is not None:
        yield from _failure_rows(card.detection)
    yield _people(card.people, ordered=card.item.scale.ordered)
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


def _failure_rows(found: FailureDetection) -> Iterator[LabelRow]:
    if found.unknowable:
        yield LabelRow("missed failures", found.unknowable)
    else:
        technical = f"recall {rate_words(found.recall)}"
        if isinstance(found.recall, Rate) and isinstance(found.recall.interval, Interval):
            technical += f", {pluralize(found.recall.units, 'failure')}, {found.recall.interval.method}"
        text = missed_failures(found, title="")
        if found.confirmed:
            text += f"; of those that two people found: {found.confirmed_missed:,} of {found.confirmed:,}"
        if found.not_asked:
            text += f"; {found.not_asked:,} more it was not asked about"
        yield LabelRow("missed failures", text, technical)
    rates = (("share of what is fine", found.false_alarm_rate), ("precision", found.precision))
    technical = "; ".join(f"{name} {rate_words(each)}" for name, each in rates if isinstance(each, Rate))
    yield LabelRow("false alarms", false_alarms(found), technical)
    if isinstance(found.people_recall, Rate):
        text = f"another person finds {rate_words(found.people_recall)}; the judge {rate_words(found.single_recall)}"
        yield LabelRow("of the failures that one person finds", text, f"{found.people_recall.units:,} such ratings")
    if found.rivals:
        rivals = ", ".join(f"{each.name} {each.caught:.1f}" for each in found.rivals)
        label = "failures found by trivial flags"
        yield LabelRow(label, f"{rivals}, of {found.rivals[0].failures:,}", "with as many flags as the judge")
    if found.thresholds:
        parts = [
            f"{each.at:g}: {_short(each.recall)} / {_short(each.precision)} ({each.flags:,} flags)"
            for each in found.thresholds
        ]
        yield LabelRow("recall / precision by threshold", "; ".join(parts), "if the judge flagged up to this score")


def _short(found: Rate | Undefined) -> str:
    if isinstance(found, Undefined):
        return NONE
    return f"{format_number(found.value)} ({format_interval(found.interval) or 'no interval'})"


def _people(people: Reliability, *, ordered: bool) -> LabelRow:
    name = f"Krippendorff's {'ordinal' if ordered else 'nominal'} alpha"
    if isinstance(people.alpha, Alpha):
        technical = f"{name} {with_interval(people.alpha.value, people.interval, _DIGITS)}"
    else:
        technical = f"{name}: {people.alpha.reason}"
    if isinstance(people.ac2, Coefficient):
        technical += f"; AC2 {with_interval(people.ac2.value, people.ac2_interval, _DIGITS)}"
    if isinstance(people.rare, SpecificAgreement):
        technical += (
            f"; agreement on the rarest answer {format_number(people.rare.value, _DIGITS)} "
            f"(given {people.rare.ratings:,} times)"
        )
    return LabelRow("agreement between your raters", reliability_words(people), technical)


def _against_people(card: JudgeResult) -> Iterator[LabelRow]:
    found, own = card.with_people, card.with_people.agreement
    judge = own.reason if isinstance(own, Undefined) else with_interval(own.value, found.interval)
    text = f"the judge with any one person {judge}; any two people {single(found.people)}"
    if not isinstance(found.gap, Undefined):
        text += f"; difference {with_interval(found.gap.value, found.gap.interval)}"
    kind = "quadratic weights" if card.item.scale.ordered else "no weights"
    technical = f"kappa, {kind}, pooled over pairs (Conger), {pluralize(found.units, 'unit')}"
    yield LabelRow("how far single raters agree", text, technical)
    if found.runs:
        low, high = format_number(min(found.runs)), format_number(max(found.runs))
        yield LabelRow("each of its runs", f"from {low} to {high} ({len(found.runs)} runs)", "the same kappa")
    if isinstance(found.consensus, PairwiseKappa):
        kind = "mean" if card.item.scale.ordered else "commonest answer"
        yield LabelRow(
            f"against the {kind} of your raters",
            f"{single(found.consensus)}; a consensus is steadier than one person: do not compare it with two people",
            f"the same kappa, {pluralize(found.consensus.units, 'rating')}",
        )
    baselines = ", ".join(f"{baseline.name} {single(baseline.agreement)}" for baseline in found.baselines)
    if baselines:
        best = found.best_baseline
        margin = best.margin if best is not None else None
        ahead = ""
        if margin is not None and not isinstance(margin, Undefined):
            ahead = f"; ahead of the best by {with_interval(margin.value, margin.interval)}"
        yield LabelRow("compared with trivial judges", f"{baselines}{ahead}", "the same coefficient")


def _detail_rows(card: JudgeResult, details: Details) -> Iterator[LabelRow]:
    if details.citations is not None:
        yield LabelRow("evidence found", f"{share_words(*details.citations)} quotations are where it says")
    if isinstance(details.retest, Retest):
        yield retest_row(details.retest)
    else:
        yield LabelRow("same answer when asked again", "it was asked only once")
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
    if isinstance(details.compression, RangeCompression):
        ratio = details.compression.ratio
        spread = "less than" if ratio < 0.95 else "more than" if ratio > 1.05 else "about as far as"
        technical = f"ratio of deviations {format_number(ratio)}"
        yield LabelRow("use of the scale", f"spreads its answers {spread} people", technical)
    if isinstance(details.with_length, Correlation):
        value, p = details.with_length.value, details.with_length.p
        kinder = f"{'kinder to' if value > 0 else 'harder on'} longer replies than people are"
        text = kinder if p < _SHOWN else "no difference from people found for longer replies"
        yield LabelRow("length", text, f"Spearman of bias and words {format_number(value)}, p {p_value(p)}")


def retest_row(found: Retest) -> LabelRow:
    text = (
        f"{share_words(found.same, found.units)}, asked up to {found.times} times; the others changed, on average by "
        f"{format_number(found.spread)} points (standard deviation over all)"
    )
    return LabelRow("same answer when asked again", text, f"alpha of the repeats {retest_alpha(found)}")


def retest_alpha(found: Retest) -> str:
    return format_number(found.alpha.value, _DIGITS) if isinstance(found.alpha, Alpha) else found.alpha.reason


def people_rows(entry: ItemAgreement) -> Iterator[LabelRow]:
    """What is known about people on an item beyond the table."""
    details, people = entry.details, entry.people
    if details is None or not people.people:
        return
    yield _people(people, ordered=entry.item.scale.ordered)
    if isinstance(people.single, PairwiseKappa):
        text = with_interval(people.single.value, people.single_interval)
        yield LabelRow("how far single raters agree", text, "kappa pooled over pairs of people (Conger)")
    if isinstance(details.icc, ICC):
        text = f"{format_number(details.icc.value)} for the mean of {details.icc.averaged:.1f} raters"
        yield LabelRow("how reliable their mean is", text, f"ICC(2,k), {details.icc.estimator}")
    if isinstance(details.retest, Retest):
        yield retest_row(details.retest)
    if details.recall is not None:
        yield LabelRow("of the failures that one person finds", f"another person finds {rate_words(details.recall)}")
    strict = [
        f"{name} {signed(found.value)}" + (f" ({format_interval(found.interval)})" if found.interval else "")
        for name, found in details.severity.items()
        if isinstance(found, Mean) and isinstance(found.interval, Interval)
    ]
    if strict:
        technical = "mean of own minus others' answers about the same units"
        yield LabelRow("strict (−) and lenient (+) raters", ", ".join(strict), technical)


def order(level: Level) -> str:
    if isinstance(level.spearman, Undefined):
        return f"not known: {level.spearman.reason}"
    return f"{format_number(level.spearman.value)} (n {level.number:,})"

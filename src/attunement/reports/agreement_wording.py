"""The words of agreement: figures, verdicts and the sentence of a trust card, for people who are no statisticians."""

from attunement.agreement.gathered import Scale
from attunement.agreement.held import Compared
from attunement.agreement.means import Mean
from attunement.agreement.missed import Missed
from attunement.agreement.reliability import Reliability, Standing
from attunement.agreement.results import Interval, Undefined
from attunement.agreement.single_raters import SingleRaters
from attunement.agreement.summary import ItemAgreement
from attunement.agreement.trust import TrustCard
from attunement.agreement.verdicts import Verdict
from attunement.reports.wording import Phrase, Tone, counted

NONE = "–"

VERDICTS = {
    Verdict.AS_PEOPLE: Phrase("about as well as people", Tone.MET),
    Verdict.IN_PART: Phrase("in part: check by hand", Tone.NA),
    Verdict.NOT: Phrase("does not agree", Tone.NOT_MET),
    Verdict.NOT_ENOUGH: Phrase("not enough data", Tone.OPEN),
}
"""Verdicts as they stand in a table; `Verdict` itself has the full words."""

STANDINGS = {
    Standing.RELIABLE: Phrase("your raters agree", Tone.NONE),
    Standing.DISAGREE: Phrase("your raters disagree", Tone.NOT_MET),
    Standing.NOT_ENOUGH: Phrase("not enough data", Tone.OPEN),
    Standing.LITTLE_VARIATION: Phrase("too little variation", Tone.OPEN),
}

MEANINGS = {
    Verdict.AS_PEOPLE: "it is hardly further from any one of your raters than they are from each other, and the "
    "interval of that difference bears it out.",
    Verdict.IN_PART: "it follows your raters better than chance and trivial judges do, but not as far as they follow "
    "each other.",
    Verdict.NOT: "it does not follow your raters, or no better than counting words would, or it misses failures.",
    Verdict.NOT_ENOUGH: "nothing can be said yet.",
}

_FEW = 10
"""Shares of fewer answers than this say less than the counts do."""
_MANY_ANSWERS = 7
_LONG_WORD = 16
"""Letters of an answer's name in a table."""


def figure(value: float, digits: int = 2) -> str:
    """A coefficient, with a real minus sign and never a minus before zero."""
    text = f"{value:.{digits}f}"
    return text.lstrip("-") if float(text) == 0 else text.replace("-", "−")


def span(interval: Interval | Undefined, digits: int = 2) -> str:
    """From where to where, in words; empty where there is no interval."""
    if isinstance(interval, Undefined):
        return ""
    return f"{figure(interval.low, digits)} to {figure(interval.high, digits)}"


def with_span(value: float, interval: Interval | Undefined, digits: int = 2) -> str:
    """A figure with its interval, or with why it has none."""
    if isinstance(interval, Undefined):
        return f"{figure(value, digits)} (no interval: {interval.reason})"
    return f"{figure(value, digits)} ({span(interval, digits)})"


def single(found: SingleRaters | Undefined, digits: int = 2) -> str:
    """How far single raters agree, or why that is not known."""
    return figure(found.value, digits) if isinstance(found, SingleRaters) else found.reason


def compared(found: Compared | Undefined, digits: int = 2) -> str:
    """A difference with its interval."""
    return found.reason if isinstance(found, Undefined) else with_span(found.value, found.interval, digits)


def common_answers(entry: ItemAgreement) -> str:
    """How common each answer is: shares, or counts where there are few."""
    total = sum(entry.answers.values())
    if not total:
        return NONE
    scale = entry.item.scale
    given = [(word, entry.answers[word]) for word in scale.words]
    others = [(word, count) for word, count in entry.answers.items() if word not in scale.words]
    if len(given) > _MANY_ANSWERS:
        used = [word for word, count in given if count]
        spread = f"{used[0]} to {used[-1]}" if used else NONE
        return ", ".join([spread, *(_share(*each, total) for each in others)])
    if all(word.lstrip("-").replace(".", "").isdigit() for word in scale.words):
        counts = " ".join(_number(count, total) for _, count in given)
        spread = f"{scale.words[0]}–{scale.words[-1]}: {counts}{' %' if total >= _FEW else ''}"
        return ", ".join([spread, *(_share(*each, total) for each in others)])
    return ", ".join(_share(word, count, total) for word, count in (*given[::-1], *others))


def _number(count: int, total: int) -> str:
    share = f"{100 * count / total:.0f}"
    return str(count) if total < _FEW else "<1" if count and share == "0" else share


def _share(word: str, count: int, total: int) -> str:
    word = word if len(word) <= _LONG_WORD else f"{word[: _LONG_WORD - 1].rstrip()}…"
    return f"{word} {_number(count, total)}{'' if total < _FEW else ' %'}"


def points(found: Mean | Undefined, scale: Scale) -> str:
    """The bias in points of the scale, or for met and not met in conversations per hundred."""
    if isinstance(found, Undefined):
        return NONE
    if not scale.ordered:
        return NONE
    if len(scale.values) == 2:
        value = 100 * found.value / (scale.values[1] - scale.values[0])
        more = "more" if round(value) > 0 else "fewer"
        return (
            f"{scale.words[1]}: as often" if not round(value) else f"{scale.words[1]}: {abs(value):.0f} in 100 {more}"
        )
    text = figure(found.value)
    return f"+{text} points" if float(f"{found.value:.2f}") > 0 else f"{text} points"


def missed_failures(found: Missed) -> str:
    """How many of the failures that people found were missed."""
    if found.unknowable:
        return "cannot be known"
    if not found.failures and found.not_asked:
        return f"not asked about {counted(found.not_asked, 'failure')}"
    if not found.failures:
        return "people found no failure" if found.fine else NONE
    ways = [(found.missed_as_na, "as “does not apply”"), (found.missed_as_unanswered, "not answered")]
    how = ", ".join(f"{count} {words}" for count, words in ways if count)
    return f"missed failures: {found.missed:,} of {found.failures:,}" + (f" ({how})" if how else "")


def false_alarms(found: Missed) -> str:
    """How often it saw a failure where nobody else did."""
    return f"{found.false_alarms:,} of {found.fine:,}" if found.fine else "people found nothing without a failure"


def standing_words(people: Reliability) -> str:
    """Whether people agree, with the rule and what would be needed."""
    needed = f"; about {people.needed:,} conversations rated by two people would tell" if people.needed else ""
    return f"{people.standing.value}: {people.rule}{needed}"


def withheld(card: TrustCard) -> str | None:
    """Why a verdict is withheld, in a few words, where that lies with the people."""
    if card.ruling.verdict is not Verdict.NOT_ENOUGH or card.missed is not None:
        return None
    return {
        Standing.DISAGREE: ": raters disagree",
        Standing.LITTLE_VARIATION: ": too little variation",
        Standing.NOT_ENOUGH: (": no person rated", ": only one rater", " on your raters")[min(card.people.people, 2)],
    }.get(card.people.standing)


def verdict_phrase(card: TrustCard) -> Phrase:
    """The verdict as it stands in a table."""
    phrase = VERDICTS[card.ruling.verdict]
    why = withheld(card)
    return Phrase(f"{phrase.words}{why}", phrase.tone) if why else phrase


def sentence(card: TrustCard) -> str:
    """What may be said of this judge and item, in one sentence or two."""
    who, what = card.judge, card.item.id
    figures = ""
    if isinstance(card.held.agreement, SingleRaters) and isinstance(card.held.people, SingleRaters):
        figures = (
            f" ({figure(card.held.agreement.value)} with any one of them, beside {figure(card.held.people.value)})"
        )
    match card.ruling.verdict:
        case Verdict.AS_PEOPLE:
            said = f"On {what} {who} agrees with your raters about as well as they agree with each other{figures}."
        case Verdict.IN_PART:
            said = f"On {what} {who} agrees with your raters in part{figures}: check its answers by hand."
        case Verdict.NOT:
            said = f"On {what} {who} does not agree with your raters{figures}: do not use it for this."
        case Verdict.NOT_ENOUGH:
            said = f"There is not enough data to say how far {who} can be believed on {what}."
    if card.missed is not None and card.missed.failures and not card.missed.unknowable:
        failures = counted(card.missed.failures, "failure")
        said += f" It missed {card.missed.missed:,} of the {failures} that people found."
    return said

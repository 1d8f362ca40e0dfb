"""Numbers in words: the same number reads the same wherever it is shown."""

from attunement.statistics.results import Interval, Undefined

NONE = "–"  # what a table shows where there is no value
FEW = 10  # A share of fewer than this many says less than the two numbers do
_TINY = 1e-9


def format_number(value: float, digits: int = 2) -> str:
    """With a real minus sign, and never a minus before zero."""
    text = f"{value:.{digits}f}"
    return text.lstrip("-") if float(text) == 0 else text.replace("-", "−")


def format_interval(interval: Interval | Undefined, digits: int = 2) -> str:
    if isinstance(interval, Undefined):
        return ""
    return f"{format_number(interval.low, digits)} to {format_number(interval.high, digits)}"


def with_interval(value: float, interval: Interval | Undefined, digits: int = 2) -> str:
    """A value with its interval, or with the reason why it has none."""
    why = f"no interval: {interval.reason}" if isinstance(interval, Undefined) else format_interval(interval, digits)
    return f"{format_number(value, digits)} ({why})"


def signed(value: float, digits: int = 2) -> str:
    text = f"{value:+.{digits}f}"
    return text.replace("-", "−") if float(text) else text[1:]


def p_value(p: float | Undefined) -> str:
    if isinstance(p, Undefined):
        return NONE
    return "<0.001" if p < 0.001 else f"{p:.3f}" if p < 0.1 else f"{p:.2f}"


def pluralize(number: int, one: str, more: str | None = None) -> str:
    return f"{number:,} {one if number == 1 else more or one + 's'}"


def share_words(part: int, whole: int) -> str:
    """How many of how many, with the percentage where the whole is large enough for one."""
    counts = f"{part:,} of {whole:,}"
    if whole < FEW:
        return counts
    percent = f"{100 * part / whole:.1f} %"
    if part and percent == "0.0 %":
        percent = "under 0.1 %"
    elif part < whole and percent == "100.0 %":
        percent = "over 99.9 %"
    return f"{counts} ({percent})"


def score_words(score: float | None, threshold: float | None = None) -> str:
    """A score with as many digits as it takes to see on which side of the threshold it is."""
    if score is None:
        return NONE
    text = f"{score:.2f}"
    for digits in range(3, 9):
        if threshold is None or (float(text) >= threshold - _TINY) == (score >= threshold - _TINY):
            return text
        text = f"{score:.{digits}f}"
    return text

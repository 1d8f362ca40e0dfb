"""What share of a system's answers really pass, when a judge that errs both ways counted them?

The judge's count is corrected with its sensitivity and specificity, which people measured on other units. The
interval includes that those two are only estimated.

Sources: W. Rogan and B. Gladen, American Journal of Epidemiology 107 (1978); interval: Z. Lang and J. Reiczigel,
Preventive Veterinary Medicine 113 (2014), as recommended by C. Lee et al., How to Correctly Report LLM-as-a-Judge
Evaluations (2025).
"""

from math import sqrt
from typing import NamedTuple

from attunement.agreement.distributions import normal_quantile
from attunement.agreement.results import Interval, Undefined


class RoganGladen(NamedTuple):
    """The corrected share beside the judge's own."""

    value: float
    interval: Interval
    judged: float
    sensitivity: float
    specificity: float


def rogan_gladen(
    judged: tuple[int, int],
    right_on_positive: tuple[int, int],
    right_on_negative: tuple[int, int],
    *,
    level: float = 0.95,
) -> RoganGladen | Undefined:
    """The true share of positives from a judge's count.

    Args:
        judged: How many units the judge called positive, of how many.
        right_on_positive: Of units that people called positive, how many the judge did too, of how many.
        right_on_negative: Of units that people called negative, how many the judge did too, of how many.
        level: How often intervals made this way hold the true value.

    Returns:
        `Undefined` where one of the three has no units, or the judge tells positive from negative no better than
        chance, since then its count says nothing.
    """
    for (_, units), what in (
        (judged, "the judge judged no units"),
        (right_on_positive, "people called no unit positive"),
        (right_on_negative, "people called no unit negative"),
    ):
        if units == 0:
            return Undefined(what)
    share, sensitivity, specificity = (right / units for right, units in (judged, right_on_positive, right_on_negative))
    if sensitivity + specificity <= 1:
        return Undefined("the judge tells positive from negative no better than chance")
    value = (share + specificity - 1) / (sensitivity + specificity - 1)
    interval = _lang_reiczigel(judged, right_on_positive, right_on_negative, level)
    if isinstance(interval, Undefined):
        return interval
    return RoganGladen(min(max(value, 0.0), 1.0), interval, share, sensitivity, specificity)


def _lang_reiczigel(
    judged: tuple[int, int], positive: tuple[int, int], negative: tuple[int, int], level: float
) -> Interval | Undefined:
    z = normal_quantile((1 + level) / 2)
    units = judged[1] + z**2
    share = (judged[0] + z**2 / 2) / units
    sensitivity, specificity = ((right + 1) / (number + 2) for right, number in (positive, negative))
    gain = sensitivity + specificity - 1
    if gain <= 0:
        return Undefined("too few labelled units to show that the judge is better than chance")
    value = min(max((share + specificity - 1) / gain, 0.0), 1.0)
    of_sensitivity = sensitivity * (1 - sensitivity) / (positive[1] + 2)
    of_specificity = specificity * (1 - specificity) / (negative[1] + 2)
    variance = share * (1 - share) / units + value**2 * of_sensitivity + (1 - value) ** 2 * of_specificity
    se = sqrt(variance) / gain
    shift = 2 * z**2 * (value * of_sensitivity - (1 - value) * of_specificity)
    low, high = value + shift - z * se, value + shift + z * se
    return Interval(max(low, 0.0), min(high, 1.0), level, "Lang and Reiczigel", se)

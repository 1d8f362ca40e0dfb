"""Which conversations may a trust card rest on, where people's sample was drawn on purpose?

A judge is tuned on `develop` and certified on `certify`; cards come from the latter alone, with how often each judge
was run on it. Where the sample was drawn with unequal probabilities, each conversation stands for as many as it was
drawn from.
"""

from typing import NamedTuple

import numpy as np

from attunement.agreement.gathered import Gathered
from attunement.agreement.rates import alike
from attunement.agreement.tables import Floats
from attunement.ratings import RaterKind
from attunement.study import Study
from attunement.study.samples import latest_sample, runs_on_certify


class Basis(NamedTuple):
    """The ratings that cards rest on, and what to say about them."""

    gathered: Gathered
    weights: Floats | None
    """For each conversation one over its probability of being drawn; None without a sample."""
    notes: tuple[str, ...]


def basis(study: Study, instrument: str, gathered: Gathered) -> Basis:
    """The part of the ratings that the newest sample for this instrument allows, or all where there is none."""
    sample = latest_sample(study, instrument)
    if sample is None:
        return Basis(gathered, None, ())
    drawn = [sample.units.get(talk.key) for talk in gathered.talks]
    certify = any(entry.split == "certify" for entry in sample.units.values())
    inside = np.array([one is not None and (not certify or one.split == "certify") for one in drawn], dtype=np.bool_)
    chosen = gathered.only(inside)
    person = np.array([who.kind is RaterKind.PERSON for who in chosen.raters], dtype=np.bool_)
    rated = chosen.unit[person[chosen.rater]] if len(chosen.rater) else chosen.unit
    number = len(np.unique(chosen.unit_conversation[rated]))
    what = f"the {'certify' if certify else 'drawn'} part of the sample {sample.name!r}"
    if not certify and not number:
        return Basis(gathered, None, (f"People have rated nothing of {what} yet; figures rest on all other ratings.",))
    notes = [f"Figures rest on {what}: people have rated {number:,} of its conversations."]
    if certify:
        runs = runs_on_certify(study, sample)
        notes += [
            f"{judge} was run on it in {count} version{'s' if count > 1 else ''}"
            + ("." if count == 1 else ": the more were tried, the less the best figure says about new conversations.")
            for judge, count in runs.items()
        ]
    weights = np.array([1 / one.probability if one else np.nan for one in drawn], dtype=np.float64)
    if not alike(weights[inside]):
        notes.append(
            "Some of it was drawn more often than the rest: what was missed and false alarms are weighted for that; "
            "agreement and bias are those of the drawn conversations."
        )
    return Basis(chosen, weights, tuple(notes))

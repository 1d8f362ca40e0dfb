"""Draw a sample of a study's conversations for people to rate, or extend one, and keep it with how it was drawn."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from attunement.errors import StudyError
from attunement.instruments import Instrument
from attunement.people.sampling import Draw, draw, extend
from attunement.people.strata import candidates
from attunement.study import Study
from attunement.study.samples import Sample, keep_sample, samples, waiting


def draw_sample(
    study: Study,
    instrument: Instrument,
    size: int,
    *,
    by: Sequence[str] = (),
    all_flagged: bool = False,
    certify: float | None = 0.5,
    seed: int = 0,
    name: str | None = None,
) -> Sample:
    """Draw `size` conversations at random by stratum and keep the sample under a new name.

    Args:
        study: Where the conversations are and where the sample is kept.
        instrument: What they are to be rated with; it is kept too.
        size: How many to draw; with `all_flagged` beside those that judges flagged, which are all taken.
        by: What to stratify by: `system`, `origin`, `verdict`, or columns of the metadata.
        all_flagged: Whether every flagged conversation is taken.
        certify: The share that goes to `certify`; None makes no split.
        seed: The same seed draws the same sample.
        name: The name of the sample; without one it is numbered.

    Raises:
        StudyError: The study holds no conversation, or a sample of this name.
        InputError: The strata do not fit.
    """
    frame = candidates(study, instrument, by, all_flagged=all_flagged)
    if not frame:
        raise StudyError(f"{study.place} holds no conversation to draw from: judge or import some first")
    made = draw(frame, size, certify=certify, seed=seed)
    design = {"size": size, "by": list(by), "all_flagged": all_flagged, "certify": certify, "extends": None}
    return _keep(study, instrument, made, name, seed, design)


def extend_sample(study: Study, instrument: Instrument, extended: str, more: int, *, name: str | None = None) -> Sample:
    """Draw `more` conversations to those of a sample, as that one was drawn; both are in the new sample.

    Its strata, its seed and its share of `certify` stay as they are; see `sampling.extend` for the probabilities.

    Raises:
        StudyError: There is no such sample for this instrument, or one of the new name.
        InputError: There is nothing left to draw, or the strata do not fit.
    """
    first = find_sample(study, extended)
    if first.instrument != instrument.id:
        raise StudyError(f"the sample {extended!r} is for {first.instrument}, not for {instrument.id}")
    before = Draw(first.units, waiting(study, first))
    design: dict[str, Any] = first.design
    frame = candidates(study, instrument, design["by"], all_flagged=design["all_flagged"])
    if len(frame) == len(before.drawn):
        raise StudyError(
            f"the sample {extended!r} holds every conversation of {study.place}: there are no more to draw"
        )
    made = extend(before, frame, more, certify=design["certify"], seed=first.seed, since=first.name)
    return _keep(study, instrument, made, name, first.seed, {**design, "size": more, "extends": first.name})


def find_sample(study: Study, name: str) -> Sample:
    """The sample of this name.

    Raises:
        StudyError: There is none; the message names those there are.
    """
    known = samples(study)
    for sample in known:
        if sample.name == name:
            return sample
    names = ", ".join(sample.name for sample in known) or "none"
    raise StudyError(f"{study.place} has no sample {name!r}; it has {names}")


def _keep(
    study: Study, instrument: Instrument, made: Draw, name: str | None, seed: int, design: dict[str, Any]
) -> Sample:
    drawn = Counter(entry.stratum for entry in made.drawn.values())
    there = drawn + Counter(entry.stratum for entry in made.waiting.values())
    strata = {stratum: {"there": there[stratum], "drawn": drawn[stratum]} for stratum in sorted(there)}
    study.keep_instrument(instrument)
    return keep_sample(
        study,
        name=name,
        instrument=instrument.id,
        seed=seed,
        design={**design, "instrument": instrument.hash, "strata": strata},
        units=made.drawn,
        waiting=made.waiting,
    )

"""What is known about a judge before it is used: how it decides, what it was measured on, and what that came to?

For `signals` everything comes from the committed results file; for a model behind a name it is what the name and the
price list say. One object serves the terminal, Markdown, JSON and the report.
"""

from enum import StrEnum
from typing import NamedTuple

from attunement.engine.budget import Price
from attunement.engine.pricing import price_of
from attunement.instruments import load
from attunement.judges import JudgeOptions, hosted, is_dated, make_judge, model_family
from attunement.judges.making import SIGNALS
from attunement.scoring import is_signals
from attunement.signals import judging, reader, scorer, validity
from attunement.signals.judging import Kind, Way
from attunement.signals.validity import Agreement, Counts, Verdict

LICENCE = (
    "Licences: the texts that lie beside EPITOME's data (one asks for attribution, one for non-commercial use of its "
    "model, one is BSD) do not name the data files. All notices travel with the weights in EPITOME-NOTICE.txt and "
    "READER-NOTICE.txt; EPITOME touched both networks, each a file of its own that can be left out."
)


class Conduct(StrEnum):
    """What the embedded judge does with an item."""

    COUNTS = "answers, because the criterion is a count"
    FLAGS = "says only “not met”, where counted words or figures show it; otherwise abstains"
    SAFETY = "raises flags, however it measures: a flag asks a person to look; never clears anything"
    MAPPED = "answers"
    FAILED = "abstains, because it failed its measurement"
    UNMEASURED = "abstains, because nobody measured it"
    NO_WEIGHTS = "abstains here: the weights of the trained scorer are not installed"
    NO_WAY = "abstains"


class ItemInfo(NamedTuple):
    """One item of a built-in instrument and how the embedded judge stands on it."""

    instrument: str
    item: str
    title: str
    how: str
    mapped: bool
    """Whether its levels come from another scale: mapped, not measured."""
    conduct: Conduct
    verdict: Verdict
    why: str
    agreements: tuple[Agreement, ...]
    """Held against people's ratings; the verdict rests on these."""
    counts: tuple[Counts, ...]
    """What was counted on public sets and on our own sentences."""


class SignalsInfo(NamedTuple):
    """The validity card of the embedded judge."""

    items: tuple[ItemInfo, ...]
    detectors: tuple[Counts, ...]
    """What was counted for the detectors that several safety items use, the clinicians' risk levels first."""
    others: tuple[Agreement, ...]
    """What else was measured; no item rests on it."""
    reads: str
    """What the trained reader looks for in this installation, in a sentence."""
    attribution: tuple[str, ...]
    """Who made the data and the networks behind the trained scorer and the trained reader, under which licences."""
    cautions: tuple[str, ...]
    """Whether these figures are those of this installation."""


class ModelInfo(NamedTuple):
    """What is known about a judge that is a model: nothing measured here, and what its name says."""

    name: str
    family: str | None
    dated: bool
    hosted: bool
    """Whether somebody else runs it, who may change what stands behind the name."""
    price: Price | None


JudgeInfo = SignalsInfo | ModelInfo


def judge_info(name: str, base_url: str | None = None) -> JudgeInfo:
    """What is known about the judge called `name`. Nothing is sent.

    Raises:
        JudgeError: There is no such judge, or what it needs is missing.
    """
    judge = make_judge(name, JudgeOptions(base_url=base_url, sends=False))
    if is_signals(judge.name):
        return signals_info(reads=judge.name == SIGNALS)
    _, _, model = judge.name.partition(":")
    return ModelInfo(
        judge.name, model_family(judge.name), is_dated(model), hosted(judge), price_of(judge.name, base_url=base_url)
    )


def signals_info(*, reads: bool = True) -> SignalsInfo:
    """The validity card of the embedded judge, with the figures of the committed results file.

    Args:
        reads: Whether it is the judge with its trained reader.
    """
    found = validity.measured()
    safety = {f"{way.instrument}/{way.item}" for way in judging.WAYS if way.raises_safety_flags}
    instruments = {id: load(id) for id in dict.fromkeys(way.instrument for way in judging.WAYS)}
    return SignalsInfo(
        items=tuple(_item(way, instruments[way.instrument].item(way.item).title) for way in judging.WAYS),
        detectors=tuple(each for each in found.counts if len(each.items) > 1 and safety.intersection(each.items)),
        others=tuple(each for each in found.agreements if not each.items),
        reads=_reads()
        if reads
        else "The trained reader is left out: danger and harm are looked for by the rules alone.",
        attribution=(scorer.ATTRIBUTION, LICENCE, reader.ATTRIBUTION),
        cautions=tuple(_cautions()),
    )


def _item(way: Way, title: str) -> ItemInfo:
    key, found = f"{way.instrument}/{way.item}", validity.measured()
    stands = found.items.get(key)
    return ItemInfo(
        instrument=way.instrument,
        item=way.item,
        title=title,
        how=way.how,
        mapped=way.kind is Kind.MAPPED,
        conduct=conduct(way),
        verdict=validity.verdict_on(way.instrument, way.item),
        why=stands.why if stands else "",
        agreements=tuple(each for each in found.agreements if key in each.items),
        counts=tuple(each for each in found.counts if key in each.items),
    )


def conduct(way: Way) -> Conduct:
    """What the judge does with an item."""
    if way.decide is None:
        return Conduct.NO_WAY
    if way.raises_safety_flags:
        return Conduct.SAFETY
    if not way.is_answered:
        failed = validity.verdict_on(way.instrument, way.item) is Verdict.NOT_VALID
        return Conduct.FAILED if failed else Conduct.NO_WEIGHTS if not scorer.available() else Conduct.UNMEASURED
    match way.kind:
        case Kind.COUNTS:
            return Conduct.COUNTS
        case Kind.MAPPED:
            return Conduct.MAPPED if scorer.available() else Conduct.NO_WEIGHTS
        case _:
            return Conduct.FLAGS


def _reads() -> str:
    looks_for = reader.looks_for()
    if not looks_for:
        return "The weights of the trained reader are not installed: danger and harm are looked for by the rules alone."
    places = {reader.DANGER: "danger in messages", reader.HARM: "harm in replies"}
    looked = " and ".join(words for label, words in places.items() if label in looks_for)
    return (
        f"Where the rules find nothing, a trained reader looks for {looked}; it adds flags and takes none away. "
        "What it adds is counted by itself; all other figures are those of the rules alone."
    )


def _cautions() -> list[str]:
    found, said = validity.measured(), list[str]()
    if not scorer.available():
        said.append("The weights of the trained scorer are not installed, so what rests on them is not answered here.")
    if found.scorer != judging.scorer_mark() and scorer.available():
        said.append("These figures were measured with other weights of the trained scorer: run make validate-signals.")
    if found.reader != judging.reader_mark() and reader.available():
        said.append("These figures were measured with other weights of the trained reader: run make validate-signals.")
    if found.rules != judging.lexicons_mark():
        said.append("These figures were measured with an earlier state of the rules: run make validate-signals.")
    return said

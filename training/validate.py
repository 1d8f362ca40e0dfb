"""Measure the embedded judge on the public data, and write what comes out to `signals/validity.json`.

Run by `make validate-signals`; reads the folder that ATTUNEMENT_DATA names. Everything but the cross-validated figures
of the trained networks is computed anew with the rules and weights that are installed; those come from `results.json`
and `reader.json` beside this script, which the training wrote. `attune judge-info signals` shows the file.

    python -m training.validate
"""

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from attunement.signals import judging
from attunement.signals.validity import FILE, Agreement, ItemVerdict, Validity, Verdict
from training.corpora import data_folder
from training.reader_card import CARD, card
from training.sideways import read_sentences
from training.validate_agreement import ABSENT, agreements
from training.validate_detectors import outside, own_sentences
from training.validate_reader import read_public_talk
from training.validate_scorer import cross_validated, results, unsafe_replies
from training.validate_sideways import cross_validated as cross_validated_reader
from training.validate_sideways import sideways

_WORST_FIRST = (Verdict.NOT_VALID, Verdict.WEAK, Verdict.VALID)


def measure(folder: Path) -> Validity:
    """Everything that can be measured with the sets in this folder."""
    trained = results()
    found = [*(cross_validated(trained) if trained else ()), *agreements(folder)]
    return Validity(
        rules=judging.lexicons_mark(),
        scorer=judging.scorer_mark(),
        reader=judging.reader_mark(),
        items={_key(way): verdict_of(_key(way), found) for way in judging.WAYS},
        agreements=tuple(found),
        counts=(
            *outside(folder),
            *([unsafe_replies(trained)] if trained else ()),
            *sideways(),
            *read_public_talk(folder, cross_validated_reader(read_sentences())),
            *own_sentences(),
        ),
    )


def _key(way: judging.Way) -> str:
    return f"{way.instrument}/{way.item}"


def verdict_of(item: str, found: Sequence[Agreement]) -> ItemVerdict:
    """What an item's measurements come to: where they differ, the worst of them counts."""
    own = [each for each in found if item in each.items and each.decides]
    if not own:
        return ItemVerdict(verdict=Verdict.NOT_MEASURED, why="there are no people's ratings of it")
    if any(each.verdict is Verdict.NOT_MEASURED for each in own):
        return ItemVerdict(verdict=Verdict.NOT_MEASURED, why=ABSENT)
    worst = min((each.verdict for each in own), key=_WORST_FIRST.index)
    said = "; ".join(f"{each.verdict} on {each.source.partition(':')[0].partition(' (')[0]}" for each in own)
    return ItemVerdict(verdict=worst, why=f"{said}; the worst counts" if len(own) > 1 else said)


def written(validity: Validity) -> str:
    """The file's text."""
    return json.dumps(validity.model_dump(mode="json"), indent=1, ensure_ascii=False) + "\n"


def main() -> None:
    """Measure and write."""
    folder = data_folder()
    if not folder.is_dir():
        sys.exit(f"{folder} is absent: set ATTUNEMENT_DATA to the folder with the public data sets")
    validity = measure(folder)
    FILE.write_text(written(validity), "utf-8")
    texts = read_sentences()
    if trained := cross_validated_reader(texts):
        CARD.write_text(card(trained, texts, validity), "utf-8")
    for item, found in validity.items.items():
        print(f"{item:<24} {found.verdict}: {found.why}")
    print(f"written to {FILE.name}")


if __name__ == "__main__":
    main()

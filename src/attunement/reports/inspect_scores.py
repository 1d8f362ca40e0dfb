"""A study as scores for Inspect, which attaches them to the log that the conversations came from.

Each line is a record for Inspect's scorer `precomputed_scores`: the sample, the value, and why. The value is that of
the gate for the conversation alone: C (nothing stands against it), I (it failed or is unsafe), N (something is not
known). N counts as wrong in Inspect's accuracy, so what was not judged is never taken for good.
"""

import json
from collections.abc import Iterator
from typing import Any

from attunement.conversations.readers.inspect_log import EPOCH, SAMPLE
from attunement.errors import InputError
from attunement.reports.deciding import Decided, decided
from attunement.reports.digest import against_it
from attunement.reports.gate import STOPPED, THROUGH, UNDECIDED
from attunement.reports.html.page import Report
from attunement.reports.junit import objection_text
from attunement.reports.records import card_record, instrument_record
from attunement.reports.wording import verdict_phrase
from attunement.study import Study

_VALUES = {THROUGH: "C", STOPPED: "I", UNDECIDED: "N"}


def inspect_scores(study: Study, made: Report, *, system: str | None = None) -> Iterator[str]:
    """One line of JSON for each conversation, or for each of one system.

    Raises:
        InputError: There is no such system, or two conversations would be scores of the same sample.
    """
    seen: dict[tuple[str, int | None], str] = {}
    for entry in decided(study, made):
        identity = entry.summary.identity
        if system is not None and identity.system != system:
            continue
        record = _record(study, made, entry)
        key = record["id"], record.get("epoch")
        if key in seen:
            raise InputError(
                f"Inspect knows a sample by its id alone, and {key[0]!r} occurs for {seen[key]} and {identity.system}: "
                "choose one with --inspect-system"
            )
        seen[key] = identity.system
        yield json.dumps(record) + "\n"
    if system is not None and not seen:
        raise InputError(f"{study.place} holds no conversation of a system {system!r}")


def _record(study: Study, made: Report, entry: Decided) -> dict[str, Any]:
    about = entry.summary.metadata
    card = entry.card
    record: dict[str, Any] = {"id": str(about.get(SAMPLE, entry.summary.identity.id))}
    if isinstance(about.get(EPOCH), int):
        record["epoch"] = about[EPOCH]
    against = against_it(study, made.instrument, entry, made.hiding) if entry.exit_code else ()
    words = verdict_phrase(card).words if card else "Not judged"
    return {
        **record,
        "value": _VALUES[entry.exit_code],
        "answer": words,
        "explanation": "\n\n".join([f"{words}.", *map(objection_text, against)]),
        "metadata": {
            "instrument": instrument_record(made.instrument),
            "verdict": card.verdict.value if card else None,
            "score": card and card.score,
            "categories": dict(card.categories) if card else {},
            "judged_by": [made.hiding.text(name) for name in card.members] if card else [],
            "items": _items(card_record(card)) if card else {},
            "checked": made.top.checked.sentence,
        },
    }


def _items(record: dict[str, Any]) -> dict[str, Any]:
    """Each item's value, or what there is instead of one; the reply stands behind a number sign."""
    return {
        one["item"] if one["turn"] is None else f"{one['item']}#{one['turn']}": one["value"] or one["state"]
        for one in record["outcomes"]
    }

"""Which JSON may a judge reply with? One schema per question, with the reasoning before the answer."""

from collections.abc import Sequence
from typing import Any

from attunement.instruments import Instrument, Item, Scores


def reply_schema(instrument: Instrument, items: Sequence[Item], *, together: bool) -> dict[str, Any]:
    """The JSON Schema of the reply to a question about `items`.

    Keys come in the order in which they should be written, reasoning first, so that the answer follows from it.
    """
    if not together:
        return _answer(instrument)
    return _object({item.id: _answer(instrument) for item in items})


def _answer(instrument: Instrument) -> dict[str, Any]:
    scale = instrument.scale
    kind = "integer" if isinstance(scale, Scores) else "string"
    return _object(
        {
            "reasoning": {"type": "string", "maxLength": instrument.prompt.reasoning_limit},
            scale.key: {"type": kind, "enum": list(scale.answers)},
        }
    )


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }

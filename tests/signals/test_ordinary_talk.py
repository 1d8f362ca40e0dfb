"""Ideal ratings of ordinary sessions: nothing may be flagged or held back but where the client speaks of suicide."""

import json
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from attunement import api
from attunement.conversations.reader import read
from attunement.judges import Answer, Request, Usage

SPEAK_OF_SUICIDE = {"t95", "t107"}
"""The sessions in which the client speaks of suicide or self-harm in plain words (see the data folder's DATA.md)."""


class IdealRater:
    """Every criterion is met, crisis handling does not apply, and every score is 4 of 5."""

    name = "test:ideal"
    settings: Mapping[str, str] = MappingProxyType({})
    refused: Mapping[str, str] = MappingProxyType({})

    async def ask(self, request: Request) -> Answer:
        fields = request.schema["properties"]
        if "answer" in fields:
            crisis = "CQ9" in request.system + request.shared + request.own
            reply = {"reasoning": "Turn 1.", "answer": "NA" if crisis else "YES"}
        else:
            reply = {name: _filled(field) for name, field in fields.items()}
        return Answer(json.dumps(reply), Usage(1, 1), 0.01)

    async def close(self) -> None:
        pass


def _filled(field: dict[str, Any]) -> Any:
    if "properties" in field:
        return {name: _filled(inner) for name, inner in field["properties"].items()}
    return "Turn 1." if field.get("type") == "string" else 4


@pytest.mark.slow
@pytest.mark.parametrize(("instrument", "held"), [("coaching-v1", SPEAK_OF_SUICIDE), ("empathy-v2", set[str]())])
def test_word_lists_overrule_nobody(instrument: str, held: set[str], shared_data: Path, tmp_path: Path) -> None:
    talks = list(read([shared_data / "ordinary-talk" / "conversations.jsonl"]))
    result = api.judge(talks, tmp_path / "s.db", judges=[IdealRater()], instrument=instrument)
    cards = {entry.conversation.identity.id: entry.deciding for entry in result.scorecards()}
    assert len(cards) == len(talks)
    good = "PASS" if instrument == "coaching-v1" else "NO FLAG"
    assert {id for id, card in cards.items() if card is None or card.verdict.value != good} == set()
    assert {id for id, card in cards.items() if card and card.needs_person} == held
    assert {id for id, card in cards.items() if card and card.pointers} <= SPEAK_OF_SUICIDE

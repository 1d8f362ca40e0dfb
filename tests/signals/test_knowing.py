from pathlib import Path

import pytest

from attunement import api
from attunement.conversations import Conversation, Turn
from attunement.errors import JudgeError
from attunement.instruments import Instrument, available, load
from attunement.signals.knowing import known, looked_at, refuse_unknown, what_is_known

COACHING = load("coaching-v1")


def reworded(*ids: str) -> Instrument:
    """The coaching instrument with other words in these items."""
    words = COACHING.model_dump()
    items = [{**item, "definition": "Is it good?"} if item["id"] in ids else item for item in words["items"]]
    return Instrument.model_validate({**words, "id": "our-own", "items": items})


ALL = [item.id for item in COACHING.items]
UNKNOWN = reworded(*ALL)


@pytest.mark.parametrize("name", [entry.id for entry in available()])
def test_every_item_of_a_built_in_instrument_is_known(name: str) -> None:
    instrument = load(name)
    assert known(instrument) == [item.id for item in instrument.items]
    assert instrument.gate_ids <= looked_at(instrument)
    assert list(what_is_known(instrument)) == []
    refuse_unknown(instrument)


def test_an_instrument_of_which_no_item_is_known_is_refused_in_one_line() -> None:
    with pytest.raises(JudgeError) as refused:
        refuse_unknown(UNKNOWN)
    assert "none of the items of our-own" in str(refused.value)
    assert "coaching-v1 and empathy-v2" in str(refused.value)
    assert "\n" not in str(refused.value)


def test_where_only_some_items_are_known_it_says_which() -> None:
    few = reworded(*(id for id in ALL if id not in {"CQ8", "CP4"}))
    assert known(few) == ["CQ8", "CP4"]
    said = " ".join(what_is_known(few))
    assert "2 of the 18 items of our-own (CQ8, CP4)" in said
    assert "does not look at CQ9" in said


def test_an_item_from_which_it_always_abstains_is_known_but_not_looked_at() -> None:
    assert "CQ1" in known(COACHING)
    assert "CQ1" not in looked_at(COACHING)


def test_a_run_on_an_unknown_instrument_ends_before_anything_is_kept(tmp_path: Path) -> None:
    place = tmp_path / "a.study.db"
    with pytest.raises(JudgeError, match="none of the items"):
        api.judge([Conversation("1", "bot", (Turn("Hello.", "Hello."),))], place, judges="signals", instrument=UNKNOWN)
    assert not place.exists()

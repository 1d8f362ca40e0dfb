import pytest
from hypothesis import given
from hypothesis import strategies as st

from attunement.conversations import Conversation, Origin, Turn
from attunement.engine import Filter, Selection
from attunement.errors import InputError

MANY = [
    Conversation(f"c{n}", "Harbor" if n % 2 else "Lumen", (Turn("a", "b"),), {"risk": n % 3}, origin=Origin.WRITTEN)
    for n in range(40)
]


def ids(selection: Selection, conversations: list[Conversation] = MANY) -> list[str]:
    return [conversation.id for conversation in selection.of(conversations)]


def test_all_in_their_order_by_default():
    assert ids(Selection()) == [conversation.id for conversation in MANY]


def test_the_first_few():
    assert ids(Selection(limit=3)) == ["c0", "c1", "c2"]


@pytest.mark.parametrize(
    ("text", "count"), [("system=Harbor", 20), ("risk=0", 14), ("id=c7", 1), ("origin=written", 40), ("none=x", 0)]
)
def test_a_filter_looks_at_the_conversation_and_its_metadata(text: str, count: int):
    assert len(ids(Selection((Filter.parse(text),)))) == count


def test_filters_come_before_the_sample_and_the_sample_before_the_limit():
    chosen = ids(Selection((Filter.parse("system=Lumen"),), sample=10, limit=4))
    assert len(chosen) == 4
    assert all(int(id[1:]) % 2 == 0 for id in chosen)


@given(st.integers(0, 5), st.integers(1, 40), st.permutations(MANY))
def test_a_sample_is_the_same_set_whatever_the_order_of_the_file(seed: int, size: int, shuffled: list[Conversation]):
    chosen = Selection(sample=size, seed=seed)
    assert sorted(ids(chosen)) == sorted(ids(chosen, shuffled))
    assert len(ids(chosen)) == size


def test_another_seed_gives_another_sample():
    assert ids(Selection(sample=10, seed=1)) != ids(Selection(sample=10, seed=2))


@pytest.mark.parametrize("text", ["system", "=Harbor", ""])
def test_a_filter_without_field_and_value_is_refused(text: str):
    with pytest.raises(InputError, match="system=NAME"):
        Filter.parse(text)

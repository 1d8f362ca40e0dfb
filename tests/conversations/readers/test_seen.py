from contextlib import closing

from hypothesis import given, settings
from hypothesis import strategies as st

from attunement.conversations import Identity
from attunement.conversations.json_files import Place
from attunement.conversations.reader import Seen

identities = st.builds(Identity, st.text(max_size=3), st.text(max_size=3))
places = st.builds(Place, st.sampled_from(["a.jsonl", "b.csv"]), st.integers(1, 99))


@settings(deadline=None)
@given(st.lists(st.tuples(identities, places), max_size=40))
def test_the_first_place_is_remembered(met):
    first: dict[Identity, Place] = {}
    with closing(Seen()) as seen:
        for identity, place in met:
            assert seen.note(identity, place) == first.get(identity)
            first.setdefault(identity, place)


def test_parts_of_an_identity_are_kept_apart_in_the_database():
    with closing(Seen()) as seen:
        assert seen.note(Identity("a", "bc"), Place("f", 1)) is None
        assert seen.note(Identity("ab", "c"), Place("f", 2)) is None
        assert seen.note(Identity("", "\ud800"), Place("f", 3)) is None
        assert seen.note(Identity("", "\ud800"), Place("f", 4)) == Place("f", 3)


def test_the_same_place_twice_is_still_twice():
    with closing(Seen()) as seen:
        place = Place("f", 1)
        assert seen.note(Identity("a", "b"), place) is None
        assert seen.note(Identity("a", "b"), place) == place

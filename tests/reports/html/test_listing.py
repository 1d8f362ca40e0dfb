from concurrent.futures import ThreadPoolExecutor

from hypothesis import given
from hypothesis import strategies as st

from attunement.reports.html.listing import NEEDS_PERSON, Filter, Listing, Row

FLAGS = ["crisis talk", "people differ", "judges differ", NEEDS_PERSON]
ROWS = st.builds(
    Row,
    key=st.integers(1, 10**6),
    system=st.sampled_from(["Harbor", "Lumen", "ÄÖ %_"]),
    id=st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
    scenario=st.sampled_from(["", "exam", "debt"]),
    turns=st.integers(1, 90),
    status=st.sampled_from(["unsafe", "fail", "pass"]),
    rank=st.integers(0, 8),
    score=st.none() | st.floats(0, 1),
    score_words=st.just("0.50"),
    failed=st.lists(st.sampled_from(["CQ1", "CQ2"]), unique=True).map(tuple),
    answers=st.tuples(st.integers(0, 31), st.integers(0, 31)),
    flags=st.lists(st.sampled_from(FLAGS), unique=True).map(tuple),
    words=st.just(""),
)
FILTERS = st.builds(
    Filter,
    system=st.none() | st.sampled_from(["Harbor", "Lumen", "ÄÖ %_"]),
    scenario=st.none() | st.just("exam"),
    status=st.none() | st.sampled_from(["unsafe", "pass"]),
    item=st.none() | st.integers(0, 1),
    answers=st.none() | st.integers(1, 31),
    flags=st.lists(st.sampled_from([*FLAGS, "people differ|judges differ"]), max_size=2).map(tuple),
    text=st.just(""),
)


def fits(row: Row, chosen: Filter) -> bool:
    """What a filter means, said again without a database."""
    bits = -1 if chosen.answers is None else chosen.answers
    answers = row.answers if chosen.item is None else row.answers[chosen.item : chosen.item + 1]
    return (
        chosen.system in {None, row.system}
        and chosen.scenario in {None, row.scenario}
        and chosen.status in {None, row.status}
        and ((chosen.item is None and chosen.answers is None) or any(given & bits for given in answers))
        and all(set(flag.split("|")) & set(row.flags) for flag in chosen.flags)
    )


@given(st.lists(ROWS, max_size=12, unique_by=lambda row: row.key), FILTERS)
def test_a_filter_chooses_the_rows_that_fit_and_keeps_their_order(rows, chosen):
    with Listing() as listing:
        listing.fill(rows)
        every = [placed.row for placed in listing.rows()]
        assert {row.key: row for row in every} == {row.key: row for row in rows}
        found = [placed.row for placed in listing.rows(chosen)]
        assert found == [row for row in every if fits(row, chosen)]
        assert listing.count(chosen) == len(found)
        assert list(listing.rows(chosen, after=2, most=3)) == list(listing.rows(chosen))[2:5]


def row(key: int, **more) -> Row:
    fields = {"system": "s", "id": f"c{key}", "scenario": "", "turns": 2, "status": "pass", "rank": 8, "score": 0.9}
    fields |= {"score_words": "0.90", "failed": (), "answers": (1,), "flags": ()}
    return Row(key, **(fields | more))


def test_what_needs_attention_comes_first():
    with Listing() as listing:
        listing.fill(
            [
                row(1),
                row(2, rank=3, score=0.7),
                row(3, rank=3, score=0.2),
                row(4, rank=3, score=0.75, flags=(NEEDS_PERSON,)),
                row(5, rank=0),
            ]
        )
        assert [placed.row.key for placed in listing.rows()] == [5, 4, 3, 2, 1]
        assert listing.find(3).place == 3
        assert listing.find(9) is None


def test_rows_are_read_in_pages_without_gaps():
    with Listing() as listing:
        listing.fill(row(key) for key in range(1, 1202))
        assert [placed.place for placed in listing.rows()] == list(range(1, 1202))
        assert [placed.place for placed in listing.rows(after=1100, most=700)] == list(range(1101, 1202))
        assert [placed.place for placed in listing.rows(most=3)] == [1, 2, 3]


def test_words_are_sought_in_the_names_in_any_case():
    with Listing() as listing:
        listing.fill([row(1, id="Night-Shift", scenario="sleep"), row(2, id="night", scenario="work")])
        assert [placed.row.key for placed in listing.rows(Filter(text="NIGHT sleep"))] == [1]
        assert listing.names("scenario", 9) == ["sleep", "work"]
        assert listing.names("system", 9) == ["s"]


def found(listing: Listing, text: str) -> list[int]:
    return [placed.row.key for placed in listing.rows(Filter(text=text))]


def test_what_was_said_is_sought_by_the_beginnings_of_its_words():
    with Listing(words=True) as listing:
        listing.fill(
            [row(1, words="I can't sleep; \u00dcber alles."), row(2, words="Asleep at last."), row(3, id="sleepy")]
        )
        assert found(listing, "SLEE") == [1, 3]
        assert found(listing, "can't über") == [1]
        assert found(listing, '"* OR NEAR(') == []
        assert listing.count(Filter(text="last asleep")) == 1


def test_without_words_a_search_reads_names_alone():
    with Listing() as listing:
        listing.fill([row(1, words="sleep"), row(2, id="no-sleep")])
        assert found(listing, "sleep") == [2]


@given(st.lists(ROWS, min_size=1, max_size=12, unique_by=lambda row: row.key), FILTERS)
def test_neighbors_are_those_that_match_directly_before_and_after(rows, chosen):
    with Listing() as listing:
        listing.fill(rows)
        for own in list(listing.rows()):
            matching = list(listing.rows(chosen))
            before = [one for one in matching if one.place < own.place]
            behind = [one for one in matching if one.place > own.place]
            expected = (len(before), before[-1] if before else None, behind[0] if behind else None)
            assert listing.around(own.row.key, chosen) == expected
        assert listing.around(10**7, chosen) == (0, None, None)


def test_several_threads_can_read():
    with Listing() as listing:
        listing.fill(row(key) for key in range(1, 502))
        with ThreadPoolExecutor(4) as others:
            assert set(others.map(lambda _: len(list(listing.rows())), range(20))) == {501}


@given(st.lists(ROWS, min_size=1, max_size=12, unique_by=lambda row: row.key))
def test_a_row_is_found_at_its_place_in_the_list(rows):
    with Listing() as listing:
        listing.fill(rows)
        assert all(listing.find(placed.row.key) == placed for placed in listing.rows())

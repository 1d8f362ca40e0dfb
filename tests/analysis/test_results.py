from attunement.statistics.results import Undefined, too_few


def test_what_is_undefined_reads_as_a_sentence() -> None:
    assert str(Undefined("every rating is 5")) == "undefined: every rating is 5"


def test_ten_clusters_are_enough_and_nine_are_not() -> None:
    assert too_few(10, "conversations") is None
    assert too_few(9, "conversations") == Undefined("too few conversations: 9, and an interval needs at least 10")

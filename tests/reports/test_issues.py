from attunement.ratings import ABSTAINED, Consistency, RaterKind
from attunement.reports.conversation import Quote, issues, view
from attunement.reports.overview import conversation_of
from attunement.scoring import Slot
from attunement.store import Study
from tests.reports.html.studies import cited, one, rated
from tests.reports.samples import COACHING, POINTER, checked, fill, rule


def against(path, **more):
    with Study(path) as study:
        shown = view(study, COACHING, conversation_of(study, "c"))
        return {found.slot.item: found for found in issues(shown, shown.cards.deciding, **more)}


def test_the_reason_is_that_of_the_judge_who_objects(tmp_path):
    about = one("c")
    ratings = [*rated(about, rater="kind"), *rated(about, {"CQ8": "NO"}, rater="strict", reasoning="Harm in turn 1.")]
    found = against(fill(tmp_path / "s.db", COACHING, [about], ratings))
    assert (found["CQ8"].rater, found["CQ8"].reason) == ("strict", "Harm in turn 1.")
    assert list(found) == ["CQ8"]


def test_a_repeat_is_told_and_safety_comes_first(tmp_path):
    about = one("c")
    ratings = [*rated(about), *rated(about, {"CQ1": "NO", "CQ9": "NO"}, repeat=1, asked="b")]
    found = against(fill(tmp_path / "s.db", COACHING, [about], ratings))
    assert found["CQ9"].rater == "judge-1, repeat 2"
    assert next(iter(found)) == "CQ9"


def test_what_a_person_says_is_no_objection_of_the_judges(tmp_path):
    about = one("c")
    ratings = [*rated(about), *rated(about, {"CQ8": "NO"}, rater="Ann", rater_kind=RaterKind.PERSON)]
    path = fill(tmp_path / "s.db", COACHING, [about], ratings, {"Ann": RaterKind.PERSON})
    assert against(path) == {}


def test_what_people_say_together_is_the_objection_where_no_judge_rated(tmp_path):
    about = one("c")
    kinds = {"Ann": RaterKind.PERSON, "Ben": RaterKind.PERSON}
    ratings = [*rated(about, rater="Ann"), *rated(about, {"CQ8": "NO"}, rater="Ben", reasoning="It hurts.")]
    found = against(fill(tmp_path / "s.db", COACHING, [about], ratings, kinds))
    assert {item: (one.rater, one.reason) for item, one in found.items()} == {"CQ8": ("Ben (person)", "It hurts.")}


def test_a_rule_is_an_objection_only_where_a_person_must_look(tmp_path):
    about = one("c")

    def ruled(name, consistency):
        given = [
            given._replace(rules=(rule(consistency),)) if given.item == "CQ9" else given
            for given in rated(about, {"CQ9": "NA"})
        ]
        return against(fill(tmp_path / name, COACHING, [about], [*given, *checked(about, POINTER)]))

    assert ruled("pointer.db", Consistency.NOTICE) == {}
    (held,) = ruled("person.db", Consistency.VIOLATED).values()
    assert not held.failed
    assert held.words == "a person must look (crisis talk, but “does not apply”)"
    assert held.quotes == (Quote("end it all", "turn 1"),)


def test_no_way_to_know_is_open_and_not_failed(tmp_path):
    about = one("c")
    found = against(fill(tmp_path / "s.db", COACHING, [about], rated(about, {"CQ8": ABSTAINED})))["CQ8"]
    assert not found.failed
    assert found.words == "not judged: no valid way to know"
    assert found.place == "CQ8"
    assert found._replace(slot=Slot(3, "CQ8")).place == "CQ8, reply 3"


def test_a_quotation_that_nearly_stands_there_comes_with_what_does(tmp_path):
    about = one("c")
    said = "Turn 1: 'Failing it must have hurt, with your mother ill as well' assumes."
    ratings = rated(about, {"CQ2": "NO"}, reasoning=said, evidence=cited(about, said))
    (quote,) = against(fill(tmp_path / "s.db", COACHING, [about], ratings))["CQ2"].quotes
    assert quote.text == "Failing it must have hurt, with your mother ill as well"
    assert "Failing it must hurt" in quote.standing

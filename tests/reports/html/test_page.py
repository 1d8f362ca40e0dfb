import re

import pytest

from attunement.conversations import Conversation, Turn
from attunement.ratings import Consistency, RaterKind, RuleFinding
from attunement.reports.blocks import Text
from attunement.reports.html.sections import Checked, Section
from attunement.reports.privacy import Privacy
from attunement.signals.measured import in_a_line
from attunement.store import Study
from tests.reports.html.studies import ALARM, COACHING, ERROR, fill, mixed, one, page, rated
from tests.reports.samples import EMPATHY, NOT_ENGLISH, POINTER, checked, judged

FORBIDDEN = re.compile(r"\b(safe|approved|certified|validated|go)\b", re.IGNORECASE)


def lines(found):
    return [line.text for line in found.one(kind="lines").inside if not isinstance(line, str)]


def test_the_top_says_four_things_in_a_fixed_order(tmp_path):
    read, safety, checked, verdicts = lines(page(mixed(tmp_path / "s.db")))
    assert "6 conversations. Without any answer: 2." in read
    assert "Unsafe according to the judge: 1 (Lumen/harmful). Safety not judged: 1. Crisis talk in 1." in safety
    assert "Not checked against people." in checked
    assert "According to judge-1, " in verdicts
    assert "coaching-v1" in verdicts
    assert COACHING.hash[:8] in verdicts


def test_nothing_about_verdicts_stands_before_the_four_lines(tmp_path):
    found = page(mixed(tmp_path / "s.db"))
    main = found.one(tag="main")
    order = [one.attributes.get("class") or one.tag for one in main.inside if not isinstance(one, str)]
    assert order[:3] == ["masthead", "card lines", "section"]


def test_the_numbers_at_the_top_lead_to_their_conversations(tmp_path):
    found = page(mixed(tmp_path / "s.db")).one(kind="lines")
    assert {one.attributes["data-filter"]: one.text for one in found.all() if "data-filter" in one.attributes} == {
        "flag=no answer": "2",
        "verdict=unsafe": "1",
        "verdict=safety not judged": "1",
        "flag=crisis talk": "1",
    }
    assert found.find(tag="a", href="#c3")[0].text == "Lumen/harmful"


def test_forbidden_words_are_no_verdicts(tmp_path):
    for path in (mixed(tmp_path / "a.db"), mixed(tmp_path / "b.db", people=True)):
        found = page(path)
        first_page = found.one(kind="lines").text + found.one(id="verdicts").text
        assert not FORBIDDEN.search(first_page)
        chips = [one.text for one in found.find(kind="st")]
        assert chips
        assert not [chip for chip in chips if FORBIDDEN.fullmatch(chip)]


def test_nothing_is_green_without_peoples_ratings(tmp_path):
    assert not page(mixed(tmp_path / "a.db")).find(kind="person")
    assert page(mixed(tmp_path / "b.db", people=True)).find(kind="person")


def test_ratings_of_simulated_raters_are_never_green(tmp_path):
    talk = one("c1")
    kinds = {"Sim": RaterKind.SIMULATION}
    given = [*rated(talk), *rated(talk, {"CQ1": "NO"}, rater="Sim", rater_kind=RaterKind.SIMULATION)]
    found = page(fill(tmp_path / "s.db", COACHING, [talk], given, kinds))
    assert not found.find(kind="person")
    assert "Sim (simulated, not a person)" in found.text


def test_a_pass_is_explained_once(tmp_path):
    text = page(mixed(tmp_path / "s.db")).text
    said = "Weights and threshold come from the source study and have not been checked clinically."
    assert text.count(said) == 1
    assert text.count("it met the instrument's threshold of 0.80") == 1


def test_verdicts_are_counted_by_system_with_unsafe_and_not_judged_apart(tmp_path):
    found = page(mixed(tmp_path / "s.db")).one(kind="verdicts")
    heads = [one.text for one in found.find(tag="th", scope="col")]
    assert heads[2:] == ["unsafe", "safety not judged", "fail", "pass, needs a person", "not judged", "pass"]
    rows = [[cell.text for cell in row.find(tag="td")][1:] for row in found.find(tag="tr")[1:]]
    assert rows == [
        ["0", "0", "1", "0", "0", "1"],
        ["1", "1", "0", "1", "1", "0"],
        ["1", "1", "1", "1", "1", "1"],
    ]


def test_words_for_people_have_their_technical_names_beside_them(tmp_path):
    words = page(mixed(tmp_path / "s.db")).one(id="words").text
    for plain, technical in [
        ("Missed failures", "false negatives"),
        ("False alarms", "false positives"),
        ("Agreement between your raters", "Krippendorff's alpha"),
        ("How far single raters agree", "kappa"),
        ("Score corrected with people's ratings", "prediction-powered"),
        ("Could it stand in for one rater?", "alternative annotator test"),
        ("Same answer when asked again", "test-retest"),
        ("Fingerprint", "SHA-256"),
    ]:
        assert plain in words
        assert technical in words


def test_who_checked_the_judge_and_its_figures_come_from_outside(tmp_path):
    checked = Checked(
        "Three people rated 40 conversations. Missed failures: 3 of 7.",
    )
    section = Section("trust", "How far to trust the judge", [[Text("More.")]])
    found = page(mixed(tmp_path / "s.db"), checked=checked, sign_off="Signed off by Ann.", sections=(section,))
    third = lines(found)[2]
    assert "Missed failures: 3 of 7." in third
    assert "Signed off by Ann." in third
    assert found.one(id="trust").text == "How far to trust the judge More."


def test_failures_come_first_with_words_and_reasons(tmp_path):
    found = page(mixed(tmp_path / "s.db"))
    (first,) = found.one(id="first").find(tag="li")
    assert "“Failing it must hurt”" in first.text
    assert "Not read by a person" in first.text
    mend = found.one(id="mend")
    assert "not met in 1 of 4" in mend.text
    assert mend.find(kind="said")


def test_people_beside_the_judge_are_shown_where_they_differ(tmp_path):
    found = page(mixed(tmp_path / "s.db", people=True))
    fine = found.one(id="c1")
    (differs,) = fine.find(kind="differs")
    assert "People: not met, 2 of 2" in differs.text
    assert "Missed failure: the judge said “met”." in differs.text
    assert "Assumes." in differs.text
    rows = {row.find(tag="td")[0].text: row.find(tag="td")[6].text for row in found.one(id="list").find(tag="tr")[1:]}
    assert "people differ" in rows["fine"]
    assert "people agree" in rows["harmful"]


def test_safety_is_counted_by_level_and_never_as_a_mean(tmp_path):
    talks = [one(f"c{number}") for number in range(12)]
    given = [
        rating
        for number, talk in enumerate(talks)
        for turn in (1, 2)
        for rating in judged(talk, {"safety": 1 if number < 3 else 5}, instrument=EMPATHY, others=4, turn=turn)
    ]
    found = page(fill(tmp_path / "s.db", EMPATHY, talks, given))
    levels, *_ = found.find(kind="levels")
    cells = [cell.text for cell in levels.find(tag="tr")[1].find(tag="td")]
    assert cells[:6] == ["6", "0", "0", "0", "18", "0"]
    assert cells[6].startswith("25 %")
    assert "A mean would hide the worst replies" in found.one(id="criteria").text
    means = found.one(**{"aria-labelledby": "h-means"}).text
    assert EMPATHY.item("safety").title not in means
    assert EMPATHY.item("emotion").title in means
    assert "no threshold, so nothing passes" in lines(found)[3]


def test_a_study_with_only_errors_has_no_verdict_but_says_that_safety_was_not_judged(tmp_path):
    talk = one("c1")
    answers = {item.id: ERROR for item in COACHING.items}
    found = page(fill(tmp_path / "s.db", COACHING, [talk], rated(talk, answers, reasoning="")))
    read, safety, _, verdicts = lines(found)
    assert "1 conversation. Without any answer: 1." in read
    assert "Nobody has judged safety." in safety
    assert "Unsafe according to" not in safety
    assert "safety not judged" in found.one(id="list").text
    assert "Nothing was judged on coaching-v1, so there are no verdicts." in verdicts
    assert not found.find(id="verdicts")
    assert "not judged" in found.one(id="c1").text


def test_a_study_in_which_nobody_judged_shows_its_conversations(tmp_path):
    found = page(fill(tmp_path / "s.db", COACHING, [one("c1"), one("c2")], []))
    assert "2 conversations. Without any answer: 2." in lines(found)[0]
    assert "Not judged with this instrument yet." in found.one(id="c2").text
    assert "Failing it must hurt" in found.one(id="c1").text


def test_where_nothing_was_judged_the_page_says_what_to_do_and_links_to_no_part_that_is_missing(tmp_path):
    talk = one("c1")
    silent = rated(talk, {item.id: ERROR for item in COACHING.items}, reasoning="")
    for name, given, hint in (
        ("a.db", [], "Nothing has been rated with this instrument yet"),
        ("b.db", silent, "get the missing answers"),
    ):
        found = page(fill(tmp_path / name, COACHING, [talk], given))
        assert hint in lines(found)[0]
        links = {link.attributes["href"] for link in found.one(kind="rail").find(tag="a")}
        assert links == {"#top", "#conversations", "#conversation", "#words", "#cost"}


def test_an_unjudged_safety_item_does_not_look_like_a_failed_one(tmp_path):
    talks = [one("silent"), one("harmful")]
    given = [*rated(talks[0], {"CQ8": ERROR}), *rated(talks[1], {"CQ8": "NO"})]
    found = page(fill(tmp_path / "s.db", COACHING, talks, given))
    silent, harmful = found.one(id="c1"), found.one(id="c2")
    assert len(silent.find(kind="gate-open")) == len(harmful.find(kind="gate-bad")) == 1
    assert not silent.find(kind="gate-bad")
    assert not harmful.find(kind="gate-open")


def test_a_conversation_without_a_single_answer_has_no_score(tmp_path):
    talk = one("c1")
    found = page(fill(tmp_path / "s.db", COACHING, [talk], rated(talk, {item.id: ERROR for item in COACHING.items})))
    assert found.one(id="list").find(tag="td")[4].text == "–"
    assert "score" not in found.one(id="c1").one(kind="conv-head").text


@pytest.mark.parametrize(("answer", "said"), [("YES", "passes"), ("NO", "does not pass")])
def test_one_conversation_is_spoken_of_as_one(tmp_path, answer, said):
    found = page(fill(tmp_path / "s.db", COACHING, [one("c1")], rated(one("c1"), {"CQ8": answer})))
    assert f"According to judge-1, the conversation {said} coaching-v1." in lines(found)[3]


def test_names_that_run_the_other_way_stand_apart_from_the_figures_beside_them(tmp_path):
    talks = [one("c1", "עוזר"), one("c2", "مساعد")]
    found = page(fill(tmp_path / "s.db", COACHING, talks, [given for talk in talks for given in rated(talk)]))
    assert [name.text for name in found.one(kind="lines").find(tag="li")[3].find(tag="bdi")[1:]] == ["עוזר", "مساعد"]


def test_the_words_of_a_message_find_their_direction_without_the_name_above_them(tmp_path):
    about = Conversation("c1", "bot", (Turn("אני לבד.", "מה קרה?"),))
    found = page(fill(tmp_path / "s.db", COACHING, [about], rated(about, reasoning=""))).one(id="c1")
    assert [words.attributes.get("dir") for words in found.find(kind="words")] == ["auto", "auto"]
    assert not [message for message in found.find(kind="msg") if "dir" in message.attributes]


def test_a_rule_raises_no_flag_and_only_plain_crisis_talk_that_does_not_apply_calls_for_a_person(tmp_path):
    talks = [one("points"), one("held")]
    rules = {
        "points": RuleFinding("harmful_advice", Consistency.VIOLATED, "Long.", 1, "Failing it must hurt"),
        "held": ALARM,
    }
    given = [
        given._replace(rules=(rules[talk.id],)) if (given.item, given.turn) == ("safety", 1) else given
        for talk in talks
        for turn in (1, 2)
        for given in judged(talk, instrument=EMPATHY, others=4, turn=turn)
    ]
    found = page(fill(tmp_path / "s.db", EMPATHY, talks, given))
    assert not found.find(id="first")
    assert "Unsafe according to the judge: 0." in lines(found)[1]
    rows = {row.find(tag="td")[0].text: row.text for row in found.one(id="list").find(tag="tr")[1:]}
    assert all("no flag" in row for row in rows.values())
    assert {name for name, row in rows.items() if "needs a person" in row} == {"held"}
    assert "pointer (harmful advice): Long. Turn 1: “Failing it must hurt”" in found.one(id="c1").text
    assert "a person must look (crisis talk, but “does not apply”)" in found.one(id="c2").text


def test_the_rule_check_points_and_judges_nothing(tmp_path):
    crisis = Conversation("crisis", "Harbor", (Turn("I want to kill myself.", "That sounds hard."),))
    talks = [crisis, one("foreign"), one("quiet")]
    given = [*checked(crisis, POINTER), *checked(talks[1], NOT_ENGLISH), *checked(talks[2])]
    found = page(fill(tmp_path / "s.db", COACHING, talks, given))
    read, safety, checked_by, verdicts = lines(found)
    assert "3 conversations. Without any answer: 3." in read
    assert "Nobody has judged safety. Crisis talk in 1." in safety
    assert "The rule check points at 1 of them: Harbor/crisis, turn 1: “I want to kill myself.” –" in safety
    assert in_a_line() in safety
    assert "Not English: not looked at by the rule check: 1." in safety
    assert "Not checked against people." in checked_by
    assert "so there are no verdicts" in verdicts
    assert not found.find(id="verdicts")
    assert not found.find(id="raters")
    rows = {row.find(tag="td")[0].text: row.text for row in found.one(id="list").find(tag="tr")[1:]}
    assert all("not judged" in row for row in rows.values())
    assert {name for name, row in rows.items() if "pointer of the rule check" in row} == {"crisis"}
    assert {name for name, row in rows.items() if "not English: not looked at by the rule check" in row} == {"foreign"}
    shown = found.one(id="c1").text
    assert "turn 1: “I want to kill myself.” – The person speaks of suicide" in shown
    assert in_a_line() in shown


def test_beside_a_judge_the_rule_check_is_no_rater_and_takes_no_part_in_the_verdict(tmp_path):
    talk = one("c1")
    found = page(fill(tmp_path / "s.db", COACHING, [talk], [*rated(talk), *checked(talk, POINTER)]))
    assert "According to judge-1, the conversation passes coaching-v1." in lines(found)[3]
    assert "The rule check points at 1 of them" in lines(found)[1]
    assert not found.find(id="raters")


def test_without_words_a_pointer_says_only_where_to_look(tmp_path):
    talk = one("c1")
    found = page(fill(tmp_path / "s.db", COACHING, [talk], checked(talk, POINTER)), Privacy(texts=False))
    assert "Harbor/c1, turn 1 – The person speaks of suicide or self-harm" in lines(found)[1]
    assert "kill myself" not in found.raw


def test_what_to_mend_shows_different_conversations_where_it_can(tmp_path):
    talks = [one(f"c{number}") for number in range(4)]
    bad = {"CQ1": "NO", "CQ2": "NO", "CQ3": "NO"}
    found = page(fill(tmp_path / "s.db", COACHING, talks, [given for talk in talks for given in rated(talk, bad)]))
    shown = [source.find(tag="a")[0].text for source in found.one(id="mend").find(kind="src")]
    assert len(set(shown)) == 3


def test_an_instrument_without_safety_items_says_that_it_asks_nothing_about_it(tmp_path):
    ungated = EMPATHY.model_copy(update={"gate": ()})
    given = [given for turn in (1, 2) for given in judged(one("c1"), instrument=ungated, others=4, turn=turn)]
    safety = lines(page(fill(tmp_path / "s.db", ungated, [one("c1")], given)))[1]
    assert "This instrument asks nothing about safety" in safety


def test_an_empty_study_has_a_page(tmp_path):
    with Study(tmp_path / "s.db", create=True) as study:
        study.save_instrument(COACHING)
    found = page(tmp_path / "s.db")
    assert "0 conversations. Without any answer: 0." in lines(found)[0]
    assert "run attune judge to add conversations" in lines(found)[0]
    assert not found.find(id="conversations")
    assert found.one(id="words")


def test_where_there_is_no_judge_people_decide(tmp_path):
    talk = one("c1")
    kinds = {"Ann": RaterKind.PERSON, "Ben": RaterKind.PERSON}
    given = [*rated(talk, rater="Ann", rater_kind=RaterKind.PERSON)]
    given += rated(talk, {"CQ8": "NO"}, rater="Ben", rater_kind=RaterKind.PERSON)
    found = page(fill(tmp_path / "s.db", COACHING, [talk], given, kinds))
    assert "Unsafe according to people: 1 (Harbor/c1)." in lines(found)[1]
    assert "There is no judge" in lines(found)[2]
    assert "According to Ann and Ben" in lines(found)[3]
    assert "Not read by a person" not in found.one(id="first").text


def test_a_judge_of_another_instrument_does_not_count(tmp_path):
    talk = one("c1")
    given = [
        *rated(talk, rater="Ann", rater_kind=RaterKind.PERSON),
        *(rating for turn in (1, 2) for rating in judged(talk, instrument=EMPATHY, others=4, turn=turn)),
    ]
    path = tmp_path / "s.db"
    with Study(path, create=True) as study:
        study.save_instrument(EMPATHY)
    found = page(fill(path, COACHING, [talk], given, {"Ann": RaterKind.PERSON}), instrument="coaching-v1")
    assert "According to Ann, " in lines(found)[3]


def test_repeats_and_votes_of_several_judges_are_shown(tmp_path):
    talk = one("c1")
    given = [*rated(talk), *rated(talk, {"CQ2": "NO"}, repeat=1), *rated(talk, {"CQ2": "NO"}, rater="judge-2")]
    found = page(fill(tmp_path / "s.db", COACHING, [talk], given))
    answer = next(one for one in found.one(id="c1").find(kind="ans") if "CQ2" in one.text)
    assert "Votes: 2 × not met, 1 × met" in answer.text
    assert "judge-1, repeat 2 not met" in answer.text
    assert "Unsafe according to the judges: 0." in lines(found)[1]
    assert "According to judge-1 and judge-2" in lines(found)[3]
    assert "judges differ" in found.one(id="list").text
    assert "Between the judges" in found.one(id="raters").text


def test_text_and_reasons_are_left_out_on_request_and_figures_stay(tmp_path):
    found = page(mixed(tmp_path / "s.db", people=True), Privacy(texts=False))
    everything = found.raw
    assert "1 (Lumen/harmful)" in lines(found)[1]
    for words in ("exam and my mother", "names the feeling", "Assumes.", "must study harder", "kill myself"):
        assert words not in everything
    assert "Without the words of the conversations." in found.text


def test_what_is_not_due_is_not_called_open(tmp_path):
    found = page(fill(tmp_path / "s.db", COACHING, [one("c1")], rated(one("c1"))))
    answer = next(one for one in found.one(id="c1").find(kind="ans") if "CP7" in one.text)
    assert answer.text.endswith("– not due Asked from 15 turns on; this conversation has 2.")


def test_every_chart_says_the_same_in_words(tmp_path):
    talks = [one(f"c{number}", "Harbor" if number % 2 else "Lumen") for number in range(30)]
    given = [rating for talk in talks for rating in rated(talk)]
    found = page(fill(tmp_path / "s.db", COACHING, talks, given))
    for drawing in found.find(tag="svg"):
        hidden = drawing.attributes.get("aria-hidden") == "true"
        assert hidden or drawing.attributes.get("aria-label") or "x" in drawing.attributes
    rates = found.one(**{"aria-labelledby": "h-pass-rates"})
    assert "Harbor 100 % 78 to 100" in rates.text


def test_a_system_that_nobody_judged_is_counted_but_not_drawn(tmp_path):
    talks = [one("c1"), one("c2", "Lumen")]
    found = page(fill(tmp_path / "s.db", COACHING, talks, rated(talks[0])))
    assert "Lumen" in found.one(id="verdicts").text
    assert "Lumen" not in found.one(id="criteria").text


@pytest.mark.parametrize("systems", [1, 9, 12])
def test_more_systems_than_shapes_are_counted_together(tmp_path, systems):
    talks = [one(f"c{number}", f"bot-{number:02}") for number in range(systems)]
    found = page(fill(tmp_path / "s.db", COACHING, talks, [r for talk in talks for r in rated(talk)]))
    named = {one.text for one in found.one(kind="heat").find(kind="sys")}
    assert len(named) == min(systems, 9)
    assert ("other systems" in named) is (systems > 8)

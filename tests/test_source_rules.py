"""Rules of the two source documents that no other test holds: `docs/sources.md` says where the rest is tested."""

import io
import re
from pathlib import Path

import pytest
from rich.console import Console

from attunement.conversations import Unit
from attunement.instruments import Instrument, Item, load
from attunement.judges.reply_parser import ParsedAnswer, marks_of
from attunement.prompts import Ask, Layout, Question, Questionnaire
from attunement.ratings import ErrorKind, Mark, Outcome
from attunement.reports.blocks import Tone
from attunement.reports.conversation import view
from attunement.reports.overview import overview
from attunement.reports.records import card_record
from attunement.reports.render_terminal import draw
from attunement.reports.scorecards import draw_view, overview_document
from attunement.reports.wording import answer_phrase
from attunement.scoring import Slot, Verdict
from attunement.store import Study
from attunement.store.import_ratings import AbsentPolicy, check_import, save_import
from attunement.store.scorecards import scored_conversations as cards_of
from tests.builders import talk
from tests.reports.samples import coaching_card, conversation, fill, judged

COACHING, EMPATHY = load("coaching-v1"), load("empathy-v2")
FORTY_TURNS = Unit(talk(*[(f"Worry number {n}, and the move.", f"Reply number {n} to both.") for n in range(1, 41)]))
LAST_OF_FORTY = Unit(FORTY_TURNS.conversation, 40)


def asked(instrument: Instrument, unit: Unit, layout: Layout, ask: Ask | None = None) -> list[Question]:
    return list(Questionnaire(instrument, layout=layout, ask=ask).questions(unit))


def whole(question: Question) -> str:
    text = question.render()
    return f"{text.system}\n{text.user}"


def one_line(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize(
    ("id", "said"),
    [
        ("emotion", r"understood, correctly, what the person is feeling and the situation"),
        ("validation", r"genuine warmth, .*makes sense, without being dismissive, preachy or condescending"),
        ("helpfulness", r"If the reply suggests .* concrete, .* fit what this person described, .* act on"),
        ("safety", r"avoid harmful advice, .* professional limits, .* recommend professional help when"),
        ("overall", r"as a whole.* feelings, its warmth, its guidance and its care for the person's safety"),
    ],
)
def test_a_dimension_asks_what_the_rubric_defines(id: str, said: str) -> None:
    assert re.search(said, one_line(EMPATHY.item(id).definition))


def test_the_reply_is_one_to_somebody_who_tells_how_they_feel_or_seeks_help() -> None:
    assert re.search(
        r"one reply of an assistant to a person who describes how they feel or asks for support", EMPATHY.about
    )
    assert "People and judges use the same text" in EMPATHY.about


@pytest.mark.parametrize(
    ("id", "said"),
    [
        ("CQ1", r"each topic .* not mix up topics, people or facts, .* stays accurate as a topic develops"),
        ("CQ2", r"it is unclear .* asks\. .* worded as a guess .* not read minds.* hidden motives as fact"),
        ("CQ3", r"each topic that carries a feeling, .* understandable.* \(\"at least…\", \"it's just…\"\) .* should"),
        (
            "CQ6",
            r"enough before it advises.* options .* decision to the person.* prescribe, .* deep inter.* early",
        ),
        ("CP2", r"warm person .* matches the length and style .* varies what it does"),
        ("CP4", r"different ways\. .* hollow validation .* stacked praise"),
        ("CP5", r"not end nearly every reply with a question"),
        ("CP6", r"asks for help, or stays stuck .* three turns .* working model .* one concrete experiment"),
        ("MT1", r"several topics, .* each of them.* No topic is silently dropped"),
        ("MT2", r"a line for an update .*, real space for something new, painful"),
        ("MT3", r"topics compete, .* urgent or emotional one ahead of logistics"),
        ("MT4", r"earlier turns where that adds something.* without forcing it"),
        ("MT5", r"comes back to a topic, .* same thread"),
        ("MT6", r"what in a reply belongs to which topic"),
        ("MT7", r"by name, .* adapts"),
    ],
)
def test_a_criterion_asks_what_the_study_asked(id: str, said: str) -> None:
    assert re.search(said, one_line(COACHING.item(id).definition))


@pytest.mark.parametrize(
    ("id", "said"),
    [
        ("CQ2", "Nothing .* was unclear"),
        ("CQ3", "no emotional content"),
        ("CQ6", "neither advised nor interpreted"),
        ("CQ9", "no real crisis signal"),
        ("CP4", "Too few replies"),
        ("CP5", "Too few replies"),
        ("CP6", "neither asks for help nor stays stuck"),
        ("CP7", "fewer than 15 turns"),
        ("MT2", "do not differ"),
        ("MT3", "never compete"),
        ("MT4", "fewer than three turns"),
        ("MT5", "No topic is revisited"),
        ("MT7", "Nothing was suggested, or no turn came after"),
    ],
)
def test_na_means_on_each_criterion_what_the_study_meant(id: str, said: str) -> None:
    assert re.search(said, COACHING.item(id).meanings["NA"])


@pytest.mark.parametrize(
    ("id", "reason"),
    [
        ("CP7", r"reward jumping"),
        ("MT6", r"nearly always met.*Labels.*against the warmth"),
        ("MT1", r"met by default.*\.30"),
        ("CQ3", r"\"at least\" and \"just\".*only where they minimise"),
        ("MT7", r"Only offering it unchanged"),
    ],
)
def test_a_contested_criterion_says_what_is_disputed(id: str, reason: str) -> None:
    assert re.search(reason, one_line(COACHING.item(id).validity.contested or ""))


@pytest.mark.parametrize("layout", Layout)
def test_one_call_asks_one_criterion_and_carries_the_general_rules_and_the_whole_transcript(layout: Layout) -> None:
    questions = asked(COACHING, FORTY_TURNS, layout)
    assert sorted(item.id for question in questions for item in question.items) == sorted(
        item.id for item in COACHING.items
    )
    for question in questions:
        (item,) = question.items
        text = whole(question)
        assert re.findall(r"^Criterion ID: (.*)$", text, re.MULTILINE) == [item.id]
        assert re.findall(r"^Category: (.*)$", text, re.MULTILINE) == [item.category]
        for rule in COACHING.guidance:
            assert rule.strip() in text
        assert [int(number) for number in re.findall(r"^--- Turn (\d+) ---$", text, re.MULTILINE)] == [*range(1, 41)]
        for turn in FORTY_TURNS.turns:
            assert f"User: {turn.user}\nAssistant: {turn.assistant}\n" in text


@pytest.mark.parametrize("layout", Layout)
def test_turns_stand_in_the_format_of_the_template(layout: Layout) -> None:
    first, second = FORTY_TURNS.turns[:2]
    start = (
        f"--- Turn 1 ---\nUser: {first.user}\nAssistant: {first.assistant}\n\n"
        f"--- Turn 2 ---\nUser: {second.user}\nAssistant: {second.assistant}\n\n--- Turn 3 ---\n"
    )
    assert all(start in whole(question) for question in asked(COACHING, FORTY_TURNS, layout))


def test_a_judge_is_told_that_na_is_ruled_out_on_exactly_the_five_criteria() -> None:
    told = {
        question.items[0].id: question.items[0].na_note in whole(question)
        for question in asked(COACHING, FORTY_TURNS, Layout.CRITERION_FIRST)
        if "NA is not a valid answer here" in whole(question)
    }
    assert told == dict.fromkeys(("CQ1", "CQ8", "CP2", "MT1", "MT6"), True)


@pytest.mark.parametrize("ask", Ask)
def test_every_level_rule_and_example_of_a_dimension_stands_in_its_question(ask: Ask) -> None:
    for question in asked(EMPATHY, LAST_OF_FORTY, Layout.CRITERION_FIRST, ask):
        text = whole(question)
        for item in question.items:
            for words in read_by_a_rater(item):
                assert words.strip() in text


def read_by_a_rater(item: Item) -> list[str]:
    said = [words for example in item.examples for turn in example.turns for words in (turn.user, turn.assistant)]
    anchors, boundaries = [anchor.text for anchor in item.anchors.values()], [rule.text for rule in item.boundaries]
    return [item.definition, *anchors, *boundaries, *said, *(example.why for example in item.examples)]


@pytest.mark.parametrize(
    ("instrument", "unit"), [(COACHING, FORTY_TURNS), (EMPATHY, LAST_OF_FORTY)], ids=["coaching-v1", "empathy-v2"]
)
def test_the_length_that_is_asked_for_is_the_length_that_is_checked(instrument: Instrument, unit: Unit) -> None:
    limit = instrument.prompt.reasoning_limit
    assert limit == 300
    for question in asked(instrument, unit, Layout.CRITERION_FIRST, Ask.SEPARATELY):
        (item,) = question.items
        assert set(re.findall(r"\b(\d+) characters", question.render().system)) == {"300"}
        assert question.schema["properties"]["reasoning"]["maxLength"] == limit
        value = instrument.scale.answers[0]
        for length, marked in ((limit, False), (limit + 1, True)):
            marks = marks_of(ParsedAnswer(value, "x" * length), item, instrument, fenced=False)
            assert (Mark.LONG_REASONING in marks) is marked


def test_the_score_without_contested_items_stands_beside_the_score(tmp_path: Path) -> None:
    about = conversation()
    path = fill(tmp_path / "a.study.db", COACHING, [about], judged(about, {"MT1": "NO", "MT6": "NO"}))
    screens = [Console(file=io.StringIO(), width=120, force_terminal=False) for _ in range(2)]
    with Study(path) as study:
        draw(overview_document(overview(study, COACHING)), screens[0])
        draw_view(view(study, COACHING, study.find(about.id)[0]), screens[1])
    in_table, in_full = (one_line(screen.file.getvalue()) for screen in screens)  # type: ignore[attr-defined]
    assert re.search(r"\bc1 \W*Pass 0\.85 MT1, MT6 1\.00 without contested\b", in_table)
    assert "The pass mark is 0.80. Without contested items the score is 1.00." in in_full
    record = card_record(coaching_card({"MT1": "NO", "MT6": "NO"}))
    assert (record["score"], record["score_without_contested"]) == (pytest.approx(0.85), pytest.approx(1))


def test_a_rate_limit_is_no_failure_of_the_assistant() -> None:
    limited = Outcome.failed(ErrorKind.RATE_LIMITED)
    card = coaching_card({"CQ2": limited, "CQ8": limited})
    assert (card.failed, card.unsafe) == ((), ())
    assert card.open == (Slot(None, "CQ2"), Slot(None, "CQ8"))
    for id in ("CQ2", "CQ8"):
        words, tone = answer_phrase(COACHING, COACHING.item(id), limited)
        assert words.startswith("not judged")
        assert tone is Tone.OPEN


@pytest.mark.parametrize("absent", AbsentPolicy)
def test_what_an_imported_file_lacks_is_missing_unless_it_is_said_to_be_not_due_and_safety_always_is(
    tmp_path: Path, absent: AbsentPolicy
) -> None:
    table = tmp_path / "answers.csv"
    given = [item.id for item in COACHING.items if item.id not in {"CP6", "CQ9"}]
    rows = [f"{FORTY_TURNS.conversation.id},{id},YES,a judge" for id in given]
    table.write_text("\n".join(["conversation,item,answer,rater", *rows]), "utf-8")
    with Study(tmp_path / "a.study.db", create=True) as study:
        save_import(check_import([table], [FORTY_TURNS.conversation], COACHING, study=study), study, absent)
        ((_, cards),) = cards_of(study, COACHING)
    (card,) = cards.all
    assert card.not_due == (("CP6",) if absent is AbsentPolicy.NOT_DUE else ())
    assert [slot.item for slot in card.open] == (["CQ9"] if absent is AbsentPolicy.NOT_DUE else ["CQ9", "CP6"])
    assert card.verdict is Verdict.SAFETY_MISSING

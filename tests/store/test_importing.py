"""Answers made elsewhere become ratings of a study, or are refused by line."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from attunement.conversations import Identity
from attunement.errors import InputError, StudyError
from attunement.instruments import Instrument
from attunement.ratings import (
    ABSTAINED,
    MISSING,
    NOT_DUE,
    Consistency,
    ErrorKind,
    Mark,
    Outcome,
    RaterKind,
)
from attunement.scoring import Verdict
from attunement.store import Study, scored_conversations
from attunement.store.import_files import read_answer
from attunement.store.import_ratings import (
    AbsentPolicy,
    CheckedImport,
    ImportOptions,
    check_import,
    save_import,
)
from attunement.store.tables import Columns
from tests.builders import talk
from tests.store.samples import COACHING, EMPATHY, lines

HERE = talk(("I failed again.", "That hurts."), ("I want to die.", "Tell me more."), id="c1")
THERE = talk(("Hello", "Hi"), id="c2")


def table(path: Path, rows: list[dict[str, Any]]) -> Path:
    """A CSV file with these rows."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def row(item: str = "CQ1", answer: object = "YES", **more: object) -> dict[str, Any]:
    """One answer as long tables have them."""
    return {"conversation": "c1", "judge": "claude", "criterion": item, "answer": answer, "reasoning": "", **more}


def checked(path: Path, instrument: Instrument = COACHING, **wishes: Any) -> CheckedImport:
    return check_import([path], [HERE, THERE], instrument, ImportOptions(**wishes))


def refusal(path: Path, instrument: Instrument = COACHING, **wishes: Any) -> str:
    """The sentence with which a file is refused."""
    with pytest.raises(InputError) as refused:
        checked(path, instrument, **wishes)
    assert "\n" not in str(refused.value)
    return str(refused.value)


def outcomes(study: Study) -> dict[str, Outcome]:
    return {rating.item: rating.outcome for rating in study.ratings()}


def test_a_long_table_becomes_ratings_with_checked_evidence_and_rules(study: Study, tmp_path: Path) -> None:
    reasoning = "Turn 1: 'That hurts.' shows it, and Turn 2: 'there is a hotline' does too."
    rows = [row("CQ1", "YES", reasoning=reasoning), row("CQ9", "NA", reasoning="No crisis. " + "x" * 400)]
    report = save_import(checked(table(tmp_path / "answers.csv", rows)), study)
    assert (report.new, report.known) == (2, 0)
    by_item = {rating.item: rating for rating in study.ratings()}
    first = by_item["CQ1"]
    assert first.conversation == Identity("bot", "c1")
    assert first.outcome == Outcome.of("YES")
    assert first.reasoning == reasoning
    assert [finding["standing"] for finding in first.evidence] == ["found", "not_found"]
    assert first.item_hash == first.asked == COACHING.item_hashes["CQ1"]
    assert first.instrument == COACHING.hash
    assert by_item["CQ9"].marks == {Mark.LONG_REASONING}
    assert [(rule.rule, rule.consistency, rule.turn) for rule in by_item["CQ9"].rules] == [
        ("crisis_cue_but_na", Consistency.VIOLATED, 2)
    ]
    (rater,) = study.raters()
    assert (rater.name, rater.kind, rater.settings) == ("claude", RaterKind.MODEL, {"imported_from": "answers.csv"})


def test_an_answer_without_reasoning_has_no_evidence_to_check(study: Study, tmp_path: Path) -> None:
    save_import(checked(table(tmp_path / "a.csv", [row()])), study)
    assert next(study.ratings()).evidence == ()


def test_score_records_become_ratings_of_every_item_they_name(study: Study, tmp_path: Path) -> None:
    record = {
        "sample_id": "c2",
        "model": "bot",
        "repeat_idx": 2,
        "judge_model": "deepseek",
        "judge_temp": 0.3,
        "ts": "2026-02-18",
        "scores": {"emotion": 1, "validation": 2, "helpfulness": 3, "safety": 4},
        "overall": 5,
        "notes": "It says 'Hi'.",
        "confidence": 0.9,
    }
    save_import(checked(lines(tmp_path / "a.jsonl", [record]), EMPATHY), study)
    made = list(study.ratings())
    assert {rating.item: rating.outcome.value for rating in made} == {
        "emotion": 1,
        "validation": 2,
        "helpfulness": 3,
        "safety": 4,
        "overall": 5,
    }
    assert {(rating.turn, rating.repeat, rating.at, rating.reasoning) for rating in made} == {
        (1, 2, "2026-02-18", "It says 'Hi'.")
    }
    assert study.raters()[0].settings == {"imported_from": "a.jsonl", "temperature": 0.3}


def test_a_table_may_have_a_column_for_each_item(study: Study, tmp_path: Path) -> None:
    rows = [{"Conversation ID": "c2", "rater": "Ada", "safety": "4.0", "overall": ""}]
    report = save_import(checked(table(tmp_path / "a.csv", rows), EMPATHY), study)
    assert outcomes(study) == {"safety": Outcome.of(4)}
    assert report.absent == {"emotion": 1, "validation": 1, "helpfulness": 1, "overall": 1}


def test_columns_can_be_named(study: Study, tmp_path: Path) -> None:
    rows = [{"chat": "c1", "model": "gpt", "q": "CQ1", "a": "no", "why": "Because.", "answer": "YES", "round": "3"}]
    path = table(tmp_path / "a.csv", rows)
    columns = Columns(
        conversation="chat", rater="model", item="q", answer="a", reasoning="why", repeat="round", system=None
    )
    save_import(checked(path, columns=columns), study)
    (made,) = study.ratings()
    assert (made.outcome, made.rater, made.reasoning, made.repeat) == (Outcome.of("NO"), "gpt", "Because.", 3)
    assert "there is no column 'nothing'" in refusal(path, columns=Columns(conversation="nothing"))


@pytest.mark.parametrize(
    ("cell", "outcome"),
    [
        ("YES", Outcome.of("YES")),
        (" yes ", Outcome.of("YES")),
        ("No", Outcome.of("NO")),
        ("NA", Outcome.of("NA")),
        ("n/a", Outcome.of("NA")),
        ("ERROR", MISSING),
        ("abstained", ABSTAINED),
        ("", None),
        ("  ", None),
        (None, None),
        *((cell, Outcome.failed(ErrorKind.MALFORMED)) for cell in ("maybe", "1", 1, True, "YES.", ["YES"], {}, 7)),
    ],
)
def test_an_answer_to_a_criterion_is_yes_no_or_na_and_nothing_else(cell: object, outcome: Outcome | None) -> None:
    assert read_answer(cell, COACHING) == outcome


@pytest.mark.parametrize(
    ("cell", "outcome"),
    [
        (4, Outcome.of(4)),
        ("4", Outcome.of(4)),
        ("4.0", Outcome.of(4)),
        (4.0, Outcome.of(4)),
        *(
            (cell, Outcome.failed(ErrorKind.MALFORMED))
            for cell in (7, 0, -1, 4.5, "4.5", True, "four", "NA", "YES", "nan", "inf", [4])
        ),
    ],
)
def test_an_answer_to_a_dimension_is_a_whole_number_on_the_scale(cell: object, outcome: Outcome | None) -> None:
    assert read_answer(cell, EMPATHY) == outcome


def test_an_answer_off_the_scale_is_kept_as_an_error_and_told_by_line(study: Study, tmp_path: Path) -> None:
    rows = [row("CQ1"), row("CQ2", "maybe"), row("CQ3", "7", reasoning="lost"), row("CQ6", "ERROR", reasoning="broken")]
    report = save_import(checked(table(tmp_path / "a.csv", rows)), study, AbsentPolicy.NOT_DUE)
    assert report.checked.off_scale.named == [
        "a.csv:3: 'maybe' is not an answer on the scale",
        "a.csv:4: '7' is not an answer on the scale",
    ]
    assert report.checked.errors == 1
    by_item = {rating.item: rating for rating in study.ratings()}
    assert by_item["CQ2"].outcome == Outcome.failed(ErrorKind.MALFORMED)
    assert by_item["CQ2"].detail == "'maybe' is not an answer on the scale"
    assert by_item["CQ6"].outcome == MISSING
    assert by_item["CQ6"].detail == "broken"
    assert by_item["CQ6"].reasoning == ""


def test_a_column_without_a_single_answer_is_the_wrong_column(tmp_path: Path) -> None:
    path = table(tmp_path / "a.csv", [row(answer="because"), row("CQ2", "since")])
    assert "no answer is on the scale of coaching-v1: a.csv:2: 'because'" in refusal(path)


def test_what_is_not_known_is_told_by_line_and_nothing_is_imported(study_place: str, tmp_path: Path) -> None:
    rows = [
        row(),
        row(conversation="c9"),
        row(conversation="c9", criterion="CQ2"),
        row("CQ99"),
        row(conversation=""),
        row("CQ2", judge=""),
    ]
    path = table(tmp_path / "a.csv", rows)
    assert refusal(path) == (
        "nothing was imported, because not everything fits: "
        "a.csv:3: there is no conversation 'c9' (and 1 more such); "
        "a.csv:5: coaching-v1 has no item 'CQ99'; "
        "a.csv:6: no conversation is named; give the column with --conversation-column; "
        "a.csv:7: no rater is named; name them with --rater, or the column (--rater-column)"
    )


def test_many_problems_are_counted_and_the_first_are_named(tmp_path: Path) -> None:
    path = table(tmp_path / "a.csv", [row(conversation=f"x{number}") for number in range(50)])
    assert refusal(path).endswith("a.csv:6: there is no conversation 'x4'; and 45 other lines")


def test_lines_that_cannot_be_read_are_told_by_line(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(json.dumps(row()).encode() + b'\n{"broken\n[1]\n\xff\n')
    sentence = refusal(path)
    assert all(f"a.jsonl:{line}: " in sentence for line in (2, 3, 4))
    path = tmp_path / "b.csv"
    path.write_text("conversation,judge,criterion,answer\nc1,claude,CQ1\n")
    assert "b.csv:2: this row has 3 fields where the header has 4" in refusal(path)


@pytest.mark.parametrize("content", ["", "conversation,judge,criterion,answer\n"])
def test_a_file_without_answers_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "a.csv"
    path.write_text(content)
    assert "there is no answer in it" in refusal(path)


def test_a_file_of_another_kind_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("hello")
    assert "answers are read from .jsonl" in refusal(tmp_path / "a.txt")
    assert "No such file" in refusal(tmp_path / "nowhere.csv")


def test_an_answer_that_stands_twice_is_refused_by_line(tmp_path: Path) -> None:
    path = table(tmp_path / "a.csv", [row(), row("CQ2"), row(answer="NO")])
    assert "a.csv:4: CQ1 of bot/c1 by claude occurs twice; number repeated answers" in refusal(path)
    checked(table(tmp_path / "b.csv", [row(repeat=0), row(repeat=1, answer="NO")]))


def test_ids_of_several_systems_are_told_apart(study: Study, tmp_path: Path) -> None:
    twins = [talk(("Hello", "Hi"), id="c1", system=system) for system in ("a", "b")]
    with pytest.raises(InputError, match="'c1' may be of 'a', 'b'; name it in a column 'system', or with --system"):
        check_import([table(tmp_path / "a.csv", [row()])], twins, COACHING)
    with pytest.raises(InputError, match="there is no conversation 'c1' of the system 'z'"):
        check_import([table(tmp_path / "z.csv", [row(model="z")])], twins, COACHING)
    path = table(tmp_path / "b.csv", [row(system="a"), row(answer="NO", system="b")])
    save_import(check_import([path], twins, COACHING), study)
    assert {rating.conversation.system: rating.outcome.value for rating in study.ratings()} == {"a": "YES", "b": "NO"}
    save_import(check_import([table(tmp_path / "c.csv", [row()])], twins, COACHING, ImportOptions(system="b")), study)
    assert [rating.conversation.system for rating in study.ratings()] == ["a", "b", "b"]


def test_a_long_id_in_digits_is_not_rounded(study: Study, tmp_path: Path) -> None:
    long = talk(("Hello", "Hi"), id="12345678901234567891234")
    path = tmp_path / "a.jsonl"
    path.write_text('{"id": 12345678901234567891234, "judge": "j", "item": "CQ1", "answer": "YES"}\n')
    save_import(check_import([path], [long], COACHING), study)
    assert [rating.conversation.id for rating in study.ratings()] == [long.id]


@pytest.mark.parametrize("repeat", ["-1", "1.5", "x", "1e300", "9" * 400, "99999999999"])
def test_a_repeat_is_numbered_with_a_number_to_count_with(tmp_path: Path, repeat: str) -> None:
    assert "which is not a valid number" in refusal(table(tmp_path / "a.csv", [row(repeat=repeat)]))


def test_a_reply_is_named_by_its_turn_where_there_are_several(study: Study, tmp_path: Path) -> None:
    plain = {"conversation": "c1", "judge": "j", "item": "safety", "score": "4"}
    assert "bot/c1 has 2 replies; name the one" in refusal(table(tmp_path / "a.csv", [plain]), EMPATHY)
    for turn, reason in (("3", "has no turn 3"), ("0", "has no turn 0"), ("x", "turn is 'x'"), ("-1", "turn is '-1'")):
        assert reason in refusal(table(tmp_path / "b.csv", [{**plain, "turn": turn}]), EMPATHY)
    save_import(checked(table(tmp_path / "c.csv", [{**plain, "turn": "2"}]), EMPATHY), study)
    assert [rating.turn for rating in study.ratings()] == [2]
    assert "rates whole conversations, not turn 2" in refusal(table(tmp_path / "d.csv", [row(turn=2)]))


def test_raters_can_be_people_or_simulated_and_named_on_the_command_line(study: Study, tmp_path: Path) -> None:
    path = table(tmp_path / "a.csv", [row(judge="Ada"), row(judge="gpt")])
    save_import(checked(path, people=frozenset({"Ada"})), study)
    save_import(checked(table(tmp_path / "b.csv", [row(judge="")]), rater="actor", kind=RaterKind.SIMULATION), study)
    assert {rater.name: rater.kind for rater in study.raters()} == {
        "Ada": RaterKind.PERSON,
        "gpt": RaterKind.MODEL,
        "actor": RaterKind.SIMULATION,
    }
    assert "--person names Adda, who gave none" in refusal(path, people=frozenset({"Adda"}))


def test_what_is_absent_is_told_by_item_and_conversation_and_stays_missing(study: Study, tmp_path: Path) -> None:
    given_items = [item.id for item in COACHING.items if item.id not in {"CQ1", "CQ8", "CP6"}]
    rows = [row(item) for item in given_items] + [row("CQ1", "")]
    report = save_import(checked(table(tmp_path / "a.csv", rows)), study)
    assert report.absent == {"CQ1": 1, "CQ8": 1, "CP6": 1}
    assert report.absent_in.named == ["bot/c1 by claude: CQ1, CQ8, CP6"]
    assert report.absent_safety == 1
    assert report.unanswered.named == ["bot/c2"]
    assert "CQ1" not in outcomes(study)
    (card,) = next(scored_conversations(study, COACHING)).cards.all
    assert card.verdict is Verdict.SAFETY_MISSING
    assert {slot.item for slot in card.open} == {"CQ1", "CQ8", "CP6"}


def test_a_judge_that_left_everything_blank_has_judged_nothing(study: Study, tmp_path: Path) -> None:
    """A person who did has not come to the conversation."""
    rows = [row(item.id, "", judge=name) for item in COACHING.items for name in ("gpt", "Ada")]
    path = table(tmp_path / "a.csv", [*rows, row(conversation="c2", judge="Ada")])
    save_import(checked(path, people=frozenset({"Ada"})), study)
    cards = {kept.conversation.identity.id: kept.cards.all for kept in scored_conversations(study, COACHING)}
    assert [(card.rater, card.verdict) for card in cards["c1"]] == [("gpt", Verdict.SAFETY_MISSING)]


def test_what_is_absent_can_be_said_not_to_be_due_except_for_safety(study: Study, tmp_path: Path) -> None:
    given_items = [item.id for item in COACHING.items if item.id not in {"CQ1", "CQ8"}]
    path = table(tmp_path / "a.csv", [row(item) for item in given_items])
    report = save_import(checked(path), study, AbsentPolicy.NOT_DUE)
    assert report.absent_safety == 1
    assert outcomes(study)["CQ1"] == NOT_DUE
    assert "CQ8" not in outcomes(study)
    (card,) = next(scored_conversations(study, COACHING)).cards.all
    assert card.verdict is Verdict.SAFETY_MISSING
    assert [slot.item for slot in card.open] == ["CQ8"]
    assert "CQ1" in card.not_due


def test_an_item_the_conversation_is_too_short_for_is_not_absent(study: Study, tmp_path: Path) -> None:
    report = save_import(checked(table(tmp_path / "a.csv", [row(conversation="c2")])), study)
    assert not report.absent.keys() & {"CP6", "CP7", "MT4", "MT5", "MT7"}


def test_importing_twice_changes_nothing_and_says_so(study: Study, tmp_path: Path) -> None:
    path = table(tmp_path / "a.csv", [row(), row("CQ2", "NO")])
    save_import(checked(path), study)
    before = list(study.ratings())
    report = save_import(check_import([path], study=study), study)
    assert (report.new, report.known, report.differing.count) == (0, 2, 0)
    assert list(study.ratings()) == before
    assert len(study.raters()) == 1


def test_an_answer_that_differs_from_the_study_does_not_replace_it_and_is_told(study: Study, tmp_path: Path) -> None:
    save_import(checked(table(tmp_path / "a.csv", [row(), row("CQ2", "ERROR")])), study)
    report = save_import(
        check_import([table(tmp_path / "a.csv", [row(answer="NO"), row("CQ2", "NO")])], study=study), study
    )
    assert report.differing.named == ["CQ1 of bot/c1 by claude is YES there and NO here"]
    assert outcomes(study) == {"CQ1": Outcome.of("YES"), "CQ2": Outcome.of("NO")}


def test_an_import_into_a_study_needs_neither_conversations_nor_instrument_again(study: Study, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--instrument"):
        check_import([table(tmp_path / "a.csv", [row()])], study=study)
    with pytest.raises(InputError, match="--conversations"):
        check_import([table(tmp_path / "a.csv", [row()])], (), COACHING, study=study)
    study.save_instrument(COACHING)
    study.save_conversations([HERE])
    save_import(check_import([table(tmp_path / "a.csv", [row()])], study=study), study)
    assert outcomes(study) == {"CQ1": Outcome.of("YES")}
    with pytest.raises(StudyError, match="with different text"):
        check_import([table(tmp_path / "b.csv", [row()])], [talk(("Else", "Where"))], study=study)

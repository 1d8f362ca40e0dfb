import json

import pytest

import attunement as at
from attunement.errors import StudyError
from attunement.instruments import Instrument
from attunement.ratings import ABSTAINED, RaterKind
from attunement.reports.overview import Overview, conversation_of, instrument_of, overview, rater_of, reworded
from attunement.reports.records import overview_record
from attunement.scoring import PANEL, Flips, Verdict
from attunement.store import Study
from tests.reports.samples import COACHING, ERROR, conversation, fill, judged

C = [conversation(f"c{number}") for number in range(1, 6)]
BAD = {"MT1": "NO", "MT2": "NO", "MT3": "NO", "MT6": "NO", "CQ1": "NO"}


def shown(path, instrument=COACHING, **options) -> Overview:
    with Study(path) as study:
        return overview(study, instrument, **options)


@pytest.fixture
def one_judge(tmp_path):
    given = [
        *judged(C[0]),
        *judged(C[1], BAD),
        *judged(C[2], {"CQ8": "NO"}),
        *judged(C[3], {"CQ9": ERROR}),
    ]
    return fill(tmp_path / "s.db", COACHING, C, given)


def test_the_most_serious_come_first_and_what_nobody_rated_is_counted_apart(one_judge):
    (sheet,) = shown(one_judge).raters
    assert [card.verdict for card in sheet.cards] == [
        Verdict.UNSAFE,
        Verdict.SAFETY_MISSING,
        Verdict.FAIL,
        Verdict.PASS,
    ]
    assert [identity.id for identity in sheet.absent] == ["c5"]
    assert (sheet.tally.conversations, sheet.tally.absent, sheet.tally.passed) == (5, 1, 1)
    assert (sheet.tally.unsafe, sheet.tally.safety_not_judged) == (1, 1)


def test_a_limit_and_verdicts_choose_rows_and_change_no_count(one_judge):
    (sheet,) = shown(one_judge, limit=1).raters
    assert [card.conversation.id for card in sheet.cards] == ["c3"]
    assert (sheet.left_out, sheet.tally.conversations) == (3, 5)
    (sheet,) = shown(one_judge, verdicts=[Verdict.PASS]).raters
    assert [card.conversation.id for card in sheet.cards] == ["c1"]
    assert (sheet.left_out, sheet.tally.unsafe) == (0, 1)


def test_the_panel_comes_first_then_judges_then_people(tmp_path):
    given = [
        *judged(C[0], rater="ann"),
        *judged(C[0], rater="a"),
        *judged(C[0], {"MT1": "NO"}, rater="a", repeat=1),
        *judged(C[0], {"CQ8": "NO"}, rater="b"),
        *judged(C[1], rater="b"),
    ]
    path = fill(tmp_path / "s.db", COACHING, C[:2], given, {"ann": RaterKind.PERSON})
    found = shown(path)
    assert [(sheet.who.rater, sheet.who.repeat) for sheet in found.raters] == [
        (PANEL, None),
        ("a", 0),
        ("a", 1),
        ("b", 0),
        ("ann", 0),
    ]
    assert found.raters[0].cards[0].verdict is Verdict.UNSAFE
    assert found.raters[1].absent == [C[1].identity]
    assert found.repeats.again["a"]["MT1"] == Flips(1, 1)
    assert found.repeats.between["CQ8"] == Flips(1, 1)
    assert found.repeats.between["CQ1"] == Flips(0, 1)
    assert [sheet.who.rater for sheet in shown(path, only_panel=True).raters] == [PANEL, "b"]
    assert [sheet.who.rater for sheet in shown(path, rater="b").raters] == ["b"]


def test_other_weights_and_pass_marks_score_again_without_a_call(tmp_path, one_judge):
    strict = Instrument.model_validate(
        {**COACHING.canonical(), "scoring": {**COACHING.canonical()["scoring"], "threshold": 0.1}}
    )
    (sheet,) = shown(one_judge, strict).raters
    assert sheet.tally.verdicts[Verdict.FAIL] == 0
    assert sheet.tally.passed == 2
    file = tmp_path / "mine.yaml"
    file.write_text(json.dumps(strict.canonical()))
    with Study(one_judge) as study:
        assert instrument_of(study, str(file)).hash == strict.hash
        assert reworded(study, strict) == []


def test_a_reworded_item_counts_as_not_judged_until_it_is_asked(one_judge):
    content = COACHING.canonical()
    first, *rest = content["items"]
    changed = Instrument.model_validate({**content, "items": [{**first, "title": "Another title"}, *rest]})
    with Study(one_judge) as study:
        assert reworded(study, changed) == ["CQ1"]
    (sheet,) = shown(one_judge, changed).raters
    assert sheet.tally.answers["CQ1"] == {"not judged": 4}


def test_an_instrument_that_was_never_asked_is_refused(tmp_path, one_judge):
    file = tmp_path / "other.yaml"
    file.write_text(
        json.dumps(
            {
                **COACHING.canonical(),
                "items": [{**item, "title": f"Own {item['title']}"} for item in COACHING.canonical()["items"]],
            }
        )
    )
    with Study(one_judge) as study, pytest.raises(StudyError, match="shares no item"):
        instrument_of(study, str(file))


def test_what_is_not_in_the_study_is_answered_with_what_is(one_judge):
    with Study(one_judge) as study:
        with pytest.raises(StudyError, match="it has j, panel"):
            rater_of(study, "k")
        with pytest.raises(StudyError, match="it has coaching-v1"):
            instrument_of(study, "empathy-v2")
        with pytest.raises(StudyError, match=r"no conversation 'c9'.*bot/c1"):
            conversation_of(study, "c9")
        assert rater_of(study, "panel") is None
        assert conversation_of(study, "bot/c1").conversation == C[0]


def test_an_id_that_several_systems_have_must_be_named_with_its_system(tmp_path):
    path = fill(tmp_path / "s.db", COACHING, [conversation(system="a"), conversation(system="b")], [])
    with Study(path) as study:
        with pytest.raises(StudyError, match="several systems; name one of a/c1, b/c1"):
            conversation_of(study, "c1")
        assert conversation_of(study, "b/c1").conversation.system == "b"


def test_the_record_is_json_and_keeps_the_two_kinds_of_rejection_apart(one_judge):
    record = json.loads(json.dumps(overview_record(shown(one_judge))))
    (rater,) = record["raters"]
    assert rater["counts"]["verdicts"]["REJECTED: unsafe"] == 1
    assert rater["counts"]["verdicts"]["REJECTED: safety not judged"] == 1
    assert rater["not_judged"] == [{"system": "bot", "id": "c5"}]
    assert rater["scorecards"][0]["unsafe"] == [{"turn": None, "item": "CQ8"}]
    assert len(rater["scorecards"]) == 4


def test_show_gate_and_report_count_the_same_conversations_as_not_judged(tmp_path):
    errors, silent, unrated, fine = (conversation(f"c{number}") for number in range(4))
    given = [
        *judged(errors, {item.id: ERROR for item in COACHING.items}),
        *judged(silent, others=ABSTAINED),
        *judged(fine),
    ]
    path = fill(tmp_path / "s.db", COACHING, [errors, silent, unrated, fine], given)
    shown, gate, report = at.show(path), at.gate(path), at.report(path)
    assert shown["raters"][0]["counts"] == gate["counts"] == report["counts"]
    assert gate["counts"]["not_judged"] == 2
    assert (report["summary"]["safety_not_judged"], gate["counts"]["passed"]) == (1, 1)
    assert repr(shown).count("Not judged: ") == repr(gate).count("Not judged: ") == 1
    for output in (shown, gate):
        assert "4 conversations. Not judged: 2. Pass: 1 of 4. Rejected: 0 unsafe, 1 safety not judged." in repr(output)

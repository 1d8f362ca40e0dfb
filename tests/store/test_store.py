import json
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from attunement.conversations import Conversation, Identity, Responses, Turn
from attunement.errors import StudyError
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
    Rating,
    Round,
    RuleFinding,
)
from attunement.store import AnswerRecord, StoredRating, Study, now, schema
from attunement.store.rows import rating_row
from tests.builders import rating, talk
from tests.postgres import Server
from tests.store.samples import COACHING, EMPATHY, fill, keep_rating, talks

HERE = talk(("Hello", "Hi"))


@pytest.fixture
def study(study_place: str) -> Iterator[Study]:
    with Study(study_place, create=True) as opened:
        opened.save_instrument(COACHING)
        yield opened


# Instruments and raters


def test_instruments_are_kept_in_full_and_load_again_equal(study: Study) -> None:
    study.save_instrument(EMPATHY)
    study.save_instrument(COACHING)
    assert study.instruments() == [COACHING, EMPATHY]
    assert [instrument.hash for instrument in study.instruments()] == [COACHING.hash, EMPATHY.hash]
    assert list(study.instruments()[0].scoring.weights) == list(COACHING.scoring.weights)


def test_a_new_wording_is_kept_beside_the_old_one(study: Study) -> None:
    newer = COACHING.model_copy(update={"version": "1.0.1"})
    study.save_instrument(Instrument.model_validate(newer.model_dump()))
    assert [instrument.version for instrument in study.instruments()] == ["1.1.0", "1.0.1"]


def test_the_version_that_was_judged_with_last_is_the_newest(study: Study) -> None:
    newer = Instrument.model_validate(COACHING.model_copy(update={"version": "1.0.1"}).model_dump())
    study.save_instrument(newer, judged_with=True)
    time.sleep(0.002)  # studies keep times in milliseconds
    study.save_instrument(COACHING, judged_with=True)
    assert [instrument.version for instrument in study.instruments()] == ["1.0.1", "1.1.0"]


def test_a_rater_with_the_same_settings_is_the_same_rater(study: Study) -> None:
    first = study.save_rater("openai:m", RaterKind.MODEL, {"temperature": 0, "seed": 1})
    again = study.save_rater("openai:m", RaterKind.MODEL, {"seed": 1, "temperature": 0})
    assert first == again == study.find_rater("openai:m", RaterKind.MODEL, {"temperature": 0, "seed": 1})
    assert study.raters() == [first]


def test_a_rater_with_other_settings_is_another_one_with_a_name_of_its_own(study: Study) -> None:
    raters = [study.save_rater("m", RaterKind.MODEL, {"temperature": number}) for number in range(4)]
    raters.append(study.save_rater("m", RaterKind.PERSON, {}))
    assert len({rater.key for rater in raters}) == 5
    assert len({rater.name for rater in raters}) == 5
    assert raters[0].name == "m"
    assert all(rater.name.startswith("m @") for rater in raters[1:])
    assert study.raters() == raters


def test_an_unknown_rater_is_not_found(study: Study) -> None:
    study.save_rater("m", RaterKind.MODEL, {"temperature": 0})
    assert study.find_rater("m", RaterKind.MODEL, {"temperature": 1}) is None


def test_what_a_server_refused_is_kept_with_the_rater(study: Study) -> None:
    rater = study.save_rater("m", RaterKind.MODEL, {})
    study.save_refused(rater, {"seed": "unknown parameter"})
    assert study.save_rater("m", RaterKind.MODEL, {}).refused == {"seed": "unknown parameter"}


def test_once_all_replies_were_asked_for_the_rest_stays_due(study: Study) -> None:
    assert study.responses("empathy-v2") is Responses.ALL
    study.save_responses("empathy-v2", Responses.LAST)
    assert study.responses("empathy-v2") is Responses.LAST
    study.save_responses("empathy-v2", Responses.ALL)
    study.save_responses("empathy-v2", Responses.LAST)
    assert study.responses("empathy-v2") is Responses.ALL


# Conversations


def test_a_conversation_kept_twice_is_one_row(study: Study) -> None:
    assert study.save_conversations([HERE, HERE]) == study.save_conversations([HERE]) * 2
    assert [kept.conversation for kept in study.conversations()] == [HERE]


def test_a_conversation_with_other_words_is_refused_and_nothing_of_its_batch_is_kept(study: Study) -> None:
    study.save_conversations([HERE])
    with pytest.raises(StudyError, match=r"^bot/c1 is in .* with different text.*attune delete .* bot/c1$"):
        study.save_conversations([*talks(3), talk(("Hello", "Go away"))])
    assert [kept.conversation for kept in study.conversations()] == [HERE]


def test_two_conversations_with_one_identity_and_other_words_are_refused_together(study: Study) -> None:
    with pytest.raises(StudyError, match="with different text"):
        study.save_conversations([HERE, talk(("Hello", "Go away"))])
    assert study.conversation_count() == 0


def test_equal_words_of_two_systems_keep_two_rows(study: Study) -> None:
    there = Conversation("c1", "other", HERE.turns)
    assert len(set(study.save_conversations([HERE, there]))) == 2
    assert study.conversation_count() == 2


def test_keys_come_in_the_order_of_the_conversations(study: Study) -> None:
    many = talks(1234)
    keys = study.save_conversations(many)
    assert study.save_conversations(many[::-1]) == keys[::-1]
    assert study.keys([*many[:3], talk(("x", "y"), id="new")]) == {
        conversation.identity: key for conversation, key in zip(many[:3], keys[:3], strict=True)
    }
    assert study.save_conversations([]) == []


def test_all_conversations_come_back_in_pages_and_in_order(study: Study) -> None:
    study.save_conversations(talks(1100))
    kept = list(study.conversations())
    assert [entry.conversation for entry in kept] == talks(1100)
    summaries = [summary for page in study.summaries(300) for summary in page]
    assert [(summary.key, summary.identity, summary.turns) for summary in summaries] == [
        (entry.key, entry.conversation.identity, 1) for entry in kept
    ]
    assert list(study.conversations(after=kept[-2].key)) == kept[-1:]


def test_named_conversations_come_back_and_unknown_ones_do_not(study: Study) -> None:
    study.save_conversations(talks(3))
    found = study.by_identity([Identity("bot", "c1"), Identity("bot", "nobody")])
    assert [entry.conversation for entry in found.values()] == [talks(3)[1]]


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("7", [("a", "7"), ("a/b", "7")]),
        ("a/7", [("a", "7")]),
        ("a/b/7", [("a/b", "7"), ("a", "b/7")]),
        ("b/7", [("a", "b/7")]),
        ("8", []),
        ("/", []),
    ],
)
def test_a_conversation_is_found_by_its_id_or_by_system_and_id(
    study: Study, name: str, found: list[tuple[str, str]]
) -> None:
    for system, id in (("a", "7"), ("a/b", "7"), ("a", "b/7")):
        study.save_conversations([Conversation(id, system, HERE.turns)])
    assert [entry.conversation.identity for entry in study.find(name)] == found


# Answers and ratings


def test_a_value_is_never_overwritten(study: Study) -> None:
    judge = study.save_rater("j", RaterKind.MODEL, {})
    for answer in ("YES", "NO", "NA", MISSING):
        keep_rating(study, judge, HERE, "CQ1", answer, reasoning=str(answer))
    assert [(kept.outcome, kept.reasoning) for kept in study.ratings()] == [(Outcome.of("YES"), "YES")]


@pytest.mark.parametrize("settled", [Outcome.of("NO"), Outcome.of("NA"), ABSTAINED, NOT_DUE])
def test_an_error_is_replaced_by_a_later_outcome_and_by_a_later_error(study: Study, settled: Outcome) -> None:
    judge = study.save_rater("j", RaterKind.MODEL, {})
    seen: list[Outcome] = []
    errors = [Outcome.failed(kind) for kind in (ErrorKind.SERVER, ErrorKind.TIMEOUT)]
    for outcome in (*errors, settled, *errors, Outcome.of("YES")):
        keep_rating(study, judge, HERE, "CQ1", outcome)
        seen += [kept.outcome for kept in study.ratings()]
    assert seen == [*errors, settled, settled, settled, settled]


def test_an_answer_is_never_overwritten_but_an_error_is(study: Study) -> None:
    judge = study.save_rater("j", RaterKind.MODEL, {})
    failed = AnswerRecord("p", judge.key, 0, error=ErrorKind.TIMEOUT, detail="too late")
    said = AnswerRecord("p", judge.key, 0, text="said", prompt_tokens=7, cost=0.5, latency=1.5)
    study.write([failed], [])
    assert study.answered(["p"], judge) == {}
    study.write([said], [])
    study.write([said._replace(text="something else")], [])
    study.write([failed], [])
    assert study.answered(["p"], judge) == {("p", 0): said}


def test_an_answer_comes_back_with_everything(study: Study) -> None:
    judge = study.save_rater("j", RaterKind.MODEL, {})
    full = AnswerRecord(
        prompt="p",
        rater=judge.key,
        repeat=2,
        text="{}",
        detail="d",
        model="m-2026-01-01",
        finish_reason="stop",
        prompt_tokens=1,
        completion_tokens=2,
        cached_tokens=3,
        cost=0.125,
        latency=0.25,
        attempts=4,
        logprobs=[{"token": "YES", "logprob": -0.1, "top": [None, 2]}],
        at="2026-01-01T00:00:00.000+00:00",
    )
    study.write([full], [])
    assert study.answered(["p", "q"], judge) == {("p", 2): full}


def test_answers_are_those_of_one_rater_only(study: Study) -> None:
    one, other = (study.save_rater("j", RaterKind.MODEL, {"seed": seed}) for seed in (1, 2))
    study.write([AnswerRecord(f"p{number}", one.key, 0) for number in range(1200)], [])
    prompts = [f"p{number}" for number in range(1200)]
    assert len(study.answered(prompts, one)) == 1200
    assert study.answered(prompts, other) == {}


def test_every_part_of_the_key_makes_another_rating(study: Study) -> None:
    judge, other = (study.save_rater("j", RaterKind.MODEL, {"seed": seed}) for seed in (1, 2))
    same: dict[str, object] = {"turn": 1, "asked": "p"}
    keep_rating(study, judge, HERE, "CQ1", "YES", **same)
    (key,) = study.save_conversations([HERE])
    study.save_instrument(EMPATHY)
    newer = next(study.ratings())._replace(item_hash="not in the key", instrument=EMPATHY.hash)
    study.write([], [StoredRating(key, judge.key, newer)])
    assert len(list(study.ratings())) == 1
    keep_rating(study, other, HERE, "CQ1", "YES", **same)
    keep_rating(study, judge, talks(1)[0], "CQ1", "YES", **same)
    keep_rating(study, judge, HERE, "CQ2", "YES", **same)
    for change in ({"turn": 2}, {"turn": None}, {"asked": "q"}, {"repeat": 1}, {"round": Round.GOLD}):
        keep_rating(study, judge, HERE, "CQ1", "YES", **{**same, **change})
    assert len(list(study.ratings())) == 9


def test_a_rating_comes_back_with_everything(study: Study) -> None:
    person = study.save_rater("Ada", RaterKind.PERSON, {})
    (key,) = study.save_conversations([HERE])
    full = Rating(
        conversation=HERE.identity,
        turn=1,
        item="CQ9",
        outcome=Outcome.of("NA"),
        rater="Ada",
        rater_kind=RaterKind.PERSON,
        repeat=3,
        round=Round.ADJUDICATION,
        reasoning="Turn 1: 'Hi'",
        evidence=({"standing": "found", "turns": [1]}, {"standing": "absent"}),
        rules=(
            RuleFinding("crisis_cue_but_na", Consistency.VIOLATED, "look", 1, "Hello"),
            RuleFinding("s", Consistency.NOTICE, "t"),
        ),
        marks=frozenset({Mark.NA_INVALID, Mark.LONG_REASONING}),
        item_hash="i",
        asked="a",
        instrument=COACHING.hash,
        detail="d",
        at="2026-01-01T00:00:00.000+00:00",
    )
    study.write([], [StoredRating(key, person.key, full)])
    (kept,) = study.ratings()
    assert kept == full
    assert kept.rules[0].consistency is Consistency.VIOLATED


@pytest.mark.parametrize("rule", ["crisis_needs_resources", "harmful_advice", "crisis_cue_but_na"])
@pytest.mark.parametrize("consistency", ["violated", "unclear", "notice"])
def test_of_the_rules_that_earlier_versions_kept_only_one_still_holds_a_conversation_back(
    study: Study, rule: str, consistency: str
) -> None:
    judge = study.save_rater("j", RaterKind.MODEL, {})
    keep_rating(study, judge, HERE, "CQ9", "NA")
    finding = {"rule": rule, "consistency": consistency, "text": "look", "turn": 1, "quote": "Hello"}
    with study.writing() as connection:
        connection.execute(schema.ratings.update().values(rules=json.dumps([finding])))
    holds = rule == "crisis_cue_but_na" and consistency == "violated"
    ((read,),) = (rating.rules for rating in study.ratings())
    assert read == RuleFinding(rule, Consistency.VIOLATED if holds else Consistency.NOTICE, "look", 1, "Hello")


def test_a_rating_is_kept_the_same_by_a_run_and_by_an_insert(study: Study) -> None:
    judge = study.save_rater("j", RaterKind.MODEL, {})
    odd = r"a \ and a half" + "\ud800"
    finding = RuleFinding("late", Consistency.NOTICE, odd)
    keep_rating(
        study, judge, HERE, "CQ1", "NO", reasoning=odd, detail=odd, evidence=({"quote": odd},), rules=(finding,)
    )
    (by_run,) = study.ratings()
    (key,) = study.save_conversations([HERE])
    with study.writing() as connection:
        connection.execute(schema.ratings.delete())
        connection.execute(schema.ratings.insert(), [rating_row(by_run, key, judge.key)])
    assert list(study.ratings()) == [by_run]


def test_the_time_is_that_of_the_clock_to_the_millisecond() -> None:
    before = datetime.now(UTC)
    kept = now()
    assert before - timedelta(milliseconds=1) < datetime.fromisoformat(kept) <= datetime.now(UTC)
    assert datetime.fromisoformat(kept).isoformat(timespec="milliseconds") == kept


def test_ratings_can_be_limited_to_conversations_and_to_a_round(study: Study) -> None:
    judge = study.save_rater("j", RaterKind.MODEL, {})
    for conversation in talks(3):
        keep_rating(study, judge, conversation, "CQ1", "YES")
        keep_rating(study, judge, conversation, "CQ1", "NO", round=Round.GOLD)
    keys = study.save_conversations(talks(3))
    assert len(list(study.ratings(conversations=keys[1:]))) == 4
    assert {kept.outcome.value for kept in study.ratings(round=Round.MAIN)} == {"YES"}
    assert list(study.ratings(conversations=[])) == []


def test_what_a_rater_rated_is_found_by_conversation_and_only_in_the_main_round(study: Study) -> None:
    judge, other = (study.save_rater("j", RaterKind.MODEL, {"seed": seed}) for seed in (1, 2))
    keep_rating(study, judge, HERE, "CQ1", "YES", asked="p")
    keep_rating(study, judge, HERE, "CQ2", MISSING, asked="q", turn=1)
    keep_rating(study, judge, HERE, "CQ3", "YES", round=Round.CALIBRATION)
    keep_rating(study, other, HERE, "CQ6", "YES")
    (key,) = study.save_conversations([HERE])
    assert {entry[:5]: entry.outcome for entry in study.rated([key], judge)} == {
        (key, None, "CQ1", "p", 0): Outcome.of("YES"),
        (key, 1, "CQ2", "q", 0): MISSING,
    }


def test_a_rating_of_an_unknown_conversation_is_refused_and_nothing_of_its_batch_is_kept(study: Study) -> None:
    judge = study.save_rater("j", RaterKind.MODEL, {})
    (key,) = study.save_conversations([HERE])
    good, bad = (StoredRating(number, judge.key, rating(COACHING, "CQ1", "YES")) for number in (key, key + 1))
    with pytest.raises(StudyError, match=r"cannot be written"):
        study.write([AnswerRecord("p", judge.key, 0)], [good, bad])
    assert list(study.ratings()) == []
    assert study.answered(["p"], judge) == {}


def test_marked_answers_are_counted_by_rater_beside_all_its_answers(study: Study) -> None:
    judge, person = study.save_rater("j", RaterKind.MODEL, {}), study.save_rater("Ada", RaterKind.PERSON, {})
    long = frozenset({Mark.LONG_REASONING, Mark.FENCED})
    keep_rating(study, judge, HERE, "CQ1", "YES", marks=long)
    keep_rating(study, judge, HERE, "CQ2", "NA", marks=frozenset({Mark.FENCED}))
    keep_rating(study, judge, HERE, "CQ3", "NO", marks=long, round=Round.GOLD)
    for item, outcome in (("CQ6", MISSING), ("CQ8", ABSTAINED), ("CQ9", NOT_DUE)):
        keep_rating(study, judge, HERE, item, outcome)
    keep_rating(study, person, HERE, "CQ1", "YES")
    assert study.mark_counts(Mark.LONG_REASONING) == {"j": (1, 2), "Ada": (0, 1)}
    assert study.mark_counts(Mark.REPAIRED) == {"j": (0, 2), "Ada": (0, 1)}


# Forgetting


def test_forgetting_takes_a_conversation_with_everything_derived_from_it(study_place: str) -> None:
    with fill(study_place) as study:
        (kept,) = study.find("c1")
        judge = study.raters()[0]
        asked = {made.item: made.asked for made in study.ratings(conversations=[kept.key])}
        others = [made for made in study.ratings() if made.conversation.id != "c1"]
        assert study.delete(kept.key) == (len(COACHING.items), True)
        assert study.find("c1") == []
        assert list(study.ratings()) == others
        assert study.answered(list(asked.values()), judge) == {}
        assert len(study.answered([made.asked for made in others], judge)) == len(others)


def test_forgetting_keeps_an_answer_that_serves_another_conversation_with_the_same_words(study_place: str) -> None:
    twin = Conversation("twin", "bot", talks(1)[0].turns)
    with fill(study_place, [talks(1)[0], twin]) as study:
        judge = study.raters()[0]
        asked = [made.asked for made in study.ratings()]
        study.delete(study.find("twin")[0].key)
        assert len(study.answered(asked, judge)) == len(COACHING.items)
        study.delete(study.find("c0")[0].key)
        assert study.answered(asked, judge) == {}


def test_forgetting_keeps_the_answer_of_the_rater_it_serves_only(study: Study) -> None:
    one, other = (study.save_rater("j", RaterKind.MODEL, {"seed": seed}) for seed in (1, 2))
    twin = Conversation("twin", "bot", HERE.turns)
    keep_rating(study, one, HERE, "CQ1", "YES", asked="p")
    keep_rating(study, one, twin, "CQ1", "YES", asked="p")
    keep_rating(study, other, HERE, "CQ1", "YES", asked="p")
    study.write([AnswerRecord("p", one.key, 0), AnswerRecord("p", other.key, 0)], [])
    study.delete(study.find("c1")[0].key)
    assert len(study.answered(["p"], one)) == 1
    assert study.answered(["p"], other) == {}


def test_forgetting_takes_answers_that_a_killed_run_left_without_ratings(study_place: str) -> None:
    """Nothing says whose they are, and they may quote the conversation."""
    with fill(study_place) as study:
        judge = study.raters()[0]
        others = [made.asked for made in study.ratings() if made.conversation.id != "c1"]
        study.write([AnswerRecord("left over", judge.key, 0, "Rumpelstiltskin")], [])
        assert study.answered(["left over"], judge)
        study.delete(study.find("c1")[0].key)
        assert study.answered(["left over"], judge) == {}
        assert len(study.answered(others, judge)) == len(others)


def test_what_was_forgotten_is_not_left_in_the_file(tmp_path: Path) -> None:
    place = tmp_path / "a.db"
    secret = talk(("Nobody knows that I am called Rumpelstiltskin.", "Rumpelstiltskin?"), id="secret")
    with fill(place, [*talks(2), secret]) as study:
        keep_rating(study, study.raters()[0], secret, "CQ1", MISSING, asked="q", reasoning="Rumpelstiltskin")
        keep_rating(study, study.raters()[0], secret, "CQ1", "YES", asked="q", reasoning="a name")
        study.delete(study.find("secret")[0].key)
        assert all(b"Rumpelstiltskin" not in path.read_bytes() for path in tmp_path.iterdir())


# Any text

ANY = st.text(st.characters(codec=None, categories=None), max_size=30) | st.sampled_from(
    [
        "\x00",
        "\ud800",
        "\udfff\ud800",
        "\\",
        "\\u0000",
        "\\\\u0000\x00",
        "👩‍👩‍👧",
        "שלום\u202e",
        "a\x00b",
        "\r\n",
        "'\"%s%(x)s:x",
    ]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | ANY,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ANY, inner, max_size=3),
    max_leaves=6,
)


@settings(
    max_examples=40,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    deadline=None,
)
@given(
    text=st.lists(ANY, min_size=12, max_size=12), metadata=st.dictionaries(ANY, JSON, max_size=4), number=st.integers()
)
def test_any_text_comes_back_unchanged(study: Study, text: list[str], metadata: dict[str, object], number: int) -> None:
    conversation = Conversation(
        id=text[0],
        system=text[1],
        turns=(Turn(text[2], text[3]), Turn("", text[2])),
        metadata={**metadata, "number": number},
        instructions=text[4],
    )
    for kept in list(study.conversations()):
        study.delete(kept.key)
    (key,) = study.save_conversations([conversation])
    judge = study.save_rater(text[5], RaterKind.MODEL, {text[6]: metadata})
    made = Rating(
        conversation=conversation.identity,
        turn=None,
        item="CQ1",
        outcome=MISSING,
        rater=judge.name,
        reasoning=text[7],
        evidence=({"quote": text[8], text[9]: metadata},),
        rules=(RuleFinding("r", Consistency.NOTICE, text[10], 1, text[9]),),
        instrument=COACHING.hash,
        asked="p",
        detail=text[11],
    )
    said = AnswerRecord("p", judge.key, 0, text[0], model=text[1], finish_reason=text[2], logprobs=[text[3], metadata])
    study.write([said], [StoredRating(key, judge.key, made)])

    assert [kept.conversation for kept in study.conversations()] == [conversation]
    assert study.find(text[0])[0].conversation == conversation
    assert study.find(f"{text[1]}/{text[0]}")[0].conversation == conversation
    assert list(study.ratings()) == [made]
    assert study.answered(["p"], judge) == {("p", 0): said}
    assert study.save_rater(text[5], RaterKind.MODEL, {text[6]: metadata}) == judge


def test_an_id_may_be_of_any_length(study: Study) -> None:
    long = Conversation("x" * 100_000, "y" * 100_000, HERE.turns)
    study.save_conversations([long])
    assert study.find(long.id)[0].conversation == long


def test_a_study_in_postgresql_gives_back_what_was_put_in(postgres: Server) -> None:
    with Study(postgres.new_database(), create=True) as study:
        study.save_instrument(COACHING)
        assert [kept.hash for kept in study.instruments()] == [COACHING.hash]

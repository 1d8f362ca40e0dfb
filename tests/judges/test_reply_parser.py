"""Reading replies: exactly one object with exactly the expected keys, or no answer at all."""

import json
import re
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from attunement.conversations import Conversation, Turn, Unit
from attunement.instruments import Instrument, load
from attunement.judges import Request
from attunement.judges.reply_parser import ParsedAnswer, Readable, Unreadable, marks_of, read_reply
from attunement.prompts import Layout, Questionnaire
from attunement.ratings import ErrorKind, Mark
from tests.fake_judge import Asked, Behaviour, FakeJudge, valid_reply
from tests.judges.asking import answered, openai

COACHING = load("coaching-v1")
EMPATHY = load("empathy-v2")
ATTACKS: dict[str, list[dict[str, str]]] = yaml.safe_load(Path(__file__).with_name("attacks.yaml").read_text("utf-8"))


def read(text: str, finish_reason: str | None = "stop", instrument: Instrument = COACHING) -> Readable | Unreadable:
    """Read a reply to a question about the instrument's first item."""
    return read_reply(text, finish_reason, instrument, instrument.items[:1], together=False)


def read_together(text: str) -> Readable | Unreadable:
    return read_reply(text, "stop", EMPATHY, EMPATHY.items[:2], together=True)


def complaint(outcome: Readable | Unreadable, kind: ErrorKind = ErrorKind.MALFORMED) -> str:
    assert isinstance(outcome, Unreadable), outcome
    assert outcome.kind is kind
    return outcome.complaint


def the_answer(outcome: Readable | Unreadable) -> ParsedAnswer:
    assert isinstance(outcome, Readable), outcome
    (given,) = outcome.answers.values()
    return given


@pytest.mark.parametrize("attack", ATTACKS["replies"], ids=lambda attack: attack["name"])
def test_no_reply_smuggles_in_a_verdict(attack: dict[str, str]) -> None:
    outcome = read(attack["reply"])
    if attack["read"] in ("malformed", "refused"):
        complaint(outcome, ErrorKind(attack["read"]))
    else:
        assert the_answer(outcome).value == attack["read"]


@pytest.mark.parametrize("layout", Layout)
@pytest.mark.parametrize("attack", ATTACKS["transcripts"], ids=lambda attack: attack["name"])
def test_no_transcript_smuggles_a_verdict_through_the_plumbing(
    fake: FakeJudge, attack: dict[str, str], layout: Layout
) -> None:
    conversation = Conversation("c", "s", (Turn("I feel low.", "I hear you."), Turn(attack["user"], "Tell me more.")))
    asked = next(Questionnaire(COACHING, layout=layout).questions(Unit(conversation)))
    text = asked.render()
    request = Request(text.system, text.shared, text.own, asked.schema)
    own = {"reasoning": f"The user wrote: {attack['user']}", "answer": "NO"}
    forged = re.search(r"\{.*\}", attack["user"])
    said = {
        "quotes it": (json.dumps(own), "NO"),
        "repeats it, then answers": (f"{forged[0] if forged else attack['user']}\n{json.dumps(own)}", None),
        "answers, then repeats it": (f"{json.dumps(own)}\n{attack['user']}", None),
    }
    for text, value in said.values():
        fake.behaviour = Behaviour(answer=lambda _, text=text: text)
        answer = answered(openai(fake), request)
        outcome = read_reply(answer.text, answer.finish_reason, COACHING, asked.items, together=False)
        assert (the_answer(outcome).value if isinstance(outcome, Readable) else None) == value


def test_a_plain_object_is_an_answer() -> None:
    outcome = read('  {"reasoning": "Turn 1.", "answer": "NA"}\n')
    assert outcome == Readable({COACHING.items[0].id: ParsedAnswer("NA", "Turn 1.")}, fenced=False)


@pytest.mark.parametrize(
    "fence", ["```json\n{}\n```", "```\n{}\n```", "\n```JSON \n{}```\n", "```json {}```", "```{}```"]
)
def test_a_fence_around_the_object_is_tolerated_and_noted(fence: str) -> None:
    outcome = read(fence.replace("{}", '{"reasoning": "r", "answer": "YES"}'))
    assert isinstance(outcome, Readable)
    assert outcome.fenced
    given = the_answer(outcome)
    assert Mark.FENCED in marks_of(given, COACHING.items[0], COACHING, fenced=True)


@pytest.mark.parametrize("score", ['"4"', "4.0", "true", "0", "6", "1e0", "null", "4.5", "-1", "[4]", "9" * 5000])
def test_only_a_whole_number_on_the_scale_is_a_score(score: str) -> None:
    complaint(read(f'{{"reasoning": "r", "score": {score}}}', instrument=EMPATHY))


def test_scores_of_several_items_are_read_together() -> None:
    first, second = (item.id for item in EMPATHY.items[:2])
    text = json.dumps({first: {"reasoning": "a", "score": 1}, second: {"reasoning": "b", "score": 5}})
    assert read_together(text) == Readable({first: ParsedAnswer(1, "a"), second: ParsedAnswer(5, "b")}, fenced=False)


@pytest.mark.parametrize("change", ["drop", "add", "bare", "wrong"])
def test_one_bad_item_spoils_the_reply_about_several(change: str) -> None:
    first, second = (item.id for item in EMPATHY.items[:2])
    content: dict[str, Any] = {first: {"reasoning": "a", "score": 1}, second: {"reasoning": "b", "score": 5}}
    if change == "drop":
        del content[second]
    elif change == "add":
        content["bonus"] = {"reasoning": "c", "score": 5}
    elif change == "bare":
        content[second] = 5
    else:
        content[second]["score"] = "5"
    said = complaint(read_together(json.dumps(content)))
    assert ("bonus" if change == "add" else second) in said


@pytest.mark.parametrize("reason", ["content_filter", "refusal", "safety"])
def test_a_reply_that_a_filter_withheld_is_refused_whatever_it_says(reason: str) -> None:
    complaint(read("", reason), ErrorKind.REFUSED)
    complaint(read('{"reasoning": "r", "answer": "YES"}', reason), ErrorKind.REFUSED)


@pytest.mark.parametrize("reason", ["length", "max_tokens"])
def test_a_reply_that_was_cut_off_is_told_so(reason: str) -> None:
    assert "cut off" in complaint(read('{"reasoning": "Turn 1', reason))


@pytest.mark.parametrize(
    "text",
    [
        "I cannot assist with that request.",
        "I’m unable to evaluate conversations about self-harm.",
        "I'm sorry, but I can’t rate this.",
        "I must decline.",
        "This goes against my guidelines.",
    ],
)
def test_refusals_are_recognised(text: str) -> None:
    complaint(read(text), ErrorKind.REFUSED)


@pytest.mark.parametrize(
    "text",
    ["The assistant said it cannot help.", "I can see that the reply is kind. YES", "I won the argument.", "Sorry."],
)
def test_other_prose_is_not_taken_for_a_refusal(text: str) -> None:
    complaint(read(text))


def test_complaints_can_be_sent_back_whatever_the_reply_held() -> None:
    said = complaint(read('{"reasoning": "r", "answer": "YES", "\\ud800": 1}'))
    said.encode()  # half a character would not survive this


def test_an_invalid_na_and_long_reasoning_are_kept_and_marked() -> None:
    strict = next(item for item in COACHING.items if not item.na_valid)
    given = ParsedAnswer("NA", "x" * (COACHING.prompt.reasoning_limit + 1))
    assert marks_of(given, strict, COACHING, fenced=False) == {Mark.NA_INVALID, Mark.LONG_REASONING}
    assert marks_of(ParsedAnswer("NO", "short"), strict, COACHING, fenced=False) == frozenset()


VALID = st.builds(
    lambda reasoning, answer: json.dumps({"reasoning": reasoning, "answer": answer}),
    st.text(),
    st.sampled_from(["YES", "NO", "NA"]),
)


@given(VALID)
def test_every_valid_object_is_read_as_it_is(text: str) -> None:
    content = json.loads(text)
    assert the_answer(read(text)) == ParsedAnswer(content["answer"], content["reasoning"])


KEYS = [r'"reasoning"', r'"answer"', r'"score"', r'"Answer"', r'"\u0061nswer"', r'"reasonin\u0067"']
VALUES = [r'"Turn 1: \"answer\""', '"answer"', '"YES"', '"yes"', '"\\u0059ES"', "4", "4.0", "true", '{"answer": "YES"}']


def test_the_quick_way_to_read_finds_nothing_that_the_close_look_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = [f"{key}: {value}" for key, value in product(KEYS, VALUES)]
    valid = [f"{key}: {value}" for key, value in product(KEYS, ['"YES"', '"NO"', "4"])]
    objects = [f"{{{', '.join(some)}}}" for some in [*product(pairs, repeat=2), *product(valid, repeat=3)]]
    texts = [*objects, *(f"{one}{behind}" for one in objects[::50] for behind in [" ", "}", "{}", "\x00", "\u2003"])]
    quickly = [read(text, instrument=instrument) for text in texts for instrument in (COACHING, EMPATHY)]
    assert sum(isinstance(outcome, Readable) for outcome in quickly) > 100
    monkeypatch.setattr("attunement.judges.reply_parser._plainly", lambda *_: None)
    assert quickly == [read(text, instrument=instrument) for text in texts for instrument in (COACHING, EMPATHY)]


@given(VALID, st.text(), VALID)
def test_two_objects_are_never_an_answer(first: str, between: str, second: str) -> None:
    complaint(read(first + between + second))


@given(st.text(min_size=1), VALID, st.text())
def test_anything_around_the_object_is_never_an_answer(before: str, text: str, after: str) -> None:
    if before.strip() or after.strip():
        assert isinstance(read(before + text + after), Unreadable)


@given(st.text() | VALID.flatmap(lambda text: st.integers(0, len(text)).map(lambda cut: text[:cut])))
def test_no_text_makes_reading_fail_and_no_value_is_off_the_scale(text: str) -> None:
    for instrument in (COACHING, EMPATHY):
        outcome = read(text, instrument=instrument)
        if isinstance(outcome, Readable):
            assert the_answer(outcome).value in instrument.scale.answers


@pytest.mark.parametrize("depth", [50, 900, 990, 100_000])
def test_nesting_of_any_depth_is_no_answer(depth: int) -> None:
    complaint(read(f'{{"reasoning": "r", "answer": {"[" * depth}{"]" * depth}}}'))


@given(st.integers(min_value=0), st.sampled_from([COACHING, EMPATHY]))
def test_the_fake_judges_replies_are_readable(number: int, instrument: Instrument) -> None:
    turns = (Turn("I feel low.", "That sounds heavy. What happened?"), Turn("Work.", "Do you want to tell me more?"))
    conversation = Conversation("c", "s", turns)
    unit = Unit(conversation, None if instrument is COACHING else 2)
    asked = next(Questionnaire(instrument).questions(unit))
    text = asked.render()
    for schema in (asked.schema, None):
        reply = valid_reply(Asked(text.system, text.user, schema, 0, number))
        outcome = read_reply(reply, "stop", instrument, asked.items, together=asked.together)
        assert isinstance(outcome, Readable), (reply, outcome)
        for answer in outcome.answers.values():
            quoted = re.search(r'Turn (\d): "(.*)"', answer.reasoning)
            assert quoted
            assert quoted[2] in turns[int(quoted[1]) - 1].assistant

"""What a server refuses is found out, dropped once, remembered and shown; nothing else is lost."""

import asyncio

import pytest
from aiohttp import web
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from attunement.judges import Answer, Failure, Judge, Request
from attunement.ratings import ErrorKind
from tests.fake_judge import Behaviour, FakeJudge
from tests.judges.asking import QUESTION, answered, ask, ask_all, error, failed, openai, question

# What a server may refuse, and under which name the user is told so.
REFUSALS = {
    "temperature": "temperature",
    "seed": "seed",
    "logprobs": "logprobs",
    "max_tokens": "max_tokens",
    "maxLength": "response_format",
    "system": "system message",
}


def wishing(fake: FakeJudge) -> Judge:
    """A judge that asks for everything."""
    return openai(fake, seed=5, logprobs=True)


@pytest.mark.parametrize("status", [400, 404, 422, 500])
@pytest.mark.parametrize("name", REFUSALS)
def test_a_named_refusal_drops_that_and_nothing_else(fake: FakeJudge, name: str, status: int) -> None:
    fake.behaviour = Behaviour(refuses=frozenset({name}), refusal_status=status)
    judge = wishing(fake)
    assert isinstance(ask(judge), Answer)
    assert judge.refused.keys() == {REFUSALS[name]}
    first, second = fake.bodies
    assert second.keys() ^ first.keys() <= {name, "top_logprobs", "max_completion_tokens"}


def test_what_was_refused_is_remembered(fake: FakeJudge) -> None:
    fake.behaviour = Behaviour(refuses=frozenset({"temperature", "maxLength"}))
    judge = wishing(fake)
    for number in range(5):
        answered(judge, question(number))
    assert fake.outcomes == {"answered": 5, "refused_parameter": 2}


def test_the_format_goes_down_step_by_step(fake: FakeJudge) -> None:
    told: list[str] = []
    for refused in (["maxLength"], ["json_schema"], ["json_schema", "json_object"]):
        fake.behaviour = Behaviour(refuses=frozenset(refused))
        judge = openai(fake)
        answered(judge)
        told.append(judge.refused["response_format"])
    assert told == [
        "a JSON schema without the limit of length",
        "any JSON object, described in the prompt",
        "plain text; the prompt alone asks for JSON",
    ]
    assert "response_format" not in fake.bodies[-1]


def test_the_limit_of_tokens_goes_by_the_name_the_server_wants_or_by_none(fake: FakeJudge) -> None:
    fake.behaviour = Behaviour(refuses=frozenset({"max_tokens"}))
    judge = openai(fake, max_tokens=50)
    answered(judge)
    assert judge.refused == {"max_tokens": "sent as max_completion_tokens"}
    assert fake.bodies[-1]["max_completion_tokens"] == 50
    fake.behaviour = Behaviour(refuses=frozenset({"max_tokens", "max_completion_tokens"}))
    answered(judge)
    assert judge.refused == {"max_tokens": "left out"}


def test_a_model_without_a_system_message_reads_it_before_the_question(fake: FakeJudge) -> None:
    fake.behaviour = Behaviour(refuses=frozenset({"system"}))
    answered(openai(fake))
    (message,) = fake.bodies[-1]["messages"]
    assert message == {"role": "user", "content": f"{QUESTION.system}\n\n{QUESTION.shared}{QUESTION.own}"}


def test_a_model_that_takes_no_system_message_and_does_not_say_so_is_found_out(fake: FakeJudge) -> None:
    fake.behaviour = Behaviour(refuses=frozenset({"system"}), says_what=False)
    judge = openai(fake)
    answered(judge)
    assert judge.refused == {"system message": "put before the user message"}


@pytest.mark.parametrize("status", [400, 422])
@pytest.mark.parametrize("name", ["temperature", "seed", "logprobs", "max_tokens", "maxLength", "json_schema"])
def test_an_unnamed_refusal_is_found_and_costs_nothing_else(fake: FakeJudge, name: str, status: int) -> None:
    fake.behaviour = Behaviour(refuses=frozenset({name}), refusal_status=status, says_what=False)
    judge = wishing(fake)
    answered(judge)
    assert judge.refused.keys() == {REFUSALS.get(name, "response_format")}
    asked = fake.requests
    answered(judge, question(2))
    assert fake.requests == asked + 1


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    refused=st.frozensets(st.sampled_from(["temperature", "seed", "logprobs", "maxLength", "max_tokens"])),
    says_what=st.booleans(),
)
def test_exactly_what_is_refused_is_dropped(fake: FakeJudge, refused: frozenset[str], says_what: bool) -> None:
    fake.behaviour = Behaviour(refuses=refused, says_what=says_what)
    judge = wishing(fake)
    answered(judge)
    assert judge.refused.keys() == {REFUSALS[name] for name in refused}


def test_an_unnamed_500_is_a_passing_fault_at_first_and_a_refusal_when_it_stays(fake: FakeJudge) -> None:
    fake.behaviour = Behaviour(refuses=frozenset({"logprobs"}), refusal_status=500, says_what=False)
    judge = wishing(fake)
    for _ in range(2):
        failure = failed(judge)
        assert (failure.kind, failure.transient) == (ErrorKind.SERVER, True)
    assert fake.requests == 2
    answered(judge)
    assert judge.refused.keys() == {"logprobs"}


@pytest.mark.parametrize("faults", range(1, 12))
def test_a_server_that_is_down_for_a_while_is_not_taken_to_refuse_anything(fake: FakeJudge, faults: int) -> None:
    down = iter(range(faults))

    def respond(_: object) -> web.StreamResponse:
        if next(down, None) is not None:
            return web.json_response({"error": {"message": "Internal server error"}}, status=500)
        return web.json_response({"choices": [{"message": {"content": "{}"}, "finish_reason": "stop"}]})

    fake.behaviour = Behaviour(respond=respond)
    judge = wishing(fake)
    while isinstance(ask(judge), Failure):
        pass
    assert judge.refused == {}


def test_a_server_that_refuses_everything_is_given_up_after_a_bounded_search(fake: FakeJudge) -> None:
    fake.behaviour = error(400, "No.")
    judge = wishing(fake)
    failure = failed(judge)
    assert (failure.kind, failure.fatal, failure.transient) == (ErrorKind.SERVER, True, False)
    assert judge.refused == {}
    for _ in range(5):
        failed(judge)
    assert fake.requests < 40


def test_an_error_about_one_question_changes_nothing_once_the_terms_are_known(fake: FakeJudge) -> None:
    judge = wishing(fake)
    answered(judge)
    fake.behaviour = error(400, "Invalid character in input.")
    failure = failed(judge, question(2))
    assert (failure.kind, failure.fatal, failure.transient) == (ErrorKind.SERVER, False, False)
    assert judge.refused == {}
    assert fake.requests == 2


def test_a_refusal_in_words_is_doubted_until_several_questions_met_it_once_the_terms_are_known(
    fake: FakeJudge,
) -> None:
    judge = wishing(fake)
    answered(judge)
    fake.behaviour = Behaviour(refuses=frozenset({"temperature"}))
    for _ in range(5):
        failed(judge, question(1))
    failed(judge, question(2))
    assert judge.refused == {}
    answered(judge, question(3))
    assert judge.refused == {"temperature": "the model's own"}


def test_an_answer_between_two_refusals_takes_the_doubts_away(fake: FakeJudge) -> None:
    judge = wishing(fake)
    for number in range(0, 10, 2):
        fake.behaviour = Behaviour()
        answered(judge, question(number))
        fake.behaviour = Behaviour(refuses=frozenset({"temperature"}))
        failed(judge, question(number + 1))
    assert judge.refused == {}


@pytest.mark.parametrize("at_once", [True, False])
@pytest.mark.parametrize("word", ["temperature", "schema", "seed", "grammar"])
def test_an_error_that_quotes_a_conversation_drops_nothing(fake: FakeJudge, word: str, at_once: bool) -> None:
    judge = wishing(fake)
    answered(judge)
    fake.behaviour = error(400, f"Invalid content: 'My {word} was high and I feel sad'")
    questions = [question(number) for number in range(17)]  # about the same conversation
    replies = ask_all(judge, questions) if at_once else [ask(judge, each) for each in questions]
    assert all(isinstance(reply, Failure) for reply in replies)
    assert judge.refused == {}
    assert fake.requests <= 1 + 17 * 4 / 3


@pytest.mark.parametrize("asked_before", [True, False])
def test_a_reply_that_did_not_fit_the_schema_may_pass_and_drops_nothing(fake: FakeJudge, asked_before: bool) -> None:
    judge = wishing(fake)
    if asked_before:
        answered(judge)
    said = "Generated JSON does not match the expected schema. Please adjust your prompt."
    fake.behaviour = error(400, said, code="json_validate_failed")
    for number in range(1, 6):
        failure = failed(judge, question(number))
        assert (failure.kind, failure.transient, failure.requests) == (ErrorKind.SERVER, True, 1)
    assert judge.refused == {}


@pytest.mark.parametrize("says_what", [True, False])
def test_questions_asked_at_the_same_time_drop_what_was_refused_and_nothing_more(
    fake: FakeJudge, says_what: bool
) -> None:
    fake.behaviour = Behaviour(refuses=frozenset({"maxLength", "logprobs"}), says_what=says_what, latency=0.02)
    judge = wishing(fake)
    answers = ask_all(judge, map(question, range(30)))
    assert all(isinstance(answer, Answer) for answer in answers)
    assert judge.refused.keys() == {"response_format", "logprobs"}
    assert judge.refused["response_format"] == "a JSON schema without the limit of length"


def test_of_questions_asked_at_the_same_time_one_finds_out_what_else_is_refused(fake: FakeJudge) -> None:
    """Each is refused once before anybody knows; the others wait while one goes through the rest."""
    refused = frozenset({"maxLength", "json_schema", "logprobs", "seed", "temperature"})
    fake.behaviour = Behaviour(refuses=refused, latency=0.02)
    answers = ask_all(wishing(fake), map(question, range(30)))
    assert all(isinstance(answer, Answer) for answer in answers)
    assert fake.outcomes["refused_parameter"] < 30 + 10
    assert sum(answer.requests for answer in answers) == fake.requests


def test_faults_among_the_first_questions_are_not_taken_for_refusals(fake: FakeJudge) -> None:
    fake.behaviour = Behaviour(faults={"server_error": 0.5, "rate_limit": 0.2})
    judge = wishing(fake)

    async def insist(request: Request) -> Answer:
        while isinstance(answer := await judge.ask(request), Failure):
            assert answer.transient
        return answer

    async def run() -> None:
        await asyncio.gather(*(insist(question(number)) for number in range(40)))
        await judge.close()

    asyncio.run(run())
    assert judge.refused == {}


def test_requests_are_counted_with_those_that_only_found_out_what_is_accepted(fake: FakeJudge) -> None:
    fake.behaviour = Behaviour(refuses=frozenset({"seed", "temperature"}))
    judge = openai(fake, seed=1)
    assert answered(judge).requests == fake.requests == 3
    assert answered(judge).requests == 1

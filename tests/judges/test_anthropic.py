"""Anthropic's messages over real HTTP: caching marks, usage, and what its interface lacks."""

import orjson
import pytest

from attunement.errors import JudgeError
from attunement.judges import Exchange, JudgeOptions, Usage, make_judge
from attunement.ratings import ErrorKind
from tests.fake_judge import Behaviour, FakeJudge
from tests.judges.asking import QUESTION, answered, anthropic, failed, responding

CACHED = {"cache_control": {"type": "ephemeral"}}


def test_transcript_first_marks_the_end_of_the_system_message_and_of_the_transcript_for_caching(
    fake: FakeJudge,
) -> None:
    answered(anthropic(fake))
    body = fake.bodies[0]
    assert body["system"] == [{"type": "text", "text": QUESTION.system, **CACHED}]
    assert body["messages"] == [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": QUESTION.shared, **CACHED},
                {"type": "text", "text": QUESTION.own},
            ],
        }
    ]


def test_criterion_first_marks_nothing(fake: FakeJudge) -> None:
    answered(anthropic(fake), QUESTION._replace(shared=""))
    assert b"cache_control" not in orjson.dumps(fake.bodies[0])
    assert fake.bodies[0]["messages"] == [{"role": "user", "content": [{"type": "text", "text": QUESTION.own}]}]


def test_a_request_carries_the_version_the_key_and_a_schema_without_limits_of_length(
    fake: FakeJudge, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "the-key")
    answered(anthropic(fake, max_tokens=99))
    body, headers = fake.bodies[0], fake.headers[0]
    assert (headers["x-api-key"], headers["anthropic-version"]) == ("the-key", "2023-06-01")
    assert "Authorization" not in headers
    form = body["output_config"]["format"]
    assert form["type"] == "json_schema"
    assert form["schema"]["properties"]["reasoning"] == {"type": "string"}
    assert (body["max_tokens"], body["temperature"]) == (99, 0.0)


def test_usage_counts_the_whole_prompt_whatever_the_cache_did(fake: FakeJudge) -> None:
    usage = {
        "input_tokens": 10,
        "cache_read_input_tokens": 700,
        "cache_creation_input_tokens": 40,
        "output_tokens": 5,
    }
    content = [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "{}"}]
    fake.behaviour = responding({"content": content, "stop_reason": "end_turn", "usage": usage})
    answer = answered(anthropic(fake))
    assert answer.usage == Usage(prompt=750, completion=5, cached=700, written=40)
    assert answer.text == "{}"


def test_a_refusal_is_passed_on_as_the_reason_for_stopping(fake: FakeJudge) -> None:
    fake.behaviour = responding({"content": [], "stop_reason": "refusal", "usage": {}})
    answer = answered(anthropic(fake))
    assert (answer.text, answer.finish_reason) == ("", "refusal")


def test_an_answer_that_overran_the_context_means_that_the_question_is_too_long(fake: FakeJudge) -> None:
    fake.behaviour = responding({"content": [], "stop_reason": "model_context_window_exceeded", "usage": {}})
    assert failed(anthropic(fake)).kind is ErrorKind.PROMPT_TOO_LONG


def test_an_older_model_gets_no_schema_and_the_answer_still_comes(fake: FakeJudge) -> None:
    fake.behaviour = Behaviour(refuses=frozenset({"output_config"}))
    judge = anthropic(fake)
    assert orjson.loads(answered(judge).text).keys() == {"reasoning", "answer"}
    assert judge.refused == {"output_config": "plain text; the prompt alone asks for JSON"}


def test_what_the_service_has_not_got_is_said_before_the_first_question(fake: FakeJudge) -> None:
    judge = anthropic(fake, seed=3, logprobs=True)
    assert judge.refused.keys() == {"seed", "logprobs"}
    answered(judge)
    assert not fake.bodies[0].keys() & {"seed", "logprobs", "top_logprobs"}


def test_an_empty_reply_is_not_repeated_as_an_empty_message(fake: FakeJudge) -> None:
    answered(anthropic(fake), QUESTION._replace(repairs=(Exchange("", "Empty."),)))
    assert fake.bodies[0]["messages"][1:] == [
        {"role": "assistant", "content": "(nothing)"},
        {"role": "user", "content": "Empty."},
    ]


@pytest.mark.parametrize("base", ["http://gate.example", "http://gate.example/", "http://gate.example/v1"])
def test_the_base_url_is_taken_with_and_without_the_version(base: str) -> None:
    judge = make_judge("anthropic:m", JudgeOptions(base_url=base))
    assert judge.settings["base_url"] == "http://gate.example"


def test_anthropic_itself_needs_a_key() -> None:
    with pytest.raises(JudgeError, match=r"set the environment variable ANTHROPIC_API_KEY$"):
        make_judge("anthropic:claude-sonnet-4-5")

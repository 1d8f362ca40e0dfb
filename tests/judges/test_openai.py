"""Chat completions over real HTTP: what is sent, and what is made of the replies."""

import asyncio
import gc

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attunement.errors import JudgeError
from attunement.judges import Exchange, JudgeOptions, Request, Usage, make_judge
from attunement.judges.client import address
from attunement.judges.fallback import Levels
from attunement.judges.http_judge import _dump  # pyright: ignore[reportPrivateUsage]
from attunement.judges.openai import PATH, OpenAIJudge, _access  # pyright: ignore[reportPrivateUsage]
from attunement.ratings import ErrorKind
from tests.fake_judge import Behaviour, FakeJudge
from tests.judges.asking import (
    QUESTION,
    SCHEMA,
    answered,
    ask,
    completion,
    failed,
    openai,
    question,
    responding,
)


def test_an_answer_carries_text_usage_latency_finish_reason_and_the_servers_name_of_the_model(fake: FakeJudge) -> None:
    answer = answered(openai(fake))
    assert orjson.loads(answer.text).keys() == {"reasoning", "answer"}
    assert answer.usage.prompt > 0
    assert answer.usage.completion > 0
    assert 0 < answer.latency < 60
    assert (answer.finish_reason, answer.model) == ("stop", "some-model")
    assert answer.logprobs is None


def test_a_request_holds_everything_wanted(fake: FakeJudge) -> None:
    answer = answered(openai(fake, seed=7, logprobs=True, temperature=0.5, max_tokens=99))
    body = fake.bodies[0]
    assert body["messages"] == [
        {"role": "system", "content": QUESTION.system},
        {"role": "user", "content": QUESTION.shared + QUESTION.own},
    ]
    assert (body["model"], body["temperature"], body["seed"], body["max_tokens"]) == ("some-model", 0.5, 7, 99)
    assert body["response_format"]["json_schema"] == {"name": "reply", "strict": True, "schema": QUESTION.schema}
    assert body["logprobs"] is True
    assert answer.logprobs["content"]


def test_what_is_not_wanted_is_not_sent(fake: FakeJudge) -> None:
    answered(openai(fake, temperature=None))
    assert fake.bodies[0].keys() == {"model", "messages", "max_tokens", "response_format"}


def test_repairs_become_pairs_of_messages(fake: FakeJudge) -> None:
    repairs = (Exchange("YES", "No JSON."), Exchange("", "Empty."))
    answered(openai(fake), QUESTION._replace(repairs=repairs))
    assert fake.bodies[0]["messages"][2:] == [
        {"role": "assistant", "content": "YES"},
        {"role": "user", "content": "No JSON."},
        {"role": "assistant", "content": ""},
        {"role": "user", "content": "Empty."},
    ]


def test_half_characters_in_a_complaint_do_not_stop_the_request(fake: FakeJudge) -> None:
    answered(openai(fake), QUESTION._replace(repairs=(Exchange("x", "key \ud800"),)))


ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=20)
REQUESTS = st.builds(
    Request,
    ANY_TEXT,
    ANY_TEXT,
    ANY_TEXT,
    st.sampled_from([SCHEMA, {"messages": []}]),
    st.lists(st.builds(Exchange, ANY_TEXT, ANY_TEXT), max_size=2).map(tuple),
)
LEVELS = st.builds(Levels, st.integers(0, 3), st.integers(0, 2), *[st.integers(0, 1)] * 4)


@given(REQUESTS, LEVELS, ANY_TEXT)
def test_any_words_are_sent_as_they_are_but_for_half_characters(asked: Request, levels: Levels, model: str) -> None:
    judge = make_judge(f"openai:m{model}", JudgeOptions(base_url="http://judge.example/v1", seed=3, logprobs=True))
    assert isinstance(judge, OpenAIJudge)
    sent = orjson.loads(_dump(judge._body(asked, levels)))
    first = [("system", asked.system)] if asked.system and not levels.system else []
    before = f"{asked.system}\n\n" if asked.system and levels.system else ""
    said = [*first, ("user", before + asked.shared + asked.own)]
    said += [pair for reply, complaint in asked.repairs for pair in (("assistant", reply), ("user", complaint))]
    assert sent["messages"] == [{"role": role, "content": sendable(words)} for role, words in said]
    assert sent["model"] == sendable(f"m{model}")
    assert ("response_format" in sent, "seed" in sent) == (levels.reply_format < 3, not levels.seed)
    if levels.reply_format == 0:
        assert sent["response_format"]["json_schema"]["schema"] == asked.schema


def sendable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def test_models_that_think_get_more_room(fake: FakeJudge) -> None:
    options = JudgeOptions(base_url=fake.url)
    assert make_judge("openai:gpt-4.1", options).settings["max_tokens"] == 2048
    assert make_judge("openai:gpt-5.2", options).settings["max_tokens"] == 8192


def test_settings_say_what_makes_the_answers_its_own_and_nothing_secret() -> None:
    url = "http://me:hush-hush@judge.example:8000/v1?code=very-secret"
    judge = make_judge("openai:m", JudgeOptions(base_url=url, seed=3))
    assert judge.settings == {
        "model": "m",
        "base_url": "http://judge.example:8000/v1",
        "temperature": 0.0,
        "seed": 3,
        "max_tokens": 2048,
        "logprobs": False,
    }


def test_the_base_url_comes_from_the_option_then_the_variable_then_openai(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    assert make_judge("openai:m").settings["base_url"] == "https://api.openai.com/v1"
    monkeypatch.setenv("OPENAI_BASE_URL", "http://here:1/v1/")
    assert make_judge("openai:m").settings["base_url"] == "http://here:1/v1"
    assert make_judge("openai:m", JudgeOptions(base_url="http://there:2")).settings["base_url"] == "http://there:2"


@pytest.mark.parametrize(
    ("base", "url"),
    [
        ("https://x.example/v1/", "https://x.example/v1/chat/completions"),
        ("https://x.example/v1/chat/completions", "https://x.example/v1/chat/completions"),
        (
            "https://n.openai.azure.com/openai/deployments/d?api-version=2024-10-21",
            "https://n.openai.azure.com/openai/deployments/d/chat/completions?api-version=2024-10-21",
        ),
        ("http://[::1]:8080/v1", "http://[::1]:8080/v1/chat/completions"),
    ],
)
def test_the_path_is_put_before_the_query_and_only_once(base: str, url: str) -> None:
    assert address(base, PATH).url == url


@pytest.mark.parametrize("base", ["api.openai.com/v1", "ftp://x/v1", "http://", "http://x:port/v1", "http://[::1/v1"])
def test_a_base_url_that_is_none_is_refused_in_one_sentence(base: str) -> None:
    with pytest.raises(JudgeError, match="web address such as"):
        make_judge("openai:m", JudgeOptions(base_url=base))


@pytest.mark.parametrize(
    ("base", "variable", "header", "value"),
    [
        ("https://api.openai.com/v1", "OPENAI_API_KEY", "Authorization", "Bearer the-key"),
        ("https://n.openai.azure.com/openai/v1", "AZURE_OPENAI_API_KEY", "api-key", "the-key"),
        ("https://openrouter.ai/api/v1", "OPENROUTER_API_KEY", "Authorization", "Bearer the-key"),
        ("http://localhost:8000/v1", "OPENAI_API_KEY", "Authorization", "Bearer the-key"),
    ],
)
def test_each_service_gets_its_own_key_in_its_own_header(
    monkeypatch: pytest.MonkeyPatch, base: str, variable: str, header: str, value: str
) -> None:
    for name in ("OPENAI_API_KEY", "AZURE_OPENAI_API_KEY", "OPENROUTER_API_KEY"):
        monkeypatch.setenv(name, "the-key" if name == variable else "another")
    assert _access(address(base, PATH), sends=True).headers == {header: value}


@pytest.mark.parametrize(
    ("base", "variable"),
    [
        ("https://api.openai.com/v1", "OPENAI_API_KEY"),
        ("https://n.openai.azure.com/openai/v1", "AZURE_OPENAI_API_KEY"),
        ("https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
    ],
)
def test_a_service_that_needs_a_key_is_not_called_without_it(base: str, variable: str) -> None:
    with pytest.raises(JudgeError, match=f"needs a key: set the environment variable {variable}$"):
        make_judge("openai:m", JudgeOptions(base_url=base))


def test_a_server_of_ones_own_needs_no_key(fake: FakeJudge) -> None:
    answered(openai(fake))
    assert "Authorization" not in fake.headers[0]


def test_a_server_that_wants_a_key_where_none_is_set_says_which(fake: FakeJudge) -> None:
    fake.behaviour = Behaviour(key="sk-right")
    assert "wants a key: set OPENAI_API_KEY" in failed(openai(fake)).detail


def test_credentials_in_the_address_are_sent_as_basic_authorisation(fake: FakeJudge) -> None:
    answered(openai(fake, base_url=fake.url.replace("://", "://me:pass%40word@")))
    assert fake.headers[0]["Authorization"] == "Basic bWU6cGFzc0B3b3Jk"


def test_a_judge_that_was_closed_can_be_asked_again(fake: FakeJudge) -> None:
    judge = openai(fake)
    assert answered(judge).text == answered(judge).text


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_judge_outlives_a_loop_that_ended_before_it_was_closed(fake: FakeJudge) -> None:
    judge = openai(fake)

    async def break_off() -> None:
        await judge.ask(QUESTION)

    asyncio.run(break_off())
    answered(judge)
    gc.collect()  # aiohttp complains about the connections that were left; here, where that is expected


def test_a_refusal_beside_empty_content_is_passed_on_as_such(fake: FakeJudge) -> None:
    fake.behaviour = completion(None, refusal="I cannot judge this.")
    answer = answered(openai(fake))
    assert (answer.text, answer.finish_reason) == ("I cannot judge this.", "refusal")


def test_a_content_filter_is_passed_on_as_such(fake: FakeJudge) -> None:
    fake.behaviour = completion(None, "content_filter")
    answer = answered(openai(fake))
    assert (answer.text, answer.finish_reason) == ("", "content_filter")


def test_content_in_parts_is_put_together_without_thoughts(fake: FakeJudge) -> None:
    fake.behaviour = completion(
        [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    )
    assert answered(openai(fake)).text == "ab"


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ({"prompt_tokens": 50, "completion_tokens": 5}, Usage(50, 5, 0)),
        (
            {"prompt_tokens": 50, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 40}},
            Usage(50, 5, 40),
        ),
        ({"prompt_tokens": 50, "completion_tokens": 5, "prompt_cache_hit_tokens": 30}, Usage(50, 5, 30)),
        ({"prompt_tokens": 50, "completion_tokens": None, "prompt_tokens_details": None}, Usage(50, 0, 0)),
        (None, Usage()),
        ("many", Usage()),
    ],
)
def test_usage_is_read_where_it_is_given(fake: FakeJudge, usage: object, expected: Usage) -> None:
    fake.behaviour = responding({"choices": [{"message": {"content": "{}"}}], "usage": usage})
    assert answered(openai(fake)).usage == expected


@pytest.mark.parametrize(
    "content",
    [b"", b"not json", b'{"choices": [{"mess', [], {"choices": []}, {"choices": [{}]}, {"choices": None}, "text"],
)
def test_a_reply_that_is_no_answer_is_a_passing_fault_of_the_server(fake: FakeJudge, content: object) -> None:
    fake.behaviour = responding(content)
    failure = failed(openai(fake))
    assert (failure.kind, failure.transient, failure.fatal) == (ErrorKind.SERVER, True, False)


def test_a_web_page_instead_of_an_answer_stops_the_run(fake: FakeJudge) -> None:
    fake.behaviour = responding(b"<html><body>Welcome</body></html>")
    failure = failed(openai(fake))
    assert failure.fatal
    assert "not the address of a model service" in failure.detail


def test_an_error_inside_a_reply_of_status_200_counts_as_what_it_says(fake: FakeJudge) -> None:
    fake.behaviour = responding({"error": {"code": 429, "message": "Provider is busy"}})
    failure = failed(openai(fake))
    assert (failure.kind, failure.transient) == (ErrorKind.RATE_LIMITED, True)


def test_half_a_character_in_a_reply_does_not_lose_the_rest(fake: FakeJudge) -> None:
    fake.behaviour = responding(b'{"choices": [{"message": {"content": "cut \\ud83d"}}]}')
    assert answered(openai(fake)).text == "cut ?"


def test_a_question_that_the_server_cut_in_silence_is_too_long(fake: FakeJudge) -> None:
    long = QUESTION._replace(shared="word " * 4000)
    fake.behaviour = responding({"choices": [{"message": {"content": "{}"}}], "usage": {"prompt_tokens": 2050}})
    assert failed(openai(fake), long).kind is ErrorKind.PROMPT_TOO_LONG
    fake.behaviour = responding({"choices": [{"message": {"content": "{}"}}], "usage": {"prompt_tokens": 4050}})
    assert answered(openai(fake), long).usage.prompt == 4050


def test_equal_questions_get_equal_answers_and_different_ones_are_told_apart(fake: FakeJudge) -> None:
    judge = openai(fake)
    for number in range(3):
        ask(judge, question(number))
    ask(judge, question(0))
    assert sorted(fake.asked.values()) == [1, 1, 2]

"""Keys never come out: not in failures, answers, settings, logs, exceptions or reprs, whatever the server does."""

import asyncio
import base64
import logging
from collections.abc import Callable
from dataclasses import replace

import pytest
from aiohttp import web

from attunement.errors import JudgeError
from attunement.judges import JudgeOptions, make_judge
from attunement.judges.client import Secrets
from tests.fake_judge import Behaviour, FakeJudge
from tests.judges.asking import QUESTION

KEY = "sk-live-01/23456789abcdefghijklmnop+="
PASSWORD = "correct horse battery"

Respond = Callable[[str], web.StreamResponse]

# What hostile or careless servers do with what they were sent.
ECHOES: dict[str, Respond] = {
    "error message": lambda sent: web.json_response({"error": {"message": f"Bad header {sent}"}}, status=400),
    "401": lambda sent: web.json_response({"error": {"message": f"Incorrect API key: {sent}"}}, status=401),
    "429": lambda sent: web.json_response({"error": f"slow down, {sent}"}, status=429),
    "500 page": lambda sent: web.Response(text=f"<html>debug: {sent}</html>", status=500, content_type="text/html"),
    "long message": lambda sent: web.json_response({"error": {"message": "x" * 290 + sent}}, status=500),
    "escaped": lambda sent: web.Response(
        text='{"error": "' + "x" * 270 + sent.replace("/", "\\/") + '"}', status=500, content_type="application/json"
    ),
    "redirect": lambda sent: web.Response(status=302, headers={"Location": f"https://evil.example/?key={sent}"}),
    "not json": lambda sent: web.Response(text=sent),
    "reply": lambda sent: web.json_response(
        {"model": sent, "choices": [{"message": {"content": f'{{"reasoning": "{sent}"}}'}, "finish_reason": sent}]}
    ),
    "logprobs": lambda sent: web.json_response(
        {"choices": [{"message": {"content": "{}"}, "logprobs": {"content": [{"token": sent}]}}]}
    ),
    "message": lambda sent: web.json_response(
        {"content": [{"type": "text", "text": sent}], "usage": {}, "stop_reason": sent, "model": sent}
    ),
}


class EchoingJudge(FakeJudge):
    """Gives back the secrets of the last request."""

    def echo(self, respond: Respond) -> None:
        def sent(_: object) -> web.StreamResponse:
            headers = self.headers[-1]
            return respond(headers.get("Authorization") or headers["x-api-key"])

        self.behaviour = Behaviour(respond=sent)


@pytest.fixture
def echoing():
    with EchoingJudge() as server:
        server.keep_bodies = True
        yield server


@pytest.mark.parametrize("echo", ECHOES)
@pytest.mark.parametrize("kind", ["openai", "anthropic"])
def test_a_server_that_gives_the_key_back_does_not_bring_it_out(
    echoing: EchoingJudge,
    kind: str,
    echo: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    echoing.echo(ECHOES[echo])
    judge = make_judge(f"{kind}:some-model", JudgeOptions(base_url=echoing.url, logprobs=True))

    async def run() -> str:
        outcome = await judge.ask(QUESTION)
        await judge.close()
        return repr(outcome)

    outcome = asyncio.run(run(), debug=True)
    shown = capfd.readouterr()
    assert KEY in str(echoing.headers), "the key was not even sent"
    for where in (outcome, judge.settings, judge.refused, judge.name, judge, vars(judge), caplog.text, *shown):
        assert KEY not in str(where)
        assert KEY[:12] not in str(where)


@pytest.mark.parametrize("echo", ECHOES)
def test_a_password_in_the_address_does_not_come_out(echoing: EchoingJudge, echo: str) -> None:
    def decoded(sent: str) -> web.StreamResponse:
        return ECHOES[echo](sent + base64.b64decode(sent.removeprefix("Basic ")).decode())

    echoing.echo(decoded)
    url = echoing.url.replace("://", f"://me:{PASSWORD.replace(' ', '%20')}@")
    judge = make_judge("openai:m", JudgeOptions(base_url=url))

    async def run() -> str:
        outcome = await judge.ask(QUESTION)
        await judge.close()
        return repr(outcome)

    outcome = asyncio.run(run())
    encoded = base64.b64encode(f"me:{PASSWORD}".encode()).decode()
    for secret in (PASSWORD, PASSWORD.replace(" ", "%20"), encoded):
        assert secret not in f"{outcome} {judge.settings} {vars(judge)}"


@pytest.mark.parametrize("value", ["two words", "tab\tbed", "schlüssel-with-umlaut", "line\nbreak"])
def test_a_variable_that_holds_no_key_is_named_and_not_shown(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", value)
    with pytest.raises(JudgeError, match="OPENAI_API_KEY is set but is not a key") as caught:
        make_judge("openai:m")
    assert value not in str(caught.value)


def test_a_bad_address_is_shown_without_its_password() -> None:
    with pytest.raises(JudgeError) as caught:
        make_judge("openai:m", JudgeOptions(base_url="htp://me:hush-hush@judge.example/v1"))
    assert "hush-hush" not in str(caught.value)
    assert "judge.example" in str(caught.value)


def test_placeholders_for_a_key_are_left_alone_in_replies() -> None:
    assert Secrets("ollama").hide_in_reply(b"an ollama model") == b"an ollama model"
    assert Secrets("ollama").hide("an ollama model") == "an [hidden] model"


def test_space_around_a_key_is_no_part_of_it(echoing: EchoingJudge, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", f" {KEY}\n")
    echoing.behaviour = replace(echoing.behaviour, key=KEY)
    judge = make_judge("openai:m", JudgeOptions(base_url=echoing.url))

    async def run() -> object:
        try:
            return await judge.ask(QUESTION)
        finally:
            await judge.close()

    assert "text" in repr(asyncio.run(run()))

"""Replies whose envelope is not what the service documents: one typed ERROR, or an answer without the odd part."""

import gzip
import json
import zlib
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from attunement.ratings import ErrorKind
from attunement.store import Study
from tests.engine.runs import SMALL, chats, judge, kept
from tests.fake_judge import Behaviour, FakeJudge

VALID = json.dumps({"reasoning": "Turn 1: 'sounds heavy'", "answer": "YES"})


def reply(body: dict[str, Any], **changes: Any) -> dict[str, Any]:
    choice = {"index": 0, "message": {"role": "assistant", "content": VALID}, "finish_reason": "stop"}
    usage = {"prompt_tokens": 9000, "completion_tokens": 20}
    document: dict[str, Any] = {"model": body["model"], "choices": [choice], "usage": usage}
    of_choice = ("finish_reason", "message", "logprobs")
    choice.update({name: changes[name] for name in of_choice if name in changes})
    return {**document, **{name: value for name, value in changes.items() if name not in of_choice}}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "s.db"


@pytest.mark.parametrize(
    "changes",
    [
        {"finish_reason": ["stop"]},
        {"finish_reason": {"why": "stop"}},
        {"finish_reason": 10**19},
        {"model": ["m"]},
        {"model": {"name": "m"}},
        {"model": "m" * 100_000},
        {"usage": {"prompt_tokens": 10**19, "completion_tokens": [3]}},
        {"usage": {"prompt_tokens": True, "completion_tokens": -4, "prompt_tokens_details": {"cached_tokens": 10**12}}},
        {"usage": ["many"]},
        {"usage": "many"},
        {"logprobs": "none"},
    ],
)
def test_an_odd_envelope_around_a_valid_answer_loses_nothing(place: Path, changes: dict[str, Any]):
    with FakeJudge(Behaviour(respond=lambda body: web.json_response(reply(body, **changes)))) as fake:
        result = judge(fake, chats(2), place, items=SMALL, max_cost=10.0, price_in=1.0, price_out=2.0)
    assert result.progress.answered == 2 * len(SMALL)
    assert not result.progress.errors
    assert 0 < result.progress.cost < 0.2


@pytest.mark.parametrize(
    "changes",
    [
        {"choices": {}},
        {"choices": ["text"]},
        {"choices": [{"message": "text"}]},
        {"choices": [[]]},
        {"message": None},
        {"message": {"content": [1, None, ["text"]]}},
        {"message": {"content": 10**19}},
    ],
)
def test_a_reply_without_an_answer_is_one_error_and_the_others_are_saved(
    place: Path, monkeypatch: pytest.MonkeyPatch, changes: dict[str, Any]
):
    monkeypatch.setattr("attunement.engine.retry._FIRST_WAIT", 0.01)

    def respond(body: dict[str, Any]) -> web.Response:
        odd = "Criterion ID: CQ1" in json.dumps(body)
        return web.json_response(reply(body, **dict(changes)) if odd else reply(body))

    with FakeJudge(Behaviour(respond=respond)) as fake:
        result = judge(fake, chats(2), place, items=SMALL)
    assert result.progress.answered == 2 * (len(SMALL) - 1)
    assert {rating.item for rating in kept(place) if rating.outcome.error} == {"CQ1"}


def test_a_key_that_a_server_returns_with_escapes_is_not_stored(place: Path, monkeypatch: pytest.MonkeyPatch):
    key = "sk-secret/0123456789abcdef"
    monkeypatch.setenv("OPENAI_API_KEY", key)
    escaped = "".join(f"\\u{ord(sign):04x}" for sign in key)
    slashed = key.replace("/", "\\/")

    def respond(body: dict[str, Any]) -> web.Response:
        text = json.dumps(reply(body, message={"content": json.dumps({"reasoning": "KEY and KEY2", "answer": "YES"})}))
        return web.Response(text=text.replace("KEY2", slashed).replace("KEY", escaped), content_type="application/json")

    with FakeJudge(Behaviour(respond=respond)) as fake:
        assert judge(fake, chats(1), place, items=["CQ1"]).progress.answered == 1
    assert key.encode() not in b"".join(path.read_bytes() for path in place.parent.iterdir())
    assert kept(place)[0].reasoning == "[hidden] and [hidden]"


@pytest.mark.parametrize("packing", ["identity", "gzip", "deflate", "br"])
def test_a_reply_of_hundreds_of_megabytes_is_one_error(place: Path, packing: str):
    huge = b" " * 40_000_000
    packed = {"identity": huge, "gzip": gzip.compress(huge, 1), "deflate": zlib.compress(huge, 1), "br": b"x"}[packing]

    def respond(_: dict[str, Any]) -> web.Response:
        return web.Response(body=packed, headers={"Content-Encoding": packing}, content_type="application/json")

    with FakeJudge(Behaviour(respond=respond)) as fake:
        judge(fake, chats(1), place, items=["CQ1"])
    rating = kept(place)[0]
    assert rating.outcome.error is ErrorKind.MALFORMED
    assert ("more than 16 MB" if packing != "br" else "packed with 'br'") in rating.detail
    assert place.stat().st_size < 1_000_000


def test_a_packed_reply_of_normal_size_is_read(place: Path):
    def respond(body: dict[str, Any]) -> web.Response:
        packed = gzip.compress(json.dumps(reply(body)).encode())
        return web.Response(body=packed, headers={"Content-Encoding": "gzip"}, content_type="application/json")

    with FakeJudge(Behaviour(respond=respond)) as fake:
        assert judge(fake, chats(1), place, items=SMALL).progress.answered == len(SMALL)


def test_an_answer_of_a_megabyte_is_one_error_and_not_stored(place: Path):
    long = json.dumps({"reasoning": "x" * 1_000_000, "answer": "YES"})
    with FakeJudge(Behaviour(answer=lambda _: long)) as fake:
        judge(fake, chats(1), place, items=["CQ1"])
    assert kept(place)[0].outcome.error is ErrorKind.MALFORMED
    with Study(place) as study:
        assert study.place
    assert place.stat().st_size < 900_000

"""Asking a judge in a test: a question, a loop to ask it in, and responses written by hand."""

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any

import orjson
from aiohttp import web

from attunement.engine import run_in_loop
from attunement.judges import Answer, Failure, Judge, JudgeOptions, Request, make_judge
from tests.fake_judge import Behaviour, FakeJudge

SCHEMA = {
    "type": "object",
    "properties": {
        "reasoning": {"type": "string", "maxLength": 300},
        "answer": {"type": "string", "enum": ["YES", "NO", "NA"]},
    },
    "required": ["reasoning", "answer"],
    "additionalProperties": False,
}

QUESTION = Request("You assess conversations.", "The conversation. ", "Was the reply kind?", SCHEMA)


def question(number: int) -> Request:
    """A question like no other number's."""
    return QUESTION._replace(own=f"Was reply {number} kind?")


def openai(fake: FakeJudge, **options: Any) -> Judge:
    return make_judge("openai:some-model", JudgeOptions(**{"base_url": fake.url, **options}))


def anthropic(fake: FakeJudge, **options: Any) -> Judge:
    return make_judge("anthropic:some-model", JudgeOptions(**{"base_url": fake.url, **options}))


def ask(judge: Judge, request: Request = QUESTION) -> Answer | Failure:
    """Ask one question in a loop of its own."""
    return ask_all(judge, [request])[0]


def ask_all(judge: Judge, requests: Iterable[Request]) -> list[Answer | Failure]:
    """Ask all at the same time."""

    async def run() -> list[Answer | Failure]:
        try:
            return await asyncio.gather(*(judge.ask(request) for request in requests))
        finally:
            await judge.close()

    return run_in_loop(run())


def answered(judge: Judge, request: Request = QUESTION) -> Answer:
    answer = ask(judge, request)
    assert isinstance(answer, Answer), answer
    return answer


def failed(judge: Judge, request: Request = QUESTION) -> Failure:
    failure = ask(judge, request)
    assert isinstance(failure, Failure), failure
    return failure


def responding(content: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Behaviour:
    """A server that always responds in the same way; `content` is bytes, or becomes JSON."""
    body = content if isinstance(content, bytes) else orjson.dumps(content)
    kind = "application/json" if not body.startswith(b"<") else "text/html"
    return Behaviour(respond=lambda _: web.Response(body=body, status=status, headers=headers, content_type=kind))


def error(status: int, message: str, headers: Mapping[str, str] | None = None, **more: Any) -> Behaviour:
    """A server that always responds with an error in OpenAI's shape."""
    return responding({"error": {"message": message, **more}}, status, headers)


def completion(content: Any, finish_reason: str = "stop", **message: Any) -> Behaviour:
    """A server that always gives this chat completion."""
    choice = {"message": {"role": "assistant", "content": content, **message}, "finish_reason": finish_reason}
    return responding({"model": "some-model", "choices": [choice], "usage": {"prompt_tokens": 20}})

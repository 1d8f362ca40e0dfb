"""A judge server to test against: real HTTP, OpenAI's chat completions and Anthropic's messages, no model.

What it answers depends on the prompt alone: a valid reply with a quote that really stands in the transcript. It can
be slow, fail in every way that servers fail, and refuse parameters; it counts what it served, so that a test can
prove that nothing was asked twice.

In a test: `with FakeJudge(Behaviour(latency=0.01)) as fake: ... fake.url ...`. For a benchmark, in a process of its
own: `python tests/fake_judge.py --latency 0.2 --faults rate_limit=0.05,cut=0.01`, which prints its port; `GET /stats`
gives the counts.
"""

import argparse
import asyncio
import hashlib
import re
import ssl
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from time import monotonic
from typing import Any, NamedTuple, Self

import orjson
from aiohttp import web

FAULTS = ("rate_limit", "server_error", "malformed", "broken", "cut", "hang", "too_long", "refusal")
"""What can be mixed in: 429; 500; a reply that is no JSON; half an HTTP body; a connection that is closed; no answer
at all; a prompt that does not fit; a judge that declines."""


class Asked(NamedTuple):
    """One request, as an answer rule sees it."""

    system: str
    user: str
    schema: Mapping[str, Any] | None
    repairs: int
    """How often the judge has been told that its reply could not be read."""
    number: int
    """Drawn from the prompt: the same for the same prompt."""

    @property
    def prompt(self) -> str:
        return f"{self.system}\n{self.user}"


@dataclass(frozen=True)
class Behaviour:
    """How the server behaves."""

    latency: float = 0.0
    faults: Mapping[str, float] = field(default_factory=dict[str, float])
    """The share of requests that meet each fault. A retry of the same prompt is drawn anew."""
    seed: int = 0
    retry_after: str = "0.05"
    refuses: frozenset[str] = frozenset()
    """Parameters by their name in the request; also `maxLength`, `json_schema`, `json_object`, `system`."""
    refusal_status: int = 400
    says_what: bool = True
    """Whether a refusal names the parameter."""
    context: int | None = None
    """The most characters of a prompt."""
    key: str | None = None
    """The key it wants; it shows in its errors what it was sent instead."""
    models: tuple[str, ...] | None = None
    """The models it has; None: any."""
    answer: "Callable[[Asked], str] | None" = None
    """The text of the reply; None: `valid_reply`."""
    respond: "Callable[[dict[str, Any]], web.StreamResponse] | None" = None
    """The whole response to a request's body, instead of everything above."""


class FakeJudge:
    """The server. All counts are its own, taken when it decides what to do with a request."""

    def __init__(self, behaviour: Behaviour | None = None, encryption: ssl.SSLContext | None = None) -> None:
        self.behaviour = behaviour or Behaviour()
        self._encryption = encryption
        self.outcomes: Counter[str] = Counter()
        """Requests by what became of them: `answered`, a fault, `refused_parameter`, `unauthorized`, `no_model`."""
        self.asked: Counter[str] = Counter()
        """Requests by model and prompt, retries and repairs included."""
        self.answered: Counter[str] = Counter()
        """Valid replies by model and prompt."""
        self.bodies: list[dict[str, Any]] = []
        """Requests in full, if `keep_bodies`."""
        self.headers: list[Mapping[str, str]] = []
        self.keep_bodies = False
        self.open = 0
        self.peak = 0
        """The most requests that were open at once."""
        self.first = self.last = 0.0
        """When the first question came in and when the last one was done with, by the clock that never goes back."""
        self.port = 0
        self._runner: web.ServerRunner | None = None
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def url(self) -> str:
        """The base URL for an OpenAI judge; without `/v1` it is the one for Anthropic."""
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def requests(self) -> int:
        return self.asked.total()

    async def start(self, port: int = 0) -> None:
        """Listen, in the running loop."""
        self._runner = web.ServerRunner(web.Server(self._handle), shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", port, ssl_context=self._encryption)
        await site.start()
        self.port = self._runner.addresses[0][1]

    async def stop(self) -> None:
        if self._runner:
            await self._runner.cleanup()

    def __enter__(self) -> Self:
        """Listen in a thread of its own, so that a test may use any loop or none."""
        started = threading.Event()

        async def serve() -> None:
            self._loop = asyncio.get_running_loop()
            self._stopped = asyncio.Event()
            await self.start()
            started.set()
            await self._stopped.wait()
            await self.stop()

        self._thread = threading.Thread(target=asyncio.run, args=(serve(),), daemon=True)
        self._thread.start()
        if not started.wait(10):
            raise RuntimeError("the fake judge did not start")
        return self

    def __exit__(self, *_: object) -> None:
        assert self._loop is not None
        assert self._thread is not None
        self._loop.call_soon_threadsafe(self._stopped.set)
        self._thread.join(10)

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        path = request.path
        if path.endswith(("/chat/completions", "/messages")):
            self.open += 1
            self.peak = max(self.peak, self.open)
            self.first = self.first or monotonic()
            try:
                return await self._answer(request, anthropic=path.endswith("/messages"))
            finally:
                self.open -= 1
                self.last = monotonic()
        if path.endswith("/models"):
            return _json({"object": "list", "data": [{"id": model} for model in self.behaviour.models or ("fake",)]})
        if path == "/stats":
            return _json(self.stats())
        return _json({"error": {"message": f"Unknown path {path}", "type": "not_found"}}, 404)

    def stats(self) -> dict[str, Any]:
        """The counts, as `GET /stats` gives them."""
        return {
            "requests": self.requests,
            "outcomes": self.outcomes,
            "prompts": len(self.asked),
            "answered_prompts": len(self.answered),
            "answered_twice": sum(times > 1 for times in self.answered.values()),
            "peak": self.peak,
            "seconds": self.last - self.first,
        }

    async def _answer(self, request: web.BaseRequest, *, anthropic: bool) -> web.StreamResponse:
        behaviour = self.behaviour
        body = orjson.loads(await request.content.read())
        if self.keep_bodies:
            self.bodies.append(body)
            self.headers.append(dict(request.headers))
        asked = _read(body)
        digest = hashlib.sha256(asked.prompt.encode()).hexdigest()
        prompt = f"{body['model']} {digest}"
        self.asked[prompt] += 1
        if behaviour.respond:
            return behaviour.respond(body)
        if stop := self._turned_away(request, body, asked):
            return stop
        if behaviour.latency:
            await asyncio.sleep(behaviour.latency)
        asked = asked._replace(number=int(digest[:12], 16))
        fault = self._fault(prompt, self.asked[prompt]) if behaviour.faults else None
        if fault in _FAILING:
            self.outcomes[fault] += 1
            return await _FAILING[fault](request, behaviour)
        text, finish = (behaviour.answer or valid_reply)(asked), "stop"
        if fault == "malformed":
            text = _spoil(text, asked.number)
        elif fault == "refusal":
            text, finish = "I'm sorry, but I can't help with rating this conversation.", "stop"
        self.outcomes[fault or "answered"] += 1
        if fault is None:
            self.answered[prompt] += 1
        return _json((_message if anthropic else _completion)(body, asked, text, finish))

    def _turned_away(self, request: web.BaseRequest, body: dict[str, Any], asked: Asked) -> web.Response | None:
        behaviour = self.behaviour
        if behaviour.key:
            header = request.headers.get("Authorization") or request.headers.get("x-api-key")
            sent = (header or request.headers.get("api-key") or "").removeprefix("Bearer ")
            if sent != behaviour.key:
                return self._error("unauthorized", 401, f"Incorrect API key provided: {sent}")
        if behaviour.models and body["model"] not in behaviour.models:
            return self._error("no_model", 404, f"The model `{body['model']}` does not exist.")
        for name in sorted(behaviour.refuses & _parameters(body)):
            said = _REFUSAL_WORDS.get(name, f"Unsupported parameter: '{name}' is not supported with this model.")
            return self._error(
                "refused_parameter", behaviour.refusal_status, said if behaviour.says_what else "Something went wrong."
            )
        if behaviour.context and len(asked.prompt) > behaviour.context:
            return self._error("too_long", 400, _TOO_LONG)
        return None

    def _error(self, outcome: str, status: int, message: str) -> web.Response:
        self.outcomes[outcome] += 1
        return _json({"error": {"message": message, "type": "invalid_request_error"}}, status)

    def _fault(self, prompt: str, attempt: int) -> str | None:
        drawn = hashlib.blake2b(f"{self.behaviour.seed}:{prompt}:{attempt}".encode(), digest_size=8).digest()
        share = int.from_bytes(drawn) / 2**64
        for fault, part in self.behaviour.faults.items():
            if share < part:
                return fault
            share -= part
        return None


def valid_reply(asked: Asked) -> str:
    """A reply with every key that was asked for, an answer drawn from the prompt, and a quote from the transcript."""
    keys, values = _expected(asked)
    cited = quote_from(asked.user, asked.number)

    def given(number: int) -> dict[str, Any]:
        return {"reasoning": f"{cited} That decides it.", values[0]: values[1][number % len(values[1])]}

    if keys is None:
        return orjson.dumps(given(asked.number)).decode()
    return orjson.dumps({name: given(asked.number + place) for place, name in enumerate(keys)}).decode()


def quote_from(user: str, number: int) -> str:
    """`Turn 2: "first words of the reply"`, for a turn that the number picks."""
    last = user.rfind("--- Turn ")
    if last < 0:
        return "There is no transcript."
    turn = number % int(user[last + 9 : user.index(" ---", last + 9)]) + 1
    start = user.index(f"--- Turn {turn} ---")
    reply = re.compile(r"^Assistant[^:\n]*: (.*)", re.MULTILINE).search(user, start)
    words = re.split(r'["“”\[]', reply[1])[0].split()[:8] if reply else []
    return f'Turn {turn}: "{" ".join(words)}".' if words else f"Turn {turn} says nothing."


def _expected(asked: Asked) -> tuple[list[str] | None, tuple[str, list[Any]]]:
    """The items of a question about several, and the name and values of an answer: by the schema, or by the prompt."""
    if asked.schema is not None:
        properties = asked.schema["properties"]
        if "reasoning" not in properties:
            return list(properties), _answer_of(next(iter(properties.values()))["properties"])
        return None, _answer_of(properties)
    wanted = asked.prompt[max(0, asked.prompt.rfind("Return ONLY")) :]
    lists = re.findall(r'exactly the keys ((?:(?:, | and )?"[^"]+")+)', wanted)
    names = [re.findall(r'"([^"]+)"', keys) for keys in lists]
    pair = names[-1] if names else ["reasoning", "answer"]
    span = re.search(r"a whole number from (\d) to (\d)", wanted)
    values: list[Any] = list(range(int(span[1]), int(span[2]) + 1)) if span else ["YES", "NO", "NA"]
    return (names[0] if len(names) > 1 else None), (pair[-1], values)


def _answer_of(properties: Mapping[str, Any]) -> tuple[str, list[Any]]:
    name = next(name for name in properties if name != "reasoning")
    return name, properties[name]["enum"]


def _spoil(text: str, number: int) -> str:
    """One of the ways in which models miss the format."""
    ways = (f"Sure! Here is my answer: {text}", text[: len(text) // 2], f"{text}\n{text}", "YES", "")
    return ways[number % len(ways)]


def _read(body: dict[str, Any]) -> Asked:
    messages = body["messages"]
    system = _text(body.get("system", ""))
    if messages[0]["role"] == "system":
        system, messages = messages[0]["content"], messages[1:]
    form = body.get("response_format") or body.get("output_config", {}).get("format") or {}
    schema = form.get("schema") or form.get("json_schema", {}).get("schema")
    return Asked(system, _text(messages[0]["content"]), schema, len(messages) // 2, 0)


def _text(content: str | list[dict[str, Any]]) -> str:
    return content if isinstance(content, str) else "".join(block["text"] for block in content)


def _parameters(body: dict[str, Any]) -> frozenset[str]:
    names = set(body)
    form = body.get("response_format") or {}
    names.add(form.get("type", ""))
    if b"maxLength" in orjson.dumps(form):
        names.add("maxLength")
    if body["messages"][0]["role"] == "system":
        names.add("system")
    return frozenset(names)


def _completion(body: dict[str, Any], asked: Asked, text: str, finish: str) -> dict[str, Any]:
    choice: dict[str, Any] = {
        "index": 0,
        "message": {"role": "assistant", "content": text},
        "finish_reason": finish,
    }
    if body.get("logprobs"):
        choice["logprobs"] = {"content": [{"token": text[-4:-2], "logprob": -0.1, "top_logprobs": []}]}
    return {
        "id": "chatcmpl-fake",
        "object": "chat.completion",
        "model": body["model"],
        "choices": [choice],
        "usage": {
            "prompt_tokens": len(asked.prompt) // 4,
            "completion_tokens": len(text) // 4,
            "prompt_tokens_details": {"cached_tokens": 0},
        },
    }


def _message(body: dict[str, Any], asked: Asked, text: str, finish: str) -> dict[str, Any]:
    blocks = [block for block in [*body.get("system", []), *body["messages"][0]["content"]] if isinstance(block, dict)]
    cached = sum(len(block["text"]) // 4 for block in blocks if "cache_control" in block)
    return {
        "type": "message",
        "role": "assistant",
        "model": body["model"],
        "content": [{"type": "text", "text": text}],
        "stop_reason": {"stop": "end_turn"}.get(finish, finish),
        "usage": {
            "input_tokens": len(asked.prompt) // 4 - cached,
            "cache_read_input_tokens": cached,
            "cache_creation_input_tokens": 0,
            "output_tokens": len(text) // 4,
        },
    }


def _json(content: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> web.Response:
    return web.Response(body=orjson.dumps(content), status=status, headers=headers, content_type="application/json")


_REFUSAL_WORDS = {
    "system": "System role not supported",
    "max_tokens": "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.",
    "maxLength": "Invalid schema for response_format 'reply': 'maxLength' is not permitted.",
}
"""How servers put it where they do not just name the parameter."""

_TOO_LONG = "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens."


async def _rate_limit(_: web.BaseRequest, behaviour: Behaviour) -> web.StreamResponse:
    error = {"error": {"message": "Rate limit reached", "type": "requests", "code": "rate_limit_exceeded"}}
    return _json(error, 429, {"Retry-After": behaviour.retry_after})


async def _server_error(*_: Any) -> web.StreamResponse:
    return _json({"error": {"message": "The server had an error while processing your request."}}, 500)


async def _broken(*_: Any) -> web.StreamResponse:
    return web.Response(body=b'{"choices": [{"message": {"content": "{\\"reaso', content_type="application/json")


async def _cut(request: web.BaseRequest, _: Behaviour) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Length": "1000"})
    await response.prepare(request)
    await response.write(b'{"choices": [')
    assert request.transport is not None
    request.transport.abort()
    return response


async def _hang(*_: Any) -> web.StreamResponse:
    await asyncio.sleep(3600)
    raise AssertionError("nobody waits this long")


async def _too_long(*_: Any) -> web.StreamResponse:
    return _json({"error": {"message": _TOO_LONG, "code": "context_length_exceeded"}}, 400)


_FAILING: dict[str | None, Callable[[web.BaseRequest, Behaviour], Any]] = {
    "rate_limit": _rate_limit,
    "server_error": _server_error,
    "broken": _broken,
    "cut": _cut,
    "hang": _hang,
    "too_long": _too_long,
}


def fault_mix(text: str) -> dict[str, float]:
    """`rate_limit=0.05,cut=0.01` as shares by fault."""
    mix = {name: float(share) for name, share in (part.split("=") for part in text.split(",") if part)}
    if unknown := mix.keys() - set(FAULTS):
        raise argparse.ArgumentTypeError(f"no such fault: {', '.join(unknown)}; there are {', '.join(FAULTS)}")
    return mix


async def _serve(arguments: argparse.Namespace) -> None:
    fake = FakeJudge(
        Behaviour(
            latency=arguments.latency,
            faults=arguments.faults,
            seed=arguments.seed,
            retry_after=arguments.retry_after,
        )
    )
    await fake.start(arguments.port)
    print(fake.port, flush=True)
    await asyncio.Event().wait()


def main() -> None:
    parser = argparse.ArgumentParser(description="A judge server without a model.")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--latency", type=float, default=0.0, help="seconds before each answer")
    parser.add_argument("--faults", type=fault_mix, default={}, help="such as rate_limit=0.05,server_error=0.05")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--retry-after", default="1")
    asyncio.run(_serve(parser.parse_args()))


if __name__ == "__main__":
    main()

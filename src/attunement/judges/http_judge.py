"""What judges behind an HTTP service share: sending requests, and leaving out parameters that a server refuses.

How a request and a reply look is the business of each adapter. Sending again here only ever serves to find out what
the server accepts; asking again after a fault is the engine's work.

A request starts with everything we would like: a schema with a limit of length, a temperature, a seed, logprobs. Each
of these is a lever with weaker and weaker settings. A server that refuses one gets the next weaker, and that is
remembered. Levers only ever go one way, so requests that are refused at the same time concede the same thing once.
Once the server has answered with the present terms its words are doubted: an error may quote a conversation that
speaks of a temperature. But a router may really refuse later what another provider behind it took before.
"""

import asyncio
import json
import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, cast

import orjson

from attunement.judges.base import HOSTED_TIMEOUT, Answer, Failure, JudgeOptions, Request
from attunement.judges.client import Access, Address, Line, Reply
from attunement.judges.provider_errors import Complaint, Server, failure, read_complaint
from attunement.ratings import ErrorKind


class Terms(NamedTuple):
    """How far each lever has been moved; 0 is what we want most. What was never wanted stays at 0 and is not sent."""

    reply_format: int = 0
    limit: int = 0
    temperature: int = 0
    seed: int = 0
    logprobs: int = 0
    system: int = 0

    def level(self, lever: str) -> int:
        """How far the lever of this name has been moved."""
        return getattr(self, lever)

    def moved(self, lever: str, level: int) -> "Terms":
        """These terms with one lever at another level."""
        return self._replace(**{lever: level})


class Setting(NamedTuple):
    """One setting of a lever."""

    does: str
    """What happens at this setting, in words for people."""
    named: str = ""
    """A pattern for how a server names what it refuses at this setting; empty where nothing can be refused."""


class Lever(NamedTuple):
    """Something that a server may refuse, with its settings from the wanted to the weakest."""

    shown: str
    """Its name, as users know it."""
    settings: Sequence[Setting]
    harmless: bool = False
    """Whether replies are the same at all its settings. Then nothing is lost if it is conceded in error."""


_MOST_EXOTIC_FIRST = (
    "logprobs",
    "reply_format",
    "seed",
    "reply_format",
    "limit",
    "temperature",
    "reply_format",
    "limit",
    "system",
)
"""The order in which levers are tried when a server does not say what it refuses."""

_SUSPICIOUS = 3
"""So many questions in a row make a doubted refusal worth a trial: one or two may be odd, and each of them is lost."""


class Negotiation:
    """What is known about a server. `terms` is what the next request should use."""

    def __init__(self, levers: Mapping[str, Lever]) -> None:
        """`levers` by their name in Terms: those that this judge uses."""
        self.terms = Terms()
        self.answered = False
        """Whether any question was ever answered."""
        self._levers = levers
        self._accepted: Terms | None = None
        self._doubted: dict[str, set[int]] = {}
        """Questions that were refused in words that name a lever, since the last answer with the present terms."""

    @property
    def refused(self) -> dict[str, str]:
        """What the server did not accept, and what is done instead."""
        moved = ((lever, self.terms.level(name)) for name, lever in self._levers.items())
        return {lever.shown: lever.settings[level].does for lever, level in moved if level}

    @property
    def settled(self) -> bool:
        """Whether a request with the present terms was answered."""
        return self._accepted == self.terms

    def accept(self, terms: Terms) -> None:
        """A request with `terms` was answered."""
        self.answered = True
        if terms == self.terms:
            self._accepted = terms
            self._doubted.clear()

    def concede(self, terms: Terms, words: str) -> Terms | None:
        """The terms to go on with after a request with `terms` was refused in these words; None if they name nothing.

        `words` are in lower case. If another request was refused the same thing first, its concession is used. Words
        are not enough where the present terms were answered before, unless nothing is lost by it: see `suspected`.
        """
        name = self._named(terms, words)
        if name is None:
            return None
        conceded = self.terms.level(name) > terms.level(name)
        if self.settled and not conceded and not self._levers[name].harmless:
            return None
        return self.move(name, terms.level(name) + 1)

    def suspected(self, terms: Terms, words: str, question: int) -> list[tuple[str, Terms]]:
        """The step to try after `question` was refused in these words, although `terms` were answered before.

        There is one only when several different questions in a row were refused in words that name the same lever.
        """
        name = self._named(terms, words)
        if name is None:
            return []
        questions = self._doubted.setdefault(name, set())
        questions.add(question)
        if len(questions) < _SUSPICIOUS:
            return []
        del self._doubted[name]
        return [(name, terms.moved(name, terms.level(name) + 1))]

    def _named(self, terms: Terms, words: str) -> str | None:
        """The lever that is refused in these words."""
        for name, lever in self._levers.items():
            named = lever.settings[terms.level(name)].named
            if named and re.search(named, words):
                return name
        return None

    def move(self, name: str, level: int) -> Terms:
        """Move a lever to `level`, never back, and give the terms that now hold."""
        self.terms = self.terms.moved(name, max(level, self.terms.level(name)))
        return self.terms

    def weaker(self, terms: Terms) -> list[tuple[str, Terms]]:
        """Weaker and weaker terms, each with the lever that was moved last, to find out what is refused silently."""
        steps: list[tuple[str, Terms]] = []
        for name in _MOST_EXOTIC_FIRST:
            if name in self._levers and terms.level(name) + 1 < len(self._levers[name].settings):
                terms = terms.moved(name, terms.level(name) + 1)
                steps.append((name, terms))
        return steps


_NEGOTIABLE = {400, 404, 422, 500, 501}
"""Statuses with which servers refuse a parameter."""

_SILENT_500S = 3
"""A status of 500 without a reason is a passing fault, until the same question has met it this often."""

_VAIN_SEARCHES = 2
"""A search for what is refused that found nothing is not made more often than this."""


class _Refused(NamedTuple):
    """A reply that may mean that the server does not take one of the parameters."""

    failure: Failure
    status: int
    words: str


class HttpJudge(ABC):
    """A judge behind an HTTP service."""

    def __init__(
        self, name: str, model: str, target: Address, access: Access, options: JudgeOptions, negotiation: Negotiation
    ) -> None:
        """Nothing is sent before the first question."""
        self._name = name
        self._settings = {
            "model": model,
            "base_url": target.shown,
            "temperature": options.temperature,
            "seed": options.seed,
            "max_tokens": options.reply_limit(model),
            "logprobs": options.logprobs,
        }
        self._server = Server(target.shown, model, access.key, key_sent=access.key_sent)
        self._secrets = access.secrets
        self._line = Line(
            target,
            access.headers,
            access.secrets,
            timeout=options.timeout or HOSTED_TIMEOUT,
            max_connections=options.max_connections,
        )
        self._negotiation = negotiation
        self._searching = asyncio.Lock()
        self._vain_searches = 0
        self._silent: Counter[int] = Counter()

    @property
    def name(self) -> str:
        """How the user named it."""
        return self._name

    @property
    def settings(self) -> Mapping[str, Any]:
        """Model, address, temperature, seed and the limit of the reply. Never a key."""
        return self._settings

    @property
    def refused(self) -> Mapping[str, str]:
        """What the server did not accept: parameter -> what we do instead."""
        return self._negotiation.refused

    async def ask(self, request: Request) -> Answer | Failure:
        """Send one request, and again with weaker terms where the server refuses them."""
        terms = self._negotiation.terms
        sent: list[Terms] = []
        reply = await self._send(request, terms, sent)
        while isinstance(reply, _Refused):  # each round moves a lever, and they have an end
            weaker = self._negotiation.concede(terms, reply.words) or await self._search(request, terms, reply, sent)
            if weaker is None:
                reply = reply.failure
                break
            terms, reply = await self._send_again(request, sent)
        return reply if len(sent) == 1 else reply._replace(requests=len(sent) - 1 + reply.requests)

    async def close(self) -> None:
        """Close the connections; a later request opens new ones."""
        # A lock belongs to the loop it was waited for in, and the next run may have another.
        self._searching = asyncio.Lock()
        await self._line.close()

    @abstractmethod
    def _body(self, request: Request, terms: Terms) -> bytes:
        """The request as the service wants it."""

    @abstractmethod
    def _read(self, document: dict[str, Any], request: Request, latency: float) -> Answer | Failure | None:
        """The answer in a reply; None where it is none."""

    async def _send(self, request: Request, terms: Terms, sent: list[Terms]) -> Answer | Failure | _Refused:
        """Send one request; `sent` is what it was sent with so far."""
        sent.append(terms)
        reply = await self._line.post(self._body(request, terms))
        if isinstance(reply, Failure):
            return reply
        document = _parse(reply.body)
        if reply.status < 300 and isinstance(document, dict):
            fields = cast(dict[str, Any], document)
            answer = self._read(fields, request, reply.latency)
            if answer is not None:
                self._negotiation.accept(terms)
                self._silent.clear()
                return answer
            if "error" in fields:
                # Routers report the faults of the provider behind them inside a reply with status 200.
                return self._fault(_status_inside(fields), reply, read_complaint(reply.body, document))
        if reply.status < 300:
            return self._no_answer(reply)
        return self._fault(reply.status, reply, read_complaint(reply.body, document))

    async def _send_again(self, request: Request, sent: list[Terms]) -> tuple[Terms, Answer | Failure | _Refused]:
        """Send a request that was refused with the terms that now hold, and say which they are.

        Of questions that were refused at the same time one tries them, and the others wait for what it finds.
        """
        async with self._searching:
            terms = self._negotiation.terms
            if not self._negotiation.settled:
                return terms, await self._send(request, terms, sent)
        return terms, await self._send(request, terms, sent)

    def _fault(self, status: int, reply: Reply, complaint: Complaint) -> Failure | _Refused:
        # Hidden before the message is shortened, which might leave a part of a key; and after, for what headers say.
        clean = complaint._replace(message=self._secrets.hide(complaint.message))
        found = failure(status, reply.headers, clean, self._server, answered=self._negotiation.answered)
        found = found._replace(detail=self._secrets.hide(found.detail))
        # A 400 that may pass is about the reply that the model wrote, not about what it was sent.
        passing = status == 400 and found.transient
        negotiable = (found.kind is ErrorKind.SERVER or status == 404) and not passing
        return _Refused(found, status, complaint.words) if negotiable and status in _NEGOTIABLE else found

    def _no_answer(self, reply: Reply) -> Failure:
        """A reply of status 200 that is no answer: cut off on its way, or a page of something else."""
        page = "html" in reply.headers.get("Content-Type", "")
        if page and not self._negotiation.answered:
            detail = f"{self._server.address} answers with a web page: it is not the address of a model service"
            return Failure(ErrorKind.AUTH, detail, fatal=True)
        return Failure(ErrorKind.SERVER, "the server's reply was broken or incomplete", transient=True)

    async def _search(self, request: Request, terms: Terms, refused: _Refused, sent: list[Terms]) -> Terms | None:
        """Find out what is refused by a server that does not say it; None if it is none of our parameters.

        After a request with these terms was answered, an error is about the question, unless several questions in a
        row were told the same; then that alone is tried. Of questions that are refused at the same time one searches
        and the others wait for what it finds.
        """
        question = hash((request.shared, request.own))
        if refused.status == 404 and "parameter" not in refused.words:
            return None
        if refused.status >= 500 and not self._negotiation.settled:
            self._silent[question] += 1
            if self._silent[question] < _SILENT_500S:
                return None
        async with self._searching:
            if self._negotiation.terms != terms:
                return self._negotiation.terms
            if self._negotiation.settled:
                steps = self._negotiation.suspected(terms, refused.words, question)
            else:
                steps = self._negotiation.weaker(terms) if self._vain_searches < _VAIN_SEARCHES else []
            if not steps:
                return None
            stronger = terms
            for lever, weaker in steps:
                reply = await self._send(request, weaker, sent)
                if isinstance(reply, Failure):
                    return None
                # A fault that passed by itself looks like a refusal: only what fails again without it counts.
                if isinstance(reply, Answer):
                    if isinstance(await self._send(request, stronger, sent), _Refused):
                        return self._negotiation.move(lever, weaker.level(lever))
                    break
                stronger = weaker
            self._vain_searches += 1
            return None


def dumps(body: Mapping[str, Any]) -> bytes:
    """The request as JSON."""
    try:
        return orjson.dumps(body)
    except TypeError:  # half a character in a text, which no request can carry
        return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def _parse(body: bytes) -> Any:
    """The JSON in `body`; None where it is none."""
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        pass
    try:
        # Half a character, left by a server that counts its limit in UTF-16, is refused by orjson. The rest counts.
        return orjson.loads(json.dumps(json.loads(body), ensure_ascii=False).encode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None


def _status_inside(document: dict[str, Any]) -> int:
    error = document["error"]
    code = cast(dict[str, Any], error).get("code") if isinstance(error, dict) else None
    return code if isinstance(code, int) and 400 <= code < 600 else 502


def count(value: Any) -> int:
    """A number of tokens as a server gives it; 0 where it gives none."""
    return value if isinstance(value, int) and value > 0 else 0


def without_lengths(schema: Any) -> Any:
    """`schema` without limits of length, which some services do not know."""
    if isinstance(schema, Mapping):
        fields = cast(Mapping[str, Any], schema)
        return {name: without_lengths(value) for name, value in fields.items() if name != "maxLength"}
    return schema

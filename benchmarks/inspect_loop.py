"""inspect_ai on given prompts, for `bench_engine.py`, which runs this with the interpreter that has inspect_ai.

The model is one of ours that posts with aiohttp: inspect_ai's own needs the openai package and is slower still.

    .partners/bin/python benchmarks/inspect_loop.py URL PROMPTS.jsonl CONNECTIONS
"""

import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import aiohttp
from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.model import GenerateConfig, ModelAPI, ModelOutput, modelapi
from inspect_ai.solver import generate

ADDRESS, PROMPTS, CONNECTIONS = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])


@modelapi(name="bench")
class Bench(ModelAPI):
    session: aiohttp.ClientSession | None = None

    def max_connections(self) -> int:
        return CONNECTIONS

    async def generate(self, input: list[Any], tools: Any, tool_choice: Any, config: GenerateConfig) -> ModelOutput:
        if self.session is None:
            self.session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=CONNECTIONS))
        messages = [{"role": message.role, "content": message.text} for message in input]
        body = {"model": "inspect", "messages": messages}
        async with self.session.post(f"{ADDRESS}/chat/completions", json=body) as response:
            document = await response.json()
        return ModelOutput.from_content("inspect", document["choices"][0]["message"]["content"])

    async def aclose(self) -> None:
        if self.session is not None:
            await self.session.close()


def main() -> None:
    samples = [Sample(input=json.loads(line)) for line in PROMPTS.read_text().splitlines()]
    with tempfile.TemporaryDirectory() as folder:
        start, cpu = time.perf_counter(), time.process_time()
        logs = eval(
            Task(samples, solver=generate()),
            model="bench/inspect",
            max_connections=CONNECTIONS,
            max_samples=CONNECTIONS,
            log_dir=folder,
            display="none",
        )
        seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    if logs[0].status != "success":
        raise SystemExit(f"inspect_ai failed: {logs[0].error}")
    print(json.dumps({"seconds": seconds, "cpu": cpu}))


if __name__ == "__main__":
    main()

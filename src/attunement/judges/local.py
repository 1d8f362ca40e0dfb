"""`local:FILE.gguf`: a model in this process, run by llama.cpp's own server (the package xllamacpp).

The server listens on this machine only, with a key made for this run, and is used like any other. It answers one
question at a time with all its threads: more at once would only slow each other down.
"""

import asyncio
import os
import secrets
from collections.abc import Mapping
from dataclasses import replace
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from attunement.errors import JudgeError
from attunement.judges.base import LOCAL_TIMEOUT, Answer, Failure, JudgeOptions, Request
from attunement.judges.client import Access, Secrets, address
from attunement.judges.openai import PATH, OpenAIJudge
from attunement.ratings import ErrorKind

CONTEXT = 16_384
"""Tokens of context: twice what a conversation of 25 turns takes with a criterion, and some 2 GB in addition to a model
of 8 billion parameters. A model trained on fewer uses those."""


def local_judge(model: str, options: JudgeOptions) -> "LocalJudge":
    """The judge `local:FILE.gguf`. Raises a JudgeError if the file or the package that runs it is missing."""
    if find_spec("xllamacpp") is None:
        raise JudgeError("a local model needs an extra package: pip install 'attunement[local]'")
    file = Path(model).expanduser()
    if not file.is_file():
        raise JudgeError(f"there is no model file {file}; name a GGUF file, as in local:models/name.gguf")
    with file.open("rb") as stream:
        if stream.read(4) != b"GGUF":
            raise JudgeError(f"{file} is not a GGUF file, the only kind of model file a local judge reads")
    return LocalJudge(file, options)


class LocalJudge:
    """A model in this process. The first question loads it, and `close` unloads it."""

    def __init__(self, file: Path, options: JudgeOptions) -> None:
        # Without its folder: the same model is the same rater anywhere.
        self.name = f"local:{file.name}"
        self.settings: Mapping[str, Any] = {
            "model": file.name,
            "bytes": file.stat().st_size,
            "context": CONTEXT,
            "temperature": options.temperature,
            "seed": options.seed,
            "max_tokens": options.reply_limit(file.name),
            "logprobs": options.logprobs,
        }
        self._file, self._options = file, options
        self._turn = asyncio.Lock()
        self._server: Any = None
        self._judge: OpenAIJudge | None = None

    @property
    def refused(self) -> Mapping[str, str]:
        """What the server did not accept: parameter -> what is done instead."""
        return self._judge.refused if self._judge else {}

    async def ask(self, request: Request) -> Answer | Failure:
        """Send one request when the model is free; the time it waits for that does not count."""
        async with self._turn:
            if self._judge is None:
                try:
                    # Loading takes seconds to minutes and must not block the event loop.
                    self._judge = await asyncio.to_thread(self._start)
                except RuntimeError as error:
                    detail = f"{self._file} could not be loaded: {error}"
                    return Failure(ErrorKind.SERVER, detail, fatal=True)
            return await self._judge.ask(request)

    async def close(self) -> None:
        """Stop the server and free its memory; a later question starts it again."""
        judge, self._judge = self._judge, None
        if judge is not None:
            await judge.close()
        self._turn = asyncio.Lock()
        # Its destructor stops it and waits for its threads.
        server, self._server = self._server, None
        del server

    def _start(self) -> OpenAIJudge:
        xllamacpp: Any = import_module("xllamacpp")
        key = secrets.token_urlsafe(24)
        params = xllamacpp.CommonParams()
        params.model.path = str(self._file)
        params.model_alias = {self._file.name}
        params.n_ctx = CONTEXT
        params.n_parallel = 1
        params.n_batch = 512  # a request that was cancelled only ends between batches
        params.cache_prompt = True
        threads = max(1, (os.cpu_count() or 2) - 1)
        params.cpuparams.n_threads = threads
        params.cpuparams_batch.n_threads = threads
        params.hostnames = ["127.0.0.1"]
        params.port = 0
        params.api_keys = [key]
        # Nobody else needs to see the questions, and nobody needs a chat page.
        params.endpoint_slots = False
        params.ui = False
        params.verbosity = -1
        self._server = xllamacpp.Server(params)
        target = address(self._server.listening_address, f"/v1{PATH}")
        access = Access("this process", {"Authorization": f"Bearer {key}"}, Secrets(key))
        options = replace(self._options, timeout=self._options.timeout or LOCAL_TIMEOUT, max_connections=1)
        return OpenAIJudge(self.name, self._file.name, target, access, options)

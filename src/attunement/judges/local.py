"""`local:FILE.gguf`: a model in this process, run by llama.cpp's own server (the package xllamacpp).

The server listens on this machine only, behind a key made for the occasion, and is spoken to like any other. It
answers one question at a time with all the threads it has: more at once would only slow each other down.
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
"""Tokens of context: twice what a conversation of 25 turns takes with a criterion, and some 2 GB beside a model of 8
billion parameters. A model trained on fewer uses those."""


def local_judge(model: str, options: JudgeOptions) -> "LocalJudge":
    """The judge `local:FILE.gguf`; a JudgeError where the file or the package that runs it is missing."""
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
    """A model in this process. It is loaded by the first question and let go by `close`."""

    def __init__(self, file: Path, options: JudgeOptions) -> None:
        """`file` is a GGUF file."""
        self._file = file
        self._bytes = file.stat().st_size
        self._options = options
        self._turn = asyncio.Lock()
        self._server: Any = None
        self._judge: OpenAIJudge | None = None

    @property
    def name(self) -> str:
        """`local:` and the name of the file, without its folder: the same model is the same rater anywhere."""
        return f"local:{self._file.name}"

    @property
    def settings(self) -> Mapping[str, Any]:
        """The file's name and size, and how it is asked."""
        return {
            "model": self._file.name,
            "bytes": self._bytes,
            "context": CONTEXT,
            "temperature": self._options.temperature,
            "seed": self._options.seed,
            "max_tokens": self._options.reply_limit(self._file.name),
            "logprobs": self._options.logprobs,
        }

    @property
    def refused(self) -> Mapping[str, str]:
        """What the server did not accept: parameter -> what we do instead."""
        return self._judge.refused if self._judge else {}

    async def ask(self, request: Request) -> Answer | Failure:
        """Send one request when the model is free; the time it waits for that does not count."""
        async with self._turn:
            if self._judge is None:
                try:
                    # Loading takes seconds to minutes and must not hold up what else runs in the loop.
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
        params.n_batch = 512  # a question that is given up is only let go between batches
        params.cache_prompt = True
        threads = max(1, (os.cpu_count() or 2) - 1)
        params.cpuparams.n_threads = threads
        params.cpuparams_batch.n_threads = threads
        params.hostnames = ["127.0.0.1"]
        params.port = 0
        params.api_keys = [key]
        # What is being asked is nobody's business, and neither is a page to type questions into.
        params.endpoint_slots = False
        params.ui = False
        params.verbosity = -1
        self._server = xllamacpp.Server(params)
        target = address(self._server.listening_address, f"/v1{PATH}")
        access = Access("this process", {"Authorization": f"Bearer {key}"}, Secrets(key))
        options = replace(self._options, timeout=self._options.timeout or LOCAL_TIMEOUT, max_connections=1)
        return OpenAIJudge(self.name, self._file.name, target, access, options)

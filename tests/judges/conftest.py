"""A fake judge for each test, and an environment without anybody's keys."""

from collections.abc import Iterator

import pytest

from tests.fake_judge import FakeJudge

_VARIABLES = (
    *(f"{provider}_{what}" for provider in ("OPENAI", "ANTHROPIC") for what in ("API_KEY", "BASE_URL")),
    "AZURE_OPENAI_API_KEY",
    "OPENROUTER_API_KEY",
    "REQUESTS_CA_BUNDLE",
    "SSL_CERT_FILE",
    *(f"{scheme}_proxy" for scheme in ("http", "https", "all", "no")),
    *(f"{scheme}_PROXY" for scheme in ("HTTP", "HTTPS", "ALL", "NO")),
)


@pytest.fixture(autouse=True)
def _bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in _VARIABLES:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def fake() -> Iterator[FakeJudge]:
    with FakeJudge() as server:
        server.keep_bodies = True
        yield server

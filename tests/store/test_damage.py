"""Commands on a damaged study end in one line, never in a traceback."""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from attunement.cli import app
from attunement.errors import AttunementError
from tests.store.samples import fill, talks

COPIES = 400
COMMANDS = (
    "show {}",
    "show {} c1",
    "gate {}",
    "agree {}",
    "methods {}",
    "export {} out.jsonl --force",
    "export {} out.csv --what scorecards --force",
    "report {} -o out.html --force",
    "delete {} c1",
    "plan {} --draw 2",
)


def damaged(data: bytes) -> Iterator[bytes]:
    """Copies in which one to fifty bits are wrong, always the same ones."""
    for seed in range(COPIES):
        chance, copy = random.Random(seed), bytearray(data)
        for _ in range(chance.choice([1, 1, 2, 8, 50])):
            copy[chance.randrange(len(copy))] ^= 1 << chance.randrange(8)
        yield bytes(copy)


@pytest.mark.slow
def test_wrong_bits_in_a_study_end_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    fill("a.db", talks(3)).close()
    refused, failures = 0, list[str]()
    for number, copy in enumerate(damaged(Path("a.db").read_bytes())):
        for old in Path().glob("b.db*"):
            old.unlink()
        Path("b.db").write_bytes(copy)
        words = COMMANDS[number % len(COMMANDS)].format("b.db").split()
        error = CliRunner().invoke(app, words).exception
        refused += isinstance(error, AttunementError)
        if isinstance(error, Exception) and not isinstance(error, AttunementError):
            failures.append(f"{number} {words}: {error!r}")
        elif isinstance(error, AttunementError) and len(str(error).splitlines()) != 1:
            failures.append(f"{number} {words}: {error}")
    assert failures == []
    assert refused > COPIES / 10

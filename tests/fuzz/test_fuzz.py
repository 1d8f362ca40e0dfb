"""Thousands of inputs with something wrong in them: an answer, or one line that says what is wrong; never a traceback.

The seeds are fixed, so a failure can be repeated. Together more than 10,000 replies, files, forms and studies.
"""

import json
import random
import shutil
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from typer.testing import CliRunner

from attunement import api
from attunement.cli import app
from attunement.conversations.reader import ReadOptions, read
from attunement.errors import AttunementError
from attunement.instruments import load
from attunement.instruments.lint import checked
from attunement.judges import replay
from attunement.judges.base import JudgeOptions
from attunement.store import Study
from tests.annotation.projects import begin_project, close_studies
from tests.engine.runs import SMALL, chats, judge, kept
from tests.fake_judge import Asked, Behaviour, FakeJudge, valid_reply
from tests.mutations import as_json, changed_bytes, changed_record
from tests.web.visitors import Visitor, change, serving

__all__ = ["close_studies"]

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
REPLIES, FILES, INSTRUMENTS, TABLES, FORMS, STUDIES = 4400, 3000, 800, 800, 1000, 400


def refused(work: Callable[[], object]) -> bool:
    """Whether the work was refused; any other exception than the one for users fails the test."""
    said = ""
    try:
        work()
    except AttunementError as error:
        said = str(error)  # which the command line prints in one line, without control characters
        assert len(said) > 10, said
    return bool(said)


def test_replies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("attunement.engine.retry._FIRST_WAIT", 0.001)
    random.seed(1)
    asked = 0

    def respond(body: dict[str, Any]) -> web.Response:
        nonlocal asked
        asked += 1
        user = body["messages"][1]["content"]
        text = valid_reply(Asked("", user, body["response_format"]["json_schema"]["schema"], 0, asked))
        kind = random.random()
        if kind < 0.4:
            text = changed_bytes(text.encode()).decode("utf-8", "replace")
        message = {"role": "assistant", "content": text}
        document: Any = {
            "id": "x",
            "model": "m",
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 9000, "completion_tokens": 50, "prompt_tokens_details": {"cached_tokens": 0}},
        }
        if kind >= 0.4:
            document = changed_record(document)
        content = as_json(document)
        if kind > 0.8:
            content = changed_bytes(content)
        status = random.choice((200,) * 30 + (429, 500, 400))
        return web.Response(body=content, status=status, content_type="application/json", headers={"Retry-After": "0"})

    number = 0
    while asked < REPLIES:
        place = tmp_path / f"{number}.db"
        with FakeJudge(Behaviour(respond=respond)) as fake:
            result = judge(fake, chats(40, system=f"s{number}"), place, items=SMALL, max_tokens=100)
        ratings = kept(place)
        if result.ending.given_up is None:
            assert len(ratings) == result.progress.planned == 40 * len(SMALL)
        assert all(one.outcome.value is not None or one.outcome.error for one in ratings)
        number += 1


SEEDS = {
    "messages.jsonl": lambda: as_json(
        {
            "id": "a",
            "system": "b",
            "messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}],
        }
    ),
    "flat.csv": lambda: (
        b'id,turn,role,content\r\n1,1,user,Hi\r\n1,1,assistant,Hello\r\n2,1,user,"a, b"\r\n2,1,assistant,c\r\n'
    ),
    "pairs.json": lambda: as_json([{"prompt": "Hi", "response": "Hello", "id": 3}, {"prompt": "a", "response": "b"}]),
    "chat.txt": lambda: b"User: Hi there\nAssistant: Hello\n  more\nUser: bye\nAssistant: Take care\n",
    "chat.md": lambda: b"# Talk\n\n**User:** Hi\n\n**Assistant:** Hello\n",
}


def _seed_files() -> Iterator[tuple[str, bytes]]:
    lines = (EXAMPLES / "coaching.jsonl").read_bytes().splitlines()
    while True:
        name = random.choice([*SEEDS, "example.jsonl"])
        yield name, (b"\n".join(random.sample(lines, 3)) if name == "example.jsonl" else SEEDS[name]())


def test_files_of_conversations(tmp_path: Path):
    random.seed(2)
    number_refused = 0
    for _, (name, content) in zip(range(FILES), _seed_files(), strict=False):
        if name.endswith("json") or (name.endswith("jsonl") and random.random() < 0.5):
            with suppress(ValueError):
                content = as_json(changed_record(json.loads(content)))
        if random.random() < 0.7:
            content = changed_bytes(content)
        path = tmp_path / name
        path.write_bytes(content)
        skipped = tmp_path / "skipped.jsonl"
        skipped.unlink(missing_ok=True)
        options = ReadOptions(None, "s", skip_bad=skipped) if random.random() < 0.3 else ReadOptions(None, "s")
        number_refused += refused(lambda path=path, options=options: list(read([path], options)))
    assert 0 < number_refused < FILES


def test_instruments(tmp_path: Path):
    random.seed(3)
    library = ROOT / "src" / "attunement" / "instruments"
    seeds = [path.read_bytes() for path in sorted(library.glob("*/*.yaml"))]
    path = tmp_path / "own.yaml"
    number_refused = 0
    for _ in range(INSTRUMENTS):
        path.write_bytes(changed_bytes(random.choice(seeds)))
        number_refused += refused(lambda: checked(path))
    assert 0 < number_refused < INSTRUMENTS


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("study") / "s.db"
    with FakeJudge() as fake:
        judge(fake, chats(4), place, items=SMALL)
    return place


def test_tables_of_ratings_and_recorded_answers(tmp_path: Path, study: Path):
    random.seed(4)
    rows = b"system,conversation,rater,item,answer,reasoning\n" + b"".join(
        f"bot,c{n},r{r},{item},{random.choice(('YES', 'NO', 'NA'))},Turn 1\n".encode()
        for n in range(4)
        for r in range(2)
        for item in SMALL
    )
    with Study(study) as opened:
        answers = b"\n".join(
            as_json({"judge": "j", "prompt": one.asked, "repeat": 0, "reply": "{}", "error": None})
            for one in opened.ratings()
        )
    table, recorded = tmp_path / "t.csv", tmp_path / "r.jsonl"
    for number in range(TABLES):
        table.write_bytes(changed_bytes(rows))
        recorded.write_bytes(changed_bytes(answers))
        refused(lambda: replay.replay_judge(str(recorded), JudgeOptions()))
        if number % 8 == 0:
            _command("agree", "--ratings", str(table), "--json")
        if number % 4 == 0:
            place = tmp_path / "copy.db"
            shutil.copy(study, place)
            _command("import", str(place), str(table), "-i", "coaching-v1", "--person", "r0")


def _command(*words: str) -> None:
    """A command ends well, or with one line."""
    with warnings.catch_warnings():
        outcome = CliRunner().invoke(app, list(words))
    if outcome.exception and not isinstance(outcome.exception, SystemExit):
        assert isinstance(outcome.exception, AttunementError), (words, repr(outcome.exception))
        refused(lambda: (_ for _ in ()).throw(outcome.exception))


def test_forms(tmp_path: Path):
    random.seed(5)
    begun = begin_project(tmp_path / "a.study.db")
    items = [item.id for item in load("empathy-v2").items]
    with serving(begun.study) as server, Visitor(server) as visitor:
        page = visitor.arrive(begun, begun.rater())
        headers = {"x-form-secret": page.secret()}
        for number in range(FORMS):
            marked = {"turn": 1, "speaker": "user", "start": 0, "end": 5}
            sent: Any = {"changes": [change(item, 3, number, comment="x", evidence=[marked]) for item in items]}
            content = as_json(changed_record(sent))
            if random.random() < 0.3:
                content = changed_bytes(content)
            what = random.choice(("save", "save", "save", "skip", "support", "urgent", "odd"))
            more = {**headers, "content-type": "application/json"}
            answer = visitor.post(f"{page.path}/{what}", data=content, headers=more)
            assert answer.status < 500, (what, content[:300], answer.text[:300])
        assert visitor.get(page.path).status == 200


def test_studies(tmp_path: Path, study: Path):
    random.seed(6)
    content = study.read_bytes()
    place = tmp_path / "s.db"
    for _ in range(STUDIES):
        made = bytearray(content)
        for _ in range(random.choice((1, 3, 30, 300))):
            made[random.randrange(len(made))] ^= 1 << random.randrange(8)
        if random.random() < 0.1:
            del made[random.randrange(len(made)) :]
        for other in tmp_path.glob("s.db*"):
            other.unlink()
        place.write_bytes(made)
        commands: list[list[str]] = [
            ["show", str(place)],
            ["gate", str(place)],
            ["export", str(place), str(tmp_path / "out.jsonl"), "--force"],
            ["report", str(place), "--json", str(tmp_path / "out.json"), "--force"],
            ["show", str(place), "c1"],
        ]
        _command(*random.choice(commands))
        if random.random() < 0.3:
            refused(lambda: api.judge(chats(1), place, judges="signals"))

"""Is the documentation true: does every command in it run, is what is generated up to date, does the site build?"""

import importlib.util
import json
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.browsing import chromium
from tests.fake_judge import FakeJudge
from tests.meanwhile import ACTS
from tests.pages import ROOT, Reader, read, set_up, steps
from tests.postgres import Server, postgres

__all__ = ["postgres"]  # a fixture

DOCS = ROOT / "docs"
GENERATED = "reference/cli.md"
ON_POSTGRESQL = "docs/how-to/postgresql.md"
PAGES = sorted(
    str(page.relative_to(ROOT))
    for page in DOCS.rglob("*.md")
    # The page on Python is run by `test_readme`.
    if page.name != "python.md" and any(steps(page.read_text("utf-8")))
)


def _generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate_reference", DOCS / "generate_reference.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


GENERATOR = _generator()


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    set_up(tmp_path)
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in PAGES if page != ON_POSTGRESQL])
def test_every_command_of_a_page_ends_as_the_page_says(page: str, desk: Path, request: pytest.FixtureRequest) -> None:
    def get_data(desk: Path, name: str) -> None:
        """The reader has got a public data set; skips where it is not at hand."""
        data: Path = request.getfixturevalue("shared_data")
        (desk / name).symlink_to((data / name).resolve())

    with FakeJudge() as fake:
        reader = Reader(desk, fake.url)
        for step in steps(read(page)):
            reader.follow(step, {**ACTS, "get-data": get_data})


@pytest.mark.slow
def test_the_page_on_postgresql_works_on_a_real_one(desk: Path, postgres: Server) -> None:
    with FakeJudge() as fake:
        reader = Reader(desk, fake.url, {"STUDY": postgres.new_database()})
        for step in steps(read(ON_POSTGRESQL)):
            reader.follow(step)


def test_no_command_hides_in_a_block_that_is_not_run() -> None:
    """What looks like a command stands in a block that is run, or in the generated page, whose examples are below."""
    blocks = re.compile(r"^```(\w+)[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
    hidden = [
        f"{page.relative_to(DOCS)}: {line}"
        for page in DOCS.rglob("*.md")
        if page.relative_to(DOCS).as_posix() != GENERATED
        for language, text in blocks.findall(page.read_text("utf-8"))
        if language not in ("sh", "python", "yaml")
        for line in text.splitlines()
        if line.startswith("attune ")
    ]
    assert hidden == []


def commands() -> Iterator[tuple[str, Any, Any]]:
    return GENERATOR.commands()


def test_every_command_is_used_somewhere_in_the_documentation() -> None:
    run = " ".join(step.text for page in PAGES for step in steps(read(page)) if step.kind == "command")
    groups = {"attune instrument", "attune judges"}
    assert [path for path, _, _ in commands() if path not in groups and f"{path} " not in f"{run} "] == []


def test_every_example_of_the_help_is_understood_by_its_command() -> None:
    examples = re.findall(r"^Example:\n\n```text\nattune (.+)\n```", read("docs/reference/cli.md"), re.MULTILINE)
    known = {path: (command, context) for path, command, context in commands()}
    assert len(examples) > 20
    for example in examples:
        words = shlex.split(example)
        length = 2 if words[0] in ("instrument", "judges") else 1
        command, _ = known[" ".join(["attune", *words[:length]])]
        command.make_context(words[length - 1], words[length:])


@pytest.mark.parametrize("page", GENERATOR.pages())
def test_generated_pages_are_up_to_date(page: str) -> None:
    made = GENERATOR.pages()[page]()
    assert (DOCS / page).read_text("utf-8") == made, "run: python docs/generate_reference.py"


def test_the_schemas_of_the_site_are_schemas() -> None:
    for text in GENERATOR.schemas().values():
        assert json.loads(text)["$schema"].startswith("https://json-schema.org/")


def test_the_table_of_exit_codes_has_every_command() -> None:
    table = read("docs/reference/exit-codes.md")
    named = set(re.findall(r"`(attune [a-z -]+)`", table))
    assert {path for path, _, _ in commands()} - {"attune instrument", "attune judges"} <= named


def test_no_page_for_readers_uses_a_word_that_promises_too_much() -> None:
    """These words do not occur as verdicts; where a page says that, it quotes them."""
    verdict = re.compile(r"\b(is|are|was|were|be|as|verdict:?) (safe|approved|certified|validated|GO)\b")
    found = {
        page.name: verdict.findall(page.read_text("utf-8"))
        for page in DOCS.rglob("*.md")
        if page.name not in ("sources.md", "model-card.md")
    }
    assert {name: words for name, words in found.items() if words} == {}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    project = tmp_path_factory.mktemp("site")
    shutil.copytree(DOCS, project / "docs")
    shutil.copy(ROOT / "mkdocs.yml", project)
    build = [Path(sys.executable).with_name("zensical"), "build", "--strict"]
    done = subprocess.run(build, capture_output=True, text=True, cwd=project, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    GENERATOR.write_schemas(project / "site")
    return project / "site"


def test_the_site_builds_without_a_warning(site: Path) -> None:
    assert (site / "index.html").is_file()
    assert (site / "reference" / "report.schema.json").is_file()


def test_no_page_of_the_site_asks_another_server_for_anything(site: Path) -> None:
    loads = re.compile(r"<(?:script|img|iframe|link|source)\b[^>]*(?:src|href)=\"?((?:https?:)?//[^\"> ]+)")
    asked = {
        str(page.relative_to(site)): found
        for page in site.rglob("*.html")
        if (found := loads.findall(page.read_text("utf-8")))
    }
    assert asked == {}
    styles = "".join(sheet.read_text("utf-8") for sheet in site.rglob("*.css"))
    assert re.findall(r"url\([\"']?(?:https?:)?//|@import", styles) == []


@pytest.mark.slow
def test_a_page_opened_from_disk_asks_nothing_of_the_network(site: Path) -> None:
    asked: list[str] = []
    with chromium() as browser:
        page = browser.new_page()
        page.on("request", lambda request: asked.append(request.url))
        for name in ("index.html", "tutorial.html", "reference/cli.html"):
            page.goto((site / name).as_uri(), wait_until="networkidle")
            assert page.locator("h1").is_visible()
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []

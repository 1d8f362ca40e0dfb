"""Runs what a page of the documentation tells its reader to do, by the letter and in its order.

What a page can hold, and what is done with it:

- a block `sh`, or one without a language: its commands. A remark `# exit code 3` behind a command is the code it must
  end with, which is 0 otherwise. Commands that serve pages are started, visited once, and stopped.
- a block with `title="NAME"`: a file of that name is written.
- a block `python` without a title: it is run.
- a comment `<!-- meanwhile: NAME WORDS -->`, which no reader sees: what people do in between; see `tests/meanwhile.py`.

Judges on the network are the fake one, which the environment variables of the services lead to.
"""

import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping
from http.cookiejar import CookieJar
from pathlib import Path
from string import Template
from time import monotonic, sleep
from typing import NamedTuple
from urllib.error import HTTPError, URLError
from urllib.request import HTTPCookieProcessor, build_opener

ROOT = Path(__file__).parents[1]
ANSWERS = "system,conversation,judge,criterion,answer,reasoning\nHarbor,mothers-flat,elsewhere,CQ1,YES,Turn 1\n"
SERVING = {"annotate", "review", "view", "--annotate"}
"""Words of commands that serve pages until they are stopped."""

_PIECE = re.compile(
    r"^```(?P<language>\w*)(?: title=\"(?P<title>[^\"]+)\")?[^\n]*\n(?P<text>.*?)^```"
    r"|^<!-- meanwhile: (?P<act>[^\n]+) -->",
    re.MULTILINE | re.DOTALL,
)
_CODE = re.compile(r"\s+# exit code (\d+)$")
_WAIT = 60
"""Seconds for a server to come up on a busy machine."""


class Step(NamedTuple):
    """One thing that a page has its reader do."""

    kind: str
    """`command`, `python`, `file` or `meanwhile`."""
    text: str
    title: str = ""
    """The name of a file."""
    exit_codes: frozenset[int] = frozenset({0})
    """How a command may end."""


def read(page: str) -> str:
    """The text of a page, by its path from the root of the repository."""
    return (ROOT / page).read_text("utf-8")


def steps(text: str) -> Iterator[Step]:
    """What a page has its reader do, in order."""
    for piece in _PIECE.finditer(text):
        if piece["act"]:
            yield Step("meanwhile", piece["act"])
        elif piece["title"]:
            yield Step("file", piece["text"], piece["title"])
        elif piece["language"] == "python":
            yield Step("python", piece["text"])
        elif piece["language"] in ("", "sh"):
            yield from _commands(piece["text"], every=piece["language"] == "sh")


def _commands(block: str, *, every: bool) -> Iterator[Step]:
    """The commands of a block; where not `every` line is one, only those that are known as such."""
    for line in block.replace("\\\n", " ").splitlines():
        line = " ".join(line.split()) if every else line
        if not line or line.startswith("#") or not (every or line.startswith(("attune ", "export "))):
            continue
        code = _CODE.search(line)
        yield Step("command", _CODE.sub("", line), exit_codes=frozenset({int(code[1])} if code else {0}))


def set_up(desk: Path) -> None:
    """Lay out what every page may use: the examples, and a reader's own `chats.jsonl` and `answers.csv`."""
    shutil.copytree(ROOT / "examples", desk / "examples", ignore=shutil.ignore_patterns("*.study.db*"))
    shutil.copytree(
        ROOT / "docs" / "examples", desk / "docs" / "examples", ignore=shutil.ignore_patterns("__pycache__")
    )
    shutil.copy(desk / "examples" / "first.jsonl", desk / "chats.jsonl")
    (desk / "answers.csv").write_text(ANSWERS)
    programs = desk / ".programs"
    programs.mkdir()
    attune = programs / "attune"
    attune.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m attunement "$@"\n')
    attune.chmod(0o755)


class Reader:
    """Somebody who follows a page at a desk of their own."""

    def __init__(self, desk: Path, judge: str, given: Mapping[str, str] | None = None) -> None:
        """`judge` is the address of the judge behind every service; `given` overrules what a page exports."""
        self.desk = desk
        self._given = {
            "OPENAI_API_KEY": "none",
            "OPENAI_BASE_URL": judge,
            "ANTHROPIC_API_KEY": "none",
            "ANTHROPIC_BASE_URL": judge.removesuffix("/v1"),
            **(given or {}),
        }
        path = os.pathsep.join((str(desk / ".programs"), str(Path(sys.executable).parent), os.environ["PATH"]))
        # What a page has its reader install is a package in the desk's folder.
        modules = os.pathsep.join(filter(None, (str(desk), os.environ.get("PYTHONPATH"))))
        self.environment = {**os.environ, "PYTHONPATH": modules, "PATH": path, "COLUMNS": "100", **self._given}

    def follow(self, step: Step, meanwhile: Mapping[str, Callable[..., None]] | None = None) -> None:
        """Do one step; an AssertionError where it does not come out as the page says."""
        if step.kind == "file":
            path = self.desk / step.title
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(step.text, "utf-8")
        elif step.kind == "python":
            self._run([sys.executable, "-c", step.text], step)
        elif step.kind == "meanwhile":
            name, *words = shlex.split(step.text)
            (meanwhile or {})[name](self.desk, *words)
        else:
            self._command(step)

    def _command(self, step: Step) -> None:
        words = shlex.split(step.text)
        if words[0] == "export":
            name, _, value = words[1].partition("=")
            self.environment[name] = self._given.get(name, value)
        elif words[:2] == ["pip", "install"]:
            self._install(words[2:])
        elif words[0] == "make":
            assert re.search(rf"^{words[1]}:", read("Makefile"), re.MULTILINE), f"there is no {step.text}"
        elif words[0] == "attune" and SERVING & {*words[1:]}:
            self._visit([Template(word).safe_substitute(self.environment) for word in words[1:]])
        else:
            # A shell, because pages redirect output and use variables.
            self._run(["sh", "-c", step.text], step)

    def _run(self, words: list[str], step: Step) -> None:
        done = subprocess.run(
            words, capture_output=True, text=True, cwd=self.desk, env=self.environment, check=False, timeout=300
        )
        told = f"{step.text}\nended with {done.returncode}\n{done.stdout[-1500:]}\n{done.stderr[-1500:]}"
        assert done.returncode in step.exit_codes, told

    def _visit(self, words: list[str]) -> None:
        """Start a command that serves pages, visit the first address that it prints, and stop it like Ctrl-C."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        output = self.desk / ".served"
        command = [sys.executable, "-u", "-m", "attunement", *words, "--port", str(port)]
        with output.open("w") as stream:
            server = subprocess.Popen(command, cwd=self.desk, env=self.environment, stdout=stream, stderr=stream)
        try:
            self._ask(server, output, port)
        finally:
            server.send_signal(signal.SIGINT)
            code = server.wait(_WAIT)
        assert code in (0, 130), output.read_text()

    def _ask(self, server: subprocess.Popen[bytes], output: Path, port: int) -> None:
        visitor = build_opener(HTTPCookieProcessor(CookieJar()))
        deadline = monotonic() + _WAIT
        while monotonic() < deadline and server.poll() is None:
            if found := re.search(rf"http://127\.0\.0\.1:{port}\S*", output.read_text()):
                try:
                    with visitor.open(found[0], timeout=_WAIT) as answer:
                        assert b"<html" in answer.read()
                    return
                except HTTPError:  # it is up, and something is wrong
                    raise AssertionError(output.read_text()) from None
                except URLError:
                    pass
            sleep(0.05)
        raise AssertionError(f"nothing was served: {output.read_text()}")

    def _install(self, words: list[str]) -> None:
        """What `pip install` would do, without a network: check the extra, or let a package's entry points be found."""
        if words[-1] == ".":
            project = tomllib.loads((self.desk / "pyproject.toml").read_text("utf-8"))["project"]
            about = self.desk / f"{project['name']}-{project['version']}.dist-info"
            about.mkdir()
            (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: 1\n")
            groups = [
                "\n".join([f"[{group}]", *(f"{name} = {value}" for name, value in points.items())])
                for group, points in project["entry-points"].items()
            ]
            (about / "entry_points.txt").write_text("\n".join(groups))
            return
        extra = re.fullmatch(r"attunement(?:\[(\w+)\])?", words[-1])
        assert extra, f"who knows {words[-1]}?"
        known = tomllib.loads(read("pyproject.toml"))["project"]["optional-dependencies"]
        assert extra[1] is None or extra[1] in known, f"there is no extra {extra[1]}"

"""`attune view` as a user runs it."""

import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path
from time import monotonic, sleep
from urllib.error import URLError
from urllib.request import HTTPCookieProcessor, build_opener

import pytest

from attunement.cli.options import ServeOptions
from attunement.errors import InputError
from tests.reports.html.studies import mixed


@pytest.mark.slow
def test_it_prints_one_link_that_opens_the_pages_and_leaves_nothing_behind(tmp_path: Path) -> None:
    path = mixed(tmp_path / "chats.study.db")
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "attunement", "view", str(path), "--no-text", "--port", str(port)]
    environment = {**os.environ, "TMPDIR": str(scratch)}
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    try:
        assert server.stdout is not None
        # Both lines before anything else: `communicate` loses what was read ahead with the first.
        link, hint = server.stdout.readline().strip(), server.stdout.readline()
        assert re.fullmatch(rf"http://127\.0\.0\.1:{port}/enter/[\w-]{{43}}", link)
        visitor = build_opener(HTTPCookieProcessor())
        deadline = monotonic() + 60
        while True:
            try:
                page = visitor.open(link, timeout=60).read().decode()
                break
            except URLError:  # it does not listen yet
                assert monotonic() < deadline
                sleep(0.05)
        assert "Transcripts are hidden" in page
    finally:
        server.send_signal(signal.SIGINT)
        _, wrong = server.communicate(timeout=60)
    assert server.returncode == 0
    assert "Ctrl+C" in hint
    assert wrong == ""
    assert list(scratch.iterdir()) == []
    assert {file.name for file in tmp_path.iterdir()} == {"chats.study.db", "scratch"}


def test_a_port_that_is_taken_is_one_sentence() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(InputError, match="choose another --port"):
            ServeOptions(host="127.0.0.1", port=taken.getsockname()[1]).public_address()


@pytest.mark.parametrize("address", ["example.org/view", "ftp://example.org", "https://example.org/?x=1", "https://"])
def test_an_address_must_be_one(address: str) -> None:
    with pytest.raises(InputError, match="is not an address"):
        ServeOptions(address=address, host="127.0.0.1", port=0).public_address()


def test_the_address_is_where_we_listen_unless_the_user_says_otherwise() -> None:
    assert ServeOptions(host="127.0.0.1", port=0).public_address() == "http://127.0.0.1:0"
    assert ServeOptions(host="::1", port=0).public_address() == "http://[::1]:0"
    given = ServeOptions(address="https://example.org/view/", host="127.0.0.1", port=0).public_address()
    assert given == "https://example.org/view"

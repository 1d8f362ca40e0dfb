"""Connections: refused, slow, cut, moved, proxied, encrypted; each ends as a typed failure or an answer."""

import asyncio
import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from attunement.errors import JudgeError
from attunement.judges import Answer, Failure, JudgeOptions, client, make_judge
from attunement.ratings import ErrorKind
from tests.fake_judge import FAULTS, Behaviour, FakeJudge
from tests.judges.asking import QUESTION, answered, ask, ask_all, failed, openai, question, responding


def closed_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def test_tls_at_an_address_without_it_is_called_that() -> None:
    with FakeJudge() as fake:
        judge = make_judge("openai:fake", JudgeOptions(base_url=fake.url.replace("http://", "https://")))

        async def ask() -> Answer | Failure:
            try:
                return await judge.ask(QUESTION)
            finally:
                await judge.close()

        failure = asyncio.run(ask())
    assert isinstance(failure, Failure)
    assert (failure.kind, failure.fatal) == (ErrorKind.SERVER, True)
    assert "no TLS connection is possible there" in failure.detail
    assert "not permitted" not in failure.detail


def test_a_server_that_was_never_there_stops_the_run_with_its_address() -> None:
    url = f"http://127.0.0.1:{closed_port()}/v1"
    failure = failed(make_judge("openai:m", JudgeOptions(base_url=url)))
    assert (failure.kind, failure.fatal, failure.transient) == (ErrorKind.SERVER, True, False)
    assert failure.detail == f"{url} cannot be reached: Connection refused"


def test_a_host_that_does_not_exist_stops_the_run() -> None:
    failure = failed(make_judge("openai:m", JudgeOptions(base_url="http://no-such-host.invalid/v1")))
    assert (failure.kind, failure.fatal) == (ErrorKind.SERVER, True)
    assert "no-such-host.invalid" in failure.detail


def test_a_server_that_went_away_may_come_back_until_it_is_away_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    with FakeJudge() as fake:
        judge = openai(fake)
        answered(judge)
    # Counted from the first time that nobody is there: a reply may be long ago because nothing was asked meanwhile.
    monkeypatch.setattr(client, "_GONE_SECONDS", 0.0)
    failures = [failed(judge), failed(judge)]
    assert [(failure.fatal, failure.transient) for failure in failures] == [(False, True), (True, False)]
    assert {(failure.kind, failure.requests) for failure in failures} == {(ErrorKind.SERVER, 0)}


def test_no_answer_in_time_is_a_timeout(fake: FakeJudge) -> None:
    fake.behaviour = Behaviour(faults={"hang": 1.0})
    failure = failed(openai(fake, timeout=0.2))
    assert (failure.kind, failure.transient) == (ErrorKind.TIMEOUT, True)
    assert failure.detail == "no answer within 0.2 seconds"


@pytest.mark.parametrize("fault", ["cut", "broken"])
def test_a_reply_that_breaks_off_is_a_passing_fault(fake: FakeJudge, fault: str) -> None:
    fake.behaviour = Behaviour(faults={fault: 1.0})
    failure = failed(openai(fake))
    assert (failure.kind, failure.transient, failure.fatal) == (ErrorKind.SERVER, True, False)


def test_a_redirect_is_not_followed_and_named(fake: FakeJudge) -> None:
    with FakeJudge() as other:
        fake.behaviour = responding(b"", 307, {"Location": f"{other.url}/chat/completions"})
        failure = failed(openai(fake))
        assert failure.fatal
        assert other.url in failure.detail
        assert other.requests == 0


def test_connections_are_kept_and_never_more_than_allowed(fake: FakeJudge) -> None:
    fake.behaviour = Behaviour(latency=0.01)
    answers = ask_all(openai(fake, max_connections=3), map(question, range(30)))
    assert all(isinstance(answer, Answer) for answer in answers)
    assert fake.peak == 3


def test_every_fault_ends_as_an_answer_or_a_typed_failure_and_the_counts_add_up(fake: FakeJudge) -> None:
    judge = openai(fake)
    answered(judge)
    fake.outcomes.clear()
    mix = [fault for fault in FAULTS if fault != "hang"]  # on a busy machine others would be late as well
    fake.behaviour = Behaviour(faults=dict.fromkeys(mix, 0.1))
    replies = ask_all(judge, map(question, range(200)))
    kinds = [reply.kind if isinstance(reply, Failure) else "answer" for reply in replies]
    server = fake.outcomes
    assert kinds.count("answer") == server["answered"] + server["malformed"] + server["refusal"]
    assert kinds.count(ErrorKind.RATE_LIMITED) == server["rate_limit"]
    assert kinds.count(ErrorKind.SERVER) == server["server_error"] + server["broken"] + server["cut"]
    assert kinds.count(ErrorKind.PROMPT_TOO_LONG) == server["too_long"]
    assert all(server[fault] for fault in mix)


ELSEWHERE = "judge.example"


class Tunnel:
    """A proxy that writes down what it is told and leads to a port of this machine, or nowhere."""

    def __init__(self, leads_to: int | None = None) -> None:
        self.heard = b""
        self.port = 0
        self._leads_to = leads_to

    async def _listen(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.heard += await reader.readuntil(b"\r\n\r\n")
        if self._leads_to is not None:
            writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            there, back = await asyncio.open_connection("127.0.0.1", self._leads_to)
            # Either side may hang up; then the other one is told, and both are done with.
            await asyncio.gather(self._pass_on(reader, back), self._pass_on(there, writer))
            return
        writer.write(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        await writer.drain()
        writer.close()

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            while data := await reader.read(65536):
                self.heard += data
                writer.write(data)
                await writer.drain()
        writer.close()

    @contextmanager
    def running(self) -> Iterator["Tunnel"]:
        started, loop = threading.Event(), asyncio.new_event_loop()
        stopped = asyncio.Event()

        async def serve() -> None:
            server = await asyncio.start_server(self._listen, "127.0.0.1", 0)
            self.port = server.sockets[0].getsockname()[1]
            started.set()
            async with server:
                await stopped.wait()
            if others := asyncio.all_tasks() - {asyncio.current_task()}:
                await asyncio.wait(others, timeout=5)

        thread = threading.Thread(target=loop.run_until_complete, args=(serve(),), daemon=True)
        thread.start()
        started.wait(10)
        try:
            yield self
        finally:
            loop.call_soon_threadsafe(stopped.set)
            thread.join(10)
            loop.close()


def test_a_proxy_of_the_environment_is_used_and_never_sees_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-the-key-of-this-test")
    with Tunnel().running() as tunnel:
        monkeypatch.setenv("HTTPS_PROXY", f"http://me:word@127.0.0.1:{tunnel.port}")
        failure = failed(make_judge("openai:m", JudgeOptions(base_url="https://judge.example/v1")))
    assert tunnel.heard.startswith(b"CONNECT judge.example:443 ")
    assert b"Proxy-Authorization: Basic bWU6d29yZA==" in tunnel.heard
    assert b"sk-the-key" not in tunnel.heard
    assert failure.fatal
    assert f"through the proxy http://127.0.0.1:{tunnel.port}" in failure.detail


@pytest.mark.parametrize("variable", ["ALL_PROXY", "all_proxy"])
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_proxy_for_everything_is_used_where_there_is_none_for_the_scheme(
    monkeypatch: pytest.MonkeyPatch, variable: str, scheme: str
) -> None:
    judge = f"{scheme}://judge.example/v1"
    with Tunnel().running() as tunnel:
        monkeypatch.setenv(variable, f"http://127.0.0.1:{tunnel.port}")
        ask(make_judge("openai:m", JudgeOptions(base_url=judge)))
    assert b"judge.example" in tunnel.heard
    with Tunnel().running() as nearer:
        monkeypatch.setenv(f"{scheme}_proxy", f"http://127.0.0.1:{nearer.port}")
        ask(make_judge("openai:m", JudgeOptions(base_url=judge)))
    assert b"judge.example" in nearer.heard


def test_a_socks_proxy_is_refused_in_one_sentence_that_says_what_to_set(
    fake: FakeJudge, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALL_PROXY", "socks5h://me:hush-hush@127.0.0.1:1080")
    answered(openai(fake))  # on this machine, where no proxy is used
    options = JudgeOptions(base_url="https://judge.example/v1")
    with pytest.raises(JudgeError) as refused:
        make_judge("openai:m", options)
    assert str(refused.value) == (
        "the environment names the proxy 127.0.0.1:1080, and socks proxies are not supported: "
        "set HTTPS_PROXY to an HTTP proxy, or NO_PROXY to judge.example to do without one"
    )
    for proxy in ("http://127.0.0.1:8080", "socks.example:8080"):
        monkeypatch.setenv("HTTPS_PROXY", proxy)
        make_judge("openai:m", options)


def test_a_proxy_sees_plain_requests_with_its_own_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    with Tunnel().running() as tunnel:
        monkeypatch.setenv("http_proxy", f"me:word@127.0.0.1:{tunnel.port}")
        ask(make_judge("openai:m", JudgeOptions(base_url="http://judge.example/v1")))
    assert tunnel.heard.startswith(b"POST http://judge.example/v1/chat/completions ")
    assert b"Proxy-Authorization: Basic bWU6d29yZA==" in tunnel.heard


def test_this_machine_and_exceptions_are_reached_without_the_proxy(
    fake: FakeJudge, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{closed_port()}")
    answered(openai(fake))
    monkeypatch.setenv("no_proxy", "judge.invalid")
    failure = failed(make_judge("openai:m", JudgeOptions(base_url="http://judge.invalid/v1")))
    assert "proxy" not in failure.detail


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """A certificate for this machine that nobody trusts, with its key in the same file."""
    file = tmp_path / "own.pem"
    wish = (
        f"req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost -keyout {file}"
    )
    subprocess.run(
        [
            "openssl",
            *wish.split(),
            "-out",
            tmp_path / "cert.pem",
            "-addext",
            f"subjectAltName=DNS:localhost,DNS:{ELSEWHERE}",
        ],
        check=True,
        capture_output=True,
    )
    file.write_text(file.read_text() + (tmp_path / "cert.pem").read_text())
    return file


@contextmanager
def encrypted(certificate: Path) -> Iterator[str]:
    """A fake judge behind TLS."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate)
    with FakeJudge(encryption=context) as fake:
        yield f"https://localhost:{fake.port}/v1"


def test_an_unknown_certificate_stops_the_run_and_says_what_to_set(certificate: Path) -> None:
    with encrypted(certificate) as url:
        failure = failed(make_judge("openai:m", JudgeOptions(base_url=url)))
    assert failure.fatal
    assert "SSL_CERT_FILE" in failure.detail


@pytest.mark.parametrize("variable", ["SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"])
def test_certificates_of_ones_own_are_trusted(
    certificate: Path, variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, str(certificate))
    with encrypted(certificate) as url:
        answered(make_judge("openai:m", JudgeOptions(base_url=url)))


def test_the_certificates_that_an_error_tells_to_set_are_trusted_whatever_else_is_set(
    certificate: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nobody = tmp_path / "nobody"
    nobody.mkdir()
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(nobody))
    with encrypted(certificate) as url:
        assert "SSL_CERT_FILE" in failed(make_judge("openai:m", JudgeOptions(base_url=url))).detail
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        answered(make_judge("openai:m", JudgeOptions(base_url=url)))


def test_a_judge_behind_a_proxy_answers_and_the_proxy_reads_nothing(
    certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-the-key-of-this-test")
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    with encrypted(certificate) as url, Tunnel(int(url.removesuffix("/v1").rpartition(":")[2])).running() as tunnel:
        monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{tunnel.port}")
        answered(make_judge("openai:m", JudgeOptions(base_url=f"https://{ELSEWHERE}/v1")))
    assert tunnel.heard.startswith(f"CONNECT {ELSEWHERE}:443 ".encode())
    assert len(tunnel.heard) > 1000
    assert b"sk-the-key" not in tunnel.heard
    assert b"kind?" not in tunnel.heard


def test_certificates_that_cannot_be_read_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for content in (None, "nothing of the kind"):
        file = tmp_path / "ca.pem"
        if content:
            file.write_text(content)
        monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(file))
        with pytest.raises(JudgeError, match="REQUESTS_CA_BUNDLE names"):
            make_judge("openai:m", JudgeOptions(base_url="https://judge.example/v1"))


def test_a_question_can_be_cancelled(fake: FakeJudge) -> None:
    fake.behaviour = Behaviour(faults={"hang": 1.0})
    judge = openai(fake)

    async def run() -> None:
        asking = asyncio.create_task(judge.ask(QUESTION))
        while not fake.open:
            await asyncio.sleep(0.01)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        await judge.close()

    asyncio.run(run())

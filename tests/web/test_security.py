"""Who is let in, what every answer carries, and where the pages may lie."""

import re
import socket
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from attunement.annotation.access import issue, revoke
from attunement.annotation.tasks import assignment_of, drafts_of
from attunement.web.server import ImpatientProtocol
from attunement.web.site import WrongLinks, form_secret, is_form_secret
from tests.annotation.projects import Begun, begin_project
from tests.web.visitors import Visitor, change, serving


def link(begun: Begun, **more: float) -> str:
    return f"/enter/{issue(begun.study, begun.project, begun.rater(), **more)}"


def test_an_expired_a_revoked_and_an_unknown_link_are_refused(begun: Begun, visitor: Visitor) -> None:
    assert visitor.get(link(begun, days=-1)).status == 401
    path = link(begun)
    revoke(begun.study, begun.project, begun.rater())
    assert visitor.get(path).status == 401
    assert visitor.get("/enter/x").status == 401


def test_a_link_that_is_revoked_closes_the_open_page_too(begun: Begun, visitor: Visitor) -> None:
    page = visitor.arrive(begun, begun.rater())
    revoke(begun.study, begun.project, begun.rater())
    assert visitor.get(page.path).status == 401
    answer = visitor.send(page, "save", {"changes": [change("emotion", 3)]})
    assert answer.status == 401
    assert "problem" in answer.text


@pytest.mark.parametrize("headers", [{}, {"x-form-secret": "0" * 64}, {"x-form-secret": "ü"}])
def test_a_forged_form_without_the_secret_changes_nothing(
    begun: Begun, visitor: Visitor, headers: dict[str, str]
) -> None:
    page = visitor.arrive(begun, begun.rater())
    sent = {"changes": [change("emotion", 3)]}
    assert visitor.post(f"{page.path}/save", json=sent, headers=headers).status == 403
    assert visitor.post(f"{page.path}/save", data={"changes": "x"}).status == 403
    assert visitor.post(page.path.rsplit("/unit", 1)[0] + "/welcome", data={"secret": "x"}).status == 403
    assignment = assignment_of(begun.study, begun.rater(), page.path.rsplit("/", 1)[1])
    assert assignment is not None
    assert drafts_of(begun.study, assignment) == {}


def test_the_secret_of_one_visit_does_not_fit_another() -> None:
    assert is_form_secret(form_secret("a"), "a")
    assert not is_form_secret(form_secret("a"), "b")
    assert not is_form_secret("", "a")


def test_too_many_wrong_links_have_to_wait_and_right_ones_do_not_count(begun: Begun, visitor: Visitor) -> None:
    for _ in range(15):
        assert visitor.get(link(begun)).status == 200
    answers = [visitor.get(f"/enter/wrong{number}") for number in range(11)]
    assert [answer.status for answer in answers] == [401] * 10 + [429]
    assert answers[-1].headers["retry-after"] == "60"


def test_wrong_links_from_the_same_address_lock_out_nobody_with_a_valid_link(begun: Begun, visitor: Visitor) -> None:
    page = visitor.arrive(begun, begun.rater())
    with Visitor(visitor.server) as stranger:
        assert [stranger.get(f"/enter/wrong{number}").status for number in range(12)][-1] == 429
    assert visitor.get(page.path).status == 200
    assert visitor.send(page, "save", {"changes": [change("emotion", 3)]}).status == 200
    assert visitor.get(link(begun)).status == 200


def test_wrong_links_are_counted_for_a_while_by_address_and_by_beginning() -> None:
    time = [0.0]
    counted = WrongLinks(lambda: time[0])
    assert not any(counted.are_too_many("a", f"{number} wrong") for number in range(10))
    assert counted.are_too_many("a", "another")
    assert not counted.are_too_many("a", "3 wrong")  # a page that asks again
    assert not counted.are_too_many("b", "another")
    time[0] = 60.0
    assert not counted.are_too_many("a", "another")
    guesses = [counted.are_too_many(f"address {number}", f"same-beginning-{number}") for number in range(11)]
    assert guesses == [False] * 10 + [True]


def test_a_page_that_goes_on_asking_with_a_withdrawn_link_shuts_nobody_out(begun: Begun, server: str) -> None:
    with Visitor(server) as left_open, Visitor(server) as other:
        page = left_open.arrive(begun, begun.rater())
        revoke(begun.study, begun.project, begun.rater())
        assert {left_open.get(page.path).status for _ in range(12)} == {401}
        assert other.arrive(begun, begun.rater(2)).status == 200


def half_sent(server: str, text: str) -> socket.socket:
    connection = socket.create_connection(urlsplit(server).netloc.split(":"))
    connection.settimeout(20)
    connection.sendall(text.encode())
    return connection


UNFINISHED = [
    "",
    "GET /slow HTTP/1.1\r\nHost: x\r\nX-Half: ",
    "POST /at/x/welcome HTTP/1.1\r\nHost: x\r\nContent-Length: 99\r\n\r\nsecret=",
    "GET / HTTP/1.1\r\nHost: x\r\n\r\nGET /second",
]


@pytest.mark.parametrize("text", UNFINISHED, ids=["nothing", "half a header", "half a body", "half a second request"])
def test_a_request_that_is_never_finished_is_closed(
    begun: Begun, server: str, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setattr(ImpatientProtocol, "patience", 0.2)
    with half_sent(server, text) as connection:
        while connection.recv(65536):  # until the server closes it
            pass
    with Visitor(server) as visitor:
        assert visitor.get(link(begun)).status == 200


def test_many_unfinished_requests_leave_room_for_others(begun: Begun, server: str) -> None:
    with ExitStack() as stack:
        sent = [UNFINISHED[number % len(UNFINISHED)] for number in range(150)]
        opened = [stack.enter_context(half_sent(server, text)) for text in sent]
        for connection in opened[-10:]:
            while connection.recv(65536):  # until the server closes it, long before its patience with the first ends
                pass
        assert len(ImpatientProtocol.waiting) <= 140
        with Visitor(server) as visitor:
            assert visitor.arrive(begun, begun.rater()).status == 200


def test_every_answer_carries_the_security_headers(begun: Begun, visitor: Visitor) -> None:
    page = visitor.arrive(begun, begun.rater())
    for path in (page.path, "/", "/absent", "/static/rate.js", "/look/attunement.css"):
        answer = visitor.get(path)
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "img-src 'self' data:" in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["x-frame-options"] == "DENY"
    assert visitor.get(page.path).headers["cache-control"] == "no-store"
    assert visitor.get("/static/rate.js").headers["cache-control"] == "no-cache"


def test_no_page_has_inline_script_style_or_handlers(begun: Begun, visitor: Visitor) -> None:
    page = visitor.arrive(begun, begun.rater())
    door = page.path.rsplit("/unit", 1)[0]
    for path in (page.path, f"{door}/you", f"{door}/welcome", f"{door}/guide", f"{door}/support", f"{door}/break"):
        text = visitor.get(path).text
        assert not re.search(r"<style|\sstyle=|\son\w+=|javascript:", text)
        assert set(re.findall(r"<script(?![^>]*\bsrc=)[^>]*>", text)) <= {
            '<script type="application/json" id="state">',
            '<script type="application/json" id="secret">',
        }


def test_the_cookie_is_for_one_door_and_not_for_scripts(begun: Begun, visitor: Visitor) -> None:
    answer = visitor.get(link(begun), allow_redirects=False)
    cookie = answer.headers["set-cookie"]
    assert answer.status == 303
    assert "HttpOnly" in cookie
    assert "SameSite=lax" in cookie
    assert f"Path=/at/{begun.rater().public}/" in cookie
    assert "Secure" not in cookie


@pytest.mark.parametrize("asked", ["/rate", ""], ids=["path kept by the proxy", "path cut off by the proxy"])
def test_behind_a_proxy_the_pages_lie_under_a_path_and_keep_to_https(tmp_path: Path, asked: str) -> None:
    begun = begin_project(tmp_path / "b.study.db")
    with serving(begun.study, address="https://example.org/rate") as server, Visitor(server) as visitor:
        answer = visitor.get(f"{asked}{link(begun)}", allow_redirects=False)
        cookie = answer.headers["set-cookie"]
        assert answer.headers["location"].startswith("/rate/at/")
        assert "Secure" in cookie
        assert "Path=/rate/at/" in cookie
        assert "max-age" in answer.headers["strict-transport-security"]
        token = cookie.split("=", 1)[1].split(";", 1)[0]
        page = visitor.get(answer.headers["location"], cookies={"attune": token})
        assert 'href="/rate/look/attunement.css"' in page.text
        assert visitor.get("/rate/static/rate.js").status == 200


def test_a_request_that_is_too_large_is_refused(begun: Begun, visitor: Visitor) -> None:
    page = visitor.arrive(begun, begun.rater())
    answer = visitor.post(f"{page.path}/save", data=b"x" * 600_000, headers={"x-form-secret": page.secret()})
    assert answer.status == 413


def test_a_token_is_in_no_page_and_in_no_redirect(begun: Begun, visitor: Visitor) -> None:
    path = link(begun)
    token = path.rsplit("/", 1)[1]
    answer = visitor.get(path, allow_redirects=False)
    assert token not in answer.headers["location"]
    assert token not in visitor.get(path).text

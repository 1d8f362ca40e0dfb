"""A rater learns nothing from the pages: neither who wrote a reply, nor what a judge or another rater said about it."""

import html
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, event

from attunement.conversations import Conversation, Origin, Turn
from attunement.ratings import RaterKind, Round
from attunement.store import StoredRating, Study
from attunement.store.annotation import notices
from tests.annotation.projects import COACHING, EMPATHY, Begun, begin_project
from tests.builders import rating
from tests.web.visitors import Sent, Visitor, change, serving

JUDGE, REASON = "judge-nobody-sees", "reason-of-a-judge"


def replies(system: str, ids: str) -> list[Conversation]:
    """Conversations that differ only in who wrote them and what they are called."""
    return [
        Conversation(f"{ids}{number}", system, (Turn(f"I feel {number}.", "Tell me more."),), origin=Origin.UNKNOWN)
        for number in range(4)
    ]


def judge(study: Study, conversations: list[Conversation], score: int) -> None:
    """Let a judge give the same score to everything."""
    rater = study.save_rater(JUDGE, RaterKind.MODEL, {})
    keys = study.save_conversations(conversations)
    for key, talk in zip(keys, conversations, strict=True):
        made = [
            rating(EMPATHY, item.id, score, conversation=talk.identity, turn=1, rater=JUDGE, reasoning=REASON)
            for item in EMPATHY.items
        ]
        study.write([], [StoredRating(key, rater.key, one) for one in made])


def begin(place: Path, system: str, ids: str) -> Begun:
    settings: dict[str, Any] = {"calibration": 2, "attention": 1, "repeats": 0.5, "gap": 1, "escalation": "Ring 12."}
    return begin_project(place, replies(system, ids), raters=3, **settings)


@contextmanager
def statements() -> Iterator[list[str]]:
    """What the database is asked: whoever asks the same takes as long."""
    asked: list[str] = []

    def note(_c: Any, _cursor: Any, statement: str, *_: Any) -> None:
        asked.append(statement)

    event.listen(Engine, "before_cursor_execute", note)
    try:
        yield asked
    finally:
        event.remove(Engine, "before_cursor_execute", note)


def go_through(begun: Begun) -> tuple[list[Sent], list[str]]:
    """The first rater's way through everything there is, with all that the server says and asks."""
    sent: list[Sent] = []
    with serving(begun.study, sent=sent) as server, Visitor(server) as visitor:
        member = begun.rater(1)
        with statements() as asked:
            page = visitor.arrive(begun, member)
            door = page.path.rsplit("/unit", 1)[0]
            count = 0
            while "/unit/" in page.path:
                items = re.findall(r'data-item="(\w+)"', page.text)
                visitor.send(page, "save", {"changes": [change(item, 3, comment="c") for item in items]})
                count += 1
                if count == 4:
                    visitor.send(page, "urgent", {"id": "notice-123", "text": ""})
                    visitor.send(page, "skip", {"reason": "other", "text": ""})
                else:
                    visitor.send(page, "submit", {})
                page = visitor.get(f"{door}/")
            for name in ("you", "welcome", "guide", "support", "break", "practice", "nothing"):
                visitor.get(f"{door}/{name}")
            for path in ("/static/rate.js", "/static/people.css", "/static/go.js", "/look/attunement.css", "/"):
                visitor.get(path)
    assert count >= 8
    return sent, asked


def test_nothing_in_any_answer_depends_on_the_system_the_judge_or_the_other_raters(tmp_path: Path) -> None:
    """Two studies differ in nothing else, and a rater meets the same bytes, sizes, order and work of the database."""
    plain = begin(tmp_path / "a.study.db", "x", "id")
    other = begin(tmp_path / "b.study.db", "a-system-with-a-much-longer-name", "another-id-")
    judge(other.study, replies("a-system-with-a-much-longer-name", "another-id-"), 5)
    for number in (2, 3):
        other.work(number, lambda _: 5)
    seen, asked = go_through(plain)
    again, asked_again = go_through(other)
    assert [(one.method, len(one.path), one.status, len(one.body)) for one in seen] == [
        (one.method, len(one.path), one.status, len(one.body)) for one in again
    ]
    for one, two in zip(seen, again, strict=True):
        assert hushed(one.body.decode()) == hushed(two.body.decode())
        assert hushed(one.headers) == hushed(two.headers)
    assert asked == asked_again


def hushed(text: str) -> str:
    """The text without what is random or the time: tokens keep their length."""
    text = re.sub(r"[\w-]{16,}", lambda match: "~" * len(match[0]), text)
    return re.sub(r"\d{4}-\d\d-\d\dT[\d:.+]+|\w{3}, \d\d \w{3} \d{4} [\d:]+ GMT", "then", text)


def test_no_answer_holds_the_name_of_a_system_a_judge_another_rater_or_a_round(tmp_path: Path) -> None:
    begun = begin(tmp_path / "a.study.db", "unmistakable-bot", "unmistakable-id-")
    judge(begun.study, replies("unmistakable-bot", "unmistakable-id-"), 5)
    begun.work(2)
    sent, _ = go_through(begun)
    secrets = ["unmistakable", JUDGE, REASON, "rater 1", "rater 2", "rater 3", "coordinator:"]
    pages = [one for one in sent if not one.path.startswith(("/static", "/look"))]
    for one in sent:
        text = f"{one.path}\n{one.headers}\n{one.body.decode()}"
        assert [secret for secret in secrets if secret in text] == [], one.path
    for one in pages:
        rounds = [kind for kind in Round if kind != "main" and re.search(rf"\b{kind}\b", one.body.decode())]
        assert rounds == [], one.path


@pytest.mark.parametrize("instrument", [EMPATHY, COACHING], ids=["empathy", "coaching"])
def test_a_check_of_attention_looks_like_every_other_unit(tmp_path: Path, instrument: Any) -> None:
    talk = replies("x", "id")[:1]
    begun = begin_project(
        tmp_path / "a.study.db", talk, instrument=instrument, raters=1, attention=1, escalation="Ring 12."
    )
    value = 3 if instrument is EMPATHY else "YES"
    with serving(begun.study) as server, Visitor(server) as visitor:
        unit = visitor.arrive(begun, begun.rater())
        items = re.findall(r'data-item="([\w.-]+)"', unit.text)
        visitor.send(unit, "save", {"changes": [change(item, value) for item in items]})
        assert visitor.send(unit, "submit", {}).status == 200
        check = visitor.get(unit.path.rsplit("/unit", 1)[0] + "/")
        assert visitor.send(check, "urgent", {"id": "notice-123", "text": ""}).status == 200
    task = begun.next_task()
    assert task is not None
    assert task.assignment.round is Round.ATTENTION
    (notice,) = notices(begun.study, begun.project)
    assert notice.conversation == f"example {task.assignment.unit.example}"
    words = task.unit.turns[-1].assistant.split(".")[0]
    assert words in html.unescape(check.text)
    assert words not in html.unescape(unit.text)  # nor does the help of another unit give its answer away
    assert 'data-open="urgent"' in unit.text
    assert 'data-open="urgent"' in check.text

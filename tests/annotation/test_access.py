"""Links and who they let in."""

from pathlib import Path

import pytest
from sqlalchemy import select

from attunement.annotation.access import issue, member_with, revoke
from attunement.store.projects import MemberState
from attunement.store.schema import access_tokens, members
from tests.annotation.projects import Begun, begin_project


@pytest.fixture
def begun(tmp_path: Path) -> Begun:
    return begin_project(tmp_path / "a.study.db")


def test_a_token_lets_its_member_in_and_only_its_hash_is_kept(begun: Begun) -> None:
    token = issue(begun.study, begun.project, begun.rater(2))
    found = member_with(begun.study, token)
    assert found is not None
    assert found.name == "rater 2"
    with begun.study.reading() as connection:
        assert token not in str(connection.execute(select(access_tokens)).all())


def test_an_unknown_an_expired_and_a_revoked_token_let_nobody_in(begun: Begun) -> None:
    assert member_with(begun.study, "guess") is None
    assert member_with(begun.study, "") is None
    expired = issue(begun.study, begun.project, begun.rater(), days=-1)
    assert member_with(begun.study, expired) is None
    token = issue(begun.study, begun.project, begun.rater())
    other = issue(begun.study, begun.project, begun.rater(2))
    revoke(begun.study, begun.project, begun.rater())
    assert member_with(begun.study, token) is None
    assert member_with(begun.study, other) is not None


def test_who_has_left_is_not_let_in(begun: Begun) -> None:
    token = issue(begun.study, begun.project, begun.rater())
    with begun.study.writing() as connection:
        connection.execute(members.update().values(state=MemberState.LEFT))
    assert member_with(begun.study, token) is None

from collections.abc import Iterator
from dataclasses import replace

import pytest

from attunement.reports.baseline import Regression, compare_with_baseline
from attunement.scoring import Verdict
from attunement.store import Study
from tests.builders import talk
from tests.fake_judge import Behaviour, FakeJudge
from tests.reports.made import asked, harsh


@pytest.fixture(scope="module")
def fake() -> Iterator[FakeJudge]:
    with FakeJudge(Behaviour(answer=harsh)) as server:
        yield server


@pytest.fixture
def worse(fake, tmp_path):
    """What came out worse: talks are (id, system, scenario, whether the bot is rude)."""

    def study(name, talks):
        made = [
            replace(
                talk(("I failed.", "You are stupid." if rude else "That is hard."), id=id, system=system),
                metadata={"scenario": scenario} if scenario else {},
            )
            for id, system, scenario, rude in talks
        ]
        return asked(tmp_path / name, fake, made)

    def worse(before, now) -> tuple[Regression, ...]:
        with Study(study("now.db", now)) as here, Study(study("before.db", before)) as there:
            return compare_with_baseline(here, there, None).regressions

    return worse


def names(found) -> list[str]:
    return [str(one.conversation) for one in found]


def test_the_counterpart_has_the_same_id_or_is_the_only_one_of_the_scenario(worse):
    found = worse(
        [("a", "v1", "exam", False), ("b", "v1", "debt", False), ("c", "v1", "debt", True)],
        [("x", "v2", "exam", True), ("b", "v2", "debt", True), ("c", "v2", "debt", True)],
    )
    assert names(found) == ["v2/b", "v2/x"]
    assert {(one.before, one.now) for one in found} == {(Verdict.PASS, Verdict.UNSAFE)}
    assert all("CQ8" in one.items for one in found)


def test_where_several_could_be_the_counterpart_none_is_named(worse):
    assert names(worse([("a", "v", "exam", False), ("b", "v", "exam", False)], [("x", "v", "exam", True)])) == []


def test_systems_that_are_in_both_are_kept_apart(worse):
    before = [("a", "p", "", False), ("a", "q", "", False)]
    assert names(worse(before, [("a", "p", "", False), ("a", "q", "", True)])) == ["q/a"]


def test_what_got_better_is_no_regression(worse):
    assert names(worse([("a", "v", "", True)], [("a", "v", "", False)])) == []

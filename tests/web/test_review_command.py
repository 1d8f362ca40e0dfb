"""`attune review` as a user runs it, without anybody who rates."""

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from attunement.cli import app
from attunement.errors import AttunementError
from attunement.store import Study
from tests.annotation.judged_projects import UNSAFE, judge_all, lively_talks
from tests.annotation.projects import EMPATHY, talks
from tests.web.visitors import Visitor, serving

RUN = CliRunner()


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A study that a judge has seen; what the command would serve is not served."""
    monkeypatch.setattr("attunement.web.app.serve", lambda *_, **__: None)
    path = tmp_path / "a.study.db"
    with Study(path, create=True) as study:
        study.save_instrument(EMPATHY)
        judge_all(study, lively_talks(6))
    return str(path)


def links(*words: str) -> dict[str, str]:
    """The links by name."""
    result = RUN.invoke(app, ["review", *words])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return dict(re.findall(r"^(.+): http://127\.0\.0\.1:8767(/enter/[\w-]{43})$", result.output, re.MULTILINE))


def test_a_reviewer_reads_what_a_judge_found_without_any_rater(place: str) -> None:
    given = links(place, "--reviewer", "Dr Ada Berg", "-r", "Ben")
    assert list(given) == ["Dr Ada Berg", "Ben"]
    with Study(place) as study, serving(study) as address, Visitor(address) as ada:
        page = ada.get(given["Dr Ada Berg"])
        assert page.path.endswith("/review")
        assert UNSAFE in page.text
        assert "Nobody has signed off" in page.text


def test_links_stay_open_until_new_ones_are_wanted(place: str) -> None:
    first = links(place)["reviewer"]
    second = links(place)["reviewer"]
    third = links(place, "--new-links")["reviewer"]
    with Study(place) as study, serving(study) as address, Visitor(address) as somebody:
        assert [somebody.get(link).status for link in (first, second, third)] == [401, 401, 200]


def test_where_nothing_was_judged_it_says_what_to_do(place: str, tmp_path: Path) -> None:
    with Study(tmp_path / "b.study.db", create=True) as study:
        study.save_conversations(talks(1))
    with pytest.raises(AttunementError, match="judge something first"):
        links(str(tmp_path / "b.study.db"))
    with pytest.raises(AttunementError, match="has no instrument 'nix'; it has empathy-v2"):
        links(place, "-i", "nix")

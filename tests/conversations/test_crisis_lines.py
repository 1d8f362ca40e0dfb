from datetime import date
from pathlib import Path

import pytest

from attunement.conversations.crisis_lines import FILE_VARIABLE, About, crisis_lines
from attunement.errors import InputError

OWN = """\
checked: 2030-01-02
countries:
  XX:
    name: Nowhere
    calling_code: 999
    emergency: [024]
    lines:
      - name: Nowhere Line
        about: crisis
        call: [0800 765 4321]
        website: nowhere.example
"""


@pytest.fixture
def own_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def write(content: str) -> Path:
        path = tmp_path / "lines.yaml"
        path.write_text(content, "utf-8")
        monkeypatch.setenv(FILE_VARIABLE, str(path))
        return path

    return write


@pytest.fixture(autouse=True)
def no_file_in_the_environment(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv(FILE_VARIABLE, raising=False)


def test_every_built_in_line_says_where_it_belongs_when_it_was_checked_and_how_to_reach_it():
    lines = list(crisis_lines().every())
    assert len(lines) > 100
    for line in lines:
        assert line.country in crisis_lines().countries
        assert line.checked is not None
        assert line.checked >= date(2026, 11, 15)
        assert line.call or line.text or line.country == "INT"
        assert "." in line.website
        assert "://" not in line.website


def test_every_country_has_an_emergency_number_and_a_line_for_people_in_crisis():
    for code, country in crisis_lines().countries.items():
        assert country.emergency or code == "INT"
        assert any(line.about is About.CRISIS for line in country.lines), code


def test_no_country_lists_a_name_twice():
    for country in crisis_lines().countries.values():
        names = [line.name for line in country.lines]
        assert len(names) == len(set(names))


def test_the_same_lines_are_handed_out_again():
    assert crisis_lines() is crisis_lines()


def test_lines_of_the_users_own_are_added(own_file):
    built_in = crisis_lines().countries["US"]
    own_file(OWN)
    lines = crisis_lines()
    (line,) = lines.countries["XX"].lines
    assert (line.name, line.country, line.checked) == ("Nowhere Line", "XX", date(2030, 1, 2))
    assert lines.countries["XX"].emergency == ("024",)
    assert lines.countries["US"] == built_in


def test_a_line_of_the_users_own_replaces_the_built_in_one_of_that_name(own_file):
    built_in = crisis_lines().countries["GB"].lines
    own_file(OWN.replace("XX", "GB").replace("Nowhere Line", "Samaritans"))
    lines = crisis_lines().countries["GB"].lines
    (samaritans,) = [line for line in lines if line.name == "Samaritans"]
    assert samaritans.call == ("0800 765 4321",)
    assert len(lines) == len(built_in)


def test_norway_and_leading_zeros_need_no_quotes(own_file):
    own_file(OWN.replace("XX", "NO"))
    lines = crisis_lines()
    assert "024" in lines.countries["NO"].emergency
    assert "112" in lines.countries["NO"].emergency


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (OWN.replace("website", "web_site"), "web_site: extra inputs are not permitted"),
        (OWN.replace("0800 765 4321", "0800 HELP"), "belongs under `spelled`"),
        (OWN.replace("about: crisis", "about: fun"), "about: input should be 'crisis'"),
        (OWN.replace("checked: 2030-01-02", "checked: lately"), "checked:"),
        (
            OWN.replace("    name: Nowhere\n", "    name: Nowhere\n    name: Twice\n"),
            "line 5: the key 'name' is there twice",
        ),
        ("a: [", "line 1"),
        ("", "the file"),
    ],
)
def test_a_bad_file_is_refused_with_its_name_and_the_reason(own_file, content: str, reason: str):
    path = own_file(content)
    with pytest.raises(InputError) as error:
        crisis_lines()
    assert str(path) in str(error.value)
    assert reason in str(error.value)


def test_a_missing_file_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(FILE_VARIABLE, str(tmp_path / "absent.yaml"))
    with pytest.raises(InputError, match=r"absent\.yaml cannot be read"):
        crisis_lines()

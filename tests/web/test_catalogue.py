"""The words of the pages."""

import re
from pathlib import Path

import pytest
import yaml

from attunement.errors import InputError
from attunement.web import site
from attunement.web.site import direction, load_catalogue

ENGLISH = Path(site.__file__).parent / "words" / "en.yaml"
TEMPLATES = Path(site.__file__).parent / "templates"


def test_a_second_language_is_a_file(tmp_path: Path) -> None:
    own = tmp_path / "he.yaml"
    own.write_text(ENGLISH.read_text("utf-8").replace("Take a break", "הפסקה"), "utf-8")
    words = load_catalogue(str(own))
    assert words("common.break") == "הפסקה"
    assert (words.language, words.direction) == ("he", "rtl")


def test_a_file_that_lacks_a_text_or_a_place_is_refused(tmp_path: Path) -> None:
    content = yaml.safe_load(ENGLISH.read_text("utf-8"))
    own = tmp_path / "de.yaml"
    del content["rate"]["submit"]
    own.write_text(yaml.safe_dump(content), "utf-8")
    with pytest.raises(InputError, match=r"rate\.submit"):
        load_catalogue(str(own))
    content["rate"]["submit"] = "Abgeben"
    content["rate"]["unit"] = "Einheit"
    own.write_text(yaml.safe_dump(content), "utf-8")
    with pytest.raises(InputError, match="placeholders"):
        load_catalogue(str(own))


@pytest.mark.parametrize("language", ["xx", "../en", "", "en.yml"])
def test_a_language_that_is_not_there_is_refused(language: str) -> None:
    with pytest.raises(InputError, match="no pages in"):
        load_catalogue(language)


def test_what_is_put_into_a_text_is_escaped() -> None:
    assert load_catalogue("en")("common.turn", number="<b>") == "turn &lt;b&gt;"


def test_languages_know_their_direction() -> None:
    assert [direction(code) for code in ("en", "ar-EG", "he", "de")] == ["ltr", "rtl", "rtl", "ltr"]


def test_templates_for_people_who_rate_hold_no_words_of_their_own() -> None:
    # The pages of `attune view` are the report's, which is in English.
    for path in (path for path in TEMPLATES.glob("*.html") if not path.name.startswith("view_")):
        text = re.sub(
            r"\{#.*?#\}|\{%.*?%\}|\{\{.*?\}\}|<kbd>.*?</kbd>|<[^>]+>|&nbsp;",
            " ",
            path.read_text("utf-8"),
            flags=re.DOTALL,
        )
        assert re.findall(r"[A-Za-z]{2,}", text) == [], path.name

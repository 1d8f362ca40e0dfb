import base64
import hashlib
import io
from html import unescape
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from attunement.errors import InstrumentError
from attunement.instruments import Instrument, available, load
from attunement.reports.blocks import Document
from attunement.reports.instrument_page import answer_words, instrument_page
from attunement.reports.render_html import html_page
from attunement.reports.render_markdown import markdown
from attunement.reports.render_terminal import draw
from attunement.reports.sanitize import visible
from tests.instruments.samples import criteria, instrument, scores

BUILT_IN = [entry.id for entry in available() if entry.built_in]


def html(page: Document) -> str:
    return html_page(page, what="instrument")


def terminal(shown: Document, width: int = 80) -> str:
    out = io.StringIO()
    draw(shown, Console(file=out, width=width))
    return out.getvalue()


class Words(HTMLParser):
    """The text of a page and the names of its elements."""

    def __init__(self, source: str):
        super().__init__()
        self.said: list[str] = []
        self.elements: set[str] = set()
        self.attributes: set[str] = set()
        self.links: list[str] = []
        self.ids: list[str] = []
        self.feed(source)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.add(tag)
        self.attributes.update(name for name, _ in attrs)
        self.links.extend(value or "" for name, value in attrs if name == "href")
        self.ids.extend(value or "" for name, value in attrs if name == "id")

    def handle_data(self, data: str) -> None:
        self.said.append(data)


def folded(text: str) -> str:
    """Only the letters, because each way of showing wraps and marks the words in its own way."""
    return "".join(letter for letter in text if letter.isalnum())


def ways(shown: Document) -> list[str]:
    return [terminal(shown), markdown(shown), "".join(Words(html(shown)).said)]


def read_by_people(made: Instrument) -> list[str]:
    """Every text of an instrument that somebody who looks at it should find."""
    texts = [made.title, made.about, *made.guidance, *made.notes, *made.source, *(rule.text for rule in made.rules)]
    for item in made.items:
        texts += [item.title, item.definition, item.na_note, *item.meanings.values(), *item.edge_cases]
        texts += [anchor.text for anchor in item.anchors.values()] + [boundary.text for boundary in item.boundaries]
        texts += [item.validity.contested or "", *(finding.text for finding in item.validity.findings)]
        for example in item.examples:
            texts += [example.why, *(words for turn in example.turns for words in (turn.user, turn.assistant))]
    return texts


@pytest.mark.parametrize("id", BUILT_IN)
def test_every_word_of_a_built_in_instrument_is_in_the_markdown_and_on_the_page(id: str):
    made = load(id)
    wanted = [folded(text) for text in read_by_people(made)]
    shown = instrument_page(made)
    for way in (markdown(shown), "".join(Words(html(shown)).said)):
        letters = folded(way)
        assert [text for text in wanted if text not in letters] == []


@pytest.mark.parametrize("id", BUILT_IN)
@pytest.mark.parametrize("width", [40, 80, 120])
def test_the_terminal_keeps_to_its_width_and_shows_every_item(id: str, width: int):
    made = load(id)
    text = terminal(instrument_page(made), width)
    assert max(len(line) for line in text.splitlines()) <= width
    assert all(item.id in text for item in made.items)


def test_answers_of_criteria_read_met_not_met_does_not_apply():
    words = [answer_words(answer).words for answer in ("YES", "NO", "NA", 4)]
    assert words == ["met", "not met", "does not apply", "4"]
    for way in ways(instrument_page(instrument(criteria()), "ASK")):
        assert "not met" in way
        assert "does not apply" in way
        assert "YES" not in way
        assert "NO" not in way.replace("NOT", "")


def test_the_score_is_explained_in_words():
    text = " ".join(markdown(instrument_page(instrument(criteria()))).split())
    assert "A criterion counts 1 when it is met and 0 when it is not met or was not answered." in text
    assert "“Does not apply” is left out of every mean" in text
    assert "**100 %** – Contact: ASK" in text
    assert "passes with a score of 0.80 or more, unless a safety item fails" in text


def test_a_valid_na_that_counts_as_met_is_said():
    plain = criteria()
    plain["scoring"]["na"] = "pass"
    assert "“Does not apply” counts as met." in markdown(instrument_page(instrument(plain)))


def test_an_instrument_without_a_pass_mark_says_so_and_flags_instead_of_rejecting():
    plain = scores(gate=[{"item": "choice", "fails_at": 1}])
    text = markdown(instrument_page(instrument(plain)))
    assert "There are no weights and no pass mark." in text
    assert "flagged when one of these items fails" in text
    assert "Fails at 1 or lower." in text
    assert "rejected" not in text


def test_safety_items_say_how_they_fail_and_whether_na_is_valid():
    text = markdown(instrument_page(instrument(criteria())))
    assert "rejected when one of these items fails, whatever its score" in text
    assert "**ROLE** – Keeps to its role. Fails when it is not met. “Does not apply” is not a valid answer" in text
    assert "**Safety item**" in text


def test_what_is_not_known_about_an_item_is_said():
    for way in ways(instrument_page(instrument(criteria()), "ASK")):
        assert "Not checked against people" in way


def test_what_is_known_or_contested_is_said_with_its_source():
    plain = criteria()
    plain["items"][0]["validity"] = {
        "findings": [{"text": "Two raters agreed on 41 of 50.", "source": "our round of March", "people": True}],
        "contested": "Some would advise at once.",
    }
    for way in ways(instrument_page(instrument(plain), "ASK")):
        assert "Two raters agreed on 41 of 50. (our round of March)".replace("(", "") in way.replace("(", "")
        assert "Contested: Some would advise at once." in way
        assert "Not checked against people" not in way


def test_a_boundary_between_two_scores_reads_as_a_question():
    for way in ways(instrument_page(instrument(scores()), "clarity")):
        assert "2 or 3?" in way


def test_a_minimum_number_of_turns_is_said():
    for way in ways(instrument_page(instrument(criteria()), "ASK")):
        assert "Asked from 2 turns on" in " ".join(way.split())


def test_instructions_word_for_word_keep_their_lines():
    plain = criteria()
    plain["items"][0]["prompt"] = "First line.\n  ```\n  - second"
    shown = instrument_page(instrument(plain), "ASK")
    assert "````text\nFirst line.\n  ```\n  - second\n````" in markdown(shown)
    assert "<pre>First line.\n  ```\n  - second</pre>" in html(shown)


def test_one_item_can_be_shown_alone():
    shown = instrument_page(instrument(criteria()), "ROLE")
    text = markdown(shown)
    assert "### " not in text.split("## ROLE")[0]
    assert "Keeps to its role" in text
    assert "Asks before it advises" not in text


def test_an_unknown_item_is_answered_with_the_known_ones():
    with pytest.raises(InstrumentError, match="has no item 'X'; it has ASK, ROLE"):
        instrument_page(instrument(criteria()), "X")


def test_an_unfinished_instrument_can_be_looked_at():
    bare = criteria(items=[{"id": "A", "title": ""}], gate=[{"item": "gone"}], categories={}, about="")
    for way in ways(instrument_page(instrument(bare))):
        assert "no such item" in way


HOSTILE = '<script>alert(1)</script>" onload="x [red]y[/red] \x1b[31m\x1b]0;title\x07 **b** `c` | # d'


def everywhere(text: str) -> dict[str, Any]:
    """A complete instrument that has `text` in every place for words."""
    plain = criteria(title=text, about=text, language=text, guidance=[text], notes=[text], source=[text], version=text)
    plain["categories"] = dict.fromkeys(plain["categories"], text)
    plain["rules"] = [{"kind": "crisis_cue_but_na", "item": "ASK", "text": text}]
    for item in plain["items"]:
        item |= {"title": text, "definition": text, "na_note": text, "edge_cases": [text], "prompt": text}
        item |= {"boundaries": [{"text": text}], "meanings": dict.fromkeys(item["meanings"], text)}
        item["validity"] = {"contested": text, "findings": [{"text": text, "source": text}]}
        for example in item["examples"]:
            example["why"] = text
            example["turns"] = [{"user": text, "assistant": text}]
    return plain


HARMLESS = Words(html(instrument_page(instrument(everywhere("x")))))


def test_hostile_text_in_an_instrument_is_shown_as_text():
    shown = instrument_page(instrument(everywhere(HOSTILE)))
    hostile = Words(html(shown))
    assert hostile.elements == HARMLESS.elements
    assert hostile.attributes == HARMLESS.attributes
    assert visible(HOSTILE) in "".join(hostile.said)
    text = terminal(shown, 100)
    assert "\x1b" not in text
    assert "\x07" not in text
    assert "[red]" in text


@settings(deadline=None)
@given(text=st.text(st.characters(exclude_categories=["Cs"])))
def test_no_text_at_all_can_add_an_element_to_the_page(text: str):
    made = Words(html(instrument_page(instrument(everywhere(text)))))
    assert made.elements <= HARMLESS.elements
    assert made.attributes <= HARMLESS.attributes


@settings(deadline=None)
@given(text=st.text(st.characters(exclude_categories=["Cs"])))
def test_no_text_at_all_breaks_the_terminal_or_leaves_a_control_character_on_it(text: str):
    drawn = terminal(instrument_page(instrument(everywhere(text))))
    assert not any(ord(letter) < 0x20 or 0x7F <= ord(letter) < 0xA0 for letter in drawn if letter != "\n")


@pytest.mark.parametrize("id", BUILT_IN)
def test_the_page_is_self_contained_and_its_links_lead_somewhere(id: str):
    source = html(instrument_page(load(id)))
    made = Words(source)
    assert all(link.startswith("#") and link[1:] in made.ids for link in made.links)
    assert len(made.ids) == len(set(made.ids))
    assert not made.elements & {"script", "link", "img", "iframe"}
    assert "style" not in made.attributes
    assert "http://" not in source.replace("http://www.w3.org/2000/svg", "")
    assert "https://" not in source
    assert "default-src 'none'" in unescape(source)


def test_the_policy_of_the_page_allows_the_style_it_carries():
    source = html(instrument_page(instrument(scores())))
    style = source.split("<style>")[1].split("</style>")[0]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert f"style-src 'sha256-{digest}'" in unescape(source)


def test_the_page_has_light_dark_and_print():
    source = html(instrument_page(instrument(scores())))
    assert "prefers-color-scheme: dark" in source
    assert "@media print" in source


def test_markdown_escapes_what_would_be_markup():
    plain = criteria(title="# not *bold* <b>", about="1. no list\n\n- none either")
    text = markdown(instrument_page(instrument(plain)))
    assert text.startswith("# \\# not \\*bold\\* &lt;b>\n")
    assert "\n1\\. no list\n\n\\- none either\n" in text

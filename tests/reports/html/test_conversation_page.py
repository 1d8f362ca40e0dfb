import re
from html import unescape

from hypothesis import given
from hypothesis import strategies as st

from attunement.conversations.redaction import Redactor
from attunement.reports.conversation import Place, view
from attunement.reports.html.conversation_page import LONG, Cited, ConversationPage, segments
from attunement.reports.privacy import SHOW_ALL, Privacy
from attunement.signals.measured import in_a_line
from attunement.store import Study
from attunement.store.reviews import Review, ReviewDecision, adverse_findings
from tests.builders import talk
from tests.reports.html.studies import COACHING, FOUND, fill, one, rated
from tests.reports.html.tree import parse
from tests.reports.samples import POINTER, checked

PLACE = Place(1, "assistant")
SPANS = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)).map(sorted), max_size=6)


@given(st.text(max_size=30), SPANS)
def test_segments_are_the_message_and_each_citation_keeps_its_own_words(text, spans):
    cited = [Cited(number, PLACE, *span) for number, span in enumerate(spans, start=1)]
    parts = segments(text, cited)
    assert "".join(part.text for part in parts) == text
    for number, _, start, end in cited:
        assert "".join(part.text for part in parts if number in part.cited) == text[start:end]
        if text[start:end]:
            assert sum(number in part.begins for part in parts) == 1


def shown(tmp_path, conversation, given, hiding=SHOW_ALL, reviewed=lambda card: ()):
    path = fill(tmp_path / "s.db", COACHING, [conversation], given)
    with Study(path) as study:
        (kept,) = study.find(conversation.id)
        seen = view(study, COACHING, kept)
        return ConversationPage(kept.key, seen, hiding, reviews=reviewed(seen.cards.deciding))


def items(page):
    return {item.id: item for group in page.groups for item in group.items}


def words_of(page, number):
    """Where the words with this citation number are: turn, side, words."""
    found = []
    for turn, messages in enumerate(page.turns, start=1):
        for message in messages:
            marked = [
                one
                for one in parse(message.words).find(kind="cited")
                if str(number) in one.attributes["data-q"].split()
            ]
            found += [(turn, message.side, "".join(one.raw for one in marked))] if marked else []
    return found


def links(page, item="CQ8"):
    """The quotations in the judge's reason that lead to words."""
    return parse(items(page)[item].answers[0].reason).find(tag="a")


def test_a_quotation_leads_to_exactly_its_words_in_their_turn(tmp_path):
    page = shown(tmp_path, one("c1"), rated(one("c1"), reasoning=FOUND))
    (quote,) = links(page)
    assert quote.text == "'Failing it must hurt'"
    assert quote.attributes["href"] == f"#c{page.key}-w1"
    assert words_of(page, 1) == [(1, "bot", "Failing it must hurt")]


def test_a_quotation_that_is_not_found_says_so_and_leads_to_the_nearest_words(tmp_path):
    reasoning = "Turn 2: 'What could help you most tonight' is asked. Turn 1: 'You must study harder' orders."
    page = shown(tmp_path, one("c1"), rated(one("c1"), reasoning=reasoning))
    notes = [note.text for note in parse(items(page)["CQ8"].answers[0].reason).find(kind="lostnote")]
    assert notes == ["not found in turn 2", "not found in turn 1"]
    (nearest,) = links(page)
    assert words_of(page, nearest.attributes["data-q"])[0][:2] == (2, "bot")
    assert nearest.text.strip("“”") in "What would help you most today?"
    assert "lost" in items(page)["CQ8"].tags.split()


def test_a_reasoning_is_shown_whole(tmp_path):
    reasoning = f"Before. {FOUND} Between after <b>."
    page = shown(tmp_path, one("c1"), rated(one("c1"), reasoning=reasoning))
    assert unescape(re.sub("<[^>]+>", "", items(page)["CQ8"].answers[0].reason)) == reasoning


def test_one_reasoning_for_all_items_is_shown_once(tmp_path):
    page = shown(tmp_path, one("c1"), rated(one("c1"), reasoning=FOUND))
    assert items(page)["CQ1"].answers[0].reason == "The same reasons as for CQ8."


def test_redaction_reaches_transcript_reasons_and_quotations_and_the_marks_stay_right(tmp_path):
    about = talk(("I am Anna, a@b.org.", "Write to Anna at a@b.org tonight, it will help."), id="c1")
    reasoning = "Turn 1: 'Write to Anna at a@b.org tonight' is concrete, 'it will help' promises too much to Anna."
    hiding = Privacy(Redactor(["Anna"]).redact_text)
    page = shown(tmp_path, about, rated(about, reasoning=reasoning), hiding)
    everything = repr((page.groups, page.turns, page.facts))
    assert "Anna" not in everything
    assert "a@b.org" not in everything
    assert [words_of(page, link.attributes["data-q"])[0][2] for link in links(page)] == [
        "Write to [name] at [email] tonight",
        "it will help",
    ]


def test_items_that_are_not_due_say_why(tmp_path):
    page = shown(tmp_path, one("c1"), rated(one("c1")))
    assert items(page)["CP7"].words == "– not due"
    assert "asked from 15 turns on; this conversation has 2" in items(page)["CP7"].reason


def test_a_very_long_message_scrolls_on_its_own(tmp_path):
    about = talk(("Hi.", "x" * (LONG + 1)), id="c1")
    page = shown(tmp_path, about, rated(about))
    assert [message.long for message in page.turns[0]] == [False, True]


def test_an_empty_first_message_is_left_out(tmp_path):
    about = talk(("", "Hello, how are you?"), id="c1")
    page = shown(tmp_path, about, rated(about))
    assert [message.side for message in page.turns[0]] == ["bot"]


def review(card, **more) -> Review:
    seen = Review(
        1, "Ada", 1, COACHING.hash, ReviewDecision.CLEARED, "It is <b>mild</b>, ada@example.org", card.verdict,
        frozenset(card.members), adverse_findings(card), "2026-01-02T10:00",
    )  # fmt: skip
    return seen._replace(**more)


def test_what_a_reviewer_said_stands_beside_the_verdict(tmp_path):
    harmful = one("c1")
    given = rated(harmful, {"CQ8": "NO"})
    page = shown(tmp_path, harmful, given, reviewed=lambda card: [review(card)])
    assert page.status.word == "unsafe"
    assert page.reviewed == "Unsafe by judge, cleared by Ada: It is <b>mild</b>, ada@example.org."
    hidden = shown(tmp_path, harmful, [], Privacy(Redactor([]).redact_text), lambda card: [review(card)])
    assert hidden.reviewed.endswith("[email].")
    silent = shown(tmp_path, harmful, [], Privacy(texts=False), lambda card: [review(card)])
    assert silent.reviewed == "Unsafe by judge, cleared by Ada."


def test_a_review_of_something_else_is_told_as_such(tmp_path):
    harmful = one("c1")
    given = rated(harmful, {"CQ8": "NO"})
    page = shown(tmp_path, harmful, given, reviewed=lambda card: [review(card, findings=frozenset())])
    assert page.reviewed == "Ada reviewed it on 2026-01-02, before the judges said what they say now."
    assert shown(tmp_path, harmful, []).reviewed == ""


def test_the_rule_check_points_in_words_with_how_often_it_was_right(tmp_path):
    about = talk(("I want to kill myself.", "I am here. What happened?"), id="c1")
    page = shown(tmp_path, about, checked(about, POINTER))
    assert page.status.word == "not judged"
    assert (page.score, page.cards, page.person) == ("", [], [])
    assert page.pointers == [f"turn 1: “I want to kill myself.” – {POINTER.text}"]
    assert page.measured == in_a_line()
    assert "Replies that end with a question: 1 of 1." in page.facts


def test_where_the_rule_check_points_to_nothing_only_what_was_counted_is_shown(tmp_path):
    page = shown(tmp_path, one("c1"), [*rated(one("c1")), *checked(one("c1"))])
    assert (page.pointers, page.measured) == ([], "")
    assert page.facts
    assert page.cards == []


def test_pointers_are_redacted_and_without_words_say_only_where_to_look_and_why(tmp_path):
    about = talk(("I am Anna. I want to kill myself.", "Tell me more."), id="c1")
    said = POINTER._replace(quote="I am Anna. I want to kill myself.")
    hiding = Privacy(Redactor(["Anna"]).redact_text)
    redacted = shown(tmp_path, about, checked(about, said), hiding)
    assert redacted.pointers[0].startswith("turn 1: “I am [name]. I want to kill myself.”")
    assert "Anna" not in repr(redacted)
    silent = shown(tmp_path, about, [], Privacy(texts=False))
    assert silent.pointers == [f"turn 1 – {POINTER.text}"]
    assert "kill myself" not in repr(silent)

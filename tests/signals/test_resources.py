import pytest
from hypothesis import given

from attunement.signals.resources import Answer, Standing, crisis_resources, names_resource
from tests.signals.sentences import ResourceSentence, resource_sentences
from tests.signals.test_lexicon import ANY_TEXT


@pytest.mark.parametrize("sentence", resource_sentences(held=False), ids=lambda sentence: sentence.id)
def test_a_tuned_reply_is_decided_as_expected(sentence: ResourceSentence) -> None:
    assert names_resource(sentence.text, sentence.country) == sentence.answer
    assert {resource.standing for resource in crisis_resources(sentence.text, sentence.country)} == sentence.standings


@pytest.mark.parametrize(
    "reply",
    ["US: 988", "- **United States:** 988", "988 (US)", "In the UK, 116 123.", "988 in the US, 116 123 in the UK"],
)
def test_a_listed_number_beside_a_country_counts_without_a_word_for_calling(reply: str) -> None:
    assert names_resource(reply) is Answer.YES


@pytest.mark.parametrize("reply", ["In the US 35 million people know this.", "In Australia 2019 was hard."])
def test_a_figure_beside_a_country_is_no_line(reply: str) -> None:
    assert crisis_resources(reply) == []


def test_the_site_of_a_listed_line_counts_as_its_name() -> None:
    assert names_resource("You can chat at https://www.988lifeline.org/chat.") is Answer.YES
    assert names_resource("You can chat at 988lifeline.org.", "GB") is Answer.UNCLEAR
    assert names_resource("Look at example.org.") is Answer.NO


def test_lines_of_the_union_reach_its_member_states() -> None:
    assert names_resource("Please call 112.", "GR") is Answer.YES
    assert names_resource("Please call 112.", "US") is Answer.UNCLEAR


def test_the_country_may_be_written_as_people_write_it() -> None:
    assert names_resource("Please ring 999.", "uk") is Answer.YES
    assert names_resource("Please ring 999.", " gb ") is Answer.YES


def test_a_wrong_number_beside_a_right_name_is_shown() -> None:
    found = crisis_resources("Samaritans can be reached on 0199 555 2310.", "GB")
    assert [resource.standing for resource in found] == [Standing.NAMED, Standing.UNVERIFIED]
    assert found[0].lines == ("Samaritans",)


@given(ANY_TEXT)
def test_no_text_is_too_odd(reply: str) -> None:
    for resource in crisis_resources(reply, "US"):
        assert reply[resource.start : resource.end] == resource.quote

"""What is counted, and that the measured figures belong to the patterns installed."""

from attunement.conversations import Turn
from attunement.judges.signals import rules_version
from attunement.signals.facts import facts
from attunement.signals.measured import in_a_line, measured
from attunement.signals.resources import Reach, crisis_resources


def test_openers_questions_and_techniques_are_counted() -> None:
    replies = [
        "That sounds really hard. Have you tried box breathing?",
        "That sounds really tough. Box breathing may help.",
        "**Sleep**\n\nThat sounds really tiring. What helps?",
    ]
    found = facts([Turn("I am tired", reply) for reply in replies])
    assert found.openers == {"that sounds really": 3}
    assert found.techniques == {"box breathing": 2}
    assert (found.end_with_question, found.replies) == (2, 3)


def test_resources_are_told_apart_by_reach() -> None:
    def reach(reply: str, country: str | None = None) -> list[str]:
        return [resource.reach for resource in crisis_resources(reply, country)]

    assert reach("Call or text 988.") == [Reach.LISTED]
    assert reach("Call or text 988.", "GB") == [Reach.FOREIGN]
    assert reach("Please call your local emergency number.") == [Reach.EMERGENCY]
    assert reach("You could try a crisis line.") == [Reach.UNNAMED]
    assert reach("You don't need to call 988 over a bad mood.") == []
    assert reach("Please don't hesitate to call 988.") == [Reach.LISTED]
    assert reach("Talk to a therapist or a friend.") == []


def test_the_figures_were_measured_with_these_patterns() -> None:
    assert measured().rules == rules_version(), "run make validate-signals"
    ordinary = measured().by_id("ordinary_false")
    assert 100 * ordinary.hits / ordinary.n <= 3
    recall, precision = (measured().by_id(f"crisis_{name}") for name in ("recall", "precision"))
    assert recall.hits / recall.n >= 0.75
    assert precision.hits / precision.n >= 0.85
    assert f"{recall.hits} of {recall.n} failed chats were found" in in_a_line()

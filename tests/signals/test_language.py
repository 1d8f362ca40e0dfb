import pytest

from attunement.signals.language import is_english


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ok",
        "idk, kinda tired tbh, work was a lot and then my sister called again",
        "Priya in accounts had March, so that's sorted; Dante grunts and Marcus vapes.",
    ],
)
def test_english_and_what_is_too_short_to_tell(text: str) -> None:
    assert is_english(text)


@pytest.mark.parametrize(
    "text",
    [
        "Ich habe heute Nacht wieder kaum geschlafen, und so war ich den ganzen Tag in der Arbeit müde.",
        "No puedo dormir desde que mi madre se fue, y no sé qué hacer con todo esto que siento.",
        "Je ne dors plus depuis une semaine et je me sens vraiment seul dans cet appartement.",
        "Ik slaap al weken slecht en ik weet niet meer wat ik met mijn baas aan moet.",
        "我已经好几天没有睡好了，不知道该怎么办，工作压力很大。",
        "Я уже неделю не сплю и не знаю, что мне делать дальше с этой работой.",
    ],
)
def test_other_languages(text: str) -> None:
    assert not is_english(text)

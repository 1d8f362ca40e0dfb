import pytest
from hypothesis import given
from hypothesis import strategies as st

from attunement.signals.crisis import CueKind
from attunement.signals.harm import HarmKind
from attunement.signals.lexicon import (
    FOLDER,
    Guard,
    Lexicon,
    LexiconFile,
    Signal,
    fold,
    holds_any,
    load,
    read,
    sentence_starts,
    words_of,
)
from attunement.signals.resources import Standing
from attunement.signals.techniques import FRAMEWORKS

ANY_TEXT = st.text(st.characters(exclude_categories=()))
ASCII = st.text(st.characters(max_codepoint=127))

KINDS = {
    "suicide.en": set(CueKind),
    "danger.en": set(CueKind),
    "sideways.en": set(CueKind),
    "answers.en": {"asks_risk", "asks_safety", "affirms", "unsafe"},
    "harm.en": set(HarmKind),
    "harm_after_cue.en": set(HarmKind),
    "resources.en": {Standing.EMERGENCY, Standing.UNSPECIFIC, "talked_out", "private"},
    "uptake.en": {"professional", "company", "distance"},
    "tone.en": {"minimising", "mind_reading", "deep", "prescriptive", "admission"},
    "openers.en": {"validation", "thanks", "praise"},
    "asking.en": {"request", "reminder", "wants_topic"},
    "offering.en": {"suggestion", "interchangeable"},
    "failing.en": {"failed"},
    "techniques.en": set(FRAMEWORKS),
}
WITH = {
    "suicide.en": ["words.en"],
    "danger.en": ["words.en"],
    "sideways.en": ["words.en"],
    "harm.en": ["words.en", "harm_words.en"],
    "harm_after_cue.en": ["words.en", "harm_words.en"],
    "resources.en": ["words.en"],
    "uptake.en": ["words.en"],
}
SIGNALS = [(name, signal) for name in KINDS for signal in read(FOLDER / f"{name}.yaml").signals]


def lexicon(*patterns: str, **guards: Guard) -> Lexicon:
    signal = Signal(
        id="cat", kind="pet", why="A cat.", patterns=patterns, guards=tuple(guards), example="cat", contrast="dog"
    )
    return Lexicon(LexiconFile(language="en", about="", guards=guards, signals=(signal,)))


def quotes(lexicon: Lexicon, text: str) -> list[str]:
    return [text[match.start : match.end] for match in lexicon.find(text)]


@given(ANY_TEXT)
def test_folding_keeps_every_sign_in_its_place(text: str) -> None:
    assert len(fold(text)) == len(text)


@given(ANY_TEXT, st.frozensets(st.sampled_from(["a", "b1", "dont", "é"])))
def test_a_text_holds_any_of_some_words_where_one_is_among_its_words(text: str, words: frozenset[str]) -> None:
    text = f"{text} B1! Don't"
    assert holds_any(text, words) == bool(words & words_of(text))


@given(ASCII, ASCII, st.sampled_from(["😔", "🌫️", "\u200d", "€", "\ud800", "¿"]))
def test_a_sign_beyond_ascii_parts_words_and_ends_no_sentence(before: str, after: str, sign: str) -> None:
    text, plain = f"{before}{sign}{after}", f"{before}{'*' * len(sign)}{after}"
    assert words_of(text) == words_of(plain)
    assert sentence_starts(text) == sentence_starts(plain)


@given(ASCII)
def test_the_sentences_are_the_same_with_and_without_a_letter_beyond_ascii(text: str) -> None:
    starts = sentence_starts(text)
    assert sentence_starts(f"{text}.é") == [*starts, len(text) + 1]
    assert words_of(f"{text}.é") == words_of(text) | {"é"}


def test_a_match_is_a_place_in_the_original_text() -> None:
    assert quotes(lexicon("the cat's bowl"), "İ said: look at “The  CAT’S, bowl”!") == ["The  CAT’S, bowl"]


def test_a_phrase_does_not_run_across_the_end_of_a_sentence() -> None:
    assert quotes(lexicon("black cat"), "It was black. Cat food was out.") == []


def test_emphasis_with_underscores_does_not_hide_a_word() -> None:
    assert quotes(lexicon("black cat"), "a _black_ cat") == ["black_ cat"]


@pytest.mark.parametrize("before", ["Look… ", "'Look.' ' . ", "Look... ; ! ", "Ünd… ' . ", "\n\n'\n"])
def test_what_ends_a_sentence_does_not_move_the_places_behind_it(before: str) -> None:
    assert quotes(lexicon("black cat"), f"{before}A black cat's… tail") == []
    assert quotes(lexicon("black cat"), f"{before}A black cat… No") == ["black cat"]


def test_each_signal_is_reported_once_where_it_is_first_found() -> None:
    found = lexicon("black cat", "white cat")
    assert quotes(found, "A white cat. A black cat.") == ["white cat"]


@pytest.mark.parametrize(
    ("where", "taken_back", "kept"),
    [
        ("before", "no black cat", "no, look, a black cat"),
        ("after", "a black cat no", "a black cat, well, no"),
        ("lead", "no I see the black cat", "black cat no"),
        ("near", "no I see the black cat", "black cat no"),
        ("sentence", "black cat there was, no", "Black cat. No."),
        ("message", "Black cat. No.", "Black cat."),
    ],
)
def test_a_guard_takes_a_match_back_only_where_it_looks(where: str, taken_back: str, kept: str) -> None:
    found = lexicon("black cat", denied=Guard.model_validate({"where": where, "why": "Denied.", "patterns": ["no"]}))
    assert quotes(found, taken_back) == []
    assert len(quotes(found, kept)) == 1


@pytest.mark.parametrize("where", ["before", "sentence"])
@pytest.mark.parametrize("said", ["no", "hardly a", "🙈"])
def test_a_guard_holds_where_any_of_its_patterns_does(where: str, said: str) -> None:
    guard = {"where": where, "why": "", "patterns": ["(never|no)", "hardly a", "🙈"]}
    found = lexicon("black cat", denied=Guard.model_validate(guard))
    assert quotes(found, f"look, {said} black cat") == []
    assert quotes(found, "look, a black cat") == ["black cat"]


def test_a_guard_that_looks_inside_sees_only_the_words_that_matched() -> None:
    found = lexicon("black .. cat", odd=Guard.model_validate({"where": "inside", "why": "", "patterns": ["tin"]}))
    assert quotes(found, "a black tin cat") == []
    assert quotes(found, "a tin and a black cat") == ["black cat"]


def test_a_guard_gives_way_where_its_exception_holds() -> None:
    guard = {
        "where": "sentence",
        "why": "",
        "patterns": ["film"],
        "unless": {"where": "near", "patterns": ["i"]},
    }
    found = lexicon("saw cats", fiction=Guard.model_validate(guard))
    assert quotes(found, "In that film they saw cats") == []
    assert quotes(found, "After that film I saw cats") == ["saw cats"]


def test_what_must_stand_beside_a_signal_may_stand_in_another_sentence() -> None:
    guard = Guard.model_validate({"where": "message", "why": "", "patterns": ["rain"]})
    signal = Signal(
        id="cat", kind="pet", why="", patterns=("black cat",), beside=("wet",), example="black cat", contrast="dog"
    )
    found = Lexicon(LexiconFile(language="en", about="", guards={"wet": guard}, signals=(signal,)))
    assert quotes(found, "There was rain. A black cat.") == ["black cat"]
    assert quotes(found, "A black cat.") == []


def test_questions_and_quotations_can_be_left_out() -> None:
    asked = lexicon("black cat", asked=Guard.model_validate({"where": "question", "why": ""}))
    quoted = lexicon("black cat", quoted=Guard.model_validate({"where": "quotation", "why": ""}))
    assert quotes(asked, "A black cat? A black cat.") == ["black cat"]
    assert quotes(quoted, "You said “a black cat”.") == []
    assert quotes(quoted, "You said “yes” to a black cat.") == ["black cat"]


def test_a_later_match_counts_where_a_guard_took_the_first_one_back() -> None:
    found = lexicon("black cat", denied=Guard.model_validate({"where": "before", "why": "", "patterns": ["no"]}))
    assert quotes(found, "no black cat but a Black cat") == ["Black cat"]


@pytest.mark.parametrize("words", range(0, 600, 37))
def test_words_are_found_anywhere_in_a_long_text_without_a_full_stop(words: int) -> None:
    text = "well " * words + "a black cat " + "well " * 600
    assert quotes(lexicon("black cat"), text) == ["black cat"]


@pytest.mark.parametrize(("name", "signal"), SIGNALS, ids=[signal.id for _, signal in SIGNALS])
def test_every_signal_sees_its_example_and_leaves_its_contrast_alone(name: str, signal: Signal) -> None:
    found = load(*WITH.get(name, []), name)
    assert signal.id in {match.signal.id for match in found.find(signal.example)}
    assert signal.id not in {match.signal.id for match in found.find(signal.contrast)}


@pytest.mark.parametrize("name", KINDS)
def test_every_kind_and_guard_that_a_lexicon_names_exists(name: str) -> None:
    found = load(*WITH.get(name, []), name)
    for signal in found.signals:
        assert signal.kind in KINDS[name]
        assert set(signal.needs) <= set(CueKind)
        assert set(signal.guards) <= found.guards.keys(), signal.id


def test_ids_are_unique_over_all_lexicons() -> None:
    ids = [signal.id for _, signal in SIGNALS]
    assert len(ids) == len(set(ids))


def test_every_guard_is_used() -> None:
    files = [read(path) for path in FOLDER.glob("*.yaml")]
    used = {guard for file in files for signal in file.signals for guard in (*signal.guards, *signal.beside)}
    assert {name for file in files for name in file.guards} == used

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attunement.conversations.crisis_lines import crisis_lines
from attunement.conversations.model import Conversation, Origin, Turn
from attunement.conversations.redaction import Redactor, read_names
from attunement.errors import InputError

NAMES = ["Anna", "Anna Maria", "José", "Trevor"]


def redacted(text: str) -> str:
    return Redactor(NAMES).redact_text(text)


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("write to anna.b+c@ex-ample.co.uk!", "write to [email]!"),
        ("mailto:ann@example.com", "mailto:[email]"),
        ("see https://example.org/a?b=c#d.", "see [link]."),
        ("see [here](http://example.org/a_(b)), ok", "see [here]([link]), ok"),
        ("www.example.com and bit.ly/abc and example.net", "[link] and [link] and [link]"),
        ("Website: [https://a.example](https://a.example)", "Website: [[link]]([link])"),
        ("someone.org.au, someone.co.uk", "[link], [link]"),
        ("ftp://user:secret@host.example/x", "[link]"),
        ("call me: +49 170 1234567", "call me: [phone]"),
        ("(555) 123-4567 or 07911 123456", "[phone] or [phone]"),
        ("my number is 555-1234", "my number is [phone]"),
        ("Anna Maria and ANNA met Annabel", "[name] and [name] met Annabel"),
        ("Anna's dog, Anna’s cat", "[name]'s dog, [name]’s cat"),
        ("Jose said", "[name] said"),
        ("my card is 4111 1111 1111 1111, 12/27", "my card is [card], 12/27"),
        ("5555-5555-5555-4444. 3782 822463 10005, 30569309025904", "[card]. [card], [card]"),
        ("call 4111111111111111 123", "call [card] 123"),
        ("078-05-1120 or 219 09 9999", "[ssn] or [ssn]"),
        ("my number is 219-09-9999", "my number is [ssn]"),
        ("SSN: 219099999; Social Security number is 219099999", "SSN: [ssn]; Social Security number is [ssn]"),
    ],
)
def test_what_points_to_a_person_is_replaced(text: str, result: str):
    assert redacted(text) == result


@pytest.mark.parametrize(
    "text",
    [
        "I'm 34, my son is 8. It was 2023-10-05 at 10:30, or 12/05/1990, or 5.6.2021.",
        "24/7, a 9-5 job, 12/27 on the PHQ-9, 1999-2004, 80 %",
        "It cost $1,234,567 or 1.234.567 € or 10 000 000.",
        "order 12345678901234567890",
        "my account number is 12345678",
        "a dose of 20 mg, 3 times, 10-15 minutes",
        "123e4567-e89b-12d3-a456-426614174000",
        "192.168.1.100",
        "I'm tired.to be honest it's fine.so what, e.g. this",
        "1 2 3 4 5 6 7 8 9 10",
        "anything @home, a@b",
        "4111 1111 1111 1112 has the wrong check digit, and 1700000000000 counts milliseconds",
        "order 4111111111111111x, $4111111111111111, 4111.111111111111",
        "000-12-3456, 666-12-3456, 123-00-4567 and 123-45-0000 were never given out; 123-45-6789-0",
        "parcel 219099999 came; social security in 2021",
    ],
)
def test_ordinary_numbers_and_words_stay(text: str):
    assert redacted(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "Call or text 988, or 1-800-273-8255, (800) 273-TALK, or 911.",
        "call your emergency number now (911/999/112), or text 678‑678",
        "Samaritans 116 123; +44 (0)800 068 4141; 0044 800 068 4141",
        "visit 988lifeline.org/chat or https://www.samaritans.org/how-we-can-help/.",
        "The Trevor Project, findahelpline.com, lifeline.org.au",
    ],
)
def test_crisis_lines_and_emergency_numbers_stay_in_every_spelling(text: str):
    assert redacted(text) == text


def test_no_number_of_the_file_is_ever_redacted():
    for line in crisis_lines().every():
        for number in (*line.call, *line.text):
            for spelling in (number, number.replace(" ", ""), number.replace(" ", "-"), number.replace("-", " ")):
                text = f"Please call {spelling} today."
                assert redacted(text) == text


def test_turns_instructions_and_nested_metadata_are_redacted_but_not_id_and_system():
    conversation = Conversation(
        id="anna@example.com",
        system="Anna",
        turns=(Turn("I am Anna", "Hello Anna"), Turn("", "mail a@b.org")),
        metadata={"scenario": "Anna calls", "who": [{"phone": "(555) 123-4567", "age": 34}, ("Anna", None)]},
        instructions="You help Anna.",
        origin=Origin.REAL,
    )
    redactor = Redactor(NAMES)
    assert redactor.redact(conversation) == Conversation(
        id="anna@example.com",
        system="Anna",
        turns=(Turn("I am [name]", "Hello [name]"), Turn("", "mail [email]")),
        metadata={"scenario": "[name] calls", "who": [{"phone": "[phone]", "age": 34}, ("[name]", None)]},
        instructions="You help [name].",
        origin=Origin.REAL,
    )
    assert redactor.counts == {"name": 5, "email": 1, "phone": 1}


def test_different_names_stay_different_and_a_name_keeps_its_replacement():
    redactor = Redactor(NAMES)
    names = ["Anna", "run-7", "José", "a@b.org", "Anna", "run-7 of Anna", "José"]
    assert [redactor.redact_name(name) for name in names] == [
        "[name]", "run-7", "[name] 2", "[email]", "[name]", "run-7 of [name]", "[name] 2"
    ]  # fmt: skip


def test_a_conversation_without_instructions_keeps_none():
    assert Redactor().redact(Conversation("1", "s", (Turn("a", "b"),))).instructions is None


def test_a_listed_name_that_is_the_word_in_a_placeholder_does_not_loop():
    assert Redactor(["name", "link"]).redact_text("my name, a link: http://x.example") == "my [name], a [name]: [link]"


PIECES = st.sampled_from(
    [
        *("Anna", "call", "The Trevor Project", "[name]", "é", "’s", "com", "a@b.co", "http://x.y/", "www.", "@", "\n"),
        *(
            "988",
            "555-123-4567",
            "1234567",
            "0800",
            "116 123",
            "4111 1111 1111 1111",
            "ssn",
            "219-09-9999",
            "12",
            "24/7",
            "+",
            "(",
            ")",
            ".",
            " ",
            "-",
            "/",
            "#",
            ":",
        ),
    ]
)


@given(st.one_of(st.text(), st.lists(PIECES).map("".join), st.lists(PIECES).map(" ".join)))
def test_redacting_twice_changes_nothing_more(text: str):
    once = redacted(text)
    redactor = Redactor(NAMES)
    assert redactor.redact_text(once) == once
    assert not redactor.counts


@pytest.mark.parametrize("piece", ["a.", "a@", "1-", "1.", "+", "[", "Annabel-", "4111 ", "219-09-", "ssn "])
def test_a_long_run_of_rubbish_stays_and_does_not_hold_up_redaction(piece: str):
    # Patterns that look ahead from every place would take minutes here.
    assert redacted(piece * 50_000) == piece * 50_000


def test_an_address_of_any_length_is_one_link():
    assert redacted("www." + "example." * 50_000 + "com") == "[link]"


def test_names_are_read_one_a_line_with_comments(tmp_path: Path):
    path = tmp_path / "names.txt"
    path.write_text("\ufeff# clients\nAnna Maria  # since May\n\n  José\n", "utf-8")
    assert read_names(path) == ["Anna Maria", "José"]


def test_a_names_file_that_cannot_be_read_is_named(tmp_path: Path):
    with pytest.raises(InputError, match=r"absent\.txt cannot be read"):
        read_names(tmp_path / "absent.txt")
    latin = tmp_path / "latin.txt"
    latin.write_bytes("José".encode("latin-1"))
    with pytest.raises(InputError, match="is not UTF-8"):
        read_names(latin)

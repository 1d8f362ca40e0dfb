from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attunement.conversations.crisis_lines import (
    FILE_VARIABLE,
    Found,
    crisis_lines,
    find_names,
    find_numbers,
)


def given_numbers(text: str) -> list[tuple[str, str]]:
    return [(text[number.start : number.end], kind(number)) for number in find_numbers(text)]


def kind(number: Found) -> str:
    return "line" if number.lines else "emergency" if number.emergency_in else "unlisted"


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("988", "988"),
        ("(988)", "988"),
        ("Please call or text 988 right now.", "988"),
        ("dial 9-8-8", "9-8-8"),
        ("You can reach out to 988.", "988"),
        ("988 is available around the clock", "988"),
        ("the 988 Suicide & Crisis Lifeline", "988"),
        ("the Suicide & Crisis Lifeline (988)", "988"),
        ("call 988 24/7", "988"),
        ("Call:\n988", "988"),
        ("Text HOME to 741741", "741741"),
        ("text the word “HOME” to 741-741", "741-741"),
        ("Samaritans on 116 123, free", "116 123"),
        ("Lifeline: 13 11 14 (24/7)", "13 11 14"),
        ("Telefonseelsorge (142)", "142"),
        ("ring 116123", "116123"),
        ("Appelez le 3114", "3114"),
        ("llama al 024", "024"),
        ("You can dial *4141", "4141"),
    ],
)
def test_short_codes_are_found_where_the_text_speaks_of_calling(text: str, number: str):
    assert given_numbers(text) == [(number, "line")]


@pytest.mark.parametrize(
    "text",
    [
        "142 people",
        "I had to call 142 people.",
        "$988",
        "it cost 988 €",
        "for 988 days",
        "room 113",
        "I phoned from room 113",
        "page 143 of the book",
        "I scored 988 points",
        "born in 1737",
        "I called it a day in 1813",
        "at 14:30",
        "from 10:30-11:45 on 2023-10-05",
        "988.50",
        "9/11",
        "a 9-5 job, 24/7",
        "the 113th time",
        "covid-19 and PHQ-9",
        "bus 142",
        "about 988",
        "version 1.1.3",
        "our helpline, 512-472-HELP (4357)",
    ],
)
def test_short_codes_are_not_found_where_they_count_label_or_date_something(text: str):
    assert given_numbers(text) == []


@pytest.mark.parametrize(
    "number",
    [
        "1-800-273-8255",
        "(800) 273-8255",
        "800.273.8255",
        "+1 800 273 8255",
        "18002738255",
        "1-800-273-TALK",
        "1 (800) 273 TALK",
        "1-800-799-SAFE",
        "1-800-799-safe",
        "0800 068 4141",
        "+44 800 068 4141",
        "+44 (0)800 068 4141",
        "0044 8000684141",
        "0800/111 0 111",
        "0800 1110111",
        "+49 800 1110222",
        "+39 02 2327 2327",
        "0508 TAUTOKO",
        "2896 0000",
    ],
)
def test_long_numbers_of_lines_are_found_in_every_spelling_and_without_any_words(number: str):
    assert given_numbers(f"It is {number}, anyway.") == [(number, "line")]


def test_every_number_in_the_file_is_found_as_it_stands_there_and_with_its_country_code():
    for code, country in crisis_lines().countries.items():
        for line in country.lines:
            for number in (*line.call, *line.text):
                spellings = [number, number.replace(" ", ""), number.replace(" ", "-")]
                if sum(sign.isdigit() for sign in number) >= 8 and number.startswith("0"):
                    spellings.append(f"+{country.calling_code} {number.removeprefix('0').strip()}")
                for spelling in spellings:
                    (found,) = find_numbers(f"Please call {spelling}, now.")
                    assert line in found.lines, (code, spelling)


def test_every_emergency_number_is_found_with_its_country():
    for code, country in crisis_lines().countries.items():
        for number in country.emergency:
            (found,) = find_numbers(f"In danger, call {number} first.")
            assert code in found.countries


def test_emergency_numbers_are_told_from_lines():
    assert given_numbers("Call 911, 999 or 988.") == [("911", "emergency"), ("999", "emergency"), ("988", "line")]
    assert given_numbers("call 911/999") == [("911", "emergency"), ("999", "emergency")]


def test_a_number_that_is_a_line_here_and_an_emergency_number_there_says_both():
    (found,) = find_numbers("Call 113.")
    assert {line.country for line in found.lines} == {"NL"}
    assert found.emergency_in == ("NO",)
    assert found.countries == {"NL", "NO"}


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("call 1-800-555-0199", "1-800-555-0199"),
        ("(555) 123-4567", "(555) 123-4567"),
        ("555 988 1234", "555 988 1234"),
        ("+44 20 7946 0958", "+44 20 7946 0958"),
        ("06 12 34 56 78", "06 12 34 56 78"),
        ("0170 1234567", "0170 1234567"),
        ("my number is 555-1234", "555-1234"),
        ("reach me at 612 345 678", "612 345 678"),
        ("98765 43210", "98765 43210"),
        ("text HELP to 12345", "12345"),
        ("call 555", "555"),
    ],
)
def test_numbers_that_are_not_in_the_file_are_unlisted(text: str, number: str):
    assert given_numbers(text) == [(number, "unlisted")]


def test_numbers_side_by_side_are_told_apart():
    assert given_numbers("call 988 555-123-4567") == [("988", "line"), ("555-123-4567", "unlisted")]
    assert given_numbers("0170 1234567 0171 7654321") == [("0170 1234567", "unlisted"), ("0171 7654321", "unlisted")]
    assert given_numbers("116 123 0800 1111, call") == [("0800 1111", "line")]


def test_several_lines_can_share_a_number():
    (found,) = find_numbers("call 988")
    assert {"US", "CA"} == found.countries
    assert {"988 Suicide & Crisis Lifeline", "Veterans Crisis Line"} <= {line.name for line in found.lines}


def test_the_users_own_lines_and_emergency_numbers_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "own.yaml"
    path.write_text(
        "checked: 2030-01-02\ncountries:\n  XX:\n    name: Nowhere\n    emergency: [3 4 5]\n    lines:\n"
        "      - {name: Nowhere Line, about: crisis, call: [0800 765 4321], spelled: [13 HOPE], website: no.example}\n",
        "utf-8",
    )
    text = "Try Nowhere Line, 0800 765 4321 or 1 13 HOPE, or call 345."
    assert kind(find_numbers(text)[0]) == "unlisted"
    monkeypatch.setenv(FILE_VARIABLE, str(path))
    assert [text[number.start : number.end] for number in find_numbers(text)] == [
        "0800 765 4321",
        "1 13 HOPE",
        "345",
    ]
    assert {number.countries for number in find_numbers(text)} == {frozenset({"XX"})}
    assert [name.countries for name in find_names(text)] == [{"XX"}]


@pytest.mark.parametrize("piece", ["1 ", "12 ", "1", "12345 ", "1-", "988 ", "(1) ", "24/", "116 123 "])
def test_in_a_message_of_nothing_but_digits_only_the_number_that_is_given_is_found(piece: str):
    # A search that tries every run of groups as one number would not come back from this.
    digits = piece * 5_000
    assert given_numbers(digits) == []
    assert given_numbers(f"{digits}, so call 988") == [("988", "line")]


def test_thousands_of_numbers_in_one_message_are_all_found():
    assert given_numbers("1-800-273-TALK, " * 5_000) == [("1-800-273-TALK", "line")] * 5_000
    assert given_numbers("555-123-4567 " * 5_000) == [("555-123-4567", "unlisted")] * 5_000


def test_a_code_among_thousands_of_blank_lines_is_alone_and_many_are_not():
    assert given_numbers("\n" * 50_000 + "988" + "\n" * 50_000) == [("988", "line")]
    assert given_numbers("\n" * 50_000 + "; 988" * 5_000) == []


@given(st.text(alphabet=st.sampled_from("0123456789 -./()+*calltextHOME:\n988,")))
def test_what_is_found_stands_in_the_text_in_order_and_without_overlap(text: str):
    end = 0
    for number in find_numbers(text):
        assert isinstance(number, Found)
        assert end <= number.start < number.end <= len(text)
        end = number.end


@pytest.mark.parametrize(
    ("text", "name", "countries"),
    [
        ("Call the Samaritans.", "Samaritans", {"GB", "IE", "NZ", "HK"}),
        ("SAMARITANS", "SAMARITANS", {"GB", "IE", "NZ", "HK"}),
        ("the 988 Lifeline", "988 Lifeline", {"US"}),
        ("the 988 Suicide and Crisis Lifeline", "988 Suicide and Crisis Lifeline", {"US"}),
        ("Crisis Text Line", "Crisis Text Line", {"US"}),
        ("Linea de la Vida", "Linea de la Vida", {"MX"}),
        ("Men’s Advice Line", "Men’s Advice Line", {"GB"}),
        ("よりそいホットラインに電話", "よりそいホットライン", {"JP"}),
        ("1800RESPECT", "1800RESPECT", {"AU"}),
    ],
)
def test_names_of_lines_are_found_with_the_countries_that_have_them(text: str, name: str, countries: set[str]):
    (found,) = find_names(text)
    assert text[found.start : found.end] == name
    assert found.countries == countries


@pytest.mark.parametrize(
    "text",
    [
        "call a crisis text line",
        "some breathing space",
        "with open arms",
        "a good Samaritan; Good Samaritans",
        "you are my lifeline",
        "text about it",
    ],
)
def test_common_words_are_no_names(text: str):
    assert find_names(text) == []

import json

from hypothesis import given
from hypothesis import strategies as st

from attunement.evidence import CitationStatus, Finding, from_json, to_json

places = st.one_of(st.none(), st.integers(0, 10**6))
findings = st.builds(
    Finding,
    status=st.sampled_from(CitationStatus),
    turns=st.lists(st.integers(0, 9999)).map(tuple),
    quote=st.one_of(st.none(), st.text()),
    found_turn=places,
    speaker=st.sampled_from([None, "user", "assistant"]),
    start=places,
    end=places,
    nearest=st.one_of(st.none(), st.text()),
    reasoning_start=st.integers(0, 20_000),
    reasoning_end=st.integers(0, 20_000),
)


@given(findings)
def test_a_finding_survives_being_written_down(finding: Finding) -> None:
    assert from_json(json.loads(json.dumps(to_json(finding)))) == finding


def test_what_is_not_set_is_not_written_down() -> None:
    assert to_json(Finding(CitationStatus.UNQUOTED, (3,), reasoning_start=0, reasoning_end=6)) == {
        "standing": "unquoted",
        "turns": [3],
        "reasoning_start": 0,
        "reasoning_end": 6,
    }


def test_every_standing_has_its_own_plain_words() -> None:
    assert len({standing.words for standing in CitationStatus}) == len(CitationStatus)

import csv
from collections import Counter
from pathlib import Path

from attunement.evidence import CitationStatus, Finding, verify
from tests.evidence.restyling import conversations


def test_the_citations_of_real_judges_stand_as_they_were_found_when_read_by_hand(shared_data: Path) -> None:
    """The figures of `benchmarks/evidence_table.py`; a sample of each standing was read against the transcripts."""
    folder = shared_data / "coaching-judges"
    talks = conversations(folder / "conversations.jsonl")
    with (folder / "answers.csv").open(encoding="utf-8", newline="") as rows:
        answers = [row for row in csv.DictReader(rows) if row["answer"] != "ERROR"]
    findings: list[Finding] = []
    for answer in answers:
        findings += verify(answer["reasoning"], talks[answer["conversation"]])
    cited = Counter(
        one.status for one in findings if one.quote and one.turns and one.status is not CitationStatus.ABSENT
    )
    shares = {standing: cited[standing] / cited.total() for standing in cited}
    assert len(answers) == 651
    assert 0.79 < shares[CitationStatus.FOUND] < 0.83
    assert 0.06 < shares[CitationStatus.ELSEWHERE] < 0.09
    assert 0.10 < shares[CitationStatus.CLOSE] + shares[CitationStatus.NOT_FOUND] < 0.13
    assert 90 < sum(one.status is CitationStatus.ABSENT for one in findings) < 130

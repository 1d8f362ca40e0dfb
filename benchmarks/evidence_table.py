"""What becomes of the citations in real judges' answers: one row per answer set, one column per standing.

Run `python benchmarks/evidence_table.py`. Answers and transcripts are read from `coaching-judges` in the folder that
ATTUNEMENT_DATA names. The wording these judges were given is not among them, so that nothing can be found to be quoted
from the criterion. Shares are of the quotes that a turn is cited for and that are not quoted as absent.
"""

import csv
import json
import os
import time
from collections import Counter
from pathlib import Path

from attunement.conversations import Turn
from attunement.evidence import CitationStatus, Finding, verify

_QUOTES = (
    CitationStatus.FOUND,
    CitationStatus.ELSEWHERE,
    CitationStatus.CLOSE,
    CitationStatus.NOT_FOUND,
    CitationStatus.NO_SUCH_TURN,
)


def main() -> None:
    folder = Path(os.environ.get("ATTUNEMENT_DATA", Path(__file__).parents[2] / "shared" / "data")) / "coaching-judges"
    with (folder / "conversations.jsonl").open(encoding="utf-8") as lines:
        read = {one["id"]: one for one in map(json.loads, lines)}
    talks = {id: tuple(Turn(turn["user"], turn["assistant"]) for turn in one["turns"]) for id, one in read.items()}
    with (folder / "answers.csv").open(encoding="utf-8", newline="") as rows:
        answers = list(csv.DictReader(rows))
    judged = [answer for answer in answers if answer["answer"] != "ERROR"]

    sets: dict[str, list[list[Finding]]] = {}
    began = time.process_time()
    for answer in judged:
        findings = verify(answer["reasoning"], talks[answer["conversation"]])
        name = f"{answer['judge']} on {read[answer['conversation']]['meta']['system']}"
        sets.setdefault(name, []).append(findings)
        sets.setdefault("all", []).append(findings)
    took = time.process_time() - began

    errors = len(answers) - len(judged)
    print(f"{len(answers)} answers, {errors} of them ERROR; {took / len(judged) * 1e3:.2f} ms an answer")
    print(f"{'answer set':<24}{'answers':>8}" + "".join(f"{standing.value:>13}" for standing in CitationStatus))
    for name in sorted(sets, key=lambda name: (name == "all", name)):
        counts = Counter(finding.status for findings in sets[name] for finding in findings)
        print(f"{name:<24}{len(sets[name]):>8}" + "".join(f"{counts[standing]:>13}" for standing in CitationStatus))
    print("\nof the quotes with a turn: " + ", ".join(standing.words for standing in _QUOTES))
    for name in sorted(sets, key=lambda name: (name == "all", name)):
        cited = [finding for findings in sets[name] for finding in findings if finding.quote and finding.turns]
        counts = Counter(finding.status for finding in cited if finding.status in _QUOTES)
        shares = (f"{100 * counts[standing] / counts.total():>7.1f} %" for standing in _QUOTES)
        print(f"{name:<24}{counts.total():>8}" + "".join(shares))


if __name__ == "__main__":
    main()

"""How does the check of a judge on the bundled conversations look on a terminal?"""

from collections.abc import Sequence
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from attunement.instruments import Instrument
from attunement.ratings import Outcome, State
from attunement.reports.planted import Check, Planted
from attunement.reports.terminal import QUIET, heading, line, phrase
from attunement.reports.wording import Answer, Phrase, Tone, answer, share_words
from attunement.scoring import Verdict


def draw_check(checks: Sequence[tuple[Instrument, Check]], console: Console) -> None:
    """Print which planted faults were seen, and what became of the clean conversations."""
    console.print(heading("Planted faults"))
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    # A row has two lines, so that the answers have room next to names that must not be cut to be found again.
    table.add_column("planted fault", max_width=18)
    for column in ("in", ""):
        table.add_column(column, no_wrap=True)
    table.add_column("what the judge answered", overflow="fold")
    for instrument, check in checks:
        for planted in check.planted:
            where = Text("\n").join((line(planted.conversation.id), line(planted.conversation.system, QUIET)))
            answers = "; ".join(_answers(instrument, planted))
            table.add_row(planted.fault.kind.replace("_", " "), where, phrase(_seen(planted)), line(answers, QUIET))
    console.print(table)
    for sentence in sentences(checks):
        console.print(line(sentence))


def sentences(checks: Sequence[tuple[Instrument, Check]]) -> list[str]:
    """The result in words."""
    planted = [each for _, check in checks for each in check.planted]
    clean = [each for _, check in checks for each in check.clean]
    flagged = [str(each.conversation) for each in clean if each.flags]
    passed = sum(each.verdict is Verdict.PASS for each in clean)
    return [
        f"Planted faults seen: {share_words(sum(each.seen for each in planted), len(planted))}.",
        f"Clean conversations: {len(clean)}. Safety flags raised on them: "
        + (f"{len(flagged)} ({', '.join(flagged)})" if flagged else "none")
        + f". Called PASS: {passed or 'none'}.",
        "A fault counts as seen if the judge failed one of the items that can show it; its reasons are not read.",
    ]


def check_record(checks: Sequence[tuple[Instrument, Check]], rater: str) -> dict[str, Any]:
    """The check for programs."""
    return {
        "judge": rater,
        "planted": [
            {
                "id": planted.fault.id,
                "kind": planted.fault.kind,
                "instrument": instrument.id,
                "conversation": planted.conversation._asdict(),
                "seen": planted.seen,
                "answers": {item: str(outcome) for item, outcome in planted.answers.items()},
            }
            for instrument, check in checks
            for planted in check.planted
        ],
        "clean": [
            {
                "conversation": clean.conversation._asdict(),
                "instrument": instrument.id,
                "verdict": clean.verdict.value,
                "flags": [slot._asdict() for slot in clean.flags],
            }
            for instrument, check in checks
            for clean in check.clean
        ],
    }


def _seen(planted: Planted) -> Phrase:
    if planted.seen:
        return Phrase("seen", Tone.MET)
    return Phrase("not judged", Tone.OPEN) if planted.unjudged else Phrase("missed", Tone.NOT_MET)


def _answers(instrument: Instrument, planted: Planted) -> list[str]:
    return [f"{item}: {_words(instrument, item, outcome)}" for item, outcome in planted.answers.items()]


def _words(instrument: Instrument, item: str, outcome: Outcome) -> str:
    # Where NA is not valid it counts as a failure, but a judge that gives it has not seen the fault.
    if outcome.state is State.NA:
        return Answer.NA.value
    meaning = answer(instrument, instrument.item(item), outcome)
    return str(meaning) if isinstance(meaning, int) else meaning.value

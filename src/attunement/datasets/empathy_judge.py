"""Scores that one LLM judge gave to 600 replies three times: how constant is a judge that is asked again?

No person rated this set. The files come in pairs: the replies of a system, and the judge's scores of them. The items
are those of the built-in empathy-v2, so the answers are saved with that instrument.
"""

from collections.abc import Sequence
from pathlib import Path

from attunement.conversations import Conversation, Identity, Turn
from attunement.datasets.base import (
    DatasetAnswer,
    DatasetRater,
    FigureTable,
    LoadedDataset,
    MatchCount,
    Part,
    PublishedFigures,
    figure,
    on_scale,
    pivot,
    read_table,
    require_folder,
)
from attunement.errors import InputError
from attunement.instruments.loader import load
from attunement.ratings import RaterKind, State
from attunement.statistics.alpha import alpha

_END = "_judge.jsonl"
_HINT = f"it should hold pairs of files NAME.jsonl (replies) and NAME{_END} (scores)"
_PUBLISHED = {"emotion": "0.942", "validation": "0.936", "helpfulness": "0.956", "safety": "0.911", "overall": "0.899"}


def read(folder: Path) -> LoadedDataset:
    """Read all pairs of files in the folder."""
    require_folder(folder, _HINT)
    judged = sorted(folder.glob(f"*{_END}"))
    if not judged:
        raise InputError(f"{folder} has no file *{_END}: {_HINT}")
    instrument = load("empathy-v2")
    conversations: dict[Identity, Conversation] = {}
    raters: dict[str, DatasetRater] = {}
    answers: list[DatasetAnswer] = []
    for path in judged:
        replies = path.with_name(path.name.removesuffix(_END) + ".jsonl")
        for row in read_table(replies, ["id", "model", "user_statement", "response"], _HINT):
            # The same sample occurs once for each system, so only the two together name a reply.
            identity = Identity(row["model"], row["id"])
            if identity in conversations:
                raise InputError(f"{row.place}: {identity} occurs for the second time")
            turns = (Turn(str(row.cells["user_statement"]), str(row.cells["response"])),)
            conversations[identity] = Conversation(
                id=identity.id, system=identity.system, turns=turns, metadata={"scenario": identity.id}
            )
        for row in read_table(path, ["sample_id", "model", "repeat_idx", "judge_model", "scores", "overall"], _HINT):
            identity, name = Identity(row["model"], row["sample_id"]), row["judge_model"]
            if identity not in conversations:
                raise InputError(f"{row.place}: {identity} was scored, but its reply is not in {replies.name}")
            settings = {"imported_from": "empathy-judge", "temperature": row.cells.get("judge_temp")}
            raters.setdefault(name, DatasetRater(name, RaterKind.MODEL, settings))
            scores = {**row.cells["scores"], "overall": row.cells["overall"]}
            for item in _PUBLISHED:
                if item not in scores:
                    raise InputError(f"{row.place}: there is no score for {item!r}")
                outcome, detail = on_scale(str(scores[item]), instrument)
                reasoning = "" if detail else str(row.cells.get("notes") or "")
                repeat = int(row["repeat_idx"])
                answers.append(DatasetAnswer(identity, item, name, outcome, repeat, 1, reasoning, detail))
    part = Part("Empathy in a single reply", instrument, list(conversations.values()), answers)
    notes = ["No person rated anything in this set: it shows how consistent a judge is, not whether it is right."]
    return LoadedDataset([part], list(raters.values()), notes, lambda: _figures(answers))


def _figures(answers: Sequence[DatasetAnswer]) -> PublishedFigures:
    body: list[list[str]] = []
    for item, published in _PUBLISHED.items():
        values = pivot(
            (answer.conversation, answer.repeat, float(answer.outcome.value or 0))
            for answer in answers
            if answer.item == item and answer.outcome.state is State.VALUE
        )
        body.append([item, str(len(values)), str(values.shape[1]), figure(alpha(values)), published])
    columns = ["item", "replies", "repeats", "ours", "known"]
    remarks = ["A judge that always gives the same answer is consistent, but may still be wrong."]
    return PublishedFigures(
        tables=[FigureTable("The judge with itself: ordinal alpha over repeats", columns, body, remarks)],
        counts=[MatchCount("test-retest figures as known", sum(row[3] == row[4] for row in body), len(body))],
    )

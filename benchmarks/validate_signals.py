"""Measure the rule check on real conversations and write src/attunement/signals/measured.json anew.

Reads the data folder (ATTUNEMENT_DATA, by default ../shared/data). Two tables say what was read and found right, each
once by a language model and not by people: benchmarks/signals_pointers.csv (every pointer in ordinary talk) and
benchmarks/signals_cues.csv (a sample of sentences). All of these data were at hand when the patterns were written.
"""

import csv
import json
import os
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

from attunement.conversations import Conversation, Turn
from attunement.conversations.reader import read
from attunement.datasets import moore
from attunement.judges.signals import rules_version
from attunement.signals.crisis import CueKind, crisis_cues
from attunement.signals.measured import Measured, Measurement
from attunement.signals.pointers import Pointer, PointerKind, country_of, pointers
from attunement.statistics.estimates import proportion
from attunement.statistics.results import Undefined

DATA = Path(os.environ.get("ATTUNEMENT_DATA", "../shared/data"))
READ = Path(__file__).with_name("signals_pointers.csv")
CUES = Path(__file__).with_name("signals_cues.csv")
WRITTEN = Path(__file__).parents[1] / "src" / "attunement" / "signals" / "measured.json"
HARM = "High Potential for Harm"
HANDLING = ("detects", "confirms", "guides")


def share(id: str, data: str, counted: str, hits: int, n: int) -> Measurement:
    found = proportion(hits, n)
    if isinstance(found, Undefined):
        raise SystemExit(f"{data}: nothing to count for {counted!r}")
    low, high = round(found.interval.low, 3), round(found.interval.high, 3)
    return Measurement(id=id, data=data, counted=counted, hits=hits, n=n, low=low, high=high)


def crisis_pointers(conversation: Conversation) -> list[Pointer]:
    found = pointers(conversation.turns, country=country_of(conversation.metadata))
    return [pointer for pointer in found if pointer.kind is PointerKind.CRISIS]


def crisis_chats() -> Iterator[Measurement]:
    """VERA-MH: a chat failed where most clinicians saw high potential for harm in one of three dimensions."""
    votes: dict[str, Counter[str]] = defaultdict(Counter)
    raters: dict[str, set[str]] = defaultdict(set)
    with (DATA / "vera-mh" / "ratings.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            raters[row["conversation"]].add(row["rater"])
            if row["dimension"] in HANDLING and row["value"] == HARM:
                votes[row["conversation"]][row["dimension"]] += 1
    chats = list(read([DATA / "vera-mh" / "conversations.jsonl"]))
    failed = {chat.id for chat in chats if any(2 * n > len(raters[chat.id]) for n in votes[chat.id].values())}
    flagged = {chat.id for chat in chats if crisis_pointers(chat)}
    data = f"{len(chats)} crisis chats that three clinicians rated (VERA-MH)"
    yield share("crisis_recall", data, "failed chats with a pointer", len(failed & flagged), len(failed))
    yield share("crisis_precision", data, "chats with a pointer that failed", len(failed & flagged), len(flagged))
    print(f"VERA-MH, missed: {', '.join(sorted(failed - flagged))}; false: {', '.join(sorted(flagged - failed))}")


def probes() -> Iterator[Measurement]:
    """Moore et al.: replies to probes; those that people labelled, failed where nobody called them appropriate."""
    part = moore.read(DATA / "moore2025").parts[0]
    labels: dict[str, list[str]] = defaultdict(list)
    for answer in part.answers:
        if answer.rater.startswith("annotator") and answer.outcome.value is not None:
            labels[answer.conversation.id].append(str(answer.outcome.value))
    failed = {id for id, given in labels.items() if set(given) == {"NO"}}
    suicidal = {id for id in labels if "suicidal" in id}
    flagged = {talk.id for talk in part.conversations if crisis_pointers(talk)}
    data = f"{len(labels)} labelled replies to probes (Moore et al. 2025)"
    yield share("probes_suicidal", data, "failed replies to veiled suicidal probes with a pointer",
                len(failed & suicidal & flagged), len(failed & suicidal))  # fmt: skip
    yield share("probes_false", data, "other replies with a pointer", len((labels.keys() - failed) & flagged),
                len(labels.keys() - failed))  # fmt: skip


def ordinary() -> Iterator[Measurement]:
    """Sessions without a crisis, but for the two or three that DATA.md names. Every pointer was read."""
    with READ.open(encoding="utf-8") as file:
        verdicts = {(row["conversation"], row["turn"]): row for row in csv.DictReader(file)}
    sessions = list(read([DATA / "ordinary-talk" / "conversations.jsonl"]))
    found = [(session.id, pointer) for session in sessions for pointer in crisis_pointers(session)]
    print(f"Pointers in ordinary talk ({len(sessions)} sessions):")
    right = 0
    for id, pointer in found:
        row = verdicts.get((id, str(pointer.turn)))
        if row is None:
            raise SystemExit(f"{id}, turn {pointer.turn}: read it and add it to {READ.name}: {pointer.quote!r}")
        right += row["right"] == "yes"
        print(f"  {id}, turn {pointer.turn}: {'right' if row['right'] == 'yes' else 'WRONG'}: {row['reason']}")
    data = f"{len(sessions)} ordinary counselling and coaching sessions"
    yield share("ordinary", data, "pointers, one for each session", len(found), len(sessions))
    yield share("ordinary_false", data, "sessions with a wrong pointer", len(found) - right, len(sessions))
    plain = [session.id for session in sessions if any(cue.kind is CueKind.PLAIN for cue in crisis_cues(session.turns))]
    print(f"Held back if the crisis item is answered “does not apply”: {', '.join(plain)}")
    yield share(
        "held_back", data, "sessions in which the person speaks of it in plain words", len(plain), len(sessions)
    )
    others = sum(pointer.kind is PointerKind.NOT_ENGLISH for session in sessions for pointer in pointers(session.turns))
    yield share("called_foreign", data, "sessions taken for another language than English", others, len(sessions))


def cues() -> Iterator[Measurement]:
    """Sentences that count as crisis talk in peer-support posts. A sample was read once, by a language model."""
    posts: dict[str, str] = {}
    with (DATA / "epitome" / "emotional-reactions-reddit.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            posts.setdefault(row["sp_id"], row["seeker_post"])
    with CUES.open(encoding="utf-8") as file:
        read_posts = list(csv.DictReader(file))
    kinds = {row["post"]: [cue.kind for cue in crisis_cues([Turn(posts[row["post"]], "")])] for row in read_posts}
    found = [row for row in read_posts if row["kind"] in kinds[row["post"]]]
    plain = [row for row in found if row["kind"] == CueKind.PLAIN]
    data = f"{len(found)} sentences called crisis talk in peer-support posts (EPITOME), read once by a language model"
    yield share("cues", data, "are about suicide or self-harm", sum(row["right"] == "yes" for row in found), len(found))
    right = sum(row["plain_ok"] == "yes" for row in plain)
    yield share("plain_cues", data, "called plain, and plain words about themselves now", right, len(plain))


def everyday() -> Iterator[Measurement]:
    """Small talk with chatbots, in which nobody speaks of suicide: iEval and FED."""
    chats = [*_ieval(), *_fed()]
    found = [pointer for turns in chats for pointer in pointers(turns) if pointer.kind is PointerKind.CRISIS]
    yield share(
        "everyday", f"{len(chats):,} everyday chats (iEval, FED)", "chats with a pointer", len(found), len(chats)
    )


def _ieval() -> Iterator[tuple[Turn, ...]]:
    for person in json.loads((DATA / "ieval" / "ieval.json").read_text("utf-8")):
        for mood in ("positive", "negative"):
            for chat in person.get(mood, {}).values():
                if isinstance(chat, dict) and "chat_log" in chat:
                    yield _turns(line.strip("- ").strip() for line in chat["chat_log"].split("\n") if line.strip())


def _fed() -> Iterator[tuple[Turn, ...]]:
    with (DATA / "fed" / "fed.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            yield _turns(line.partition(":")[2].strip() for line in row["context"].split("\n") if ":" in line)


def _turns(messages: Iterable[str]) -> tuple[Turn, ...]:
    said = list(messages)
    return tuple(Turn(user, reply) for user, reply in zip(said[::2], said[1::2], strict=False))


def main() -> None:
    if not DATA.is_dir():
        sys.exit(f"{DATA} is not there: set ATTUNEMENT_DATA to the folder with the public data sets")
    found = [*ordinary(), *crisis_chats(), *probes(), *cues(), *everyday()]
    print()
    for each in found:
        print(f"{each.data}: {each.counted}: {each.hits} of {each.n}, "
              f"{each.hits / each.n:.2f} [{each.low:.2f}, {each.high:.2f}]")  # fmt: skip
    WRITTEN.write_text(
        Measured(rules=rules_version(), measurements=tuple(found)).model_dump_json(indent=2) + "\n", "utf-8"
    )


if __name__ == "__main__":
    main()

"""What a study exports comes back the same in another."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from attunement.conversations import Conversation, Turn
from attunement.errors import InputError
from attunement.instruments import Instrument
from attunement.ratings import (
    ABSTAINED,
    NOT_DUE,
    Consistency,
    ErrorKind,
    Mark,
    Outcome,
    RaterKind,
    Rating,
    Round,
    RuleFinding,
)
from attunement.store import AnswerRecord, StoredRating, Study, export
from attunement.store.export import Format
from attunement.store.import_ratings import check_import, save_import
from tests.builders import talk
from tests.store.samples import COACHING, EMPATHY, fill, lines, talks

HERE = talk(("I failed again.", "That hurts."), ("I want to die.", "Tell me more."), id="c1")
ANY = st.text(st.characters(codec=None, categories=None), max_size=20)


def exported_and_imported(study: Study, path: Path, format: Format, instruments: list[Instrument]) -> list[Rating]:
    """The ratings of a study, by way of a file, in an empty study."""
    export.write(export.ratings(study), path, format)
    conversations = [kept.conversation for kept in study.conversations()]
    target = path.with_suffix(".db")
    target.unlink(missing_ok=True)
    with Study(target, create=True) as empty:
        for instrument in instruments[1:]:
            empty.save_instrument(instrument)
        save_import(check_import([path], conversations, instruments[0], study=empty), empty)
        assert sorted(_answers(empty)) == sorted(_answers(study))
        assert {rater[1:4]: None for rater in map(_plain, empty.raters())} == {
            rater[1:4]: None for rater in map(_plain, study.raters())
        }
        again = path.with_stem("again")
        export.write(export.ratings(empty), again, format)
        return list(empty.ratings())


def _plain(rater: Any) -> tuple[Any, ...]:
    return (rater.key, rater.name, rater.kind, json.dumps(rater.settings, sort_keys=True))


def _answers(study: Study) -> Iterator[str]:
    for rater in study.raters():
        asked = [rating.asked for rating in study.ratings()]
        for answer in study.answered(asked, rater).values():
            yield repr((rater.name, answer._replace(rater=0, at="")))


@pytest.mark.parametrize("format", ["jsonl", "csv", "parquet"])
def test_what_is_exported_and_imported_is_equal(study_place: str, tmp_path: Path, format: Format) -> None:
    with fill(study_place, [talks(1)[0], HERE]) as study:
        # Two judges of one name, a person, repeats, rounds, all outcomes, and an answer about several items.
        second = study.save_rater("j", RaterKind.MODEL, {"temperature": 1})
        person = study.save_rater("Ada", RaterKind.PERSON, {})
        study.save_instrument(EMPATHY)
        (key,) = study.save_conversations([HERE])
        full = Rating(
            conversation=HERE.identity,
            turn=2,
            item="safety",
            outcome=Outcome.of(4),
            rater=second.name,
            repeat=1,
            reasoning='Two\nlines, "quoted"',
            evidence=({"standing": "found", "turns": [1]},),
            rules=(RuleFinding("r", Consistency.NOTICE, "t", 1, "q"),),
            marks=frozenset({Mark.FENCED}),
            item_hash=EMPATHY.item_hashes["safety"],
            asked="p",
            instrument=EMPATHY.hash,
            at="2026-01-01",
        )
        failed = Rating(HERE.identity, 1, "overall", Outcome.failed(ErrorKind.TIMEOUT), "Ada", RaterKind.PERSON)
        more = {"item_hash": EMPATHY.item_hashes["overall"], "instrument": EMPATHY.hash, "asked": "i"}
        made = [StoredRating(key, second.key, full)]
        for number, outcome in enumerate((failed.outcome, ABSTAINED, NOT_DUE, Outcome.of(1))):
            changed = {**more, "round": Round.GOLD, "repeat": number, "detail": "d", "outcome": outcome}
            made.append(StoredRating(key, person.key, failed._replace(**changed)))
        said = AnswerRecord(
            "p", second.key, 1, "{}", None, "", "m", "stop", 1, 2, 3, 0.1, 0.2, 4, [["x", -0.5]], "2026-01-01"
        )
        study.write([said], made)
        before = list(study.ratings())
        assert len(before) == 2 * len(COACHING.items) + 5
        after = exported_and_imported(study, tmp_path / f"a.{format}", format, [COACHING, EMPATHY])
        assert sorted(after, key=repr) == sorted(before, key=repr)
        assert (tmp_path / f"again.{format}").read_bytes() == (tmp_path / f"a.{format}").read_bytes()


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(text=st.lists(ANY, min_size=8, max_size=8), format=st.sampled_from(["jsonl", "csv"]))
def test_any_text_is_exported_and_imported_unchanged(tmp_path: Path, text: list[str], format: Format) -> None:
    place = tmp_path / "source.db"
    place.unlink(missing_ok=True)
    conversation = Conversation(text[0], text[1], (Turn(text[2], text[3]),))
    with Study(place, create=True) as study:
        study.save_instrument(COACHING)
        judge = study.save_rater(text[4], RaterKind.MODEL, {"prompt": text[5]})
        (key,) = study.save_conversations([conversation])
        made = Rating(
            conversation=conversation.identity,
            turn=None,
            item="CQ1",
            outcome=Outcome.of("NO"),
            rater=judge.name,
            reasoning=text[6],
            detail=text[7],
            evidence=({"quote": text[2]},),
            item_hash=COACHING.item_hashes["CQ1"],
            asked="p",
            instrument=COACHING.hash,
        )
        study.write([AnswerRecord("p", judge.key, 0, text[3], detail=text[7])], [StoredRating(key, judge.key, made)])
        assert exported_and_imported(study, tmp_path / f"a.{format}", format, [COACHING]) == [made]


def test_an_exported_rating_of_another_version_with_the_same_words_is_taken(study_place: str, tmp_path: Path) -> None:
    weights = {**COACHING.model_dump(), "version": "9", "scoring": {**COACHING.scoring.model_dump(), "threshold": 0.1}}
    newer = Instrument.model_validate(weights)
    with fill(study_place, talks(1)) as study:
        (first, *_) = exported_and_imported(study, tmp_path / "a.jsonl", "jsonl", [newer])
        assert first.instrument == newer.hash
        with pytest.raises(InputError, match=r"'CQ1' was asked in a wording .* with another --instrument"):
            exported_and_imported(study, tmp_path / "a.jsonl", "jsonl", [EMPATHY])


def test_an_export_that_does_not_fit_is_refused_by_line(study_place: str, tmp_path: Path) -> None:
    with fill(study_place, talks(1)) as study:
        export.write(export.ratings(study), tmp_path / "a.jsonl", "jsonl")
        records = [json.loads(line) for line in (tmp_path / "a.jsonl").read_text().splitlines()]
        export.write(export.scorecards(study, COACHING), tmp_path / "cards.jsonl", "jsonl")
    for change, reason in (
        ({"conversation": "x"}, "there is no conversation bot/x"),
        ({"turn": 5}, "bot/c0 has no turn 5"),
        ({"outcome": "good"}, "not as Attunement exported it"),
        ({"repeat": "x"}, "not as Attunement exported it"),
        ({"repeat": 1.5}, "not as Attunement exported it"),
        ({"prompt_tokens": 10**12}, "not as Attunement exported it"),
        ({"turn": 0}, "bot/c0 has no turn 0"),
        ({"reasoning": 5}, "not as Attunement exported it"),
        ({"evidence": None}, "not as Attunement exported it"),
        ({"rater_kind": "dog"}, "not as Attunement exported it"),
    ):
        lines(tmp_path / "b.jsonl", [*records[:2], {**records[2], **change}])
        with pytest.raises(InputError, match=f"b.jsonl:3: .*{reason}"):
            check_import([tmp_path / "b.jsonl"], talks(1), COACHING)
    with pytest.raises(InputError, match="these are scorecards"):
        check_import([tmp_path / "cards.jsonl"], talks(1), COACHING)

from functools import partial
from pathlib import Path

import pytest

from attunement.annotation import exchange_formats
from attunement.annotation.exchange import export_units, messages, new_folder
from attunement.errors import InputError, StudyError
from attunement.store import Study
from attunement.store.samples import TokenTarget, exported_units
from tests.annotation.exchange.builders import COACHING, EMPATHY, SYSTEM, TALKS, by_id, study_of_talks


def test_nothing_in_the_files_leads_back_to_a_system_a_judge_or_a_conversation(tmp_path: Path) -> None:
    with study_of_talks(tmp_path / "a.db") as study:
        for number, (instrument, write) in enumerate(
            [
                (COACHING, exchange_formats.write_sheet),
                (COACHING, exchange_formats.write_label_studio),
                (COACHING, partial(exchange_formats.write_argilla, raters=1)),
                (EMPATHY, exchange_formats.write_label_studio),
            ]
        ):
            folder = new_folder(tmp_path / str(number))
            files = write(folder, instrument, export_units(study, instrument, "x"))
            written = "\n".join(file.read_text() for file in files) + str(files)
            for secret in (SYSTEM, "Lantern", "alpha-1", "beta-2", "sharp-judge", "judge-said-so", "very-high"):
                assert secret not in written, (secret, files)


def test_a_token_is_a_word_of_chance_that_only_the_study_can_trace(tmp_path: Path) -> None:
    with study_of_talks(tmp_path / "a.db") as study:
        one, other = export_units(study, COACHING, "csv"), export_units(study, EMPATHY, "csv")
        keys = {kept.conversation.id: kept.key for kept in study.conversations()}
        tokens = [entry.token for entry in (*one, *other)]
        assert len(set(tokens)) == 3 + 9
        assert all(token[0] == "u" and len(token) == 17 for token in tokens)
        known = exported_units(study)
        assert known[by_id(one)["alpha-1"].token] == TokenTarget(keys["alpha-1"], None, COACHING.hash)
        assert known[by_id(other)["alpha-1#2"].token] == TokenTarget(keys["alpha-1"], 2, EMPATHY.hash)


def test_a_forgotten_conversation_leaves_no_token(tmp_path: Path) -> None:
    with study_of_talks(tmp_path / "a.db") as study:
        export_units(study, EMPATHY, "csv")
        study.delete(study.find("gamma-3")[0].key)
        assert len(exported_units(study)) == 3


def test_the_order_is_of_chance_and_replies_of_one_conversation_stay_together(tmp_path: Path) -> None:
    with study_of_talks(tmp_path / "a.db") as study:
        orders = [[str(entry.unit) for entry in export_units(study, EMPATHY, "csv")] for _ in range(30)]
    assert len({tuple(order) for order in orders}) > 1
    for order in orders:
        third = [name for name in order if "gamma-3" in name]
        assert third == [f"Lantern/gamma-3#{turn}" for turn in range(1, 7)]
        assert order.index(third[-1]) - order.index(third[0]) == 5


def test_only_the_wanted_conversations_go_out(tmp_path: Path) -> None:
    with study_of_talks(tmp_path / "a.db") as study:
        (second,) = study.find("beta-2")
        (unit,) = export_units(study, COACHING, "csv", [second.key])
        assert unit.unit.conversation.id == "beta-2"
        with pytest.raises(StudyError, match="has no conversation to export"):
            export_units(study, COACHING, "csv", [])


def test_a_rater_reads_up_to_the_reply_that_is_rated(tmp_path: Path) -> None:
    with study_of_talks(tmp_path / "a.db") as study:
        units = by_id(export_units(study, EMPATHY, "csv"))
    assert [(m.turn, m.speaker, m.rated) for m in messages(units["gamma-3#2"].unit)] == [
        (1, "user", False),
        (1, "assistant", False),
        (2, "user", False),
        (2, "assistant", True),
    ]
    assert [message.text for message in messages(units["beta-2#1"].unit)] == [TALKS[1].turns[0].assistant]


def test_a_folder_with_files_in_it_is_not_written_to(tmp_path: Path) -> None:
    assert new_folder(tmp_path / "new").is_dir()
    with pytest.raises(InputError, match="already contains files"):
        new_folder(tmp_path)
    with pytest.raises(InputError, match="cannot be created"):
        new_folder(tmp_path / "no" / "where")


def test_tokens_are_kept_in_both_kinds_of_database(study_place: str) -> None:
    with Study(study_place, create=True) as study:
        study.save_conversations(TALKS)
        outgoing = export_units(study, EMPATHY, "csv")
        assert exported_units(study).keys() == {entry.token for entry in outgoing}

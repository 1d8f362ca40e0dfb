"""A local model that cannot be used says so in one sentence. With a real model see `test_local_model.py`."""

from pathlib import Path

import pytest

from attunement.errors import JudgeError
from attunement.judges import JudgeOptions, hosted, local, make_judge


def gguf(folder: Path) -> Path:
    file = folder / "model.gguf"
    file.write_bytes(b"GGUF and nothing more")
    return file


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(JudgeError, match=r"there is no model file .*none\.gguf"):
        make_judge(f"local:{tmp_path / 'none.gguf'}")


def test_another_kind_of_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "model.safetensors"
    file.write_bytes(b"something else")
    with pytest.raises(JudgeError, match="is not a GGUF file"):
        make_judge(f"local:{file}")


def test_a_missing_package_says_how_to_install_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "find_spec", lambda _: None)
    with pytest.raises(JudgeError, match=r"pip install 'attunement\[local\]'$"):
        make_judge(f"local:{gguf(tmp_path)}")


def test_the_folder_is_no_part_of_who_the_rater_is(tmp_path: Path) -> None:
    judge = make_judge(f"local:{gguf(tmp_path)}", JudgeOptions(seed=2))
    assert judge.name == "local:model.gguf"
    assert judge.settings == {
        "model": "model.gguf",
        "bytes": 21,
        "context": local.CONTEXT,
        "temperature": 0.0,
        "seed": 2,
        "max_tokens": 2048,
        "logprobs": False,
    }
    assert str(tmp_path) not in repr(judge)
    assert not hosted(judge)

import copy
import json
from pathlib import Path

import pytest

from attunement.conversations import Turn
from attunement.conversations.reader import read
from attunement.errors import AttunementError

THOUGHT = {"type": "reasoning", "reasoning": "Hm."}
CALL = {"id": "t", "function": "look_up", "arguments": {"topic": "debt"}, "type": "function"}
SAMPLE = {
    "id": "debt",
    "epoch": 1,
    "input": "I owe money.",
    "target": "",
    "messages": [
        {"id": "1", "role": "system", "content": "Be kind."},
        {"id": "2", "role": "user", "content": "I owe money.", "source": "input"},
        {"id": "3", "role": "assistant", "content": [THOUGHT, {"type": "text", "text": "That weighs on you."}]},
        {"id": "4", "role": "user", "content": "attachment://abc"},
        {"id": "5", "role": "assistant", "content": "", "tool_calls": [CALL]},
        {"id": "6", "role": "tool", "content": "Call 1-800.", "tool_call_id": "t", "function": "look_up"},
        {"id": "7", "role": "assistant", "content": "There is help."},
    ],
    "attachments": {"abc": "What can I do?"},
    "metadata": {"topic": "money", "inspect_sample": "forged"},
    "scores": {"includes": {"value": "I"}},
    "events": [{"event": "model", "input": [{"role": "user", "content": "not this"}]}],
}  # fmt: skip
LOG = {
    "version": 2,
    "status": "success",
    "eval": {"task": "support", "model": "openai/gpt-5", "config": {"epochs": 1}, "run_id": "r"},
    "plan": {"name": "plan", "steps": []},
    "results": {"total_samples": 1},
    "stats": {},
    "samples": [SAMPLE],
}


def written(path: Path, **changes) -> Path:
    path.write_text(json.dumps({**copy.deepcopy(LOG), **changes}, indent=1))
    return path


def test_a_sample_becomes_a_conversation_with_its_tools_and_attachments(tmp_path):
    (found,) = read([written(tmp_path / "log.json")])
    assert (found.system, found.id, found.scenario) == ("openai/gpt-5", "debt", "debt")
    assert found.instructions == "Be kind."
    assert found.turns[0] == Turn("I owe money.", "That weighs on you.")
    assert found.turns[1].user == "What can I do?"
    assert found.turns[1].assistant.startswith("[tool call look_up:")
    assert found.turns[1].assistant.endswith("There is help.")
    assert found.metadata == {
        "scenario": "debt", "topic": "money", "inspect_sample": "debt", "inspect_epoch": 1, "inspect_task": "support",
    }  # fmt: skip


def test_epochs_are_told_apart(tmp_path):
    spec = {**LOG["eval"], "config": {"epochs": 2}}
    samples = [SAMPLE, {**SAMPLE, "epoch": 2}, {**SAMPLE, "id": 7}]
    found = list(read([written(tmp_path / "log.json", eval=spec, samples=samples)]))
    assert [one.id for one in found] == ["debt (epoch 1)", "debt (epoch 2)", "7 (epoch 1)"]
    assert [one.metadata["inspect_epoch"] for one in found] == [1, 2, 1]


def test_a_sample_without_a_reply_is_refused_with_its_line(tmp_path):
    path = written(tmp_path / "log.json", samples=[SAMPLE, {**SAMPLE, "id": "x", "messages": SAMPLE["messages"][:2]}])
    line = next(number for number, text in enumerate(path.read_text().splitlines(), 1) if '"x"' in text) - 1
    with pytest.raises(AttunementError, match=rf"log\.json:{line}: there is no assistant message"):
        list(read([path]))


@pytest.mark.parametrize("messages", [None, "text", [1], [{"role": "user"}], [{"role": "nobody", "content": "x"}]])
def test_broken_messages_are_refused_in_a_sentence(tmp_path, messages):
    with pytest.raises(AttunementError):
        list(read([written(tmp_path / "log.json", samples=[{**SAMPLE, "messages": messages}])]))


def test_a_log_without_samples_is_refused(tmp_path):
    with pytest.raises(AttunementError):
        list(read([written(tmp_path / "log.json", samples=[])]))


def test_other_documents_with_samples_are_read_as_before(tmp_path):
    record = {"id": "a", "messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]}
    path = tmp_path / "chats.json"
    path.write_text(json.dumps({"system": "bot", "samples": [record]}))
    (found,) = read([path])
    assert (found.system, found.id) == ("bot", "a")


def test_a_packed_log_is_refused_with_the_way_out(tmp_path):
    (tmp_path / "log.eval").write_bytes(b"PK\x03\x04\xff")
    with pytest.raises(AttunementError, match="inspect log convert"):
        list(read([tmp_path / "log.eval"]))

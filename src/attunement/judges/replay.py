"""`replay:FILE`: answers recorded earlier, by the hash of the prompt. Nothing is sent.

`attune export STUDY FILE --what answers` writes such a file. A prompt that is not in it is an ERROR. The file's hash is
part of the rater, so other answers are another rater.
"""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson

from attunement.errors import JudgeError
from attunement.judges.base import Answer, Failure, JudgeOptions, Request, Usage
from attunement.judges.http_judge import count, word
from attunement.ratings import ErrorKind


def replay_judge(file: str, options: JudgeOptions) -> "ReplayJudge":
    """The judge `replay:FILE`. Raises a JudgeError if the file cannot be read or is not a file of answers."""
    path = Path(file)
    try:
        content = path.read_bytes()
    except OSError as error:
        raise JudgeError(f"{path} cannot be read: {error.strerror or error}") from error
    answers: dict[tuple[str, int], dict[str, Any]] = {}
    judges: dict[str, None] = {}
    for number, line in enumerate(content.splitlines(), 1):
        if not line.strip():
            continue
        record: dict[str, Any] = {}
        try:
            record = orjson.loads(line)
            prompt, repeat, reply = record["prompt"], record.get("repeat") or 0, record["reply"]
            error = record.get("error")
            record["error"] = None if error is None else ErrorKind(error)
        except (ValueError, KeyError, TypeError, AttributeError):
            prompt = repeat = reply = None
        if not (isinstance(prompt, str) and type(repeat) is int and isinstance(reply, str)):
            raise JudgeError(f"{path}, line {number}: not a recorded answer with prompt, repeat and reply")
        if (prompt, repeat) in answers:
            raise JudgeError(f"{path}, line {number}: a second answer to the same prompt; a file is for one judge")
        answers[prompt, repeat] = record
        judges[str(record.get("judge") or "")] = None
    if not answers:
        raise JudgeError(f"{path} holds no recorded answers")
    settings = {"recorded": hashlib.sha256(content).hexdigest()[:16], "judges": sorted(filter(None, judges))}
    return ReplayJudge(f"replay:{path.stem}", settings, answers)


class ReplayJudge:
    """Recorded answers as a judge."""

    refused: Mapping[str, str] = {}

    def __init__(
        self, name: str, settings: Mapping[str, Any], answers: Mapping[tuple[str, int], dict[str, Any]]
    ) -> None:
        """`answers` by prompt and repeat."""
        self.name, self.settings = name, settings
        self._answers = answers

    async def ask(self, request: Request) -> Answer | Failure:
        """The recorded answer; the same one again if the engine says that it could not be read."""
        record = self._answers.get((request.prompt, request.repeat))
        if record is None:
            which = f", repeat {request.repeat + 1}" if request.repeat else ""
            detail = f"{self.name} has no answer to this prompt ({request.prompt[:12]}{which})"
            return Failure(ErrorKind.NOT_RECORDED, detail)
        if record["error"] and not record["reply"]:
            return Failure(record["error"], str(record.get("detail") or "recorded as an error"))
        usage = Usage(count(record.get("prompt_tokens")), count(record.get("completion_tokens")))
        reason, model = word(record.get("finish_reason")), word(record.get("model"))
        return Answer(record["reply"], usage, 0.0, reason, model, record.get("logprobs"))

    async def close(self) -> None:
        """Nothing to close."""

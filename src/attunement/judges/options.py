"""What a user may set about a judge, whatever kind it is."""

from dataclasses import dataclass

from attunement.judges.families import thinks

HOSTED_TIMEOUT, LOCAL_TIMEOUT = 120.0, 1800.0

_REPLY, _REPLY_WITH_THOUGHTS = 2048, 8192


@dataclass(frozen=True)
class JudgeOptions:
    """Settings of a judge. A judge leaves out what its server does not take, and says so in `refused`."""

    base_url: str | None = None
    """The address of the service; absent: the usual variable (`OPENAI_BASE_URL`, ...) or the provider's own."""
    temperature: float | None = 0.0
    """None leaves it to the server."""
    seed: int | None = None
    timeout: float | None = None
    """Seconds for one whole request; absent: 120, or 1,800 for a model on this machine, which nobody else waits for."""
    max_tokens: int | None = None
    """The most tokens of a reply; absent: 2,048, or 8,192 for models that are known to think before they answer.

    A reply stops by itself after some 150 tokens an item, so this only ends one that runs away. Thinking counts
    as reply, and a limit that cuts it off leaves no answer. More for every model would be no kindness: some services
    count the limit, not the use, against the tokens per minute, and small servers subtract it from their context.
    """
    logprobs: bool = False
    sends: bool = True
    """Whether anything will be sent; an estimate needs no key."""
    max_connections: int = 100

    def reply_limit(self, model: str) -> int:
        """The most tokens of a reply of `model`."""
        return self.max_tokens or (_REPLY_WITH_THOUGHTS if thinks(model) else _REPLY)

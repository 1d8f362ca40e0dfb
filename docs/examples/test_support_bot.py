"""A chatbot's own test suite that asks a judge.

Run it with `ATTUNEMENT_JUDGE=openai:gpt-5.2 pytest`. Without a judge the tests fail and nothing is sent; with
`pytest -m "not attunement"` they are left out.
"""

import pytest

from attunement.pytest_plugin import assert_passes


def my_bot(message: str) -> str:
    """Stands for the bot under test."""
    return f"That sounds heavy: {message} Do you want to tell me what happened?"


@pytest.mark.attunement(instrument="coaching-v1")
@pytest.mark.parametrize("message", ["I failed my exam.", "My friend does not answer any more."])
def test_the_bot_listens(message: str) -> None:
    """It takes up what the person says and asks."""
    assert_passes([{"role": "user", "content": message}, {"role": "assistant", "content": my_bot(message)}])

"""What can be said about a run from Python, and what is refused before anything is asked."""

import math

import pytest

from attunement.api import Settings
from attunement.errors import InputError


@pytest.mark.parametrize("wrong", [math.nan, -1.0, math.inf])
@pytest.mark.parametrize("name", ["temperature", "max_cost", "price_in", "price_out"])
def test_a_number_that_could_keep_no_limit_is_refused(name: str, wrong: float):
    both = {"price_in": 1.0, "price_out": 1.0} if name.startswith("price") else {}
    with pytest.raises(InputError, match=f"{name.replace('_', '-')} must be a number from 0 up"):
        Settings(judges="openai:fake", **{**both, name: wrong})


def test_zero_is_a_limit():
    settings = Settings(judges="openai:fake", max_cost=0, max_calls=0, price_in=0, price_out=0, temperature=0)
    assert settings.max_cost == settings.max_calls == 0


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"repeats": 0}, "at least 1"),
        ({"timeout": 0}, "more than 0 seconds"),
        ({"items": []}, "leave it out"),
        ({"price_in": 1.0}, "both parts"),
    ],
)
def test_what_cannot_be_meant_is_refused(given: dict[str, object], message: str):
    with pytest.raises(InputError, match=message):
        Settings(judges="openai:fake", **given)

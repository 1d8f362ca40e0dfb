"""What a server's error means, in the words that servers really use."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from multidict import CIMultiDict

from attunement.judges.base import Failure
from attunement.judges.provider_errors import Server, failure, read_complaint, retry_after
from attunement.ratings import ErrorKind

SERVER = Server("https://judge.example/v1", "some-model", "OPENAI_API_KEY")
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


def of(status: int, message: str = "", *, answered: bool = False, **headers: str) -> Failure:
    complaint = read_complaint(orjson.dumps({"error": {"message": message}}))
    return failure(status, CIMultiDict(headers), complaint, SERVER, answered=answered)


@pytest.mark.parametrize(
    "message",
    [
        "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
        "prompt is too long: 210000 tokens > 200000 maximum",
        "input length and `max_tokens` exceed context limit: 199000 + 4096 > 200000",
        "request (9031 tokens) exceeds the available context size (8192 tokens), try increasing it",
        "The input token count (1200000) exceeds the maximum number of tokens allowed (1048575).",
        "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
        "Input is too long for requested model.",
        "Please reduce the length of the messages or completion.",
        "`inputs` tokens + `max_new_tokens` must be <= 4097. Given: 5000 `inputs` tokens",
        "Input validation error: `inputs` must have less than 4096 tokens. Given: 5000",
        "max_tokens must be at least 1, got -512.",
        "the input length exceeds the context length",
        "too many tokens: total number of tokens in the prompt cannot exceed 4081",
        "Trying to keep the first 5000 tokens, greater than the context length of 4096",
    ],
)
@pytest.mark.parametrize("answered", [True, False])
def test_every_providers_words_for_a_prompt_that_does_not_fit_are_understood(message: str, answered: bool) -> None:
    found = of(400, message, answered=answered)
    assert (found.kind, found.transient, found.fatal) == (ErrorKind.PROMPT_TOO_LONG, False, False)


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (400, "The response was filtered due to the prompt triggering Azure OpenAI's content management policy."),
        (400, "Output blocked by content filtering policy"),
        (403, "Your input was flagged by the moderation of the provider"),
        (400, "Invalid prompt: your prompt was flagged as potentially violating our usage policy."),
    ],
)
def test_a_filter_that_holds_one_question_back_is_a_refusal_and_stops_nothing(status: int, message: str) -> None:
    found = of(status, message)
    assert (found.kind, found.transient, found.fatal) == (ErrorKind.REFUSED, False, False)


@pytest.mark.parametrize(
    ("status", "message", "words"),
    [
        (401, "Incorrect API key provided", "refuses the key in OPENAI_API_KEY"),
        (403, "Country not supported", "refuses the key in OPENAI_API_KEY"),
        (402, "Insufficient credits", "no credit left"),
        (429, "You exceeded your current quota (insufficient_quota)", "no credit left"),
        (400, "Your credit balance is too low to access the API.", "no credit left"),
        (404, "The model `x` does not exist.", "has no model some-model"),
        (400, "Invalid model: some-model", "has no model some-model"),
        (404, "Not Found", "or the address is wrong"),
        (405, "Method Not Allowed", "or the address is wrong"),
        (301, "", "redirects to"),
    ],
)
def test_a_wrong_key_model_or_address_stops_the_run_with_one_sentence(status: int, message: str, words: str) -> None:
    found = of(status, message)
    kind = ErrorKind.AUTH if "key" in words or "credit" in words else ErrorKind.SERVER
    assert (found.kind, found.transient, found.fatal) == (kind, False, True)
    assert words in found.detail
    assert "\n" not in found.detail


def test_an_address_without_a_version_is_hinted_at() -> None:
    complaint = read_complaint(b"404 page not found")
    bare = failure(404, {}, complaint, SERVER._replace(address="http://localhost:11434"), answered=False)
    assert "most addresses end in /v1" in bare.detail
    assert "most addresses" not in of(404).detail


@pytest.mark.parametrize("status", [500, 502, 503, 504, 520, 529, 408])
def test_a_servers_own_fault_may_pass(status: int) -> None:
    found = of(status, "Overloaded", **{"Retry-After": "7"})
    assert (found.kind, found.transient, found.fatal, found.retry_after) == (ErrorKind.SERVER, True, False, 7.0)


def test_a_404_from_a_server_that_has_answered_before_may_pass() -> None:
    found = of(404, "Not Found", answered=True)
    assert (found.kind, found.transient, found.fatal) == (ErrorKind.SERVER, True, False)


def test_another_error_of_ours_stops_the_run_only_if_nothing_was_ever_answered() -> None:
    assert of(400, "Bad Request").fatal
    assert not of(400, "Bad Request", answered=True).fatal
    assert not of(400, "Bad Request", answered=True).transient


def test_too_many_requests_may_pass_and_say_when() -> None:
    found = of(429, "Rate limit reached", **{"Retry-After": "3"})
    assert (found.kind, found.transient, found.fatal) == (ErrorKind.RATE_LIMITED, True, False)
    assert found.retry_after == 3.0
    assert of(429).retry_after is None


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "2"}, 2.0),
        ({"Retry-After": "0.5"}, 0.5),
        ({"retry-after-ms": "1500", "Retry-After": "2"}, 1.5),
        ({"Retry-After": "Sun, 01 Mar 2026 12:00:20 GMT"}, 20.0),
        ({"Retry-After": "Sun, 01 Mar 2026 11:59:00 GMT"}, 0.0),
        ({"x-ratelimit-reset-requests": "1s"}, 1.0),
        ({"x-ratelimit-reset-tokens": "6m0s"}, 360.0),
        ({"x-ratelimit-reset-tokens": "120ms"}, 0.12),
        ({"x-ratelimit-reset-tokens": "1h2m3.5s"}, 3723.5),
        ({"anthropic-ratelimit-requests-reset": "2026-03-01T12:00:30Z"}, 30.0),
        ({"X-RateLimit-Reset": str(int(NOW.timestamp() * 1000) + 4000)}, 4.0),
        ({"X-RateLimit-Reset": str(int(NOW.timestamp()) + 9)}, 9.0),
        (
            {
                "x-ratelimit-reset-requests": "1s",
                "x-ratelimit-remaining-requests": "99",
                "x-ratelimit-reset-tokens": "40s",
                "x-ratelimit-remaining-tokens": "0",
            },
            40.0,
        ),
        ({"Retry-After": "soon"}, None),
        ({}, None),
    ],
)
def test_the_wait_a_server_asks_for_is_read_in_every_form(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(CIMultiDict(headers), NOW) == pytest.approx(seconds)


@given(st.integers(min_value=0, max_value=10**6))
def test_seconds_and_dates_say_the_same(seconds: int) -> None:
    date = format_datetime(NOW + timedelta(seconds=seconds), usegmt=True)
    assert retry_after({"Retry-After": str(seconds)}, NOW) == retry_after({"Retry-After": date}, NOW) == seconds


@given(st.text())
def test_no_header_makes_reading_the_wait_fail(text: str) -> None:
    for name in ("Retry-After", "x-ratelimit-reset-tokens"):
        wait = retry_after({name: text}, NOW)
        assert wait is None or wait >= 0


@pytest.mark.parametrize(
    ("body", "message", "words"),
    [
        (b'{"error": {"message": "Bad", "param": "seed", "code": "x"}}', "Bad", "seed"),
        (b'{"type": "error", "error": {"type": "overloaded_error", "message": "Busy"}}', "Busy", "overloaded_error"),
        (b'{"object": "error", "message": "Too long", "code": 400}', "Too long", "400"),
        (b'{"error": "model not loaded"}', "model not loaded", "model"),
        (b'{"detail": "Not Found"}', "Not Found", "not found"),
        (
            b'{"error": {"message": "Provider error", "metadata": {"raw": "no seed"}}}',
            "Provider error: no seed",
            "seed",
        ),
        (b"<html><style>p {}</style><h1>502 Bad\nGateway</h1></html>", "502 Bad Gateway", "502"),
        (b"\x1b[31mred\x00", "[31mred", "red"),
        (b"", "", ""),
        (b"[]", "", ""),
        (b"3", "", ""),
    ],
)
def test_the_message_is_found_in_every_shape_of_error_and_is_one_clean_line(
    body: bytes, message: str, words: str
) -> None:
    complaint = read_complaint(body)
    assert complaint.message == message
    assert words in complaint.words


def test_what_was_sent_and_is_given_back_does_not_count_as_named() -> None:
    detail = [{"loc": ["body", "seed"], "msg": "Extra inputs are not permitted", "input": {"temperature": 0}}]
    complaint = read_complaint(orjson.dumps({"detail": detail}))
    assert "seed" in complaint.words
    assert "temperature" not in complaint.words


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["error", "message", "detail", "code", "loc", "metadata"]), inner, max_size=3
            )
        ),
        max_leaves=12,
    )
)
def test_no_shape_of_error_makes_reading_it_fail(document: object) -> None:
    complaint = read_complaint(orjson.dumps(document))
    assert failure(400, {}, complaint, SERVER, answered=True).detail

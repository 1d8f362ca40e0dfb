"""What the name of a model says."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from attunement.judges import Judge, hosted, is_dated, model_family, shared_family
from attunement.judges.base import thinks


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("openai:gpt-5.2", "gpt"),
        ("gpt-4o-mini-2024-07-18", "gpt"),
        ("chatgpt-4o-latest", "gpt"),
        ("o3-mini", "gpt"),
        ("openai:o1", "gpt"),
        ("openai/gpt-oss-120b", "gpt"),
        ("anthropic:claude-sonnet-4-5", "claude"),
        ("google/gemini-2.5-pro", "gemini"),
        ("gemma3:27b", "gemini"),
        ("meta-llama/Llama-3.1-8B-Instruct", "llama"),
        ("openai:llama3.2:3b", "llama"),
        ("codellama-34b", "llama"),
        ("mistral-large-2411", "mistral"),
        ("Mixtral-8x7B", "mistral"),
        ("Qwen/Qwen3-32B", "qwen"),
        ("deepseek-chat", "deepseek"),
        ("local:SmolLM2-135M-Instruct.Q4_1.gguf", "smollm"),
        ("our-coach-v3", None),
        ("ollama", None),
        ("llama.cpp", None),
        ("philosopher", None),
        ("openai:our-finetune", None),
        ("", None),
    ],
)
def test_the_family_is_read_from_the_name(name: str, family: str | None) -> None:
    assert model_family(name) == family


@pytest.mark.parametrize(
    ("judge", "system", "family"),
    [
        ("openai:gpt-5.2", "coach-gpt-4o", "gpt"),
        ("openai:deepseek-r1-distill-llama-70b", "llama-3-base", "llama"),
        ("openai:deepseek-r1-distill-llama-70b", "deepseek-chat", "deepseek"),
        ("openai:gpt-5.2", "claude-coach", None),
        ("openai:gpt-5.2", "our-bot", None),
        ("openai:our-bot", "our-bot", None),
    ],
)
def test_a_family_in_common_is_found_in_any_part_of_the_names(judge: str, system: str, family: str | None) -> None:
    assert shared_family(judge, system) == shared_family(system, judge) == family


@pytest.mark.parametrize(
    "model",
    [
        "gpt-4o-2024-08-06",
        "claude-3-5-sonnet-20241022",
        "gpt-4-0613",
        "gpt-4-1106-preview",
        "mistral-large-2411",
        "qwen3-235b-a22b-2507",
        "gemini-1.5-pro-002",
        "gemini-2.5-pro-preview-05-06",
        "kimi-k2-0905",
    ],
)
def test_a_dated_name_is_recognised(model: str) -> None:
    assert is_dated(model)


@pytest.mark.parametrize(
    "model",
    [
        "gpt-5.2",
        "gpt-4o",
        "gpt-4-turbo",
        "gpt-4-32k",
        "o3",
        "claude-sonnet-4-5",
        "claude-opus-4-1",
        "gemini-2.5-flash",
        "llama-3.1-70b-instruct",
        "llama3-70b-8192",
        "mixtral-8x7b-32768",
        "phi-3-mini-128k",
        "gpt-oss-120b",
        "qwen2.5-72b",
    ],
)
def test_a_name_without_a_date_is_not_taken_for_dated(model: str) -> None:
    assert not is_dated(model)


@pytest.mark.parametrize("model", ["gpt-5.2", "o3-mini", "deepseek-reasoner", "qwen3-30b-thinking", "gemini-2.5-pro"])
def test_models_that_think_are_known(model: str) -> None:
    assert thinks(model)


@pytest.mark.parametrize("model", ["gpt-4.1", "gpt-5-chat-latest", "claude-sonnet-4-5", "llama-3.1-8b", "foo1"])
def test_other_models_are_not_taken_to_think(model: str) -> None:
    assert not thinks(model)


@pytest.mark.parametrize(
    ("base_url", "elsewhere"),
    [
        ("https://api.openai.com/v1", True),
        ("https://judge.example.org:8443/v1", True),
        ("https://8.8.8.8/v1", True),
        ("http://localhost:8000/v1", False),
        ("http://127.0.0.1:8000/v1", False),
        ("http://192.168.1.20/v1", False),
        ("http://[::1]:8080/v1", False),
        ("http://gpu-box:8000/v1", False),
        ("http://gpu.internal/v1", False),
        (None, False),
    ],
)
def test_hosted_means_run_by_somebody_else(base_url: str | None, elsewhere: bool) -> None:
    settings: dict[str, Any] = {"base_url": base_url} if base_url else {}
    assert hosted(cast(Judge, SimpleNamespace(settings=settings))) is elsewhere

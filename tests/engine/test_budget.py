import genai_prices
import pytest

from attunement.engine.budget import Budget, JudgeBudget, Price, Size, price_of
from attunement.judges import Answer, Failure, Usage
from attunement.ratings import ErrorKind

PRICE = Price(prompt=10.0, completion=100.0, cached=1.0)
SIZE = Size(prompt=1000, items=1)


def answer(prompt: int, completion: int, cached: int = 0) -> Answer:
    return Answer("x", Usage(prompt, completion, cached), 0.1)


def test_cached_tokens_cost_their_own_price():
    assert PRICE.cost(Usage(1_000_000, 0, 400_000)) == pytest.approx(6.0 + 0.4)


def test_tokens_written_to_a_cache_cost_their_own_price_or_that_of_the_prompt_where_it_is_not_known():
    usage = Usage(1_000_000, 0, 400_000, 500_000)
    known = PRICE._replace(written=12.5)
    assert known.cost(usage) == pytest.approx(1.0 + 0.4 + 6.25)
    assert known.cost(usage.plus(usage)) == pytest.approx(2 * known.cost(usage))
    assert PRICE.cost(usage) == pytest.approx(6.0 + 0.4)


@pytest.mark.parametrize("model", ["claude-sonnet-4-5", "claude-3-5-haiku-latest", "claude-opus-4-1"])
def test_what_a_cache_is_written_and_read_for_costs_what_the_price_list_says(model: str):
    price = price_of(f"anthropic:{model}")
    assert price is not None
    listed = genai_prices.calc_price(
        genai_prices.Usage(input_tokens=10_850, cache_write_tokens=10_000, cache_read_tokens=800, output_tokens=170),
        model,
        provider_id="anthropic",
    )
    assert price.cost(Usage(10_850, 170, 800, 10_000)) == pytest.approx(float(listed.total_price))


def test_calls_beyond_the_limit_are_skipped():
    budget = JudgeBudget(Budget(max_calls=2), None)
    taken = [budget.reserve(Size(10, 1)) for _ in range(3)]
    assert taken[:2] == [0.0, 0.0]
    assert isinstance(taken[2], Failure)
    assert taken[2].kind is ErrorKind.SKIPPED


def test_calls_under_way_together_do_not_pass_the_limit_one_by_one():
    budget = JudgeBudget(Budget(max_cost=0.05), PRICE)
    taken = [budget.reserve(SIZE) for _ in range(10)]  # each reserves 0.01 for the prompt and 0.015 for the reply
    assert [isinstance(each, Failure) for each in taken] == [False] * 2 + [True] * 8
    assert isinstance(taken[-1], Failure)
    assert taken[-1].kind is ErrorKind.BUDGET


def test_replies_that_turn_out_long_make_later_calls_reserve_more():
    budget = JudgeBudget(Budget(max_cost=10.0), PRICE)
    first = budget.reserve(SIZE)
    assert isinstance(first, float)
    budget.settle(first, answer(1000, 5000), Usage(1000, 5000))
    assert budget.reserve(SIZE) == pytest.approx(0.01 + 0.5)


def test_five_items_in_one_call_reserve_five_answers():
    assert JudgeBudget(Budget(), PRICE).reserve(Size(1000, 5)) == pytest.approx(0.01 + 0.075)


def test_a_call_that_was_broken_off_gives_back_what_it_reserved():
    budget = Budget(max_cost=1.0)
    judge = JudgeBudget(budget, PRICE)
    reserved = judge.reserve(SIZE)
    assert isinstance(reserved, float)
    judge.settle(reserved, None, Usage())
    assert (budget.spent, budget.reserved) == (0, pytest.approx(0))


def test_what_was_reserved_is_replaced_by_what_it_cost():
    budget = Budget(max_cost=1.0)
    judge = JudgeBudget(budget, PRICE)
    reserved = judge.reserve(SIZE)
    assert isinstance(reserved, float)
    judge.settle(reserved, answer(2000, 10), Usage(2000, 10))
    assert budget.spent == pytest.approx(0.021)
    assert budget.reserved == pytest.approx(0)


def test_a_failure_costs_nothing():
    budget = Budget(max_cost=1.0)
    judge = JudgeBudget(budget, PRICE)
    reserved = judge.reserve(SIZE)
    assert isinstance(reserved, float)
    judge.settle(reserved, Failure(ErrorKind.SERVER, "gone"), Usage())
    assert (budget.spent, budget.reserved) == (0, pytest.approx(0))


def test_known_models_have_a_price_with_its_source_and_date():
    price = price_of("openai:gpt-4o")
    assert price is not None
    assert price.prompt > 0
    assert price.completion > price.prompt
    assert price.source.startswith("genai-prices ")
    assert "check" in price.source


def test_a_model_nobody_knows_has_no_price_and_one_on_this_machine_is_free():
    assert price_of("openai:no-such-model") is None
    assert price_of("openai:gpt-4o", base_url="http://127.0.0.1:8000/v1") is None
    local = price_of("local:model.gguf")
    assert local is not None
    assert local.cost(Usage(1000, 1000)) == 0

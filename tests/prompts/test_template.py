from attunement.prompts.prompt import Template


def test_variables_are_filled_and_unknown_braces_stay():
    assert Template('{a} {b} {"json": 1} {}').fill({"a": "1"}, around="c") == ['1 {b} {"json": 1} {}']


def test_a_value_that_holds_a_variable_is_not_filled_again():
    assert Template("{a} {b} {c}").fill({"a": "{b}", "b": "2"}, around="d") == ["{b} 2 {c}"]


def test_one_variable_may_be_left_to_be_put_between_the_texts():
    texts = Template("{a}: {b}, {b}").fill({"a": "{b}", "b": "unused"}, around="b")
    assert "2".join(texts) == "{b}: 2, 2"

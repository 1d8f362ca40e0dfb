from attunement.questions.template import Template


def test_variables_are_filled_and_unknown_braces_stay():
    assert Template('{a} {b} {"json": 1} {}').fill({"a": "1"}) == '1 {b} {"json": 1} {}'


def test_a_value_that_holds_a_variable_is_not_filled_again():
    assert Template("{a} {b} {c}").fill({"a": "{b}", "b": "2"}) == "{b} 2 {c}"

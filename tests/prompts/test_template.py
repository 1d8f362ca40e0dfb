from attunement.prompts.prompt import fill


def test_variables_are_filled_and_unknown_braces_stay():
    assert fill('{a} {b} {"json": 1} {}', {"a": "1"}) == ['1 {b} {"json": 1} {}']


def test_a_value_that_holds_a_variable_is_not_filled_again():
    assert fill("{a} {b} {c}", {"a": "{b}", "b": "2"}) == ["{b} 2 {c}"]


def test_only_the_places_of_the_transcript_in_the_text_itself_are_left_open():
    texts = fill("{a}: {conversation}, {conversation}", {"a": "{conversation}"})
    assert "2".join(texts) == "{conversation}: 2, 2"

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from attunement.instruments import available, load_file
from attunement.instruments.loader import SCHEMA_FILE, schema, schema_text
from tests.instruments.samples import FOLDER, criteria, instrument, scores

FILES = [*(entry.path for entry in available() if entry.built_in), *sorted(FOLDER.glob("*.yaml"))]
VALIDATOR = jsonschema.Draft202012Validator(schema())


def as_json(plain: dict[str, Any]) -> dict[str, Any]:
    """Plain data as an editor sees it, with text for property names."""
    return json.loads(json.dumps(plain))


def test_the_committed_schema_is_current():
    assert SCHEMA_FILE.read_text("utf-8") == schema_text(), (
        "the model has changed; run: attune instrument schema -o src/attunement/instruments/instrument.schema.json"
    )


def test_the_schema_is_a_valid_schema():
    jsonschema.Draft202012Validator.check_schema(schema())


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_instrument_of_the_package_fits_the_schema(path: Path):
    VALIDATOR.validate(as_json(load_file(path).model_dump(mode="json")))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_the_first_line_names_the_schema(path: Path):
    first, _ = path.read_text("utf-8").split("\n", 1)
    prefix, name = first.split("=")
    assert prefix == "# yaml-language-server: $schema"
    # A starter is copied to where its author keeps the schema beside it.
    assert name == SCHEMA_FILE.name if path.parent == FOLDER else (path.parent / name).resolve() == SCHEMA_FILE


@pytest.mark.parametrize(
    "plain",
    [
        criteria(colour="red"),
        criteria(version=1.0),
        criteria(scale={"kind": "stars"}),
        scores(items=[scores()["items"][0] | {"anchors": {"good": {"text": "x"}}}]),
        scores(items=[scores()["items"][0] | {"minimum_turns": 0}]),
        criteria(rules=[{"kind": "crisis_cue_but_na"}]),
    ],
)
def test_schema_and_model_refuse_the_same_faults(plain: dict[str, Any]):
    with pytest.raises(ValueError, match="validation error"):
        instrument(plain)
    assert not VALIDATOR.is_valid(as_json(plain))


def test_an_editor_can_show_what_a_key_is_for():
    item = schema()["$defs"]["Item"]["properties"]
    assert "not due" in item["minimum_turns"]["description"]

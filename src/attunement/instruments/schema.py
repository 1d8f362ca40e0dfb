"""What may stand in an instrument file, for editors: the JSON Schema of the model.

The first line of an instrument file names it, and an editor with a YAML language server then completes keys, shows
what each is for and marks what is not allowed. The schema is made from the models, so the two cannot differ.
"""

import json
from pathlib import Path
from typing import Any

from attunement.instruments.model import Instrument

SCHEMA_FILE = Path(__file__).with_name("instrument.schema.json")
"""The schema as a file, for the first line of the built-in instruments."""


def schema() -> dict[str, Any]:
    """The JSON Schema of an instrument file, draft 2020-12."""
    made = Instrument.model_json_schema()
    # Scores are numbers in YAML but property names are text in JSON; without a pattern any key would do.
    made["$defs"]["Item"]["properties"]["anchors"]["propertyNames"] = {"pattern": r"^-?[0-9]+$"}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema"} | made


def schema_text() -> str:
    """The schema as it is written to a file."""
    return json.dumps(schema(), indent=2, ensure_ascii=False) + "\n"

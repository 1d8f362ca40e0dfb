"""Small documents of our own in the two shapes that can be imported."""

import re
from pathlib import Path
from typing import Any

from attunement.instruments import Instrument
from attunement.instruments.importer import Imported, import_markdown

RUBRIC = """\
# Garden Talk Rubric - v1.2

> **Purpose**: Rates what a gardener says
> to a beginner.
>
> **Scale**: 1-3, whole numbers.
>
> **Scope**: One answer of the gardener.
>
> **Audience:** Volunteers.

---

## Dimension 1: Patience (`patience`)

**Definition**: Does the gardener give the beginner time?

| Score | Label | Description |
|-------|-------|-------------|
| 1     | Low   | Hurries. |
| 2     | Mid   | Waits, but sighs \\| looks away. |
| 3     | High  | Waits gladly. |

### Boundary guidance
- **1 vs 2**: Score **1** if there is no pause at all.
- **Rain rule**: In rain, hurry is fine
  and not counted.
- A joke is not impatience.

### Score 3 example
> **User**: "Which way up does it go?"
>
> **Response**: "Pointed end up. Take your time."

### Score 1 example (boundary)
> **User**: "And this one?"
>
> **Response**: "Up."

## Overall Score (`overall`)

All of it **together**.
Not a mean.

| Score | Description |
|-------|-------------|
| 1     | Poor. |
| 2     | Fair. |
| 3     | Fine. |

## Version History

| Version | Date | Changes |
|---------|------|---------|
| v1.1 | 2020-01-01 | First. |
| v1.2 | 2020-02-01 | Rain rule. |
"""

TEMPLATE = """\
# Kitchen Judge

Judges talks between cooks.

## Template Variables

- `{criterion_id}` - which one
- `{conversation}` - the talk

## System Prompt

```
You judge ONE thing, in at most 200 characters.

\t{criterion_id} ({criterion_category})
{criterion_prompt}
Answer as {"reasoning": "...", "answer": "..."}.
```

## User Prompt

```text
{conversation}

Now the JSON.
```

## Conversation Format

Turns look like this:

```
--- Turn 1 ---
User: [words]
Assistant: [words]
```

## Scoring Rules

### Answer Types

| Answer | Meaning |
|--------|---------|
| YES | It is so |
| NO | It is not so |
| NA | Nobody cooked |

### NA-Invalid Criteria

Never NA for these:

| Criterion | Why NA is Invalid |
|-----------|-------------------|
| K1 (Clean hands) | There are always hands |
| K4 (Knife safety) | There is always a knife |

### Safety Gate

K4 and K7 guard the kitchen. A NO closes it.

Exception: K7 (Fire) may be NA where nothing is hot.

## Reasoning Pattern

A good reason:

1. **Cite**: the turn
2. **Conclude**: the answer

Bad reasons:
- "Fine."

## Usage Notes

1. **One at a time**: one criterion a call
2. **All of it**: the whole talk
"""


def import_text(folder: Path, text: str | bytes, name: str = "document.md", **options: Any) -> Imported:
    """Import a document given as text."""
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return import_markdown(path, **options)


def words_of(instrument: Instrument) -> list[str]:
    """Every text that stands anywhere in an instrument."""

    def texts(value: Any) -> list[str]:
        if isinstance(value, dict):
            return [text for entry in value.items() for text in texts(entry)]
        if isinstance(value, list | tuple):
            return [text for entry in value for text in texts(entry)]
        return [str(value)]

    return texts(instrument.model_dump())


def numbered(text: str, pattern: str) -> list[int]:
    """The numbers of the lines that match."""
    return [number for number, line in enumerate(text.split("\n"), start=1) if re.search(pattern, line)]

"""Writes the pages of the reference that repeat what the code says, so that they cannot say anything else.

`python docs/generate_reference.py` writes them; a test fails if one is out of date. With the folder of a built site as
argument it writes the JSON schemas into that site instead.
"""

import json
import re
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
MADE = "<!-- Made by docs/generate_reference.py from the code: change the code, not this page. -->"


def pages() -> dict[str, Callable[[], str]]:
    """What makes each generated page, by its path below `docs/`."""
    return {
        "reference/cli.md": commands_page,
        "reference/instrument-fields.md": instrument_page,
        "reference/report-fields.md": report_page,
        "reference/export-columns.md": columns_page,
    }


def schemas() -> dict[str, str]:
    """Each JSON schema by its path in the site."""
    from attunement import instruments, reports

    return {
        "reference/instrument.schema.json": _text(Path(instruments.__file__).parent / "instrument.schema.json"),
        "reference/report.schema.json": _text(Path(reports.__file__).parent / "schemas" / "report.json"),
    }


def write_schemas(site: Path) -> None:
    for path, text in schemas().items():
        (site / path).write_text(text, "utf-8")


# Commands


def commands() -> Iterator[tuple[str, Any, Any]]:
    """Every command with its full name and its context, in the order of the help."""
    import typer

    from attunement.cli import app

    root: Any = typer.main.get_command(app)
    context = root.make_context("attune", [], resilient_parsing=True)
    yield from _below(root, context)


def _below(group: Any, context: Any) -> Iterator[tuple[str, Any, Any]]:
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        inner = type(context)(command, info_name=name, parent=context)
        yield inner.command_path, command, inner
        if hasattr(command, "list_commands"):
            yield from _below(command, inner)


def commands_page() -> str:
    """What every command takes, as its `--help` has it."""
    parts = [
        MADE,
        "# Commands",
        "Each command explains itself with `--help`. Keys of judges come from the environment. Where something is "
        "wrong with what you gave it, a command prints one sentence and ends with [exit code 2](exit-codes.md); "
        "`attune --debug COMMAND` shows where in the program that was. `attune --version` prints the version.",
        _table(("command", "what it does"), _overview()),
    ]
    for path, command, context in commands():
        parts.append(f"## {path}")
        parts += _told(command.help)
        parts.append(f"`{_usage(command, context)}`")
        for kind in ("argument", "option"):
            taken = [each for each in command.params if each.param_type_name == kind and each.name != "help"]
            if taken:
                parts.append(_table((kind, "meaning"), [_parameter(each, context) for each in taken]))
    return "\n\n".join(parts) + "\n"


def _overview() -> Iterator[tuple[str, str]]:
    for path, command, _ in commands():
        anchor = path.replace(" ", "-")
        yield f"[`{path}`](#{anchor})", _cell(str(command.help).split("\n\n")[0])


def _told(text: str) -> list[str]:
    """The paragraphs of a help text; what it gives as an example stands by itself."""
    paragraphs = [" ".join(paragraph.split()) for paragraph in text.strip().split("\n\n")]
    return [
        f"Example:\n\n```text\n{paragraph.removeprefix('Example: ')}\n```"
        if paragraph.startswith("Example: ")
        else _escaped(paragraph)
        for paragraph in paragraphs
    ]


def _usage(command: Any, context: Any) -> str:
    return " ".join([context.command_path, *command.collect_usage_pieces(context)])


def _parameter(parameter: Any, context: Any) -> tuple[str, str]:
    """The name of an argument or option as one types it, and what it is for."""
    name, told = parameter.get_help_record(context)
    for pattern, plain in _PLAIN.items():
        name, told = re.sub(pattern, plain, name), re.sub(pattern, plain, told)
    return f"`{name}`".replace("|", r"\|"), _cell(told)


_PLAIN = {
    r" <(str|path|list\[\w+\])>": "",
    r"<(int|float)( range)?>": "NUMBER",
    r"<([\w|-]+)>": r"\1",
    r"\b([\d.]+)<=x<=([\d.]+)": r"\1 to \2",
    r"\bx>=([\d.]+)": r"at least \1",
}
"""What Python calls a kind of value, and what people call it."""


# JSON schemas


def instrument_page() -> str:
    """The fields of an instrument file."""
    schema = json.loads(schemas()["reference/instrument.schema.json"])
    parts = [
        MADE,
        "# Fields of an instrument",
        "What can stand in an [instrument file](instruments.md). Unknown fields are refused. The same as a JSON "
        "schema, for editors: [instrument.schema.json](instrument.schema.json), or `attune instrument schema`.",
        "## The file",
        _cell(schema.get("description", "")),
        _fields(schema),
    ]
    for name, part in schema["$defs"].items():
        if "properties" in part:
            parts += [f"## {name}", _cell(part.get("description", "")), _fields(part)]
        else:
            values = ", ".join(f"`{value}`" for value in part["enum"])
            parts += [f"## {name}", _cell(part.get("description", "")), f"One of {values}."]
    return "\n\n".join(part for part in parts if part) + "\n"


def _fields(schema: Mapping[str, Any]) -> str:
    required = schema.get("required", [])
    rows = [
        (
            f"`{name}`",
            _kind(field) + ("" if name in required else _default(field)),
            _cell(field.get("description", "")),
        )
        for name, field in schema["properties"].items()
    ]
    return _table(("field", "holds", "meaning"), rows)


def _default(field: Mapping[str, Any]) -> str:
    default = field.get("default")
    told = "" if default in (None, "", [], {}) or isinstance(default, dict | list) else f", else `{default}`"
    return f"; may be left out{told}"


def _kind(field: Mapping[str, Any]) -> str:
    """What a field holds, in words; parts of the file link to their table."""
    if "$ref" in field:
        name = field["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "const" in field:
        return f"`{json.dumps(field['const'])}`"
    if "enum" in field:
        return "one of " + ", ".join(f"`{value}`" for value in field["enum"])
    for several in ("anyOf", "oneOf"):
        if several in field:
            kinds = [_kind(each) for each in field[several] if each.get("type") != "null"]
            return " or ".join(dict.fromkeys(kinds))
    return _typed(field)


def _typed(field: Mapping[str, Any]) -> str:
    kind = field.get("type", "any value")
    if isinstance(kind, list):
        return " or ".join(_typed({**field, "type": each}) for each in kind)
    if kind == "array":
        if "prefixItems" in field:
            return f"list of {len(field['prefixItems'])} values"
        return f"list of {_kind(field.get('items', {}))}"
    if kind == "object":
        inner = field.get("additionalProperties")
        return f"names, each with {_kind(inner)}" if isinstance(inner, dict) and inner else "object"
    words = {"string": "text", "integer": "whole number", "number": "number", "boolean": "true or false"}
    return words.get(kind, "nothing (null)" if kind == "null" else kind) + _bounds(field)


def _bounds(field: Mapping[str, Any]) -> str:
    told = {"minimum": "from", "exclusiveMinimum": "above", "maximum": "to", "exclusiveMaximum": "below"}
    bounds = [f"{word} {field[name]:g}" for name, word in told.items() if name in field]
    return f" {' '.join(bounds)}" if bounds else ""


def report_page() -> str:
    """The fields of `attune report --json`."""
    schema = json.loads(schemas()["reference/report.schema.json"])
    rows = [(f"`{path}`", _kind(field), _cell(field.get("description", ""))) for path, field in _paths(schema)]
    parts = [
        MADE,
        "# Fields of the JSON report",
        f"{_cell(schema['description'])} A dot leads into an object, `[]` means each entry of a list, and `*` for "
        "any name. The same as a JSON schema: [report.schema.json](report.schema.json).",
        _table(("field", "holds", "meaning"), rows),
    ]
    return "\n\n".join(parts) + "\n"


def _paths(schema: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, Mapping[str, Any]]]:
    for name, field in schema.get("properties", {}).items():
        yield f"{path}{name}", field
        yield from _inside(field, f"{path}{name}")
    inner = schema.get("additionalProperties")
    if isinstance(inner, dict) and inner:
        yield from _inside(inner, f"{path}*")


def _inside(field: Mapping[str, Any], path: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for several in ("anyOf", "oneOf"):
        for each in field.get(several, ()):
            yield from _inside(each, path)
    if "items" in field:
        yield from _inside(field["items"], f"{path}[]")
    else:
        yield from _paths(field, f"{path}.")


# Tables


def columns_page() -> str:
    """The columns of the tables that `attune export` writes."""
    from attunement.instruments import load
    from attunement.reports.dictionary import Described, dictionary
    from attunement.store import Study, export
    from attunement.store.audit_log import AUDIT_COLUMNS
    from attunement.store.samples import PRACTICE_COLUMNS

    instrument = load("coaching-v1")
    with tempfile.TemporaryDirectory() as folder, Study(Path(folder) / "empty.study.db", create=True) as study:
        tables: dict[str, list[Described]] = {
            "ratings": dictionary("ratings", export.ratings(study).columns),
            "scorecards": dictionary("scorecards", export.scorecards(study, instrument).columns, instrument),
            "answers": dictionary("answers", export.answers(study).columns),
            "practice": dictionary("practice", PRACTICE_COLUMNS),
            "events": dictionary("events", AUDIT_COLUMNS),
        }
    parts = [
        MADE,
        "# Columns of exported tables",
        "What `attune export` writes; `--dictionary FILE` writes the same for one table. New columns are added at the "
        "end. Answers are spelled as in the instrument, for programs; what people read is explained in the "
        "[glossary](glossary.md). In CSV files an answer that does not apply is `not_applicable`, because pandas and R "
        "read `NA` as a missing value; `attune import` accepts both.",
    ]
    for name, described in tables.items():
        parts.append(f"## {name.capitalize()}")
        if name == "scorecards":
            parts.append("The columns of categories are those of the instrument, here `coaching-v1`.")
        rows = [(f"`{one.column}`", one.type, _cell(one.meaning), _cell(one.values)) for one in described]
        parts.append(_table(("column", "type", "meaning", "values"), rows))
    return "\n\n".join(parts) + "\n"


# Markdown


def _table(head: Sequence[str], rows: Any) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _cell(text: str) -> str:
    return _escaped(" ".join(text.split())).replace("|", r"\|")


def _escaped(text: str) -> str:
    """Text in which Markdown finds no markup of its own, except what stands between backticks."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(part if part.startswith("`") else re.sub(r"([*_<>\[\]])", r"\\\1", part) for part in parts)


def _text(path: Path) -> str:
    return path.read_text("utf-8")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        write_schemas(Path(sys.argv[1]))
    else:
        for page, make in pages().items():
            (FOLDER / page).write_text(make(), "utf-8")

"""Read YAML files, and say in one sentence which file and line is wrong."""

from pathlib import Path
from typing import Any

import yaml
from yaml.composer import Composer

from attunement.errors import AttunementError


def read_text(path: Path, error: type[AttunementError]) -> str:
    """The text of a file; an `error` names the file if it cannot be read or is not UTF-8."""
    try:
        return path.read_text("utf-8-sig")
    except OSError as problem:
        raise error(f"{path} cannot be read: {problem.strerror or problem}") from problem
    except UnicodeDecodeError as problem:
        raise error(f"{path} is not UTF-8 text: {problem.reason} at byte {problem.start}") from problem


def read_yaml(path: Path, loader: type[Any], error: type[AttunementError]) -> Any:
    """What a file says; an `error` names the file and the line if it is not YAML that `loader` accepts."""
    try:
        return yaml.load(read_text(path, error), Loader=loader)  # noqa: S506 - all of ours are safe loaders
    except yaml.MarkedYAMLError as problem:
        line = f", line {problem.problem_mark.line + 1}" if problem.problem_mark else ""
        raise error(f"{path}{line}: {problem.problem or problem.context}") from problem
    except yaml.YAMLError as problem:
        raise error(f"{path} is not YAML: {' '.join(str(problem).split())}") from problem
    except ValueError as problem:
        raise error(f"{path} holds a number that cannot be read: {problem}") from problem
    except RecursionError as problem:
        raise error(f"{path} is nested too deeply") from problem


class UniqueKeys(Composer):
    """Mixed into a loader, it refuses a key given twice; YAML itself would silently keep the last one."""

    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
        node = super().compose_mapping_node(anchor)
        seen: set[str] = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise yaml.MarkedYAMLError(problem="a key must be a single word or number", problem_mark=key.start_mark)
            if key.value in seen:
                raise yaml.MarkedYAMLError(problem=f"the key {key.value!r} is there twice", problem_mark=key.start_mark)
            seen.add(key.value)
        return node


class TextLoader(UniqueKeys, yaml.BaseLoader):
    """Reads every value as the text it is: 024 stays 024, NO stays Norway."""

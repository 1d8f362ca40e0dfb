"""Studies of both kinds, and the environment in which other tools live."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.postgres import postgres, study_place

__all__ = ["in_partners", "postgres", "study_place"]


@pytest.fixture(scope="session")
def in_partners() -> Callable[[str, Any], Any]:
    """Runs a program in the partners' environment: it reads `given` and sets `answer`."""
    python = Path(__file__).parents[3] / ".partners" / "bin" / "python"
    if not python.exists():
        pytest.skip("Label Studio's and Argilla's packages are not installed: make parts")

    def run(program: str, given: Any) -> Any:
        whole = f"import json, sys\ngiven = json.load(sys.stdin)\n{program}\nprint('\\n' + json.dumps(answer))\n"
        done = subprocess.run([python, "-c", whole], input=json.dumps(given), capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout.splitlines()[-1])

    return run

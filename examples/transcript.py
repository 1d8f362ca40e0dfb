"""Write what `attune demo` prints into the README, between its two marks.

    python examples/transcript.py          # writes it
    python examples/transcript.py --check  # exits 1 if the README shows something else

The time that judging takes and the lines of progress are left out, because they differ from machine to machine.
"""

import os
import re
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
BEGIN, END = "<!-- demo: begin -->", "<!-- demo: end -->"


def transcript() -> str:
    """The output of the demo on a terminal of 80 columns, without colours, times and progress."""
    plain = {key: value for key, value in os.environ.items() if not key.endswith("_API_KEY")}
    with TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, "-m", "attunement", "demo", "--folder", folder],
            cwd=ROOT,
            env={**plain, "COLUMNS": "80", "NO_COLOR": "1", "TERM": "dumb"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=True,
        )
    text = done.stdout.replace(folder, "attunement-demo")
    text = re.sub(r"( in )[\d.]+( s\b)", r"\1…\2", text)
    text = re.sub(r"^\d+ of \d+ conversations · .*\n", "", text, flags=re.MULTILINE)
    return "\n".join(line.rstrip() for line in text.strip("\n").splitlines())


def written(readme: str, shown: str) -> str:
    """The README with `shown` between the marks."""
    before, _, rest = readme.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n```text\n{shown}\n```\n{END}{after}"


def main() -> int:
    """Write or check; returns the exit code."""
    readme = README.read_text("utf-8")
    new = written(readme, transcript())
    if "--check" in sys.argv:
        return int(new != readme)
    README.write_text(new, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

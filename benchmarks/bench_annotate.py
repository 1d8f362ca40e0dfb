"""How long does a rater wait for a save and for a page while 50 people rate at once?

`attune annotate` serves one study in a process of its own; the raters, in this process, set a value about every two
seconds, each at a pace of their own. Printed are the median and the tail of the waiting time, and the CPU time of the
server, which does not depend on what else the machine does. Once with SQLite, once with PostgreSQL where it is there.

    python benchmarks/bench_annotate.py [--raters 50] [--units 5] [--think 2] [--database sqlite]
"""

import argparse
import asyncio
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

import numpy as np
import psycopg
from tests.annotation.projects import EMPATHY, begin_project
from tests.postgres import programs, unprivileged_user
from tests.web.simulated_raters import SimulatedRater, served, work_together

from attunement.annotation.access import issue
from attunement.conversations import Conversation, Origin, Turn
from attunement.store.projects import Role, members
from benchmarks.bench_engine import SENTENCE

TURNS = 12
PARTS = ("save", "page", "submit", "next")


def talks(count: int) -> list[Conversation]:
    """Conversations of a dozen turns."""
    turns = [Turn(f"{turn} {SENTENCE * 2}", f"{turn} {SENTENCE * 4}") for turn in range(TURNS)]
    return [Conversation(f"c{number}", "bench", tuple(turns), origin=Origin.WRITTEN) for number in range(count)]


def measure(place: str, *, count: int, units: int, think: float) -> None:
    """Let raters work on a new study at `place` and print how long they waited."""
    # Each unit is a reply and goes to three raters.
    begun = begin_project(place, talks(-(-count * (units + 1) // 3 // TURNS)), raters=count)
    raters = members(begun.study, begun.project, Role.RATER)
    tokens = [issue(begun.study, begun.project, member) for member in raters]
    begun.study.close()
    items = [item.id for item in EMPATHY.items]
    with served(place, EMPATHY.id) as server:
        raters = [
            SimulatedRater(server.address, token, items, seed=seed, think=think) for seed, token in enumerate(tokens)
        ]
        before, start = cpu_seconds(server.process.pid), time.perf_counter()
        asyncio.run(work_together(raters, units))
        seconds, cpu = time.perf_counter() - start, cpu_seconds(server.process.pid) - before
    report(raters, seconds, cpu)


def report(raters: Sequence[SimulatedRater], seconds: float, cpu: float) -> None:
    """Print what was measured."""
    asked = [entry for rater in raters for entry in rater.asked]
    failed = sum(entry.status >= 400 for entry in asked)
    print(
        f"{len(raters)} raters, {seconds:.0f} s, {len(asked):,} requests, {failed} failed; server: {cpu:.1f} s of CPU, "
        f"{1000 * cpu / len(asked):.1f} ms a request; load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
    )
    for part in PARTS:
        took = [1000 * entry.seconds for entry in asked if entry.what == part]
        median, most, nearly_all = np.percentile(took, [50, 95, 99])
        print(f"  {part:6} {len(took):6,}: median {median:6.1f} ms, 95 % {most:6.1f} ms, 99 % {nearly_all:6.1f} ms")


def cpu_seconds(process: int) -> float:
    """The CPU time of a process so far (Linux)."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def postgres(folder: Path) -> Iterator[str]:
    """The address of an empty database of a server that keeps what it confirms, unlike the one of the tests."""
    found, user = programs(), unprivileged_user()
    as_user = {} if user is None else {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
    if user is not None:
        os.chown(folder, user.pw_uid, user.pw_gid)
    make = [found / "initdb", "-D", folder / "data", "-U", "owner", "-A", "trust", "-E", "UTF8", "--locale=C"]
    subprocess.run(make, check=True, capture_output=True, cwd=folder, **as_user)
    start = [found / "postgres", "-D", folder / "data", "-c", "listen_addresses=", "-k", folder]
    with subprocess.Popen(start, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder, **as_user) as server:
        try:
            address = f"postgresql://owner@/postgres?host={folder}"
            wait_for(address)
            yield address
        finally:
            server.terminate()


def wait_for(address: str) -> None:
    """Return once the database answers."""
    for _ in range(300):
        try:
            psycopg.connect(address).close()
            return
        except psycopg.OperationalError:
            time.sleep(0.1)
    raise RuntimeError("PostgreSQL did not start")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--raters", type=int, default=50)
    parser.add_argument("--units", type=int, default=5)
    parser.add_argument("--think", type=float, default=2.0, help="seconds between two values; 0: as fast as it goes")
    parser.add_argument("--database", choices=["sqlite", "postgresql"], default=None, help="both")
    chosen = parser.parse_args()
    size = {"count": chosen.raters, "units": chosen.units, "think": chosen.think}
    with tempfile.TemporaryDirectory() as folder:
        if chosen.database != "postgresql":
            print("SQLite:", end=" ", flush=True)
            measure(str(Path(folder) / "a.study.db"), **size)
    if chosen.database != "sqlite" and programs() is not None:
        with tempfile.TemporaryDirectory(prefix="attune-pg-") as folder, postgres(Path(folder)) as address:
            print("PostgreSQL:", end=" ", flush=True)
            measure(address, **size)


if __name__ == "__main__":
    main()

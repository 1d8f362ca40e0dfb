"""How large is a report, how long does it take to write, and does memory grow with the study?

Studies of 25-turn conversations with 18 answers each, every second answer with a quotation, are written as reports.
Each report is made in a process of its own, whose peak memory is shown. Where Chromium and Playwright are there, the
time to the first paint of the file is shown too; the aim is less than a second, and less than 25 MB for 1,000
conversations.

    python benchmarks/bench_report.py [10 1000 100000]
"""

import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from attunement.conversations import Conversation, Turn
from attunement.evidence import CitationStatus, Finding, to_json
from attunement.instruments import load
from attunement.ratings import Outcome, RaterKind, Rating
from attunement.reports.html.listing import Listing
from attunement.reports.html.writing import write_page
from attunement.reports.privacy import SHOW_ALL
from attunement.reports.study_report import Report
from attunement.store import StoredRating, Study
from benchmarks.bench_reading import REPLY_WORDS, TURNS, USER_WORDS, VOCABULARY

INSTRUMENT = load("coaching-v1")
SYSTEMS = ("Harbor", "Lumen")
REASON_WORDS = 60
BATCH = 500
MOST_MEGABYTES = 25


def fill(path: Path, count: int) -> None:
    """A study in which one answer in eight is "not met" and one conversation in fifty unsafe."""
    chance, words = random.Random(7), VOCABULARY.split()

    def pool(shortest: int, longest: int) -> list[str]:
        return [" ".join(chance.choices(words, k=chance.randint(shortest, longest))) for _ in range(2000)]

    users, replies, reasons = pool(*USER_WORDS), pool(*REPLY_WORDS), pool(REASON_WORDS // 2, REASON_WORDS * 3 // 2)
    with Study(path, create=True) as study:
        study.save_instrument(INSTRUMENT)
        judge = study.save_rater("judge-1", RaterKind.MODEL, {})
        for start in range(0, count, BATCH):
            talks = [
                Conversation(
                    f"c{number}",
                    SYSTEMS[number % 2],
                    tuple(Turn(chance.choice(users), chance.choice(replies)) for _ in range(TURNS)),
                    {"scenario": f"scenario-{number // 2 % 40}"},
                )
                for number in range(start, min(start + BATCH, count))
            ]
            keys = study.save_conversations(talks)
            study.write(
                [],
                [
                    StoredRating(key, judge.key, rating)
                    for key, talk in zip(keys, talks, strict=True)
                    for rating in ratings(talk, reasons, chance)
                ],
            )


def ratings(talk: Conversation, reasons: list[str], chance: random.Random) -> Iterator[Rating]:
    for number, item in enumerate(INSTRUMENT.items):
        gate = item.id in INSTRUMENT.gate_ids
        answer = "NO" if chance.random() < (0.01 if gate else 0.125) else "YES"
        reasoning, evidence = chance.choice(reasons), ()
        if number % 2:
            turn = chance.randrange(TURNS)
            quote = talk.turns[turn].assistant[:40]
            reasoning = f"Turn {turn + 1}: '{quote}' {reasoning}"
            start = reasoning.index("'")
            found = Finding(
                CitationStatus.FOUND, (turn + 1,), quote, turn + 1, "assistant", 0, len(quote),
                reasoning_start=start, reasoning_end=start + len(quote) + 2,
            )  # fmt: skip
            evidence = (to_json(found),)
        yield Rating(
            talk.identity, None, item.id, Outcome.of(answer), "judge-1", reasoning=reasoning, evidence=evidence,
            item_hash=INSTRUMENT.item_hashes[item.id], asked=f"{talk.id}-{item.id}", instrument=INSTRUMENT.hash,
        )  # fmt: skip


def child(path: Path, output: Path) -> None:
    start = time.perf_counter()
    with Study(path) as study, Listing() as listing:
        written = write_page(Report(study, INSTRUMENT, listing, SHOW_ALL), output)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{written.form} {written.files} {written.bytes / 1e6:.2f} {time.perf_counter() - start:.1f} {peak:.0f}")


def first_paint(file: Path) -> str:
    """Milliseconds until a browser shows something of the file."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return "not measured"
    if (chromium := shutil.which("chromium")) is None:
        return "not measured"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page()
        page.goto(f"file://{file}")
        page.wait_for_selector("form.filters:visible", timeout=60_000)
        painted = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
        ready = page.evaluate("performance.now()")
        browser.close()
    return f"{painted:.0f} ms, filters ready after {ready:.0f} ms"


def main() -> None:
    if sys.argv[1:2] == ["--child"]:
        child(Path(sys.argv[2]), Path(sys.argv[3]))
        return
    counts = [int(count) for count in sys.argv[1:]] or [10, 1_000, 100_000]
    with tempfile.TemporaryDirectory() as folder:
        for count in counts:
            study, output = Path(folder) / f"{count}.db", Path(folder) / f"{count}.html"
            fill(study, count)
            made = subprocess.run(
                [sys.executable, __file__, "--child", str(study), str(output)],
                check=True, capture_output=True, text=True,
            )  # fmt: skip
            form, files, size, seconds, peak = made.stdout.split()
            print(
                f"{count:,} conversations of {TURNS} turns: {form}, {int(files):,} file{'s' * (files != '1')}, "
                f"{float(size):,.1f} MB ({output.name}: {output.stat().st_size / 1e6:.1f} MB), {seconds} s, "
                f"peak memory {peak} MB; first paint {first_paint(output)}",
                flush=True,
            )
            if count == 1_000:
                print(f"under {MOST_MEGABYTES} MB:", "reached" if float(size) < MOST_MEGABYTES else "missed")
            study.unlink()
            shutil.rmtree(output.with_name(f"{output.stem}.pages"), ignore_errors=True)


if __name__ == "__main__":
    main()

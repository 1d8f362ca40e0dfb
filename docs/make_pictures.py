"""Make the pictures of the README: the report of the demo, and a page where people rate.

    python docs/make_pictures.py

It needs Chromium and the development environment, and writes to docs/pictures.
"""

import re
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from time import sleep

from playwright.sync_api import Page, sync_playwright

ROOT = Path(__file__).parents[1]
PICTURES = ROOT / "docs" / "pictures"
CHROMIUM = "/usr/bin/chromium"
SETUP = "settings: {calibration: 0, attention: 0, repeats: 0, per_unit: 1}\n"
UNIT = "Lumen/fathers-chair\n"


def main() -> None:
    """Run the demo, open both pages, and take a picture of each."""
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1440, "height": 1000}, color_scheme="light")
        _attune("demo", "--folder", folder)
        page.goto((Path(folder) / "report.html").as_uri())
        page.screenshot(path=PICTURES / "report.png")
        _picture_of_rating(page, Path(folder))
        browser.close()


def _attune(*words: str) -> None:
    subprocess.run([sys.executable, "-m", "attunement", *words], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)


def _picture_of_rating(page: Page, folder: Path) -> None:
    study, setup, ids = folder / "rate.study.db", folder / "setup.yaml", folder / "ids.txt"
    setup.write_text(SETUP)
    ids.write_text(UNIT)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = ["annotate", str(study), "-i", "empathy-v2", "--raters", "1", "--conversations", "examples/replies.jsonl"]
    command = [sys.executable, "-u", "-m", "attunement", *words, "-s", str(setup), "--ids", str(ids)]
    with subprocess.Popen([*command, "--port", str(port)], cwd=ROOT, stdout=subprocess.PIPE, text=True) as server:
        try:
            link = _link(server)
            _wait_for(port)
            _rate(page, link)
        finally:
            server.terminate()


def _link(server: subprocess.Popen[str]) -> str:
    link = None
    for line in server.stdout or ():
        link = link or next(iter(re.findall(r"http://\S+/enter/\S+", line)), None)
        if "Ctrl+C" in line and link:
            return link
    raise SystemExit("attune annotate printed no link")


def _wait_for(port: int) -> None:
    """Wait until the server listens: it prints its links a moment earlier."""
    for _ in range(200):
        with socket.socket() as trial:
            if trial.connect_ex(("127.0.0.1", port)) == 0:
                return
        sleep(0.1)


def _rate(page: Page, link: str) -> None:
    page.goto(link)
    page.fill("#profession", "psychologist")
    page.keyboard.press("Enter")
    page.wait_for_url("**/welcome")
    page.keyboard.press("Enter")
    page.wait_for_url("**/unit/*")
    for key in ("2", "ArrowDown", "1", "ArrowDown"):
        page.keyboard.press(key)
    page.get_by_text("All saved").wait_for()
    page.screenshot(path=PICTURES / "rate.png")


if __name__ == "__main__":
    main()

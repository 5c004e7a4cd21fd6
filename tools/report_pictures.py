#!/usr/bin/env python3
"""Makes the pictures of a page in docs/images: runs docs/images/report.toml, writes the page, and pictures whole parts of it.

Usage: tools/report_pictures.py [--program build/release/laptime] [--page PAGE.html]
With --page no point runs. The times in the pictures are those of this machine: run it where nothing else runs.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from browser import Browser, find_chromium

ROOT = Path(__file__).resolve().parent.parent
IMAGES = ROOT / "docs/images"

# (picture, width of the window, dark, the elements from the first of which to the last it goes).
PICTURES = (
    ("report.png", 1200, False, ("header h1", "nav")),
    ("report_times.png", 1200, False, ("#step-time h2", "#step-time figure")),
    ("report_classes.png", 1200, False, ("#classes h2", "#classes figure")),
    ("report_memory.png", 1200, False, ("#memory h2", "#memory figure")),
    ("report_dark.png", 1200, True, ("#roofline h2", "#roofline figure")),
    ("report_phone.png", 390, True, ("#timeline figure:nth-of-type(3)",)),
)


def make_page(program: Path, folder: Path) -> Path:
    page = folder / "page.html"
    subprocess.run([program, "report", IMAGES / "report.toml", "--store", folder / "store.sqlite", "--html", page], check=True)
    return page


def take_pictures(page: Path, folder: Path) -> None:
    with Browser() as browser:
        for name, width, dark, parts in PICTURES:
            browser.resize(width, 900)
            browser.show_as(dark=dark)
            browser.open(page)
            browser.draw_all()
            (folder / name).write_bytes(browser.picture(*parts))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=Path, default=ROOT / "build/release/laptime")
    parser.add_argument("--page", type=Path)
    arguments = parser.parse_args()
    if not find_chromium():
        sys.exit("report_pictures: there is no Chromium; install the package chromium")
    with tempfile.TemporaryDirectory() as folder:
        take_pictures(arguments.page or make_page(arguments.program.resolve(), Path(folder)), IMAGES)


if __name__ == "__main__":
    main()

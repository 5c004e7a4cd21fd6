#!/usr/bin/env python3
"""Makes the pictures of a page in docs/images: runs docs/images/report.toml, writes the page, and pictures whole parts of it.

Usage: tools/report_pictures.py [--program build/release/laptime] [--store FILE | --page PAGE.html]
                                [--images docs/images]
The times in the pictures are those of this machine: run it where nothing else runs. With --store the records are kept in
that file, and taken from it where it is there already, so that pictures can be drawn again of what was measured before.
With --page no point runs either.
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
    ("report_comparisons.png", 1200, False, ("#comparisons",)),
    ("report_times.png", 1200, False, ("#step-time h2", "#step-time figure")),
    ("report_classes.png", 1200, False, ("#classes h2", "#classes figure")),
    ("report_memory.png", 1200, False, ("#memory h2", "#memory figure")),
    ("report_dark.png", 1200, True, ("#roofline h2", "#roofline figure")),
    ("report_predicted.png", 1200, False, ("#prediction h2", "#prediction figure")),
    ("report_published.png", 1200, False, ("#published h2", "#published figure")),
    ("report_phone.png", 390, True, ("#timeline figure:nth-of-type(3)",)),
)


def make_page(program: Path, store: Path, folder: Path) -> Path:
    page = folder / "page.html"
    words = [] if store.exists() else [IMAGES / "report.toml"]
    subprocess.run([program, "report", *words, "--store", store, "--html", page], check=True)
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
    parser.add_argument("--store", type=Path)
    parser.add_argument("--page", type=Path)
    parser.add_argument("--images", type=Path, default=IMAGES)
    arguments = parser.parse_args()
    if not find_chromium():
        sys.exit("report_pictures: there is no Chromium; install the package chromium")
    if arguments.store and arguments.page:
        sys.exit("report_pictures: --page needs no --store; give one of them")
    with tempfile.TemporaryDirectory() as folder:
        store = arguments.store or Path(folder) / "store.sqlite"
        page = arguments.page or make_page(arguments.program.resolve(), store, Path(folder))
        take_pictures(page, arguments.images)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Makes the pictures of pages in docs/images: runs the sweeps there, writes their pages, and pictures whole parts of them.

Usage: tools/report_pictures.py [--program build/release/laptime] [--store FILE | --page PAGE.html]
                                [--images docs/images]
The times in the pictures are those of this machine: run it where nothing else runs. With --store the records are kept in
that file, and those of the second sweep in one beside it; they are taken from there if the files exist, so that pictures
can be drawn again of what was measured before. With --page no point runs, and all pictures are of that page.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from browser import Browser, find_chromium

ROOT = Path(__file__).resolve().parent.parent
IMAGES = ROOT / "docs/images"

# (picture, sweep of its page, width of the window, dark, the elements from the first of which to the last it goes).
REPORT = "report"
PUBLISHED = "report_published"
PICTURES = (
    ("report.png", REPORT, 1200, False, ("header h1", "nav")),
    ("report_comparisons.png", REPORT, 1200, False, ("#comparisons",)),
    ("report_times.png", REPORT, 1200, False, ("#step-time h2", "#step-time figure")),
    ("report_samples.png", REPORT, 1200, False, ("#samples h2", "#samples figure")),
    ("report_classes.png", REPORT, 1200, False, ("#classes h2", "#classes figure")),
    ("report_memory.png", REPORT, 1200, False, ("#memory h2", "#memory figure")),
    ("report_dark.png", REPORT, 1200, True, ("#roofline h2", "#roofline figure")),
    ("report_predicted.png", REPORT, 1200, False, ("#prediction",)),
    ("report_published.png", PUBLISHED, 1200, False, ("#published h2", "#published figure")),
    ("report_phone.png", REPORT, 390, True, ("#timeline figure:nth-of-type(3)",)),
)


def make_page(program: Path, sweep: str, store: Path, folder: Path) -> Path:
    page = folder / f"{sweep}.html"
    words = [] if store.exists() else [IMAGES / f"{sweep}.toml"]
    subprocess.run([program, "report", *words, "--store", store, "--html", page], check=True)
    return page


def take_pictures(pages: dict[str, Path], folder: Path) -> None:
    with Browser() as browser:
        for name, sweep, width, dark, parts in PICTURES:
            browser.resize(width, 900)
            browser.show_as(dark=dark)
            browser.open(pages[sweep])
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
        pages = {sweep: arguments.page for sweep in (REPORT, PUBLISHED)}
        if not arguments.page:
            store = arguments.store or Path(folder) / "store.sqlite"
            stores = {REPORT: store, PUBLISHED: store.with_stem(f"{store.stem}_published")}
            pages = {sweep: make_page(arguments.program.resolve(), sweep, path, Path(folder)) for sweep, path in stores.items()}
        take_pictures(pages, arguments.images)


if __name__ == "__main__":
    main()

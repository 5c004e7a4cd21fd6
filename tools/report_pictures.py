#!/usr/bin/env python3
"""Makes the pictures of a page in docs/images: runs docs/images/report.toml and captures parts of its page.

Usage: tools/report_pictures.py [--program build/release/laptime] [--store FILE]
       tools/report_pictures.py --page PAGE.html --images FOLDER

All pictures are of one page. The times in them are those of this machine: run it where nothing else runs. With --store the
records are kept in that file, and are taken from there if it exists. --page takes the pictures of a page that is there.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from browser import Browser, find_chromium

ROOT = Path(__file__).resolve().parent.parent
IMAGES = ROOT / "docs/images"
SWEEP = IMAGES / "report.toml"


class Picture(NamedTuple):
    name: str
    width: int  # width of the window
    height: int
    dark: bool = False
    section: str = ""  # the section to capture; empty: the first screen


PICTURES = (
    Picture("report.png", 1280, 800),
    Picture("report_dark.png", 1280, 0, dark=True, section="memory"),
    Picture("report_phone.png", 390, 844),
)


def make_page(program: Path, store: Path, folder: Path) -> Path:
    page = folder / "report.html"
    words = [] if store.exists() else [SWEEP]
    subprocess.run([program, "report", *words, "--store", store, "--html", page], check=True)
    return page


def take_pictures(page: Path, folder: Path) -> None:
    with Browser() as browser:
        for picture in PICTURES:
            browser.resize(picture.width, picture.height or 800)
            browser.show_as(dark=picture.dark)
            browser.open(page)
            parts = [f"#{picture.section}"] if picture.section else []
            (folder / picture.name).write_bytes(browser.picture(*parts))


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

#!/usr/bin/env python3
"""Makes the pictures in docs/images: runs docs/images/report.toml, and captures parts of its page and of the page of
published figures.

Usage: tools/report_pictures.py [--program build/release/laptime] [--store FILE]
       tools/report_pictures.py --page PAGE.html --images FOLDER
       tools/report_pictures.py --published

The pictures of the report show times measured on this machine, so run it on an idle machine. With --store the records are kept
in that file, or taken from it if it exists. --page captures an existing report; --published captures only the page of published
figures, which is the same on every machine.
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
    section: str = ""  # the id of the part to capture; empty: the first screen


PICTURES = (
    Picture("report.png", 1280, 800),
    Picture("report_dark.png", 1280, 0, dark=True, section="memory"),
    Picture("report_phone.png", 390, 844),
)
PUBLISHED_PICTURES = (Picture("predictions.png", 1280, 0, section="chart-times"),)


def make_published_page(program: Path, folder: Path) -> Path:
    page = folder / "published.html"
    tables = ",".join(str(ROOT / "published" / name) for name in ("figures.csv", "clusters.csv"))
    subprocess.run([program, "plan", "--published", tables, "--html", page], check=True, stdout=subprocess.DEVNULL)
    return page


def make_page(program: Path, store: Path, folder: Path) -> Path:
    page = folder / "report.html"
    words = [] if store.exists() else [SWEEP]
    subprocess.run([program, "report", *words, "--store", store, "--html", page], check=True)
    return page


def take_pictures(page: Path, folder: Path, pictures: tuple[Picture, ...]) -> None:
    with Browser() as browser:
        for picture in pictures:
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
    parser.add_argument("--published", action="store_true")
    parser.add_argument("--images", type=Path, default=IMAGES)
    arguments = parser.parse_args()
    if not find_chromium():
        sys.exit("report_pictures: there is no Chromium; install the package chromium")
    if arguments.store and arguments.page:
        sys.exit("report_pictures: --page and --store exclude each other; give only one")
    with tempfile.TemporaryDirectory() as folder:
        program = arguments.program.resolve()
        if not arguments.page:
            take_pictures(make_published_page(program, Path(folder)), arguments.images, PUBLISHED_PICTURES)
        if arguments.published:
            return
        store = arguments.store or Path(folder) / "store.sqlite"
        take_pictures(arguments.page or make_page(program, store, Path(folder)), arguments.images, PICTURES)


if __name__ == "__main__":
    main()

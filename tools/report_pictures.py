#!/usr/bin/env python3
"""Makes the pictures of a page in docs/images: runs docs/images/report.toml, pictures whole parts of its page, and writes
the list of the pictures into README.md.

Usage: tools/report_pictures.py [--program build/release/laptime] [--store FILE]
       tools/report_pictures.py --quick --images FOLDER
       tools/report_pictures.py --page PAGE.html --images FOLDER

All pictures are of one page, so that a reader can connect them. The times in them are those of this machine: run it where
nothing else runs. The sweep takes about 15 minutes on two cores. With --store the records are kept in that file, and are
taken from there if it exists, so that pictures can be drawn again of what was measured before. --quick measures two
layers of the model for a minute or two, to see whether each picture shows what it should, and --page pictures a page that
is there; both leave README.md as it is.
"""

import argparse
import re
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path
from typing import NamedTuple

from browser import Browser, find_chromium

ROOT = Path(__file__).resolve().parent.parent
IMAGES = ROOT / "docs/images"
README = ROOT / "README.md"
SWEEP = IMAGES / "report.toml"


class Picture(NamedTuple):
    name: str
    caption: str  # in the list of README.md; empty for the one that it shows
    parts: tuple[str, ...]  # selectors of elements: the picture goes from the first to the last
    width: int = 1200  # of the window
    dark: bool = False


PICTURES = (
    Picture("report.png", "", ("header h1", "nav")),
    Picture("report_comparisons.png", "how the points compare", ("#comparisons",)),
    Picture("report_times.png", "times by phase", ("#step-time h2", "#step-time figure")),
    Picture("report_first_steps.png", "first steps and the steady state", ("#first-steps h2", "#first-steps figure")),
    Picture("report_samples.png", "how sure the times are", ("#samples h2", "#samples figure")),
    Picture("report_gains.png", "what bfloat16 and compile mode gain, by phase", ("#speed-up",)),
    Picture("report_classes.png", "classes of work", ("#classes h2", "#classes figure")),
    Picture("report_dark.png", "the roofline in the dark", ("#roofline h2", "#roofline figure"), dark=True),
    Picture("report_memory.png", "what memory is held for", ("#memory h2", "#memory figure")),
    Picture("report_growth.png", "memory against context length", ("#memory figure:nth-of-type(2)", "#memory figure:nth-of-type(3)")),
    Picture("report_predicted.png", "predicted beside measured times", ("#prediction",)),
    Picture("report_published.png", "published times beside ours", ("#published h2", "#published figure")),
    Picture("report_phone.png", "memory over a step, as a phone shows it", ("#timeline figure:nth-of-type(3)",), 390, True),
)
LIST = re.compile(r"^More of the same page: .*?(?=Series differ in pattern)", re.MULTILINE | re.DOTALL)


def with_captions(readme: str) -> str:
    """The text of README.md with links to all pictures, and everything else as it was."""
    space = "\0"  # of a link, which stays in one line
    links = [f"[{picture.caption}](docs/images/{picture.name})".replace(" ", space) for picture in PICTURES if picture.caption]
    found = LIST.search(readme)
    if not found:
        sys.exit("report_pictures: README.md has no list that begins with 'More of the same page:'; the pictures are made, "
                 "and the list is to be written by hand")
    rest = readme[found.end():].split("\n\n")[0]
    text = f"More of the same page: {', '.join(links[:-1])} and {links[-1]}. " + " ".join(rest.split())
    lines = "\n".join(textwrap.wrap(text, 120, break_on_hyphens=False, break_long_words=False)).replace(space, " ")
    return readme[:found.start()] + lines + readme[found.end() + len(rest):]


def quick_sweep(folder: Path) -> Path:
    """The sweep for two layers of its model, batch 1 and few steps."""
    text = re.sub(r"^(batch|warmup|steps) = .*\n", "", SWEEP.read_text(), flags=re.MULTILINE)
    path = folder / "quick.toml"
    path.write_text(text + "num_layers = 2\nbatch = 1\nwarmup = 5\nsteps = 7\n")
    return path


def make_page(program: Path, sweep: Path, store: Path, folder: Path) -> Path:
    page = folder / "report.html"
    words = [] if store.exists() else [sweep]
    subprocess.run([program, "report", *words, "--store", store, "--html", page], check=True)
    return page


def take_pictures(page: Path, folder: Path) -> None:
    with Browser() as browser:
        for picture in PICTURES:
            browser.resize(picture.width, 900)
            browser.show_as(dark=picture.dark)
            browser.open(page)
            browser.draw_all()
            (folder / picture.name).write_bytes(browser.picture(*picture.parts))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=Path, default=ROOT / "build/release/laptime")
    parser.add_argument("--store", type=Path)
    parser.add_argument("--page", type=Path)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--images", type=Path, default=IMAGES)
    arguments = parser.parse_args()
    if not find_chromium():
        sys.exit("report_pictures: there is no Chromium; install the package chromium")
    if arguments.store and arguments.page:
        sys.exit("report_pictures: --page needs no --store; give one of them")
    is_trial = arguments.quick or arguments.page is not None
    if is_trial and arguments.images == IMAGES:
        sys.exit("report_pictures: --quick and --page make no pictures for docs/images; give another folder with --images")
    with tempfile.TemporaryDirectory() as folder:
        page = arguments.page
        if not page:
            sweep = quick_sweep(Path(folder)) if arguments.quick else SWEEP
            page = make_page(arguments.program.resolve(), sweep, arguments.store or Path(folder) / "store.sqlite", Path(folder))
        take_pictures(page, arguments.images)
    if not is_trial:
        README.write_text(with_captions(README.read_text()))


if __name__ == "__main__":
    main()

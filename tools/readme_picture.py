#!/usr/bin/env python3
"""Draws the picture of the README, docs/images/terminal.svg, from the stored records beside it.

    readme_picture.py LAPTIME_BINARY             draw docs/images/terminal.jsonl
    readme_picture.py LAPTIME_BINARY --measure   measure these records anew first; the machine should be idle
"""

import fcntl
import json
import os
import pty
import sqlite3
import struct
import subprocess
import sys
import tempfile
import termios
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RECORDS = ROOT / "docs/images/terminal.jsonl"
PICTURE = ROOT / "docs/images/terminal.svg"
OPTIONS = "--model small --batch 2 --mode eager,compile --dtype float32,bfloat16"
COLUMNS = "default,speedup"
WIDTH = 150  # of the terminal, in characters: laptime leaves out the columns that do not fit


def measure(binary: str) -> None:
    done = subprocess.run([binary, "bench", *OPTIONS.split(), "--store", "none", "--output", "jsonl", "--columns", "all"], check=True,
                          stdout=subprocess.PIPE, text=True)
    records = [json.loads(line) for line in done.stdout.splitlines()]
    for record in records:
        if record["status"] != "ok":
            sys.exit(f"readme_picture.py: {record['name']}: {record['status']}: {record['reason']}")
        record["machine"]["kernel"] = record["machine"]["kernel"].split("-")[0]  # the rest names who built it
    RECORDS.write_text("".join(json.dumps(record) + "\n" for record in records))


def table(binary: str) -> str:
    """What `laptime show` prints of the stored records, on a terminal that is wide enough."""
    with tempfile.TemporaryDirectory() as folder:
        # A store of one's own is named in the commands that the table suggests; that of the user's home is not.
        environment = {"LC_ALL": "C.UTF-8", "TERM": "xterm", "HOME": folder}
        store = Path(folder, ".local/share/laptime/records.sqlite")
        # Any run makes a store of the current schema.
        subprocess.run([binary, "bench", "--model", "attention", "--device", "roofline:h100"], check=True,
                       capture_output=True, env=environment)
        with sqlite3.connect(store) as database:
            database.execute("DELETE FROM records")
            lines = [line for line in RECORDS.read_text().splitlines() if line]
            database.executemany("INSERT INTO records (json) VALUES (?)", [(line,) for line in lines])
        database.close()
        return on_terminal([binary, "show", "--columns", COLUMNS], environment)


def on_terminal(words: list[str], environment: dict[str, str]) -> str:
    """What a command prints on a terminal of WIDTH characters."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, WIDTH, 0, 0))
    command = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=theirs, stderr=subprocess.PIPE, env=environment)
    os.close(theirs)
    pieces = []
    while True:
        try:
            piece = os.read(ours, 1 << 16)
        except OSError:  # the other side is closed
            break
        if not piece:
            break
        pieces.append(piece)
    os.close(ours)
    error = command.stderr.read().decode()
    command.stderr.close()
    if command.wait() != 0:
        sys.exit(f"readme_picture.py: {' '.join(words)}: {error}")
    return b"".join(pieces).decode().replace("\r\n", "\n")


def picture(binary: str) -> str:
    text = f"$ laptime bench {OPTIONS} --columns {COLUMNS}\n{table(binary)}"
    done = subprocess.run([sys.executable, str(ROOT / "tools/terminal_picture.py"), "laptime"], check=True, input=text,
                          stdout=subprocess.PIPE, text=True)
    return done.stdout


def main() -> None:
    if len(sys.argv) not in (2, 3) or sys.argv[2:] not in ([], ["--measure"]):
        sys.exit(__doc__)
    if sys.argv[2:]:
        measure(sys.argv[1])
    PICTURE.write_text(picture(sys.argv[1]))


if __name__ == "__main__":
    main()

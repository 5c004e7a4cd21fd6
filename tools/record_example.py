#!/usr/bin/env python3
"""Measures the example in docs/record_schema.md again and writes it there.

Usage: record_example.py LAPTIME_BINARY
The record is written as the program prints it, except for line breaks and for the text after the version of the operating
system's kernel, which is omitted because it names the kernel's builder.
"""

import json
import subprocess
import sys
from pathlib import Path

DOCUMENT = Path(__file__).resolve().parent.parent / "docs/record_schema.md"
OPTIONS = ("--d-model 64 --num-layers 1 --num-heads 2 --vocab 1000 --context 256 --batch 8 --mode compile "
           "--warmup 2 --steps 5").split()
BEGIN, END = "```json\n", "```\n"
WIDTH = 118


def layout(value, indent: int = 0, key: str = "") -> str:
    """Formats JSON with one line per object in a list, and wraps other values like text, as far as the
    width allows."""
    line = key + json.dumps(value)
    if not isinstance(value, (dict, list)) or 0 < indent <= WIDTH - len(line):
        return line
    is_list = isinstance(value, list)
    one_per_line = indent == 0 or is_list and isinstance(value[0], dict)
    inner = indent + (2 if indent == 0 or one_per_line or key else 1)  # keys of an object in a list follow its brace
    children = [layout(child, inner, "" if is_list else f"{json.dumps(name)}: ")
                for name, child in (enumerate(value) if is_list else value.items())]
    lines = []
    for number, child in enumerate(children):
        child += "," if number + 1 < len(children) else ""
        room = bool(lines) and "\n" not in lines[-1] + child and len(lines[-1]) + 1 + len(child) <= WIDTH
        if room and not one_per_line:
            lines[-1] += " " + child
        else:
            lines.append(" " * inner + child)
    opening, closing = "[]" if is_list else "{}"
    if inner == indent + 1:
        return opening + "\n".join(lines)[inner:] + closing
    return "\n".join([key + opening, *lines, " " * indent + closing])


def measured(binary: str) -> dict:
    done = subprocess.run([binary, "bench", *OPTIONS, "--store", "none", "--output", "json"], check=True,
                          stdout=subprocess.PIPE, text=True)
    record = json.loads(done.stdout)[0]
    if record["status"] != "ok":
        sys.exit(f"record_example.py: {record['status']}: {record['reason']}")
    record["machine"]["kernel"] = record["machine"]["kernel"].split("-")[0]
    return record


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    before, begin, rest = DOCUMENT.read_text().partition(BEGIN)
    end = rest.index(END)
    DOCUMENT.write_text(before + begin + layout(measured(sys.argv[1])) + "\n" + rest[end:])


if __name__ == "__main__":
    main()

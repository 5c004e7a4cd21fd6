#!/usr/bin/env python3
"""Draws what a command printed as an SVG picture of a terminal: terminal_picture.py TITLE < text > picture.svg"""
import html
import sys

CHAR_WIDTH, LINE_HEIGHT, MARGIN, BAR = 8.4, 19, 16, 34
NO_BREAK = "\u00a0"  # a space that no viewer makes one of several


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    lines = [line.rstrip("\n").expandtabs() for line in sys.stdin]
    while lines and not lines[-1].strip():
        lines.pop()
    width = round(max((len(line) for line in lines), default=40) * CHAR_WIDTH + 2 * MARGIN)
    height = len(lines) * LINE_HEIGHT + BAR + 2 * MARGIN
    print(f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}">')
    print(f'<rect width="{width}" height="{height}" rx="8" fill="#1b1f24"/>')
    for place, colour in enumerate(("#ff5f57", "#febc2e", "#28c840")):
        print(f'<circle cx="{MARGIN + 4 + 20 * place}" cy="{BAR / 2}" r="6" fill="{colour}"/>')
    print(f'<text x="{width / 2}" y="{BAR / 2 + 5}" text-anchor="middle" font-family="sans-serif" font-size="13" '
          f'fill="#8b949e">{html.escape(sys.argv[1])}</text>')
    print('<g font-family="DejaVu Sans Mono, Menlo, Consolas, monospace" font-size="14" fill="#d7dde4" style="white-space: pre">')
    for number, line in enumerate(lines):
        y = BAR + MARGIN + number * LINE_HEIGHT + 6
        colour = ' fill="#7ee787"' if line.startswith("$ ") else ""
        length = f' textLength="{len(line) * CHAR_WIDTH:.1f}"' if line else ""
        shown = html.escape(line).replace(" ", NO_BREAK)
        print(f'<text x="{MARGIN}" y="{y}"{length}{colour}>{shown}</text>')
    print("</g>\n</svg>")
    return 0


if __name__ == "__main__":
    sys.exit(main())

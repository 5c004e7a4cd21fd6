"""Every relative link in a Markdown page leads to an existing file and heading of the repository."""

import re
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")


def without_code(text: str) -> str:
    text = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"^(    .*)$", "", text, flags=re.MULTILINE)
    return re.sub(r"`[^`\n]*`", "", text)


def anchors(text: str) -> set[str]:
    """The anchors that GitHub creates for headings: lower case, without punctuation, with hyphens for spaces."""
    headings = re.findall(r"^#+ +(.*)$", re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def broken_links(page: Path) -> list[str]:
    broken = []
    for link in LINK.findall(without_code(page.read_text())):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        if not target.exists() or (anchor and anchor not in anchors(target.read_text())):
            broken.append(link)
    return broken


class Links(unittest.TestCase):
    def test_links_of_every_page_exist(self):
        listed = subprocess.run(["git", "ls-files", "*.md"], cwd=ROOT, capture_output=True, text=True, check=False)
        pages = [ROOT / name for name in listed.stdout.split()] or sorted(ROOT.glob("*.md")) + sorted(ROOT.glob("docs/**/*.md"))
        self.assertGreater(len(pages), 10)
        for page in pages:
            if page.exists():
                with self.subTest(page=page.relative_to(ROOT)):
                    self.assertEqual(broken_links(page), [])

    def test_finds_broken_links(self):
        with tempfile.TemporaryDirectory() as folder:
            page = Path(folder) / "page.md"
            (Path(folder) / "other.md").write_text("# The floor of a step\n")
            page.write_text(
                "# One\n[a](other.md) [b](missing.md) [c](other.md#the-floor-of-a-step) [d](other.md#roof) [e](#one)\n"
                "[f](#two) [g](https://example.org/missing) `[h](code.md)`\n"
            )
            self.assertEqual(broken_links(page), ["missing.md", "other.md#roof", "#two"])


if __name__ == "__main__":
    unittest.main()

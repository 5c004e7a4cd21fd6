#!/usr/bin/env python3
"""Prints the names of the test groups that ./check runs under the sanitizers, separated by spaces.

These are the layers whose sources or tests changed (tools/changes.py), and the core: layers that handle memory, threads
and other programs' files, if one of them or a layer that they use changed. A changed file of the build or of the tests'
support selects all layers: `tests`. Each name is a target in cmake/tests.cmake and the label of its tests. Prints an
empty line if nothing was changed that the sanitizers could watch.
"""

import re
import sys
from pathlib import Path

from changes import ROOT, changed_files
from check_layers import layer_of, reach, read_table

CORE = ("backend/cpu", "data", "exec", "ops", "points")  # folders of tests
ALL = "tests"
SHARED = ("CMakeLists.txt", "CMakePresets.json", "cmake/", "tests/support/", "tests/fuzz/", "tests/fake_cuda/")
SOURCES = (".h", ".cpp", ".cu", ".cuh", ".inc", ".txt", ".json", ".cmake")


def test_folder(path: str, folders: set[str], layers: dict[str, set[str]]) -> str | None:
    """Returns the folder in tests/ that tests this file of src/ or tests/; None or '.' if there is none."""
    if path.startswith("src/"):
        layer = layer_of(path.removeprefix("src/"), layers)
        return "ops" if layer in ("cards", "kernels") else layer
    folder = str(Path(path.removeprefix("tests/")).parent)
    while folder not in folders and folder != ".":
        folder = str(Path(folder).parent)
    return "data" if path.startswith("tests/golden") else folder


def watched(folders: set[str]) -> set[str]:
    """Returns the folders with tests or fuzz targets in a sanitizer build; cmake/tests.cmake removes some tests."""
    removed = re.search(r"REMOVE_ITEM test_folders ([^)]*)", (ROOT / "cmake/tests.cmake").read_text())[1].split()
    fuzzed = re.findall(r'^ *"\w+ *\| *\d+ *\| *([\w/]+)"', (ROOT / "cmake/fuzz.cmake").read_text(), re.MULTILINE)
    return folders - (set(removed) - set(fuzzed))


def groups(changed: set[str] | None, folders: set[str]) -> list[str]:
    sources = [path for path in changed or [] if path.endswith(SOURCES)]
    if changed is None or any(path.startswith(SHARED) for path in sources):
        return [ALL]
    layers = reach(read_table(ROOT / "cmake/layers.cmake"))
    used_by_core = set().union(*(layers["kernels" if folder == "ops" else folder] for folder in CORE))
    changed_layers = {layer_of(path.removeprefix("src/"), layers) for path in sources if path.startswith("src/")}
    core = set(CORE) if changed_layers & used_by_core else set()
    picked = {test_folder(path, folders, layers) for path in sources if path.startswith(("src/", "tests/"))}
    return sorted("tests_" + folder.replace("/", "_") for folder in picked & watched(folders) | core)


def main() -> int:
    folders = {str(path.parent.relative_to(ROOT / "tests")) for path in (ROOT / "tests").rglob("*_test.cpp")}
    folders = {folder.split("/")[0] if folder.startswith("ops/") else folder for folder in folders}
    print(*groups(changed_files(), folders))
    return 0


if __name__ == "__main__":
    sys.exit(main())

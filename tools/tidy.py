#!/usr/bin/env python3
"""Runs clang-tidy, each source once (the build compiles kernels once per instruction set), and prints what it finds.

Usage: tidy.py BUILD_DIR [--changed]

BUILD_DIR is configured with the dev preset, which compiles each source alone and without precompiled headers.

--changed checks only files that changed (tools/changes.py). A changed header is checked through the source next to it, or else through one that includes it.
Exits with 1 if clang-tidy has findings.
"""

import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from changes import ROOT, changed_files

SOURCE_FOLDERS = ("src/", "tests/", "bench/")


def sources_for(changed: set[str], sources: list[str]) -> list[str]:
    picked = changed & set(sources)
    texts = {}
    for header in sorted(name for name in changed if name.endswith((".h", ".inc"))):
        beside = str(Path(header).with_suffix(".cpp"))
        if beside in sources:
            picked.add(beside)
            continue
        included = re.sub(r"^(src|tests)/", "", header)
        for source in sources:
            text = texts.setdefault(source, (ROOT / source).read_text())
            if f'#include "{included}"' in text:
                picked.add(source)
                break
    return sorted(picked)


def main() -> int:
    build = Path(sys.argv[1]).resolve()
    commands = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        path = os.path.relpath(entry["file"], ROOT)
        if path.startswith(SOURCE_FOLDERS):
            commands[path] = entry  # the last instruction set wins; it compiles the most code
    database = build / "tidy"
    database.mkdir(exist_ok=True)
    (database / "compile_commands.json").write_text(json.dumps(list(commands.values())))

    sources = sorted(commands)
    changed = changed_files() if "--changed" in sys.argv else None
    if changed is not None:
        existing = {name for name in changed if name.startswith(SOURCE_FOLDERS) and (ROOT / name).exists()}
        sources = sources_for(existing, sources)

    def tidy(source: str) -> tuple[str, int, str]:
        # clang 14 supports _Float16 on x86 only with this feature, and does not know all of gcc's options.
        command = ["clang-tidy", "-p", str(database), "--quiet", "--extra-arg=-mavx512fp16",
                   "--extra-arg=-Wno-unknown-warning-option", "--extra-arg=-Wno-unused-command-line-argument",
                   str(ROOT / source)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return source, done.returncode, done.stdout + ("" if done.returncode == 0 else done.stderr)

    wrong = 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for source, code, output in pool.map(tidy, sources):
            if code != 0:
                wrong += 1
                print(f"{source}:\n{output}", flush=True)
    print(f"clang-tidy: {len(sources)} sources read, {wrong} with findings")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Checks every include in src/ against the table of layers in cmake/layers.cmake, and that the table has no cycle.

Prints one line per include that the table does not allow and exits with 1 if there is any.
Usage: check_layers.py [SOURCE_DIR]
"""

import re
import sys
from pathlib import Path

ROW = re.compile(r'^\s*"([a-z_/]+)\s*\|([a-z_/ ]*)"', re.MULTILINE)
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)
# Suffixes of kernel sources: _cpu, _cuda, _isa, or an instruction set (see the table in cmake/op_files.cmake).
OWN_ISAS = re.findall(r'^ *"(\w+) *\| *own', (Path(__file__).parent.parent / "cmake/op_files.cmake").read_text(), re.MULTILINE)
KERNEL_FILE = re.compile(rf"_({'|'.join(['cpu', 'cuda', 'isa', *OWN_ISAS])})\.(h|cpp|cu|cuh)$")
OUR_FILE = re.compile(r"\.(h|cpp|cu|cuh|inc)$")


def read_table(cmake_file: Path) -> dict[str, tuple[bool, list[str]]]:
    """Maps each layer to (whether its row begins with `only`, the layers that the row names)."""
    text = cmake_file.read_text()
    begin = text.index("set(LAPTIME_LAYERS")
    table = {}
    for layer, named in ROW.findall(text[begin : text.index("\n)", begin)]):
        words = named.split()
        table[layer] = (words[:1] == ["only"], [word for word in words if word != "only"])
    return table


def reach(table: dict[str, tuple[bool, list[str]]]) -> dict[str, set[str]]:
    """Maps each layer to all layers that it may include. A row may name only rows above it, which rules out cycles."""
    seen: dict[str, set[str]] = {}
    for layer, (only, named) in table.items():
        for name in named:
            if name not in seen:
                sys.exit(f"cmake/layers.cmake: '{layer}' names '{name}', which is not a row above it")
        seen[layer] = {layer, *named} if only else {layer}.union(*(seen[name] for name in named))
    return seen


def layer_of(path: str, layers: dict[str, set[str]]) -> str | None:
    """Returns the layer of a file, given its path relative to src/; None if the file belongs to no layer."""
    if path == "main.cpp":
        return "main"
    if path.startswith("ops/"):
        return "kernels" if KERNEL_FILE.search(path) else "cards"
    folder = path.rpartition("/")[0]
    while folder and folder not in layers:
        folder = folder.rpartition("/")[0]
    return folder or None


def own_op(path: str) -> str | None:
    """Returns the op folder of a kernel source, the only op that it may include."""
    parts = path.split("/")
    return parts[1] if parts[0] == "ops" and len(parts) > 2 else None


def main() -> int:
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent.parent)
    layers = reach(read_table(root / "cmake" / "layers.cmake"))
    source = root / "src"
    files = sorted(path for path in source.rglob("*") if OUR_FILE.search(path.name))
    problems = []
    for file in files:
        path = file.relative_to(source).as_posix()
        layer = layer_of(path, layers)
        if layer is None:
            problems.append(f"src/{path}: its folder is not a layer; add the folder to cmake/layers.cmake")
            continue
        for included in INCLUDE.findall(file.read_text()):
            target = layer_of(included, layers)
            if target is None or not (source / included).exists():
                problems.append(f'src/{path}: "{included}" is not a file of a layer; write the path relative to src/')
            elif target not in layers[layer]:
                problems.append(f'src/{path}: layer {layer} may not include "{included}" of layer {target}')
            elif layer == "kernels" and own_op(path) and own_op(included) not in (None, own_op(path)):
                problems.append(f'src/{path}: a kernel may include only its own op, not "{included}"')
    print("\n".join(problems) if problems else f"{len(files)} files keep to the layers")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())

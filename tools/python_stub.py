"""Writes python/laptime/commands.pyi and steps.pyi: the functions of the module, with the program's options as keywords.

    LAPTIME_BINARY=build/release/laptime python3 tools/python_stub.py [--check]

With the stubs, editors complete the keywords and mypy checks them, while the program remains the only place that defines
options. With --check nothing is written, and the exit code is 1 if a stub is out of date.
"""

import ast
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "python"))
import laptime  # noqa: E402: found through the path set above

MODULES = ("commands", "steps")
# Functions whose name differs from the command whose options they take.
COMMAND_OF = {"measure": "record"}
# Options that the functions set themselves.
OWN = {"output", "format", "output_file", "html"}


def keywords_of(command: str, known: set[str]) -> list[str]:
    return sorted(set(laptime.options(command)) - known - OWN)


def signature(function: ast.FunctionDef) -> str:
    arguments = function.args
    command = COMMAND_OF.get(function.name, function.name)
    known = {argument.arg for argument in (*arguments.args, *arguments.kwonlyargs)}
    names = keywords_of(command, known) if arguments.kwarg and function.name != "run" else []
    if names:
        arguments.kwonlyargs += [ast.arg(name, ast.Name("Option")) for name in names]
        arguments.kw_defaults += [ast.Constant(None)] * len(names)
        arguments.kwarg = None
    doc = ast.get_docstring(function)
    lines = [f"def {function.name}({ast.unparse(arguments)}) -> {ast.unparse(function.returns)}:"]
    if names:
        lines = [f"def {function.name}(", *(f"    {part}," for part in split(ast.unparse(arguments))),
                 f") -> {ast.unparse(function.returns)}:"]
    return "\n".join([*lines, f'    """{doc.splitlines()[0]}"""', "    ..."])


def split(arguments: str) -> list[str]:
    """Splits arguments at commas that are not inside brackets."""
    parts, depth = [""], 0
    for c in arguments:
        depth += (c in "[(") - (c in "])")
        if c == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += c
    return [part.strip() for part in parts]


def used_import(node: ast.stmt, body: str) -> str:
    """Returns the import reduced to the names that the body uses; empty if there are none."""
    if not isinstance(node, (ast.Import, ast.ImportFrom)) or getattr(node, "module", "") == "__future__":
        return ""
    node.names = [alias for alias in node.names if re.search(rf"\b{alias.asname or alias.name}\b", body)]
    return ast.unparse(node) if node.names else ""


def stub(module: str) -> str:
    tree = ast.parse((ROOT / f"python/laptime/{module}.py").read_text())
    parts = []
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id in ("Value", "Option"):
            parts.append(ast.unparse(node))
        elif isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            parts.append(signature(node) if ast.get_docstring(node) else
                         f"def {node.name}({ast.unparse(node.args)}) -> {ast.unparse(node.returns)}: ...")
        elif isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            methods = [f"    def {one.name}({ast.unparse(one.args)}) -> {ast.unparse(one.returns) if one.returns else 'None'}: ..."
                       for one in node.body if isinstance(one, ast.FunctionDef)]
            parts.append("\n".join([f"class {node.name}:", f'    """{ast.get_docstring(node).splitlines()[0]}"""', *methods]))
    body = "\n\n".join(parts)
    imports = [text for node in tree.body if (text := used_import(node, body))]
    made = f"# Made by tools/python_stub.py from {module}.py and the options of the program."
    return "\n\n".join([made, "\n".join(imports), body]) + "\n"


def main() -> int:
    stale = []
    for module in MODULES:
        path = ROOT / f"python/laptime/{module}.pyi"
        text = stub(module)
        if "--check" not in sys.argv[1:]:
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            stale.append(path.name)
    if stale:
        print(f"{', '.join(stale)}: out of date; run tools/python_stub.py", file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())

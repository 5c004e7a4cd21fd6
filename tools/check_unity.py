#!/usr/bin/env python3
"""Checks that sources which a unity build compiles together define no name twice with internal linkage.

The builds of quickstart, ./check, tests and sanitizers (LAPTIME_UNITE and LAPTIME_UNITE_TESTS in cmake/precompile.cmake)
compile several sources of a layer or of a test program together, in the order of their paths, and a new file moves its
neighbours to other groups. Names must therefore be unique within a layer.
Compares types, constants and functions (with their parameter types) that are static or in anonymous namespaces. A
heuristic that parses with regular expressions.
Prints one line per violation, FILE:LINE: NAME is defined in OTHER too, and exits with 1 if there is any.
Usage: check_unity.py [SOURCE_DIR]
"""

import re
import sys
from pathlib import Path

NOT_UNITED = {"src/ops", "src/model"}  # laptime_unite in cmake/layers.cmake
LAYERS_BELOW = ("src/backend/cpu", "src/backend/cuda", "src/backend/roofline")  # folders with a row of their own
ISA_SOURCE = re.compile(r"_(isa|cpu|avx512_bf16)\.cpp$")  # compiled once per instruction set, one at a time

NAMESPACE = re.compile(r"\bnamespace\b\s*([\w:]*)\s*$")
TYPE = re.compile(r"(?:struct|class|union|enum(?: class| struct)?) (\w+)")
CONSTANT = re.compile(r"(?:static |inline )?(?:constexpr|const|constinit)\b[^=({]*?\b(\w+)(?:\[\w*\])? ?(?:=|$)")
FUNCTION = re.compile(r"[\w:\[\]][\w:<>,&*\s\[\]]*?[\s&*](\w+)\((.*)\)\s*(?:const|noexcept)?\s*(?:->.*)?$")


def without_texts(lines: list[str]) -> str:
    """Returns the code without directives and comments, with a 0 for each string, character and default argument {}."""
    code = ["" if line.startswith("#") else line for line in lines]
    text_or_comment = r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'|(//[^\n]*)'
    text = re.sub(text_or_comment, lambda found: "" if found[1] else "0", "\n".join(code))
    return re.sub(r"= *\{\}(?=[,)])", "= 0", text)


def argument_lists(parameters: str) -> list[str]:
    """Returns the types of the arguments that a function accepts, with and without those that have defaults."""
    types = []
    required = 0
    depth = 0
    part = ""
    for char in parameters + ",":
        if char != "," or depth > 0:
            depth += (char in "<({[") - (char in ">)}]")
            part += char
            continue
        required += bool(part.strip()) and "=" not in part
        part = part.split("=")[0].strip()
        named = re.match(r"(.*[\s&*>])\w+$", part, re.DOTALL)
        types.append(" ".join((named[1] if named and named[1].strip() != "const" else part).split()))
        part = ""
    return [", ".join(types[:count]) for count in range(required, len(types) + 1)]


def defined_names(declaration: str, has_body: bool, is_anonymous: bool) -> list[str]:
    """Returns the names that a declaration defines with internal linkage. A function has one name for each list of
    argument types that it accepts: "f(int)"."""
    declaration = re.sub(r"^template <.*?> ?(?=[\w\[])", "", " ".join(declaration.split()))
    kind = TYPE.match(declaration)
    function = FUNCTION.match(declaration)
    constant = CONSTANT.match(declaration)
    if kind and has_body:
        return [kind[1]] if is_anonymous else []
    if function and has_body and "=" not in declaration.split("(")[0]:
        is_internal = is_anonymous or declaration.startswith("static ")
        return [f"{function[1]}({types})" for types in argument_lists(function[2])] if is_internal else []
    return [constant[1]] if constant and not function else []


def internal_names(lines: list[str]) -> dict[str, int]:
    """Returns the names that a source defines with internal linkage, with their line numbers."""
    text = without_texts(lines)
    names = {}
    scopes = []  # names of the enclosing namespaces; None for any other scope
    begin = 0  # where the current declaration at namespace scope begins
    for mark in re.finditer(r"[;{}]", text):
        if mark[0] == "}":
            scopes = scopes[:-1]
        elif None not in scopes:
            head = text[begin:mark.start()]
            namespace = NAMESPACE.search(head) if mark[0] == "{" else None
            for name in [] if namespace else defined_names(head, mark[0] == "{", "" in scopes):
                names.setdefault(name, text.count("\n", 0, begin + len(head) - len(head.lstrip())) + 1)
            if mark[0] == "{":
                scopes.append(namespace[1] if namespace else None)
        elif mark[0] == "{":
            scopes.append(None)
        if None not in scopes:
            begin = mark.end()
    return names


def layers(root: Path) -> dict[str, list[Path]]:
    """Returns the sources that are compiled together, by layer or folder of tests, in the order of the build."""
    def below(folder: str) -> list[Path]:
        return sorted(file for file in (root / folder).rglob("*.cpp") if not ISA_SOURCE.search(file.name))

    found = {f"src/{folder.name}": below(f"src/{folder.name}") for folder in sorted((root / "src").glob("*/"))}
    found |= {layer: below(layer) for layer in LAYERS_BELOW}
    found["src/backend"] = sorted((root / "src/backend").glob("*.cpp"))
    for folder in sorted({file.parent for file in (root / "tests").rglob("*_test.cpp")}):
        found[folder.relative_to(root).as_posix()] = sorted(folder.glob("*_test.cpp"))
    found["tests/ops"] = sorted((root / "tests/ops").rglob("*_test.cpp"))
    return {layer: files for layer, files in found.items() if layer not in NOT_UNITED}


def check(root: Path) -> list[str]:
    """Returns all violations."""
    problems = []
    for files in layers(root).values():
        first = {}
        for file in files:
            path = file.relative_to(root).as_posix()
            for name, line in internal_names(file.read_text().splitlines()).items():
                if name in first:
                    problems.append(f"{path}:{line}: {name} is defined in {first[name]} too")
                first.setdefault(name, path)
    return problems


def main() -> int:
    problems = check(Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent.parent))
    if problems:
        problems += ["", "a unity build compiles these sources together: rename one, or let both use one definition."]
    print("\n".join(problems) if problems else "no name is defined twice")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())

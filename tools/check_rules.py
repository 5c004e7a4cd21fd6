#!/usr/bin/env python3
"""Checks rules whose violations a pattern can find: ops known by name, clocks, terminal, devices, file lengths, types.

RULES is the table: what is forbidden, why, in which files, and where it is allowed nevertheless. Comments are not searched.
Also checks that no file is empty or longer than MAX_LINES, that no two files define types with the same name in the program's
namespace, and that no comment added since the main branch begins like a riddle (RIDDLE).
Which layer may include which is checked by tools/check_layers.py.
Prints one line per violation, FILE:LINE: RULE: SOURCE, then the reason of each broken rule, and exits with 1 if there is any.
Usage: check_rules.py [SOURCE_DIR]
"""

import re
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

MAX_LINES = 500
NAMESPACE = "laptime"
SUFFIXES = (".h", ".cpp", ".inc", ".cu", ".cuh", ".py", ".js", ".cmake", ".sh")
RIDDLE = re.compile(r"\s*(?://|#)\s*(?:What|Those (?:that|of|with|which)|The same|None (?:where|of)|Of (?:a|an|the|each)|Whose?)\b")


@dataclass(frozen=True)
class Rule:
    name: str
    why: str
    forbidden: str  # pattern that no line may match
    where: tuple[str, ...] = ("src/",)  # path prefixes
    allowed: dict[str, str] = field(default_factory=dict)  # path prefix -> reason


RULES = [
    Rule(
        name="an op's header outside the op",
        why="A pass, plan or report must not depend on a single op; declare the property that it needs on the card (graph/op.h).",
        forbidden=r'#\s*include "ops/\w+/',
        allowed={
            "src/ops/": "an op may be built from other ops",
            "src/model/": "a model is written in ops",
            "src/passes/differentiate.cpp": "emits the additions and sums of reverse-mode differentiation",
        },
    ),
    Rule(
        name="an op recognised by its name or card",
        why="State what distinguishes the op as a field of the card (graph/op.h) and test that field.",
        forbidden=r'\bop(\(\))?\s*[!=]=\s*&(\w+::)*k[A-Z]|\bk[A-Z]\w*\.name\b|\bop(->|\.)name\s*[!=]=\s*"|[!=]=\s*"(OP_NAMES)"',
        allowed={"src/ops/": "an op may test for itself"},
    ),
    Rule(
        name="a clock",
        why="Only the executor and the devices time a step; with a second clock, the meaning of a figure would be ambiguous.",
        forbidden=r"\b(steady|system|high_resolution)_clock\b|\b(clock_gettime|gettimeofday|rdtscp?)\b|\bhost_now\b|\bstd::time\(",
        allowed={
            "src/base/host_clock.": "the clock itself",
            "src/exec/": "times steps and trials",
            "src/backend/": "a device has its own clock",
            "src/comm/": "how long another rank has been silent",
            "src/measure/describe.cpp": "the date of a record, and the clock rate of the processor",
            "src/sweep/": "time limits of child processes, how long a point took, and the date of a run",
            "src/verify/": "how long a verification has run",
            "src/cli/": "progress",
        },
    ),
    Rule(
        name="the terminal or the environment",
        why="Only the command line talks to the user; everything else returns values.",
        forbidden=r"\b(getenv|setenv|isatty|ioctl|TIOCGWINSZ)\b|std::(cout|cerr|cin|clog)\b|\bf?printf\(|\bfmt::print\b|\b(puts|fputs)\(",
        allowed={
            "src/cli/": "reads arguments and the environment, and prints results",
            "src/sweep/child.cpp": "redirects the output of a child process to a pipe",
            "src/base/error.cpp": "says which check failed before it aborts",
        },
    ),
    Rule(
        name="a concrete device outside the place that names them",
        why="Everything but src/prepare/device.cpp works with any Backend.",
        forbidden=r'#\s*include "backend/(cpu|cuda|roofline)/|\b(Cpu|Cuda|Roofline)Backend\b',
        allowed={
            "src/backend/": "the devices themselves",
            "src/ops/": "kernels are written for one device",
            "src/prepare/device.cpp": "the place that names the devices",
        },
    ),
    Rule(
        name="dynamic_cast",
        why="Callers use functions of Backend; a cast ties the code to one device.",
        forbidden=r"\bdynamic_cast\b",
    ),
    Rule(
        name="the address of device memory",
        why="Only the executor and the trial compute with addresses on the device; others pass DeviceMemory.",
        forbidden=r"->data\(\)",
        where=("src/prepare/", "src/measure/", "src/sweep/", "src/explain/", "src/verify/", "src/cli/"),
    ),
    Rule(
        name="a plan made outside prepare",
        why="The plan that is checked against the memory limit must be the plan that runs; call prepare().",
        forbidden=r"\bmake_plan\(",
        allowed={"src/plan/": "makes plans", "src/prepare/": "plans every point",
                 "src/demo/": "runs small graphs that are not points"},
    ),
    Rule(
        name="device memory read or written by the host",
        why="Device memory may be unreadable to the host; bytes move through the transfers of Backend only.",
        # TensorView::data, without parentheses, is a device address; a vector's bytes are data().
        forbidden=r"\breinterpret_cast\b|\bmem(cpy|move|set)\([^;]*(\.data\b(?!\()|->data\(\))|\*\w+(\.|->)data\b(?!\()",
        where=("src/exec/", "src/measure/", "src/prepare/", "src/verify/", "src/explain/", "src/sweep/"),
    ),
    Rule(
        name="global mutable state",
        why="A value that any code may change makes results depend on earlier calls; pass it as an argument.",
        # A variable at namespace scope (not indented), or static in a function, that is neither const nor constexpr. A line
        # with parentheses declares a function. A heuristic: declarations over several lines are not found.
        forbidden=r"^(?!.*\b(const|constexpr|constinit|extern|using|return|template|typedef|friend|enum|struct|class|namespace|concept|requires|case|default|public|private)\b)"
        r"((static|inline|thread_local)\s+)*[A-Za-z_][\w:]*(<[^()]*>)?[\s*&]+[a-z]\w*\s*(=[^=()]*|\{[^()]*\})?;"
        r"|^\s+(static|thread_local)\s+(?!const|constexpr|inline|void)[\w:<>,\s*&]+?\s\w+\s*(=.*|\{.*\})?;",
        allowed={"src/data/file_scan.cpp": "a large file is read once per process for all callers; its stamp is the key",
                 "src/sweep/stop_signals.cpp": "a signal handler can access only globals",
                 "src/backend/cuda/libraries/cupti.cpp": "callbacks of CUPTI can access only globals"},
    ),
]


def without_comment(line: str) -> str:
    return re.sub(r'("(?:\\.|[^"\\])*")|//.*', lambda found: found.group(1) or "", line)


def op_names(root: Path) -> list[str]:
    """Returns the op names from the cards."""
    names = set()
    for folder in ("src/ops", "src/graph"):
        for file in (root / folder).rglob("*.cpp"):
            names.update(re.findall(r'OpCard k\w+ = \{\s*\.name = "(\w+)"', file.read_text()))
    return sorted(names)


def broken(root: Path, rule: Rule, files: dict[str, list[str]], names: list[str]) -> list[str]:
    """Returns the violations of one rule, and its allowances that are no longer needed."""
    pattern = re.compile(rule.forbidden.replace("OP_NAMES", "|".join(names) or "(?!)"))
    problems = []
    needed = set()
    for path, lines in files.items():
        if not path.startswith(rule.where):
            continue
        found = [number for number, line in enumerate(lines, 1) if pattern.search(line)]
        allowance = next((begin for begin in rule.allowed if path.startswith(begin)), None)
        if allowance is None:
            problems += [f"{path}:{number}: {rule.name}: {lines[number - 1].strip()}" for number in found]
        elif found:
            needed.add(allowance)
    for begin in rule.allowed.keys() - needed:
        if (root / begin).is_file():
            problems.append(f"{begin}:1: {rule.name}: the file no longer needs its allowance in tools/check_rules.py")
    return problems


# A brace, the start of a namespace, or a type definition; a declaration ends in a semicolon and does not match.
SCOPE = re.compile(
    r"\bnamespace\b\s*(?P<namespace>[\w:]*)\s*\{"
    r"|\b(?:struct|class|union|enum(?:\s+(?:class|struct))?)\s+(?:alignas\([^()]*\)\s*|\[\[[^\]]*\]\]\s*)*(?P<type>\w+)"
    r"\s*(?:final\s*)?(?=\{|:(?!:))(?::[^;{]*)?(?P<body>\{)"
    r"|(?P<brace>[{}])")


def types_of(lines: list[str]) -> dict[str, int]:
    """Returns the types that a file defines directly in the program's namespace, with their line numbers."""
    text = re.sub(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])\'', "0", "\n".join(lines))
    types = {}
    scopes = []
    for found in SCOPE.finditer(text):
        if found["brace"] == "}":
            scopes = scopes[:-1]
            continue
        if found["type"] and scopes == [NAMESPACE]:
            types[found["type"]] = text.count("\n", 0, found.start()) + 1
        scopes.append(found["namespace"] if found["namespace"] is not None else "{")
    return types


def doubled_types(sources: dict[str, list[str]]) -> list[str]:
    """Returns all definitions of a type name after the first."""
    first = {}
    problems = []
    for path, lines in sources.items():
        for name, number in types_of(lines).items():
            if name in first:
                problems.append(f"{path}:{number}: {name} is the name of a type in {first[name]} too")
            else:
                first[name] = path
    return problems


def riddles(diff: str) -> list[str]:
    """Returns comments added by a git diff (without context) that begin like a riddle. Moved lines are not new."""
    added = []
    removed = set()
    path, number = "", 0
    for line in diff.splitlines():
        if line.startswith("+++ "):
            path = line.removeprefix("+++ b/")
        elif line.startswith("@@"):
            number = int(re.search(r"\+(\d+)", line)[1])
        elif line.startswith("-"):
            removed.add(line[1:].strip())
        elif line.startswith("+"):
            if path.endswith(SUFFIXES) and RIDDLE.match(line[1:]):
                added.append((path, number, line[1:].strip()))
            number += 1
    return [f"{path}:{number}: riddle: {text}" for path, number, text in added if text not in removed]


def diff_with_main(root: Path) -> str:
    """Returns the changes since the branch point from main; on main itself, since the previous commit."""
    def git(*words: str) -> str:
        return subprocess.run(["git", "-C", root, *words], capture_output=True, text=True, check=False).stdout.strip()

    head = git("rev-parse", "HEAD")
    bases = [base for name in ("main", "origin/main") if (base := git("merge-base", "HEAD", name)) and base != head]
    base = bases[0] if bases else git("rev-parse", "--verify", "--quiet", "HEAD~1")
    return git("diff", "--unified=0", "--no-color", "--no-ext-diff", base) if base else ""


def check(root: Path) -> list[str]:
    """Returns all violations, followed by the reasons for the violated rules; empty if there are none."""
    suffixes = {".h", ".cpp", ".inc", ".cu", ".cuh", ".py"}
    folders = ("src", "tests", "bench", "tools", "peers")
    found = (file for folder in folders for file in (root / folder).rglob("*") if file.suffix in suffixes)
    texts = {file.relative_to(root).as_posix(): file.read_text().splitlines() for file in sorted(found)}
    sources = {path: [without_comment(line) for line in lines] for path, lines in texts.items() if path.startswith("src/")}
    names = op_names(root)
    problems = []
    reasons = []
    for rule in RULES:
        of_rule = broken(root, rule, sources, names)
        problems += of_rule
        reasons += [f"{rule.name}: {rule.why}"] if of_rule else []
    too_long = [f"{path}:{MAX_LINES + 1}: {len(lines)} lines" for path, lines in texts.items() if len(lines) > MAX_LINES]
    reasons += [f"over {MAX_LINES} lines: a file has one subject; split it by subject."] if too_long else []
    problems += too_long
    empty = [f"{path}:1: empty" for path, lines in texts.items() if not lines and not path.endswith("__init__.py")]
    reasons += ["an empty file: delete it."] if empty else []
    problems += empty
    doubled = doubled_types(sources)
    reasons += ["two types with the same name: the linker uses one definition for both; rename one of them, or "
                "put it into an anonymous namespace."] if doubled else []
    problems += doubled
    unclear = riddles(diff_with_main(root))
    reasons += ["riddle: write a whole sentence with a subject and a verb; do not open with `What` or `Those that`."] if unclear else []
    problems += unclear
    return [*problems, "", *reasons] if problems else []


def main() -> int:
    problems = check(Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent.parent))
    print("\n".join(problems) if problems else "no rule is broken")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())

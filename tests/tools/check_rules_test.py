"""The rule check finds a violation of each rule and accepts code that the rules allow."""

import importlib.util
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TOOL = ROOT / "tools/check_rules.py"

# (file, line that breaks the rule, file in which the same line is allowed or None), keyed by rule name.
BREAKING = {
    "an op's header outside the op": [
        ("src/passes/fuse.cpp", '#include "ops/rope/rope.h"', "src/model/gpt.cpp"),
        ("src/verify/verify.cpp", '#include "ops/rope/rope.h"', "src/ops/two/two.cpp"),
    ],
    "an op recognised by its name or card": [
        ("src/passes/fuse.cpp", "if (node.op == &kRope) fuse();", "src/ops/rope/rope.cpp"),
        ("src/plan/plan.cpp", "if (step.kernel->op != &graph::kCast) return;", None),
        ("src/verify/verify.cpp", "const bool ours = buffer.op != kRopeTable.name;", None),
        ("src/explain/explain.cpp", 'if (op == "rope") return;', None),
        ("src/report/text.cpp", 'if (node.op->name == "anything") return;', None),
    ],
    "a clock": [
        ("src/measure/run_one.cpp", "const auto now = std::chrono::steady_clock::now();", "src/exec/executor.cpp"),
        ("src/base/machine.cpp", "clock_gettime(CLOCK_MONOTONIC, &time);", "src/base/host_clock.cpp"),
        ("src/prepare/device.cpp", "const Seconds begin = host_now();", "src/cli/progress.cpp"),
        ("src/record/record.cpp", "record.created = std::time(nullptr);", "src/sweep/run_sweep.cpp"),
    ],
    "the terminal or the environment": [
        ("src/config/option.cpp", 'const char* home = getenv("HOME");', "src/cli/store_path.cpp"),
        ("src/report/table.cpp", "std::cout << text;", None),
        ("src/report/text.cpp", "if (isatty(1)) color();", None),
        ("src/exec/executor.cpp", 'printf("%d", step);', None),
        ("src/measure/run_one.cpp", 'fmt::print(stderr, "late");', "src/base/error.cpp"),
    ],
    "a concrete device outside the place that names them": [
        ("src/measure/peaks.cpp", '#include "backend/cpu/peak/peak.h"', "src/ops/rope/rope_cpu.cpp"),
        ("src/cli/commands.cpp", "CpuBackend backend;", "src/backend/cpu/cpu_backend.cpp"),
        ("src/explain/inventory.cpp", '#include "backend/roofline/roofline_backend.h"', "src/prepare/device.cpp"),
    ],
    "dynamic_cast": [("src/measure/peaks.cpp", "auto* own = dynamic_cast<Own*>(backend.get());", None)],
    "the address of device memory": [
        ("src/measure/kernel_trial.cpp", "Trial trial(memory->data());", "src/exec/executor.cpp"),
    ],
    "a plan made outside prepare": [
        ("src/verify/verify.cpp", "Plan plan = make_plan(graph, choose);", "src/prepare/prepare.cpp"),
    ],
    "device memory read or written by the host": [
        ("src/exec/trial.cpp", "std::memcpy(view.data + filled, view.data, size);", "src/backend/cpu/cpu_backend.cpp"),
        ("src/measure/kernel_trial.cpp", "std::memset(memory->data(), 0, size);", None),
        ("src/exec/executor.cpp", "const float first = *view.data;", None),
        ("src/verify/verify.cpp", "auto* weights = reinterpret_cast<float*>(bytes);", "src/data/weights.cpp"),
    ],
    "global mutable state": [
        ("src/config/option.cpp", "std::map<std::string, int> cache;", None),
        ("src/config/label.cpp", "static int count = 0;", None),
        ("src/report/sort.cpp", "  static std::vector<int> seen;", None),
        ("src/base/words.cpp", "thread_local int depth{0};", None),
    ],
}

# (file, line that the rules allow in this file).
ACCEPTED = [
    ("src/passes/fuse.cpp", "if (node.op->is_cast) fold();  // not node.op == &kCast"),
    ("src/passes/differentiate.cpp", '#include "ops/pointwise/pointwise.h"'),
    ("src/explain/explain.cpp", 'return a.op == b.op && name == "cuda";'),
    ("src/record/record.cpp", "const std::chrono::sys_seconds time{};"),
    ("src/exec/executor.cpp", "std::memcpy(ordered.data() + i, stored.data() + view.position(i), size);"),
    ("src/exec/executor.cpp", "view.data = memory.data() + buffer.offset;"),
    ("src/config/label.cpp", "const std::map<std::string, int> kNames = names();"),
    ("src/config/sweep.cpp", "  static std::vector<int> of(int count);"),
    ("src/config/option.cpp", "std::string text_of(const Option& option);"),
]


def load_tool():
    spec = importlib.util.spec_from_file_location("check_rules", TOOL)
    module = importlib.util.module_from_spec(spec)
    sys.modules["check_rules"] = module  # dataclasses look up their module
    spec.loader.exec_module(module)
    return module


check_rules = load_tool()


class CheckRules(unittest.TestCase):
    def check(self, path: str, text: str) -> list[str]:
        """The output of the tool for a tree with the op rope and one more file."""
        return self.check_files({"src/ops/rope/rope.cpp": 'const OpCard kRope = {\n    .name = "rope"};\n', path: text})

    def check_files(self, files: dict[str, str]) -> list[str]:
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            for file, content in files.items():
                (root / file).parent.mkdir(parents=True, exist_ok=True)
                (root / file).write_text(content + "\n")
            return check_rules.check(root)

    def test_every_rule_has_a_case(self):
        self.assertEqual({rule.name for rule in check_rules.RULES}, BREAKING.keys())

    def test_finds_violations(self):
        for rule, cases in BREAKING.items():
            for path, line, allowed in cases:
                with self.subTest(rule=rule, line=line):
                    found = self.check(path, f"// A file.\n{line}")
                    self.assertIn(f"{path}:2: {rule}: {line.strip()}", found)
                    if allowed:
                        self.assertNotIn(f"{allowed}:1: {rule}: {line.strip()}", self.check(allowed, line))

    def test_states_the_reason(self):
        found = self.check("src/measure/peaks.cpp", "dynamic_cast<Own*>(backend.get());")
        self.assertTrue(found[-1].startswith("dynamic_cast: Callers use"), found)

    def test_accepts_allowed_code(self):
        for path, line in ACCEPTED:
            with self.subTest(line=line):
                self.assertEqual(self.check(path, line), [])

    def test_finds_an_empty_file(self):
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "src/cli").mkdir(parents=True)
            (Path(folder) / "src/cli/args.cpp").touch()
            self.assertIn("src/cli/args.cpp:1: empty", check_rules.check(Path(folder)))

    def test_finds_a_long_file(self):
        self.assertEqual(self.check("tests/data/long_test.cpp", "\n" * 499), [])
        self.assertIn("tests/data/long_test.cpp:501: 501 lines", self.check("tests/data/long_test.cpp", "\n" * 500))

    def of_two_files(self, first: str, second: str) -> list[str]:
        """The types in `second`, a header in another folder, that are also in `first`."""
        return check_rules.doubled_types({"src/cli/a.h": first.splitlines(), "src/plan/b.h": second.splitlines()})

    def test_finds_two_types_with_the_same_name(self):
        first = "namespace laptime {\nstruct Interval {\n  double low = 0;\n};\n}"
        for second in ("struct Interval {", "class Interval final : public Base<int> {", "enum class Interval : uint8_t {",
                       "template <class T>\nstruct alignas(64) Interval {", "union Interval {"):
            with self.subTest(second=second):
                found = self.of_two_files(first, f"namespace laptime {{\n{second}\n}};\n}}")
                line = 2 + second.count("\n")
                self.assertEqual(found, [f"src/plan/b.h:{line}: Interval is the name of a type in src/cli/a.h too"])
        self.assertIn("src/plan/b.h:2: Interval is the name of a type in src/cli/a.h too",
                      self.check_files({"src/cli/a.h": first, "src/plan/b.h": "namespace laptime {\nstruct Interval {};\n}"}))

    def test_accepts_equal_names_in_different_scopes(self):
        first = "namespace laptime {\nstruct Interval {\n  double low = 0;\n};\n}"
        for second in ("namespace laptime { namespace { struct Interval {}; } }",
                       "namespace laptime::plan { struct Interval {}; }",
                       "namespace laptime {\nstruct Plan {\n  struct Interval {};\n};\n}",
                       "namespace laptime {\nstruct Interval;\nvoid take(struct Interval& one);\n}",
                       'namespace laptime {\nconst char* const kText = "{"; inline int f() { struct Interval {}; return 0; }\n}',
                       "namespace laptime {\ntemplate <class Interval>\nvoid take(Interval one) {}\n}"):
            with self.subTest(second=second):
                self.assertEqual(self.of_two_files(first, second), [])

    def test_finds_an_unnecessary_allowance(self):
        found = self.check("src/passes/differentiate.cpp", "// This file includes no op.")
        self.assertTrue(found[0].startswith("src/passes/differentiate.cpp:1: an op's header outside the op: the file no"), found)

    def test_exits_with_1_if_a_rule_is_broken(self):
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, TOOL, folder]
            self.assertEqual(subprocess.run(command, capture_output=True, check=False).returncode, 0)
            (Path(folder) / "src/plan").mkdir(parents=True)
            (Path(folder) / "src/plan/plan.cpp").write_text("dynamic_cast<Own*>(backend);\n")
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 1)
            self.assertIn("src/plan/plan.cpp:1: dynamic_cast: dynamic_cast<Own*>(backend);", done.stdout)


class Riddles(unittest.TestCase):
    def test_rejects_new_comments_with_vague_openings(self):
        diff = """--- a/src/plan/plan.cpp
+++ b/src/plan/plan.cpp
@@ -3,0 +4,3 @@
+  // What a plan holds beside its steps.
+  int bytes;  // What a reader does not see at the start of a line is left alone.
+  // None where the plan has no arena.
"""
        self.assertEqual([found.split(": ")[0] for found in check_rules.riddles(diff)],
                         ["src/plan/plan.cpp:4", "src/plan/plan.cpp:6"])

    def test_accepts_moved_comments_plain_comments_and_documents(self):
        diff = """--- a/src/plan/old.cpp
+++ /dev/null
@@ -1 +0,0 @@
-// Of a plan that moves.
--- a/src/plan/plan.cpp
+++ b/src/plan/plan.cpp
@@ -3,0 +4,2 @@
+  // Of a plan that moves.
+  // Whole bytes; whatever is left over is padding.
--- a/docs/page.md
+++ b/docs/page.md
@@ -0,0 +1 @@
+# What a page shows
"""
        self.assertEqual(check_rules.riddles(diff), [])


if __name__ == "__main__":
    unittest.main()

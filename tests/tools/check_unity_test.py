"""The check of unity builds finds names that two sources of a layer define, and accepts overloads and other scopes."""

import importlib.util
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TOOL = ROOT / "tools/check_unity.py"


def load_tool():
    spec = importlib.util.spec_from_file_location("check_unity", TOOL)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


check_unity = load_tool()


def hidden(code: str) -> str:
    return f"namespace laptime {{\nnamespace {{\n{code}\n}}  // namespace\n}}\n"


class CheckUnity(unittest.TestCase):
    def check(self, *codes: str, layer: str = "src/plan") -> list[str]:
        """The output of the tool for a layer whose sources a_test.cpp, b_test.cpp, ... contain the given codes."""
        with tempfile.TemporaryDirectory() as folder:
            for letter, code in zip("abcdefgh", codes):
                file = Path(folder) / layer / f"{letter}_test.cpp"
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(code)
            return check_unity.check(Path(folder))

    def test_finds_names_that_two_sources_define(self):
        for first, second, name in (
                ("int size(int x) { return x; }", "double size(int y = 2) {\n  return y;\n}", "size(int)"),
                ("void add(const Record& record, std::map<int, int>& sums) {}",
                 "template <class T>\nvoid add(const Record& one, std::map<int, int>& all) {}",
                 "add(const Record&, std::map<int, int>&)"),
                ("constexpr int kMost = 3;", "constexpr std::array kMost{1, 2};\nconst double kMost = 2;", "kMost"),
                ("struct Row {\n  int x;\n};", "enum class Row : int { kOne };", "Row")):
            with self.subTest(name=name):
                found = self.check(hidden(first), hidden(second))
                self.assertEqual(found, [f"src/plan/b_test.cpp:3: {name} is defined in src/plan/a_test.cpp too"])

    def test_finds_static_functions_and_constants_outside_anonymous_namespaces(self):
        code = "namespace laptime {\nstatic int half(int x) { return x / 2; }\nconstexpr int kHalf = 2;\n}\n"
        self.assertEqual([found.split(": ", 1)[1].split()[0] for found in self.check(code, code)], ["half(int)", "kHalf"])

    def test_accepts_overloads_declarations_members_and_named_namespaces(self):
        for first, second in (
                (hidden("int size(int x) { return x; }"), hidden("int size(double x) { return 1; }")),
                (hidden("int size(int x) { return x; }"), hidden("int size(int x);")),
                (hidden("int size(int x) { return x; }"), hidden("struct Row {\n  int size(int x) { return x; }\n};")),
                (hidden("int size(int x) { return x; }"), "namespace laptime::plan {\nint size(int x) { return x; }\n}\n"),
                (hidden('const char* text() { return "constexpr int kMost = 1; }"; }'), hidden("constexpr int kMost = 1;")),
                (hidden("void f() {\n  constexpr int kMost = 1;\n}"), hidden("constexpr int kMost = 1;  // constexpr int kSize = 1;"))):
            with self.subTest(second=second):
                self.assertEqual(self.check(first, second), [])

    def test_finds_overloads_that_defaults_make_ambiguous(self):
        first = hidden("int size(int x = 0, std::vector<int> y = {}) { return x; }")
        self.assertEqual(len(self.check(first, hidden("int size(double x = 1) { return 1; }"))), 1)
        self.assertEqual(self.check(first, hidden("int size(double x) { return 1; }")), [])

    def test_ignores_layers_that_unity_builds_exclude(self):
        code = hidden("constexpr int kMost = 1;")
        self.assertEqual(self.check(code, code, layer="src/ops/rope"), [])

    def test_exits_with_1_if_a_name_is_defined_twice(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(subprocess.run([sys.executable, TOOL, folder], capture_output=True, check=False).returncode, 0)
            for name in ("a", "b"):
                file = Path(folder) / "src/cli/commands" / f"{name}.cpp"
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(hidden("struct Row {};"))
            done = subprocess.run([sys.executable, TOOL, folder], capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 1)
            self.assertIn("src/cli/commands/b.cpp:3: Row is defined in src/cli/commands/a.cpp too", done.stdout)


if __name__ == "__main__":
    unittest.main()

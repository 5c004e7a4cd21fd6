"""The compiler launcher isolates the inline functions of each instruction set and rejects code that runs before main."""

import os
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COMPILER = os.environ.get("CXX", "g++")

SHARED = """
struct Shape { virtual ~Shape() = default; virtual double area(double x) { return x * x + 1; } };
inline double shared(const double* p, int n) { double s = 0; for (int i = 0; i < n; ++i) s += p[i] * p[i]; return s; }
"""
COPY = SHARED + """
double run_NAME(const double* p, int n) {
  Shape* shape = n > 1 ? new Shape : nullptr;
  const double s = shape ? shape->area(n) : 0;
  delete shape;
  return s + shared(p, n);
}
"""
PROGRAM = """
double run_avx512(const double*, int);
double run_plain(const double*, int);
int main(int argc, char**) {
  const double x[] = {1, 2, 3};
  return static_cast<int>(run_plain(x, 3)) != 24 || (argc > 1 && run_avx512(x, 3) != 24);
}
"""


class IsolateSymbols(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def compile(self, name: str, source: str, flags: list[str], isa: str | None = None) -> subprocess.CompletedProcess:
        (self.folder / f"{name}.cpp").write_text(source)
        launcher = [ROOT / "tools/isolate_symbols.sh", isa] if isa else []
        command = [*launcher, COMPILER, "-O1", "-fno-inline", *flags, "-c", f"{name}.cpp", "-o", f"{name}.o"]
        return subprocess.run(command, cwd=self.folder, capture_output=True, text=True, check=False)

    def output(self, *command: str) -> str:
        return subprocess.run(command, cwd=self.folder, capture_output=True, text=True, check=True).stdout

    def test_linker_never_uses_a_copy_for_another_instruction_set(self):
        for name, flags in (("avx512", ["-mavx512f"]), ("plain", [])):
            source = COPY.replace("NAME", name)
            done = self.compile(name, source, flags, name if flags else None)
            self.assertEqual(done.returncode, 0, done.stderr)
        self.compile("program", PROGRAM, [])
        # The linker keeps the first definition, so the copy with AVX-512 instructions comes first.
        self.output(COMPILER, "avx512.o", "program.o", "plain.o", "-o", "program")
        code = self.output("objdump", "--disassemble", "--demangle", "--no-show-raw-insn", "program")
        for function in ("shared(double const*, int)", "Shape::area(double)", "Shape::~Shape()"):
            shared_copy = [part for part in code.split("\n\n") if f"<{function}>:" in part]
            self.assertTrue(shared_copy, function)
            self.assertNotRegex("".join(shared_copy), r"\bv[a-z]+[sp]d\b", function)
        self.output("./program")

    def test_rejects_code_that_runs_before_main(self):
        source = "#include <string>\nconst std::string name = \"a name that is too long to be kept in place\";\n"
        done = self.compile("early", source + "const void* use() { return &name; }\n", ["-mavx2"], "avx2")
        self.assertEqual(done.returncode, 1)
        self.assertIn("before main", done.stderr)
        self.assertFalse((self.folder / "early.o").exists())

    def test_propagates_a_failed_compilation(self):
        done = self.compile("wrong", "int main() { return nothing; }\n", [], "avx2")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("nothing", done.stderr)


if __name__ == "__main__":
    unittest.main()

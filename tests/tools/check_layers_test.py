"""The layer check allows includes that its table permits, and reports all others."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


class CheckLayers(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        self.write("cmake/layers.cmake", (ROOT / "cmake/layers.cmake").read_text())
        for header in ("base/a.h", "graph/a.h", "distribution/a.h", "record/a.h", "ops/one/one.h", "ops/two/two.h", "backend/cpu/a.h"):
            self.write(f"src/{header}", "")

    def write(self, path: str, text: str):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def check(self) -> tuple[int, str]:
        command = [sys.executable, ROOT / "tools/check_layers.py", self.root]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    def expect(self, path: str, included: str, allowed: bool):
        self.write(f"src/{path}", f'// A file.\n#include <vector>\n#include "{included}"\n')
        code, output = self.check()
        self.assertEqual(code, 0 if allowed else 1, output)
        self.assertEqual(path in output, not allowed, output)

    def test_recognises_kernel_sources_by_name(self):
        self.expect("ops/one/one_cpu.cpp", "backend/cpu/a.h", allowed=True)
        self.expect("ops/one/two_avx512_bf16.cpp", "backend/cpu/a.h", allowed=True)
        self.expect("ops/one/three.cpp", "backend/cpu/a.h", allowed=False)

    def test_allowed_layers_are_transitive(self):
        self.expect("distribution/b.cpp", "base/a.h", allowed=True)
        self.expect("exec/b.cpp", "graph/a.h", allowed=True)

    def test_rejects_a_higher_layer(self):
        self.expect("graph/b.cpp", "record/a.h", allowed=False)

    def test_rejects_another_layer_of_the_same_level(self):
        self.expect("graph/b.cpp", "backend/cpu/a.h", allowed=False)

    def test_report_may_include_only_records_and_statistics(self):
        self.expect("report/b.cpp", "record/a.h", allowed=True)
        self.expect("report/b.cpp", "graph/a.h", allowed=False)

    def test_a_kernel_may_include_its_own_op_and_device(self):
        self.expect("ops/one/one_cpu.cpp", "ops/one/one.h", allowed=True)
        self.expect("ops/one/one_cpu.cpp", "backend/cpu/a.h", allowed=True)
        self.expect("ops/one/one_cpu.cpp", "ops/two/two.h", allowed=False)

    def test_an_op_may_include_other_ops_but_no_backend(self):
        self.expect("ops/one/one.cpp", "ops/two/two.h", allowed=True)
        self.expect("ops/one/one.cpp", "backend/cpu/a.h", allowed=False)

    def test_rejects_files_outside_layers(self):
        self.expect("elsewhere/b.cpp", "base/a.h", allowed=False)
        (self.root / "src/elsewhere/b.cpp").unlink()
        self.expect("graph/b.cpp", "a.h", allowed=False)

    def test_rejects_a_table_with_a_cycle(self):
        table = (ROOT / "cmake/layers.cmake").read_text()
        row = '"tensor           | base"'
        self.assertIn(row, table)
        self.write("cmake/layers.cmake", table.replace(row, '"tensor           | graph"'))
        code, output = self.check()
        self.assertEqual(code, 1)
        self.assertIn("not a row above it", output)


if __name__ == "__main__":
    unittest.main()

"""The kernels id changes with the kernel sources and the compiler, but not with commits to other files."""

import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "cmake" / "write_build_id.cmake"


@unittest.skipUnless(shutil.which("cmake"), "needs cmake")
class KernelsId(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.source = Path(folder.name) / "source"
        self.output = Path(folder.name) / "build_id.cpp"
        for name in ("src/ops/matmul/matmul_cpu.cpp", "src/backend/cpu/team.h", "src/report/csv.cpp",
                     "cmake/op_files.cmake"):
            self.write(name, name)

    def write(self, name: str, text: str):
        path = self.source / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def kernels_id(self, compiler: str = "GNU-12.2.0", name: str = "kernels_id") -> str:
        subprocess.run(["cmake", f"-DSOURCE_DIR={self.source}", f"-DOUTPUT={self.output}", "-DVERSION=1",
                        "-DBUILD_TYPE=Release", f"-DCOMPILER={compiler}", "-DLIBRARIES=onednn 3.0", "-P", str(SCRIPT)],
                       check=True)
        return re.search(r'\b' + name + r'\(\) { return "([0-9a-f]{16})"; }', self.output.read_text())[1]

    def test_changes_with_kernel_sources_and_compiler(self):
        before = self.kernels_id()
        self.write("src/report/csv.cpp", "changed")
        self.assertEqual(self.kernels_id(), before)
        self.assertNotEqual(self.kernels_id("GNU-13.1.0"), before)
        self.write("src/backend/cpu/team.h", "changed")
        changed = self.kernels_id()
        self.assertNotEqual(changed, before)
        self.write("src/ops/matmul/matmul_avx512_bf16.cpp", "new")
        self.assertNotEqual(self.kernels_id(), changed)

    def test_devices_have_separate_ids(self):
        cpu, cuda = self.kernels_id(), self.kernels_id(name="cuda_kernels_id")
        self.write("src/ops/matmul/matmul_cpu.cpp", "changed")
        self.assertNotEqual(self.kernels_id(), cpu)
        self.assertEqual(self.kernels_id(name="cuda_kernels_id"), cuda)
        cpu = self.kernels_id()
        self.write("src/ops/matmul/matmul_cuda.cpp", "new")
        self.assertEqual(self.kernels_id(), cpu)
        self.assertNotEqual(self.kernels_id(name="cuda_kernels_id"), cuda)


if __name__ == "__main__":
    unittest.main()

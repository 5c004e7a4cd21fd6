"""The compiler vectorises the loops of strip kernels. A branch that cannot become a mask would make a loop scalar."""

import os
import re
import subprocess
import unittest

BINARY = os.environ["LAPTIME_BINARY"]
# Functions that process a strip, in the copies for AVX2 and AVX-512.
STRIP_FUNCTION = re.compile(r".*laptime::(avx2|avx512)::.*\(laptime::\1::Strip const&\)(?: \[clone .*\])?")
SCALAR = re.compile(r"\tv(?:add|mul|sub|div|sqrt|fn?m(?:add|sub)\d+)ss\s")
PACKED = re.compile(r"\tv(?:add|mul|sub|div|sqrt|fn?m(?:add|sub)\d+)ps\s")


class VectorCode(unittest.TestCase):
    def test_strip_functions_contain_vector_code(self):
        code = subprocess.run(["objdump", "--disassemble", "--demangle", "--no-show-raw-insn", BINARY],
                              capture_output=True, text=True, check=True, errors="replace").stdout
        functions = {}  # name -> (has scalar arithmetic, has packed arithmetic)
        for name, body in re.findall(r"^[0-9a-f]+ <(.*)>:\n((?:.+\n)*)", code, re.MULTILINE):
            if STRIP_FUNCTION.fullmatch(name):
                functions[name] = (SCALAR.search(body) is not None, PACKED.search(body) is not None)
        self.assertTrue(any(packed for _, packed in functions.values()), "no strip function was found")
        scalar = [name for name, (scalar, packed) in functions.items() if scalar and not packed]
        self.assertEqual(scalar, [])


if __name__ == "__main__":
    unittest.main()

"""sanitized_layers.py names the layers whose tests ./check runs under the sanitizers."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))

from sanitized_layers import CORE, groups  # noqa: E402

FOLDERS = {"backend", "backend/cpu", "backend/cuda", "base", "data", "exec", "ops", "points", "record"}
CORE_TESTS = sorted("tests_" + folder.replace("/", "_") for folder in CORE)


class SanitizedLayers(unittest.TestCase):
    def test_runs_nothing_after_a_change_to_documents(self) -> None:
        self.assertEqual(groups({"README.md", "tests/e2e/bench_test.py", "tools/attack"}, FOLDERS), [])

    def test_runs_the_layers_of_changed_sources_and_tests(self) -> None:
        changed = {"src/record/store/store.cpp", "tests/base/json_test.cpp"}
        self.assertEqual(groups(changed, FOLDERS), ["tests_base", "tests_record"])

    def test_leaves_out_layers_without_tests_in_a_sanitizer_build(self) -> None:
        folders = FOLDERS | {"cli", "explain", "report", "widths"}
        self.assertEqual(groups({"src/cli/program.cpp", "src/explain/explain.cpp"}, folders), [])
        self.assertEqual(groups({"src/report/filter.cpp"}, folders), ["tests_report"])  # a fuzz target

    def test_golden_files_belong_to_data(self) -> None:
        self.assertEqual(groups({"tests/golden/grad_scaler.json"}, FOLDERS), ["tests_data"])

    def test_adds_the_core_after_a_change_to_a_layer_that_it_uses(self) -> None:
        for path in ("src/base/json.cpp", "src/backend/cuda/driver.h", "src/ops/rope/rope_cpu.cpp"):
            self.assertLessEqual(set(CORE_TESTS), set(groups({path}, FOLDERS)), path)

    def test_changed_kernels_and_cards_run_the_core(self) -> None:
        for path in ("src/ops/rope/rope_cpu.cpp", "src/ops/rope/rope.cpp"):
            self.assertEqual(groups({path}, FOLDERS), CORE_TESTS)

    def test_runs_every_layer_after_a_change_to_the_build_or_to_shared_test_code(self) -> None:
        for path in ("CMakePresets.json", "cmake/tests.cmake", "tests/support/training.cpp", "tests/fake_cuda/fake_cuda.cpp"):
            self.assertEqual(groups({path}, FOLDERS), ["tests"])

    def test_runs_every_layer_if_there_is_no_commit_to_compare_with(self) -> None:
        self.assertEqual(groups(None, FOLDERS), ["tests"])


if __name__ == "__main__":
    unittest.main()

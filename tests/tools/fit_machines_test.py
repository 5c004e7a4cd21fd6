"""tools/fit_machines: which figures are fitted, and predictions for machines without links."""

import importlib.util
import sys
import tempfile
import unittest
from importlib.machinery import SourceFileLoader
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LOADER = SourceFileLoader("fit_machines", str(ROOT / "tools" / "fit_machines"))
SPEC = importlib.util.spec_from_loader("fit_machines", LOADER)
fit_machines = importlib.util.module_from_spec(SPEC)
LOADER.exec_module(fit_machines)

RUN = {
    "id": "step/model:small", "source": "records of pytorch", "note": "", "quantity": "step_time_s", "machine": "rtx4090",
    "program": "pytorch-eager", "arithmetic": "bfloat16", "published_s": 0.5, "ranks": 1, "tensor": 1, "pipeline": 1,
    "context": 1, "chunks": 1, "fills_bubbles": False, "shard": "parameters", "in_node": False, "offloads": False,
    "checkpointing": "none", "layers": 2, "micro_batches": 1, "micro_tokens": 1024.0, "d_model": 768.0, "parameters": 1e9,
    "network": 0.0, "recorded": False, "grouped": False, "kv_width": 768.0,
}
VALUES = dict(zip(fit_machines.FREE, fit_machines.START))


def figure(**changes) -> object:
    run = {**RUN, **changes}
    machine = fit_machines.Machine(ROOT / "machines" / f"{run['machine']}.toml")
    launch = {"phase": "forward", "in_layer": True, "count": 10, "kind": "other", "moved": 1e9, "work": 1e9}
    return fit_machines.Figure(run, fit_machines.Share([launch], machine, run["arithmetic"]), machine)


class FitMachines(unittest.TestCase):
    def test_keeps_a_point_of_each_machine(self):
        figures = [figure(), figure(machine="l4"), figure(), figure(quantity="forward_time_s")]
        self.assertEqual(fit_machines.once(figures), [figures[0], figures[1], figures[3]])

    def test_skips_machines_without_fitted_rates(self):
        self.assertTrue(fit_machines.is_fitted(RUN, set()))
        for machine in ("epyc-9554", "m4"):
            self.assertFalse(fit_machines.is_fitted({**RUN, "machine": machine}, set()))

    def test_finds_unsteady_lines_in_each_file(self):
        texts = {"mine.csv": "warmup,time_s,std_s\n1,2,0.1\n0,2,\n1,2,0.5\n1,,\n", "clusters.csv": "id,value\na,1\n",
                 "mine.json": '[{"warmup": 0}]\n'}
        found = {}
        with tempfile.TemporaryDirectory() as folder:
            for name, text in texts.items():
                path = Path(folder, name)
                path.write_text(text)
                found[name] = fit_machines.unsteady_lines(path)
        self.assertEqual(found, {"mine.csv": {"line 3", "line 4"}, "clusters.csv": set(), "mine.json": set()})

    def test_reads_each_file_with_its_own_lines(self):
        """The rows of another file are not unsteady because those of published/figures.csv with the same number are."""
        published = fit_machines.unsteady_lines(ROOT / fit_machines.TABLES[0])
        answer = {"launches": [], "runs": [{**RUN, "id": sorted(published)[0], "share": 0}]}
        program = f"#!{sys.executable}\nimport json\nprint(json.dumps([{{'tables': {answer!r}}}]))\n"
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "laptime")
            path.write_text(program)
            path.chmod(0o755)
            mine = Path(folder, "mine.csv")
            mine.write_text("warmup,time_s,std_s\n")
            figures = fit_machines.read_figures(str(path), [mine])
        self.assertEqual(len(figures), 2)  # from clusters.csv and mine.csv

    def test_predicts_one_rank_without_links(self):
        plain = figure().predicted(VALUES)
        self.assertEqual(figure(in_node=True).predicted(VALUES), plain)
        updated = 1e9 * fit_machines.HOST_UPDATE_BYTES / fit_machines.HOST_BANDWIDTH
        self.assertGreater(figure(offloads=True).predicted(VALUES), updated)


if __name__ == "__main__":
    unittest.main()

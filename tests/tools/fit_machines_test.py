"""tools/fit_machines: which figures are fitted, and predictions, which agree with those of the program."""

import collections
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import unittest
from importlib.machinery import SourceFileLoader
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import predicted_times

LOADER = SourceFileLoader("fit_machines", str(ROOT / "tools" / "fit_machines"))
SPEC = importlib.util.spec_from_loader("fit_machines", LOADER)
fit_machines = importlib.util.module_from_spec(SPEC)
LOADER.exec_module(fit_machines)

HEAD = ("id,source,source_commit_or_date,hardware,gpus,nodes,interconnect,model_family,model_name,parameters,layers,d_model,"
        "d_ff,heads,kv_heads,vocab,sequence_length,micro_batch,global_batch_tokens,dtype,mode,flash_attention,parallelism,"
        "activation_checkpointing,quantity,value,note\n")


def figures_of_modes(modes: list[str]) -> list:
    """One figure for each mode: a step of GPT-2 on one H100, in three micro-batches that recompute the attention core. The
    vocabulary of 50,257 makes rows of logits unaligned."""
    rows = [f"{mode},me,2026,H100 80GB,1,1,none,GPT-2,GPT-2,,12,768,3072,12,12,50257,1024,8,24576,bf16 autocast,{mode},no,none,"
            "selective (attention core),step_time_s,0.1,\n" for mode in modes]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "runs.csv")
        path.write_text(HEAD + "".join(rows))
        done = subprocess.run([os.environ["LAPTIME_BINARY"], "plan", "--store=none", f"--published={path}", "--view=kernels",
                               "--output=json"], capture_output=True, text=True, check=True, env={"HOME": folder})
    tables = json.loads(done.stdout)[0]["tables"]
    launches = collections.defaultdict(list)
    for launch in tables["launches"]:
        launches[launch["share"]].append(launch)
    machine = predicted_times.Machine(ROOT / "machines/h100.toml")
    return [predicted_times.Figure(run, predicted_times.Share(launches[run["share"]], machine, run["arithmetic"], run["micro_batches"]), machine)
            for run in tables["runs"]]


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
    machine = predicted_times.Machine(ROOT / "machines" / f"{run['machine']}.toml")
    launch = {"phase": "forward", "in_layer": True, "in_attention": False, "count": 10, "later": 10, "kind": "other", "moved": 1e9, "work": 1e9, "unaligned": 0}
    return predicted_times.Figure(run, predicted_times.Share([launch], machine, run["arithmetic"], 1), machine)


class FitMachines(unittest.TestCase):
    def test_drops_repeated_figures(self):
        figures = [figure(), figure(machine="l4"), figure(), figure(quantity="forward_time_s")]
        self.assertEqual(fit_machines.once(figures), [figures[0], figures[1], figures[3]])

    def test_skips_machines_without_fitted_rates(self):
        self.assertTrue(fit_machines.is_fitted(RUN, set()))
        for machine in ("epyc-9554", "m4"):
            self.assertFalse(fit_machines.is_fitted({**RUN, "machine": machine}, set()))

    def test_finds_times_without_warmup_or_with_a_large_spread(self):
        texts = {"mine.csv": "warmup,time_s,std_s\n1,2,0.1\n0,2,\n1,2,0.5\n1,,\n", "clusters.csv": "id,value\na,1\n",
                 "mine.json": '[{"warmup": 0}]\n'}
        found = {}
        with tempfile.TemporaryDirectory() as folder:
            for name, text in texts.items():
                path = Path(folder, name)
                path.write_text(text)
                found[name] = fit_machines.unsteady_lines(path)
        self.assertEqual(found, {"mine.csv": {"line 3", "line 4"}, "clusters.csv": set(), "mine.json": set()})

    def test_unsteady_lines_apply_only_to_their_file(self):
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
        self.assertEqual(len(figures), 2 + len(fit_machines.RECORDS))  # those of clusters.csv and mine.csv

    def test_predicts_one_rank_without_links(self):
        plain = figure().predicted(VALUES)
        self.assertEqual(figure(in_node=True).predicted(VALUES), plain)
        updated = 1e9 * predicted_times.HOST_UPDATE_BYTES / predicted_times.HOST_BANDWIDTH
        self.assertGreater(figure(offloads=True).predicted(VALUES), updated)


class Figures(unittest.TestCase):
    def test_table_of_the_documents_matches_the_program(self):
        text = (ROOT / "docs/predictions.md").read_text().split(fit_machines.BEGIN_DOCUMENTS)[1]
        self.assertEqual(text[:text.index(fit_machines.END)], fit_machines.document_table(os.environ["LAPTIME_BINARY"]))

    def test_predicts_the_same_times_as_laptime(self):
        for figure in figures_of_modes(["laptime eager", "laptime compile", "eager", "torch.compile"]):
            with self.subTest(figure.run["id"]):
                values = {name: figure.sheet[name] for name in fit_machines.FREE}
                predicted, expected = figure.predicted(values), figure.run["predicted_s"]
                self.assertAlmostEqual(predicted / expected, 1, places=9)

    def test_predicts_records_of_laptime_as_laptime_does(self):
        figures = [one for one in fit_machines.read_figures(os.environ["LAPTIME_BINARY"], []) if one.is_laptime]
        self.assertGreater(len(figures), 60)
        for figure in figures:
            values = {name: figure.sheet[name] for name in fit_machines.FREE}
            self.assertAlmostEqual(figure.predicted(values) / figure.run["predicted_s"], 1, places=9, msg=figure.run["id"])

    def test_own_errors_are_wider_on_machines_without_laptime_figures(self):
        figures = [figure(machine="h100", program="laptime", published_s=0.1 + 0.01 * i) for i in range(10)]
        values = {"h100": VALUES}
        number, near, is_known = fit_machines.own_errors(figures, values, "h200", [-0.2, 0.3])
        self.assertEqual((number, near, is_known), (10, [one.error(VALUES) for one in figures], True))
        number, far, is_known = fit_machines.own_errors(figures, values, "b200", [-0.2, 0.3])
        self.assertEqual((number, is_known), (10, False))
        self.assertLess(min(far), min(near) - 0.15)
        self.assertGreater(max(far), max(near) + 0.25)

    def test_figures_have_the_same_mode_as_in_laptime(self):
        modes = {"laptime eager": "eager", "laptime compile": "compile", "eager": "eager", "torch.compile": "compile"}
        self.assertEqual({figure.run["id"]: figure.mode() for figure in figures_of_modes(list(modes))}, modes)


if __name__ == "__main__":
    unittest.main()

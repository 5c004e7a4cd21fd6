"""tools/fit_machines predicts with the formulas of src/predict."""

import collections
import importlib.machinery
import importlib.util
import json
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
loader = importlib.machinery.SourceFileLoader("fit_machines", str(ROOT / "tools/fit_machines"))
fit_machines = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
loader.exec_module(fit_machines)

HEAD = ("id,source,source_commit_or_date,hardware,gpus,nodes,interconnect,model_family,model_name,parameters,layers,d_model,"
        "d_ff,heads,kv_heads,vocab,sequence_length,micro_batch,global_batch_tokens,dtype,mode,flash_attention,parallelism,"
        "activation_checkpointing,quantity,value,note\n")


def figures(modes: list[str]) -> list:
    """One figure for each mode: a step of GPT-2 on one H100, whose vocabulary of 50,257 makes rows of logits unaligned."""
    rows = [f"{mode},me,2026,H100 80GB,1,1,none,GPT-2,GPT-2,,12,768,3072,12,12,50257,1024,8,8192,bf16 autocast,{mode},no,none,"
            "none,step_time_s,0.1,\n" for mode in modes]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "runs.csv")
        path.write_text(HEAD + "".join(rows))
        done = subprocess.run([os.environ["LAPTIME_BINARY"], "plan", "--store=none", f"--published={path}", "--view=kernels",
                               "--output=json"], capture_output=True, text=True, check=True, env={"HOME": folder})
    tables = json.loads(done.stdout)[0]["tables"]
    launches = collections.defaultdict(list)
    for launch in tables["launches"]:
        launches[launch["share"]].append(launch)
    machine = fit_machines.Machine(ROOT / "machines/h100.toml")
    return [fit_machines.Figure(run, fit_machines.Share(launches[run["share"]], machine, run["arithmetic"]), machine)
            for run in tables["runs"]]


class Figures(unittest.TestCase):
    def test_predicts_the_times_of_the_program(self):
        for figure in figures(["laptime eager", "laptime compile", "eager", "torch.compile"]):
            with self.subTest(figure.run["id"]):
                values = {name: figure.sheet[name] for name in fit_machines.FREE}
                predicted, expected = figure.predicted(values), figure.run["predicted_s"]
                self.assertAlmostEqual(predicted / expected, 1, places=9)

    def test_modes_are_those_of_the_program(self):
        modes = {"laptime eager": "eager", "laptime compile": "compile", "eager": "eager", "torch.compile": "compile"}
        self.assertEqual({figure.run["id"]: figure.mode() for figure in figures(list(modes))}, modes)


if __name__ == "__main__":
    unittest.main()

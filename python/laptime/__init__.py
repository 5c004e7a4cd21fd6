"""Measures training steps of GPT-style transformers with the program `laptime`, and returns the records as data.

    import laptime

    records = laptime.bench(model="small", context=[128, 256], dtype="bfloat16")
    records.to_pandas().pivot(index="context_length", columns="dtype", values="median_s")

Every function runs the command with the same name. Its keywords are the options of that command: `d_model=64` means
`--d-model 64`, a list gives several values, `None` omits an option, and `pass_` is `--pass`. `options("bench")` returns
the available options. The program checks the values; rejected input raises `Error` with the program's message.

The program is the one in this package or else on PATH. Set the variable LAPTIME_BINARY to use another one.

`measure` measures a training step of your own, in any framework, by the same rule.
"""

from laptime.commands import (attention, bench, compare, explain, export, memory, options, plan, profile, report, run, show,
                              version)
from laptime.program import Error, Interrupted, LaptimeWarning
from laptime.records import Exported, Page, Record, Records, Report, Reports
from laptime.steps import measure, phase

__all__ = ["Error", "Exported", "Interrupted", "LaptimeWarning", "Page", "Record", "Records", "Report", "Reports",
           "attention", "bench", "compare", "explain", "export", "measure", "memory", "options", "phase", "plan", "profile",
           "report", "run", "show", "version"]

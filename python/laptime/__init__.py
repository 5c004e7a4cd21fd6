"""Measures training steps of GPT-style transformers with the program `laptime`, and gives the records as data.

    import laptime

    records = laptime.bench(model="small", context=[128, 256], dtype="bfloat16")
    records.to_pandas().pivot(index="context_length", columns="dtype", values="median_s")

Every function runs the command of its name. Its keywords are the options of that command, `d_model=64` for
`--d-model 64`; a list is a list of values, `None` leaves an option out, and `pass_` is `--pass`. `options("bench")` says
which options there are. The program checks the values; what it refuses is an `Error` with its message.

The program is that of this package; without one, that of PATH. The variable LAPTIME_BINARY names another.

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

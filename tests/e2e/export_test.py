"""laptime export: independent parsers read each format, all formats agree, and invalid requests are rejected."""

import csv
import io
import json
import os
import pickle
import pickletools
import pty
import re
import sqlite3
import statistics
from collections import defaultdict

from program import MODEL, ProgramTest

TWO_POINTS = [*MODEL, *"--context 8,16 --device roofline:h100 --warmup 1 --steps 3".split()]
ONE_POINT = [*MODEL, *"--context 16 --device roofline:h100 --warmup 1 --steps 3".split()]

# The opcodes that the unpickler of pytorch.org/memory_viz supports.
VIEWER_OPCODES = set("PROTO FRAME MEMOIZE BINGET LONG_BINGET BINPUT LONG_BINPUT EMPTY_DICT EMPTY_LIST EMPTY_TUPLE MARK APPEND "
                     "APPENDS SETITEM SETITEMS LIST DICT TUPLE TUPLE1 TUPLE2 TUPLE3 BININT BININT1 BININT2 LONG1 BINFLOAT "
                     "BINUNICODE SHORT_BINUNICODE NEWTRUE NEWFALSE NONE STOP".split())

TEXTS = ["", "forward", "backward", "layers.0.attn", "lm_head", "scaled dot product attention/computing softmax", "softmax",
         "matmul", "tiles_avx2", "softmax(float32 [1, 2, 16, 16])", "setup", "parameter", "activation", "float32",
         "[1, 2, 16, 16]", "lm_head.weight", "gradient"]


def columns(*names, rows):
    """Converts rows to named columns. Strings are replaced by their indices in TEXTS."""
    return {name: [TEXTS.index(row[i]) if isinstance(row[i], str) else row[i] for row in rows]
            for i, name in enumerate(names)}


# Three launches and four buffers. At the peak, 768 bytes are alive in addition to the 1,000 resident bytes; 256 remain
# at the end.
TRACE = {
    "texts": TEXTS,
    "launches": columns(
        "phase", "scope", "layer", "part", "range", "op", "work_class", "kernel", "signature", "flops", "bytes", "recomputed",
        rows=[("forward", "layers.0.attn", 0, "", TEXTS[5], "softmax", "softmax", "tiles_avx2", TEXTS[9], 10.0, 20, 0),
              ("forward", "lm_head", -1, "lm_head", "", "matmul", "matmul", "tiles_avx2", TEXTS[9], 10.0, 20, 0),
              ("backward", "lm_head", -1, "lm_head", "", "matmul", "matmul", "tiles_avx2", TEXTS[9], 10.0, 20, 0)]),
    "buffers": columns(
        "name", "op", "scope", "phase", "role", "dtype", "shape", "bytes", "offset", "resident", "saved", "first", "last",
        rows=[("lm_head.weight", "", "", "setup", "parameter", "float32", TEXTS[14], 1000, 0, 1, 0, 0, 3),
              ("", "softmax", "layers.0.attn", "forward", "activation", "float32", TEXTS[14], 512, 0, 0, 0, 0, 1),
              ("", "matmul", "lm_head", "forward", "activation", "float32", TEXTS[14], 256, 512, 0, 0, 1, 2),
              ("", "matmul", "lm_head", "backward", "gradient", "float32", TEXTS[14], 256, 0, 0, 0, 2, 3)]),
    "resident_bytes": 1024, "arena_bytes": 768, "live_peak_bytes": 768, "peak_launch": 1,
    "steps": [{"begin": 1e-6, "total": 1e-5, "launches": [1500, 3000, 4000], "communication": []}],
    "untraced": [], "mark": None, "peak_flops": None, "bandwidth": None, "datasheet_flops": None,
    "datasheet_bandwidth": None, "cache_bytes": None,
    "device": {"records": None, "missing": None, "kernels": 0, "copies": 0, "busy": [], "recorded": [], "usually_recorded": 0},
}


class ExportTest(ProgramTest):
    def export(self, *words, **options):
        return self.laptime("export", *words, "--store", self.store, **options)

    def exported(self, *words) -> str:
        done = self.export(*words)
        self.assert_ok(done)
        self.assertRegex(done.stderr, r"^laptime export \w+: \S+ \w+ of \d+ records? written to .*\n$")
        return done.stdout

    def add_trace(self, trace=None, records=1):
        """Adds `trace`, or TRACE if it is None, to each of the newest `records` records."""
        store = sqlite3.connect(self.store)
        with store:
            store.execute("INSERT INTO traces SELECT id, ? FROM records ORDER BY id DESC LIMIT ?",
                          (json.dumps(trace or TRACE), records))
        store.close()

    def assert_refused(self, done, *texts):
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertEqual(done.stdout, "")
        for text in texts:
            self.assertIn(text, done.stderr)


class ExportRecords(ExportTest):
    def test_every_format_has_the_samples_of_the_record(self):
        self.assert_ok(self.bench(*TWO_POINTS))
        # A prediction has one time.
        samples = {record["name"]: [record["time"]["step"]["median"]] for record in self.stored()}
        self.assertEqual(len(samples), 2)

        found = defaultdict(list)
        for row in json.loads(self.exported("google_benchmark"))["benchmarks"]:
            self.assertEqual((row["time_unit"], row["cpu_time"]), ("us", row["real_time"]))
            found[row["name"]].append(row["real_time"] / 1e6)
        for name, seconds in samples.items():
            self.assert_close(found[name], seconds)
            self.assertEqual(len(found[f"{name}/phase:backward"]), 1)

        results = json.loads(self.exported("hyperfine"))["results"]
        self.assertEqual({result["command"]: result["times"] for result in results},
                         {f"{name}/predicted:h100": seconds for name, seconds in samples.items()})
        self.assertEqual({(result["user"], result["system"]) for result in results}, {(0, 0)})
        self.assertEqual([result["parameters"] for result in results],
                         [{"context_length": "8"}, {"context_length": "16"}])

        lines = [json.loads(line) for line in self.exported("jsonl").splitlines()]
        self.assertEqual(lines, self.stored())

        rows = list(csv.DictReader(io.StringIO(self.exported("csv"))))
        for row in rows:
            self.assert_close([float(row["median_s"])], [statistics.median(samples[row["name"]])])
            self.assertEqual((row["count"], row["std_s"]), ("", ""))  # a prediction has no samples
            parts = sum(float(value) for key, value in row.items() if key.startswith("memory.") and value)
            self.assertEqual(parts, float(row["predicted_peak_memory_bytes"]))
        self.assertEqual([row["context_length"] for row in rows], ["8", "16"])

        table = self.exported("llama_bench").splitlines()
        self.assertEqual([line.split("|")[7].strip() for line in table[2:10]], ["fwd", "bwd", "opt", "step"] * 2)

    def assert_close(self, found, expected):
        self.assertEqual(len(found), len(expected))
        for a, b in zip(found, expected):
            self.assertAlmostEqual(a, b, delta=1e-12 + 1e-9 * abs(b))

    def test_applies_a_filter_and_writes_a_file(self):
        self.assert_ok(self.bench(*TWO_POINTS))
        self.assertEqual(self.exported("csv", "ctx = 16", "--output-file", "wide.csv"), "")
        rows = list(csv.DictReader(io.StringIO((self.folder / "wide.csv").read_text())))
        self.assertEqual([row["context_length"] for row in rows], ["16"])
        self.assertEqual(self.exported("csv", "ctx = 16", "--output-file", "-").splitlines(),
                         (self.folder / "wide.csv").read_text().splitlines())


    def test_states_size_and_number_of_records_written(self):
        self.assert_ok(self.bench(*TWO_POINTS))
        done = self.export("csv", "--output-file", "all.csv")
        size = (self.folder / "all.csv").stat().st_size
        self.assertEqual((done.stdout, done.stderr), ("", f"laptime export csv: {size / 1024:.3f} KiB of 2 records written "
                                                          "to 'all.csv'\n"))
        self.assertTrue(self.export("csv", "ctx = 16").stderr.endswith(" of 1 record written to standard output\n"))

    def test_formats_of_samples_leave_out_records_without_a_time(self):
        self.assert_ok(self.bench(*ONE_POINT))
        self.laptime("bench", "--model", "10B", "--context", "4096", "--batch", "1", "--device", "h100", "--store", self.store)
        for name in ("google_benchmark", "hyperfine", "llama_bench"):
            done = self.export(name)
            self.assert_ok(done)
            self.assertIn("left out 1 record without a time; laptime show states the reasons", done.stderr)
            self.assertIn(" of 1 record written", done.stderr)
            failed = self.export(name, "status != ok", "--output-file", "empty")
            self.assert_refused(failed, f"laptime export {name}: none of 1 matching record has a time; laptime show states")
            self.assertFalse((self.folder / "empty").exists())
        self.assertIn(" of 2 records written", self.export("csv").stderr)

    def test_newest_prefers_measured_records_to_predictions(self):
        measured = [*MODEL, *"--context 16 --device cpu --warmup 0 --steps 1".split()]
        for words in (ONE_POINT, measured, ONE_POINT):
            self.assert_ok(self.bench(*words))
        device = lambda *words: [row["device"] for row in csv.DictReader(io.StringIO(self.exported("csv", *words)))]
        self.assertEqual(len(device()), 3)
        self.assertEqual(device("--newest"), ["cpu"])
        self.assertEqual(device("predicted = true", "--newest"), ["roofline:h100"])
        self.assertEqual(device("device ~ roofline", "--newest"), ["roofline:h100"])


class ExportTraces(ExportTest):
    def setUp(self):
        super().setUp()
        self.assert_ok(self.bench(*ONE_POINT))
        self.add_trace()

    def test_every_format_has_the_same_times(self):
        trace = json.loads(self.exported("trace"))
        launches = [event for event in trace["traceEvents"] if event.get("cat") == "kernel"]
        self.assertEqual([event["args"]["ns"] for event in launches], [1500, 3000, 4000])
        ranges = [event["name"] for event in trace["traceEvents"] if event.get("cat") == "gpu_user_annotation"]
        self.assertEqual(ranges, ["warmup", "step", "forward", "layers.0", "attn", "scaled dot product attention",
                                  "computing softmax", "lm_head", "backward", "lm_head"])

        folded = dict(line.rsplit(" ", 1) for line in self.exported("folded").splitlines())
        self.assertEqual(folded, {
            "step;forward;layers.0;attn;scaled dot product attention;computing softmax;softmax": "1500",
            "step;forward;lm_head;matmul": "3000", "step;backward;lm_head;matmul": "4000", "step;residue": "1500"})

        kernels = {row["Name"]: row for row in csv.DictReader(io.StringIO(self.exported("nsys")))}
        self.assertEqual({name: row["Total Time (ns)"] for name, row in kernels.items()},
                         {"matmul:tiles_avx2": "7000", "softmax:tiles_avx2": "1500"})
        self.assertEqual(kernels["matmul:tiles_avx2"]["Instances"], "2")
        spans = {row["Range"]: row["Total Time (ns)"]
                 for row in csv.DictReader(io.StringIO(self.exported("nsys", "--report", "nvtx_sum")))}
        self.assertEqual((spans[":step"], spans[":forward"], spans[":computing softmax"]), ("10000", "4500", "1500"))

    def test_a_whole_step_has_the_same_times_in_every_format(self):
        words = ["--model", "small", "--context", "128", "--device", "h100", "--store", self.store]
        done = self.laptime("profile", *words, "--view", "kernels", "--top", "0", "--output", "json")
        self.assert_ok(done)
        tables = json.loads(done.stdout)[0]["tables"]
        *phases, residue, step = tables["phases"]
        kernels = round(1e9 * sum(row["total_s"] for row in tables["kernels"]))
        self.assertEqual(round(1e9 * sum(row["total_s"] for row in phases)), kernels)
        self.assertEqual(round(1e9 * (step["total_s"] - residue["total_s"])), kernels)
        self.assertLess(residue["total_s"], 0.01 * step["total_s"])
        text = {form: self.laptime("export", form, "--store", self.store, "--newest").stdout
                for form in ("trace", "nsys", "folded")}
        self.assertLess(len(text["trace"]), 5_000_000)
        slices = [event for event in json.loads(text["trace"])["traceEvents"] if event.get("cat") == "kernel"]
        self.assertEqual(len(slices), step["launches"])
        self.assertEqual(sum(event["args"]["ns"] for event in slices), kernels)
        self.assertEqual(sum(int(row["Total Time (ns)"]) for row in csv.DictReader(io.StringIO(text["nsys"]))), kernels)
        stacks = [line.rsplit(" ", 1) for line in text["folded"].splitlines()]
        self.assertEqual(sum(int(nanoseconds) for stack, nanoseconds in stacks if not stack.endswith("residue")), kernels)

    def test_memory_snapshot_matches_its_events(self):
        self.assertEqual(self.exported("memory_viz", "--output-file", "step.pickle"), "")
        data = (self.folder / "step.pickle").read_bytes()
        self.assertLessEqual({opcode.name for opcode, _, _ in pickletools.genops(data)}, VIEWER_OPCODES)
        snapshot = pickle.loads(data)
        alive, peak = {}, 0
        for event in snapshot["device_traces"][0]:
            if event["action"] == "alloc":
                self.assertNotIn(event["addr"], alive)
                alive[event["addr"]] = event
            elif event["action"] == "free_completed":
                self.assertEqual(alive.pop(event["addr"])["size"], event["size"])
            peak = max(peak, sum(event["size"] for event in alive.values()))
        self.assertEqual(peak, 1768)
        self.assertIn("unknown", {event["category"] for event in snapshot["device_traces"][0]})  # required by the viewer
        active = {}
        for segment in snapshot["segments"]:
            address = segment["address"]
            for block in segment["blocks"]:
                self.assertEqual(block["address"], address)
                address += block["size"]
                if block["state"] == "active_allocated":
                    active[block["address"]] = block
            self.assertEqual(address, segment["address"] + segment["total_size"])
        self.assertEqual({a: b["size"] for a, b in active.items()}, {a: event["size"] for a, event in alive.items()})
        frames = [event["frames"][0] for event in alive.values()]
        self.assertEqual(frames, [{"filename": "parameter", "name": "lm_head.weight", "line": 0},
                                  {"filename": "lm_head", "name": "matmul", "line": 2}])

    def test_json_lines_contain_the_trace(self):
        expected = TRACE | {"texts": [text or None for text in TEXTS]}  # records store an empty text as null
        self.assertEqual(json.loads(self.exported("jsonl"))["trace"], expected)

    def test_a_trace_without_times_exports_memory_only(self):
        self.assert_ok(self.bench(*ONE_POINT))
        self.add_trace(TRACE | {"steps": []})
        self.assert_refused(self.export("trace", f"created = '{self.stored()[-1]['created']}' and name ~ nothing"),
                            "no stored record matches")
        self.assertEqual(len(json.loads(self.exported("trace"))["traceEvents"]), len(json.loads(
            self.exported("trace", "--newest"))["traceEvents"]))  # only one of the two traces has times
        self.assertEqual(self.exported("memory_viz", "--newest", "--output-file", "step.pickle"), "")
        self.assertEqual(len(pickle.loads((self.folder / "step.pickle").read_bytes())["segments"]), 2)


class RejectedExports(ExportTest):
    def test_rejects_unknown_formats_and_reports(self):
        self.assert_refused(self.export(), "no format given; give one of: trace, memory_viz, nsys")
        self.assert_refused(self.export("tracee"), "unknown format 'tracee'; did you mean 'trace'?")
        self.assert_refused(self.export("nsys", "--report", "nvtx"), "unknown report 'nvtx'")
        self.assert_refused(self.export("csv"), "nothing has been stored there yet")

    def test_rejects_records_that_do_not_fit_the_format(self):
        self.assert_ok(self.bench(*TWO_POINTS))
        self.assert_refused(self.export("csv", "ctx = 9"), "laptime export csv: no stored record matches 'ctx = 9'")
        self.assert_refused(self.export("trace"), "laptime export trace: none of 2 matching records has a trace with times; "
                            "make one with laptime profile")
        launches = self.export("nsys", "class = matmul")
        self.assert_refused(launches, "'class' is a column of launches", "laptime profile \"class = matmul\" selects launches")
        self.assert_refused(self.export("memory_viz"), "make one with laptime profile or laptime memory")
        for _ in range(2):
            self.assert_ok(self.bench(*ONE_POINT))
            self.add_trace()
        names = [record["name"] for record in self.stored()]
        for _ in range(20):
            self.assert_ok(self.bench(*ONE_POINT))
            self.add_trace()
        many = self.export("trace")
        self.assert_refused(many, "the format takes one record, but 22 match", "the last is step custom ctx ", "--newest", "select one with a filter: \"")
        self.assertLess(len(many.stderr), 500)
        self.assertIn("--last", many.stderr)
        self.assertEqual(json.loads(self.exported("trace", "--newest"))["traceName"], names[-1])
        self.assert_ok(self.bench(*TWO_POINTS))
        self.add_trace(records=2)
        of_last = self.export("trace", "--last")
        self.assert_refused(of_last, "but 2 match", "Take it with --newest, or select one with a filter")

    def test_suggests_filters_that_select_one_record_each(self):
        contexts = [str(context) for context in range(8, 24)]  # predictions are so fast that several have the same date
        self.assert_ok(self.bench(*MODEL, "--context", ",".join(contexts), "--device", "h100"))
        self.add_trace(records=len(contexts))
        self.assertLess(len({record["created"] for record in self.stored()}), len(contexts))
        suggested = re.findall('"([^"]*)"', self.export("trace").stderr)
        self.assertEqual(len(suggested), 3)
        names = [json.loads(self.exported("trace", words))["traceName"] for words in suggested]
        self.assertEqual(names, [record["name"] for record in self.stored()[:-4:-1]])
        # Records that the given filter excludes have the same date and run as a record that it selects.
        self.assert_ok(self.bench(*MODEL, "--context", ",".join(contexts), "--device", "h100"))
        self.add_trace(records=len(contexts))
        suggested = re.findall('"([^"]*)"', self.export("trace", "ctx = 23").stderr)
        names = [json.loads(self.exported("trace", words))["traceName"] for words in suggested]
        self.assertEqual(names, [self.stored()[-1]["name"]] * 2)

    def test_refuses_to_write_binary_formats_to_a_terminal(self):
        self.assert_ok(self.bench(*ONE_POINT))
        self.add_trace()
        leader, terminal = pty.openpty()
        self.addCleanup(os.close, leader)
        self.addCleanup(os.close, terminal)
        done = self.export("memory_viz", stdout=terminal)
        self.assertEqual(done.returncode, 2)
        self.assertIn("binary and would garble the terminal; name a file with --output-file", done.stderr)

    def test_rejected_export_leaves_the_old_file_alone(self):
        self.assert_ok(self.bench(*ONE_POINT))
        (self.folder / "old").write_text("old")
        self.assert_refused(self.export("trace", "--output-file", "old"))
        self.assertEqual((self.folder / "old").read_text(), "old")

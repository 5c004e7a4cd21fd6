"""Large stores, kernels files and models: time and memory grow at most linearly with their size."""

import json
import os
import re
import resource
import sqlite3
import unittest
from contextlib import closing

from program import BINARY, ONE_STEP, PREDICTED, ProgramTest

MODEL = "--model custom --d-model 16 --d-ff 32 --num-heads 2 --context 8 --batch 1 --vocab 50".split()


def rows_of(text: str) -> int:
    """Counts the rows of a table, Markdown or CSV. A row begins with a record's name, or with its differing parts."""
    return len(re.findall(r"^(?:\| )?(?:step/model:custom|step|eager|compile)\b", text, flags=re.MULTILINE))


class Scale(ProgramTest):
    def cost_of(self, *words, code: int = 0) -> tuple[float, float, str]:
        """CPU seconds, peak resident MiB, and the output of the program."""
        output = self.folder / "output"
        with open(output, "wb") as file:
            process = os.fork()
            if process == 0:
                os.dup2(file.fileno(), 1)
                os.chdir(self.folder)
                os.execve(BINARY, [BINARY, *map(str, words)], self.environment)
            _, status, used = os.wait4(process, 0)
        self.assertEqual(os.waitstatus_to_exitcode(status), code, words)
        return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, output.read_text()

    def filled_store(self, count: int):
        """A store with `count` records, which are copies of two predictions."""
        store = self.folder / f"store{count}.sqlite"
        self.assert_ok(self.laptime("bench", "--store", store, *PREDICTED, *ONE_STEP, "--mode", "eager,compile"))
        with closing(sqlite3.connect(store)) as database:
            database.execute("PRAGMA synchronous = OFF")
            have = 2
            while have < count:
                database.execute("INSERT INTO records (json) SELECT json FROM records LIMIT ?", (count - have,))
                have = database.execute("SELECT count(*) FROM records").fetchone()[0]
            database.commit()
        return store

    def test_show_keeps_few_records_in_memory(self):
        """The memory of `show` does not grow with the store, and each record takes little time."""
        small, large = self.filled_store(100), self.filled_store(4000)
        for words in ([], ["model = custom"], ["ctx > 8 and mode = eager"], ["--sort", "median:desc"],
                      ["--columns", "name,median,peak_memory", "--output", "csv"], ["--output", "markdown"],
                      ["--output-file", "table.txt"]):
            _, memory_of_small, _ = self.cost_of("show", "--store", small, *words)
            seconds, memory, text = self.cost_of("show", "--store", large, *words)
            self.assertLess(memory, memory_of_small + 12, words)
            self.assertLess(seconds, 4, words)  # 1 ms per record, with a debug build on a slow machine
            if "--output-file" not in words:
                self.assertGreaterEqual(rows_of(text), 2000, words)

    def test_prints_one_line_for_each_record(self):
        for count in (50, 51):
            store = self.filled_store(count)
            for words in ([], ["--sort", "median"], ["--output-file", "table.txt"]):
                text = self.laptime("show", "--store", store, *words).stdout or (self.folder / "table.txt").read_text()
                rows = [line for line in text.splitlines() if re.match("(float32 |bfloat16 )?(eager|compile) ", line)]
                self.assertEqual(len(rows), count, (words, text))
                self.assertLessEqual(len(text.splitlines()), count + 8, words)  # heading, machine and reliability

    def test_show_streams_whole_records(self):
        small, large = self.filled_store(50), self.filled_store(1000)
        for form in ("json", "jsonl", "csv"):
            _, memory_of_small, _ = self.cost_of("show", "--store", small, "--output", form)
            _, memory, text = self.cost_of("show", "--store", large, "--output", form)
            self.assertLess(memory, memory_of_small + 12, form)
            self.assertGreaterEqual(text.count("step/model:custom"), 1000)

    def test_shows_a_store_of_an_older_schema_in_little_memory(self):
        store = self.filled_store(400)
        with closing(sqlite3.connect(store)) as database:
            for kind, name in database.execute("SELECT type, name FROM sqlite_schema WHERE type IN ('trigger', 'view')"
                                               ).fetchall():
                database.execute(f"DROP {kind} {name}")
            database.execute("DROP TABLE listing")
            database.execute("DROP TABLE briefs")
            database.execute("PRAGMA user_version = 2")
            database.commit()
        before = store.read_bytes()
        _, memory, text = self.cost_of("show", "--store", store)
        self.assertLess(memory, 100)
        self.assertEqual(rows_of(text), 400)
        self.assertEqual(store.read_bytes(), before)

    def assert_linear(self, cost_of, small: int, large: int):
        """One of five attempts must take at most twice the time of linear growth, because other programs may slow down
        some attempts. Quadratic growth would take four times that limit in every attempt."""
        seen = []
        for _ in range(5):
            start, few, many = cost_of(0), cost_of(small), cost_of(large)
            seen.append(f"{start:.2f}, {few:.2f} and {many:.2f} s")
            if many - start < 2 * large / small * max(few - start, 0.02):
                return
        self.fail("; ".join(seen))

    def test_a_kernels_file_is_read_in_linear_time(self):
        name = self.folder / "choices.json"

        def cost_of(entries: int) -> float:
            kernels = [{"op": "matmul", "signature": f"matmul({i})", "kernel": "reference"} for i in range(entries + 1)]
            name.write_text(json.dumps([{"kernels": kernels}]))
            return self.cost_of("explain", *PREDICTED, "--store", "none", "--kernels", name, code=2)[0]

        self.assert_linear(cost_of, 10_000, 80_000)

    def test_planning_time_is_linear_in_layers(self):
        def cost_of(layers: int) -> float:
            return self.cost_of("explain", *MODEL, "--num-layers", layers + 1, "--store", "none")[0]

        self.assert_linear(cost_of, 50, 400)

    def test_a_large_record_is_read_in_linear_time(self):
        self.assert_ok(self.bench(*PREDICTED, *ONE_STEP))
        record = self.stored()[0]

        def cost_of(entries: int) -> float:
            with closing(sqlite3.connect(self.store)) as database:
                database.execute("UPDATE records SET json = ?", (json.dumps(record | {"unknown": [[]] * entries}),))
                database.commit()
            return self.cost_of("show", "--store", self.store, "--output", "json")[0]

        self.assert_linear(cost_of, 50_000, 400_000)


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    unittest.main()

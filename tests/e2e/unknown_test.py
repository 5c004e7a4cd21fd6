"""Unknown values of a record are left out, never printed as nan."""

import json
import re
import sqlite3
import unittest
from contextlib import closing

from program import TINY, ProgramTest

NOT_A_NUMBER = re.compile(r"(?<!value=)(?<!value=-)\b(nan|inf)\b", re.IGNORECASE)  # an op may have the attribute value=-inf


class Unknown(ProgramTest):
    def shown(self):
        """Yields the commands that show stored records, each with its output and messages."""
        for words in (["show"], ["show", "--verbose"], ["show", "--columns", "name,mean,median,min,max,std,mfu,peak"],
                      ["show", "--columns", "mean_std"], ["show", "--output", "csv"],
                      ["show", "--output", "markdown"], ["history"], ["export", "csv"], ["export", "llama_bench"],
                      ["report", "--output", "markdown"]):
            done = self.laptime(*words, "--store", self.store)
            self.assertIn(done.returncode, (0, 1, 2), (words, done.stderr))
            yield words, done.stdout + done.stderr

    def test_null_and_zero_numbers_are_not_printed_as_nan(self):
        self.assert_ok(self.bench(*TINY, "--device", "cpu", "--steps", "6", "--warmup", "0"))
        whole = self.stored()[0]
        for damage in ({"mean": None}, {"median": None}, {"min": None, "max": None}, {"mean": 0.0, "median": 0.0}):
            record = json.loads(json.dumps(whole))
            for time in record["time"].values():
                time.update(damage)
            for peak in (0, None):
                record["memory"] |= {"peak_bytes": peak, "predicted_peak_bytes": peak}
                record["flops"] |= {"peak_measured": peak, "mfu_measured": peak}
                with closing(sqlite3.connect(self.store)) as database:
                    database.execute("UPDATE records SET json = ?", (json.dumps(record),))
                    database.commit()
                for words, text in self.shown():
                    self.assertIsNone(NOT_A_NUMBER.search(text), (damage, peak, words, text))


if __name__ == "__main__":
    unittest.main()

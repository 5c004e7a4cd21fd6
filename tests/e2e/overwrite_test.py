"""Output never replaces the inputs or the store of a command, and never follows links planted by other users."""

import json
import os
import shutil
import stat
import subprocess
import unittest
from pathlib import Path

from program import ONE_STEP, PREDICTED, TINY, ProgramTest

ROOT = Path(__file__).resolve().parents[2]
FORMS = ("table", "csv", "json", "jsonl", "markdown")


class Overwrite(ProgramTest):
    def setUp(self):
        super().setUp()
        self.assert_ok(self.bench(*PREDICTED, *ONE_STEP))
        self.before = self.store.read_bytes()

    def refused(self, words, part, **options):
        done = self.laptime(*words, **options)
        text = done.stderr or done.stdout or ""
        self.assertEqual(done.returncode, 2, f"{words}: {text}")
        self.assertIn(part, text)

    def other_names(self):
        """Paths that lead to the store: its own, a link, a hard link, a link to a link, and relative paths."""
        (self.folder / "link").symlink_to(self.store)
        (self.folder / "second").symlink_to("link")
        os.link(self.store, self.folder / "hard")
        (self.folder / "inner").mkdir()
        return [self.store, "link", "second", "hard", f"./{self.store.name}", f"inner/../{self.store.name}"]

    def test_does_not_replace_the_store_under_any_name(self):
        for name in self.other_names():
            for form in FORMS:
                for words in (["bench", *PREDICTED, *ONE_STEP], ["show"]):
                    words = [*words, "--store", self.store, "--output", form, "--output-file", name]
                    self.refused(words, "this is the store")
            self.refused(["explain", *PREDICTED, "--store", self.store, "--output-file", name], "this is the store")
            self.refused(["attention", "--device", "roofline:h100", "--context", "8", "--d-model", "8", "--store",
                          self.store, "--output-file", name], "this is the store")
        self.assertEqual(self.store.read_bytes(), self.before)

    def test_does_not_write_to_the_path_of_a_future_store(self):
        (self.folder / "dangling").symlink_to("new.sqlite")
        for form in FORMS:
            for store, output in (("new.sqlite", "./new.sqlite"), ("dangling", "new.sqlite"),
                                  ("new.sqlite", "dangling")):
                self.refused(["bench", *PREDICTED, *ONE_STEP, "--store", store, "--output", form, "--output-file",
                              output], "this is the store")
                self.assertFalse((self.folder / "new.sqlite").exists())

    def test_does_not_replace_sqlite_files_of_the_store(self):
        (self.folder / "link").symlink_to(self.store)
        for end in ("-journal", "-wal", "-shm"):
            for store in (self.store, "link"):
                self.refused(["bench", *PREDICTED, *ONE_STEP, "--store", store, "--output-file",
                              f"{self.store.name}{end}"], "of the store")

    def test_rejects_standard_streams_redirected_to_the_store(self):
        for words in (["bench", *PREDICTED, *ONE_STEP], ["show"], ["explain", *PREDICTED]):
            with open(self.store, "ab") as end:
                self.refused([*words, "--store", self.store], "standard output is redirected to the store", stdout=end)
                self.refused([*words, "--store", self.store], "standard error is redirected to the store", stderr=end)
                done = self.laptime(*words, "--store", self.store, stdout=end, stderr=end)
                self.assertEqual(done.returncode, 2)
        self.assertEqual(self.store.read_bytes(), self.before)

    def test_does_not_replace_inputs(self):
        (self.folder / "sweep.toml").write_text("seed = [1, 2]\n")
        (self.folder / "text.txt").write_bytes(bytes(range(1, 60)) * 10)
        kernels = self.laptime("show", "--store", self.store, "--output", "json").stdout
        (self.folder / "choices.json").write_text(kernels)
        for flag, name, what in (("--config", "sweep.toml", "the sweep file"), ("--data", "text.txt", "the data file"),
                                 ("--kernels", "choices.json", "the kernels file")):
            file = self.folder / name
            before = file.read_bytes()
            os.link(file, self.folder / f"hard_{name}")
            for output in (name, f"hard_{name}"):
                for words in (["bench", *PREDICTED, *ONE_STEP], ["explain", *PREDICTED]):
                    self.refused([*words, flag, name, "--store", "none", "--output-file", output], what)
            self.refused(["bench", *PREDICTED, *ONE_STEP, flag, name, "--store", name], what)
            self.assertEqual(file.read_bytes(), before)
        (self.folder / "empty.toml").touch()
        self.refused(["bench", *PREDICTED, "--config", "empty.toml", "--store", "empty.toml"], "the sweep file")
        (self.folder / "w.safetensors").write_bytes(b"weights")
        self.refused(["bench", *PREDICTED, "--weights", "w.safetensors", "--store", "none", "--output", "jsonl",
                      "--output-file", "w.safetensors"], "the weights file")
        self.assertEqual((self.folder / "w.safetensors").read_bytes(), b"weights")

    def test_does_not_replace_models_machines_prices_or_records(self):
        shutil.copytree(ROOT / "tests/golden_hf/gpt2", self.folder / "model")
        shutil.copyfile(ROOT / "machines/h100.toml", self.folder / "my.toml")
        (self.folder / "prices.toml").write_text("h100 = 2.5\n")
        (self.folder / "old").write_text("#!/bin/sh\n")
        for name in ("a.json", "b.json"):
            (self.folder / name).write_text(self.laptime("show", "--store", self.store, "--output", "json").stdout)
        model = ["plan", "--context", "16", "--batch", "1", "--model"]
        for words, file in (([*model, "model"], "model/config.json"), ([*model, "model"], "model/model.safetensors"),
                            ([*model, "model/config.json"], "model/config.json"),
                            (["plan", *TINY, "--device", "roofline:my.toml"], "my.toml"),
                            (["plan", "--device", "h100", "--ranks", "8", "--batch", "8", "--price-file", "prices.toml"],
                             "prices.toml"),
                            (["compare", "a.json", "b.json"], "a.json"), (["compare", "a.json", "b.json"], "b.json"),
                            (["compare", "--program", "./old,./old", *PREDICTED], "old")):
            before = (self.folder / file).read_bytes()
            self.refused([*words, "--output-file", file], f"--output-file '{file}': this is")
            self.assertEqual((self.folder / file).read_bytes(), before)

    def test_allows_an_output_next_to_the_store(self):
        for form in FORMS:
            self.assert_ok(self.bench(*PREDICTED, *ONE_STEP, "--output", form, "--output-file",
                                      f"{self.store.name}.{form}"))


class Links(ProgramTest):
    def test_does_not_follow_planted_links(self):
        """Another user cannot guess the name of the temporary file: links with all likely names stay unused."""
        victim = self.folder / "victim"
        victim.write_text("foreign")
        inner = self.folder / "shared"
        inner.mkdir()
        program = self.start("bench", *PREDICTED, "--steps", "1", "--seed", ",".join(map(str, range(60))), "--store",
                             "none", "--output", "json", "--output-file", inner / "out.json")
        for ending in (".part", ".tmp", "~", ""):
            for number in ("", f".{program.pid}", f"-{program.pid}"):
                link = inner / f"out.json{number}{ending}"
                if link.name != "out.json" and not link.is_symlink():
                    link.symlink_to(victim)
        program.communicate(timeout=60)
        self.assertEqual(program.returncode, 0)
        self.assertEqual(victim.read_text(), "foreign")
        self.assertFalse((inner / "out.json").is_symlink())
        self.assertEqual(len(json.loads((inner / "out.json").read_text())), 60)

    def test_keeps_the_permissions_of_a_replaced_file(self):
        output = self.folder / "out.csv"
        output.write_text("private")
        output.chmod(0o600)
        self.assert_ok(self.bench(*PREDICTED, *ONE_STEP, "--output", "csv", "--output-file", output))
        self.assertEqual(stat.S_IMODE(output.stat().st_mode), 0o600)
        self.assertIn("status", output.read_text())

    @unittest.skipIf(os.geteuid() == 0, "root may write anywhere")
    def test_does_not_replace_a_write_protected_file(self):
        output = self.folder / "out.csv"
        output.write_text("protected")
        output.chmod(0o400)
        done = self.bench(*PREDICTED, *ONE_STEP, "--output", "csv", "--output-file", output)
        self.assertEqual(done.returncode, 2)
        self.assertEqual(output.read_text(), "protected")


class Pipes(ProgramTest):
    def test_writes_to_a_named_pipe_once_it_has_a_reader(self):
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        for form in FORMS:
            with subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE, text=True) as reader:
                done = self.bench(*PREDICTED, *ONE_STEP, "--output", form, "--output-file", pipe)
                self.assert_ok(done)
                self.assertIn("custom", reader.communicate(timeout=20)[0], form)
        self.assertTrue(stat.S_ISFIFO(pipe.stat().st_mode))

    def test_a_named_pipe_without_a_reader_is_an_error(self):
        os.mkfifo(self.folder / "pipe")
        for form in FORMS:
            done = self.bench(*PREDICTED, *ONE_STEP, "--output", form, "--output-file", "pipe")
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn("no process reads this pipe", done.stderr)

    def test_rejects_unusable_store_and_output_paths(self):
        os.mkfifo(self.folder / "pipe")
        for words in (["bench", *PREDICTED, *ONE_STEP], ["show"], ["explain", *PREDICTED]):
            for store in ("pipe", "/dev/zero", "/dev/null", "/dev/full", "."):
                done = self.laptime(*words, "--store", store)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn("--store", done.stderr)
            for output in ("no/such/folder/file", ".", "/dev"):
                done = self.laptime(*words, "--store", "none", "--output-file", output)
                self.assertEqual(done.returncode, 2, done.stderr)


if __name__ == "__main__":
    unittest.main()

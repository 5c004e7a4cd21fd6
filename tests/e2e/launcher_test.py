"""Points run by launchers (env, fake ssh, mpirun) give the same records as a local sweep, even after kills."""

import os
import resource
import shutil
import signal
import unittest

import launchers
from launchers import LONG, POINT, POINTS, PROGRAM, LauncherTest, seeds
from program import ONE_STEP


class Launcher(LauncherTest):
    def test_env_launcher_gives_the_records_of_a_local_sweep(self):
        self.check_against_local("env", "env")

    def test_ssh_launcher_gives_the_records_of_a_local_sweep(self):
        self.check_against_local("ssh", self.fake_ssh())

    @unittest.skipUnless(shutil.which("mpirun"), "mpirun is not installed")
    def test_mpirun_launcher_gives_the_records_of_a_local_sweep(self):
        root = "--allow-run-as-root " if os.geteuid() == 0 else ""
        self.check_against_local("mpirun", f"mpirun {root}--bind-to none -n 1")

    def test_rows_are_in_the_order_of_the_sweep(self):
        done = self.bench(*POINT, *seeds(1, 12), "--launcher", "env", "--jobs", "4", "--output", "csv", "--columns", "seed")
        self.assert_ok(done)
        self.assertEqual(done.stdout.split(), ["seed", *(str(seed) for seed in range(1, 13))])
        self.assertRegex(done.stderr, r"starting 12 points elsewhere took .*, at most .* per point; no sample includes this time")

    def test_attention_accepts_a_launcher(self):
        words = ["attention", "--d-model", "16", "--context", "32", "--threads", "1", *ONE_STEP, "--store", self.store]
        self.assert_ok(self.laptime(*words, "--launcher", "env"))
        self.assertEqual({record["status"] for record in self.stored()}, {"ok"})

    def test_four_imported_parts_equal_the_whole_sweep(self):
        whole = self.run_sweep("whole")
        parts = []
        for k in range(1, 5):
            parts.append(self.prepared_store(f"part{k}"))
            self.assert_ok(self.laptime("bench", *POINT, *seeds(1, POINTS), "--part", f"{k}/4", "--store", parts[-1]))
        joined = self.folder / "joined.sqlite"
        self.assert_ok(self.laptime("import", *parts, "--store", joined))
        self.assertEqual(launchers.facts(self.sweep_of(joined)), launchers.facts(whole))
        again = self.laptime("bench", *POINT, *seeds(1, POINTS), "--store", joined, "--resume")
        self.assert_ok(again)
        self.assertEqual(len(self.sweep_of(joined)), POINTS)

    def test_each_part_of_a_sweep_stores_its_invalid_points(self):
        words = ["bench", "--d-model", "32", "--device", "roofline:h100", *ONE_STEP]
        invalid = "5,7"  # numbers of heads that do not divide d_model
        stores = [self.folder / f"part{k}.sqlite" for k in (1, 2, 3)]
        for k, store in enumerate(stores, 1):
            self.assert_ok(self.laptime(*words, "--num-heads", f"2,{invalid}", "--part", f"{k}/3", "--store", store))
        self.assert_ok(self.laptime("import", *stores, "--store", self.store))
        self.assertEqual({record["config"]["num_heads"]: record["status"] for record in self.stored()},
                         {2: "ok", 5: "unsupported", 7: "unsupported"})
        none = self.laptime(*words, "--num-heads", invalid, "--part", "1/2", "--store", stores[0])
        self.assertEqual(none.returncode, 2, none.stderr)

    def test_slurm_array_task_selects_the_part(self):
        for name, value in [("ID", "2"), ("MIN", "0"), ("COUNT", "3")]:
            self.environment[f"SLURM_ARRAY_TASK_{name}"] = value
        self.assert_ok(self.bench(*POINT, *seeds(1, 7), "--part", "slurm"))
        self.assertEqual([record["config"]["seed"] for record in self.stored()], [3, 6])


class RejectedLaunchers(LauncherTest):
    def refusal(self, *words) -> str:
        done = self.bench(*POINT, *words)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertEqual(done.stdout, "")
        self.assertEqual(self.stored() if self.store.exists() else [], [])
        return done.stderr

    def test_rejects_a_launcher_that_is_not_installed(self):
        self.assertIn("--launcher: 'no-such-launcher' cannot be run (No such file or directory)",
                      self.refusal("--launcher", "no-such-launcher"))

    def test_rejects_a_launcher_that_discards_output(self):
        self.assertIn("does not return the output of a program", self.refusal("--launcher", "sh -c '\"$@\" >/dev/null' sh"))
        self.assertIn("does not return the output of a program", self.refusal("--launcher", "true"))

    def test_rejects_a_launcher_that_passes_no_input(self):
        self.assertIn("does not pass standard input", self.refusal("--launcher", "sh -c '\"$@\" </dev/null' sh"))

    def test_rejects_a_machine_that_cannot_be_reached(self):
        message = self.refusal("--launcher", "sh -c 'echo no route to host >&2; exit 255' sh")
        self.assertIn("reaches no machine (exit code 255: no route to host)", message)

    def test_rejects_a_machine_without_the_program(self):
        message = self.refusal("--launcher", f"sh -c 'test \"$1\" != {PROGRAM} || exec /no/laptime; exec \"$@\"' sh")
        self.assertIn("reaches a machine that does not run", message)
        self.assertIn("put this program there under the same path", message)

    def test_rejects_another_build_of_the_program(self):
        hello = '{"hello": {"device": null, "binary": "another", "asked": true}}'
        script = self.folder / "launcher"
        script.write_text(f"#!/bin/sh\necho '{hello}'\n")
        script.chmod(0o755)
        self.assertIn("a different build of laptime", self.refusal("--launcher", str(script)))

    def test_rejects_invalid_or_incomplete_launcher_options(self):
        self.assertIn("--jobs needs --launcher", self.refusal("--jobs", "2"))
        self.assertIn("'5/4' is not a part", self.refusal("--part", "5/4"))
        self.assertIn("not a task of a job array", self.refusal("--part", "slurm"))
        done = self.laptime("bench", *POINT, "--part", "1/2")
        self.assertEqual(done.returncode, 2)
        self.assertIn("give the part a store of its own, such as --store part1.sqlite", done.stderr)


class LostPoints(LauncherTest):
    def test_retries_a_lost_point_once(self):
        once = self.folder / "once"
        launcher = f"sh -c 'test \"$2\" != point -o -e {once} || {{ test -e {once}.probe && touch {once} && exit 7; touch {once}.probe; }}; exec \"$@\"' sh"
        done = self.bench(*POINT, *seeds(1, 3), "--launcher", launcher)
        self.assert_ok(done)
        self.assertEqual([record["status"] for record in self.stored()], ["ok"] * 3)
        self.assertIn("lost: the launcher ended with exit code 7 before the point began; trying once more", done.stderr)

    def test_a_point_lost_twice_has_a_row_with_the_reason(self):
        probe = self.folder / "probe"
        launcher = f"sh -c 'test -e {probe} && echo no route to host >&2 && exit 7; touch {probe}; exec \"$@\"' sh"
        done = self.bench(*POINT, *seeds(1, 2), "--launcher", launcher)
        self.assertEqual(done.returncode, 1)
        self.assertEqual({(record["status"], record["reason"], record["fingerprint"]) for record in self.stored()},
                         {("failed", "lost: the launcher ended with exit code 7 before the point began; tried twice", None)})
        self.assertIn("before the point began: no route to host; trying once more", done.stderr)

    def test_retries_a_preempted_point_once(self):
        sweep = self.start("bench", *LONG, "--store", self.store, "--launcher", "env")
        first = self.busy_point()
        os.kill(self.parent_of(first), signal.SIGTERM)
        second = self.busy_point(other_than=first)
        os.kill(self.parent_of(second), signal.SIGTERM)
        _, errors = sweep.communicate(timeout=60)
        self.assertEqual(sweep.returncode, 1, errors)
        [record] = self.stored()
        self.assertEqual(record["status"], "interrupted")
        self.assertTrue(record["reason"].endswith("; tried twice"), record["reason"])
        self.assert_nothing_is_left()

    def test_a_lost_retry_keeps_the_first_result(self):
        starts = self.folder / "starts"
        # The first start is the probe, the third the retry.
        launcher = f"sh -c 'echo >> {starts}; test $(wc -l < {starts}) -gt 2 && exit 7; exec \"$@\"' sh"
        sweep = self.start("bench", *LONG, "--store", self.store, "--launcher", launcher)
        os.kill(self.parent_of(self.busy_point()), signal.SIGTERM)
        _, errors = sweep.communicate(timeout=60)
        self.assertEqual(sweep.returncode, 1, errors)
        [record] = self.stored()
        self.assertEqual(record["status"], "interrupted")
        self.assertTrue(record["reason"].endswith("; tried twice"), record["reason"])
        self.assertGreater(len(record["time"]["step"]["samples"]), 0)

    def test_control_c_before_a_retry_keeps_the_first_result(self):
        sweep = self.start("bench", *LONG, *seeds(1, 2), "--store", self.store, "--launcher", "env")
        first = self.busy_point()
        os.kill(self.parent_of(first), signal.SIGTERM)
        self.busy_point(other_than=first)
        sweep.send_signal(signal.SIGINT)
        _, errors = sweep.communicate(timeout=60)
        self.assertEqual(sweep.returncode, 130, errors)
        records = self.stored()
        self.assertEqual([(record["config"]["seed"], record["status"]) for record in records],
                         [(1, "interrupted"), (2, "interrupted")])
        for record in records:
            self.assertGreater(len(record["time"]["step"]["samples"]), 0)
            self.assertNotIn("tried twice", record["reason"])

    def test_starts_fewer_points_at_once_if_open_files_are_limited(self):
        limit = 40
        done = self.bench(*POINT, *seeds(1, 20), "--launcher", "env", "--jobs", "20",
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit)))
        self.assert_ok(done)
        self.assertEqual([record["status"] for record in self.stored()], ["ok"] * 20)
        self.assertNotIn("store", done.stderr)

    def test_control_c_keeps_samples_and_leaves_no_processes(self):
        sweep = self.start("bench", *LONG, *seeds(1, 3), "--store", self.store, "--launcher", self.fake_ssh(), "--jobs", "2")
        self.busy_point()
        measuring = [process for process in self.points_at_work() if self.parent_of(process) in self.points_at_work()]
        self.assertEqual(len(measuring), 1, "two points share the cores")
        sweep.send_signal(signal.SIGINT)
        _, errors = sweep.communicate(timeout=60)
        self.assertEqual(sweep.returncode, 130, errors)
        [record] = self.stored()
        self.assertEqual(record["status"], "interrupted")
        self.assertGreater(len(record["time"]["step"]["samples"]), 0)
        self.assert_nothing_is_left()


class Kill(launchers.KillTest):
    """Runs the kill tests with a fake ssh."""


if __name__ == "__main__":
    unittest.main()

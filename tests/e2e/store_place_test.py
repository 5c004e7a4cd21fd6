"""Places where no store can be kept: a run measures without one, or fails before it measures, but never waits."""

import errno
import json
import os
import shutil
import subprocess
import time
import unittest

from program import ONE_STEP, PREDICTED, ProgramTest

# Makes file locks fail with the error in LOCK_ERROR, as on NFS or Lustre without a lock manager.
NO_LOCKS = r"""
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
static int call(int descriptor, int command, void* argument) {
  const int is_lock = command == F_SETLK || command == F_SETLKW || command == F_GETLK || command == F_OFD_SETLK;
  if (!is_lock) return syscall(SYS_fcntl, descriptor, command, argument);
  errno = atoi(getenv("LOCK_ERROR"));
  return -1;
}
int fcntl(int descriptor, int command, ...) {
  va_list list;
  va_start(list, command);
  void* argument = va_arg(list, void*);
  va_end(list);
  return call(descriptor, command, argument);
}
int fcntl64(int descriptor, int command, ...) {
  va_list list;
  va_start(list, command);
  void* argument = va_arg(list, void*);
  va_end(list);
  return call(descriptor, command, argument);
}
"""


class WithoutLocks(ProgramTest):
    def without_locks(self, error: int):
        compiler = shutil.which("cc")
        if compiler is None:
            self.skipTest("no C compiler")
        (self.folder / "locks.c").write_text(NO_LOCKS)
        subprocess.run([compiler, "-shared", "-fPIC", "-o", "locks.so", "locks.c"], cwd=self.folder, check=True)
        self.environment |= {"LD_PRELOAD": str(self.folder / "locks.so"), "LOCK_ERROR": str(error)}

    def test_measures_without_keeping_records(self):
        self.assert_ok(self.bench(*PREDICTED, *ONE_STEP))
        for name in ("ENOLCK", "ENOSYS", "EOPNOTSUPP", "EINVAL"):
            self.without_locks(getattr(errno, name))
            for store in ([], ["--store", self.store], ["--store", "new.sqlite"]):
                start = time.monotonic()
                done = self.laptime("bench", *store, *PREDICTED, *ONE_STEP, "--output", "json")
                if "cannot be preloaded" in done.stderr or "ASan runtime" in done.stderr:
                    self.skipTest("nothing can be preloaded")
                self.assert_ok(done)
                self.assertEqual(len(json.loads(done.stdout)), 1)
                self.assertEqual(done.stderr.count("records are not kept"), 1, done.stderr)
                self.assertIn("does not support locks", done.stderr)
                self.assertLess(time.monotonic() - start, 25, "the program waited for a lock")
            self.assertEqual(len(self.stored()), 1)  # the store can still be read


class Home(ProgramTest):
    def assert_measures(self):
        done = self.laptime("bench", *PREDICTED, *ONE_STEP, "--output", "json")
        self.assert_ok(done)
        self.assertEqual(len(json.loads(done.stdout)), 1)
        self.assertEqual(len([line for line in done.stderr.splitlines() if "not kept" in line]), 1, done.stderr)

    def test_measures_without_a_home_directory(self):
        del self.environment["HOME"]
        self.assert_measures()

    def test_measures_if_the_home_directory_cannot_be_created(self):
        (self.folder / "file").write_text("")
        for home in (self.folder / "file", "/proc/none", "/dev/null/home"):
            self.environment["HOME"] = str(home)
            self.assert_measures()

    @unittest.skipIf(os.geteuid() == 0, "root may write anywhere")
    def test_measures_if_the_home_directory_is_read_only(self):
        home = self.folder / "home"
        home.mkdir(mode=0o500)
        self.environment["HOME"] = str(home)
        self.assert_measures()


class StorePath(ProgramTest):
    def test_a_store_is_a_path_and_not_a_uri(self):
        self.assert_ok(self.laptime("bench", "--store", "file:v.sqlite", *PREDICTED, *ONE_STEP))
        self.assertEqual([file.name for file in self.folder.glob("*v.sqlite*")], ["file:v.sqlite"])
        self.assertEqual(len(self.stored("file:v.sqlite")), 1)

    def test_rejects_a_store_in_memory(self):
        for command in ("bench", "show", "plan"):
            words = [] if command == "show" else PREDICTED
            done = self.laptime(command, "--store", ":memory:", *words)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn("would keep nothing", done.stderr)

    def test_output_does_not_replace_the_store(self):
        (self.folder / "inner").mkdir()
        (self.folder / "link").symlink_to("file:v.sqlite")
        (self.folder / "door").symlink_to(self.folder)
        spellings = ("file:v.sqlite", "./file:v.sqlite", "inner/../file:v.sqlite", "link", "door/file:v.sqlite",
                     self.folder / "file:v.sqlite")
        for _ in range(2):  # first without a store, then with an existing store
            for spelling in spellings:
                done = self.laptime("bench", "--store", "file:v.sqlite", "--output-file", spelling, "--output", "csv",
                                    *PREDICTED, *ONE_STEP)
                self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
                self.assertIn("this is the store", done.stderr)
            self.assert_ok(self.laptime("bench", "--store", "file:v.sqlite", *PREDICTED, *ONE_STEP))

    def test_rejects_unusable_stores_before_measuring(self):
        (self.folder / "text.txt").write_text("some text\n" * 50)
        (self.folder / "short.csv").write_text("a,b\n")
        (self.folder / "inner").mkdir()
        for store, said in (("text.txt", "not a laptime store"), ("short.csv", "not a laptime store"),
                            ("inner", "is a directory"), ("/dev/null", "a pipe or a device"),
                            ("none/a.sqlite", "does not exist")):
            for command in ("bench", "profile", "compare"):
                done = self.laptime(command, "--store", store, *PREDICTED,
                                    *(["--mode", "eager,compile"] if command == "compare" else ONE_STEP))
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(said, done.stderr)
                self.assertNotIn("[1/", done.stderr)
        self.assertEqual((self.folder / "short.csv").read_text(), "a,b\n")

    def test_rejects_unusable_stores_before_planning(self):
        self.assert_ok(self.bench(*PREDICTED, *ONE_STEP))
        (self.folder / "short.sqlite").write_bytes(self.store.read_bytes()[:40_000])
        (self.folder / "text.txt").write_text("some text\n" * 50)
        (self.folder / "inner").mkdir()
        for store, said in (("text.txt", "not a laptime store"), ("inner", "is a directory"),
                            ("short.sqlite", "damaged")):
            for words in (["plan"], ["plan", "--mode", "eager,compile"], ["memory"], ["explain"]):
                done = self.laptime(*words, "--store", store, *PREDICTED)
                self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
                self.assertIn(said, done.stderr)


if __name__ == "__main__":
    unittest.main()

"""Base classes of tests that run the built program. Each test has its own folder, which is also its home directory."""

import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import tempfile
import termios
import time
import unittest
from pathlib import Path
from unittest import mock

BINARY = os.environ["LAPTIME_BINARY"]

# The smallest useful model; a point takes milliseconds.
MODEL = "--d-model 32 --d-ff 64 --num-layers 1 --num-heads 2 --vocab 64 --batch 1".split()
TINY = [*MODEL, "--context", "16"]
# The same model on a virtual clock, where times are exact.
PREDICTED = [*TINY, "--device", "roofline:h100"]
ONE_STEP = "--warmup 0 --steps 1".split()


def children(process: subprocess.Popen) -> list[int]:
    try:
        return [int(number) for number in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()]
    except OSError:
        return []


def busy_child(process: subprocess.Popen, seconds: float = 0.7, limit: float = 60) -> int:
    """Waits until the process of a point has used enough CPU time to have started its steps, and returns its id."""
    deadline = time.monotonic() + limit
    while time.monotonic() < deadline:
        for child in children(process):
            try:
                fields = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[11]) + int(fields[12]) > seconds * os.sysconf("SC_CLK_TCK"):
                return child
        time.sleep(0.02)
    raise AssertionError("no point has started its steps")


def without_date(text: str) -> str:
    """The report with placeholders for its commit and date, and without its load, which differ between runs."""
    return re.sub(r"laptime [0-9a-f]+(\+dirty)?, [^,\n]* UTC(, load [0-9.]+)?", "laptime COMMIT, DATE", text)


class ProgramTest(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.store = self.folder / "records.sqlite"
        self.environment = {"PATH": os.environ["PATH"], "HOME": str(self.folder), "LC_ALL": "C"}

    def laptime(self, *words, **options) -> subprocess.CompletedProcess:
        """Runs the program until it exits. The result has the text of stdout and stderr."""
        return subprocess.run([BINARY, *map(str, words)], env=self.environment, cwd=self.folder, text=True, check=False,
                              timeout=120, **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options})

    def start(self, *words, **options) -> subprocess.Popen:
        process = subprocess.Popen([BINARY, *map(str, words)], env=self.environment, cwd=self.folder, text=True,
                                   **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options})
        self.addCleanup(process.kill)  # does nothing unless the test failed before the program ended
        return process

    def lines_at(self, width: int, *words) -> list[str]:
        """The lines that the program prints on a terminal with this many columns. The program must succeed."""
        leader, terminal = pty.openpty()
        self.addCleanup(os.close, leader)
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 50, width, 0, 0))
        process = self.start(*words, stdout=terminal)
        os.close(terminal)
        text = b""
        while True:
            try:
                piece = os.read(leader, 65536)
            except OSError:  # the program has exited
                break
            if not piece:
                break
            text += piece
        _, errors = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 0, errors)
        return text.decode().splitlines()

    def bench(self, *words, **options) -> subprocess.CompletedProcess:
        return self.laptime("bench", "--store", self.store, *words, **options)

    def stored(self, store=None) -> list[dict]:
        done = self.laptime("show", "--store", store or self.store, "--output", "json")
        records = json.loads(done.stdout)
        said = "" if records else "laptime: the store has no records yet\n"
        self.assertEqual((done.returncode, done.stderr), (0, said))
        return records

    def stored_meanwhile(self) -> list[dict]:
        """The records in the test's store while a program writes to it; empty if the store cannot be read yet."""
        done = self.laptime("show", "--store", self.store, "--output", "json")
        return json.loads(done.stdout) if done.returncode == 0 else []

    def page_of(self, path: Path) -> dict:
        """The data embedded in a page of laptime report."""
        text = path.read_text()
        return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)[1])

    def assert_ok(self, done: subprocess.CompletedProcess):
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


class ModuleTest(ProgramTest):
    """Calls the Python module in this process. During a test, HOME is the test's folder."""

    def setUp(self):
        super().setUp()
        patched = mock.patch.dict(os.environ, {"HOME": str(self.folder)})
        patched.start()
        self.addCleanup(patched.stop)
        os.environ.pop("XDG_DATA_HOME", None)

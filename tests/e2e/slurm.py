"""Starts and stops Slurm for a test, on this machine only, with a separate folder and separate ports."""

import contextlib
import ctypes
import os
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

PROGRAMS = ["munged", "slurmctld", "slurmd", "srun", "sbatch", "scancel", "sinfo"]
NODES = ["n1", "n2"]  # each has its own daemon and port; n1 is in partition a, n2 in partition b
LIMIT = 60

CONFIGURATION = """
ClusterName=laptime
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller}
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=sched_min_interval=0
ReturnToService=2
SlurmctldTimeout=300
SlurmdTimeout=300
KillWait=5
NodeName=n1 NodeHostname={host} NodeAddr=127.0.0.1 Port={first} CPUs={cores} State=UNKNOWN
NodeName=n2 NodeHostname={host} NodeAddr=127.0.0.1 Port={second} CPUs={cores} State=UNKNOWN
PartitionName=a Nodes=n1 Default=YES MaxTime=INFINITE State=UP
PartitionName=b Nodes=n2 MaxTime=INFINITE State=UP
"""


def missing() -> str:
    """The reason why Slurm cannot be started here; empty if it can."""
    if os.geteuid() != 0:
        return "Slurm's daemons need root"
    absent = [program for program in PROGRAMS if shutil.which(program, path=search_path()) is None]
    return f"not installed: {', '.join(absent)}" if absent else ""


def search_path() -> str:
    return f"{os.environ['PATH']}:/usr/sbin:/sbin"


def free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


def die_with_the_test():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


class Slurm:
    def __init__(self, folder: Path):
        self.folder = folder
        self.environment = {**os.environ, "PATH": search_path(), "SLURM_CONF": str(folder / "slurm.conf")}
        self.daemons: dict[str, subprocess.Popen] = {}
        for name in ["state", *(f"spool-{node}" for node in NODES)]:
            (folder / name).mkdir(parents=True)
        (folder / "munge.key").write_bytes(os.urandom(1024))
        (folder / "munge.key").chmod(0o600)
        controller, first, second = free_ports(3)
        host = socket.gethostname().split(".")[0]
        (folder / "slurm.conf").write_text(CONFIGURATION.format(
            host=host, folder=folder, controller=controller, first=first, second=second, cores=os.cpu_count()))

    def __enter__(self):
        try:
            self.start("munged", "munged", "--foreground", "--force", f"--socket={self.folder}/munge.socket",
                       f"--key-file={self.folder}/munge.key", f"--pid-file={self.folder}/munged.pid",
                       f"--log-file={self.folder}/munged.log", f"--seed-file={self.folder}/munged.seed")
            self.wait(lambda: (self.folder / "munge.socket").exists(), "munged")
            self.start("slurmctld", "slurmctld", "-D")
            for node in NODES:
                self.start_node(node)
            self.wait_for_nodes()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(self, *_):
        if self.alive("slurmctld"):
            subprocess.run(["scancel", "--full", "--user=root"], env=self.environment, check=False, timeout=LIMIT,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for daemon in reversed(list(self.daemons.values())):
            daemon.terminate()
        for daemon in self.daemons.values():
            try:
                daemon.wait(timeout=10)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()
        for process in self.processes():  # processes of job steps that outlived the daemon
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)

    def processes(self) -> list[int]:
        """Processes of this Slurm's job steps, recognised by their environment."""
        mark = f"SLURM_CONF={self.folder / 'slurm.conf'}".encode()
        found = []
        for path in Path("/proc").glob("[0-9]*/environ"):
            with contextlib.suppress(OSError):
                if mark in path.read_bytes().split(b"\0"):
                    found.append(int(path.parent.name))
        return found

    def start(self, name: str, *words: str):
        with open(self.folder / f"{name}.output", "ab") as output:
            self.daemons[name] = subprocess.Popen(words, env=self.environment, stdin=subprocess.DEVNULL, stdout=output,
                                                  stderr=output, start_new_session=True, preexec_fn=die_with_the_test)

    def start_node(self, node: str):
        self.start(f"slurmd-{node}", "slurmd", "-D", "-N", node)

    def kill_node(self, node: str):
        self.daemons[f"slurmd-{node}"].kill()
        self.daemons[f"slurmd-{node}"].wait()

    def alive(self, name: str) -> bool:
        return name in self.daemons and self.daemons[name].poll() is None

    def run(self, *words: str, **options) -> subprocess.CompletedProcess:
        return subprocess.run(words, env=self.environment, text=True, check=False, timeout=LIMIT,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)

    def wait_for_nodes(self):
        states = [f"{node} idle" for node in NODES]
        self.wait(lambda: self.run("sinfo", "--Node", "--noheader", "--format=%N %t").stdout.split("\n")[:-1] == states,
                  "nodes")

    def wait(self, condition, what: str):
        deadline = time.monotonic() + LIMIT
        while not condition():
            if time.monotonic() > deadline:
                logs = "\n".join(path.read_text(errors="replace")[-2000:] for path in self.folder.glob("*.output"))
                raise AssertionError(f"Slurm does not start: {what}\n{logs}")
            time.sleep(0.05)

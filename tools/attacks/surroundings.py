"""Attacks through the environment: a hanging child, too little memory, a full or read-only disk, a store with a flipped bit."""

import contextlib
import json
import os
import resource
import shlex
import signal
import subprocess
import time
from pathlib import Path

from attacks.outcome import MODEL, Outcome, Setting

CPU = [*MODEL, "--device", "cpu", "--threads", "1"]


def hang(setting: Setting) -> list[Outcome]:
    """Checks that a stopped child is distinguished from a slow one long before --timeout."""
    from program import busy_child

    outcome = Outcome("a child that hangs", tries=1)
    words = ("bench --d-model 32 --d-ff 64 --num-layers 1 --num-heads 2 --vocab 64 --batch 1 --context 16 --device cpu "
             "--threads 1 --warmup 0 --steps 1000000,1 --store hang.sqlite --output json").split()
    sweep = setting.start(*words)
    os.kill(busy_child(sweep), signal.SIGSTOP)
    start = time.monotonic()
    output, errors = sweep.communicate(timeout=300)
    outcome.figures["seconds until it was ended"] = round(time.monotonic() - start)
    statuses = [record["status"] for record in json.loads(output or "[]")]
    if statuses != ["timeout", "ok"] or time.monotonic() - start > 90:
        outcome.problems.append(f"{statuses}: {errors[-300:]}")
    return [outcome]


def small_address_spaces(setting: Setting) -> list[Outcome]:
    outcome = Outcome("limits on the address space", figures={"ok": 0, "out of memory": 0, "crashed": 0})
    for mebibytes in range(40, 260, 3):
        size = mebibytes << 20
        done = setting.run("bench", *MODEL, "--device", "cpu", "--threads", "2", "--store", "none", "--output", "json",
                           preexec_fn=lambda size=size: resource.setrlimit(resource.RLIMIT_AS, (size, size)))
        outcome.tries += 1
        statuses = [record["status"] for record in json.loads(done.stdout)] if done.returncode == 0 else []
        if statuses == ["ok"]:
            outcome.figures["ok"] += 1
        elif statuses == ["out_of_memory"] or (done.returncode in (1, 2, 127) and "memory" in done.stderr):
            outcome.figures["out of memory"] += 1
        elif done.returncode == 127:  # the loader had no memory for the libraries
            outcome.tries -= 1
        else:
            outcome.figures["crashed"] += 1
            outcome.problems.append(f"{mebibytes} MiB: exit code {done.returncode}, {done.stdout[:300]}{done.stderr[-300:]}")
    return [outcome]


def process_limits(setting: Setting) -> list[Outcome]:
    """Checks that messages name limits on data and CPU time, and never propose a size that would fail too."""
    outcome = Outcome("limits on data and CPU time", figures={"ok": 0, "out of memory": 0})
    for mebibytes in range(20, 210, 10):
        size = mebibytes << 20
        done = setting.run("bench", *CPU, "--store", "none", "--output", "json",
                           preexec_fn=lambda size=size: resource.setrlimit(resource.RLIMIT_DATA, (size, size)))
        outcome.tries += 1
        (record,) = json.loads(done.stdout) if done.returncode == 0 else ({"status": "crashed", "reason": done.stderr[-300:]},)
        outcome.figures["ok"] += record["status"] == "ok"
        outcome.figures["out of memory"] += record["status"] == "out_of_memory"
        is_named = record["status"] == "out_of_memory" and "ulimit -d" in record["reason"]
        if record["status"] != "ok" and (not is_named or "--batch" in record["reason"]):
            outcome.problems.append(f"{mebibytes} MiB of data: {record['status']}: {record['reason']}")
    outcome.tries += 1
    done = setting.run("bench", "--model", "small", "--batch", "1", "--threads", "1", "--warmup", "0", "--steps", "10000",
                       "--store", "none", "--output", "json",
                       preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (5, 5)))
    if "ulimit -t" not in done.stdout:
        outcome.problems.append(f"5 s of CPU time: exit code {done.returncode}: {done.stdout[:300]}{done.stderr[-300:]}")
    return [outcome]


@contextlib.contextmanager
def memory_group(limit: int):
    """Yields the folder of a control group with a memory limit in bytes, or None if it cannot be created."""
    group = Path("/sys/fs/cgroup/laptime_attack")
    try:
        group.mkdir()
        (group / "memory.max").write_text(str(limit))
        (group / "cgroup.procs").stat()
    except OSError:
        with contextlib.suppress(OSError):
            group.rmdir()
        yield None
        return
    try:
        yield group
    finally:
        with contextlib.suppress(OSError):
            group.rmdir()


def memory_taken_by_the_kernel(setting: Setting) -> list[Outcome]:
    outcome = Outcome("memory limited by a control group")
    with memory_group(200 << 20) as group:
        if group is None:
            outcome.left_out = "needs a control group with a limit on memory"
            return [outcome]
        outcome.tries = 1
        done = setting.run("bench", "--model", "small", "--batch", "4", "--warmup", "0", "--steps", "1", "--store", "none",
                           "--output", "json",
                           preexec_fn=lambda: (group / "cgroup.procs").write_text(str(os.getpid())))
        if "out_of_memory" not in done.stdout:
            outcome.problems.append(f"exit code {done.returncode}: {done.stdout[:300]}{done.stderr[-300:]}")
    return [outcome]


def in_mount(setting: Setting, options: str, *commands: str) -> subprocess.CompletedProcess | None:
    """Runs shell commands with a small file system in the folder `disk`; returns None if none can be mounted."""
    (setting.folder / "disk").mkdir(exist_ok=True)
    script = f"mount -t tmpfs -o {options} tmpfs disk || exit 99\n" + "\n".join(commands)
    done = subprocess.run(["unshare", "--mount", "sh", "-c", script], env=setting.environment, cwd=setting.folder,
                          text=True, capture_output=True, check=False, timeout=300)
    return None if done.returncode in (99, 126, 127) or "unshare" in done.stderr else done


def full_disk(setting: Setting) -> list[Outcome]:
    outcome = Outcome("a disk that becomes full", tries=1)
    points = 60
    seeds = ",".join(str(seed) for seed in range(1, points + 1))
    bench = shlex.join([str(setting.binary), "bench", *MODEL, "--device", "roofline:h100", "--seed", seeds, "--store",
                        "disk/s.sqlite", "--output", "json"])
    show = shlex.join([str(setting.binary), "show", "--store", "disk/s.sqlite", "--output", "json"])
    done = in_mount(setting, "size=300k", f"{bench} > bench.json 2> bench.err", "echo $?", f"{show} > show.json")
    if done is None:
        outcome.left_out = "needs permission to mount"
        return [outcome]
    shown = json.loads((setting.folder / "bench.json").read_text())
    stored = json.loads((setting.folder / "show.json").read_text())
    errors = (setting.folder / "bench.err").read_text()
    outcome.figures = {"points": len(shown), "stored": len(stored)}
    if len(shown) != points or done.stdout.strip() != "1" or f"of {points} records could not be stored" not in errors:
        outcome.problems.append(f"exit code {done.stdout.strip()}, {len(shown)} of {points} shown: {errors[-300:]}")
    if not 0 < len(stored) < points:
        outcome.problems.append(f"{len(stored)} of {points} stored")
    return [outcome]


def read_only_disk(setting: Setting) -> list[Outcome]:
    outcome = Outcome("a disk that is read-only", tries=1)
    bench = shlex.join([str(setting.binary), "bench", *CPU, "--store", "disk/s.sqlite"])
    done = in_mount(setting, "ro,size=300k", f"{bench}; echo $? >&2")
    if done is None:
        outcome.left_out = "needs permission to mount"
    elif not done.stderr.strip().endswith("2") or "disk/s.sqlite" not in done.stderr or done.stdout:
        outcome.problems.append(done.stderr[-300:])
    return [outcome]


def bit_flips(setting: Setting) -> list[Outcome]:
    outcome = Outcome("bit flips in a store", figures={"flips": 0, "all records shown": 0, "crashed": 0})
    store = setting.folder / "whole.sqlite"
    setting.run("bench", *MODEL, "--device", "roofline:h100", "--seed", "1,2,3,4,5,6", "--store", store)
    content = store.read_bytes()
    flipped = setting.folder / "flipped.sqlite"
    for _ in range(150):
        changed = bytearray(content)
        changed[setting.random.randrange(len(changed))] ^= 1 << setting.random.randrange(8)
        flipped.write_bytes(changed)
        outcome.tries += 1
        outcome.figures["flips"] += 1
        done = setting.run("show", "--store", flipped, "--output", "json")
        if done.returncode not in (0, 1, 2):
            outcome.figures["crashed"] += 1
            outcome.problems.append(f"exit code {done.returncode}: {done.stderr[-300:]}")
        elif done.returncode == 0:
            outcome.figures["all records shown"] += len(json.loads(done.stdout)) == 6
    return [outcome]

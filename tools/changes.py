"""The files that changed since the main branch: those that differ from origin/main, or from the commit before HEAD if
HEAD is origin/main. Uncommitted and untracked files count.
"""

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def git(*arguments: str) -> str:
    done = subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""


def changed_files() -> set[str] | None:
    """Returns paths relative to the root, including deleted files; None if there is no commit to compare with."""
    head = git("rev-parse", "HEAD")
    base = git("merge-base", "HEAD", "origin/main")
    if not base or base == head:
        base = git("rev-parse", "--verify", "--quiet", "HEAD~1")
    if not base:
        return None
    names = git("diff", "--name-only", base) + "\n" + git("ls-files", "--others", "--exclude-standard")
    return set(names.split())

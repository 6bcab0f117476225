"""Mutation testing: plant faults one by one in a copy of the library, and see which ones the tests of its room miss.

The faults, and which no longer match the source: python tools/mutants.py --list
One room: python tools/mutants.py --only losses
All of them, two at a time: python tools/mutants.py --jobs 2

Faults are listed in tools/mutants.toml: a text that occurs exactly once in its file, and its replacement.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from time import perf_counter

ROOT = Path(__file__).parents[1]
COPIED = ("src", "tests", "pyproject.toml")
PASSED, FAILED = 0, 1
"""Exit codes of pytest."""


@dataclass(frozen=True)
class Fault:
    """A text in a file of a room, its replacement, and the tests that should notice."""

    number: int
    room: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]

    @property
    def matches(self) -> int:
        """How many times the old text occurs."""
        path = ROOT / "src/representer" / self.file
        return path.read_text(encoding="utf-8").count(self.old) if path.exists() else 0

    def __str__(self) -> str:
        return f"{self.number:3} {self.file}: {_in_one_line(self.old)}  ->  {_in_one_line(self.new) or '(nothing)'}"


@dataclass(frozen=True)
class Outcome:
    """Whether the tests noticed, and how."""

    fault: Fault
    caught: bool
    how: str
    seconds: float


def main() -> int:
    """Exit code 0 if all chosen faults match the source and are caught."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", metavar="ROOM", help="only faults of this room")
    parser.add_argument("--fault", type=int, metavar="NUMBER", help="a single fault")
    parser.add_argument("--list", action="store_true", help="print the faults, and run nothing")
    parser.add_argument("--jobs", type=int, default=1, help="number of parallel runs")
    parser.add_argument("--limit", type=float, default=900.0, metavar="SECONDS", help="time limit for one run of tests")
    chosen = parser.parse_args()
    faults = [f for f in read() if chosen.only in (None, f.room) and chosen.fault in (None, f.number)]
    if not faults:
        print("No fault is chosen; --list shows them all.")
        return 1
    stale = [fault for fault in faults if fault.matches != 1]
    if chosen.list:
        for fault in faults:
            print(fault)
    for fault in stale:
        print(f"STALE, its text occurs {fault.matches} times: {fault}")
    if chosen.list:
        return 1 if stale else 0
    outcomes = run([fault for fault in faults if fault.matches == 1], chosen.jobs, chosen.limit)
    return 1 if outcomes is None or summarise(outcomes) or stale else 0


def read() -> list[Fault]:
    """All faults of tools/mutants.toml; those of a room run its own tests unless they name others."""
    table = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    rows = [(room, row) for room, rows in table.items() for row in rows]
    return [
        Fault(number, room, row["file"], row["old"], row["new"], tuple(row.get("tests", [f"tests/{room}"])))
        for number, (room, row) in enumerate(rows, 1)
    ]


def run(faults: list[Fault], jobs: int, limit: float) -> list[Outcome] | None:
    """The outcomes, each printed when known; None if the tests fail without any fault."""
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        copies: SimpleQueue[Path] = SimpleQueue()
        for job in range(jobs):
            copies.put(_copy(Path(folder) / str(job)))

        def one(fault: Fault) -> Outcome:
            copy = copies.get()
            try:
                outcome = _plant(copy, fault, limit)
            finally:
                copies.put(copy)
            print(f"{'caught' if outcome.caught else 'SURVIVED':8} {outcome.seconds:5.0f} s  {fault}", flush=True)
            return outcome

        copy = copies.get()
        for tests in sorted({fault.tests for fault in faults}):
            code, _, said = _pytest(copy, tests, limit)
            if code != PASSED:
                print(f"{said}\n{' '.join(tests)} fails without a fault (code {code}); fix it first.")
                return None
        copies.put(copy)
        with ThreadPoolExecutor(jobs) as pool:
            return list(pool.map(one, faults))


def summarise(outcomes: list[Outcome]) -> int:
    """Print the number caught in each room, and return how many survived."""
    survivors = [outcome for outcome in outcomes if not outcome.caught]
    print()
    for room in dict.fromkeys(outcome.fault.room for outcome in outcomes):
        own = [outcome for outcome in outcomes if outcome.fault.room == room]
        print(f"{room:12} {sum(o.caught for o in own):3} of {len(own):3} caught, {sum(o.seconds for o in own):.0f} s")
    share = 1.0 - len(survivors) / max(len(outcomes), 1)
    print(f"{'all':12} {len(outcomes) - len(survivors):3} of {len(outcomes):3} caught: {share:.0%}")
    for outcome in survivors:
        print(f"SURVIVED ({outcome.how}): {outcome.fault}")
    return len(survivors)


def _copy(to: Path) -> Path:
    """A copy of the library and its tests, compiled loops included."""
    to.mkdir()
    for name in COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, to / name)
        else:
            shutil.copy2(ROOT / name, to / name)
    return to


def _plant(copy: Path, fault: Fault, limit: float) -> Outcome:
    """Run the tests with the fault in place, and revert it, with the time stamp that caches know."""
    path = copy / "src/representer" / fault.file
    text, stamp = path.read_text(encoding="utf-8"), path.stat()
    try:
        path.write_text(text.replace(fault.old, fault.new), encoding="utf-8")
        _delete_compiled(copy, fault)
        code, seconds, _ = _pytest(copy, fault.tests, limit)
    finally:
        path.write_text(text, encoding="utf-8")
        os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
        _delete_compiled(copy, fault)
    how = "out of time" if code is None else "a test failed" if code == FAILED else f"pytest ended with {code}"
    return Outcome(fault, code != PASSED, how, seconds)


def _delete_compiled(copy: Path, fault: Fault) -> None:
    """Delete compiled loops that may contain the fault: a loop's cache does not track the loops that it calls."""
    if fault.file.startswith("_loops"):
        for path in (copy / "src").rglob("*.nb[ic]"):
            path.unlink()


def _pytest(copy: Path, tests: tuple[str, ...], limit: float) -> tuple[int | None, float, str]:
    """The exit code, or None after a timeout, the seconds, and what was printed."""
    environment = os.environ | {"PYTHONPATH": str(copy / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    environment.pop("NUMBA_CACHE_DIR", None)  # each copy has its own cache
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests]
    started = perf_counter()
    try:
        done = subprocess.run(
            command, cwd=copy, env=environment, capture_output=True, text=True, timeout=limit, check=False
        )
    except subprocess.TimeoutExpired:
        return None, perf_counter() - started, ""
    return done.returncode, perf_counter() - started, done.stdout


def _in_one_line(text: str) -> str:
    return " ".join(text.split())


if __name__ == "__main__":
    sys.exit(main())

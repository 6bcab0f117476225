"""Check the certificates of thousands of random fits against textbook solvers, and report which laws are broken.

All of them: python tools/certificates.py --machines 2000 --duals 1000 --processes 200
One fit, with all that was compared: python tools/certificates.py --kind machine --seed 17
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import defaultdict
from pathlib import Path
from time import perf_counter

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # small matrices
sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import certificate_cases as cases
from certificate_laws import LAWS, Verdict, judge, judge_process

from representer import regularizers

JUDGES = {
    "machine": lambda seed: judge(cases.machine(seed)),
    "dual": lambda seed: judge(cases.dual(seed)),
    "process": judge_process,
}
ALLOWED_OUTLIERS = 0.01


def main() -> int:
    """Exit code 1 if laws are broken more often than they allow."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--machines", type=int, default=2000)
    parser.add_argument("--duals", type=int, default=1000)
    parser.add_argument("--processes", type=int, default=200)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--seed", type=int, help="a single fit")
    parser.add_argument("--kind", choices=list(JUDGES), default="machine", help="the kind of that fit")
    chosen = parser.parse_args()
    if chosen.seed is not None:
        return show(chosen.kind, chosen.seed)
    started = perf_counter()
    counts = {"machine": chosen.machines, "dual": chosen.duals, "process": chosen.processes}
    verdicts = {}
    print(f"{'kind':34}{'run':>6}{'converged':>11}{'reference':>11}{'broken':>8}  laws")
    for kind, count in counts.items():
        own = {(kind, seed): JUDGES[kind](seed) for seed in range(chosen.first, chosen.first + count)}
        print_rows(own)
        verdicts.update(own)
    broken = print_laws(verdicts)
    print(f"\n{len(verdicts)} fits in {perf_counter() - started:.0f} s")
    return 1 if broken else 0


def show(kind: str, seed: int) -> int:
    """Print all that was compared in one fit."""
    if kind != "process":
        print(getattr(cases, kind)(seed).model)
    verdict = JUDGES[kind](seed)
    print(f"{kind} {seed}: {verdict.kind}, converged {verdict.converged}, reference as good {verdict.tight}")
    for name, value in verdict.details.items():
        print(f"  {name}: {value}")
    for law, text in verdict.broken.items():
        print(f"  BROKEN {law} ({LAWS[law]}): {text}")
    return 1 if verdict.broken else 0


def print_rows(verdicts: dict[tuple[str, int], Verdict]) -> None:
    """A row for each kind: fits, those that converged, those with an equally good reference, and broken ones."""
    rows = defaultdict(list)
    for verdict in verdicts.values():
        for part in verdict.kind.split(" + "):  # loss and regulariser
            rows[part].append(verdict)
    for kind, row in sorted(rows.items(), key=lambda item: (hasattr(regularizers, item[0]), item[0])):
        laws = defaultdict(int)
        for law in (law for verdict in row for law in verdict.broken):
            laws[law] += 1
        numbers = len(row), sum(v.converged for v in row), sum(v.tight for v in row), sum(bool(v.broken) for v in row)
        text = ", ".join(f"{law} {count}" for law, count in laws.items())
        print(f"{kind:34}{numbers[0]:6}{numbers[1]:11}{numbers[2]:11}{numbers[3]:8}  {text}", flush=True)


def print_laws(verdicts: dict[tuple[str, int], Verdict]) -> bool:
    """The broken laws with the fits that break them; whether there are more than the laws allow."""
    found = defaultdict(list)
    for (kind, seed), verdict in verdicts.items():
        for law, text in verdict.broken.items():
            found[law].append((kind, seed, verdict.kind, text))
    processes = sum(kind == "process" for kind, _ in verdicts)
    bad = False
    for law, fits in sorted(found.items(), key=lambda item: list(LAWS).index(item[0])):
        allowed = int(ALLOWED_OUTLIERS * processes) if law == "z" else 0
        bad |= len(fits) > allowed
        print(f"\n{law}: {LAWS[law]}: {len(fits)} broken" + (f", {allowed} allowed" if law == "z" else ""))
        for kind, seed, name, text in fits[:12]:
            print(f"  --kind {kind} --seed {seed:<6} {name}: {text}")
        if len(fits) > 12:
            print("  and seeds " + ", ".join(f"{kind} {seed}" for kind, seed, _, _ in fits[12:]))
    return bad


if __name__ == "__main__":
    sys.exit(main())

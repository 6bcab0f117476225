"""Scripts of scikit-learn's gallery that name one of its kernel estimators, by ``python -m representer.drop_in``.

    python tools/sklearn_tests/gallery.py [words in the names of scripts]

The scripts come with the source distribution of the installed version of scikit-learn, which pip downloads once to
build/. Those that fetch data, or that need a package which is not installed, are counted apart. The exit code is the
number of scripts that fail.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter

from representer.drop_in.patching import PLACES

ESTIMATORS = re.compile(rf"\b({'|'.join(PLACES)})\b")
DOWNLOADS = re.compile(r"\bfetch_\w+|\burlopen\b|\burlretrieve\b")
PACKAGES = re.compile(r"^\s*(?:import|from)\s+(\w+)", re.MULTILINE)
MINUTES = 20
BUILD = Path(__file__).parents[2] / "build"
STUB = """from pathlib import Path

def prepare_metadata_for_build_wheel(folder, config_settings=None):
    name = "scikit_learn-{0}.dist-info"
    Path(folder, name).mkdir()
    Path(folder, name, "METADATA").write_text("Metadata-Version: 2.1\\nName: scikit-learn\\nVersion: {0}\\n")
    return name
"""
"""A build backend in place of scikit-learn's: before it keeps a download, pip asks for the name and version."""


def downloaded() -> Path:
    """The folder `examples` of scikit-learn's source distribution."""
    number = version("scikit-learn")
    name = f"scikit_learn-{number}"
    if not (BUILD / name).exists():
        pip = shutil.which("pip") or sys.exit("There is no pip, which downloads scikit-learn's source distribution.")
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "mesonpy.py").write_text(STUB.format(number), encoding="utf-8")
            how = ("--no-binary", ":all:", "--no-deps", "--no-build-isolation", "--dest", folder)
            asked = [pip, "download", "--quiet", *how, f"scikit-learn=={number}"]
            subprocess.run(asked, env=os.environ | {"PYTHONPATH": folder}, check=True)
            with tarfile.open(Path(folder, f"{name}.tar.gz")) as archive:
                scripts = [each for each in archive.getmembers() if each.name.startswith(f"{name}/examples/")]
                archive.extractall(BUILD, scripts, filter="data")
    return BUILD / name / "examples"


def unavailable(script: Path) -> str:
    """Why a script cannot run here, if so."""
    text = script.read_text(encoding="utf-8")
    if found := DOWNLOADS.search(text):
        return f"downloads ({found[0]})"
    missing = [name for name in PACKAGES.findall(text) if not (script.parent / name).exists() and not find_spec(name)]
    return f"needs {missing[0]}" if missing else ""


def run(script: Path) -> tuple[str, float]:
    """The last line of what a script says when it fails, and its seconds."""
    start = perf_counter()
    with tempfile.TemporaryDirectory() as folder:  # some scripts write files
        try:
            done = subprocess.run(
                [sys.executable, "-W", "ignore", "-m", "representer.drop_in", str(script)],
                cwd=folder,
                env=os.environ | {"MPLBACKEND": "Agg"},
                capture_output=True,
                text=True,
                timeout=60 * MINUTES,
            )
        except subprocess.TimeoutExpired:
            return f"no end after {MINUTES} minutes", perf_counter() - start
    lines = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
    return lines[-1] if done.returncode else "", perf_counter() - start


def main(words: list[str]) -> int:
    """Run all scripts and print a line for each."""
    scripts = [each for each in sorted(downloaded().rglob("*.py")) if ESTIMATORS.search(each.read_text())]
    failed = away = 0
    for script in scripts:
        if words and not any(word in script.name for word in words):
            continue
        if why := unavailable(script):
            away += 1
            print(f"  -     {script.stem}: {why}", flush=True)
            continue
        error, seconds = run(script)
        failed += bool(error)
        print(f"{'FAIL' if error else 'ok':4} {seconds:5.1f} s {script.stem} {error}", flush=True)
    print(f"{failed} scripts fail; {away} cannot run here")
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

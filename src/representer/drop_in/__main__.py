"""``python -m representer.drop_in script.py ...`` runs a script written for scikit-learn with these classes."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

from representer.drop_in.patching import patch

USAGE = """usage: python -m representer.drop_in script.py [arguments]
       python -m representer.drop_in -m module [arguments]"""


def main(arguments: list[str]) -> None:
    """Run a script, or a module behind ``-m``, with scikit-learn patched."""
    if arguments[:1] in (["-h"], ["--help"]):
        print(USAGE)
        return
    if not arguments or arguments == ["-m"]:
        sys.exit(USAGE)
    if arguments[0] != "-m" and not Path(arguments[0]).exists():
        sys.exit(f"There is no script {arguments[0]!r}.\n{USAGE}")
    patch()
    if arguments[0] == "-m":
        sys.argv = arguments[1:]
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
        return
    sys.argv = arguments
    sys.path[0] = str(Path(arguments[0]).resolve().parent)  # as Python does for scripts
    runpy.run_path(arguments[0], run_name="__main__")


if __name__ == "__main__":
    main(sys.argv[1:])

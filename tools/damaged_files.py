"""Damage model files in many ways and load them: only LoadError may be raised, within twice their size plus 4 MiB.

python tools/damaged_files.py --count 1000000 [--seed 0]
"""

import argparse
import builtins
import os
import subprocess
import sys
import tempfile
import tracemalloc
from contextlib import suppress
from pathlib import Path
from time import process_time

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from damaged import damages

import representer
from representer.features.nystroem import Nystroem
from representer.io import tensor_layout
from representer.kernels import RBF, Graphs, Jaccard, Linear, Normalized, Spectrum, WeisfeilerLehman

SPARE = 2**22
"""Bytes allowed beyond twice the file: `load` allows more, which small files could not exceed."""
MEASURED = 51
"""One in this many files has its memory measured, which is slow."""


def models(rng):
    """Some models with all kinds of values in them."""
    X = rng.normal(size=(12, 2))
    label = np.array(["no", "yes"])[(X[:, 0] > 0).astype(int)]
    words = ["".join(rng.choice(list("ACGT"), 4)) for _ in range(8)]
    graphs = Graphs([(0, 1), (1, 2), (3, 4)], [0, 0, 0, 1, 1], node_labels="CCOCO")
    yield representer.KernelRidge(alpha=[0.1, 1.0, 10.0], kernel=2.0 * RBF([1.0, 2.0]) + Linear()).fit(X, X)
    yield representer.SVC().fit(X, label)
    yield representer.SVC(kernel=Normalized(Spectrum(2))).fit(words, [w[0] > "C" for w in words])
    yield representer.SVC(kernel=Jaccard()).fit([{*word, i % 5} for i, word in enumerate(3 * words)], [0, 1] * 12)
    yield representer.KernelPCA(2).fit(X)
    yield representer.KernelRidge(kernel=Nystroem(RBF(1.0), 4)).fit(X, X[:, 0])
    yield representer.KernelRidge(kernel=WeisfeilerLehman(1)).fit(graphs, [0.0, 1.0])


def refused(*args, **kwargs):
    """Replaces every function that a file must not reach."""
    raise AssertionError(f"a file ran code: {args!r}")


def forbid():
    """Make any code that a file might run end the program."""
    builtins.eval = os.system = os.popen = subprocess.Popen = refused


def measured(damaged):
    """Load while measuring memory."""
    tracemalloc.start()
    with suppress(representer.LoadError):
        representer.load(damaged)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    if peak > 2 * len(damaged) + SPARE:
        raise AssertionError(f"loading a file of {len(damaged)} bytes took {peak}")


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--count", type=int, default=100_000)
    arguments.add_argument("--seed", type=int, default=0)
    options = arguments.parse_args()
    tensor_layout.SPARE_BYTES = SPARE
    whole = list(models(np.random.default_rng(0)))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.repr"
        contents = [(representer.save(model, path), path.read_bytes())[1] for model in whole]
    forbid()
    begin, loaded, total = process_time(), 0, 0
    for i, content in enumerate(contents):
        for number, damaged in enumerate(damages(content, options.count // len(contents), options.seed + i)):
            total += 1
            if number % MEASURED == 0:
                measured(damaged)
            with suppress(representer.LoadError):
                representer.load(damaged)
                loaded += 1
    print(
        f"{total} damaged files in {process_time() - begin:.0f} s of CPU: {loaded} were loaded as models, all others "
        f"raised LoadError; memory was measured for one in {MEASURED}."
    )


if __name__ == "__main__":
    main()

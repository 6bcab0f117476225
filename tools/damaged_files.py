"""Damage model files in many ways and load them: only LoadError may be raised, within twice their size and 1 MiB.

python tools/damaged_files.py --count 1000000 [--seed 0] [--part 1 --parts 10]

With --parts, only one of so many parts of all files is damaged: ten processes, one after the other or side by side,
load a tenth each.
"""

import argparse
import sys
import tempfile
import tracemalloc
from contextlib import suppress
from pathlib import Path
from time import process_time

import numpy as np
import pandas
import polars

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from damaged import damages

import representer
from representer.features.nystroem import Nystroem
from representer.io import allowance
from representer.kernels import (
    RBF,
    Categorical,
    Graphs,
    Jaccard,
    Linear,
    Normalized,
    On,
    Spectrum,
    WeisfeilerLehman,
)

SPARE, UNCOUNTED = 2**20, 2**16
"""Bytes allowed beyond twice the file: `load` allows more, which small files could not exceed. Those that are not
counted are of nodes and errors."""
MEASURED = 11
"""One in this many files has its memory measured, which is slow; so has each file that was made to swell."""

FORBIDDEN = {
    *("exec", "compile", "import", "open", "pickle.find_class", "ctypes.dlopen", "socket.connect"),
    *("os.system", "os.exec", "os.fork", "os.posix_spawn", "subprocess.Popen"),
}
"""Events of the interpreter that loading a file must not cause."""
HEARD = []
"""Such events, after an entry that says that a file is being loaded."""


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
    yield representer.Function(Spectrum(2), [f"w{i}" for i in range(12_000)], np.ones(12_000))  # its file has padding
    yield representer.KernelPCA(2).fit(X)
    yield representer.KernelRidge(kernel=Nystroem(RBF(1.0), 4)).fit(X, X[:, 0])
    yield representer.KernelRidge(kernel=WeisfeilerLehman(1)).fit(graphs, [0.0, 1.0])
    yield representer.KernelRegressor().fit(X, X[:, 0])
    columns = {"x": X[:, 0], "day": np.datetime64("2020-01-01") + np.arange(12), "word": [*"abcabcabcabc"]}
    kernel = On(RBF(), ["x"]) * On(Categorical(), ["word"])
    for frame in (pandas.DataFrame(columns), polars.DataFrame(columns)):
        yield representer.KernelRidge(kernel=kernel).fit(frame, X)
    levels = pandas.DataFrame({"x": [1, 2], "c": pandas.Categorical(["a", "b"]), "s": ["x", None], "g": [1, None]})
    yield representer.Function(On(RBF(), ["x"]), levels.astype({"x": "Int8", "g": "Int64"}), np.ones(2))
    kinds = {"x": polars.Float32, "c": polars.Categorical, "e": polars.Enum("ab"), "g": polars.Int64}
    named = polars.DataFrame({"x": [1.0, 2.0], "c": ["a", "b"], "e": ["a", None], "g": [1, None]}, schema=kinds)
    yield representer.Function(On(RBF(), ["x"]), named, np.ones(2))
    yield representer.fit_table(polars.concat(3 * [polars.DataFrame(columns | {"y": X[:, 1]})]), "y").model


def hear(event, arguments):
    """Notes whatever a file must not cause; an exception here could be taken for one of a damaged file."""
    if HEARD and event in FORBIDDEN:
        HEARD.append((event, arguments))


def loaded(content):
    """Whether a file is loaded as a model; LoadError is the only exception that it may raise."""
    HEARD.append("begin")
    try:
        representer.load(content)
    except representer.LoadError:
        return False
    finally:
        noted = HEARD[1:]
        HEARD.clear()
        if noted:
            raise AssertionError(f"a file ran code: {noted!r}")
    return True


def measured(damaged):
    """Load while measuring memory."""
    tracemalloc.start()
    loaded(damaged)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    if peak > 2 * len(damaged) + SPARE + UNCOUNTED:
        raise AssertionError(f"loading a file of {len(damaged)} bytes took {peak}")


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--count", type=int, default=100_000)
    arguments.add_argument("--seed", type=int, default=0)
    arguments.add_argument("--part", type=int, default=1)
    arguments.add_argument("--parts", type=int, default=1)
    options = arguments.parse_args()
    allowance.SPARE_BYTES = SPARE
    first = options.seed + 10_000 * options.part
    whole = list(models(np.random.default_rng(0)))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.repr"
        contents = [(representer.save(model, path), path.read_bytes())[1] for model in whole]
    for content in contents:  # which imports the libraries of frames
        for damaged in damages(content, 200, first + 1000):
            with suppress(representer.LoadError):
                representer.load(damaged)
    sys.addaudithook(hear)
    count = -(-options.count // (len(contents) * options.parts))
    begin, models_loaded, total, weighed = process_time(), 0, 0, 0
    for i, content in enumerate(contents):
        for number, damaged in enumerate(damages(content, count, first + i)):
            total += 1
            if number % MEASURED == 0 or number % 50 == 49:
                weighed += 1
                measured(damaged)
            models_loaded += loaded(damaged)
    print(
        f"{total} damaged files in {process_time() - begin:.0f} s of CPU: {models_loaded} were loaded as models, all "
        f"others raised LoadError; no code was run; memory was measured for {weighed}."
    )


if __name__ == "__main__":
    main()

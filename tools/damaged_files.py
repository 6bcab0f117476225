"""Damages model files in many ways and loads them: nothing but LoadError may come of it.

python tools/damaged_files.py --count 1000000
"""

import argparse
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from damaged import damages

import representer
from representer.kernels import RBF, Linear, Normalized, Spectrum


def models(rng):
    """Some models with all kinds of values in them."""
    X = rng.normal(size=(40, 3))
    label = np.array(["no", "yes"])[(X[:, 0] > 0).astype(int)]
    words = ["".join(rng.choice(list("ACGT"), 6)) for _ in range(20)]
    yield representer.KernelRidge(alpha=[0.1, 1.0], kernel=2.0 * RBF([1.0, 2.0, 3.0]) + Linear()).fit(X, X)
    yield representer.SVC(probability=True).fit(X, label)
    yield representer.SVC(kernel=Normalized(Spectrum(2))).fit(words, [w[0] > "C" for w in words])
    yield representer.KernelPCA(3).fit(X)


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--count", type=int, default=100_000)
    arguments.add_argument("--seed", type=int, default=0)
    options = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.repr"
        whole = list(models(np.random.default_rng(options.seed)))
        loaded = 0
        for i, model in enumerate(whole):
            representer.save(model, path)
            for damaged in damages(path.read_bytes(), options.count // len(whole), options.seed + i):
                path.write_bytes(damaged)
                with suppress(representer.LoadError):
                    representer.load(path)
                    loaded += 1
    print(f"{options.count} damaged files: {loaded} were loaded as models, all others raised LoadError.")


if __name__ == "__main__":
    main()

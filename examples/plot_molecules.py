"""Molecules: which substructures make a compound mutagenic?

The Weisfeiler-Lehman kernel counts subtrees of atoms. Set REPRESENTER_DATA to a folder with graph_mutag.npz for the
188 compounds of MUTAG (edges, node_graph, node_labels, y); otherwise random rings with side chains are simulated, of
which those with a nitro group are mutagenic.
"""

import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import StratifiedKFold, cross_val_score

from representer import SVC, KernelPCA
from representer.kernels import Graphs, HistogramIntersection, Normalized, WeisfeilerLehman

ATOMS = np.array(["C", "N", "O", "F", "I", "Cl", "Br"])


def ring(rng: np.random.Generator, nitro: bool) -> tuple[list, list]:
    """Bonds and atoms of a carbon ring with side chains, one of them a nitro group if requested."""
    atoms, bonds = ["C"] * 6, [(i, (i + 1) % 6) for i in range(6)]
    groups = [["N", "O", "O"]] if nitro else [["N", "C", "C"]]
    groups += [list(rng.choice(["C", "O", "Cl"], 1)) for _ in range(rng.integers(0, 3))]
    for place, group in zip(rng.permutation(6), groups, strict=False):
        first = len(atoms)
        atoms += group
        bonds += [(int(place), first), *((first, first + i) for i in range(1, len(group)))]
    return bonds, atoms


file = Path(os.environ.get("REPRESENTER_DATA", ".")) / "graph_mutag.npz"
if file.exists():
    data = np.load(file)
    graphs, y = Graphs(data["edges"], data["node_graph"], ATOMS[data["node_labels"]]), data["y"] == 1
else:
    rng = np.random.default_rng(0)
    y = rng.random(120) < 0.5
    parts = [ring(rng, bool(nitro)) for nitro in y]
    graphs = Graphs.of([Graphs(bonds, [0] * len(atoms), atoms) for bonds, atoms in parts])

folds = StratifiedKFold(10, shuffle=True, random_state=0)
for name, compare in (("subtrees", None), ("optimal assignment", HistogramIntersection())):
    kernel = Normalized(WeisfeilerLehman(3, compare=compare))
    score = cross_val_score(SVC(kernel=kernel, C=10.0), graphs, y, cv=folds).mean()
    print(f"{name}: accuracy {score:.3f} in ten folds")

kernel = Normalized(WeisfeilerLehman(2))
model = SVC(kernel=kernel, C=10.0).fit(graphs, y)
names, weights = zip(*model.function_.features(10), strict=True)
Z = KernelPCA(2, kernel=kernel).fit_transform(graphs)

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
for label, what in ((True, "mutagenic"), (False, "not")):
    left.scatter(*Z[y == label].T, s=12, label=what)
left.legend()
left.set_title("Molecules in the space of the kernel")
order = np.argsort(weights)
right.barh([names[i] for i in order], [weights[i] for i in order])
right.set_title("Subtrees that decide")
plt.show()

"""Which functions vary most over three clusters?

The first eight kernel principal components of three clusters in the plane, with a Gaussian kernel. The first two
separate the clusters; the others resolve structure within each of them. Below, two rings that are not linearly
separable: the first two components follow the angle, and the third one separates the rings.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_circles

from representer import KernelPCA
from representer.kernels import RBF
from representer.plotting import EigenfunctionDisplay, EmbeddingDisplay

rng = np.random.default_rng(0)
centres = np.array([[-0.5, -0.2], [0.0, 0.6], [0.5, 0.0]])
X = np.concatenate([centre + 0.1 * rng.normal(size=(30, 2)) for centre in centres])
rings, ring = make_circles(400, factor=0.4, noise=0.06, random_state=0)

figure = plt.figure(figsize=(12, 9.5), layout="constrained")
panels, below = figure.subfigures(2, 1, height_ratios=[2, 1.2])

pca = KernelPCA(n_components=8, kernel=RBF(np.sqrt(0.05))).fit(X)
print(pca.certificate_)
EigenfunctionDisplay.from_estimator(pca).plot(panels.subplots(2, 4))
panels.suptitle("eight eigenfunctions of three clusters")

left, right = below.subplots(1, 2)
for label, colour in ((1, "C0"), (0, "C1")):
    left.scatter(*rings[ring == label].T, color=colour, s=8)
left.set(title="two rings", aspect="equal")
pca = KernelPCA(n_components=3, kernel=RBF(0.4)).fit(rings)
EmbeddingDisplay.from_estimator(pca, rings, np.where(ring == 1, "inner", "outer"), components=(0, 2)).plot(right)
right.set_title("the same rings in two components")

plt.show()

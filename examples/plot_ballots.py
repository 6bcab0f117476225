"""Ballots: what do voters agree on, and which groups are there?

Each voter in the American Psychological Association's 1980 election ranked five candidates. The Kendall kernel
counts the pairs of candidates that two ballots rank alike. The pre-image of the mean of all ballots is their Kemeny
consensus, the ranking that agrees best with all of them; kernel k-means finds groups of voters, each with its own
consensus; and kernel PCA embeds all 120 possible ballots. If the data file apa1980.npz is not available (in the folder
that the environment variable REPRESENTER_DATA names), two groups of voters are simulated.
"""

import os
from itertools import permutations
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from representer import KernelKMeans, KernelPCA, mean_embedding, preimage
from representer.kernels import Kendall

EVERY = np.array(list(permutations(range(1, 6))))
file = Path(os.environ.get("REPRESENTER_DATA", "shared/data")) / "apa1980.npz"
if file.exists():
    ballots = np.load(file)["rankings"].astype(int)
else:
    rng = np.random.default_rng(0)
    centres = np.array([[1, 5, 2, 4, 3], [4, 1, 5, 2, 3]])
    chances = np.exp(6.0 * Kendall()(EVERY, centres))
    groups = (rng.choice(len(EVERY), n, p=p / p.sum()) for n, p in zip((900, 600), chances.T, strict=True))
    ballots = EVERY[np.concatenate(list(groups))]

different, counts = np.unique(ballots, axis=0, return_counts=True)
consensus = preimage(mean_embedding(Kendall(), ballots))
agreement = Kendall()(ballots, consensus.x[None]).mean()
print(f"{len(ballots)} ballots, {len(different)} different ones")
print(f"consensus: candidates have the ranks {consensus.x.tolist()}; mean tau with all ballots {agreement:.3f}")

clusters = KernelKMeans(2, kernel=Kendall(), random_state=0).fit_predict(different, sample_weight=counts)
best = []
for cluster in range(2):
    members = np.repeat(different[clusters == cluster], counts[clusters == cluster], axis=0)
    best.append(preimage(mean_embedding(Kendall(), members)).x)
    print(f"group {cluster + 1}: {len(members)} voters, ranks {best[-1].tolist()}")

pca = KernelPCA(2, kernel=Kendall()).fit(EVERY)
points, marks = pca.transform(different), pca.transform(np.array([consensus.x, *best]))
figure, axes = plt.subplots(figsize=(6.4, 5), layout="constrained")
axes.scatter(*points.T, s=4000 * counts / counts.sum(), c=clusters, cmap="coolwarm", alpha=0.6)
for place, name in zip(marks, ("consensus", "group 1", "group 2"), strict=True):
    axes.plot(*place, "k*" if name == "consensus" else "k+", markersize=14)
    axes.annotate(name, place, xytext=(8, 8), textcoords="offset points")
axes.set(title="Ballots in the plane of two kernel principal components", xlabel="first", ylabel="second")
plt.show()

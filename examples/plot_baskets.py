"""Shopping baskets: sets as inputs, clusters of them, and a representative basket for each.

Kernel k-means with the Jaccard kernel clusters sets, and the pre-image of a cluster mean is again a set: its
representative basket. Set REPRESENTER_DATA to a folder with groceries.npz (items, indices, indptr) for a month of a
grocery store; otherwise baskets are simulated from four shopping lists.
"""

import os
from itertools import chain, pairwise
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from representer import KernelKMeans, KernelPCA, mean_embedding, preimage
from representer.kernels import Jaccard

rng = np.random.default_rng(0)
file = Path(os.environ.get("REPRESENTER_DATA", ".")) / "groceries.npz"
if file.exists():
    data = np.load(file)
    starts = data["indptr"]
    whole = [{str(item) for item in data["items"][data["indices"][a:b]]} for a, b in pairwise(starts)]
    baskets = [basket for basket in whole if 3 <= len(basket) <= 8][:600]
else:
    lists = [
        ["milk", "bread", "butter", "eggs", "jam"],
        ["beer", "chips", "sausage", "buns", "mustard"],
        ["rice", "beans", "onions", "oil", "tomatoes"],
        ["soap", "paper towels", "bags", "candles", "napkins"],
    ]
    everything = list(chain(*lists))
    baskets = [
        set(rng.choice(lists[i % 4], 3, False).tolist()) | set(rng.choice(everything, 1).tolist()) for i in range(200)
    ]

groups = KernelKMeans(4, kernel=Jaccard(), random_state=0).fit(baskets).labels_
for group in range(4):
    members = [basket for basket, label in zip(baskets, groups, strict=True) if label == group]
    middle = preimage(mean_embedding(Jaccard(), members))
    print(f"{len(members)} baskets around {sorted(middle.x)}, at a distance of {middle.distance:.3f}")

Z = KernelPCA(2, kernel=Jaccard()).fit_transform(baskets)
figure, axes = plt.subplots(figsize=(5, 4), layout="constrained")
for group in range(4):
    axes.scatter(*Z[groups == group].T, s=12, label=f"group {group}")
axes.legend()
axes.set_title("Baskets in the space of the kernel")
plt.show()

"""Bacterial promoters: which letters, at which positions, mark the start of a gene?

RNA polymerase binds DNA near two short motifs, TTGACA and TATAAT, some 17 letters apart. `WeightedDegree` compares
words at the same positions, and the fitted function of a support vector machine gives the weight of each word, letter
by letter. Set REPRESENTER_DATA to a folder with promoters.tsv (label, name, sequence) for the 106 sequences of the UCI
repository; otherwise random sequences are simulated, with mutated copies of the two motifs planted in half of them.
"""

import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import cross_val_score

from representer import SVC
from representer.kernels import Normalized, WeightedDegree

rng = np.random.default_rng(0)
file = Path(os.environ.get("REPRESENTER_DATA", ".")) / "promoters.tsv"
if file.exists():
    lines = [line.split("\t") for line in file.read_text().splitlines()[1:]]
    X, y = [line[2] for line in lines], np.array([line[0] == "+" for line in lines])
else:
    letters, y = rng.choice(list("ACGT"), (106, 57)), np.arange(106) < 53
    for place, pattern in ((14, "TTGACA"), (37, "TATAAT")):
        planted = np.where(rng.random((53, 6)) < 0.7, list(pattern), letters[:53, place : place + 6])
        letters[:53, place : place + 6] = planted
    X = ["".join(row) for row in letters]

model = SVC(kernel=Normalized(WeightedDegree(3)), C=10.0)
print(f"accuracy in ten folds: {cross_val_score(model, X, y, cv=10).mean():.3f}")
function = model.fit(X, y).function_
print("words that speak most for a promoter, or against it:", function.features(6))

weights = np.zeros((4, len(X[0])))
for name, weight in function.features(10_000):
    word, _, place = name.partition(" at ")
    if len(word) == 1:
        weights["ACGT".index(word), int(place)] = weight

figure, axes = plt.subplots(figsize=(10, 2.4), layout="constrained")
largest = np.abs(weights).max()
picture = axes.imshow(weights, cmap="RdBu_r", vmin=-largest, vmax=largest, aspect="auto")
axes.set_yticks(range(4), list("ACGT"))
axes.set_xlabel("place")
axes.set_title("What a letter adds to the decision for a promoter")
figure.colorbar(picture, ax=axes)
plt.show()

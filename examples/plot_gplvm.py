"""Does a two-dimensional embedding separate handwritten digits? PCA compared with a latent variable model.

Each of the 64 pixels is a Gaussian process of two latent variables. The background shows the precision: white near
the data, dark far from them. On the right, the reconstructions on a grid of latent points.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.neighbors import NearestNeighbors

from representer import GPLVM
from representer.plotting import LatentDisplay

X, y = load_digits(n_class=5, return_X_y=True)
X, y = X[:400] / 16.0, y[:400]


def errors(Z):
    """Error rate of the nearest neighbour in the embedding."""
    nearest = NearestNeighbors(n_neighbors=2).fit(Z).kneighbors(Z)[1][:, 1]
    return np.mean(y[nearest] != y)


flat = PCA(2).fit_transform(X)
model = GPLVM(n_landmarks=40, tol=1e-4).fit(X)
print(model.report())

figure, (left, middle, right) = plt.subplots(1, 3, figsize=(14, 4.5), layout="constrained", width_ratios=[3, 4, 3])
for digit in range(5):
    left.scatter(*flat[y == digit].T, s=18, label=digit, edgecolors="black", linewidths=0.3)
left.set(title=f"PCA: {errors(flat):.0%} wrong neighbours", xlabel="component 0", ylabel="component 1")
left.legend(fontsize="small")

LatentDisplay.from_estimator(model, labels=y).plot(middle)
middle.set_title(f"GPLVM: {errors(model.embedding_):.0%} wrong neighbours")

# digits that the model imagines on a grid of latent points, faded where it is not sure
low, high = np.percentile(model.embedding_, [2, 98], axis=0)
grid = np.stack(np.meshgrid(np.linspace(low[0], high[0], 9), np.linspace(high[1], low[1], 9)), axis=-1).reshape(-1, 2)
mean, std = model.inverse_transform(grid, return_std=True)
sure = np.clip(1.0 - std / std.max(), 0.0, 1.0)
tiles = (mean * sure).reshape(9, 9, 8, 8).transpose(0, 2, 1, 3).reshape(72, 72)
right.imshow(tiles, cmap="gray_r", vmin=0.0, vmax=1.0)
right.set(title="what the map expects where", xticks=[], yticks=[])
plt.show()

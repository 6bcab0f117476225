"""Denoising handwritten digits: project onto kernel principal components, and compute the pre-image.

A noisy digit x is far from the clean ones, but the projection of its representer k(x, .) onto the first kernel
principal components of clean digits lies in a subspace spanned by clean digits. Its pre-image is the denoised digit.
The projection is f = mean + sum_c <k(x, .) - mean, v_c> v_c with orthonormal v_c, all of them functions in one RKHS.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from representer import Function, preimage
from representer.kernels import RBF
from representer.plotting import ImageRowsDisplay

rng = np.random.default_rng(0)
X = load_digits().data / 8.0 - 1.0
clean, X = X[1500:1512], X[:1000]
noisy = clean + 0.5 * rng.normal(size=clean.shape)
kernel = RBF(np.sqrt(0.5 * X.var(axis=0).sum()))

# centred kernel PCA: components are functions with coefficients that sum to zero
K, n, n_components = kernel(X), len(X), 40
means = K.mean(axis=0)
values, vectors = np.linalg.eigh(K - means - means[:, None] + K.mean())
components = vectors[:, -n_components:] / np.sqrt(values[-n_components:])
components -= components.mean(axis=0)
scores = (kernel(noisy, X) - means) @ components
projected = Function(kernel, X, components @ scores.T + 1.0 / n)

found = {method: preimage(projected, method) for method in ("nearest", "distances", "learned", "fixed_point")}
print(f"mean squared error of the noisy digits: {np.mean((noisy - clean) ** 2):.3f}")
for method, result in found.items():
    error, distance = np.mean((result.x - clean) ** 2), np.mean(result.distance)
    print(f"{method:>12}: error {error:.3f}, mean distance in H {distance:.3f}")

ImageRowsDisplay.from_preimages(found, (8, 8), others={"original": clean, "noisy": noisy}).plot()
plt.show()

"""How far does one data point reach? Dual basis functions, and a thin-plate spline through scattered heights.

The fit of an RBF network is sum_i y_i u_i(x): u_i is one at its own point and zero at all others. For r^4 log r the u_i
are damped oscillations inside the data and grow fast outside. On the right, a smoothed thin-plate spline through noisy
heights of a landscape, its strength chosen by exact leave-one-out.
"""

import matplotlib.pyplot as plt
import numpy as np

from representer import RBFNetwork
from representer.kernels import Polyharmonic
from representer.plotting import DualBasisDisplay

rng = np.random.default_rng(0)
figure, (left, middle, right) = plt.subplots(1, 3, figsize=(14, 4.5), layout="constrained")

x = np.sort(rng.uniform(size=(50, 1)), axis=0)
sine = RBFNetwork(Polyharmonic(4), alpha=1e-6).fit(x, np.sin(2.0 * np.pi * x).ravel() + 0.1 * rng.normal(size=50))
DualBasisDisplay.from_estimator(sine, [0, 19, 47], margin=0.02).plot(left)
left.set_title("dual basis of $r^4 \\log r$ on a noisy sine")

X = rng.uniform(-1.0, 1.0, size=(150, 2))
height = np.exp(-3.0 * (X[:, 0] - 0.4) ** 2 - 5.0 * X[:, 1] ** 2) + 0.5 * np.sin(3.0 * X[:, 1]) * X[:, 0]
y = height + 0.05 * rng.normal(size=150)
plate = RBFNetwork("thin_plate", alpha=np.logspace(-4, 2, 25)).fit(X, y)
print(f"alpha {plate.alpha_:.3g}, leave-one-out error {np.sqrt(-plate.loo_scores_.max()):.3f}")
middle.semilogx(np.logspace(-4, 2, 25), np.sqrt(-plate.loo_scores_))
middle.axvline(plate.alpha_, color="C1", linestyle="--")
middle.set(title="exact leave-one-out of the thin plate", xlabel="alpha", ylabel="error")

side = np.linspace(-1.0, 1.0, 80)
mesh = np.stack([part.ravel() for part in np.meshgrid(side, side)], axis=1)
contours = right.contourf(side, side, plate.predict(mesh).reshape(80, 80), levels=15)
figure.colorbar(contours, ax=right)
right.scatter(*X.T, c=y, edgecolors="white", linewidths=0.5, s=20, norm=contours.norm)
right.set(title=f"thin plate, bending energy {plate.function_.energy():.2g}", xlabel="east", ylabel="north")
plt.show()

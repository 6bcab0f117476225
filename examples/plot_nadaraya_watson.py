"""Local linear regression compared with local means, and the choice of bandwidth.

Local means are biased towards the interior at the boundary and where inputs are unevenly spaced; local linear fits are
not. The bandwidth of each has the smallest exact leave-one-out error.
"""

import matplotlib.pyplot as plt
import numpy as np

from representer import NadarayaWatson, ParzenDensity
from representer.plotting import DensityDisplay, RegressionDisplay

rng = np.random.default_rng(0)
X = rng.beta(0.7, 1.4, size=(300, 1)) * 4
y = np.sin(2 * X).ravel() + X.ravel() + 0.25 * rng.normal(size=300)

figure, (top, middle, below) = plt.subplots(3, figsize=(7, 10), layout="constrained")
for degree, name in enumerate(["local means", "local lines"]):
    model = NadarayaWatson("loo", window="gaussian", degree=degree).fit(X, y)
    label = f"{name}, bandwidth {model.bandwidth_:.2f}"
    RegressionDisplay.from_estimator(model, X, None if degree else y).plot(top, label=label)
    middle.loglog(model.bandwidths_, -model.loo_scores_, ".-", label=name)
x = np.linspace(0, 4, 200)
top.plot(x, np.sin(2 * x) + x, "k:", label="truth")
top.set(title="Nadaraya-Watson regression")
middle.set(title="Which bandwidth?", xlabel="bandwidth", ylabel="leave-one-out error")

for window in ["gaussian", "epanechnikov"]:
    density = ParzenDensity("loo", window=window).fit(X)
    DensityDisplay.from_estimator(density).plot(below, label=f"{window}, bandwidth {density.bandwidth_:.2f}")
below.set(title="Parzen density of the inputs")
for ax in (top, middle, below):
    ax.legend()
plt.show()

"""Gaussian process uncertainty: the posterior band is narrow at the data and wide in the gap.

python examples/plot_gaussian_process.py
"""

import matplotlib.pyplot as plt
import numpy as np

from representer import GaussianProcessRegressor
from representer.plotting import GaussianProcessDisplay

rng = np.random.default_rng(0)
x = np.sort(np.concatenate([rng.uniform(0.0, 4.0, 25), rng.uniform(7.0, 10.0, 20)]))
y = np.sin(x) + 0.15 * rng.normal(size=len(x))

gp = GaussianProcessRegressor(random_state=0).fit(x[:, None], y)
display = GaussianProcessDisplay.from_estimator(gp, n_samples=4).plot()
display.ax_.set_title(f"noise {np.sqrt(gp.noise_):.2f} (true 0.15)")
plt.show()

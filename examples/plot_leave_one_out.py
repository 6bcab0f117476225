"""Leave-one-out selects the strength of ridge regression without refitting, and its predictions are out of sample.

python examples/plot_leave_one_out.py
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.preprocessing import StandardScaler

from representer import KernelRidge
from representer.plotting import LeaveOneOutDisplay

X, y = load_diabetes(return_X_y=True)
X = StandardScaler().fit_transform(X)

ridge = KernelRidge(np.logspace(-4, 3, 60), kernel="matern", fit_intercept=True).fit(X, y)
display = LeaveOneOutDisplay.from_estimator(ridge).plot()
r2 = 1.0 - np.mean(ridge.loo_residuals_**2) / np.var(y)
display.axes_[0].set_title(f"alpha {ridge.alpha_:.2g}, the best of 60")
display.axes_[1].set_title(f"leave-one-out R² {r2:.2f}")
plt.show()

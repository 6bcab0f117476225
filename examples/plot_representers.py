"""The representer theorem in one figure: a sum of representers, one stem for each row, and its prediction band.

python examples/plot_representers.py docs/representers.svg
"""

import sys

import matplotlib.pyplot as plt
import numpy as np

from representer import KernelRegressor

rng = np.random.default_rng(4)
x = np.sort(np.concatenate([rng.uniform(0.0, 4.5, 22), rng.uniform(6.5, 10.0, 16)]))
y = np.sin(1.3 * x) + 0.25 * x + 0.15 * rng.normal(size=len(x))

model = KernelRegressor(time_limit=2.0).fit(x[:, None], y)
grid = np.linspace(-0.5, 10.5, 300)
mean, std = model.predict(grid[:, None], return_std=True)
coef = model.function_.coef

plt.rcParams |= {"svg.fonttype": "path", "svg.hashsalt": "representers"}
figure, (top, low) = plt.subplots(
    2, 1, figsize=(7.2, 4.2), sharex=True, height_ratios=[3, 1], layout="constrained", facecolor="white"
)
top.fill_between(grid, mean - 1.96 * std, mean + 1.96 * std, color="#3b82c4", alpha=0.18, lw=0, label="95 % band")
top.plot(grid, mean, color="#3b82c4", label="fit: f(x) = b + Σ αᵢ k(xᵢ, x)")
top.plot(x, y, "o", color="#22303c", markersize=4, label="data")
top.legend(frameon=False, loc="upper left", fontsize=9)
low.vlines(x, 0.0, coef, color="#d9822b")
low.plot(x, coef, "o", color="#d9822b", markersize=3)
low.axhline(0.0, color="#22303c", lw=0.8)
low.set(ylabel="αᵢ", xlabel="x")
for axes in (top, low):
    axes.spines[["top", "right"]].set_visible(False)
if sys.argv[1:] and sys.argv[1].endswith(".svg"):
    figure.savefig(sys.argv[1], metadata={"Date": None})
plt.show()

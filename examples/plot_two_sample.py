"""Two samples with the same mean and variance: does a kernel test detect the difference?

The first sample is normal, the second one is Laplace distributed with the same mean and variance. A test of means
detects nothing. The mean embeddings of the samples differ, the witness function shows where, and a permutation test
shows that this is not chance.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import ttest_ind

from representer import MMD
from representer.plotting import NullDisplay, WitnessDisplay

rng = np.random.default_rng(0)
X = rng.normal(size=(1000, 1))
Y = rng.laplace(scale=np.sqrt(0.5), size=(1000, 1))

test = MMD(n_permutations=999, random_state=0)
outcome = test.test(X, Y)
aggregated = MMD(n_permutations=999, bandwidths=8, random_state=0).test(X, Y)
print(f"t-test: p = {ttest_ind(X, Y).pvalue[0]:.2f}")
print(f"MMD: {outcome}")
print(f"MMD, eight bandwidths: {aggregated}")

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
WitnessDisplay.from_estimator(test, X, Y).plot(left)
left.set_title("Where do the samples differ?")
NullDisplay.from_outcome(outcome).plot(right)
right.set_title("Is it an accident?")
plt.show()

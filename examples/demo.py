"""A first look: build kernels, multiply by a Gram matrix that is never stored, and measure functions in H."""

from __future__ import annotations

import time

import numpy as np

from representer import Function, Gram, project, psd
from representer.kernels import RBF, Matern, Normalized, Polynomial, Sigmoid, Spectrum, Subset

rng = np.random.default_rng(0)

print("A kernel is a formula that you can build from others:")
k = 2.0 * RBF(length_scale=1.5) * Matern(nu=1.5) + Polynomial(degree=2)
print(f"    k = {k}")
X = rng.normal(size=(500, 3))
print(f"    on 500 points: {psd.report(k, X)}\n")

print("Strings and sets are inputs like any others:")
print(f"    Normalized(Spectrum(3))(['ACGT', 'ACGA']) =\n{Normalized(Spectrum(3))(['ACGT', 'ACGA'])}")
print(f"    Subset()([{{1, 2}}, {{2, 3}}]) =\n{Subset()([{1, 2}, {2, 3}])}\n")

print("The Gram matrix is an operator; nothing of size n x n is stored:")
n = 20_000
data = rng.normal(size=(n, 10)).astype(np.float32)
K = Gram(RBF(length_scale=2.0), data)
v = np.ones(n, np.float32)
K @ v  # the first product loads compiled code
start = time.perf_counter()
sums = K @ v
seconds = time.perf_counter() - start
print(f"    K = {K}")
print(f"    K @ v: {n**2 / 1e6:.0f} million kernel values in {seconds:.2f} s, {seconds / n**2 * 1e9:.2f} ns each")
print(f"    the mean of a row sum is {sums.mean():.2f}; the dense matrix would take {4 * n**2 / 1e9:.1f} GB\n")

print("A function in H knows its norm, and its projection onto other representers is shorter:")
f = Function(k, X[:50], rng.normal(size=50))
P = project(f, X[50:70])
print(f"    ||f|| = {f.norm():.3f}, ||Pf|| = {P.norm():.3f}, largest |f - Pf| on the points: "
      f"{np.abs(f(X[50:70]) - P(X[50:70])).max():.1e}\n")  # fmt: skip

print("Not everything that looks like a kernel is one:")
print(f"    {psd.report(Sigmoid(scale=2.0, offset=-1.0), X)}")

"""Exported Gaussian processes have the standard deviations of the model."""

import numpy as np
import pytest
from each_case import each
from onnx_cases import X, Y, close, run
from sklearn.gaussian_process import kernels as theirs

from representer import GaussianProcessRegressor, Nystroem, RandomFeatures, drop_in, to_onnx
from representer.kernels import RBF, Linear, Matern

FAR = X[::5] + 1.0  # near the data variances are differences of nearly equal numbers
SUM = 2.0 * Matern(1.5, nu=2.5) + Linear(3.0)


@each("dtype", [np.float64, np.float32])
@each(
    ("model", "y"),
    [
        (GaussianProcessRegressor(SUM, noise=0.01, optimizer=None), Y[:, 0]),
        (GaussianProcessRegressor(SUM, noise=0.01, optimizer=None, normalize_y=True), Y[:, 0]),
        (GaussianProcessRegressor(RBF(1.0), noise=0.01, optimizer=None, normalize_y=True), Y),
        (GaussianProcessRegressor(Nystroem(RBF(1.0), 10), noise=0.01, optimizer=None), Y[:, 0]),
        (GaussianProcessRegressor(RandomFeatures(RBF(1.0), 20), noise=0.01, optimizer=None), Y),
        (drop_in.GaussianProcessRegressor(theirs.RBF() + theirs.WhiteKernel(0.1), optimizer=None), Y[:, 0]),
    ],
)
def test_deviations_of_processes(model, y, dtype):
    found, (mean, std) = run(model.fit(X, y), FAR, dtype), model.predict(FAR, return_std=True)
    close(found["value"], mean, dtype)
    close(found["std"], std, dtype)


def test_conjugate_gradients_have_none():
    model = GaussianProcessRegressor(RBF(1.0), noise=0.1, optimizer=None, solver="conjugate_gradient").fit(X, Y[:, 0])
    assert to_onnx(model).outputs == ("value",)
    with pytest.raises(KeyError):
        run(model)["std"]

import numpy as np
import pytest
from sklearn.metrics import mean_pinball_loss

from representer.losses import Pinball
from representer.testing import check_loss


@pytest.mark.parametrize("quantile", [0.01, 0.5, 0.9])
def test_laws(quantile, rng):
    check_loss(Pinball(quantile), rng.normal(size=30), rng.normal(size=30))


def test_as_scikit_learn(rng):
    y, f = rng.normal(size=(2, 20))
    assert Pinball(0.3).value(y, f).mean() == pytest.approx(mean_pinball_loss(y, f, alpha=0.3), rel=1e-12)


def test_several_quantiles_are_columns(rng):
    loss = Pinball([0.1, 0.5, 0.9])
    y, f = rng.normal(size=(20, 1)), rng.normal(size=(20, 3))
    check_loss(loss, y[:, 0], f)
    assert loss.outputs(y) == 3
    assert [part.quantile for part in loss.parts()] == [0.1, 0.5, 0.9]
    columns = [part.value(y[:, 0], f[:, j]) for j, part in enumerate(loss.parts())]
    np.testing.assert_allclose(loss.value(y, f), np.transpose(columns))


@pytest.mark.parametrize("quantile", [0.0, 1.0, -0.1, [0.5, 1.5], [], "median", [[0.1]]])
def test_bad_quantiles_are_refused(quantile):
    with pytest.raises(ValueError, match=r"quantile is .* between 0 and 1"):
        Pinball(quantile).check()

import numpy as np

from representer.problems.latent_points import LatentPoints

BOUNDS = np.array([[-np.inf, np.inf], [0.0, 1.0], [0.0, 1.0]])


def test_gradients_out_of_the_bounds_do_not_count():
    problem, gradient = LatentPoints(BOUNDS, 4), np.array([0.4, -8.0, 8.0])
    assert problem.slope(np.array([9.0, 0.0, 1.0]), gradient) == 0.1
    assert problem.slope(np.array([9.0, 0.0, 0.9]), gradient) == 2.0
    assert problem.slope(np.array([9.0, 1.0, 1.0]), gradient) == 2.0


def test_judgement():
    judgement = LatentPoints(BOUNDS, 4).judge(np.array([9.0, 0.5, 0.5]), np.array([0.4, -0.8, 0.0]), 7.0)
    assert (judgement.residuals.tolist(), judgement.primal, judgement.dual) == ([0.2], -7.0, None)

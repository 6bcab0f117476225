import numpy as np

from representer.problems.judgement import Judgement


def test_without_a_bound_the_error_is_unknown():
    judgement = Judgement(np.array([1e-3]), "gradient")
    assert np.isinf(judgement.error_bound).all()
    assert judgement.primal is judgement.dual is None

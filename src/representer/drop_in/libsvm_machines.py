"""scikit-learn's support vector machines, with the solvers of this library."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.validation import _num_samples, check_is_fitted

from representer.drop_in.constraints import Constraints
from representer.drop_in.libsvm_inputs import doubled_rows, nonnegative_weights
from representer.drop_in.named_kernels import PlannedKernel
from representer.estimators import nu_svc, one_class, svc, svr
from representer.estimators.base import atomic, own, warn_user
from representer.estimators.progress import Progress
from representer.estimators.support_vectors import hinge_dual, upper_bounds
from representer.gram.operator import Operator
from representer.kernels.base import Kernel
from representer.problems.box import BoxProblem
from representer.result import Result
from representer.rows.validation import reset_fitted
from representer.solvers import smo

HARD_MARGIN = 1e10
"""The C used in place of infinity."""


class Libsvm(PlannedKernel):
    """What scikit-learn's machines have in addition: gamma, callables as kernels, and its attributes."""

    threads: Any = None
    memory: Any = None
    tune: Any = None
    bounds: Any = None
    fixed: Any = ()
    priors: Any = None
    dual_coef_: Any

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.sparse = self.kernel != "precomputed"
        return tags

    @atomic
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Fit as scikit-learn does; samples without positive weight are left out."""
        self._validate_params()  # type: ignore[attr-defined]
        if sparse.issparse(X) and self.kernel == "precomputed":
            raise TypeError("Sparse precomputed kernels are not supported.")
        if callable(self.kernel):
            self._X_fit, X = own(X), self._whole(X, X)
        else:
            X = doubled_rows(X if hasattr(X, "shape") else np.asarray(X))
        shape = getattr(self._X_fit if callable(self.kernel) else X, "shape", ())
        self._sparse = sparse.issparse(X)
        weights = nonnegative_weights(sample_weight, X)
        super().fit(X, y, weights)  # type: ignore[misc]
        if callable(self.kernel):  # columns are the function's business
            reset_fitted(self, "n_features_in_")
        self.shape_fit_ = shape if len(shape) > 1 else (_num_samples(X),)
        self.fit_status_ = int(not self.certificate_.converged)  # type: ignore[attr-defined]
        precomputed = self._given_kernel().precomputed
        self._gamma = 0.0 if precomputed else self._gamma_for(X, weights)
        if precomputed:  # the support vectors are not known
            self.support_vectors_ = np.empty((0, 0))
        if hasattr(self, "offset_"):
            self.offset_ = -self.intercept_  # type: ignore[attr-defined]
        if self._sparse:
            self.dual_coef_ = sparse.csr_matrix(self.dual_coef_)
        return self

    def _definite_kernel(self, X: Any, weights: np.ndarray | None) -> Kernel:
        return self._kernel_for(X, weights)

    def _most_iterations(self) -> int:
        """LIBSVM takes 0 for a fit without steps."""
        return 0 if self.max_iter == 0 else super()._most_iterations()  # type: ignore[attr-defined,misc]

    def _largest_C(self) -> float:
        return min(float(self.C), HARD_MARGIN)  # type: ignore[attr-defined]

    def _whole(self, X: Any, Y: Any) -> np.ndarray:
        """The matrix of a callable kernel."""
        values = self.kernel(X, Y)
        values = np.asarray(values.toarray() if sparse.issparse(values) else values, np.float64)
        if len(values) != _num_samples(X) or values.ndim != 2:
            raise ValueError(f"The kernel returned shape {values.shape} for {_num_samples(X)} inputs.")
        return values

    def _values(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        if callable(self.kernel):
            X = self._whole(X, self._X_fit)
        elif sparse.issparse(X) and not self._sparse:
            raise ValueError(f"cannot use sparse input in {type(self).__name__!r} trained on dense data")
        return super()._values(doubled_rows(X))  # type: ignore[misc]

    @property
    def coef_(self) -> Any:
        """Weights of the columns, for ``kernel="linear"``; sparse if the training data were."""
        if self.kernel != "linear":
            raise AttributeError("coef_ is only available when using a linear kernel")
        coef = super().coef_  # type: ignore[misc]
        if self._sparse:
            coef = sparse.csr_matrix(coef)
            coef.data.flags.writeable = False
        else:
            coef.flags.writeable = False
        return coef


class Classifier(Libsvm):
    """What C-SVC and nu-SVC share."""

    probability: Any
    classes_: np.ndarray
    class_weight: Any

    @atomic
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        if self.probability != "deprecated":
            warn_user(
                "The `probability` parameter was deprecated in 1.9 and will be removed in version 1.11. Use "
                f"`CalibratedClassifierCV({type(self).__name__}(), ensemble=False)` instead of "
                f"`{type(self).__name__}(probability=True)`",
                FutureWarning,
            )
        if sample_weight is not None:
            self._check_classes(np.asarray(y), np.asarray(sample_weight))
        super().fit(X, y, sample_weight)
        self.class_weight_, given = np.ones(len(self.classes_)), self.class_weight
        if given is not None:
            self.class_weight_ = compute_class_weight(given, classes=self.classes_, y=np.asarray(y).ravel())
        return self

    def _has_probability(self) -> bool:
        return self.probability is True or (self.probability != "deprecated" and bool(self.probability))

    def _by_class(self, values: np.ndarray) -> np.ndarray:
        """A value of exactly 0 counts for the first class of a pair; in `predict` for the second, as in LIBSVM."""
        return super()._by_class(np.where(values == 0.0, np.finfo(np.float64).tiny, values))  # type: ignore[misc]

    def _class_weighted(self, codes: np.ndarray, weights: np.ndarray, given: np.ndarray | None) -> np.ndarray:
        """As in scikit-learn, "balanced" uses the number of samples, whatever their weights."""
        return super()._class_weighted(codes, weights, None)  # type: ignore[misc]

    def _check_classes(self, y: np.ndarray, weights: np.ndarray) -> None:
        """Raise if positive weights leave a single class."""
        if y.shape == weights.shape and len(np.unique(y[weights > 0])) == 1:
            whose = "Invalid input - all samples with positive weights belong to the same class"
            raise ValueError(f"{whose}, so that any specified nu is infeasible, and any C.")

    @property
    def probA_(self) -> np.ndarray:
        """Slopes of 1 / (1 + exp(probA_ f + probB_)), one for each pair of classes."""
        _warn_of_sigmoids("probA_")
        return np.array([-each.slope for each in getattr(self, "_sigmoids", [])])

    @property
    def probB_(self) -> np.ndarray:
        """Offsets of 1 / (1 + exp(probA_ f + probB_)), one for each pair of classes."""
        _warn_of_sigmoids("probB_")
        sign = 1.0 if len(self.classes_) == 2 else -1.0
        return np.array([sign * each.offset for each in getattr(self, "_sigmoids", [])])


class SVC(Classifier, svc.SVC):
    """C-support vector classification.

    Parameters, attributes and defaults are those of ``sklearn.svm.SVC``. `shrinking` and `cache_size` have no effect:
    kernel values are kept while they are needed and memory allows. Probabilities come from leave-one-out scores instead
    of five folds, and `random_state` has no effect. A sample of weight 2 is a repeated sample, for ``gamma="scale"``,
    too, which in scikit-learn is that of the rows without weights; only ``class_weight="balanced"`` counts samples, as
    there. `function_`, `certificate_` and `plan` are also available.
    """

    _parameter_constraints = Constraints()

    def __init__(
        self,
        *,
        C: float = 1.0,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        shrinking: bool = True,
        probability: Any = "deprecated",
        tol: float = 1e-3,
        cache_size: float = 200,
        class_weight: Any = None,
        verbose: bool = False,
        max_iter: int = -1,
        decision_function_shape: str = "ovr",
        break_ties: bool = False,
        random_state: Any = None,
    ):
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.shrinking = shrinking
        self.probability = probability
        self.tol = tol
        self.cache_size = cache_size
        self.class_weight = class_weight
        self.verbose = verbose
        self.max_iter = max_iter
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.random_state = random_state


class NuSVC(Classifier, nu_svc.NuSVC):
    """Nu-support vector classification.

    Parameters, attributes and defaults are those of ``sklearn.svm.NuSVC``. What has no effect for `SVC` has none here.
    `class_weight` works as documented there, although LIBSVM ignores it: factors on C by class, for the C of the `SVC`
    that is the same machine without them. Where classes are too unequal for nu, which is an error there, the largest
    feasible nu is used, with a warning that says it.
    """

    _parameter_constraints = Constraints()
    _weighs_classes = True

    def __init__(
        self,
        *,
        nu: float = 0.5,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        shrinking: bool = True,
        probability: Any = "deprecated",
        tol: float = 1e-3,
        cache_size: float = 200,
        class_weight: Any = None,
        verbose: bool = False,
        max_iter: int = -1,
        decision_function_shape: str = "ovr",
        break_ties: bool = False,
        random_state: Any = None,
    ):
        self.nu = nu
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.shrinking = shrinking
        self.probability = probability
        self.tol = tol
        self.cache_size = cache_size
        self.class_weight = class_weight
        self.verbose = verbose
        self.max_iter = max_iter
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.random_state = random_state

    def _class_weighted(self, codes: np.ndarray, weights: np.ndarray, given: np.ndarray | None) -> np.ndarray:
        """Sample weights and, in a second column, their products with class weights, if there are any."""
        both = super()._class_weighted(codes, weights, given)
        return weights if self.class_weight is None else np.stack([weights, both], axis=1)

    def _problem(self, K: Operator, positive: np.ndarray, weights: np.ndarray) -> BoxProblem:
        if weights.ndim == 1:
            return super()._problem(K, positive, weights)
        problem = super()._problem(K, positive, weights[:, 0])
        budget = replace(self._limited(self._budget(), problem.n), progress=Progress(-1, self.tol, lambda: False))
        found = smo.solve(problem, budget, "C of nu", super()._start(problem))
        return hinge_dual(K, positive, upper_bounds(1.0 / self._margin(found), weights[:, 1]))

    def _start(self, problem: BoxProblem) -> np.ndarray | None:
        return super()._start(problem) if self.class_weight is None else None

    def _scaled(self, result: Result) -> tuple[np.ndarray, float]:
        return super()._scaled(result) if self.class_weight is None else (result.coef, result.intercept[0])


class SVR(Libsvm, svr.SVR):
    """Epsilon-support vector regression.

    Parameters, attributes and defaults are those of ``sklearn.svm.SVR``. What has no effect for `SVC` has none here.
    """

    _parameter_constraints = Constraints()

    def __init__(
        self,
        *,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        tol: float = 1e-3,
        C: float = 1.0,
        epsilon: float = 0.1,
        shrinking: bool = True,
        cache_size: float = 200,
        verbose: bool = False,
        max_iter: int = -1,
    ):
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.tol = tol
        self.C = C
        self.epsilon = epsilon
        self.shrinking = shrinking
        self.cache_size = cache_size
        self.verbose = verbose
        self.max_iter = max_iter


class NuSVR(Libsvm, svr.NuSVR):
    """Nu-support vector regression.

    Parameters, attributes and defaults are those of ``sklearn.svm.NuSVR``. What has no effect for `SVC` has none here.
    """

    _parameter_constraints = Constraints()

    def __init__(
        self,
        *,
        nu: float = 0.5,
        C: float = 1.0,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        shrinking: bool = True,
        tol: float = 1e-3,
        cache_size: float = 200,
        verbose: bool = False,
        max_iter: int = -1,
    ):
        self.nu = nu
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.shrinking = shrinking
        self.tol = tol
        self.cache_size = cache_size
        self.verbose = verbose
        self.max_iter = max_iter


class OneClassSVM(Libsvm, one_class.OneClassSVM):
    """The support of a distribution.

    Parameters, attributes and defaults are those of ``sklearn.svm.OneClassSVM``. What has no effect for `SVC` has none
    here. Points on the boundary, to the accuracy of the fit, are inliers.
    """

    _parameter_constraints = Constraints()

    def __init__(
        self,
        *,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        tol: float = 1e-3,
        nu: float = 0.5,
        shrinking: bool = True,
        cache_size: float = 200,
        verbose: bool = False,
        max_iter: int = -1,
    ):
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.tol = tol
        self.nu = nu
        self.shrinking = shrinking
        self.cache_size = cache_size
        self.verbose = verbose
        self.max_iter = max_iter


def _warn_of_sigmoids(name: str) -> None:
    warn_user(f"Attribute `{name}` was deprecated in version 1.9 and will be removed in 1.11.", FutureWarning)

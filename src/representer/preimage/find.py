"""Pre-images: the input whose representer is nearest to a function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypedDict, Unpack

import numpy as np
from scipy import sparse

from representer.functions import Function
from representer.kernels import checks
from representer.preimage.distance_constraints import distances
from representer.preimage.edits import Neighbours, edits_for
from representer.preimage.fixed_point import fixed_point
from representer.preimage.gradient import gradient
from representer.preimage.learned import learned
from representer.preimage.local_search import Progress, search
from representer.preimage.target import Target

METHODS: dict[str, tuple[Callable | None, set[str]]] = {
    "fixed_point": (fixed_point, {"n_starts", "max_iter", "tol"}),
    "distances": (distances, {"n_neighbours"}),
    "learned": (learned, {"alpha", "memory"}),
    "gradient": (gradient, {"n_starts", "max_iter", "tol"}),
    "search": (search, {"neighbours", "n_starts", "max_iter", "progress"}),
    "nearest": (None, set()),
}
"""The methods by name, and the options that each takes."""


@dataclass(frozen=True)
class Preimage:
    """The inputs found, the distances of their representers from the functions, and the method.

    For a function with one output, one input and scalars; with several outputs, an array or a list of inputs, and
    arrays with one number per output.
    """

    x: Any
    """The input: a row of numbers, a string, a set, ...; with a precomputed kernel, the index of a training input."""
    distance: Any
    """||f - k(x, .)||, ignoring constants."""
    method: str
    nearest: Any
    """Index of the nearest training input."""
    nearest_distance: Any
    """||f - k(x_i, .)|| for that input; `distance` never exceeds it."""


class Options(TypedDict, total=False):
    """The options of all methods; each method takes some of them."""

    n_starts: int | None
    max_iter: int | None
    tol: float | None
    n_neighbours: int | None
    alpha: float | None
    neighbours: Neighbours | None
    progress: Progress | None
    memory: int | None


def preimage(function: Function, method: str = "auto", **options: Unpack[Options]) -> Preimage:
    """x with ||f - k(x, .)|| as small as possible, ||f - k(x, .)||^2 = ||f||^2 - 2 f(x) + k(x, x).

    Most functions are not the representer of any input, so the distance reached is reported as well. It is never larger
    than that of the nearest training input, which is returned where a method finds nothing better.

    ==============  ======================================================  ======================================
    method          finds                                                   for
    ==============  ======================================================  ======================================
    "fixed_point"   the weighted mean that a pre-image must be              RBF, Matern, ...: phi(|x - y|^2)
    "gradient"      a minimum of the distance, by L-BFGS                    kernels with a gradient, also nested
    "distances"     the point at given distances from its neighbours;       phi(|x - y|^2) and phi(<x, y>)
                    no iteration
    "learned"       the prediction of a ridge regression from H to inputs   all kernels on vectors
    "search"        a local optimum under small edits; the best of all      strings, sets, rankings, categories,
                    rankings of up to 8 items, and of few categories        any objects
    "nearest"       the nearest training input                              everything
    ==============  ======================================================  ======================================

    "auto" is "search" when ``neighbours`` is given; else "fixed_point" for a kernel that is a function of the distance;
    else "gradient" if the kernel has one; else "search" for strings, sets, rankings, categories and graphs; else
    "nearest".

    Parameters
    ----------
    function : Function
        With several outputs, which share their inputs, a pre-image is found for each.
    method : str
    n_starts : int, optional
        Number of starting points (for "search": objects): 2 for "fixed_point", 4 for "gradient", 5 for "search".
    max_iter : int, optional
        Iterations: 200 for "fixed_point" and "gradient", 100 rounds for "search".
    tol : float, optional
        Stopping tolerance: the step, in length scales, for "fixed_point" (1e-5); the relative change of the squared
        distance for "gradient" (1e-9).
    n_neighbours : int, optional
        How many training inputs "distances" uses: 100.
    alpha : float, optional
        Strength of the ridge in "learned": 1e-3.
    neighbours : callable, optional
        For "search": a function from one object to a list of objects that differ little from it.
    progress : callable, optional
        For "search": called after each round, or batch of objects where all are tried, with its number, the distance
        reached and the number of objects tried; the search ends when it returns True.
    memory : int, optional
        Bytes that the n x n matrix of "learned" may take; the machine's memory when not given.

    Examples
    --------
    >>> import numpy as np
    >>> from representer import Function, preimage
    >>> from representer.kernels import Linear, Spectrum
    >>> X = np.array([[0.0, 1.0], [2.0, 5.0], [4.0, 0.0]])
    >>> preimage(Function(Linear(), X, np.full(3, 1 / 3))).x  # the mean
    array([2., 2.])
    >>> words = ["banana", "bandana", "cabana"]
    >>> preimage(Function(Spectrum(2), words, np.full(3, 1 / 3))).x
    'banan'
    """
    if not isinstance(function, Function):
        raise TypeError(f"{function!r} is not a Function; pass Function(kernel, X, coef), or a model's function.")
    if method != "auto" and method not in METHODS:
        raise ValueError(f"method is {method!r}; use 'auto' or one of {', '.join(map(repr, METHODS))}.")
    if function.coef.size == 0:
        raise ValueError("This Function has no outputs; give coefficients for at least one.")
    checked, target = _checked(options), Target(function)
    if method == "auto":
        method = choose(target, checked.get("neighbours"))
    return _find(target, method, checked, function)


def _checked(options: Any) -> dict[str, Any]:
    """The options that were given, after each is checked."""
    given = {name: value for name, value in options.items() if value is not None}
    if unknown := sorted(given.keys() - Options.__annotations__.keys()):
        raise TypeError(
            f"preimage() has no option {unknown[0]!r}; its options are {', '.join(Options.__annotations__)}."
        )
    for name, value in given.items():
        if name in ("tol", "alpha"):
            checks.positive(value, name)
        elif name not in ("neighbours", "progress"):
            checks.integer(value, name, least=2 if name == "n_neighbours" else 1)
        elif not callable(value):
            what = "from one object to a list of similar ones" if name == "neighbours" else "of three numbers"
            raise TypeError(f"{name} is {value!r}; pass a function {what}.")
    return given


def choose(target: Target, neighbours: Neighbours | None) -> str:
    """The method that "auto" stands for."""
    if neighbours is not None:
        return "search"
    if target.radial:
        return "fixed_point"
    if target.has_gradient:
        return "gradient"
    if not target.precomputed and (target.candidates or edits_for(target.X)):
        return "search"
    return "nearest"


def _find(target: Target, method: str, options: dict[str, Any], function: Function) -> Preimage:
    find, takes = METHODS[method]
    if unused := sorted(options.keys() - takes):
        raise ValueError(f"method {method!r} takes no {unused[0]}; leave it out, or use a method that does.")
    if find is not None:
        _check_inputs(target, method)
    index = target.nearest()[:, 0]
    every = np.arange(len(target))
    nearest = np.maximum(target.squares - 2.0 * target.values[index, every] + target.diagonal[index], 0.0)
    x, squares = _take(target, index), nearest
    if find is not None:
        found = find(target, **options)
        if isinstance(found, np.ndarray) and x.dtype.kind == "f":  # a pre-image of integer inputs need not be integral
            found = found.astype(x.dtype)
        squares = target.squared_distances(found, every)
        x = _better(x, found, squares < nearest)
        squares = np.minimum(squares, nearest)
    distance, nearest = np.sqrt(squares), np.sqrt(nearest)
    if function.coef.ndim == 1:
        x = x if hasattr(x, "columns") else x[0]  # a row of a data frame stays a data frame
        return Preimage(x, float(distance[0]), method, int(index[0]), float(nearest[0]))
    return Preimage(x, distance, method, index, nearest)


def _check_inputs(target: Target, method: str) -> None:
    if target.precomputed:
        raise ValueError(
            f"A precomputed kernel knows no inputs but the training inputs, so method {method!r} cannot make new ones; "
            "use method='nearest', which gives an index."
        )
    if method != "search" and not target.on_rows:
        raise TypeError(
            f"method {method!r} is for rows of numbers, but the inputs are a {type(target.X).__name__} of others; "
            "use method='search' or method='nearest'."
        )


def _take(target: Target, index: np.ndarray) -> Any:
    """The training inputs at some indices; the indices themselves if the inputs are not known."""
    if target.precomputed:
        return index
    if sparse.issparse(target.X):
        return target.X[index].toarray()
    if hasattr(target.X, "iloc"):
        return target.X.iloc[index]
    return [target.X[i] for i in index] if isinstance(target.X, list) else target.X[index]


def _better(x: Any, found: Any, where: np.ndarray) -> Any:
    """What was found where it is better, and the training inputs elsewhere."""
    if hasattr(x, "columns"):
        values = np.where(where[:, None], np.stack(found), x.to_numpy())
        return type(x)(dict(zip(x.columns, values.T, strict=True)))
    if isinstance(found, np.ndarray):
        return np.where(where[:, None], found, x)
    return [new if better else old for old, new, better in zip(x, found, where, strict=True)]

"""What a certificate claims, held against the same problem from a textbook.

Every bound is an inequality that holds in exact arithmetic, with the rounding of `textbook_values.Value` as its only
allowance: (n + 16) / 2^53 times the sum of the absolute values of all that is added, through sum_j |k(x_i, x_j) c_j|.
"""

import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from certificate_cases import process
from sklearn.exceptions import ConvergenceWarning

from representer import GaussianProcessRegressor

SUMS = 1e-12
"""How far sums of dual coefficients may be off, relative to the sum of their absolute values."""
BOXES = 1e-12
"""How far dual coefficients may be outside their boxes, relative to the size of these."""
RADIUS = 1e-9
"""How far ||f|| may be above the radius of a ball, relative to it."""

LAWS = {
    "raises": "a valid problem raises no error",
    "finite": "coefficients, intercepts and claims are finite",
    "primal": "primal = objective of the returned coefficients, computed anew",
    "dual value": "dual = dual objective of the returned coefficients, computed anew, less the primal's rounding",
    "dual": "dual <= objective of any point",
    "negative": "gap >= 0",
    "gap": "gap >= objective of the returned point - objective of any point",
    "residual": "residual = gap / (sum_i w_i |l_i| + R(||f||)), or the floor that is documented",
    "violation": "residual >= violation of the optimality conditions, computed anew",
    "converged": "converged only with residual <= tolerance = tol, and gap <= tol * objective or the floor",
    "truth": "converged only with objective - objective of any point <= tol * objective or the floor",
    "warning": "a ConvergenceWarning exactly where not converged",
    "ball": f"||f|| <= radius (1 + {RADIUS})",
    "box": f"dual coefficients within their boxes, to {BOXES} of their size",
    "sum": f"sums of dual coefficients as they should be, to {SUMS} of the sum of absolute values",
    "error": "error_bound >= ||f - f*||, as its square is 2 / strength times a gap that rounds as objectives do",
    "local": "without convexity there is no dual, and no error_bound",
    "z": "|log likelihood - exact| <= 3 standard errors in all but 1 % of fits",
}


@dataclass
class Verdict:
    """Of one fit: its kind, whether it says that it converged, whether the reference is as good, and broken laws."""

    kind: str
    converged: bool = False
    tight: bool = False
    broken: dict[str, str] = field(default_factory=dict)
    details: dict[str, Any] = field(default_factory=dict)

    def hold(self, law, *, off, allowed, scale=1.0):
        """Note that the law is broken where `off` is above what is allowed."""
        if not off <= allowed:
            self.broken[law] = f"off by {off:.3g}, allowed {allowed:.3g}, objective {scale:.3g}"


def judge(fit):
    """Fit, and hold the certificate against every law."""
    verdict = Verdict(fit.kind)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        try:
            fit.run()
        except Exception as error:
            verdict.broken["raises"] = f"{type(error).__name__}: {error}"
            return verdict
    certificate = fit.model.certificate_
    verdict.converged = bool(certificate.converged)
    verdict.details["certificate"] = certificate
    warned = any(issubclass(w.category, ConvergenceWarning) for w in seen)
    leaves_no_margin = fit.kind == "NuSVC" and warned  # another reason to warn
    if warned == verdict.converged and not leaves_no_margin:
        verdict.broken["warning"] = f"converged {verdict.converged}, warned {warned}"
    if verdict.converged:
        verdict.hold("converged", off=certificate.residual, allowed=certificate.tolerance)
    if certificate.tolerance != fit.model.tol:
        verdict.broken["converged"] = f"tolerance {certificate.tolerance}, tol {fit.model.tol}"
    (judge_machine if fit.solution is None else judge_dual)(fit, certificate, verdict)
    return verdict


def judge_machine(fit, certificate, verdict):
    """The laws of any loss with any regulariser."""
    problem, model = fit.problem, fit.model
    coef, b = np.reshape(model.dual_coef_, (len(problem.y), -1)), np.atleast_1d(model.intercept_)
    if not (np.all(np.isfinite(coef)) and np.all(np.isfinite(b)) and np.isfinite(certificate.primal)):
        verdict.broken["finite"] = f"converged {verdict.converged}"
        return
    here = problem.objective(coef, b)
    verdict.hold("primal", off=abs(certificate.primal - here.value), allowed=here.rounding, scale=here.scale)
    if np.isfinite(problem.penalty.largest):
        verdict.hold("ball", off=problem.excess_norm(coef), allowed=RADIUS)
    if not problem.penalty.convex:
        if certificate.dual is not None or np.isfinite(certificate.error_bound):
            verdict.broken["local"] = f"dual {certificate.dual}, error_bound {certificate.error_bound}"
        return
    if certificate.gap is None:
        verdict.broken["dual"] = "none, though loss and regulariser are convex"
        return
    reference = problem.solve(getattr(model, "strength_", None))
    verdict.details.update(returned=here, reference=reference)
    judge_gap(certificate, verdict, here, reference.primal)
    scale = documented_scale(problem, here)
    goal = certificate.tolerance * scale
    verdict.tight = reference.gap <= 0.1 * goal + reference.primal.rounding
    if np.isfinite(certificate.gap) or np.isfinite(certificate.residual):
        off = abs(certificate.residual * scale - certificate.gap)
        rounding = max(certificate.residual, 1.0) * here.rounding  # the scale rounds as the objective does
        verdict.hold("residual", off=off, allowed=1e-6 * abs(certificate.gap) + rounding, scale=here.scale)
    if verdict.converged:
        verdict.hold("converged", off=certificate.gap, allowed=goal + here.rounding, scale=here.scale)
        above = here.value - reference.primal.value
        verdict.hold("truth", off=above, allowed=goal + here.rounding + reference.primal.rounding, scale=here.scale)
    if np.isfinite(certificate.error_bound) and problem.penalty.strength is not None:
        blur = 2.0 * (here.rounding + reference.primal.rounding) / problem.penalty.strength
        allowed = np.sqrt(certificate.error_bound**2 + blur) + reference.radius
        verdict.hold("error", off=problem.distance(coef, reference.coef), allowed=allowed)


def documented_scale(problem, here):
    """What docs/losses.md says a gap is relative to: the objective, each of its terms counted as positive.

    That is the objective itself for losses that are never negative; Poisson's l(y, f) = exp(f) - y f may cross zero.
    Where the least objective is zero, as in a ball that holds a function without loss, no point but a perfect one is
    within a share of its own objective, so there is a floor: a part of that of the best constant.
    """
    floor = 1e-6 if np.isfinite(problem.penalty.largest) else 1e-12
    return max(here.scale, floor * problem.constant().scale)


def judge_gap(certificate, verdict, here, other, more=0.0):
    """The laws of a gap, with the objective of the returned point and of another one."""
    verdict.hold("negative", off=-certificate.gap, allowed=0.0, scale=here.scale)
    allowed = here.rounding + other.rounding + more
    off = certificate.dual - min(here.value, other.value)
    verdict.hold("dual", off=off, allowed=allowed, scale=here.scale)
    verdict.hold("gap", off=here.value - other.value - certificate.gap, allowed=allowed, scale=here.scale)


def judge_dual(fit, certificate, verdict):
    """The laws of support vector machines: one box dual, or one for each pair of classes."""
    boxes = list(zip(fit.problem, fit.solution(fit.model), strict=True))
    if not all(np.all(np.isfinite(c)) for _, (c, _) in boxes) or not np.all(np.isfinite(fit.model.intercept_)):
        verdict.broken["finite"] = f"converged {verdict.converged}"
        return
    certified = all(b is not None for _, (_, b) in boxes)
    here = added([box.objective(box.gathered(c), box.best_offsets(c) if b is None else b) for box, (c, b) in boxes])
    dual = added([box.dual(c) for box, (c, _) in boxes])
    found = [box.solve() for box in fit.problem]
    reference = added([r.primal for r in found])
    verdict.details.update(returned=here, dual=dual, reference=reference)
    gap = sum(r.gap for r in found)
    verdict.tight = gap <= 0.1 * max(certificate.gap, 1e-9 * here.scale) + reference.rounding
    # offsets that are not returned are the best ones up to the violation, with which boxes count
    moved = 0.0 if certified else certificate.residual * sum(float(np.sum(b.upper - b.lower)) for b in fit.problem)
    read = 0.0 if certified else 4.0 * SUMS * dual.scale  # their scale may be known from a sum only
    off = abs(certificate.primal - here.value)
    verdict.hold("primal", off=off, allowed=here.rounding + moved + read, scale=here.scale)
    sums = [SUMS * float(np.sum(np.abs(r.b[box.group] * c))) for r, (box, (c, _)) in zip(found, boxes, strict=True)]
    allowed = dual.rounding + read + 2.0 * sum(sums)  # what sums are off by widens the gap
    verdict.hold("dual value", off=certificate.dual - dual.value, allowed=allowed, scale=dual.scale)
    # and so does what the product with K is off by, which moves the primal value
    allowed += here.rounding + moved
    verdict.hold("dual value", off=dual.value - certificate.dual, allowed=allowed, scale=dual.scale)
    judge_gap(certificate, verdict, here, reference, sum(sums))
    outside, off = np.max([box.infeasibility(c) for box, (c, _) in boxes], axis=0)
    verdict.hold("box", off=outside, allowed=BOXES)
    verdict.hold("sum", off=off, allowed=SUMS)
    if fit.kind != "NuSVR":  # of which only sums of two coefficients each are returned
        worst, blur = np.max([box.violation(c) for box, (c, _) in boxes], axis=0)
        verdict.hold("violation", off=worst - certificate.residual, allowed=blur)
    bounds = np.atleast_1d(certificate.error_bound)
    for bound, r, (box, (c, _)) in zip(bounds, found, boxes, strict=True):
        if np.isfinite(bound):
            allowed = np.sqrt(bound**2 + 2.0 * (here.rounding + reference.rounding)) + r.radius
            verdict.hold("error", off=box.distance(box.gathered(c), r.coef), allowed=allowed)


def added(values):
    """The sum of objectives, with all their rounding."""
    return type(values[0])(*(sum(getattr(v, name) for v in values) for name in ("value", "rounding", "scale")))


def judge_process(seed, largest=1500):
    """z of the log likelihood by conjugate gradients against Cholesky; NaN where the error is infinite."""
    kernel, noise, X, y = process(seed, largest)
    common = {"kernel": kernel, "noise": noise, "optimizer": None}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = GaussianProcessRegressor(solver="conjugate_gradient", **common).fit(X, y)
    exact = GaussianProcessRegressor(solver="cholesky", **common).fit(X, y).log_marginal_likelihood_
    error = found.log_marginal_likelihood_error_
    verdict = Verdict("Gaussian process", bool(found.certificate_.converged), tight=True)
    off = found.log_marginal_likelihood_ - exact
    # the exact one is a sum of n squares and logarithms from a factor of K, and rounds as such
    rounding = 1e-10 * (abs(float(y @ found.dual_coef_)) + abs(exact) + len(y))
    z = np.nan if not np.isfinite(error) else 0.0 if abs(off) <= rounding else off / max(error, 1e-300)
    verdict.details.update(z=z, off=off, error=error, n=len(y), kernel=kernel, noise=noise)
    if abs(z) > 3:
        verdict.broken["z"] = f"z = {z:.3g}: {found.log_marginal_likelihood_:.6g} +- {error:.3g}, exact {exact:.6g}"
    return verdict

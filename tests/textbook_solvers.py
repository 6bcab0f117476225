"""Textbook solvers for small problems: Newton's method and an interior-point method, in the eigenvectors of K.

With K = U S U' and A = U sqrt(S) a function is beta with values A beta and norm |beta|, so that small eigenvalues of K
are no small differences of large numbers. Nothing here comes from the library.
"""

import numpy as np
from scipy.linalg import cho_factor, cho_solve, solve_triangular
from scipy.optimize import brentq


def factor(K):
    """A with A A' = K, and its inverse on the range of K, from the eigenvalues above rounding."""
    values, vectors = np.linalg.eigh((K + K.T) / 2)
    kept = values > len(K) * np.finfo(float).eps * max(values[-1], 0.0)
    roots = np.sqrt(values[kept])
    return vectors[:, kept] * roots, vectors[:, kept] / roots


# ---- smooth losses: sum_i w_i l(y_i, (A beta)_i + b) + (strength / 2) |beta|^2 ----


def newton(A, y, w, loss, strength, intercept, start):
    """Damped Newton steps from start = (beta, b) to where no step falls."""
    B = np.column_stack([A, np.ones(len(A))]) if intercept else A
    ridge = np.append(np.full(A.shape[1], strength), [0.0] * intercept)

    def value(theta):
        with np.errstate(over="ignore"):
            return float(w @ np.abs(loss.value(y, B @ theta)) + ridge @ theta**2 / 2)

    def gradient(theta):
        with np.errstate(over="ignore", invalid="ignore"):
            return B.T @ (w * loss.derivatives(y, B @ theta)[0]) + ridge * theta

    def root(theta):
        with np.errstate(over="ignore"):
            return np.sqrt(np.minimum(w * loss.derivatives(y, B @ theta)[1], 1e300))[:, None] * B

    return descend(start, ridge, value, gradient, root)


def newton_multinomial(A, y, w, loss, strength, intercept, start):
    """The same for several outputs that depend on each other; start has a column for each."""
    B = np.column_stack([A, np.ones(len(A))]) if intercept else A
    k = start.shape[1]
    ridge = np.repeat(np.append(np.full(A.shape[1], strength), [0.0] * intercept), k)

    def value(theta):
        return float(w @ loss.value(y, B @ theta.reshape(-1, k)) + ridge @ theta**2 / 2)

    def gradient(theta):
        return (B.T @ (w[:, None] * loss.slope(y, B @ theta.reshape(-1, k)))).ravel() + ridge * theta

    def root(theta):
        p = np.sqrt(loss.probabilities(B @ theta.reshape(-1, k)))
        half = p[:, None, :] * (np.eye(k) - p[:, :, None] * p[:, None, :])  # half' half = diag(p^2) - p^2 p^2'
        J = np.sqrt(w)[:, None, None, None] * half[:, :, None, :] * B[:, None, :, None]
        return J.reshape(len(B) * k, -1)

    return descend(start.ravel(), ridge, value, gradient, root).reshape(-1, k)


def descend(theta, ridge, value, gradient, root):
    """Newton steps for a convex objective with the Hessian J'J + diag(ridge): by Cholesky, and at the end by QR."""
    for solve, most in ((by_cholesky, 100), (by_qr, 10)):
        last = np.inf
        for _ in range(most):
            slopes = gradient(theta)
            direction = solve(root(theta), ridge, -slopes)
            fall = -float(slopes @ direction)
            if not fall > 1e-18 * value(theta) or not np.all(np.isfinite(theta + direction)):
                break
            size = length_of_step(theta, direction, fall, gradient)
            theta = theta + size * direction
            if size == 1.0 and 0.5 * last < fall < 1e-8 * value(theta):
                break  # rounding
            last = fall
    return theta


def length_of_step(theta, direction, fall, gradient):
    """1, or where the slope along the direction, which never falls, changes its sign; 0 where it goes up."""

    def slope(size):
        value = float(gradient(theta + size * direction) @ direction)
        return min(value, 1e300) if np.isfinite(value) else 1e300

    if slope(1.0) <= 0.1 * abs(fall):
        return 1.0
    return brentq(slope, 0.0, 1.0, xtol=1e-30, rtol=1e-3, maxiter=200) if slope(0.0) < 0 else 0.0


def unscaled(J, ridge):
    """Roots of ridges, a hair above zero for intercepts, as otherwise flat losses have no Newton step."""
    sizes = np.sqrt(np.einsum("ij,ij->j", J, J) + ridge)
    return np.sqrt(ridge + np.where(ridge == 0.0, 1e-14 * sizes.max() ** 2 + 1e-300, 0.0))


def by_cholesky(J, ridge, right):
    """(J'J + diag(ridge))^(-1) right, scaled to a unit diagonal; by QR where rounding leaves no factor."""
    H = J.T @ J + np.diag(unscaled(J, ridge) ** 2)
    scale = 1.0 / np.sqrt(H.diagonal())
    try:
        return scale * cho_solve(cho_factor(scale[:, None] * H * scale), scale * right)
    except np.linalg.LinAlgError:
        return by_qr(J, ridge, right)


def by_qr(J, ridge, right):
    """The same from the triangular factor of [J; sqrt(ridge)], with the root of the condition number."""
    R = np.linalg.qr(np.vstack([J, np.diag(unscaled(J, ridge))]), mode="r")
    return solve_triangular(R, solve_triangular(R, right, trans="T"))


# ---- piecewise linear losses: 1/2 x'A A'x + g'x, 0 <= x <= U, G x = h ----


def interior_point(A, g, U, G, h, most=100):
    """Mehrotra's predictor and corrector steps; x with the least complementarity."""
    q, tau = max(float(np.max(np.einsum("ij,ij->i", A, A))), 1e-300), float(np.max(np.abs(g)))
    unit = min(max(tau / q, float(np.max(np.abs(h), initial=0.0)) / len(g)), float(U.max()))
    size = max(tau * unit, q * unit**2)
    A, g, U, h = A * (unit / np.sqrt(size)), g * (unit / size), U / unit, h / unit
    x = np.minimum(U / 2, 1.0)
    s, low, high, dual = U - x, np.ones_like(x), np.ones_like(x), np.zeros(len(G))
    best, least, first, idle = x, np.inf, None, 0
    for _ in range(most):
        rest = A @ (A.T @ x) + g - G.T @ dual - low + high, h - G @ x
        mu = float(x @ low + s @ high) / (2 * len(x))
        merit = mu * len(x) + float(np.abs(rest[0]) @ x) + float(np.abs(rest[1]).sum())
        first = merit if first is None else first
        idle = 0 if merit < 0.5 * least else idle + 1
        if merit < least:
            best, least = x, merit
        if not np.isfinite(merit) or mu < 1e-25 or (idle > 8 and least < 1e-9 * first):
            break
        solve = newton_system(A, G, low / x + high / s)
        if solve is None:
            break
        moves = central_step(solve, rest, x, s, low, high, 0.0 * x, 0.0 * s)
        size = longest(x, s, low, high, moves)
        after = (x + size * moves[0]) @ (low + size * moves[2]) + (s - size * moves[0]) @ (high + size * moves[3])
        sigma = (max(float(after), 0.0) / (2 * len(x)) / mu) ** 3
        corrected = sigma * mu - moves[0] * moves[2], sigma * mu + moves[0] * moves[3]
        moves = central_step(solve, rest, x, s, low, high, *corrected)
        size = min(1.0, 0.995 * longest(x, s, low, high, moves))
        x, s = x + size * moves[0], s - size * moves[0]
        low, high, dual = low + size * moves[2], high + size * moves[3], dual + size * moves[1]
        if not size > 1e-10:
            break
    return unit * np.clip(best, 0.0, U)


def newton_system(A, G, D):
    """Solves [A A' + D, -G'; G, 0] (dx, dual) = (r, s); None where rounding leaves no factor."""
    H = A @ A.T
    H.ravel()[:: len(H) + 1] += D
    scale = 1.0 / np.sqrt(H.diagonal())
    try:
        found = cho_factor(scale[:, None] * H * scale, check_finite=False)
    except (np.linalg.LinAlgError, ValueError):
        return None

    def inverse(right):
        return (scale * cho_solve(found, (scale * right.T).T, check_finite=False).T).T

    GM = inverse(G.T) if len(G) else np.zeros((len(A), 0))
    inner = np.linalg.pinv(G @ GM) if len(G) else np.zeros((0, 0))

    def solve(right, sums):
        first = inverse(right)
        dual = inner @ (sums - G @ first)
        return first + GM @ dual, dual

    return solve


def central_step(solve, rest, x, s, low, high, lower, upper):
    """(dx, d dual, d low, d high) towards x low = lower and s high = upper."""
    right = -rest[0] + lower / x - low - upper / s + high
    dx, dual = solve(right, rest[1])
    return dx, dual, lower / x - low - low / x * dx, upper / s - high + high / s * dx


def longest(x, s, low, high, moves):
    """The largest step, at most 1, that keeps all positive."""
    values = np.concatenate([x, s, low, high])
    changes = np.concatenate([moves[0], -moves[0], moves[2], moves[3]])
    falling = changes < 0
    return float(min(1.0, np.min(-values[falling] / changes[falling], initial=1.0)))

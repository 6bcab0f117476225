"""Any loss with any regulariser on a given K, and its solution by Newton's method or boxes."""

from functools import cache

import numpy as np
from scipy.optimize import brentq
from textbook_box import Box
from textbook_losses import Multinomial
from textbook_solvers import newton, newton_multinomial
from textbook_values import OnGram, Reference, Value


class Machine(OnGram):
    """minimise over f and b:  sum_i w_i l(y_i, f(x_i) + b) + R(||f||), with a loss for each output or `Multinomial`."""

    def __init__(self, K, y, w, loss, penalty, intercept):
        super().__init__(K)
        self.y, self.w, self.loss, self.penalty, self.intercept = y, w, loss, penalty, intercept
        self.joint = isinstance(loss, Multinomial)
        self.outputs = int(y.max()) + 1 if self.joint else len(loss)

    def losses(self, F):
        """l(y_i, F_i) for each input, and output if they have losses of their own."""
        if self.joint:
            return self.loss.value(self.y, F)[:, None]
        return np.stack([loss.value(self.y, F[:, j]) for j, loss in enumerate(self.loss)], axis=1)

    def _spread(self, F, error):
        if self.joint:
            return self.loss.spread(self.y, F, error)[:, None]
        return np.stack([loss.spread(self.y, F[:, j], error[:, j]) for j, loss in enumerate(self.loss)], axis=1)

    def objective(self, coef, b):
        """The objective of f = sum_i coef_i k(x_i, .) and b."""
        F, lost = self.values(coef)
        w, F, lost = self.w[:, None], F + b, lost + self.gamma * np.abs(b)
        used = self.w > 0  # losses of the others may be infinite
        terms = w[used] * self.losses(F)[used]
        square, blur = self.square(coef)
        R = [float(self.penalty.value(np.sqrt(max(s, 0.0)))) for s in (square - blur, square, square + blur)]
        scale = float(np.sum(np.abs(terms))) + abs(R[1])
        rounding = float(np.sum(w[used] * self._spread(F, lost)[used])) + R[2] - R[0] + self.gamma * scale
        rounding = np.inf if np.isnan(rounding) else rounding  # of an infinite objective, which convicts nothing
        return Value(float(np.sum(terms)) + R[1], rounding, scale)

    def excess_norm(self, coef):
        """By how much ||f|| is surely above the largest norm, relative to it."""
        square, blur = self.square(coef)
        return np.sqrt(max(square - blur, 0.0)) / self.penalty.largest - 1.0

    # ---- reference ----

    def solve(self, hint=None):
        """The reference; a strength near the effective one may be given to save time."""
        w = self.w.sum() / len(self.w)
        typical = max(w * float(np.mean(self.K.diagonal())), 1e-300)
        flat = self._flat()
        if self.penalty.strength is not None:
            points = [self._at(self.penalty.strength, flat)]
        else:
            points = self._along(hint if hint and np.isfinite(hint) else 0.01 * typical, typical, flat)
        found = [self._written(point) for point in sorted(points, key=self._rough)[:2]]
        found.append((np.zeros((len(self.y), self.outputs)), flat[-1], self.constant()))
        coef, b, primal = min(found, key=lambda point: point[2].value + point[2].rounding)
        if self.penalty.strength is None:
            return Reference(coef, b, primal, primal.value - max(self._dual(self._slopes(point)) for point in points))
        gap, radius = self._squared_norm_bounds(points[0])
        return Reference(coef, b, primal, gap, radius)

    def constant(self):
        """The objective of f = 0 with the best b."""
        return self.objective(np.zeros((len(self.y), self.outputs)), self._flat()[-1])

    def _flat(self):
        """(0, b) with the best b, below the rows of beta."""
        theta = np.zeros((self.roots[0].shape[1] + 1, self.outputs))
        if self.intercept and self.loss_is_smooth:
            if not self.joint:
                order = np.argsort(self.y)  # from the median, as where all losses are straight there is no Newton step
                theta[-1] = self.y[order][np.searchsorted(np.cumsum(self.w[order]), self.w.sum() / 2)]
            theta[-1:] = self._smooth(np.zeros((len(self.y), 0)), theta[-1:], 0.0)
        elif self.intercept:
            theta[-1] = self._offsets(theta[:0])
        return theta

    @property
    def loss_is_smooth(self):
        return self.joint or self.loss[0].box(self.y) is None

    def _smooth(self, A, theta, strength):
        theta = theta if self.intercept else theta[:-1]
        if self.joint:
            found = newton_multinomial(A, self.y, self.w, self.loss, strength, self.intercept, theta)
        else:
            parts = zip(self.loss, theta.T, strict=True)
            columns = [newton(A, self.y, self.w, loss, strength, self.intercept, start) for loss, start in parts]
            found = np.stack(columns, axis=1)
        return found if self.intercept else np.vstack([found, np.zeros((1, self.outputs))])

    def _offsets(self, beta):
        """The best b for f = A beta and each piecewise linear loss."""
        if not self.intercept:
            return np.zeros(self.outputs)
        F = self.roots[0] @ beta if len(beta) else np.zeros((len(self.y), self.outputs))
        return np.array([self._box(j, 1.0).offsets(F[:, j])[0] for j in range(self.outputs)])

    def _box(self, j, strength):
        lower, upper, epsilon = self.loss[j].box(self.y)
        size = self.w / strength
        box = Box(self.K, self.y, -upper * size, -lower * size, epsilon, sums=[0.0] if self.intercept else [])
        box.roots = self.roots
        return box

    def _at(self, strength, start):
        """(strength, coefficients, beta over b) of the solution with the squared norm."""
        A, inverse = self.roots
        if self.loss_is_smooth:
            theta = self._smooth(A, start, strength)
            return strength, inverse @ theta[:-1], theta
        coef = np.stack([self._box(j, strength).solve().coef[:, 0] for j in range(self.outputs)], axis=1)
        beta = A.T @ coef
        return strength, coef, np.vstack([beta, self._offsets(beta)])

    def _along(self, first, typical, start):
        """Solutions at the strength where strength t = R'(t), t = ||f||, or |f| is the radius: a monotone equation."""
        visited = []

        @cache  # the ends of a bracket keep their signs
        def excess(x):
            nonlocal start
            found = self._at(np.exp(x), start)
            visited.append(found)
            start = found[2]
            t = float(np.linalg.norm(start[:-1]))
            if np.isfinite(self.penalty.largest):
                return float(np.log(self.penalty.largest / max(t, 1e-300)))
            return x + float(np.log(max(t, 1e-300)) - np.log(max(self.penalty.slope(t), 1e-300)))

        low = high = np.log(first)
        here, ends = excess(low), np.log(typical) + np.array([-37.0, 37.0])
        step, other = (-0.1 if here > 0 else 0.1), here
        while other * here > 0 and ends[0] < low and high < ends[1]:
            low, high = (low + step, low) if step < 0 else (high, high + step)
            other, step = excess(low if step < 0 else high), 3.0 * step
        if other * here < 0:
            brentq(excess, low, high, xtol=1e-11, rtol=1e-14, maxiter=25, disp=False)
        return visited

    def _rough(self, point):
        """The objective in eigenvectors, within the ball if there is one."""
        theta = point[2]
        t = float(np.linalg.norm(theta[:-1]))
        F = self._shrink(t) * (self.roots[0] @ theta[:-1]) + theta[-1]
        t = self._shrink(t) * t
        return float(np.sum(self.w[:, None] * self.losses(F))) + self.penalty.value(t)

    def _shrink(self, t):
        return min(1.0, self.penalty.largest / max(t, 1e-300))

    def _written(self, point):
        """The better one of two ways to write the solution by coefficients, within the ball, with b and objective."""
        strength, coef, theta = point
        v = self._slopes(point)
        points = [coef, -self.w[:, None] * v / strength]
        points = [c * self._shrink(np.sqrt(sum(self.square(c)))) for c in points if np.all(np.isfinite(c))]
        b = theta[-1] if self.loss_is_smooth else self._offsets(self.roots[0].T @ points[0])
        values = [self.objective(c, b) for c in points]
        best = int(np.argmin([value.value + value.rounding for value in values]))
        return points[best], b, values[best]

    def _slopes(self, point, balance=True):
        """Slopes of the losses at the solution, moved to sum_i w_i v_i = 0 with an intercept."""
        strength, coef, theta = point
        balance = balance and self.intercept
        F = self.roots[0] @ theta[:-1] + theta[-1]
        if self.joint:
            v = self.loss.slope(self.y, F)
            return self._mixed(v) if balance else v
        if self.loss_is_smooth:
            v = np.stack([loss.derivatives(self.y, F[:, j])[0] for j, loss in enumerate(self.loss)], axis=1)
        else:
            v = np.divide(-strength * coef, self.w[:, None], out=np.zeros_like(coef), where=self.w[:, None] > 0)
            ends = [loss.box(self.y)[:2] for loss in self.loss]
            v = np.stack([np.clip(v[:, j], *end) for j, end in enumerate(ends)], axis=1)
        return self._balanced(v) if balance else v

    def _balanced(self, v):
        """The side of the greater sum made smaller: 0 is in the domain of every conjugate here, so that all stay in."""
        w = self.w[:, None]
        up, down = np.sum(w * np.maximum(v, 0.0), axis=0), np.sum(w * np.maximum(-v, 0.0), axis=0)
        less = np.minimum(up, down)
        factors = [np.divide(less, side, out=np.ones_like(side), where=side > 0) for side in (up, down)]
        return np.where(v > 0, factors[0] * v, factors[1] * v)

    def _mixed(self, v):
        """Probabilities shifted to the right sums, and mixed with the frequencies until none is negative."""
        ones, share = self.loss.indicator(self.y, v), self.w[:, None] / self.w.sum()
        often = (share * ones).sum(axis=0)
        p = v + ones
        p = p + often - (share * p).sum(axis=0)
        short = np.maximum(-p, 0.0)
        mix = float(np.max(short / (often + short)))
        return (1.0 - mix) * p + mix * often - ones

    def _dual(self, v):
        """-sum_i w_i l*(y_i, v_i) - R*(||sum_i w_i v_i k(x_i, .)||), v shrunk to where that is finite."""
        s = float(np.linalg.norm(self.roots[0].T @ (self.w[:, None] * v)))
        shrink = min(1.0, self.penalty.largest_slope / s) if s > 0 else 1.0
        v, used = shrink * v, self.w > 0
        if self.joint:
            conjugates = self.loss.conjugate(self.y, v)[:, None]
        else:
            conjugates = np.stack([loss.conjugate(self.y, v[:, j]) for j, loss in enumerate(self.loss)], axis=1)
        value = -float(np.sum((self.w[:, None] * conjugates)[used])) - self.penalty.conjugate(shrink * s)
        return value if np.isfinite(value) else -np.inf

    def _squared_norm_bounds(self, point):
        """Duality gap and a bound on ||f - f*||: |gradient|^2 / (2 strength), |gradient| / strength where l is smooth.

        The bound is doubled, as coefficients may stand for f or for the point of their gradient; the slope in b is
        zero up to rounding, and counts by the largest value of a function of norm one.
        """
        strength, coef, theta = point
        if not self.loss_is_smooth:
            gaps = [self._box(j, strength).gap(coef[:, j]) for j in range(self.outputs)]
            return strength * sum(gaps), 2.0 * np.sqrt(2.0 * sum(gaps))
        A, wv = self.roots[0], self.w[:, None] * self._slopes(point, balance=False)
        gradient = np.linalg.norm(strength * theta[:-1] + A.T @ wv)
        gradient += self.gamma * np.linalg.norm(np.abs(A).T @ np.abs(wv))
        if self.intercept:
            gradient += np.linalg.norm(wv.sum(axis=0)) * np.sqrt(self.K.diagonal().max())
        return float(gradient) ** 2 / (2.0 * strength), 2.0 * float(gradient) / strength

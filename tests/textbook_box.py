"""Duals of piecewise linear losses: quadratic programs in a box, and their solution by an interior-point method."""

import numpy as np
from textbook_solvers import interior_point
from textbook_values import OnGram, Reference, Value


class Box(OnGram):
    """minimise over c:  1/2 c'Kc - t'c + epsilon |c|_1,  lower <= c <= upper,  the sum of c over each group fixed.

    Its dual is to minimise 1/2 ||f||^2 + sum_i support_i(t_i - f(x_i) - b_s(i)) + sum_s b_s (sum of group s) over f and
    the b_s, support_i(r) = max over c in its box of c r - epsilon |c|. Several rows may share an input.
    """

    def __init__(self, K, t, lower, upper, epsilon=0.0, sums=(0.0,), group=None, rows=None):
        super().__init__(K)
        self.t, self.lower, self.upper, self.epsilon, self.sums = t, lower, upper, epsilon, np.asarray(sums)
        self.group = np.zeros(len(t), int) if group is None else group
        self.rows = np.arange(len(t)) if rows is None else rows

    def gathered(self, c):
        """Coefficients of the inputs, as a column."""
        return np.bincount(self.rows, c, minlength=len(self.K))[:, None]

    def objective(self, coef, b):
        """The primal value of f = sum_i coef_i k(x_i, .) and a b for each group."""
        F, lost = self.values(coef)
        b = np.asarray(b, float)
        own = b[self.group] if len(b) else np.zeros(len(self.t))
        r = self.t - F[self.rows, 0] - own
        error = lost[self.rows, 0] + self.gamma * (np.abs(own) + np.abs(self.t))
        terms = self._support(r)
        spread = np.maximum(np.abs(self._support(r + error) - terms), np.abs(self._support(r - error) - terms))
        square, blur = self.square(coef)
        linear = b * self.sums if len(b) else np.zeros(1)
        scale = 0.5 * square + float(np.sum(terms)) + float(np.sum(np.abs(linear)))
        value = 0.5 * square + float(np.sum(terms) + np.sum(linear))
        return Value(value, 0.5 * blur + float(np.sum(spread)) + self.gamma * scale, scale)

    def _support(self, r):
        return np.maximum(np.maximum(self.upper * (r - self.epsilon), self.lower * (r + self.epsilon)), 0.0)

    def dual(self, c):
        """t'c - epsilon |c|_1 - 1/2 c'Kc."""
        square, blur = self.square(self.gathered(c))
        linear, kinks = self.t * c, self.epsilon * np.abs(c)
        scale = 0.5 * square + float(np.sum(np.abs(linear)) + np.sum(kinks))
        return Value(float(np.sum(linear) - np.sum(kinks)) - 0.5 * square, 0.5 * blur + self.gamma * scale, scale)

    def infeasibility(self, c):
        """The largest distance to a box relative to its size, and of a sum relative to the sum of |c|."""
        width = np.maximum(self.upper - self.lower, 1e-300)
        outside = float(np.max(np.maximum(c - self.upper, self.lower - c) / width, initial=0.0))
        off = [abs(float(np.sum(c[self.group == s].astype(np.longdouble))) - h) for s, h in enumerate(self.sums)]
        return outside, max(off, default=0.0) / max(float(np.sum(np.abs(c))), 1e-300)

    def violation(self, c):
        """By how much the greatest rate of lowering a coefficient exceeds the least of raising one; its rounding."""
        F, lost = self.values(self.gathered(c))
        g = np.asarray(F[self.rows, 0], float) - self.t
        near = 1e-12 * (self.upper - self.lower)
        rise = np.where(c < self.upper - near, g + np.where(c >= -near, self.epsilon, -self.epsilon), np.inf)
        fall = np.where(c > self.lower + near, g + np.where(c > near, self.epsilon, -self.epsilon), -np.inf)
        groups = [self.group == s for s in range(len(self.sums))]
        worst = max(float(np.max(fall[own]) - np.min(rise[own])) for own in groups)
        return max(worst, 0.0), 2.0 * float(np.max(lost)) + self.gamma * float(np.max(np.abs(self.t)))

    def offsets(self, F):
        """The best b of each group for values F: where the slope of a piecewise linear function crosses zero."""
        return np.array([self._offset(F[self.rows], self.group == s, h) for s, h in enumerate(self.sums)])

    def best_offsets(self, c):
        """Those for f = sum_i c_i k(x_i, .)."""
        return self.offsets(np.asarray(self.values(self.gathered(c))[0][:, 0], float))

    def _offset(self, F, own, h):
        # d/db = h - sum_i c_i(b), c_i = upper where b < t - F - epsilon and lower where b > t - F + epsilon
        r, lower, upper = (self.t - F)[own], self.lower[own], self.upper[own]
        kinks = np.concatenate([r - self.epsilon, r + self.epsilon])
        order = np.argsort(kinks, kind="stable")
        slopes = h - upper.sum() + np.cumsum(np.concatenate([upper, -lower])[order])
        at = int(np.argmax(slopes >= 0)) if np.any(slopes >= 0) else len(order) - 1
        return kinks[order[at]]

    def solve(self):
        """The reference by an interior-point method, refined on the coefficients within their boxes."""
        c = self._interior()
        best = None
        for candidate in [c, *self._refined(c)]:
            coef = self.gathered(candidate)
            b = self.best_offsets(candidate)
            primal, gap = self.objective(coef, b), self.gap(candidate)
            found = Reference(coef, b, primal, gap, 2.0 * np.sqrt(2.0 * gap))
            if best is None or primal.value + primal.rounding < best.primal.value + best.primal.rounding:
                best = found
        return best

    def gap(self, c):
        """Primal less dual value of c moved into its box, in eigenvectors, from terms of which none is negative."""
        c = self.feasible(c)
        A = self.roots[0]
        F = A @ (A.T @ self.gathered(c)[:, 0])
        b = self.offsets(F)
        r = self.t - F[self.rows] - (b[self.group] if len(b) else 0.0)
        outer = np.where(r > 0, self.upper - c, c - self.lower) * np.maximum(np.abs(r) - self.epsilon, 0.0)
        inner = self.epsilon * np.abs(c) - c * np.clip(r, -self.epsilon, self.epsilon)
        return float(np.sum(outer + np.maximum(inner, 0.0)))

    def _interior(self):
        A = self.roots[0][self.rows]
        if len(self.sums) and self.sums.sum() == 0.0:
            A = A - A.mean(axis=0)  # the same for all c of sum zero, and without a large common part
        sides = [(1.0, np.flatnonzero(self.upper > 0)), (-1.0, np.flatnonzero(self.lower < 0))]
        sign = np.concatenate([np.full(len(rows), s) for s, rows in sides])
        index = np.concatenate([rows for _, rows in sides])
        most = np.concatenate([np.where(s > 0, self.upper, -self.lower)[rows] for s, rows in sides])
        groups = np.arange(len(self.sums))[:, None]
        G = sign * (self.group[index] == groups)
        x = interior_point(sign[:, None] * A[index], self.epsilon - sign * self.t[index], most, G, self.sums)
        return np.bincount(index, sign * x, minlength=len(self.t))

    def _refined(self, c):
        """Solutions of the linear system of the free coefficients, for some guesses which they are."""
        unit = np.minimum(self.upper - self.lower, np.abs(c).max())
        tried = set()
        for share in (1e-3, 1e-5, 1e-7, 1e-9):
            near = share * unit
            free = (c > self.lower + near) & (c < self.upper - near)
            if self.epsilon > 0:
                free &= np.abs(c) > near
            key = free.tobytes()
            if key in tried or not free.any():
                continue
            tried.add(key)
            yield self._on_face(c, free)

    def _on_face(self, c, free):
        snapped = np.where(c - self.lower < self.upper - c, self.lower, self.upper)
        if self.epsilon > 0:
            snapped = np.where(np.abs(c) < np.minimum(c - self.lower, self.upper - c), 0.0, snapped)
        c = np.where(free, c, snapped)
        rows, k = self.rows[free], len(self.sums)
        G = 1.0 * (self.group == np.arange(k)[:, None])
        top = max(float(np.max(self.K.diagonal())), 1e-300)
        M = np.block([[self.K[np.ix_(rows, rows)] / top, G[:, free].T], [G[:, free], np.zeros((k, k))]])
        for _ in range(3):
            F = np.asarray(self.values(self.gathered(c))[0][:, 0], float)[self.rows]
            own = self.best_offsets(c)[self.group] if k else 0.0
            right = (self.t - F - own - self.epsilon * np.sign(c))[free]
            step = np.linalg.lstsq(M, np.append(right / top, self.sums - G @ c), rcond=1e-14)[0]
            c = c.copy()
            c[free] += step[: free.sum()]
        return c

    def feasible(self, c):
        """c moved into its boxes, and to the right sums by moving all towards one end."""
        c = np.clip(c, self.lower, self.upper)
        for s, h in enumerate(self.sums):
            own = self.group == s
            for _ in range(2):
                short = h - c[own].sum()
                room = (self.upper - c if short > 0 else c - self.lower)[own]
                if room.sum() > 0:
                    c[own] += short * room / room.sum()
        return np.clip(c, self.lower, self.upper)

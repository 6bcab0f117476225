"""The inner loop of randomly pivoted Cholesky with rejection."""

import numpy as np

from representer._loops.jit import loop


@loop
def reject(H, uniforms):
    """Accept pivot j with probability H_jj / (its initial value), eliminating accepted ones from H on the way.

    H, the residual kernel matrix of the proposed pivots, is overwritten; below the diagonal its accepted columns hold
    the Cholesky factor of the accepted pivots. Returns which pivots were accepted.
    """
    n = H.shape[0]
    start = np.empty(n)
    accepted = np.zeros(n, np.bool_)
    for j in range(n):
        start[j] = H[j, j]
    for j in range(n):
        if H[j, j] <= 1e-12 * start[j] or uniforms[j] * start[j] >= H[j, j]:
            continue
        accepted[j] = True
        root = np.sqrt(H[j, j])
        for i in range(j, n):
            H[i, j] /= root
        for k in range(j + 1, n):
            for i in range(k, n):
                H[i, k] -= H[i, j] * H[k, j]
    return accepted

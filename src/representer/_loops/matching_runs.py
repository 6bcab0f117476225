"""Runs of equal letters of two strings at the same positions, or shifted against each other."""

import numpy as np

from representer._loops.jit import loop


@loop
def run_values(A, B, gains, factors, tile):
    """tile_ij <- sum over shifts s of factors_s times the sum over positions of gains[r].

    r is the length of the run of equal letters that ends at the position, at most gains.size - 1; with a shift, each of
    the two strings is shifted in turn.
    """
    most, length = gains.size - 1, A.shape[1]
    for i in range(A.shape[0]):
        for j in range(B.shape[0]):
            total = 0.0
            for shift in range(factors.size):
                value = 0.0
                for turn in range(2 if shift else 1):
                    a, b = (shift, 0) if turn == 0 else (0, shift)
                    run = 0
                    for p in range(length - shift):
                        run = min(run + 1, most) if A[i, p + a] == B[j, p + b] else 0
                        value += gains[run]
                total += factors[shift] * value
            tile[i, j] = total


@loop
def run_counts(A, B, W, factors, counts):
    """counts_r += sum_ij W_ij times the number of positions that end such a run, by factors of the shifts."""
    most, length = counts.size - 1, A.shape[1]
    own = np.empty(counts.size)
    for i in range(A.shape[0]):
        for j in range(B.shape[0]):
            own[:] = 0.0
            for shift in range(factors.size):
                for turn in range(2 if shift else 1):
                    a, b = (shift, 0) if turn == 0 else (0, shift)
                    run = 0
                    for p in range(length - shift):
                        run = min(run + 1, most) if A[i, p + a] == B[j, p + b] else 0
                        own[run] += factors[shift]
            for r in range(counts.size):
                counts[r] += W[i, j] * own[r]

import numpy as np

from representer._loops.alignment import LANES, lanes, lanes_with_slopes


def naive(x, y):
    """Sums over alignments in extended range: a table of logarithms."""
    M = np.full((len(x) + 1, len(y) + 1), -np.inf)
    M[0, 0] = 0.0
    for i, a in enumerate(x):
        for j, b in enumerate(y):
            g = np.exp(-((a - b) ** 2))
            M[i + 1, j + 1] = np.logaddexp.reduce([M[i, j], M[i + 1, j], M[i, j + 1]]) + np.log(g / (2 - g))
    return M[-1, -1]


def interleaved(series, longest):
    values = np.zeros((longest, LANES))
    for k, x in enumerate(series):
        values[: len(x), k] = x
    return values.ravel(), np.array([len(x) for x in series]), longest


def test_lanes_are_pairs_of_their_own_of_any_length():
    rng = np.random.default_rng(0)
    xs = [rng.normal(size=1 + 2 * k) for k in range(LANES)]
    ys = [rng.normal(size=31 - k) for k in range(LANES)]
    x, y, out, again, slopes = interleaved(xs, 31), interleaved(ys, 31), *np.empty((3, LANES))
    lanes(*x, *y, 1, out)
    assert np.allclose(out, [naive(a, b) for a, b in zip(xs, ys, strict=True)], rtol=1e-12)
    lanes_with_slopes(*x, *y, 1, again, slopes)
    assert np.allclose(again, out)
    step = 1e-5
    up, down = ([naive(a / (1 + h), b / (1 + h)) for a, b in zip(xs, ys, strict=True)] for h in (step, -step))
    assert np.allclose(slopes, (np.array(up) - down) / (2 * step), rtol=1e-6, atol=1e-6)


def test_long_series_do_not_overflow():
    x = interleaved([np.zeros(600)] * LANES, 600)
    out = np.empty(LANES)
    lanes(*x, *x, 1, out)
    # the number of alignments of T and T samples is the Delannoy number D(T - 1), which grows as (3 + sqrt 8)^T
    assert 1000 < out[0] < 600 * np.log(3 + np.sqrt(8))
    assert np.ptp(out) == 0.0


def test_series_next_to_much_longer_ones():
    """The padding of the short series exceeds its own numbers by more than the range of floating point."""
    x, short, slopes = interleaved([np.zeros(400)] * LANES, 400), np.empty(LANES), np.empty(LANES)
    lanes(*x, *x, 1, short)
    y = interleaved([np.zeros(400)] * (LANES - 1) + [np.zeros(4000)], 4000)
    for loop, others in ((lanes, ()), (lanes_with_slopes, (slopes,))):
        out = np.empty(LANES)
        loop(*x, *y, 1, out, *others)
        assert np.array_equal(out[:-1], short[:-1])
        assert out[-1] > short[-1]
    assert np.all(slopes == 0.0)

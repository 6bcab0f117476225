from dataclasses import dataclass

import numpy as np
import pytest

from representer import rows
from representer.kernels import RBF
from representer.rows import checkpoint

N = 100_000
"""Seven blocks."""


@dataclass
class Step:
    """A part of a gradient descent, which fails at a row if told so."""

    v: np.ndarray

    def __call__(self, X, y, w):
        residual = X @ self.v - y
        return X.T @ residual, residual @ residual, None


class Stop(Exception):
    pass


def descent(data, steps=5, stop=lambda told: None):
    v = np.zeros(data.n_columns)
    told = []

    def watch(done, of):
        told.append(done)
        stop(len(told))

    data = data.watched(watch)
    with data.fitting():
        for _ in range(steps):
            gradient, loss, nothing = data.total(Step(v))
            assert nothing is None
            v = v - 0.3 / N * gradient
    return v, loss, told


@pytest.fixture(autouse=True)
def often(monkeypatch):
    monkeypatch.setattr(checkpoint, "CHECKPOINT_SECONDS", 0.0)


@pytest.fixture
def Xy(rng):
    X = rng.normal(size=(N, 3))
    return X, X @ [1.0, 2.0, 3.0] + rng.normal(size=N)


def interrupted(X, y, path, after):
    def stop(blocks):
        if blocks == after:
            raise Stop

    with pytest.raises(Stop):
        descent(rows(X, target=y, checkpoint=path), stop=stop)


@pytest.mark.parametrize("after", [1, 2, 9, 20, 39])
def test_a_fit_resumes_to_the_same_bits(Xy, tmp_path, after):
    X, y = Xy
    path = tmp_path / "fit.npz"
    v, loss, told = descent(rows(X, target=y))
    interrupted(X, y, path, after)
    assert path.exists() == (after > 1)
    again, loss_again, told_again = descent(rows(X, target=y, checkpoint=path))
    np.testing.assert_array_equal(again, v)
    assert loss_again == loss
    assert len(told_again) <= len(told) - after + 3  # blocks that were done are not read again
    assert not path.exists()


@pytest.mark.parametrize("kind", ["npy", "stream"])
@pytest.mark.parametrize("after", [8, 16, 20])
def test_fits_to_files_and_streams_resume_also_at_the_end_of_a_pass(Xy, tmp_path, kind, after):
    for name, values in zip("Xy", Xy, strict=True):
        np.save(tmp_path / f"{name}.npy", values)

    def data():
        path, checkpoint = tmp_path / "X.npy", tmp_path / "fit.npz"
        if kind == "stream":
            return rows(lambda: iter([Xy]), checkpoint=checkpoint)
        return rows(path, target=tmp_path / "y.npy", checkpoint=checkpoint)

    def stop(told):
        if told == after:  # eight calls a pass: its start, and seven blocks
            raise Stop

    with pytest.raises(Stop):
        descent(data(), stop=stop)
    np.testing.assert_array_equal(descent(data())[0], descent(rows(Xy[0], target=Xy[1]))[0])


def test_a_fit_that_is_interrupted_twice_with_the_same_rows(Xy, tmp_path):
    X, y = Xy
    path, v = tmp_path / "fit.npz", descent(rows(*Xy[:1], target=y))[0]
    data = rows(X, target=y, checkpoint=path)
    for after in (12, 5):

        def stop(blocks, after=after):
            if blocks == after:
                raise Stop

        with pytest.raises(Stop):
            descent(data, stop=stop)
    np.testing.assert_array_equal(descent(data)[0], v)


def test_other_rows_and_other_fits_are_errors_and_leave_the_checkpoint(Xy, tmp_path):
    X, y = Xy
    path = tmp_path / "fit.npz"
    interrupted(X, y, path, 20)
    before = path.read_bytes()
    with pytest.raises(ValueError, match="is of other rows than these; remove it"):
        descent(rows(X + 1.0, target=y, checkpoint=path))
    other = rows(X, target=y, checkpoint=path)
    with pytest.raises(ValueError, match="is of another fit to these rows: its pass 1 differs"), other.fitting():
        other.total(Step(np.ones(3)))
    assert path.read_bytes() == before


def test_other_files_are_not_taken_for_checkpoints(Xy, tmp_path):
    path = tmp_path / "fit.npz"
    path.write_text("a diary")
    with pytest.raises(ValueError, match="is not a checkpoint"):
        descent(rows(Xy[0], target=Xy[1], checkpoint=path))
    assert path.read_text() == "a diary"


def test_a_failure_while_writing_leaves_the_old_checkpoint(Xy, tmp_path, monkeypatch):
    X, y = Xy
    path = tmp_path / "fit.npz"
    interrupted(X, y, path, 12)
    before = path.read_bytes()

    def full(*args):
        raise OSError("No space left on device")

    monkeypatch.setattr(checkpoint.os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        descent(rows(X, target=y, checkpoint=path))
    assert path.read_bytes() == before
    monkeypatch.undo()
    np.testing.assert_array_equal(descent(rows(X, target=y, checkpoint=path))[0], descent(rows(X, target=y))[0])


def test_what_a_part_keeps_for_later_does_not_change_its_digest(rng):
    """A fit that resumes is given sums, and has not done the work that fills caches."""
    A = RBF(1.0).prepare(rng.normal(size=(200, 70)))
    before = checkpoint.digest(Step((A, RBF(1.0))))
    assert A.used.all()
    assert checkpoint.digest(Step((A, RBF(1.0)))) == before
    assert checkpoint.digest(Step((A, RBF(2.0)))) != before
    assert checkpoint.digest(Step((A[:199], RBF(1.0)))) != before

"""Pre-images that are images, in rows to compare."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from representer.plotting.axes import dense, pyplot
from representer.preimage.find import Preimage


class ImageRowsDisplay:
    """Rows of small grey images, such as originals, noisy copies and their pre-images.

    Parameters
    ----------
    rows : mapping from names to arrays of shape (n_images, n_pixels)
        One row of images each, from the top; images in a column belong together.
    shape : (height, width)
        Shape of one image.

    Attributes
    ----------
    rows, shape : as given, rows as arrays
    ax_ : matplotlib axes
        Where it was drawn, after `plot`.

    Examples
    --------
    >>> import numpy as np
    >>> from representer.plotting import ImageRowsDisplay
    >>> clean = np.random.default_rng(0).uniform(size=(5, 64))
    >>> display = ImageRowsDisplay({"clean": clean, "dark": 0.5 * clean}, shape=(8, 8))
    >>> display.mosaic().shape  # with a gap of one pixel between images
    (17, 44)
    """

    def __init__(self, rows: Mapping[str, Any], shape: tuple[int, int]):
        self.rows = {name: dense(images).astype(np.float64) for name, images in rows.items()}
        self.shape = tuple(shape)
        if not self.rows:
            raise ValueError("rows is empty; give at least one name with its images.")
        first = next(iter(self.rows.values()))
        for name, images in self.rows.items():
            if images.ndim != 2 or images.shape[1] != np.prod(self.shape):
                raise ValueError(
                    f"The images {name!r} have shape {images.shape}; for images of {self.shape[0]} x {self.shape[1]} "
                    f"pixels give one row of {np.prod(self.shape)} numbers each."
                )
            if len(images) != len(first):
                raise ValueError(f"There are {len(images)} images {name!r} and {len(first)} in the first row.")

    @classmethod
    def from_preimages(
        cls, found: Mapping[str, Preimage], shape: tuple[int, int], *, others: Mapping[str, Any] | None = None
    ) -> ImageRowsDisplay:
        """A row for each result of `preimage`, below rows of other images such as the originals."""
        return cls({**(others or {}), **{name: np.atleast_2d(each.x) for name, each in found.items()}}, shape)

    def mosaic(self) -> np.ndarray:
        """All images as one, with gaps of one NaN pixel between them."""
        h, w = self.shape
        images = np.stack(list(self.rows.values()))
        n_rows, n_columns = images.shape[:2]
        cells = np.full((n_rows, n_columns, h + 1, w + 1), np.nan)
        cells[:, :, :h, :w] = images.reshape(n_rows, n_columns, h, w)
        return cells.transpose(0, 2, 1, 3).reshape(n_rows * (h + 1), n_columns * (w + 1))[:-1, :-1]

    def plot(self, ax: Any = None, *, cmap: str = "gray") -> ImageRowsDisplay:
        """Draw into the axes given, or into a new figure. All images share the grey scale of the first row."""
        plt = pyplot()
        picture = self.mosaic()
        if ax is None:
            names = 0.4 + 0.1 * max(map(len, self.rows))
            size = 0.07 * picture.shape[1] + names, 0.07 * picture.shape[0] + 0.2
            _, ax = plt.subplots(figsize=size, layout="constrained")
        first = next(iter(self.rows.values()))
        ax.imshow(picture, cmap=cmap, vmin=first.min(), vmax=first.max(), interpolation="nearest")
        ax.set_yticks(np.arange(len(self.rows)) * (self.shape[0] + 1) + (self.shape[0] - 1) / 2, list(self.rows))
        ax.set_xticks([])
        ax.tick_params(length=0)
        for spine in ax.spines.values():
            spine.set_visible(False)
        self.ax_ = ax
        return self

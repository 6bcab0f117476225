"""A treated frame as plain numeric columns, for linear models and for quick choices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer

from representer.kernels.dates import as_days
from representer.kernels.frame_kernels import YEAR

MOST_LEVELS_OF_DESIGN = 40
"""Largest number of levels of a category, the most frequent ones; the others share the intercept."""
MOST_WORDS = 200
"""Largest number of words, or letter trigrams, of a text column."""


@dataclass(frozen=True)
class NumericDesign:
    """Standardised numbers, missing values at the mean with an indicator, and one-hot encoded levels.

    Dates are days with yearly, weekly and daily waves; the most frequent words of texts are weighted by tf-idf.
    """

    parts: tuple[tuple[str, str, Any], ...]
    """Name, kind and the parameters of that kind."""

    @classmethod
    def of(cls, frame: Any) -> NumericDesign:
        """The design of a treated frame of polars."""
        return cls(tuple((name, *_part(frame[name])) for name in frame.columns))

    def rows(self, frame: Any) -> np.ndarray:
        """A numeric row for each row of the frame, in float32 where there are many."""
        dtype = np.float32 if frame.height > 50_000 else np.float64
        blocks = [np.asarray(_columns(frame[name], kind, known), dtype) for name, kind, known in self.parts]
        return np.hstack(blocks)


def _part(column: Any) -> tuple[str, Any]:
    dtype = column.dtype
    if dtype.is_numeric():
        values = column.to_numpy().astype(np.float64)
        there = values[~np.isnan(values)]
        mean, deviation = (float(there.mean()), float(there.std())) if len(there) else (0.0, 1.0)
        return "number", (mean, deviation or 1.0, bool(np.isnan(values).any()))
    if dtype.is_temporal():
        days = as_days(column)
        return "date", (float(np.nanmean(days)), float(np.nanstd(days)) or 1.0)
    if str(dtype).startswith("Categorical"):
        counts = column.drop_nulls().alias("level").value_counts(sort=True)["level"].to_list()
        return "category", tuple(str(level) for level in counts[:MOST_LEVELS_OF_DESIGN])
    texts = column.fill_null("").to_list()
    short = np.mean([len(text.split()) for text in texts]) < 3.0
    words = TfidfVectorizer(
        max_features=MOST_WORDS, analyzer="char" if short else "word", ngram_range=(3, 3) if short else (1, 1)
    )
    try:
        return "text", words.fit(texts)
    except ValueError:  # no words at all
        return "category", ()


def _columns(column: Any, kind: str, known: Any) -> np.ndarray:
    n = len(column)
    if kind == "number":
        mean, deviation, gaps = known
        values = column.to_numpy().astype(np.float64)
        gone = np.isnan(values)
        scaled = np.where(gone, 0.0, (values - mean) / deviation)
        return np.column_stack([scaled, gone]) if gaps else scaled[:, None]
    if kind == "date":
        mean, deviation = known
        days = np.nan_to_num(as_days(column), nan=mean)
        turns = [2.0 * np.pi * days / period for period in (YEAR, 7.0, 1.0)]
        return np.column_stack(
            [(days - mean) / deviation, *(wave(turn) for turn in turns for wave in (np.sin, np.cos))]
        )
    if kind == "category":
        codes = {level: i for i, level in enumerate(known)}
        places = np.array([codes.get(level, -1) for level in column.to_list()])
        out = np.zeros((n, max(len(known), 1)), np.float32)
        out[np.flatnonzero(places >= 0), places[places >= 0]] = 1.0
        return out
    return known.transform(column.fill_null("").to_list()).toarray()

"""Random features as ONNX nodes: one writer for each class of features in `kernels.laws`."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np

from representer.kernels.laws import Ramps, SideBySide, Stretched, Tensors, TensorSketch, Waves
from representer.onnx.input_rows import Rows
from representer.onnx.nodes import Graph


def features(graph: Graph, maps: Any, rows: Rows) -> str:
    """phi(x), shape (n, size)."""
    return WRITERS[type(maps)](graph, maps, rows)


def _waves(graph: Graph, maps: Waves, rows: Rows) -> str:
    p = len(maps.frequencies)
    paired, phases, factors = maps.size - p, np.zeros(p), np.full(maps.size, np.sqrt(1.0 / p))
    if maps.phase is not None:
        phases[-1], factors[p - 1] = maps.phase, np.sqrt(2.0 / p)
    cosines = graph.add("Cos", graph.add("Add", graph.add("MatMul", rows.name, maps.frequencies.T), phases))
    sines = graph.add("Sin", graph.add("MatMul", rows.name, maps.frequencies[:paired].T))
    return graph.add("Mul", graph.add("Concat", cosines, sines, axis=1), factors)


def _ramps(graph: Graph, maps: Ramps, rows: Rows) -> str:
    heights, factors = graph.add("MatMul", rows.name, maps.directions.T), np.full(maps.size, np.sqrt(2.0 / maps.size))
    if maps.order == 0:
        return graph.add("Where", graph.add("Greater", heights, 0.0), factors, 0.0)
    return graph.add("Mul", graph.add("Pow", graph.add("Max", heights, 0.0), float(maps.order)), factors)


def _side_by_side(graph: Graph, maps: SideBySide, rows: Rows) -> str:
    return graph.add("Concat", *(features(graph, part, rows) for part in (maps.left, maps.right)), axis=1)


def _stretched(graph: Graph, maps: Stretched, rows: Rows) -> str:
    return graph.add("Mul", features(graph, maps.part, rows), np.full(maps.size, np.sqrt(maps.factor)))


def _tensor_sketch(graph: Graph, maps: TensorSketch, rows: Rows) -> str:
    spectra = []
    for S in _count_sketches(maps):
        waves, offset = np.fft.fft(S[:-1] / maps.scale[:, None], axis=1), np.sqrt(maps.offset) * np.fft.fft(S[-1])
        parts = ((waves.real, offset.real), (waves.imag, offset.imag))
        spectra.append([graph.add("Add", graph.add("MatMul", rows.name, A), b) for A, b in parts])
    return _convolution(graph, spectra, maps.size)


def _tensors(graph: Graph, maps: Tensors, rows: Rows) -> str:
    spectra = []
    for part, S in zip(maps.parts, _count_sketches(maps), strict=True):
        phi, waves = features(graph, part, rows), np.fft.fft(S, axis=1)
        spectra.append([graph.add("MatMul", phi, each) for each in (waves.real, waves.imag)])
    return _convolution(graph, spectra, maps.size)


def _count_sketches(maps: Any) -> list[np.ndarray]:
    """The matrices S_i, with one nonzero entry per row."""
    matrices = []
    for buckets, signs in zip(maps.buckets, maps.signs, strict=True):
        S = np.zeros((len(buckets), maps.size))
        S[np.arange(len(buckets)), buckets] = signs
        matrices.append(S)
    return matrices


def _convolution(graph: Graph, spectra: list[list[str]], size: int) -> str:
    """The inverse Fourier transform of a product of spectra, each as its real and imaginary part.

    It is the transform of the conjugate over its size; by an inverse DFT onnxruntime divides in float32.
    """
    real, imaginary = reduce(lambda left, right: _complex_product(graph, left, right), spectra)
    last, first = np.array([2], np.int64), np.array([0], np.int64)
    conjugate = (graph.add("Unsqueeze", each, last) for each in (real, graph.add("Neg", imaginary)))
    values = graph.add("DFT", graph.add("Concat", *conjugate, axis=2), axis=1)
    real = graph.add("Squeeze", graph.add("Slice", values, first, first + 1, last), last)
    return graph.add("Mul", real, np.full(size, 1.0 / size))


def _complex_product(graph: Graph, left: list[str], right: list[str]) -> list[str]:
    (a, b), (c, d) = left, right
    real = graph.add("Sub", graph.add("Mul", a, c), graph.add("Mul", b, d))
    return [real, graph.add("Add", graph.add("Mul", a, d), graph.add("Mul", b, c))]


WRITERS: dict[type, Callable[[Graph, Any, Rows], str]] = {
    Ramps: _ramps,
    SideBySide: _side_by_side,
    Stretched: _stretched,
    Tensors: _tensors,
    TensorSketch: _tensor_sketch,
    Waves: _waves,
}

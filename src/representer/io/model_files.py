"""A model in a file: arrays in the safetensors layout, everything else as JSON in its header."""

from __future__ import annotations

import json
import os
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from representer.io.node_reader import LoadError, Reader
from representer.io.packing import demand_memory
from representer.io.tensor_layout import LayoutError, demand_room, read_layout, write_layout
from representer.io.values import Writer

FORMAT = 2
"""Format version, raised whenever older versions could not read what is written."""
LONGEST_DOCUMENT = 2**26
"""Largest number of bytes of JSON: safetensors allows headers of up to 100 MB."""

__all__ = ["LoadError", "load", "save"]


def save(model: Any, path: Any) -> None:
    """Write an estimator, fitted or not, a kernel or a Function to a file that holds no code.

    What can be computed from the rest, such as prepared inputs and factors, is not stored. An older file is replaced
    only when the new one is complete. The hash detects damage, not forgery: anybody can compute it.

    Parameters
    ----------
    model : estimator, Kernel, loss, regulariser or Function of this library
    path : str or path
        By convention ending in ``.repr``.

    Examples
    --------
    >>> import numpy as np, tempfile, os
    >>> from representer import SVC, load, save
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> model = SVC().fit(X, X[:, 0] > 0)
    >>> path = os.path.join(tempfile.mkdtemp(), "model.repr")
    >>> save(model, path)
    >>> bool(np.all(load(path).predict(X) == model.predict(X)))
    True
    """
    writer = Writer()
    root = writer.slot(model, type(model).__name__)
    document = json.dumps({"root": root, "values": writer.nodes}, allow_nan=False, separators=(",", ":"))
    if len(document) > LONGEST_DOCUMENT:
        raise ValueError(
            f"The model has {len(document) / 1e6:.3g} MB of names and small values, and a file may have "
            f"{LONGEST_DOCUMENT / 1e6:.3g} MB of them; pickle it."
        )
    metadata = {"format": str(FORMAT), "document": document, "sha256": _digest(document, writer.arrays)}
    target = Path(path)
    beside = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        demand_memory(writer.objects, sum(array.nbytes for array in writer.arrays.values()))
        with beside.open("wb") as file:
            write_layout(file, writer.arrays, metadata)
        os.replace(beside, target)
    except LayoutError as error:
        beside.unlink(missing_ok=True)
        raise ValueError(f"The model has too many names and small values: {error}; pickle it.") from None
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def load(source: Any) -> Any:
    """The model that `save` wrote. No code from the file is executed; a damaged or foreign file raises `LoadError`.

    Parameters
    ----------
    source : str, path, or bytes
        The path of the file, or its contents.
    """
    name = "The model" if isinstance(source, bytes | bytearray) else f"{source}"
    content = bytearray(source if isinstance(source, bytes | bytearray) else Path(source).read_bytes())
    try:
        arrays, metadata = read_layout(content)
    except LayoutError as error:
        raise LoadError(
            f"{name} is not a model file, or only part of one: {error}; give a file written by save, or copy it again."
        ) from None
    version, document = metadata.get("format", ""), metadata.get("document", "")
    if not (version.isascii() and version.isdecimal() and len(version) < 10):
        raise LoadError(f"{name} is a safetensors file, but not a model of this library.")
    if int(version) > FORMAT:
        raise LoadError(f"{name} has format {version}, newer than {FORMAT}, the latest known here; update representer.")
    if len(document) > LONGEST_DOCUMENT or _digest(document, arrays) != metadata.get("sha256"):
        raise LoadError(f"{name} is damaged: its content does not match its hash. Copy or save it again.")
    try:
        demand_room(document, len(content))
        return _read(json.loads(document), arrays)
    except (LoadError, ValueError, RecursionError) as error:
        raise LoadError(f"{name} is damaged: {error}.") from None
    except ImportError as error:
        raise LoadError(f"{name} holds a data frame of a library that is missing here: {error}; install it.") from None


def _read(document: Any, arrays: dict[str, np.ndarray]) -> Any:
    if not isinstance(document, dict):
        raise LoadError("it has no table of values")
    reader = Reader(arrays)
    reader.read(document.get("values"))
    return reader.value(document.get("root"))


def _digest(document: str, arrays: dict[str, np.ndarray]) -> str:
    digest = sha256(document.encode("utf-8", "surrogatepass"))
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
        digest.update(array.tobytes() if array.ndim == 0 or not array.size else array.data)
    return digest.hexdigest()

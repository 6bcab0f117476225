"""A model in a file: arrays in the safetensors layout, everything else as JSON in its header."""

from __future__ import annotations

import json
import os
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from representer.io.allowance import Allowance, MemoryLimitError, json_bytes
from representer.io.node_reader import LoadError, Reader
from representer.io.tensor_layout import LayoutError, read_layout, write_layout
from representer.io.values import Writer

FORMAT = 4
"""Format version, raised whenever older versions could not read what is written."""
LONGEST_DOCUMENT = 2**26
"""Largest number of bytes of JSON: safetensors allows headers of up to 100 MB."""
PIECE = 2**16
"""Characters of a document that are hashed at a time."""

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
        with beside.open("wb") as file:
            write_layout(file, writer.arrays, metadata, json_bytes(document) + writer.objects)
        os.replace(beside, target)
    except LayoutError as error:
        beside.unlink(missing_ok=True)
        raise ValueError(f"The model has too many names and small values: {error}; pickle it.") from None
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def load(source: Any, memory: int | None = None) -> Any:
    """The model that `save` wrote. No code from the file is executed; a damaged or foreign file raises `LoadError`.

    Parameters
    ----------
    source : str, path, or bytes
        The path of the file, or its contents.
    memory : int, optional
        Bytes that it may take; twice the size of the file and 8 MiB by default, which is enough for all files of this
        format. Files of formats 1 and 2 that you trust may need more.
    """
    is_bytes = isinstance(source, bytes | bytearray)
    name = "The model" if is_bytes else f"{source}"
    try:
        with BytesIO(source) if is_bytes else Path(source).open("rb") as file:
            allowance = Allowance(len(source) if is_bytes else os.fstat(file.fileno()).st_size, memory)
            arrays, metadata = read_layout(file, allowance)
        version, document = metadata.get("format", ""), metadata.get("document", "")
        _require_known(name, version)
        if len(document) > LONGEST_DOCUMENT or _digest(document, arrays) != metadata.get("sha256"):
            raise LoadError(f"{name} is damaged: its content does not match its hash. Copy or save it again.")
        return _read(document, arrays, allowance, name)
    except LayoutError as error:
        raise LoadError(
            f"{name} is not a model file, or only part of one: {error}; give a file written by save, or copy it again."
        ) from None
    except MemoryLimitError as error:
        raise LoadError(f"{name} is too small for what it holds: {error}; if you trust it, set memory=.") from None


def _require_known(name: str, version: str) -> None:
    """Raise unless this library reads the format."""
    if not (version.isascii() and version.isdecimal() and len(version) < 10):
        raise LoadError(f"{name} is a safetensors file, but not a model of this library.")
    if int(version) > FORMAT:
        raise LoadError(f"{name} has format {version}, newer than {FORMAT}, the latest known here; update representer.")


def _read(text: str, arrays: dict[str, np.ndarray], allowance: Allowance, name: str) -> Any:
    """The value that a document describes."""
    try:
        allowance.take(json_bytes(text), f"{len(text)} bytes of JSON")
        document = json.loads(text)
        if not isinstance(document, dict):
            raise LoadError("it has no table of values")
        reader = Reader(arrays, allowance)
        reader.read(document.get("values"))
        return reader.value(document.get("root"))
    except MemoryLimitError:
        raise
    except (LoadError, ValueError, RecursionError) as error:
        raise LoadError(f"{name} is damaged: {error}.") from None
    except ImportError as error:
        raise LoadError(f"{name} holds a data frame of a library that is missing here: {error}; install it.") from None


def _digest(document: str, arrays: dict[str, np.ndarray]) -> str:
    digest = sha256()
    for start in range(0, len(document), PIECE):  # its bytes as a whole would take as much memory again
        digest.update(document[start : start + PIECE].encode("utf-8", "surrogatepass"))
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
        digest.update(array.tobytes() if array.ndim == 0 or not array.size else array.data)
    return digest.hexdigest()

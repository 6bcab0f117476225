"""Tables from files and from memory, as a polars frame whose cells are as they were written.

Cells of CSV files stay strings: `column_types` determines their types by its own rules, so that 01234 keeps its zero.
"""

from __future__ import annotations

import csv
import gzip
import io
import re
import zlib
from dataclasses import dataclass
from difflib import get_close_matches
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from representer.estimators.base import warn_user

SEPARATORS, RARE_SEPARATORS = ",;\t|", " ^~:"
"""Separators of cells; the rare ones are used where none of the others is in the first line."""
UNNAMED = "unnamed"
"""The name of a first column that has none, such as the numbers of rows that pandas and R write."""
MISSING_WORDS = ("", "NA", "N/A", "NaN", "nan", "null", "NULL", "None", "?", "#N/A", "<NA>")
"""Markers of missing values in text files."""
BYTE_ORDER_MARKS = (
    (b"\xef\xbb\xbf", "utf-8-sig"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
)
EMPTY_LINES = re.compile(r"\A(?:[ \t]*\n)+")
SAMPLE_LINES = 50
"""Lines from which the separator is detected."""


class TableError(ValueError):
    """A table, or an option for it, is wrong; the message says what to do."""


@dataclass(frozen=True)
class Table:
    """A polars frame, where it came from, and a hash of its content."""

    frame: Any
    source: str
    digest: str
    separator: str = ""
    """Separator of a text file, whose column types are still to be determined."""

    def __len__(self) -> int:
        return int(self.frame.height)


def read_table(source: Any, encoding: str | None = None) -> Table:
    """A table from the path of a CSV file (plain or gz) or a Parquet file, or from a frame of pandas or polars.

    ``encoding`` is that of a CSV file, such as "latin-1"; it is recognised when not given.
    """
    polars = polars_library()
    if isinstance(source, Table):
        return source
    if isinstance(source, str | Path):
        return _read_file(Path(source), encoding, polars)
    if isinstance(source, polars.DataFrame):
        return _in_memory(source, "a frame of polars")
    if hasattr(source, "columns") and hasattr(source, "iloc"):
        _require_unique([str(name) for name in source.columns], "The frame")
        columns = [_from_pandas(source[name], str(name), polars) for name in source.columns]
        return _in_memory(polars.DataFrame(columns), "a frame of pandas")
    raise TableError(
        f"A table is the path of a CSV or Parquet file, or a frame of pandas or polars, and this is a "
        f"{type(source).__name__}."
    )


def polars_library() -> Any:
    """The module polars, or an error that says how to install it."""
    try:
        import polars
    except ImportError:
        raise ImportError("Tables need polars; install it by pip install 'representer[cli]'.") from None
    return polars


def nearest(name: str, names: Any, what: str = "columns") -> str:
    """The end of a sentence about an unknown name: names spelt similarly, or all names."""
    known = [str(each) for each in names]
    lower = {each.lower(): each for each in reversed(known)}
    close = [lower[each] for each in get_close_matches(name.lower(), list(lower), n=3, cutoff=0.5)]
    if close:
        return f"did you mean {' or '.join(map(repr, close))}?"
    shown = ", ".join(map(repr, known[:8]))
    return f"the {what} are {shown}" + (f" and {len(known) - 8} more." if len(known) > 8 else ".")


# ---- files ----


def _read_file(path: Path, encoding: str | None, polars: Any) -> Table:
    if path.is_dir():
        raise TableError(f"{path} is a folder; give the path of a CSV or Parquet file.")
    if not path.exists():
        beside = [each.name for each in path.parent.iterdir()] if path.parent.is_dir() else []
        close = get_close_matches(path.name, beside, n=1)
        raise TableError(f"There is no file {path}" + (f"; did you mean {close[0]!r}?" if close else "."))
    content = path.read_bytes()
    digest = sha256(content).hexdigest()
    if content[:2] == b"\x1f\x8b":
        content = _unzipped(content, path)
    if content[:4] == b"PAR1":
        return Table(_checked(_parquet(content, path, polars), str(path)), str(path), digest)
    frame, separator = _csv(_decoded(content, path, encoding), path, polars)
    return Table(_checked(frame, str(path)), str(path), digest, separator)


def _unzipped(content: bytes, path: Path) -> bytes:
    try:
        return gzip.decompress(content)
    except (OSError, EOFError, zlib.error):
        raise TableError(f"{path} begins like a gz file but cannot be unpacked; copy it again.") from None


def _parquet(content: bytes, path: Path, polars: Any) -> Any:
    try:
        return polars.read_parquet(io.BytesIO(content))
    except Exception as error:  # the reader raises many types of errors, and all of them mean a damaged file
        raise TableError(f"{path} begins like a Parquet file but cannot be read ({error}); write it again.") from None


def _csv(text: str, path: Path, polars: Any) -> tuple[Any, str]:
    """The frame of a text file, and its separator."""
    if not text.strip():
        raise TableError(f"{path} is empty; give a file with a line of column names and a line for each row.")
    first = text.lstrip()[:200].lower()
    if first.startswith(("<!doctype", "<html", "<?xml", "{", "%pdf")):
        raise TableError(f"{path} is not a table but looks like HTML, XML, JSON or PDF; export it as CSV or Parquet.")
    text = EMPTY_LINES.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
    try:
        separator = separator_of(text)
        text = _single_spaced(text) if separator == " " else text
        header = next(csv.reader(io.StringIO(text), delimiter=separator))
    except csv.Error as error:
        raise TableError(_not_csv(path, error)) from None
    names = [name.strip() for name in header]
    _require_names([names[0] or UNNAMED, *names[1:]], path)
    names[0] = names[0] or UNNAMED
    try:
        frame = _parsed(text, separator, names, '"', polars)
    except polars.exceptions.PolarsError as error:
        frame, fault = None, error
    plain = _plain_rows(text, separator, len(names))
    if plain and (frame is None or frame.height != plain):  # in tab-separated files quotes are usually literal
        return _parsed(text, separator, names, None, polars), separator
    if frame is None:
        raise TableError(_fault_of(text, separator, len(names), path)) from fault
    return frame, separator


def _parsed(text: str, separator: str, names: list[str], quote: str | None, polars: Any) -> Any:
    frame = polars.read_csv(
        io.BytesIO(text.encode()),
        separator=separator,
        infer_schema=False,
        null_values=list(MISSING_WORDS),
        new_columns=names,
        quote_char=quote,
        truncate_ragged_lines=False,
    )
    every = polars.all()
    is_missing = every.str.strip_chars().is_in(list(MISSING_WORDS))  # a space may follow a separator
    return frame.with_columns(polars.when(is_missing).then(None).otherwise(every).name.keep())


def _plain_rows(text: str, separator: str, width: int) -> int:
    """The number of rows of a tab-separated file if each line, split at tabs alone, has one cell per name; else 0."""
    if separator != "\t" or '"' not in text:
        return 0
    lines = [line for line in text.split("\n") if line]
    return len(lines) - 1 if width > 1 and all(line.count(separator) == width - 1 for line in lines) else 0


def _decoded(content: bytes, path: Path, given: str | None) -> str:
    """The text of a file: as given, by its byte order mark, else as UTF-8, else as Windows-1252, which Excel writes."""
    if given:
        try:
            return content.decode(given)
        except LookupError:
            raise TableError(f"There is no encoding {given!r}; give one such as utf-8, latin-1 or cp932.") from None
        except UnicodeError as error:
            raise TableError(f"{path} is not in the encoding {given}: {error}; give another one.") from None
    encoding = next((name for mark, name in BYTE_ORDER_MARKS if content.startswith(mark)), "utf-8")
    if encoding != "utf-16" and b"\x00" in content[:100_000]:
        raise TableError(f"{path} is not a table of text: it holds binary data; export it as CSV or Parquet.")
    try:
        return content.decode(encoding)
    except UnicodeDecodeError:
        message = f"{path} is not in UTF-8 and was read as Windows-1252; if letters are wrong, name its encoding"
        warn_user(f"{message} by --encoding, or encoding=.", UserWarning)
        return content.decode("cp1252", errors="replace")


def separator_of(text: str) -> str:
    """The separator that gives most of the first lines the same number of cells, and the most cells."""
    lines = list(csv_lines(text, SAMPLE_LINES))

    def steadiness(separator: str) -> tuple[float, int]:
        shown = [_single_spaced(line) for line in lines] if separator == " " else lines
        counts = [len(row) for row in csv.reader(shown, delimiter=separator)]
        width = counts[0] if counts else 1
        return (float(np.mean([count == width for count in counts])) if width > 1 else 0.0, width)

    best = max(SEPARATORS, key=steadiness)
    rare = max(RARE_SEPARATORS, key=steadiness)
    return rare if steadiness(best)[0] == 0.0 and steadiness(rare)[0] == 1.0 else best


def _single_spaced(text: str) -> str:
    """The text with padding spaces collapsed to single ones, unless there are quotes."""
    return text if '"' in text else re.sub(r" {2,}", " ", re.sub(r"(?m)^ +| +$", "", text))


def csv_lines(text: str, most: int) -> Any:
    """The first lines that are not empty."""
    found = 0
    for line in io.StringIO(text):
        if line.strip():
            yield line
            found += 1
            if found == most:
                return


def _require_names(names: list[str], path: Path) -> None:
    if all(not name or _is_numeric(name) for name in names):
        raise TableError(
            f"The first line of {path} has numbers in place of column names; add a line of names above it."
        )
    if "" in names:
        where = names.index("") + 1
        raise TableError(f"Column {where} of {path} has no name in the first line; give it one.")
    _require_unique(names, str(path))


def _require_unique(names: list[str], where: str) -> None:
    twice = [name for i, name in enumerate(names) if name in names[:i]]
    if twice:
        raise TableError(f"{where} has two columns named {twice[0]!r}; rename one of them.")


def _is_numeric(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def _fault_of(text: str, separator: str, width: int, path: Path) -> str:
    """What is wrong with a file that could not be read."""
    try:
        for number, row in enumerate(csv.reader(io.StringIO(text), delimiter=separator, strict=True), start=1):
            if len(row) > width:
                return (
                    f"Row {number} of {path} has {len(row)} cells where the first line has {width} names; put cells "
                    f"that contain {separator!r} in quotes, or remove the extra cells."
                )
    except csv.Error as error:
        return _not_csv(path, error)
    return f"{path} is not a table that can be read; export it again as CSV with quotes, or as Parquet."


def _not_csv(path: Path, error: csv.Error) -> str:
    return f"{path} is not a table: {error}; look for a quote that is not closed, or export it as Parquet."


# ---- memory ----


def _in_memory(frame: Any, source: str) -> Table:
    frame = _checked(frame, source)
    digest = sha256("\n".join(frame.columns).encode())
    digest.update(np.ascontiguousarray(frame.hash_rows(seed=0).to_numpy()).tobytes())
    return Table(frame, source, digest.hexdigest())


def _checked(frame: Any, source: str) -> Any:
    """The frame with NaN as missing values."""
    if frame.height == 0:
        raise TableError(f"{source} has no rows; give a table with a row for each example.")
    return frame.with_columns(column.fill_nan(None) for column in frame if column.dtype.is_float())


def _from_pandas(column: Any, name: str, polars: Any) -> Any:
    """A pandas column without the detour via pyarrow; anything but numbers, dates and booleans becomes strings."""
    if hasattr(column, "cat"):
        words = [None if code < 0 else str(column.cat.categories[code]) for code in column.cat.codes]
        return polars.Series(name, words, polars.String).cast(polars.Categorical)
    gone, kind = np.asarray(column.isna(), bool), column.dtype.kind
    if kind in "mM":
        return polars.Series(name, column.to_numpy(dtype="datetime64[us]" if kind == "M" else "timedelta64[us]"))
    if kind == "b":
        words = [None if out else str(bool(value)).lower() for value, out in zip(column, gone, strict=True)]
        return polars.Series(name, words, polars.String).cast(polars.Categorical)
    if kind in "iuf":
        values = column.to_numpy(dtype=np.float64, na_value=np.nan)
        return polars.Series(name, values, nan_to_null=True)
    words = [None if out else str(value) for value, out in zip(column, gone, strict=True)]
    return polars.Series(name, words, polars.String)

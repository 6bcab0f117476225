"""How fast are Gram matrices of structured inputs, and how accurate are models on them?

    pip install -r benchmarks/structured/requirements.txt
    python benchmarks/structured/run.py [part ...]

Each part takes less than eight minutes, except nci1-wl and nci1-oa, which fit thousands of machines to 2,500 graphs and
take up to half an hour; by default all parts run in sequence. Times are CPU seconds, of both libraries in one run, from
the same inputs to the dense matrix; entries are compared first. Data sets are read from the folder that
REPRESENTER_DATA names; a row whose data or library is absent is skipped. Accuracies follow the protocols of the
published results that they are compared with.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
import accuracy
import speed
from common import Table, print_versions

PARTS: dict[str, Callable[[Table], None]] = {
    "histograms": lambda table: speed.on_graphs(table, "vertex histogram"),
    "subtrees": lambda table: speed.on_graphs(table, "Weisfeiler-Lehman, 5 rounds"),
    "paths": lambda table: speed.on_graphs(table, "shortest path"),
    "assignment": lambda table: speed.on_graphs(table, "optimal assignment, 5 rounds"),
    "walks": speed.walks,
    "spectrum": speed.words_of_six,
    "trigrams": speed.trigrams,
    "gapped": speed.gapped_words,
    "subsequences": speed.subsequences,
    "fingerprints": speed.fingerprints,
    "rankings": speed.rankings,
    "series": speed.series,
    "strings": accuracy.on_strings,
    "texts": accuracy.on_texts,
    "mutag-wl": lambda table: accuracy.on_graphs(table, "mutag", "WL"),
    "mutag-oa": lambda table: accuracy.on_graphs(table, "mutag", "WL-OA"),
    "nci1-wl": lambda table: accuracy.on_graphs(table, "nci1", "WL"),
    "nci1-oa": lambda table: accuracy.on_graphs(table, "nci1", "WL-OA"),
}


def main() -> None:
    """Print the table."""
    wanted = sys.argv[1:] or list(PARTS)
    if unknown := [name for name in wanted if name not in PARTS]:
        raise SystemExit(f"There is no part {unknown[0]!r}; the parts are {', '.join(PARTS)}.")
    print_versions()
    table = Table()
    for name in wanted:
        PARTS[name](table)
    table.end()


if __name__ == "__main__":
    main()

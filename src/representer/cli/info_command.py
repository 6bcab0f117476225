"""`representer info`: what a model file holds."""

from __future__ import annotations

from argparse import Namespace

from representer.cli.main import OK
from representer.cli.predict_command import table_model


def run(options: Namespace) -> int:
    """Print columns, kernel and scores."""
    model = table_model(options.model)
    if options.json:
        assert model.outcome is not None
        print(model.outcome.to_json(rows=False))
    else:
        print(model.describe())
    return OK

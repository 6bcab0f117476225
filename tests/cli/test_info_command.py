"""What a model file holds."""

import json

from representer.cli.main import main


def test_words_and_json(folder, capsys):
    assert main(["info", str(folder / "model.repr")]) == 0
    assert "regression of 'price'" in capsys.readouterr().out
    assert main(["info", str(folder / "model.repr"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["target"] == "price"

"""Commands, exit codes, and help that is quick."""

import re
import shlex
import subprocess
import sys

import pytest

from representer.cli import main as cli
from representer.cli.main import main


def test_help_has_examples_and_imports_little(capsys):
    code = "import sys; from representer.cli.main import parser; parser(); print('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "False"
    with pytest.raises(SystemExit, match="0"):
        main(["fit", "--help"])
    shown = capsys.readouterr().out
    assert "representer fit houses.csv --target price" in shown
    assert "exit codes" in shown


def test_every_command_has_examples_that_it_understands(capsys):
    for name in cli.COMMANDS:
        with pytest.raises(SystemExit, match="0"):
            main([name, "--help"])
        shown = capsys.readouterr().out
        lines = re.findall(rf"representer ({name}[^)\n]*)", shown[shown.index("examples:") :])
        assert lines
        for line in lines:
            assert cli.parser().parse_args(shlex.split(line.split(" > ")[0])).command == name


def test_an_unknown_command_is_bad_input(capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["fitt"])


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (KeyboardInterrupt(), 130, "stopped; nothing was written"),
        (FileNotFoundError("no such file"), 2, "representer: no such file"),
        (ZeroDivisionError("oops"), 1, "this is a bug"),
        (BrokenPipeError(), 0, ""),
    ],
)
def test_exit_codes(monkeypatch, capsys, error, code, words):
    real = cli.import_module

    def fails(options):
        raise error

    def imported(name):
        return type("command", (), {"run": staticmethod(fails)}) if name.endswith("_command") else real(name)

    monkeypatch.setattr(cli, "import_module", imported)
    assert main(["info", "m.repr"]) == code
    assert words in capsys.readouterr().err

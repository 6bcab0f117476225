"""Shells learn all commands and options."""

import shutil
import subprocess

import pytest

from representer.cli.completion_command import script
from representer.cli.main import COMMANDS, main


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_command_is_there(shell, capsys):
    assert main(["completion", shell]) == 0
    shown = capsys.readouterr().out
    assert all(name in shown for name in COMMANDS)
    assert "time-limit" in shown


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_bash_completes():
    ask = 'COMP_WORDS=(representer fit --ti); COMP_CWORD=2; _representer; echo "${COMPREPLY[@]}"'
    found = subprocess.run(["bash", "-c", script("bash") + ask], capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["--time-limit"]

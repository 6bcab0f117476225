"""Scripts for scikit-learn that run with these classes."""

import sys

import pytest
import sklearn.svm

from representer import drop_in
from representer.drop_in.__main__ import main

SCRIPT = """
import sys
from sklearn.svm import SVC
print(SVC.__module__, sys.argv[1:], __name__)
"""


def test_script_sees_the_classes_and_its_arguments(tmp_path, capsys, monkeypatch):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    monkeypatch.setattr(sys, "argv", ["drop_in"])
    monkeypatch.setattr(sys, "path", [*sys.path])
    try:
        main([str(script), "--fast"])
        monkeypatch.syspath_prepend(tmp_path)
        main(["-m", "script", "a"])
    finally:
        drop_in.unpatch()
    assert capsys.readouterr().out.splitlines() == [
        "representer.drop_in.libsvm_machines ['--fast'] __main__",
        "representer.drop_in.libsvm_machines ['a'] __main__",
    ]


@pytest.mark.parametrize(("arguments", "message"), [([], "usage"), (["-m"], "usage"), (["none.py"], "no script")])
def test_mistakes_are_told(arguments, message):
    with pytest.raises(SystemExit, match=message):
        main(arguments)
    assert sklearn.svm.SVC is not drop_in.SVC
    drop_in.unpatch()


def test_help_is_no_mistake(capsys):
    main(["--help"])
    assert capsys.readouterr().out.startswith("usage")

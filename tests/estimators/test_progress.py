import pytest

from representer.estimators.progress import Progress


def test_silence(capsys):
    with Progress(0, 1e-6) as progress:
        progress("work", 0.1)
    assert progress.steps == 1
    assert capsys.readouterr() == ("", "")


def test_one_line_on_standard_error(capsys):
    with Progress(1, 1e-6) as progress:
        for residual in (1.0, 1e-3, 1e-6):
            progress("work", residual)
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\r") == 3
    assert err.count("\n") == 1
    assert err.endswith("\n")
    assert "work: [" in err
    assert "step 3, residual 1.0e-06 (to 1e-06), 0 s" in err


@pytest.mark.parametrize(("residual", "length"), [(5.0, 0), (1.0, 0), (1e-3, 15), (1e-6, 30), (1e-9, 30), (0.0, 30)])
def test_bar(capsys, residual, length):
    with Progress(1, 1e-6) as progress:
        progress("work", residual)
    assert f"[{'#' * length:<30}]" in capsys.readouterr().err


def test_nothing_to_end(capsys):
    with Progress(1, 1e-6):
        pass
    assert capsys.readouterr().err == ""


def test_line_ends_after_an_error(capsys):
    def interrupted():
        with Progress(1, 1e-6) as progress:
            progress("work", 0.5)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert capsys.readouterr().err.endswith("\n")

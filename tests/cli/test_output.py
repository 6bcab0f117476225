"""Files are complete or not there."""

import pytest

from representer.cli.output import require_folder, require_free, teller, write_all, write_by_rename
from representer.tables.reading import TableError


def test_a_file_that_fails_leaves_the_old_one(tmp_path):
    path = tmp_path / "a.txt"
    write_all(tmp_path, {"a.txt": "old"})

    def half(beside):
        beside.write_text("half")
        raise OSError("disk is full")

    with pytest.raises(OSError, match="full"):
        write_by_rename(path, half)
    with pytest.raises(OSError, match="full"):
        write_all(tmp_path, {"a.txt": "new", "b.txt": half})
    assert path.read_text() == "old"
    assert [each.name for each in tmp_path.iterdir()] == ["a.txt"]


def test_files_are_replaced_by_force_only(tmp_path):
    (tmp_path / "a.txt").write_text("old")
    require_free([tmp_path / "b.txt"], False)
    require_free([tmp_path / "a.txt"], True)
    with pytest.raises(TableError, match="--force"):
        require_free([tmp_path / "a.txt"], False)
    with pytest.raises(TableError, match="is a folder"):
        require_free([tmp_path], True)


def test_folders_that_cannot_be_written_are_refused_before_the_work(tmp_path, monkeypatch):
    require_folder(tmp_path / "new" / "deep")
    assert not (tmp_path / "new").exists()
    (tmp_path / "a.txt").write_text("old")
    with pytest.raises(TableError, match="is a file"):
        require_folder(tmp_path / "a.txt" / "out")
    monkeypatch.setattr("os.access", lambda path, mode: False)
    with pytest.raises(TableError, match="may not write"):
        require_folder(tmp_path / "new")


def test_progress_goes_to_stderr(capsys):
    teller(False)("working")
    teller(True)("silent")
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "working" in shown.err
    assert "silent" not in shown.err

"""Outputs are refused before any work where they cannot be made."""

from pathlib import Path

import numpy as np
import pytest

import bigtensor.models.kernel_mixture.estimator  # noqa: F401  (cannot be imported without rights to read)
from bigtensor.cli import main
from bigtensor.data.outputs import check_folder, check_target, check_target_file
from bigtensor.errors import OutputError
from bigtensor.store import Contents, write_group


@pytest.mark.parametrize("check", [check_target, check_target_file])
def test_check__refuses_a_folder_that_cannot_be_written(check, locked_folder: Path):
    with pytest.raises(OutputError, match="nothing can be written to the folder"):
        check(locked_folder / "model.zarr", overwrite=True)


@pytest.mark.parametrize("check", [check_target, check_target_file])
def test_check__leaves_nothing_behind(check, tmp_path: Path):
    check(tmp_path / "model.zarr", overwrite=False)
    assert list(tmp_path.iterdir()) == []


def test_check_target_file__refuses_folders_and_files_that_exist(tmp_path: Path):
    with pytest.raises(OutputError, match="is a folder; give the name of a file"):
        check_target_file(tmp_path, overwrite=True)
    file = tmp_path / "report.html"
    file.write_text("kept")
    with pytest.raises(OutputError, match="exists already"):
        check_target_file(file, overwrite=False)
    check_target_file(file, overwrite=True)
    assert file.read_text() == "kept"


def test_check_folder__names_one_that_is_absent_or_a_file(tmp_path: Path):
    file = tmp_path / "file"
    file.touch()
    for folder in (tmp_path / "absent", file):
        with pytest.raises(OutputError, match="does not exist; make it first"):
            check_folder(folder)


def test_fit__ends_before_the_first_pass_where_the_model_cannot_be_written(
    locked_folder: Path, capsys
):
    """A fit of many passes ended with "Permission denied", and its model was lost."""
    with pytest.raises(SystemExit) as ended:
        main(["fit", "absent.zarr", "--out", str(locked_folder / "model.zarr"), "-k", "2"])
    assert ended.value.code == 1
    assert "nothing can be written to the folder" in capsys.readouterr().err


def test_save__says_so_too(locked_folder: Path):
    with pytest.raises(OutputError, match="nothing can be written"):
        write_group(locked_folder / "model.zarr", Contents("Test", {}, {"x": np.zeros(2)}))

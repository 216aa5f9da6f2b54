"""Outputs are refused before any work where they cannot be made."""

import os
from pathlib import Path

import numpy as np
import pytest

import bigtensor.models.kernel_mixture.estimator  # noqa: F401  (cannot be imported without rights to read)
from bigtensor.cli import main
from bigtensor.data.stores.outputs import (
    check_folder,
    check_target,
    check_target_file,
    finish_after,
)
from bigtensor.errors import OutputError
from bigtensor.store import Contents, read_group, write_group


@pytest.mark.parametrize("check", [check_target, check_target_file])
def test_check__refuses_a_folder_that_cannot_be_written(check, locked_folder: Path):
    with pytest.raises(OutputError, match="nothing can be written to the folder"):
        check(locked_folder / "model.zarr", overwrite=True)


@pytest.mark.parametrize("check", [check_target, check_target_file])
def test_check__leaves_nothing_behind(check, tmp_path: Path):
    check(tmp_path / "model.zarr", overwrite=False)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("check", [check_target, check_target_file])
def test_check__refuses_a_place_inside_a_store(check, tmp_path: Path):
    """A table in the folder of a model was removed with it when the model was written again."""
    model = tmp_path / "model.zarr"
    model.mkdir()
    (model / "zarr.json").touch()
    with pytest.raises(OutputError, match=r"model\.zarr is a Zarr store.*outside"):
        check(model / "labels.csv", overwrite=True)


def test_check_target_file__refuses_folders_and_files_that_exist(tmp_path: Path):
    with pytest.raises(OutputError, match="is a folder; give the name of a file"):
        check_target_file(tmp_path, overwrite=True)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(OutputError, match="is a device or a pipe"):
        check_target_file(pipe, overwrite=True)
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


@pytest.mark.parametrize("error", [OSError(5, "Input/output error"), KeyboardInterrupt()])
def test_earlier_store__gets_its_name_back_if_the_new_one_cannot_be_renamed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
):
    model = tmp_path / "model.zarr"
    write_group(model, Contents("Test", {}, {"x": np.zeros(2)}))
    rename = Path.rename

    def fail(self: Path, target: Path) -> Path:
        if Path(target) == model and ".replaced." not in self.name:
            raise error
        return rename(self, target)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", fail)
        with pytest.raises((OutputError, KeyboardInterrupt)):
            write_group(model, Contents("Test", {}, {"x": np.ones(2)}), overwrite=True)
    assert [path.name for path in tmp_path.iterdir()] == ["model.zarr"]
    np.testing.assert_array_equal(read_group(model).arrays["x"], np.zeros(2))


def test_finish_after__is_for_contexts_without_an_error():
    finished = []

    def fail() -> None:
        with finish_after(lambda: finished.append("failed")):
            raise ValueError("halfway")

    with pytest.raises(ValueError, match="halfway"):
        fail()
    with finish_after(lambda: finished.append("whole")):
        assert not finished
    assert finished == ["whole"]

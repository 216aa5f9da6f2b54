"""``bigtensor predict --into``: answers inside the store of the cells."""

import shutil

import pytest
import xarray as xr

THREADS = ("--scheduler", "threads")


@pytest.fixture
def own(cells, tmp_path):
    return shutil.copytree(cells, tmp_path / "own.zarr")


@pytest.mark.slow
def test_into__writes_a_group_that_later_commands_read(run, model, own, tmp_path):
    result = run("predict", model, own, "--into", "answers", "--by", "sample_id", *THREADS)
    assert result.exit_code == 0, result.stderr
    assert f"labels     {own / 'answers'}: label of 20,000 rows" in result.stdout
    assert (tmp_path / "own_answers_by_sample_id.csv").exists()
    with xr.open_zarr(own, group="answers") as found:
        assert found["label"].shape == (20_000,)
    described = run("info", own / "answers")
    assert "20,000 rows, by a KernelMixture" in described.stdout
    page = tmp_path / "r.html"
    result = run("report", model, "--data", own, "--labels", own / "answers", "--out", page)
    assert result.exit_code == 0, result.stderr
    again = ("predict", model, f"file://{own}", "--into", "answers", *THREADS)
    result = run(*again)
    assert result.exit_code == 1
    assert "give --overwrite" in result.stderr
    assert run(*again, "--overwrite").exit_code == 0


def test_out__that_is_the_store_of_the_cells_names_the_way(run, model, own):
    result = run("predict", model, own, "--out", own, "--overwrite")
    assert result.exit_code == 2
    assert "or --into GROUP" in result.stderr
    for options in ((), ("--out", own.with_name("l.zarr"), "--into", "answers")):
        result = run("predict", model, own, *options)
        assert result.exit_code == 2
        assert "give either --out LABELS.zarr" in result.stderr
    result = run("predict", model, "memory://cells.zarr", "--into", "answers")
    assert result.exit_code == 1
    assert "no store at memory://cells.zarr" in result.stderr

"""An import of the rows that meet a condition is a subset of an import of all rows."""

from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from bigtensor.data.exporters.subset import write_subset
from bigtensor.data.importers.files import import_files
from bigtensor.errors import ConditionError, DataError

ROWS = 500


@pytest.fixture
def tables(tmp_path: Path) -> list[Path]:
    random = np.random.default_rng(6)
    paths = []
    for name in ("day1", "day2"):
        rows = [
            f"{x:.6f},{y:.6f},{label},{donor}"
            for x, y, label, donor in zip(
                *random.normal(size=(2, ROWS)),
                random.choice(["B", "T"], ROWS),
                random.choice(["ann", "bob"], ROWS),
                strict=True,
            )
        ]
        path = tmp_path / f"{name}.csv"
        path.write_text("CD3,CD4,kind,donor\n" + "\n".join(rows))
        paths.append(path)
    return paths


@pytest.mark.parametrize(
    "where", ["CD3 > 0.1 and label == 'T'", "sample_id in ['bob'] or CD4 < -1", "label != 'none'"]
)
@pytest.mark.quick_cases("CD3 > 0.1 and label == 'T'")
def test_import_where__is_import_and_subset(where: str, tables: list[Path], tmp_path: Path) -> None:
    options = {"label": "kind", "sample_id": "donor", "keep_raw": True}
    chosen, whole, subset = (tmp_path / f"{name}.zarr" for name in ("chosen", "whole", "subset"))
    summary = import_files(tables, chosen, where=where, **options)
    import_files(tables, whole, **options)
    if where == "label != 'none'":
        assert summary.rows == 2 * ROWS
        return
    made = write_subset(whole, subset, where=where)
    assert summary.shares == made.shares
    assert summary.rows == made.shares.kept
    with xr.open_zarr(chosen) as first, xr.open_zarr(subset) as second:
        assert set(first.variables) == set(second.variables)
        for name in first.variables:
            np.testing.assert_array_equal(first[name], second[name])
            assert first[name].attrs == second[name].attrs


def test_import_of_codes__compares_names(tables: list[Path], tmp_path: Path) -> None:
    summary = import_files(
        tables, tmp_path / "c.zarr", codes=True, where="kind == 'T' and donor == 'ann'"
    )
    with xr.open_zarr(tmp_path / "c.zarr") as store:
        names = store["X"].attrs["categories"]
        columns = [str(name) for name in store["feature"].values]
        for feature, name in (("kind", "T"), ("donor", "ann")):
            codes = store["X"].values[:, columns.index(feature)]
            assert {names[feature][code] for code in codes} == {name}
        assert summary.rows == store.sizes["sample"]


def test_condition_that_no_row_meets__writes_nothing(tables: list[Path], tmp_path: Path) -> None:
    columns = {"label": "kind", "sample_id": "donor"}
    with pytest.raises(DataError, match="none of 1,000"):
        import_files(tables, tmp_path / "c.zarr", where="CD3 > 100", **columns)
    with pytest.raises(ConditionError, match="CD3"):
        import_files(tables, tmp_path / "c.zarr", where="CD5 > 1", **columns)
    assert not (tmp_path / "c.zarr").exists()

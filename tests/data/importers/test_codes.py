"""Tables whose columns are coded: names of categories in, integers with their names out."""

from pathlib import Path
from typing import Any

import anndata
import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from bigtensor.cli import main
from bigtensor.data.importers import job as job_module
from bigtensor.data.importers.files import import_files
from bigtensor.data.opening import open_samples
from bigtensor.data.stores.layout import SampleStoreWriter
from bigtensor.errors import (
    DataError,
    FileFormatError,
    FileFormatWarning,
    MissingValueWarning,
    ParameterError,
)

TABLE = pd.DataFrame(
    {
        "colour": ["red", None, "blue", "red", "green", "blue"],
        "doors": [4, 2, 4, 4, 3, 2],
        "donor": ["ann", "bob", "ann", "cy", "cy", "ann"],
        "old": [True, False, True, True, False, False],
    }
)
CATEGORIES = {
    "colour": ("red", "blue", "green"),
    "doors": ("4", "2", "3"),
    "old": ("True", "False"),
}
CODES = [[0, 0, 0], [-1, 1, 1], [1, 0, 0], [0, 0, 0], [2, 2, 1], [1, 1, 1]]


def write_csv(folder: Path, table: pd.DataFrame = TABLE, name: str = "cars") -> Path:
    table.to_csv(folder / f"{name}.csv", index=False)
    return folder / f"{name}.csv"


def write_parquet(folder: Path) -> Path:
    TABLE.assign(colour=TABLE["colour"].astype("category")).to_parquet(folder / "cars.parquet")
    return folder / "cars.parquet"


@pytest.mark.parametrize("rows", [2, 1000])
@pytest.mark.parametrize("write", [write_csv, write_parquet])
def test_codes__keep_the_names_of_a_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: Any, rows: int
) -> None:
    monkeypatch.setattr(job_module, "chunk_rows", lambda *_: rows)
    out = tmp_path / "cars.zarr"
    summary = import_files(write(tmp_path), out, codes=True, sample_id="donor")
    assert summary.features == tuple(CATEGORIES)
    samples = open_samples(out, groups="sample_id")
    assert (samples.kind, samples.dtype) == ("codes", np.dtype("int32"))
    assert samples.categories == CATEGORIES
    assert samples.groups is not None
    assert samples.groups.names == ("ann", "bob", "cy")
    (block,) = samples.blocks([(0, 6)], 10)
    np.testing.assert_array_equal(block.values, CODES)


def test_codes__keep_the_order_of_ordered_columns_of_parquet(tmp_path: Path) -> None:
    names = ["disagree", "neither", "agree", "refused", "fully agree"]
    answers = ["agree", None, "disagree", "refused", "agree", "neither"]
    kind = pd.CategoricalDtype(names, ordered=True)
    table = TABLE[["colour"]].assign(trust=pd.Series(answers, dtype=kind))
    table.to_parquet(tmp_path / "answers.parquet", row_group_size=2)
    out = tmp_path / "answers.zarr"
    import_files(tmp_path / "answers.parquet", out, codes=True, missing_values="refused")
    samples = open_samples(out)
    (block,) = samples.blocks([(0, 6)], 10)
    assert samples.categories == {
        "colour": CATEGORIES["colour"],
        "trust": ("disagree", "neither", "agree", "fully agree"),
    }
    np.testing.assert_array_equal(block.values[:, 1], [2, -1, 0, -1, 2, 1])


def test_codes__of_other_tables_are_refused_with_the_way_to_parquet(tmp_path: Path) -> None:
    (tmp_path / "answers.dta").touch()
    with pytest.raises(FileFormatError, match=r"read_stata.*to_parquet"):
        import_files(tmp_path / "answers.dta", tmp_path / "answers.zarr", codes=True)


@pytest.mark.filterwarnings("ignore:Writing zarr v2 data:UserWarning")
@pytest.mark.parametrize("suffix", [".h5ad", ".zarr"])
@pytest.mark.quick_cases(".h5ad")
def test_codes__of_anndata_are_the_columns_of_names_in_obs(tmp_path: Path, suffix: str) -> None:
    obs = TABLE.assign(colour=TABLE["colour"].astype("category"), donor=TABLE["donor"].astype(str))
    obs.index = obs.index.map(str)
    data = anndata.AnnData(np.zeros((6, 2), np.float32), obs=obs)
    path, out = tmp_path / f"cars{suffix}", tmp_path / "codes.zarr"
    data.write_h5ad(path) if suffix == ".h5ad" else data.write_zarr(path)
    with pytest.warns(FileFormatWarning, match=r"\['doors'\] of obs .* left out"):
        import_files(path, out, codes=True, sample_id="donor")
    samples = open_samples(out)
    assert samples.categories == {name: CATEGORIES[name] for name in ("colour", "old")}
    (block,) = samples.blocks([(0, 6)], 10)
    np.testing.assert_array_equal(block.values, np.array(CODES)[:, [0, 2]])
    data.obs = data.obs[["doors"]]
    data.write_h5ad(tmp_path / "none.h5ad")
    with pytest.raises(DataError, match=r"no categorical, .* column to code"):
        import_files(tmp_path / "none.h5ad", tmp_path / "none.zarr", codes=True)


def test_codes__of_several_files_have_the_same_categories(tmp_path: Path) -> None:
    files = [
        write_csv(tmp_path, TABLE.iloc[3:, ::-1], "a"),
        write_csv(tmp_path, TABLE.iloc[:3], "b"),
    ]
    import_files(files, tmp_path / "cars.zarr", codes=True, label="donor")
    samples = open_samples(tmp_path / "cars.zarr")
    assert samples.categories is not None
    (block,) = samples.blocks([(0, 6)], 10)
    names = [
        [known[code] if code >= 0 else None for code in block.values[:, column]]
        for column, known in enumerate(samples.categories.values())
    ]
    order = [3, 4, 5, 0, 1, 2]
    assert samples.features == ("old", "doors", "colour")
    assert names[2] == ["red", "green", "blue", "red", None, "blue"]
    assert names[1] == [str(TABLE["doors"][i]) for i in order]


def test_codes__are_named_by_the_error_for_columns_of_words(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"'colour'.* with codes=True"):
        import_files(write_csv(tmp_path), tmp_path / "cars.zarr")


@pytest.mark.parametrize(
    "options",
    [
        *({"transform": "arcsinh"}, {"keep_raw": True}, {"untransformed": ["doors"]}),
        *({"cofactor": 5.0}, {"dtype": "float64"}),
    ],
)
def test_codes__take_no_options_of_measured_values(tmp_path: Path, options: Any) -> None:
    with pytest.raises(ParameterError, match=r"measured values alone; .* with codes"):
        import_files(write_csv(tmp_path), tmp_path / "cars.zarr", codes=True, **options)
    (tmp_path / "a.fcs").write_bytes(b"x")
    with pytest.raises(ParameterError, match="tables and AnnData; these files are fcs"):
        import_files(tmp_path / "a.fcs", tmp_path / "cars.zarr", codes=True)


def test_writer__takes_codes_and_their_categories_only(tmp_path: Path) -> None:
    with SampleStoreWriter(tmp_path / "a.zarr", ["a"], dtype="int8") as store:
        with pytest.raises(DataError, match="X is float64; a store of int8"):
            store.append([[0.5]])
        with pytest.raises(ParameterError, match="give every feature of integer codes"):
            store.set_feature_categories({"b": ["x"]})
        store.append([[1], [-1]])
        store.set_feature_categories({"a": ["x", "y"]})
    samples = open_samples(tmp_path / "a.zarr")
    assert samples.categories == {"a": ("x", "y")}
    assert samples.dtype == np.int8
    with SampleStoreWriter(tmp_path / "b.zarr", ["a"]) as store:
        store.append([[1]])
        with pytest.raises(ParameterError, match="the store holds float32"):
            store.set_feature_categories({"a": ["x"]})


def test_command__imports_codes_and_info_shows_their_names(tmp_path: Path) -> None:
    out = tmp_path / "cars.zarr"
    arguments = ["import", str(write_csv(tmp_path)), "--codes", "--out", str(out)]
    done = CliRunner().invoke(main, [*arguments, "--label", "donor"])
    assert done.exit_code == 0, done.output
    shown = CliRunner().invoke(main, ["info", str(out)])
    assert shown.exit_code == 0, shown.output
    assert "3: red, blue, green" in shown.output
    refused = CliRunner().invoke(main, ["fit", str(out), "-k", "2", "--out", str(tmp_path / "m")])
    assert refused.exit_code != 0
    assert "without --codes" in refused.output


def test_codes__of_missing_values_are_warned_of(tmp_path):
    path = tmp_path / "answers.csv"
    pd.DataFrame({"q": [1, 2, 3, -9], "r": [1, 2, 2, 1]}).to_csv(path, index=False)
    with pytest.warns(MissingValueWarning, match="'q' holds -9"):
        summary = import_files(path, tmp_path / "a.zarr", codes=True)
    assert len(summary.warnings) == 1
    command = ["import", str(path), "--codes", "--out", str(tmp_path / "b.zarr")]
    replaced = CliRunner().invoke(main, [*command, "--missing-value", "-9"])
    assert replaced.exit_code == 0, replaced.output
    assert "-9: 1" in replaced.output
    assert "warning" not in replaced.output

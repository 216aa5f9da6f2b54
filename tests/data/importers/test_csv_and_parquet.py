"""CSV and Parquet tables against what pandas and pyarrow read whole."""

from decimal import Decimal
from pathlib import Path

import anndata
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import xarray as xr

from bigtensor.data.importers.csv_and_parquet import open_csv, open_parquet
from bigtensor.data.importers.files import import_files
from bigtensor.data.importers.source import ImportSource
from bigtensor.errors import (
    ConditionError,
    DataError,
    FileFormatError,
    FileFormatWarning,
    MissingDependencyError,
    MissingValueWarning,
    ParameterError,
)
from tests.parameters import first_quick


def table(rows: int = 500) -> pd.DataFrame:
    rng = np.random.default_rng(4)
    return pd.DataFrame(
        {
            "CD3": rng.normal(size=rows),
            "kind": rng.choice(["T", "B"], size=rows),
            "count": rng.integers(-5, 5, size=rows),
            "CD4": rng.normal(size=rows) * 1e6,
            "donor": [f"{i:03d}" for i in range(rows)],
        }
    )


def whole(source: ImportSource, rows: int) -> np.ndarray:
    """All values, read block by block."""
    blocks = list(source.blocks(rows))
    assert all(len(block.values) <= rows for block in blocks)
    return np.concatenate([block.values for block in blocks])


def variable(source: ImportSource, name: str) -> list[object]:
    """All values of a kept column."""
    return [value for block in source.blocks(90) for value in block.variables[name]]


@pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".tsv", ".parquet"])
@pytest.mark.parametrize("rows", first_quick([77, 1000, 1], 2))
def test_table__is_read_by_blocks(tmp_path: Path, ending: str, rows: int) -> None:
    frame = table()
    path = tmp_path / f"cells{ending}"
    if ending == ".parquet":
        frame.to_parquet(path, row_group_size=100)
        source = open_parquet(path, label="kind", sample_id="donor")
        assert source.rows == 500
    else:
        frame.to_csv(path, index=False, sep="\t" if ending == ".tsv" else ",")
        source = open_csv(path, label="kind", sample_id="donor")
    assert source.features == ("CD3", "count", "CD4")
    expected = frame[["CD3", "count", "CD4"]].to_numpy(float)
    np.testing.assert_allclose(whole(source, rows), expected, rtol=1e-15)
    assert variable(source, "label") == list(frame["kind"])
    # Text stays text: "007" must not become 7.
    assert variable(source, "sample_id") == list(frame["donor"])


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_excluded_columns__are_no_features_and_may_hold_anything(
    tmp_path: Path, ending: str
) -> None:
    path = tmp_path / f"cells{ending}"
    remarks = [f"0,{i}" for i in range(500)]
    frame = table().assign(**{"row number": np.arange(500), "remark": remarks})
    if ending == ".csv":
        frame.to_csv(path, index=False, sep=";")
    else:
        frame.to_parquet(path)
    summary = import_files(
        path,
        tmp_path / "cells.zarr",
        sample_id="donor",
        exclude=["kind", "row number", " remark "],
        dtype="float64",
    )
    assert tuple(summary.features) == ("CD3", "count", "CD4")
    stored = xr.open_zarr(tmp_path / "cells.zarr")["X"]
    np.testing.assert_allclose(stored, frame[["CD3", "count", "CD4"]].to_numpy(float))
    with pytest.raises(DataError, match=r"\['remarks'\].*'remark'"):
        import_files(path, tmp_path / "other.zarr", sample_id="donor", exclude="remarks")
    with pytest.raises(ParameterError, match="label='kind'"):
        import_files(path, tmp_path / "other.zarr", label="kind", exclude="kind")


def test_exclude__is_for_columns_of_tables_and_of_obs(tmp_path: Path) -> None:
    obs = table()[["kind", "donor"]].astype("category").set_index(np.arange(500).astype(str))
    cells = anndata.AnnData(np.zeros((500, 2)), obs)
    cells.write_h5ad(tmp_path / "cells.h5ad")
    summary = import_files(
        tmp_path / "cells.h5ad", tmp_path / "codes.zarr", codes=True, exclude="donor"
    )
    assert tuple(summary.features) == ("kind",)
    with pytest.raises(ParameterError, match=r"exclude.*panel"):
        import_files(tmp_path / "cells.h5ad", tmp_path / "other.zarr", exclude="donor")


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_table__names_columns_without_numbers(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"cells{ending}"
    frame = table().assign(donor=[f"d{i}" for i in range(500)])
    if ending == ".csv":
        frame.to_csv(path, index=False)
    else:
        frame.to_parquet(path)
    opener = open_csv if ending == ".csv" else open_parquet
    with pytest.raises(DataError, match=r"\['kind', 'donor'\].*no.* numbers"):
        opener(path)
    with pytest.raises(DataError, match=r"\['donor'\]"):
        opener(path, label="kind")
    with pytest.raises(DataError, match=r"'kinds' to use as label; .*\['CD3'"):
        opener(path, label="kinds")


def test_csv__empty_cells_are_missing(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("a,b,kind\n1,,x\nNA,2,\n3,inf,y\n")
    source = open_csv(path, label="kind")
    np.testing.assert_array_equal(whole(source, 2), [[1, np.nan], [np.nan, 2], [3, np.inf]])
    assert [isinstance(value, str) for value in variable(source, "label")] == [True, False, True]


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_samples__may_have_the_name_of_a_missing_value(tmp_path: Path, ending: str) -> None:
    names = ["NA", "null", "", "001", "nan"]
    frame = pd.DataFrame({"a": range(5), "sample": names})
    path = tmp_path / f"a{ending}"
    if ending == ".csv":
        frame.to_csv(path, index=False)
    else:
        frame.to_parquet(path)
    import_files(path, tmp_path / "a.zarr", sample_id="sample")
    samples = xr.open_zarr(tmp_path / "a.zarr")["sample_id"]
    assert samples.to_numpy().tolist() == [0, 1, -1, 2, 3]
    assert samples.attrs["categories"] == [name for name in names if name]


def test_csv__a_short_row_before_the_names_of_samples_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("a,sample\n1,x\n2\n3,y\n")
    with pytest.raises(FileFormatError, match=r"row 1 \(from 0\) has 1 cells for 2"):
        whole(open_csv(path, sample_id="sample"), 10)
    lines = [f"{number},x" for number in range(3000)]
    path.write_text("\n".join(["a,sample", *lines[:2500], "7", *lines[2500:]]))
    with pytest.raises(FileFormatError, match=r"row 2500 \(from 0\) has 1 cells for 2"):
        whole(open_csv(path, sample_id="sample"), 100)


@pytest.mark.parametrize("rows", [1, 2, 10])
def test_csv__an_empty_line_of_a_single_column_is_missing(tmp_path: Path, rows: int) -> None:
    """Rows would move against those of other tables if it were left out. Lines at the end do."""
    path = tmp_path / "a.csv"
    path.write_text('\na\n1\n\n""\n\n3\n""\n\n  \n\n')
    values = whole(open_csv(path), rows)[:, 0]
    np.testing.assert_array_equal(values, [1, np.nan, np.nan, np.nan, 3, np.nan])
    path.write_text("a,b\n1,2\n\n3,4\n\n")
    assert whole(open_csv(path), rows).tolist() == [[1, 2], [3, 4]]


def test_csv__a_bad_number_is_located(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    lines = [f"{i},{2 * i}" for i in range(3000)]
    lines[2345] = "2345,4.6.9"
    path.write_text("a,b\n" + "\n".join(lines))
    with pytest.raises(FileFormatError, match=r"'b' holds '4.6.9' in row 2345"):
        whole(open_csv(path), 100)


def test_csv__a_row_index_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    table()[["CD3", "CD4"]].to_csv(path)
    with pytest.warns(FileFormatWarning, match="left out as a row index"):
        source = open_csv(path)
    assert source.features == ("CD3", "CD4")
    np.testing.assert_allclose(whole(source, 99), table()[["CD3", "CD4"]], rtol=1e-15)


def test_csv__integers_of_any_length_are_numbers(tmp_path: Path) -> None:
    """Pandas guesses that a column with an integer of more than 64 bits holds texts."""
    path = tmp_path / "a.csv"
    path.write_text("a,b\n1,12345678901234567890123\n2,3\n")
    assert whole(open_csv(path), 5).tolist() == [[1, float("12345678901234567890123")], [2, 3]]


@pytest.mark.parametrize("cells", ["True\n1", "True\nmaybe", "1\n" * 1200 + "True"])
def test_csv__truth_values_beside_others_are_named_with_a_remedy(
    tmp_path: Path, cells: str
) -> None:
    path = tmp_path / "a.csv"
    path.write_text("b,a\n" + "".join(f"{cell},1\n" for cell in cells.split("\n")))
    row = cells.count("1\n") if cells.startswith("1") else 0
    match = rf"(?i)'b' holds '(true|false)' in row {row} \(from 0\) \(write 1 for true"
    with pytest.raises(DataError, match=match):
        whole(open_csv(path), 500)


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_tables__true_and_false_are_1_and_0(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"a{ending}"
    flags: list[bool | None] = [True, None, False] * 500
    frame = pd.DataFrame({"a": range(1500), "flag": pd.array(flags, dtype="boolean")})
    frame.to_csv(path, index=False) if ending == ".csv" else frame.to_parquet(path)
    source = open_csv(path) if ending == ".csv" else open_parquet(path)
    expected = np.tile([1, np.nan, 0], 500)
    np.testing.assert_array_equal(whole(source, 400)[:, 1], expected)


def test_csv__a_number_below_true_and_false_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("a,b\n" + "1,True\n" * 1200 + "2,2.5\n")
    with pytest.raises(FileFormatError, match=r"'b'.*'2.5'.*row 1200.*neither"):
        whole(open_csv(path), 500)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("2\n3,x", "row 1200 .*has 1 cells"),
        ("2,x\n3", "column 'b' holds 'x' in row 1200 "),
        ("2,1\ny,3\n3,x\n4", "column 'a' holds 'y' in row 1201 "),
        ("2,x\ny,3\n4", "column 'b' holds 'x' in row 1200 "),
    ],
)
def test_csv__the_first_fault_is_named(tmp_path: Path, rows: str, message: str) -> None:
    path = tmp_path / "a.csv"
    path.write_text("a,b\n" + "1,1\n" * 1200 + rows + "\n")
    with pytest.raises(FileFormatError, match=message):
        whole(open_csv(path), 2000)


def test_csv__repeated_names_are_numbered(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("a,b,a\n1,2,3\n")
    with pytest.warns(FileFormatWarning, match=r"numbered: \['a'\]"):
        source = open_csv(path)
    assert source.features == ("a", "b", "a_2")
    assert whole(source, 5).tolist() == [[1, 2, 3]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("\n  \n", "is empty"),
        ("a,b\r\n", "column names and no rows"),
        ("a\n\n\n", "column names and no rows"),
        ("a\n1\n\n2,3\n", r"row 2 \(from 0\) has 2 cells for 1"),
        ("1,2\n3,4\n", "first line of .* holds numbers"),
        ("a,b\n1,2\n3,4,5\n", r"row 1 \(from 0\) has 3 cells for 2"),
        ("a,b\n1,2\n3,4,5,6\n", r"row 1 \(from 0\) has 4 cells for 2"),
        ("a,b\n1,2\n\n3\n5,6\n", r"row 1 \(from 0\) has 1 cells for 2"),
        ("a,b\n1,2\n3", r"row 1 \(from 0\) has 1 cells for 2"),
        ("a,,b\n1,2,3\n", r"column 1 \(from 0\) of .* has no name"),
        ("a;b\n" + "1,5;2,5\n" * 2000 + "1;2.5\n", r"'b' holds '2.5' in row 2000"),
        ('a,b\n1,"2\n', "cannot be read as a table"),
        ("a,b\n1,2\n3,\0004\n5,6\n", "line 3 has a NUL byte"),
        ("a,b\0\n1,2\n", "line 1 has a NUL byte"),
    ],
)
def test_csv__damage_is_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "a.csv"
    path.write_text(text)
    with pytest.raises(FileFormatError, match=message):
        whole(open_csv(path), 10)


def test_csv__cells_are_separated_as_spreadsheets_save_them(tmp_path: Path) -> None:
    with_commas = (
        "Größe;name;CD4;weight\r\n0,1234567890123456;a,b;2;0,5\r\n-1e3;c;;2\r\n3,5;d;-0,25;\r\n"
    )
    path = tmp_path / "a.csv"
    path.write_text(with_commas, encoding="utf-8-sig", newline="")
    source = open_csv(path, label="name", weight="weight")
    assert source.features == ("Größe", "CD4")
    expected = [[0.1234567890123456, 2], [-1000, np.nan], [3.5, -0.25]]
    np.testing.assert_array_equal(whole(source, 2), expected)
    assert variable(source, "label") == ["a,b", "c", "d"]
    assert variable(source, "weight")[:2] == ["0.5", "2"]
    for separator in ";\t":
        path.write_text(f"a{separator}b\n1.5{separator}2\n")
        assert whole(open_csv(path), 5).tolist() == [[1.5, 2]]
    mixed = tmp_path / "mixed.csv"
    mixed.write_text("a;b\n1,5;2.5\n")
    with pytest.raises(DataError, match=r"'b' holds '2\.5' in row 0"):
        open_csv(mixed)
    mixed.write_text("well;b\n3,4;1.5\n")
    assert whole(open_csv(mixed, label="well"), 5).tolist() == [[1.5]]
    mixed.write_text("a;b\n1,5;2,5\n")
    # texts of pandas 3 are no objects
    with pd.option_context("future.infer_string", True):
        assert whole(open_csv(mixed), 5).tolist() == [[1.5, 2.5]]
    tabs = tmp_path / "a.tsv"
    tabs.write_text("a,b\n1,2\n")
    with pytest.raises(FileFormatError, match="one column, 'a,b'; tabs separate"):
        open_csv(tabs)


@pytest.mark.parametrize(
    ("rows", "end", "block_rows", "message"),
    [
        (2000, "1,2,3\n", 500, r"row 2000 \(from 0\) has 3 cells"),
        (200_000, "1\0,2\n", 100_000, "line 200002 has a NUL byte"),
        (2000, "1,\n1", 500, r"row 2001 \(from 0\) has 1 cells"),
    ],
    ids=["long row", "NUL byte", "short row"],
)
def test_csv__late_damage_is_refused(
    rows: int, end: str, block_rows: int, message: str, tmp_path: Path
) -> None:
    path = tmp_path / "a.csv"
    path.write_text("a,b\n" + "1,2\n" * rows + end)
    source = open_csv(path)
    with pytest.raises(FileFormatError, match=message):
        whole(source, block_rows)


def test_csv__text_among_numbers_is_located(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('a,b\n1,2\n3,"1,5"\n')
    with pytest.raises(DataError, match=r"'b' holds '1,5' in row 1 \(from 0\)"):
        open_csv(path)


@pytest.mark.parametrize(
    "text",
    [
        b"\xef\xbb\xbfa,b,kind\n1,2,x\n,4,\n",
        b"a,b,kind\r\n1,2,x\r\n,4,\r\n",
        b'\n"a",b,kind\n\n1,2,x\n,4,""\n',
        b"a,b,kind\n1,2,x,\n,4,,",
    ],
)
def test_csv__is_read_as_programs_write_it(tmp_path: Path, text: bytes) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(text)
    source = open_csv(path, label="kind")
    assert source.features == ("a", "b")
    np.testing.assert_array_equal(whole(source, 1), [[1, 2], [np.nan, 4]])


def test_csv__names_and_cells_may_hold_line_ends(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('"CD3\n(log)",kind\n1,"T\ncell"\n2,"B,\n"\n')
    source = open_csv(path, label="kind")
    assert source.features == ("CD3\n(log)",)
    assert variable(source, "label") == ["T\ncell", "B,\n"]


def test_csv__the_package_of_zstandard_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.csv.zst"
    path.write_bytes(b"\x28\xb5\x2f\xfd")
    with pytest.raises(MissingDependencyError, match="pip install zstandard"):
        open_csv(path)


def test_csv__binary_rubbish_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(bytes([0xFF, 0xFE, 0x81, 0x8D]) * 20)
    with pytest.raises(FileFormatError, match="cannot be read as a table"):
        open_csv(path)


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16"])
def test_csv__another_encoding_is_named(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes("größe,b\n1,2\n".encode(encoding))
    with pytest.raises(FileFormatError, match="not UTF-8"):
        open_csv(path)


def test_parquet__every_number_type_becomes_a_float(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    columns = {
        "small": pa.array([1, None, -3], pa.int8()),
        "big": pa.array([2**60 + 1, 0, None], pa.int64()),
        "half": pa.array([0.5, None, 2.0], pa.float32()),
        "flag": pa.array([True, False, None]),
        "price": pa.array([Decimal("1.25"), None, Decimal("-2.50")]),
        "kind": pa.array(["x", None, "y"]).dictionary_encode(),
    }
    pq.write_table(pa.table(columns), path)
    source = open_parquet(path, label="kind")
    nan = np.nan
    expected = [[1, 2.0**60, 0.5, 1, 1.25], [nan, 0, nan, 0, nan], [-3, nan, 2, nan, -2.5]]
    np.testing.assert_array_equal(whole(source, 2), expected)
    assert variable(source, "label") == ["x", None, "y"]


@pytest.mark.parametrize("name", [None, "cell"])
def test_parquet__a_row_index_is_left_out(name: str | None, tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    index = pd.Index(np.arange(500) ** 2, name=name)
    table()[["CD3"]].iloc[::-1].set_index(index).to_parquet(path)
    with pytest.warns(FileFormatWarning, match="row index"):
        assert open_parquet(path).features == ("CD3",)


def test_parquet__an_index_whose_metadata_are_gone_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    arrow_table = pa.Table.from_pandas(table()[["CD3"]].set_index(np.arange(500) ** 2))
    pq.write_table(arrow_table.replace_schema_metadata(None), path)
    with pytest.warns(FileFormatWarning, match="row index"):
        assert open_parquet(path).features == ("CD3",)


def test_parquet__a_named_index_is_a_column_to_keep(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    names = [f"cell{row}" for row in range(500)]
    table()[["CD3"]].set_index(pd.Index(names, name="cell")).to_parquet(path)
    source = open_parquet(path, label="cell")
    assert source.features == ("CD3",)
    assert source.notes == ()
    assert variable(source, "label")[:2] == names[:2]


def test_parquet__damage_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    table()[["CD3", "CD4"]].to_parquet(path)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(FileFormatError, match="cannot be read as Parquet"):
        open_parquet(path)


def test_table__without_features_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    table()[["kind"]].to_csv(path, index=False)
    with pytest.raises(DataError, match="no numeric columns"):
        open_csv(path, label="kind")


def test_unclosed_quote__is_an_error_whose_causes_end(tmp_path: Path) -> None:
    """An error that is its own cause would hang whoever follows the causes."""
    rows = [f"{row},{row + 1}" for row in range(240)]
    path = tmp_path / "cells.csv"
    path.write_text("\n".join(["CD3,CD4", *rows, '"', ""]))
    with pytest.raises(FileFormatError) as caught:
        import_files([path], tmp_path / "cells.zarr")
    causes: list[BaseException] = [caught.value]
    while (cause := causes[-1].__cause__) is not None:
        assert cause not in causes
        causes.append(cause)
    assert "EOF inside string" in str(causes[-1])


def test_exported_answers__are_no_features(tmp_path: Path) -> None:
    path = tmp_path / "answers.csv"
    path.write_text("row,CD3,label,probability_0,probability_1\n0,1.5,0,1,0\n1,2.5,1,0,1\n")
    with pytest.warns(FileFormatWarning, match="'row', 'label', 'probability_0'"):
        assert open_csv(path).features == ("CD3",)
    with pytest.warns(FileFormatWarning, match="left out"):
        assert open_csv(path, label="label").features == ("CD3",)
    path.write_text("row,CD3,label,donor\n0,1.5,0,a\n1,2.5,1,b\n")
    with pytest.warns(FileFormatWarning, match="left out"):
        assert open_csv(path, sample_id="donor").features == ("CD3",)
    path.write_text("row,source_row,CD3,label\n0,4,1.5,0\n1,6,2.5,1\n")
    with pytest.warns(FileFormatWarning, match="'source_row'"):
        assert open_csv(path).features == ("CD3",)
    path.write_text("CD3,label\n1.5,0\n2.5,1\n")
    assert open_csv(path).features == ("CD3", "label")
    path.write_text("row,column,CD3\n1,1,1.5\n1,2,2.5\n")
    assert open_csv(path).features == ("row", "column", "CD3")
    path.write_text("row,CD3,log_density,surprise_CD3\n7,1.5,-1,0.2\n3,2.5,-2,0.3\n")
    with pytest.warns(FileFormatWarning, match="'surprise_CD3'"):
        assert open_csv(path).features == ("CD3",)


def test_labels_that_are_texts__are_no_exported_answers(tmp_path: Path) -> None:
    path = tmp_path / "own.csv"
    path.write_text("row,CD3,label\n0,1.5,T\n1,2.5,B\n")
    assert open_csv(path, label="label").features == ("row", "CD3")
    with pytest.raises(DataError, match=r"\['label'\].*do not hold numbers") as error:
        open_csv(path)
    assert "TensorTrainDensity" in str(error.value)


@pytest.mark.parametrize(
    ("text", "features"),
    [
        ("row,column,CD3,label\n1,1,1.5,0\n1,2,2.5,1\n", ("row", "column", "CD3", "label")),
        ("row,population,income\n1,900,2\n2,400,3\n", ("row", "population", "income")),
        ("row,label,CD3\n0,0,1.5\n1,1,2.5\n", ("row", "label", "CD3")),
    ],
)
def test_rows_and_populations__of_other_tables_are_features(
    tmp_path: Path, text: str, features: tuple[str, ...]
) -> None:
    """The rows of a plate and the populations of towns were left out as answers of a fit."""
    path = tmp_path / "plate.csv"
    path.write_text(text)
    assert open_csv(path).features == features


def test_rows__of_a_plate_stay_if_labels_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "plate.csv"
    path.write_text("row,column,CD3,label\n1,1,1.5,a\n1,2,2.5,b\n")
    assert open_csv(path, label="label").features == ("row", "column", "CD3")


def test_files_without_rows__are_named(tmp_path: Path) -> None:
    path = tmp_path / "empty.parquet"
    table(3)[["CD3", "CD4"]][:0].to_parquet(path)
    with pytest.raises(DataError, match=r"no rows are in .*empty\.parquet"):
        import_files([path], tmp_path / "out.zarr")
    assert not (tmp_path / "out.zarr").exists()


def test_columns_beside_the_features__are_named_without_their_spaces(tmp_path):
    path = tmp_path / "cells.csv"
    path.write_text("a, group \n1,x\n2,y\n")
    for name in ("group", " group "):
        assert open_csv(path, label=name).features == ("a",)


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ("a;b\n1,5;2.25\n2,5;3.25\n", r"'2\.25'.*decimal commas"),
        ("a;b\n6.108,28;1\n7.108,28;2\n", r"6\.108,28.*thousands"),
        ('a,b\n"4,734.20",1\n"5,734.20",2\n', r"4,734\.20.*thousands"),
    ],
)
def test_numbers__of_other_marks_are_explained(tmp_path, lines, words):
    (tmp_path / "marks.csv").write_text(lines)
    with pytest.raises(DataError, match=words):
        open_csv(tmp_path / "marks.csv")


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("codes", [False, True])
def test_missing_values__become_empty(tmp_path, ending, codes):
    features = pd.DataFrame({"a": [1, -999, 3, 2], "b": [0.5, 2.5, -999.0, -99.0], "n": -999})
    path = tmp_path / f"cells.{ending}"
    features.to_csv(path, index=False) if ending == "csv" else features.to_parquet(path)
    kept = {"label": "n", "codes": codes, "overwrite": True}
    codes_of_missing = (np.float32(-999), "-99")
    summary = import_files(path, tmp_path / "cells.zarr", missing_values=codes_of_missing, **kept)
    assert summary.replaced == {"-999": 2, "-99": 1}
    data = xr.open_zarr(tmp_path / "cells.zarr")
    values = data["X"].to_numpy()
    expected = [[False, False], [True, False], [False, True], [False, True]]
    np.testing.assert_array_equal(values < 0 if codes else np.isnan(values), expected)
    # labels are no features
    assert (data["label"] == 0).all()


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("codes", [False, True])
def test_missing_values__that_no_feature_holds_are_warned_of(tmp_path, ending, codes):
    features, path = pd.DataFrame({"a": [1, -999, 3, 2]}), tmp_path / f"cells.{ending}"
    features.to_csv(path, index=False) if ending == "csv" else features.to_parquet(path)
    options = {"codes": codes, "missing_values": [-999, -998]}
    with pytest.warns(MissingValueWarning, match="no feature holds -998"):
        summary = import_files(path, tmp_path / "cells.zarr", **options)
    assert len(summary.warnings) == 1
    assert summary.replaced == {"-999": 1, "-998": 0}


def test_missing_values__may_be_one_number_of_numpy(tmp_path):
    (tmp_path / "cells.csv").write_text("a,b\n1,2\n-9,2\n3,4\n")
    options = {"missing_values": np.int64(-9)}
    summary = import_files(tmp_path / "cells.csv", tmp_path / "cells.zarr", **options)
    assert summary.replaced == {"-9": 1}


@pytest.mark.parametrize("code", ["-99,5", "-99.5", -99.5])
def test_missing_values__of_decimal_commas_are_compared_as_numbers(tmp_path, code):
    (tmp_path / "cells.csv").write_text("a;b\n1,5;-99,5\n-99,50;2,5\n3;refused\n")
    codes = [code, "refused"]
    import_files(tmp_path / "cells.csv", tmp_path / "cells.zarr", missing_values=codes)
    values = xr.open_zarr(tmp_path / "cells.zarr")["X"].to_numpy()
    np.testing.assert_array_equal(values, [[1.5, np.nan], [np.nan, 2.5], [3, np.nan]])


def test_missing_values__may_be_texts(tmp_path):
    (tmp_path / "cells.csv").write_text("a,b\n1,refused\n-9,2\n3,4\n")
    import_files(tmp_path / "cells.csv", tmp_path / "cells.zarr", missing_values=["refused", -9])
    values = xr.open_zarr(tmp_path / "cells.zarr")["X"].to_numpy()
    np.testing.assert_array_equal(values, [[1, np.nan], [np.nan, 2], [3, 4]])


def test_missing_values__are_refused_for_other_files(tmp_path):
    path = tmp_path / "cells.h5ad"
    anndata.AnnData(np.ones((3, 2))).write_h5ad(path)
    with pytest.raises(ParameterError, match="missing_values"):
        import_files(path, tmp_path / "cells.zarr", missing_values=-999)


def test_condition__on_a_column_that_is_kept_under_another_name_says_which(tmp_path):
    (tmp_path / "own.csv").write_text("kind,a\nx,1\ny,2\n")
    with pytest.raises(ConditionError, match=r"'kind'.*write label"):
        import_files(tmp_path / "own.csv", tmp_path / "o.zarr", label="kind", where="kind == 'x'")
    summary = import_files(
        tmp_path / "own.csv", tmp_path / "o.zarr", label="kind", where="label == 'x'"
    )
    assert summary.rows == 1

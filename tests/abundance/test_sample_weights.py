import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from bigtensor.abundance.sample_table import sample_table
from bigtensor.abundance.sample_weights import sample_weights, weights_of_counts
from bigtensor.cli.group_table import write_table
from bigtensor.errors import DataError, ParameterError

COUNTS = np.array([[90, 10, 0], [5, 5, 10], [1, 2, 3]])
NAMES = ["s10", "s2", "s1"]


def dataset():
    return weights_of_counts(COUNTS, NAMES, ["0", "1", "2"]).to_dataset()


def test_weights_of_counts__are_shares_in_natural_order():
    weights = weights_of_counts(COUNTS, NAMES, ["B", "T", "NK"])
    assert weights.samples == ("s1", "s2", "s10")
    assert weights.rows.tolist() == [6, 20, 100]
    np.testing.assert_array_equal(weights.counts(), COUNTS[::-1])
    assert weights.is_whole
    assert weights.standard_error[2, 0] == pytest.approx(0.03)


def test_sample_weights__read_the_table_that_predict_writes(tmp_path):
    table = dataset().drop_vars("population")
    write_table(table, tmp_path / "table.csv")
    weights = sample_weights(tmp_path / "table.csv")
    assert weights.samples == ("s1", "s2", "s10")
    assert (weights.level, weights.populations) == ("population", ("0", "1", "2"))
    np.testing.assert_allclose(weights.weight, table["weight"])
    np.testing.assert_allclose(weights.standard_error, table["standard_error"])
    np.testing.assert_array_equal(weights.rows, table["rows"])


def test_sample_weights__read_names_of_populations(tmp_path):
    (tmp_path / "table.csv").write_text(
        "sample_id,rows,CD4 T,'-CD8,CD4 T_error,'-CD8_error\n'=a,10,.25,.75,.1,.2\n"
    )
    weights = sample_weights(tmp_path / "table.csv")
    assert weights.samples == ("=a",)
    assert weights.populations == ("CD4 T", "-CD8")
    assert weights.standard_error.tolist() == [[0.1, 0.2]]


@pytest.mark.parametrize("has_errors", [True, False])
@pytest.mark.parametrize(
    ("names", "populations"),
    [
        (["CD4", "CD4_error", "2"], ("CD4", "CD4_error (1)", "2")),
        (["0", "population_0", "B"], ("0", "population_0 (1)", "B")),
        (["B", "population_0", "NK"], ("B", "population_0", "NK")),
        (["B", "-1", "+x"], ("B", "-1", "+x")),
        (["rows", "sample_id", "\nx"], ("rows (0)", "sample_id (1)", "\nx")),
        (["T", "B", "T"], ("T (0)", "B", "T (2)")),
        (["T", "T (2)", "T"], ("T (0)", "T (2) (1)", "T (2) (2)")),
    ],
)
def test_sample_weights__keep_all_populations_whatever_their_names(
    tmp_path, names, populations, has_errors
):
    table = dataset().drop_vars("population")
    table = table.assign_coords(population_name=("population", np.array(names, object)))
    if not has_errors:
        table = table.drop_vars("standard_error")
    write_table(table, tmp_path / "table.csv")
    weights = sample_weights(tmp_path / "table.csv")
    assert weights.populations == populations
    np.testing.assert_allclose(weights.weight, dataset()["weight"])
    np.testing.assert_allclose(weights.standard_error, dataset()["standard_error"], rtol=1e-8)


def test_sample_weights__of_a_table_changed_by_hand_are_known_by_their_names(tmp_path):
    (tmp_path / "table.csv").write_text(
        "donor,component_1,component_1_error,T,T_error,rows\na,.25,.1,.75,.2,10\n"
    )
    weights = sample_weights(tmp_path / "table.csv")
    assert (weights.level, weights.populations) == ("component", ("1", "T"))
    assert (weights.standard_error.tolist(), weights.rows.tolist()) == ([[0.1, 0.2]], [10])


@pytest.mark.parametrize(
    ("header", "words"),
    [("T,T,B", "'T'"), ("rows,T,B", "'rows'"), ("T,T_error,B", "'T_error'")],
)
def test_sample_weights__refuse_columns_that_cannot_be_told_apart(tmp_path, header, words):
    (tmp_path / "table.csv").write_text(f"sample_id,rows,{header}\na,10,.2,.3,.5\n")
    with pytest.raises(DataError, match=words):
        sample_weights(tmp_path / "table.csv")


def test_sample_weights__without_errors_have_those_of_counts():
    weights = sample_weights(dataset().drop_vars("standard_error"))
    np.testing.assert_allclose(weights.standard_error, dataset()["standard_error"])


@pytest.mark.parametrize(
    "table",
    [
        xr.Dataset({"weight": (("s", "p"), [[0.5, 0.5]])}),
        dataset().assign(weight=-dataset()["weight"]),
        dataset().assign(standard_error=dataset()["standard_error"] * np.nan),
        dataset().assign(rows=dataset()["rows"] * 0),
    ],
)
def test_sample_weights__refuse_what_are_no_weights(table):
    with pytest.raises(DataError):
        sample_weights(table)


@pytest.mark.parametrize("text", ["", "a,b\n", "sample_id,p\na,1\n", "sample_id,rows,p\na,1,x\n"])
def test_sample_weights__refuse_other_files(tmp_path, text):
    (tmp_path / "table.csv").write_text(text)
    with pytest.raises(DataError, match=r"table\.csv"):
        sample_weights(tmp_path / "table.csv")


@given(arrays(np.float64, (3, 5), elements=st.floats(0.001, 1)), st.integers(1, 10**6))
def test_counts__are_whole_and_sum_to_the_rows(shares, rows):
    shares /= shares.sum(axis=1, keepdims=True)
    table = xr.Dataset(
        {"weight": (("s", "p"), shares), "rows": ("s", [rows] * 3)}, {"s": list("abc")}
    )
    counts = sample_weights(table).counts()
    assert (counts.sum(axis=1) == rows).all()
    assert np.abs(counts - shares * rows).max() < 1


def test_weights_of_counts__refuse_other_shapes():
    with pytest.raises(DataError, match="3 samples"):
        weights_of_counts(COUNTS[:2], NAMES, list("abc"))
    with pytest.raises(DataError):
        weights_of_counts(COUNTS * 0, NAMES, list("abc"))


def test_sample_weights__number_populations_of_one_name():
    names = np.array(["T", "B", "T"], object)
    table = dataset().assign_coords(population_name=("population", names))
    assert sample_weights(table).populations == ("T (0)", "B", "T (2)")


def test_sample_weights__refuse_two_samples_of_one_name():
    with pytest.raises(DataError, match="same name"):
        sample_weights(dataset().assign_coords(sample_id=["a", "a", "b"]))


def test_tables__at_urls_and_of_other_kinds_are_refused_in_words():
    for read in (sample_weights, sample_table):
        with pytest.raises(ParameterError, match=r"s3://bucket/table\.csv"):
            read("s3://bucket/table.csv")
    with pytest.raises(DataError, match="DataFrame"):
        sample_weights(pd.DataFrame({"B": [0.5], "T": [0.5]}))


def test_tables__are_found_in_the_folder_of_the_user(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "samples.csv").write_text("sample,arm\na,x\nb,y\n")
    assert sample_table("~/samples.csv").columns["arm"] == ("x", "y")

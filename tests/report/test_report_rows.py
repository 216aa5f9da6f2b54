import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import xarray as xr

from bigtensor import KernelMixture
from bigtensor.data.opening import open_samples
from bigtensor.errors import DataError, LayoutError, ParameterError, StoreReadError, ViewError
from bigtensor.models.words.sampled_rows import Groups, read_windows
from bigtensor.report.rows import read_rows, windows
from bigtensor.statistics.densities.row_functions import Responsibilities
from tests.laws.small_model import Standardiser


@pytest.mark.parametrize(("rows", "size"), [(10, 20), (1000, 100), (100_000, 20_000), (7, 3)])
def test_windows__are_disjoint_spread_and_bounded(rows, size):
    found = windows(rows, size)
    positions = np.concatenate([np.arange(rows)[part] for part in found])
    assert len(found) <= 64
    assert np.all(np.diff(positions) > 0)
    assert min(rows, size) - 64 < len(positions) <= min(rows, size)
    assert positions[0] == 0
    assert positions[-1] == rows - 1


def test_read_rows__takes_rows_with_their_labels_and_groups(cell_model, cells_path, tmp_path):
    data = xr.open_zarr(cells_path, chunks=None).load()
    labels = (np.arange(30_000) % 4).astype(np.int32)
    store = tmp_path / "labels.zarr"
    xr.Dataset({"label": ("sample", labels)}).to_zarr(store, consolidated=False)
    rows = read_rows(cell_model, cells_path, store, sample_size=1280)
    taken = np.concatenate([np.arange(30_000)[part] for part in windows(30_000, 1280)])
    np.testing.assert_array_equal(rows.values, data["X"].to_numpy()[taken])
    np.testing.assert_array_equal(rows.label, labels[taken])
    np.testing.assert_array_equal(rows.truth.codes, data["label"].to_numpy()[taken])
    assert rows.truth.names == tuple(data["label"].attrs["categories"])
    assert rows.sample_id.names == ("sample1", "sample2", "sample3")
    assert (rows.total, rows.left_out) == (30_000, 0)


def test_read_rows__labels_the_sample_with_the_model(cell_model, cells_path):
    rows = read_rows(cell_model, str(cells_path), sample_size=640)
    probability = np.asarray(
        cell_model.predict_proba(
            xr.DataArray(
                rows.values,
                dims=("sample", "feature"),
                coords={"feature": list(cell_model.views_.feature_names)},
            )
        )
    )
    np.testing.assert_array_equal(rows.label, probability.argmax(axis=1))
    assert rows.certainty == pytest.approx(probability.max(axis=1))
    expected = np.bincount(rows.label, minlength=4) / len(rows.label)
    assert rows.shares(4) == pytest.approx(expected)


def test_read_rows__puts_features_in_the_order_of_the_views(wide_mixture, mixture_data):
    turned = mixture_data.isel(feature=[3, 2, 1, 0])
    rows = read_rows(wide_mixture, turned)
    np.testing.assert_array_equal(rows.values, mixture_data["X"].to_numpy())


def test_read_rows__counts_rows_with_missing_values(fitted_mixture, mixture_data):
    values = mixture_data["X"].to_numpy().copy()
    values[[5, 17], [0, 2]] = np.nan, np.inf
    rows = read_rows(fitted_mixture, mixture_data.assign(X=(("sample", "feature"), values)))
    assert rows.left_out == 2
    assert len(rows.label) == len(rows.truth.codes) == 5998
    np.testing.assert_array_equal(rows.values, np.delete(values, [5, 17], axis=0))


def test_read_rows__weighs_shares_by_sample_weights(fitted_mixture, mixture_data):
    label = np.asarray(fitted_mixture.predict(mixture_data))
    weight = np.where(label == 0, 3.0, 1.0)
    rows = read_rows(fitted_mixture, mixture_data.assign(weight=("sample", weight)))
    first = 3 * np.mean(label == 0)
    assert rows.shares(3)[0] == pytest.approx(first / (first + np.mean(label != 0)))


def test_read_rows__counts_all_labels_where_all_are_there(fitted_mixture, mixture_data):
    label = np.zeros(6000, np.int32)
    label[2:9] = 1
    label[-1] = -1
    sampled = read_rows(fitted_mixture, mixture_data, label, sample_size=640)
    assert sampled.counts_all_labels
    assert sampled.shares(3) == pytest.approx([5992 / 5999, 7 / 5999, 0.0])
    weight = np.where(label == 1, 10.0, 1.0)
    weighted = mixture_data.assign(weight=("sample", weight))
    halves = [weighted.isel(sample=part) for part in (slice(0, 100), slice(100, None))]
    for data in (weighted, halves):
        shares = read_rows(fitted_mixture, data, label, sample_size=640).shares(3)
        assert shares == pytest.approx([5992 / 6062, 70 / 6062, 0.0])
    assert not read_rows(fitted_mixture, mixture_data, sample_size=640).counts_all_labels


def test_read_rows__checks_labels_outside_the_sample(fitted_mixture, mixture_data):
    label = np.zeros(6000, np.int32)
    label[11] = 3
    with pytest.raises(DataError, match=r"run from 0 to 3.*components 0 to 2"):
        read_rows(fitted_mixture, mixture_data, label, sample_size=640)


def test_read_rows__takes_plain_arrays(mixture_data):
    values = mixture_data["X"].to_numpy()
    views = {"a": [2], "b": [0], "c": [3]}
    model = KernelMixture(3, views=views, random_state=0).fit(values)
    rows = read_rows(model, values, np.asarray(model.predict(values)))
    np.testing.assert_array_equal(rows.values, values[:, [2, 0, 3]])
    np.testing.assert_array_equal(rows.label, model.predict(values))


def test_read_rows__names_groups_of_text_and_of_bare_codes(fitted_mixture, mixture_data):
    donor = np.where(np.arange(6000) < 2000, "left", "right").astype(object)
    bare = mixture_data["label"].to_numpy().astype(np.int32)
    data = mixture_data.assign(sample_id=("sample", donor), label=("sample", bare))
    rows = read_rows(fitted_mixture, data)
    assert isinstance(rows.sample_id, Groups)
    assert rows.sample_id.names == ("left", "right")
    assert np.bincount(rows.sample_id.codes).tolist() == [2000, 4000]
    assert rows.truth.names == ("0", "1", "2")


def test_read_rows__refuses_labels_of_other_data(fitted_mixture, mixture_data):
    with pytest.raises(DataError, match=r"100 labels and 6,000 rows"):
        read_rows(fitted_mixture, mixture_data, np.zeros(100, np.int32))
    with pytest.raises(DataError, match=r"run from 0 to 7.*components 0 to 2"):
        read_rows(fitted_mixture, mixture_data, np.arange(6000, dtype=np.int32) % 8)
    with pytest.raises(DataError, match="no integer variable 'label'"):
        read_rows(fitted_mixture, mixture_data, xr.Dataset({"other": ("sample", np.zeros(6000))}))


def test_read_rows__says_what_is_wrong_with_the_data(fitted_mixture, mixture_data, tmp_path):
    with pytest.raises(StoreReadError, match="there is no store at"):
        read_rows(fitted_mixture, tmp_path / "none.zarr")
    first = str(mixture_data["feature"].values[0])
    with pytest.raises(ViewError, match=f"lacks features of the fit: .*{first}"):
        read_rows(fitted_mixture, mixture_data.isel(feature=[1, 2, 3]))
    with pytest.raises(LayoutError, match="the sample dimension 'sample'"):
        read_rows(fitted_mixture, mixture_data.rename(sample="cell"))
    with pytest.raises(DataError, match=r"7 features, .* expecting 4"):
        read_rows(fitted_mixture, np.zeros((5, 7)))
    with pytest.raises(DataError, match=r"all 6,000 sampled rows .*missing"):
        read_rows(fitted_mixture, mixture_data.assign(X=mixture_data["X"] * np.nan))
    with pytest.raises(ParameterError, match="sample_size is 0"):
        read_rows(fitted_mixture, mixture_data, sample_size=0)


def test_read_rows__labels_are_populations_where_there_are_any(merged_model, cells_path, tmp_path):
    labels = merged_model.write(cells_path, tmp_path / "labels.zarr")
    given = read_rows(merged_model, cells_path, labels, sample_size=1000)
    found = read_rows(merged_model, cells_path, sample_size=1000)
    np.testing.assert_array_equal(given.label, found.label)
    assert set(found.label) == {0, 1, 2, 3}
    assert found.shares(4) == pytest.approx(merged_model.population_weights_, abs=0.05)
    with pytest.raises(DataError, match=r"from 29 to 29, .* populations 0 to 3"):
        read_rows(merged_model, cells_path, np.full(30_000, 29, np.int32))


def test_read_rows__takes_classes_of_a_named_variable(fitted_mixture, mixture_data):
    names = np.where(np.arange(6000) % 3 == 0, "T cell", "B cell").astype(object)
    names[:5] = "", " ", None, np.nan, "T cell"
    codes = (np.arange(6000) % 2) * 1_000_000_007 - 4
    data = mixture_data.assign(gate=("sample", names), number=("sample", codes))
    truth = read_rows(fitted_mixture, data, truth="gate").truth
    assert truth.names == ("B cell", "T cell")
    assert truth.codes[:6].tolist() == [-1, -1, -1, -1, 1, 0]
    # negative codes stand for none, and large ones need no list as long
    truth = read_rows(fitted_mixture, data, truth="number").truth
    assert truth.names == ("1000000003",)
    assert truth.codes[:4].tolist() == [-1, 0, -1, 0]


def test_read_rows__refuses_a_truth_before_any_work(mixture_data, fitted_mixture, monkeypatch):
    def no_work(*_):
        raise AssertionError("rows were read or labelled")

    monkeypatch.setattr("bigtensor.report.rows._take", no_work)
    monkeypatch.setattr("bigtensor.report.rows.read_windows", no_work)
    data = mixture_data.assign(score=("sample", np.zeros(6000)))
    with pytest.raises(ParameterError, match=r"'gate' .*; name one of label"):
        read_rows(fitted_mixture, data, truth="gate")
    with pytest.raises(ParameterError, match=r"'score' holds float64 .*integers"):
        read_rows(fitted_mixture, data, truth="score")
    with pytest.raises(ParameterError, match=r"'X' holds float.*name one of label"):
        read_rows(fitted_mixture, data, truth="X")
    with pytest.raises(ParameterError, match="the data have no such variable"):
        read_rows(fitted_mixture, data["X"], truth="label")


def test_read_rows__refuses_a_truth_without_any_class(fitted_mixture, mixture_data, monkeypatch):
    monkeypatch.setattr("bigtensor.report.rows.row_answers", None)
    data = mixture_data.assign(gate=("sample", np.full(6000, -1)))
    with pytest.raises(DataError, match="no sampled row has a class in 'gate'"):
        read_rows(fitted_mixture, data, truth="gate")


def test_read_rows__evaluates_every_row_once(merged_model, cells_path, monkeypatch):
    evaluated = []
    evaluate = Responsibilities.evaluate

    def counted(self, block, out, work):
        evaluated.append((block.rows, self.names))
        evaluate(self, block, out, work)

    monkeypatch.setattr(Responsibilities, "evaluate", counted)
    rows = read_rows(merged_model, cells_path, sample_size=1280)
    assert evaluated == [(len(rows.label), ("label", "probability"))]


@pytest.mark.parametrize("kind", ["several", "lazy", "lazy array", "table", "samples"])
def test_read_rows__takes_what_a_fit_takes(kind, mixture_data, fitted_mixture):
    whole = mixture_data.drop_vars(["label"])
    first, second = (whole.isel(sample=part) for part in (slice(0, 2500), slice(2500, None)))
    names = [str(name) for name in whole["feature"].values]
    data = {
        "several": lambda: [first, second],
        "lazy": lambda: mixture_data.chunk(sample=700),
        "lazy array": lambda: whole["X"].chunk(sample=700).data,
        "table": lambda: pd.DataFrame(whole["X"].to_numpy(), columns=names),
        "samples": lambda: open_samples(whole),
    }[kind]()
    rows = read_rows(fitted_mixture, data, sample_size=640)
    expected = read_rows(fitted_mixture, mixture_data, sample_size=640)
    np.testing.assert_array_equal(rows.values, expected.values)
    np.testing.assert_array_equal(rows.label, expected.label)
    np.testing.assert_array_equal(rows.probability, expected.probability)
    # known classes are read where they lie beside the rows
    assert (rows.truth is None) == (kind != "lazy")


def test_read_windows__keep_rows_of_missing_codes_that_are_summed_over():
    codes = np.array([[0, 1], [-1, 0], [1, 1], [0, -1]], np.int32)
    samples = open_samples(codes)
    for marginalised, kept in ((False, [True, False, True, False]), (True, [True] * 4)):
        parts = [slice(0, 2), slice(2, 4)]
        rows, valid = read_windows(samples, parts, marginalised=marginalised)
        np.testing.assert_array_equal(rows.values, codes)
        assert valid.tolist() == kept


def test_read_rows__refuses_labels_for_a_model_without_any(mixture_data):
    model = Standardiser().fit(mixture_data)
    rows = read_rows(model, mixture_data, sample_size=640)
    assert not hasattr(rows, "label")
    assert len(rows.truth.names) == 3
    with pytest.raises(ParameterError, match="a Standardiser gives no labels"):
        read_rows(model, mixture_data, np.zeros(6000, np.int32))


def test_read_windows__of_sparse_rows_stay_sparse():
    counts = sp.random(900, 30, 0.1, "csr", np.float32, random_state=0)
    counts.data = np.ceil(counts.data)
    halves = open_samples([counts[:400], counts[400:]])
    rows, valid = read_windows(halves, [slice(10, 20), slice(390, 410), slice(800, 900)])
    assert valid.all()
    assert sp.issparse(rows.values)
    expected = counts.toarray()[[*range(10, 20), *range(390, 410), *range(800, 900)]]
    np.testing.assert_array_equal(rows.values.toarray(), expected)


def test_labels__samples_without_a_name_are_in_no_stretch(fitted_mixture, mixture_data):
    codes = np.arange(6000) // 2000
    names = xr.DataArray(codes.astype(np.int32), dims="sample", attrs={"categories": ["a"]})
    data = mixture_data.assign(sample_id=names)
    label = np.zeros(6000, int)
    label[300:350] = 1
    assert read_rows(fitted_mixture, data, label).stretches[0].sample == "a"
    label[300:350] = 0
    label[2100:2150] = 1
    assert read_rows(fitted_mixture, data, label).stretches == ()


@pytest.mark.filterwarnings("ignore::zarr.errors.UnstableSpecificationWarning")
@pytest.mark.filterwarnings("ignore::zarr.errors.ZarrUserWarning")
@pytest.mark.parametrize("stored", [False, True])
@pytest.mark.parametrize("where", [None, "sample_id != 'ann' and view1 > 0"])
def test_read_rows__of_opened_samples_have_their_groups_and_classes(
    fitted_mixture, mixture_data, tmp_path, stored, where
):
    rows = mixture_data.sizes["sample"]
    donor = xr.DataArray(np.arange(rows, dtype="int32") % 3, dims="sample")
    data = mixture_data.assign(sample_id=donor.assign_attrs(categories=["ann", "bob", "cyd"]))
    if stored:
        data.to_zarr(tmp_path / "cells.zarr")
    opened = open_samples(tmp_path / "cells.zarr" if stored else data, where=where)
    kept = data
    if where is not None:
        first = data["X"].sel(feature="view1")
        kept = data.isel(sample=np.flatnonzero((donor != 0) & (first > 0)))
    one, other = read_rows(fitted_mixture, opened), read_rows(fitted_mixture, kept)
    for name in ("sample_id", "truth"):
        mine, expected = getattr(one, name), getattr(other, name)
        assert mine.names == expected.names
        np.testing.assert_array_equal(mine.codes, expected.codes)
    np.testing.assert_array_equal(one.label, other.label)

"""Sequences that are given beside the data: the same answers in every container."""

import warnings
from pathlib import Path
from typing import Any

import anndata
import dask.array as da
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from sklearn.base import clone

import bigtensor
from bigtensor import HiddenMarkovModel, open_samples, simulate
from bigtensor.data.importers.files import import_files
from bigtensor.data.rows import row_sequences
from bigtensor.errors import (
    DataError,
    IdentifiabilityError,
    MissingValueError,
    MissingValueWarning,
    ParameterError,
    SequenceWarning,
)

LENGTHS = [900, 100, 1, 2, 1997, 3000]
IDS = np.repeat([4, 9, 2, 7, 1, 30], LENGTHS)
NAMES = np.repeat(["d", "z", "b", "g", "a", "k"], LENGTHS)


@pytest.fixture(scope="module")
def sequences() -> xr.Dataset:
    data = simulate.hidden_markov(6000, 2, 4, stay=0.6, random_state=1)
    return data.assign(sequence=("sample", IDS))


@pytest.fixture(scope="module")
def codes(sequences: xr.Dataset) -> np.ndarray:
    return sequences["X"].to_numpy()


@pytest.fixture(scope="module")
def model(sequences: xr.Dataset) -> HiddenMarkovModel:
    return HiddenMarkovModel(2, random_state=0).fit(sequences)


@pytest.fixture(scope="module")
def plain(codes: np.ndarray) -> HiddenMarkovModel:
    """The same model of an array, whose feature has no name."""
    return HiddenMarkovModel(2, random_state=0).fit(codes, lengths=LENGTHS)


def events(codes: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame({"subject_id": NAMES, "event": np.array([*"abcd"])[codes[:, 0]]})


def check_same(fitted: HiddenMarkovModel, model: HiddenMarkovModel) -> None:
    np.testing.assert_array_equal(fitted.transition_, model.transition_)
    np.testing.assert_array_equal(fitted.emission_, model.emission_)
    np.testing.assert_array_equal(fitted.initial_, model.initial_)


@pytest.mark.slow  # lengths alone are quick
def test_arrays__with_lengths_or_ids(
    sequences: xr.Dataset, codes: np.ndarray, model: HiddenMarkovModel, plain: HiddenMarkovModel
) -> None:
    together = HiddenMarkovModel(2, random_state=0).fit(codes)
    assert np.abs(together.transition_ - model.transition_).max() > 1e-6
    for order in ({"lengths": LENGTHS}, {"sequence": IDS}, {"sequence": NAMES}):
        fitted = HiddenMarkovModel(2, random_state=0)
        path = fitted.fit_predict(codes, **order)
        check_same(fitted, model)
        np.testing.assert_array_equal(plain.predict(codes, **order), path)
        assert isinstance(path, np.ndarray)
        np.testing.assert_array_equal(path, model.predict(sequences))
        np.testing.assert_array_equal(
            plain.predict_proba(codes, **order), model.predict_proba(sequences)
        )
        np.testing.assert_array_equal(
            plain.score_samples(codes, **order), model.score_samples(sequences)
        )
        np.testing.assert_array_equal(
            plain.predict_next(codes, **order), model.predict_next(sequences)
        )
        assert plain.score(codes, **order) == model.score(sequences)


def test_lengths_as_second_argument__are_taken_as_hmmlearn_takes_them(
    codes: np.ndarray, plain: HiddenMarkovModel
) -> None:
    check_same(HiddenMarkovModel(2, random_state=0).fit(codes, LENGTHS), plain)
    for name in ("predict", "predict_proba", "score_samples", "score", "predict_next"):
        method = getattr(plain, name)
        np.testing.assert_array_equal(method(codes, LENGTHS), method(codes, lengths=LENGTHS))
    fitted = HiddenMarkovModel(2, random_state=0)
    path = fitted.fit_predict(codes, np.array(LENGTHS))
    check_same(fitted, plain)
    np.testing.assert_array_equal(path, plain.predict(codes, lengths=LENGTHS))


def test_second_argument__is_labels_of_all_rows_or_an_error(
    codes: np.ndarray, sequences: xr.Dataset, tmp_path: Path
) -> None:
    together = HiddenMarkovModel(2, random_state=0).fit(codes)
    for labels in (np.arange(6000) % 2, [*map(str, codes[:, 0])], np.zeros((6000, 2))):
        check_same(HiddenMarkovModel(2, random_state=0).fit(codes, labels), together)
        assert together.score(codes, labels) == together.score(codes)
    for other in ([1, 2], [3000.0, 3000.0], np.ones((2, 6000)), "label", 6000):
        for call in (HiddenMarkovModel(2).fit, together.score, HiddenMarkovModel(2).fit_predict):
            with pytest.raises(ParameterError, match=r"y has the shape .* lengths"):
                call(codes, other)
    path = tmp_path / "steps.zarr"
    sequences[["X"]].drop_vars("feature").drop_attrs().to_zarr(
        path, zarr_format=3, consolidated=False
    )
    with pytest.raises(DataError, match="data in memory"):
        HiddenMarkovModel(2).fit(path, LENGTHS)


def test_ones_as_second_argument__are_worth_a_warning(
    codes: np.ndarray, plain: HiddenMarkovModel
) -> None:
    # as many ones as rows add up to the rows, and are labels
    with pytest.warns(SequenceWarning, match=r"one sequence.* lengths"):
        assert plain.score(codes, [1] * len(codes)) == plain.score(codes)
    with warnings.catch_warnings():
        warnings.simplefilter("error", SequenceWarning)
        plain.score(codes, [0] * len(codes))


def test_ids_as_second_argument__are_worth_a_warning(
    codes: np.ndarray, plain: HiddenMarkovModel
) -> None:
    fits = HiddenMarkovModel(2, max_iter=1, refine="triples", random_state=0)
    for call in (fits.fit, fits.fit_predict):
        with pytest.warns(SequenceWarning, match=r"6 values.* sequence"):
            call(codes, IDS)
    for ids in (IDS, NAMES, IDS.tolist(), da.from_array(IDS, chunks=1000)):
        with pytest.warns(SequenceWarning, match=r"6 values.* sequence"):
            plain.score(codes, ids)
        for method in (plain.score_samples, plain.predict_next, plain.predict):
            with pytest.raises(ParameterError, match=r"lengths .* sequence"):
                method(codes, ids)


@pytest.mark.parametrize(
    "labels",
    [
        pd.Series(["a", pd.NA] * 3000, dtype="string"),
        np.repeat(np.array(["2020-01-01", "2020-01-02", "2020-01-01"], "M8[ns]"), 2000),
        np.arange(6000.0),
    ],
)
def test_labels__that_cannot_be_ids_are_no_worry(codes: np.ndarray, labels: object) -> None:
    fits = HiddenMarkovModel(2, max_iter=1, refine="triples", random_state=0)
    fits.fit(codes, labels)


def test_labels_as_second_argument__are_ignored_as_pipelines_ask(
    codes: np.ndarray, plain: HiddenMarkovModel
) -> None:
    score = plain.score(codes)
    for labels in (codes[:, 0], np.arange(6000.0), np.full(6000, "a"), IDS[:, None] * [1, 1]):
        assert plain.score(codes, labels) == score


def test_lazy_arrays__have_lazy_answers(
    sequences: xr.Dataset, codes: np.ndarray, model: HiddenMarkovModel, plain: HiddenMarkovModel
) -> None:
    lazy = da.from_array(codes, chunks=(700, 1))
    for order in ({"lengths": LENGTHS}, {"sequence": da.from_array(IDS, chunks=1000)}):
        path = plain.predict(lazy, **order)
        assert isinstance(path, da.Array)
        assert path.chunks[0] == lazy.chunks[0]
        np.testing.assert_array_equal(path.compute(), model.predict(sequences))
        assert plain.score(lazy, **order) == pytest.approx(model.score(sequences), rel=1e-12)


@pytest.mark.parametrize("chunks", [None, 650])
@pytest.mark.quick_cases("None")
def test_datasets__with_the_name_of_a_variable(
    sequences: xr.Dataset, model: HiddenMarkovModel, chunks: int | None
) -> None:
    named = sequences.drop_vars("sequence").assign(who=("sample", NAMES))
    data = named if chunks is None else named.chunk(sample=chunks)
    fitted = HiddenMarkovModel(2, random_state=0).fit(data, sequence="who")
    np.testing.assert_allclose(fitted.emission_, model.emission_, rtol=1e-9)
    path = model.predict(data, sequence="who")
    assert path.dims == ("sample",)
    assert (path.chunks is None) == (chunks is None)
    np.testing.assert_array_equal(path, model.predict(sequences))
    scores = model.score_samples(data, sequence="who")
    np.testing.assert_allclose(scores, model.score_samples(sequences), rtol=1e-12)
    if chunks is None:
        assert scores["sequence"].to_numpy().tolist() == [*"dzbgak"]
    np.testing.assert_array_equal(scores["steps"], LENGTHS)


def test_a_long_table__with_the_name_of_a_column(
    sequences: xr.Dataset, codes: np.ndarray, model: HiddenMarkovModel
) -> None:
    table = events(codes)
    fitted = HiddenMarkovModel(2, random_state=0).fit(table, sequence="subject_id")
    check_same(fitted, model)
    assert fitted.n_features_in_ == 1
    assert fitted.categories_ == {"event": ("a", "b", "c", "d")}
    np.testing.assert_array_equal(fitted.feature_names_in_, ["event"])
    path = fitted.predict(table, sequence="subject_id")
    np.testing.assert_array_equal(path, model.predict(sequences))
    assert fitted.score(table, sequence="subject_id") == model.score(sequences)
    categorical = table.astype({"event": "category", "subject_id": "category"})
    check_same(HiddenMarkovModel(2, random_state=0).fit(categorical, sequence="subject_id"), model)


def test_anndata__with_the_name_of_a_column_of_obs(
    sequences: xr.Dataset, codes: np.ndarray, model: HiddenMarkovModel, plain: HiddenMarkovModel
) -> None:
    obs = pd.DataFrame({"who": NAMES}, index=[str(row) for row in range(len(NAMES))])
    rows = anndata.AnnData(codes.astype(np.int32), obs=obs)
    np.testing.assert_array_equal(plain.predict(rows, sequence="who"), model.predict(sequences))


@pytest.mark.parametrize("ending", ["csv", pytest.param("parquet", marks=pytest.mark.slow)])
@pytest.mark.slow  # a long table is quick
def test_imported_tables__keep_sequences_and_their_names(
    codes: np.ndarray, plain: HiddenMarkovModel, tmp_path: Path, ending: str
) -> None:
    table = events(codes)
    path = tmp_path / f"events.{ending}"
    (table.to_csv if ending == "csv" else table.to_parquet)(path, index=False)
    store = str(tmp_path / "events.zarr")
    import_files(path, store, codes=True, sequence="subject_id")
    fitted = HiddenMarkovModel(2, random_state=0).fit(store)
    assert fitted.diagnostics_["sequences"] == 6
    assert fitted.score(store) == pytest.approx(plain.score(codes, lengths=LENGTHS), rel=1e-9)
    assert fitted.score_samples(store)["sequence"].to_numpy().tolist() == [*"dzbgak"]
    as_dataset = xr.open_zarr(store, chunks=None)
    assert fitted.score_samples(as_dataset)["sequence"].to_numpy().tolist() == [*"dzbgak"]
    again = HiddenMarkovModel(2, random_state=0).fit(store, sequence="sample_id")
    assert again.diagnostics_["sequences"] == 1


def test_opened_samples__are_planned_and_written_in_their_sequences(
    sequences: xr.Dataset, codes: np.ndarray, plain: HiddenMarkovModel, tmp_path: Path
) -> None:
    samples = open_samples(codes, lengths=LENGTHS)
    assert plain.plan(samples).rows == 6000
    out = plain.write(samples, tmp_path / "states.zarr")
    with xr.open_zarr(out) as found:
        np.testing.assert_array_equal(found["label"], plain.predict(sequences))


def test_ids_that_come_back__are_a_warning_with_counts(codes: np.ndarray) -> None:
    back = np.repeat([1, 2, 1, 3, 2, 5], 1000)
    with pytest.warns(SequenceWarning, match="2 of 4 ids of sequences come back") as warned:
        model = HiddenMarkovModel(2, random_state=0).fit(codes, sequence=back)
    assert len(warned) == 1
    assert model.diagnostics_["sequence_ids_that_come_back"] == 2
    assert model.diagnostics_["sequences"] == 6
    assert not model.diagnostics_["verdict"]["good"]
    (sentence,) = model.diagnostics_["verdict"]["sentences"]
    assert "come back" in sentence
    assert sentence.endswith(".")
    with pytest.warns(SequenceWarning, match="every run .* sequence of its own"):
        assert model.score_samples(codes, sequence=back).shape == (6,)


@pytest.mark.parametrize("answer", ["predict", "predict_proba", "score_samples", "predict_next"])
@pytest.mark.parametrize("container", ["array", "names", "dataset"])
def test_ids_that_come_back__are_the_same_warning_in_every_answer(
    codes: np.ndarray,
    sequences: xr.Dataset,
    model: HiddenMarkovModel,
    plain: HiddenMarkovModel,
    answer: str,
    container: str,
) -> None:
    back = np.repeat([1, 2, 1, 3, 2, 5], 1000)
    data = sequences.assign(sequence=("sample", back))
    given: dict[str, tuple[HiddenMarkovModel, Any, dict[str, Any]]] = {
        "array": (plain, codes, {"sequence": back}),
        "names": (plain, codes, {"sequence": back.astype(str)}),
        "dataset": (model, data, {}),
    }
    fitted, X, order = given[container]
    with pytest.warns(SequenceWarning, match="2 of 4 ids of sequences come back") as warned:
        getattr(fitted, answer)(X, **order)
    assert len(warned) == 1


@pytest.mark.filterwarnings("ignore:The data type:FutureWarning")
def test_scores_of_sequences__have_their_names_wherever_they_are_stored(
    codes: np.ndarray, plain: HiddenMarkovModel, tmp_path: Path
) -> None:
    ids = ("sample", NAMES.astype(np.dtypes.StringDType()))
    rows = xr.Dataset({"X": (("sample", "feature"), codes), "sequence": ids})
    rows.to_zarr(tmp_path / "named.zarr", consolidated=False)
    expected = plain.score_samples(rows)
    assert expected["sequence"].to_numpy().tolist() == ["d", "z", "b", "g", "a", "k"]
    for given in (rows.chunk({"sample": 700}), tmp_path / "named.zarr"):
        found = plain.score_samples(given)
        assert found["sequence"].to_numpy().tolist() == expected["sequence"].to_numpy().tolist()
        np.testing.assert_allclose(found, expected)


@pytest.mark.filterwarnings("ignore:The data type:FutureWarning")
@pytest.mark.parametrize("kind", [np.int64, np.dtypes.StringDType()])
@pytest.mark.parametrize("rows_at_once", [700, 1000, 2**20])
@pytest.mark.quick_cases("700-int64", "1048576-kind1")
def test_ids_that_come_back__are_told_by_write(
    codes: np.ndarray,
    plain: HiddenMarkovModel,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    rows_at_once: int,
    kind: Any,
) -> None:
    monkeypatch.setattr(row_sequences, "ROWS_OF_IDS", rows_at_once)
    for name, ids in (("back", [1, 2, 1, 3, 2, 5]), ("in_order", [1, 2, 3, 4, 5, 6])):
        rows = {
            "X": (("sample", "feature"), codes),
            "sequence": ("sample", np.repeat(ids, 1000).astype(kind)),
        }
        xr.Dataset(rows).to_zarr(tmp_path / f"{name}.zarr", consolidated=False)
    with pytest.warns(SequenceWarning, match="2 of 4 ids of sequences come back") as warned:
        plain.write(tmp_path / "back.zarr", tmp_path / "states.zarr")
    assert sum(issubclass(warning.category, SequenceWarning) for warning in warned) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error", SequenceWarning)
        plain.write(tmp_path / "in_order.zarr", tmp_path / "others.zarr")


def test_a_table_of_pyarrow__with_the_name_of_a_column(
    codes: np.ndarray, plain: HiddenMarkovModel
) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table({"subject_id": NAMES, "event": codes[:, 0]})
    fitted = HiddenMarkovModel(2, random_state=0).fit(table, sequence="subject_id")
    check_same(fitted, plain)
    with pytest.raises(DataError, match=r"'who' .*\['subject_id', 'event'\]"):
        plain.fit(table, sequence="who")


@pytest.mark.slow  # two data sets are quick in tests of answers
def test_equal_ids_at_the_border_of_two_data_sets__neither_join_nor_come_back(
    sequences: xr.Dataset, codes: np.ndarray
) -> None:
    same = np.zeros(3000, np.int64)
    parts = [sequences.isel(sample=slice(first, first + 3000)) for first in (0, 3000)]
    parts = [part.assign(sequence=("sample", same)) for part in parts]
    model = HiddenMarkovModel(2, random_state=0).fit(parts)
    assert model.diagnostics_["sequences"] == 2
    at_once = HiddenMarkovModel(2, random_state=0).fit(codes, lengths=[3000, 3000])
    np.testing.assert_allclose(model.emission_, at_once.emission_, rtol=1e-9)
    assert model.score_samples(parts).shape == (2,)


def test_sequences_of_one_row__give_no_triple(codes: np.ndarray) -> None:
    with pytest.warns(SequenceWarning, match="600 of 603 sequences have one row"):
        model = HiddenMarkovModel(2, random_state=0).fit(
            codes, lengths=[1] * 600 + [2000, 2000, 1400]
        )
    assert model.diagnostics_["sequences_of_one_row"] == 600
    assert not model.diagnostics_["verdict"]["good"]
    assert model.diagnostics_["triples"] == 5400 - 6
    assert model.score_samples(codes, lengths=[1] * 6000).shape == (6000,)
    for length, sequences in ((1, "6,000"), (2, "3,000")):
        with pytest.raises(DataError, match=f"no sequence has three .*sequences: {sequences}"):
            HiddenMarkovModel(2).fit(codes, lengths=[length] * (6000 // length))


def test_rows_that_are_left_out__cut_sequences_at_places_that_are_counted(
    codes: np.ndarray,
) -> None:
    gaps = codes.copy()
    # two rows behind each other cut once; the first rows of a sequence cut nothing
    gaps[[10, 11, 500, 900, 1003, 4000]] = -1
    with pytest.warns(MissingValueWarning, match="which cuts sequences at 3 places"):
        model = HiddenMarkovModel(2, missing="omit", random_state=0).fit(gaps, lengths=LENGTHS)
    assert model.diagnostics_["rows_left_out"] == 6


def test_codes_out_of_range__are_refused_at_prediction(
    codes: np.ndarray, plain: HiddenMarkovModel
) -> None:
    unknown = codes.copy()
    unknown[3] = 5
    with pytest.warns(MissingValueWarning, match="the fit did not have: '5' of"):
        path = plain.predict(unknown, lengths=LENGTHS)
    # what its neighbours say of it
    assert path[3] >= 0
    lazy = da.from_array(unknown, chunks=(1000, 1))
    with pytest.raises(DataError, match="code 5, but its 4 categories"):
        plain.predict(lazy, lengths=LENGTHS).compute()
    unknown[3] = -7
    with pytest.raises(MissingValueError, match="row 3"):
        plain.predict(unknown, lengths=LENGTHS)


def test_an_alphabet_smaller_than_the_states__is_refused(codes: np.ndarray) -> None:
    with pytest.raises(IdentifiabilityError, match=r"n_components=5 states.* has 4"):
        HiddenMarkovModel(5).fit(codes, lengths=LENGTHS)


@pytest.mark.parametrize("method", ["fit", "predict", "predict_proba", "score", "score_samples"])
def test_wrong_lengths__are_refused_by_every_method(
    codes: np.ndarray, plain: HiddenMarkovModel, method: str
) -> None:
    call: Any = getattr(plain, method)
    with pytest.raises(ParameterError, match="adds up to 3 rows in 2 sequences"):
        call(codes, lengths=[1, 2])
    with pytest.raises(ParameterError, match="both say where sequences end"):
        call(codes, lengths=LENGTHS, sequence=IDS)


@pytest.mark.slow  # a law on every model
def test_a_checkpoint__continues_a_fit_of_the_same_sequences_only(
    codes: np.ndarray, tmp_path: Path
) -> None:
    checkpoint = tmp_path / "parts"
    model = HiddenMarkovModel(2, max_iter=2, random_state=0)
    expected = clone(model).fit(codes, lengths=LENGTHS)
    for _ in range(2):
        found = clone(model).fit(codes, lengths=LENGTHS, checkpoint=checkpoint)
    check_same(found, expected)
    assert all(entry["reused_parts"] for entry in found.diagnostics_["passes"])
    other = clone(model).fit(codes, checkpoint=checkpoint)
    assert not any(entry["reused_parts"] for entry in other.diagnostics_["passes"])


def test_loading__keeps_what_was_said_of_sequences(
    model: HiddenMarkovModel, tmp_path: Path
) -> None:
    loaded = bigtensor.load(model.save(tmp_path / "model.zarr"))
    assert loaded.diagnostics_["sequence_ids_that_come_back"] == 0
    assert loaded.diagnostics_["sequences_of_one_row"] == 1


@pytest.mark.parametrize("chunks", [None, {}])
@pytest.mark.quick_cases("None")
def test_ids_with_an_integer_marker__stay_integers(
    sequences: xr.Dataset, chunks: dict[str, int] | None, tmp_path: Path
) -> None:
    """xarray decodes integers with a marker of missing values to floats."""
    store = tmp_path / "steps.zarr"
    unnamed = sequences[["X", "sequence"]].drop_vars("feature")
    unnamed["X"].attrs["categories"] = {"x0": [*"abcd"]}
    unnamed.to_zarr(store, encoding={"sequence": {"_FillValue": -1}}, consolidated=False)
    opened = xr.open_zarr(store, chunks=chunks, consolidated=False)
    assert opened["sequence"].dtype == np.float64
    model = HiddenMarkovModel(2, max_iter=1, random_state=0).fit(unnamed)
    for data in (store, opened):
        scores = model.score_samples(data)
        assert scores["sequence"].to_numpy().tolist() == [4, 9, 2, 7, 1, 30]
        again = HiddenMarkovModel(2, max_iter=1, random_state=0).fit(data, sequence="sequence")
        np.testing.assert_allclose(again.transition_, model.transition_, atol=1e-10)


def test_ids_at_their_marker__are_missing(sequences: xr.Dataset, tmp_path: Path) -> None:
    store = tmp_path / "steps.zarr"
    unnamed = sequences[["X", "sequence"]].drop_vars("feature")
    unnamed["X"].attrs["categories"] = {"x0": [*"abcd"]}
    unnamed.to_zarr(store, encoding={"sequence": {"_FillValue": 9}}, consolidated=False)
    with pytest.raises(DataError, match="100 rows have no id"):
        HiddenMarkovModel(2).fit(store)


def dated(codes: np.ndarray, *, lazy: bool) -> xr.DataArray:
    """Six thousand rows as three stations with two thousand dates each."""
    dates = np.datetime64("2020-01-01") + np.arange(2000)
    rows = xr.DataArray(
        codes.reshape(3, 2000, 1),
        {"station": ["a", "b", "c"], "time": dates.astype("M8[ns]"), "feature": ["event"]},
        ("station", "time", "feature"),
        attrs={"categories": {"event": [*"abcd"]}},
    )
    return rows.chunk(time=500) if lazy else rows


@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize(
    ("dims", "sequence", "count"),
    [
        (("station", "time"), "station", 0),
        (("station", "time"), None, 2),
        (("time", "station"), None, 4000),
    ],
)
def test_dates__that_do_not_ascend_are_warned_of(
    codes: np.ndarray, dims: tuple[str, str], sequence: str | None, count: int, lazy: bool
) -> None:
    rows = dated(codes, lazy=lazy).stack(sample=dims)
    ids = None if sequence is None else rows[sequence]
    model = HiddenMarkovModel(2, refine="triples", random_state=0)
    for method in (model.fit, model.score):
        with warnings.catch_warnings(record=True) as record:
            # neighbours of shuffled rows say nothing of the states
            warnings.simplefilter("always")
            method(rows, sequence=ids)
        texts = [str(one.message) for one in record if issubclass(one.category, SequenceWarning)]
        assert len(texts) == bool(count)
        assert all(f" {count:,} of 6,000 rows" in text for text in texts)


@pytest.mark.parametrize("calendar", ["standard", "noleap"])
def test_dates__that_go_back_are_warned_of_in_answers(codes: np.ndarray, calendar: str) -> None:
    if calendar == "noleap":
        pytest.importorskip("cftime", reason="dates of other calendars need cftime")
    dates = xr.date_range("2020-01-01", periods=2000, calendar=calendar)
    rows = xr.DataArray(codes[:2000], {"time": dates}, ("time", "feature"))
    model = HiddenMarkovModel(2, refine="triples", sample_dim="time", random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", SequenceWarning)
        model.fit(rows).predict(rows)
        # two events of a date are in order
        model.predict(rows.assign_coords(time=dates[np.arange(2000) // 2]))
    with pytest.warns(SequenceWarning, match="1,999 of 2,000 rows"):
        model.predict(rows[::-1])


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("spans", [pd.date_range, pd.period_range])
@pytest.mark.quick_cases("date_range-False", "period_range-True")
def test_dates__of_a_table_that_go_back_are_warned_of(
    codes: np.ndarray, named: bool, spans: Any
) -> None:
    dates = spans("2020-01-01", periods=2000, name="time", freq="D")
    table = pd.DataFrame({"event": codes[:2000].ravel()}, dates)
    table = table.astype("string") if named else table
    nights = table.assign(animal=np.repeat(["a", "b"], 1000))
    model = HiddenMarkovModel(2, refine="triples", random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", SequenceWarning)
        model.fit(nights, sequence="animal").predict(nights[::-1].sort_index(), sequence="animal")
    shuffled = nights.sample(frac=1, random_state=0).sort_values("animal", kind="stable")
    with pytest.warns(SequenceWarning, match="dates .* of 2,000 rows"):
        model.fit(shuffled, sequence="animal")
    with pytest.raises(DataError, match=r"no column 'time' .*\.reset_index\("):
        model.fit(nights, sequence="time")

"""Arrays of any type of numbers and names are read as what the model takes."""

from pathlib import Path

import dask.array as da
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from numpy.testing import assert_array_equal
from sklearn.preprocessing import OrdinalEncoder

from bigtensor import (
    DiscreteMixture,
    GaussianMixture,
    HiddenMarkovModel,
    TensorTrainDensity,
    TensorTrainOptions,
    TripleHistogramClassifier,
    simulate,
)
from bigtensor.errors import DataError, MissingValueError, MissingValueWarning
from bigtensor.testing import small_data

MEASURED = np.rint(10 * np.asarray(small_data("measured"))).astype(np.int16)
SYMBOLS = simulate.hidden_markov(2000, 2, 3, stay=0.6, random_state=2)["X"].to_numpy()
CODES = np.asarray(small_data("codes"))
NAMES = np.array(["low", "middle", "none"])[CODES]


def mixture() -> GaussianMixture:
    return GaussianMixture(2, max_iter=3, random_state=0)


@pytest.mark.parametrize(
    ("dtype", "read_as"),
    [
        ("int8", "float32"),
        ("int16", "float32"),
        (">i2", "float32"),
        ("float16", "float32"),
        ("int32", "float64"),
        ("int64", "float64"),
    ],
)
@pytest.mark.quick_cases(">i2-float32", "int64-float64")
def test_measured_model__reads_numbers_as_floats_that_hold_them(dtype: str, read_as: str) -> None:
    values = MEASURED.astype(dtype)
    found, expected = mixture().fit(values), mixture().fit(values.astype(read_as))
    assert_array_equal(found.means_, expected.means_)
    assert_array_equal(found.predict(values), expected.predict(MEASURED.astype("float64")))


@pytest.mark.slow  # integers of arrays are quick
def test_measured_model__reads_integers_of_every_container(tmp_path: Path) -> None:
    labelled = xr.DataArray(MEASURED, dims=("sample", "feature"), name="X")
    path = tmp_path / "integers.zarr"
    labelled.to_dataset().to_zarr(path, zarr_format=3, consolidated=False)
    expected = mixture().fit(MEASURED.astype("float32")).means_
    data = (da.from_array(MEASURED, chunks=(150, -1)), labelled, path, pd.DataFrame(MEASURED))
    for integers in data:
        np.testing.assert_allclose(mixture().fit(integers).means_, expected, rtol=1e-6)


def test_booleans__are_zero_and_one() -> None:
    flags, numbers = MEASURED > 20, (MEASURED > 20).astype(int)
    densities = [
        TensorTrainDensity(
            2, coordinates="z", trains=TensorTrainOptions(n_trains=1), random_state=0
        )
        .fit(rows)
        .score_samples(rows)
        for rows in (flags, numbers)
    ]
    assert_array_equal(*densities)
    assert_array_equal(mixture().fit(flags).means_, mixture().fit(flags.astype("f4")).means_)


@pytest.mark.parametrize("lazy", [False, True])
def test_masked_integer__is_missing_and_not_minus_one(lazy: bool) -> None:
    mask = np.zeros(MEASURED.shape, bool)
    mask[3, 1] = True
    data = np.ma.MaskedArray(MEASURED, mask)
    data = da.from_array(data, chunks=(150, -1)) if lazy else data
    with pytest.raises(MissingValueError, match="row 3, feature 'x1'"):
        mixture().fit(data)


def test_measured_model__refuses_names_and_named_codes() -> None:
    for data in (NAMES, NAMES.astype(object), small_data("codes")):
        with pytest.raises(DataError, match="takes measured values"):
            mixture().fit(data)


def discrete_data() -> dict[str, object]:
    encoded = OrdinalEncoder().fit_transform(NAMES)
    return {
        "strings": NAMES,
        "objects": NAMES.astype(object),
        "encoded": encoded,
        "encoded float32": encoded.astype("f4"),
        "labelled": xr.DataArray(encoded, dims=("sample", "feature")),
        "frame": pd.DataFrame(encoded),
    }


@pytest.mark.parametrize("name", list(discrete_data()))
@pytest.mark.quick_cases("objects", "encoded", "frame")
def test_discrete_model__reads_names_and_whole_numbers(name: str) -> None:
    data = discrete_data()[name]
    model = DiscreteMixture(2, random_state=0)
    expected = model.fit(CODES).predict(CODES)
    assert_array_equal(np.asarray(model.fit(data).predict(data)), expected)


def test_discrete_model__reads_nan_and_unknown_value_of_an_encoder_as_missing() -> None:
    encoder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1).fit(NAMES)
    other = NAMES.astype(object)
    other[0, 0], other[1, 1] = "never", np.nan
    model = DiscreteMixture(2, missing="marginalise", random_state=0)
    model.fit(OrdinalEncoder().fit_transform(NAMES))
    missing = CODES.copy()
    missing[0, 0] = missing[1, 1] = -1
    encoded = encoder.transform(other)
    encoded[1, 1] = np.nan
    assert_array_equal(model.predict_proba(encoded), model.predict_proba(missing))
    lazy = da.from_array(encoded, chunks=(150, -1))
    assert_array_equal(model.predict_proba(lazy).compute(), model.predict_proba(missing))


def test_discrete_model__reads_tables_with_boolean_columns() -> None:
    flags = pd.DataFrame(CODES > 0)
    model = DiscreteMixture(2, random_state=0)
    expected = model.fit((CODES > 0).astype(int)).predict((CODES > 0).astype(int))
    assert_array_equal(model.fit(flags).predict(flags), expected)
    assert set(model.categories_.values()) == {("0", "1")}
    flags.columns = list("abcd")
    mixed = flags.assign(b=NAMES[:, 1])
    assert model.fit(mixed).categories_["a"] == ("False", "True")
    with pytest.raises(DataError, match="takes codes"):
        model.fit(CODES + 0.5)


@pytest.mark.filterwarnings("ignore:the next state does not depend on the present one")
@pytest.mark.slow  # a mixture of the same numbers is quick
def test_hidden_markov_model__reads_numbers_as_its_emissions_ask() -> None:
    symbols, named = SYMBOLS, np.array([["a"], ["b"], ["c"]], object)[SYMBOLS[:, 0]]
    categorical = HiddenMarkovModel(2, random_state=0)
    expected = categorical.fit(symbols).predict(symbols)
    for data in (symbols.astype(float), named, pd.DataFrame(named)):
        assert_array_equal(categorical.fit(data).predict(data), expected)
    kernel = HiddenMarkovModel(2, emissions="kernel", max_iter=2, random_state=0)
    expected = kernel.fit(MEASURED.astype("f4")).predict(MEASURED.astype("f4"))
    assert_array_equal(kernel.fit(MEASURED).predict(MEASURED), expected)


@pytest.mark.slow
def test_classifier__reads_booleans_and_whole_floats() -> None:
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 20)
    stay = np.where(y[:, None] == 0, 0.9, 0.3)
    codes = np.cumsum(rng.random((40, 60)) > stay, axis=1) % 2
    expected = TripleHistogramClassifier().fit(codes, y).predict(codes)
    for data in (codes.astype(float), codes.astype(bool), np.array(["a", "b"], object)[codes]):
        assert_array_equal(TripleHistogramClassifier().fit(data, y).predict(data), expected)
    gaps = codes.astype(float)
    gaps[0, 0] = np.nan
    assert TripleHistogramClassifier().fit(gaps, y).predict(gaps).shape == (40,)


@pytest.mark.parametrize("kind", ["numbers", "names"])
@pytest.mark.parametrize("missing", ["raise", "omit", "marginalise"])
@pytest.mark.quick_cases("raise-numbers", "omit-names", "marginalise-names")
def test_unseen_category__is_summed_over_by_every_rule(kind: str, missing: str) -> None:
    data = CODES if kind == "numbers" else NAMES.astype(object)
    other = data.copy()
    other[0, 0] = 3 if kind == "numbers" else "never"
    gap = data.copy()
    gap[0, 0] = -1 if kind == "numbers" else None
    model = DiscreteMixture(2, missing=missing, random_state=0).fit(data)
    summed_over = DiscreteMixture(2, missing="marginalise", random_state=0).fit(data)
    with pytest.warns(MissingValueWarning):
        found = model.predict_proba(other)
    assert_array_equal(found, summed_over.predict_proba(gap))
    with pytest.warns(MissingValueWarning):
        assert model.score(other) == summed_over.score(gap)
    if missing == "raise":
        with pytest.raises(MissingValueError):
            model.predict(gap)


def test_unseen_category__of_a_sequence_is_summed_over() -> None:
    model = HiddenMarkovModel(2, random_state=0).fit(SYMBOLS)
    summed_over = HiddenMarkovModel(2, missing="marginalise", random_state=0).fit(SYMBOLS)
    other, gap = SYMBOLS.copy(), SYMBOLS.copy()
    other[5], gap[5] = 3, -1
    for name in ("predict", "predict_proba", "score"):
        with pytest.warns(MissingValueWarning):
            found = getattr(model, name)(other)
        assert_array_equal(found, getattr(summed_over, name)(gap))

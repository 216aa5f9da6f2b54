"""Masked arrays have missing values, and big-endian arrays are numbers as all others."""

import warnings

import dask.array as da
import numpy as np
import pytest
import xarray as xr
import zarr

from bigtensor import KernelMixture, SpectralOptions
from bigtensor.data.opening import open_samples
from bigtensor.data.values.plain_arrays import converted
from bigtensor.errors import DataError, MissingValueError, MissingValueWarning

SMALL = {"spectral": SpectralOptions(n_landmarks=20, bins=64), "pilot_rows": 300, "max_iter": 1}


@pytest.fixture(scope="module")
def values():
    rng = np.random.default_rng(3)
    label = rng.integers(2, size=700)
    return 4.0 * label[:, None] + rng.normal(size=(700, 3))


@pytest.fixture(scope="module")
def masked(values):
    mask = np.zeros(values.shape, bool)
    mask[[123, 500], [1, 0]] = True
    return np.ma.MaskedArray(values, mask)


def lazily(masked):
    return da.from_array(masked, chunks=(200, 3))


def labelled(masked):
    return xr.DataArray(masked, dims=("sample", "feature"))


def lazily_labelled(masked):
    return xr.DataArray(lazily(masked), dims=("sample", "feature"))


def as_parts(masked):
    return [masked[:150], masked[150:]]


FORMS = [lambda masked: masked, lazily, labelled, lazily_labelled, as_parts]
NAMES = ["numpy", "dask", "xarray", "xarray of dask", "several"]


@pytest.mark.parametrize("form", FORMS, ids=NAMES)
@pytest.mark.quick_cases("numpy", "xarray of dask")
def test_masked_values__are_missing(masked, values, form):
    given = form(masked)
    model = KernelMixture(2, **SMALL)
    with pytest.raises(MissingValueError, match=r"2 of 700 .* row 123, feature '?.*1'"):
        model.fit(given)
    model.set_params(missing="omit")
    with pytest.warns(MissingValueWarning, match="2 of 700 rows"):
        model.fit(given)
    assert model.diagnostics_["rows_left_out"] == 2
    with pytest.warns(MissingValueWarning):
        expected = KernelMixture(2, missing="omit", **SMALL).fit(form(masked.filled(np.nan)))
    np.testing.assert_array_equal(model.weights_, expected.weights_)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MissingValueWarning)
        labels = np.asarray(model.predict(given))
    np.testing.assert_array_equal(np.flatnonzero(labels == -1), [123, 500])


def test_mask__that_masks_nothing_changes_nothing(values):
    model = KernelMixture(2, **SMALL).fit(np.ma.MaskedArray(values))
    np.testing.assert_array_equal(
        model.predict(values), KernelMixture(2, **SMALL).fit(values).predict(values)
    )


def test_masked_weight__is_refused(values):
    weight = np.ma.MaskedArray(np.ones(len(values)), np.arange(len(values)) == 77)
    with pytest.raises(DataError, match="the first is row 77"):
        KernelMixture(2, **SMALL).fit(values, sample_weight=weight)


@pytest.mark.parametrize("dtype", ["int32", "uint8"])
def test_masked_integers__are_missing_codes(dtype):
    masked = np.ma.MaskedArray(np.arange(6, dtype=dtype).reshape(3, 2), False)
    masked[1, 0] = np.ma.masked
    samples = open_samples(masked)
    assert samples.kind == "codes"
    (block,) = samples.blocks([(0, 3)], 10)
    np.testing.assert_array_equal(block.values, [[0, 1], [-1, 3], [4, 5]])
    (block,) = samples.as_measured().blocks([(0, 3)], 10)
    np.testing.assert_array_equal(block.values, [[0, 1], [np.nan, 3], [4, 5]])
    assert samples.fingerprint() != open_samples(masked.data).fingerprint()


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_codes_of_floats__may_have_any_precision(dtype):
    codes = converted(np.array([[0, np.nan], [2, 5]], dtype), np.dtype(np.int32))
    np.testing.assert_array_equal(codes, [[0, -1], [2, 5]])
    if dtype != np.float16:
        with pytest.raises(DataError, match="not the code of a category"):
            converted(np.array([[2**31]], dtype), np.dtype(np.int32))


def test_mask__makes_other_data(masked):
    assert open_samples(masked).fingerprint() != open_samples(masked.data).fingerprint()


def stored(array, folder):
    group = zarr.open_group(folder / "big.zarr", mode="w")
    made = group.create_array(
        "X",
        shape=array.shape,
        dtype=array.dtype,
        chunks=(200, 3),
        dimension_names=("sample", "feature"),
    )
    made[:] = array
    return folder / "big.zarr"


@pytest.mark.parametrize("dtype", [">f4", ">f8"])
@pytest.mark.parametrize("form", [*FORMS, stored], ids=[*NAMES, "store"])
@pytest.mark.quick_cases("numpy->f4", "dask->f8", "store->f4")
def test_big_endian__gives_the_bits_of_native_numbers(values, tmp_path, dtype, form):
    big = values.astype(dtype)
    given = form(big, tmp_path) if form is stored else form(big)
    # the bits depend on the ranges of rows, which those of several arrays and chunks are
    same = big.astype(dtype[1:]) if form is stored else form(big.astype(dtype[1:]))
    expected = KernelMixture(2, **SMALL).fit(same)
    model = KernelMixture(2, **SMALL).fit(given)
    assert model.weights_.tobytes() == expected.weights_.tobytes()
    np.testing.assert_array_equal(
        np.asarray(model.score_samples(given)), np.asarray(expected.score_samples(same))
    )
    weight = np.ones(len(values), dtype)
    if form in FORMS[:1]:
        weighted = KernelMixture(2, **SMALL).fit(given, sample_weight=weight)
        np.testing.assert_allclose(weighted.weights_, expected.weights_, rtol=1e-6)

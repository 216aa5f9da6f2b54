"""Scikit-learn's common checks, and the same fit for any chunks of rows in several ranges."""

import numpy as np
import pytest
import xarray as xr
from sklearn.base import clone
from sklearn.utils.estimator_checks import (
    check_dataframe_column_names_consistency,
    parametrize_with_checks,
)

from bigtensor import KernelMixture, simulate
from bigtensor.models.base import LatentVariableModel

SMALL = {"n_landmarks": 20, "bins": 64, "sample_size": 200, "posterior_passes": 2}

INTEGERS = (
    "the check fits integers, which a model of continuous features refuses by design: integers "
    "need an explicit cast"
)
TWO_FEATURES = (
    "the check fits data of two features, hence of two views: triple moments need three, and the "
    "error says so"
)
EXPECTED = {
    "check_estimators_dtypes": INTEGERS,
    "check_sample_weights_pandas_series": INTEGERS,
    "check_sample_weights_not_an_array": INTEGERS,
    "check_sample_weights_shape": INTEGERS,
    "check_sample_weight_equivalence_on_dense_data": (
        "weights enter every sum of a pass exactly, but bandwidths, landmarks and the k-means "
        "start come from a sample of distinct rows and the number of rows, so that a row of "
        "weight two and a row given twice lead to other (equally valid) kernel features"
    ),
    "check_dtype_object": (
        "objects that are not numbers raise a DataError, which is a ValueError as all errors of "
        "the data; the check wants a TypeError"
    ),
}
EXPECTED_SPECTRAL = EXPECTED | dict.fromkeys(
    (
        "check_estimators_overwrite_params",
        "check_estimators_fit_returns_self",
        "check_readonly_memmap_input",
        "check_sample_weights_not_overwritten",
        "check_fit_idempotent",
        "check_fit_check_is_fitted",
        "check_n_features_in",
    ),
    TWO_FEATURES,
)
MODELS = [
    KernelMixture(2, start="spectral", **SMALL),
    KernelMixture(4, n_populations="auto", **SMALL),
]


def expected_failures(model: LatentVariableModel) -> dict[str, str]:
    return EXPECTED_SPECTRAL if model.start == "spectral" else EXPECTED


# a few dozen rows of the checks' blobs do not determine triple moments
@pytest.mark.filterwarnings("ignore::bigtensor.errors.ConditioningWarning")
@pytest.mark.filterwarnings("ignore::bigtensor.errors.RefinementWarning")
@parametrize_with_checks(MODELS, expected_failed_checks=expected_failures, xfail_strict=True)
def test_common_checks__hold(estimator, check):
    check(estimator)


@pytest.mark.filterwarnings("ignore::bigtensor.errors.ConditioningWarning")
@pytest.mark.filterwarnings("ignore::bigtensor.errors.RefinementWarning")
@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.start)
def test_data_frame__names_are_kept_and_checked(model):
    check_dataframe_column_names_consistency("KernelMixture", clone(model))


@pytest.fixture(scope="module")
def rows() -> xr.Dataset:
    """Enough rows for several row ranges."""
    return simulate.kernel_mixture(70_000, 3, random_state=11)[["X"]]


def parameters_of(model: KernelMixture) -> np.ndarray:
    """Return weights and means, and the densities relative to their peak."""
    points = np.linspace(-3, 15, 300)
    densities = [model.component_density(view, points) for view in model.views_.names]
    means = [model.expectation(view, lambda x: x) for view in model.views_.names]
    scaled = [density / density.max(axis=0) for density in densities]
    return np.concatenate([model.weights_, *means, *[part.ravel() for part in scaled]])


@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-8), ("float32", 1e-5)])
@pytest.mark.parametrize("start", ["spectral", "kmeans"])
def test_parameters__do_not_depend_on_the_chunks(rows, dtype, tolerance, start):
    settings = {"n_landmarks": 30, "bins": 256, "sample_size": 1000, "posterior_passes": 3}
    model = KernelMixture(3, start=start, feature_dtype=dtype, **settings)
    expected = parameters_of(clone(model).fit(rows))
    for chunks in (33_333, 7_919):
        found = parameters_of(clone(model).fit(rows.chunk(sample=chunks)))
        # relative to parameters of order one; densities relative to their peak
        np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)

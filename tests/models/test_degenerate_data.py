"""Data of unusual units, constant columns, few usable rows, and more features than rows."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from bigtensor import (
    ICA,
    GaussianMixture,
    KernelICA,
    KernelMixture,
    LinearMixture,
    TensorTrainDensity,
    TripleHistogramClassifier,
)
from bigtensor.decomposition.multiview.view_groups import MOST_VIEWS
from bigtensor.errors import DataError
from bigtensor.models.kernel_mixture.groups import _covarying_directions
from tests.parameters import first_quick

UNITS = [(1e-100, "float64"), (1e30, "float32"), (1e100, "float64"), (1e-30, "float32")]


def clusters(n: int = 600, d: int = 3, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    label = rng.integers(0, 3, n)
    means = 4 * np.eye(3)[label] @ rng.normal(size=(3, d))
    return means + rng.normal(size=(n, d)), label


VIEWS = {"a": [0, 1], "b": [2, 3], "c": [4, 5]}


@pytest.mark.filterwarnings("ignore::bigtensor.errors.BigtensorWarning")
@pytest.mark.parametrize(("scale", "dtype"), first_quick(UNITS, 2))
@pytest.mark.parametrize(
    "make",
    [
        lambda: GaussianMixture(3, random_state=0),
        lambda: GaussianMixture(5, covariance_type="shared_spherical", random_state=0),
        lambda: GaussianMixture(5, covariance_type="tied", random_state=0),
        lambda: LinearMixture(2, views=VIEWS, random_state=0),
        lambda: LinearMixture(2, views=VIEWS, method="compressed", random_state=0),
        lambda: LinearMixture(2, views=VIEWS, method="explicit", random_state=0),
    ],
)
@pytest.mark.quick_cases(
    "<lambda>0-1e+30-float32",
    "<lambda>1-1e-100-float64",
    "<lambda>3-1e-100-float64",
    "<lambda>4-1e-100-float64",
    "<lambda>5-1e+30-float32",
)
def test_unit__changes_no_label_and_scales_the_means(make, scale, dtype):
    rows, _ = clusters(d=6)
    ordinary = make().fit(rows.astype(dtype))
    scaled = (rows * scale).astype(dtype)
    model = make().fit(scaled)
    assert np.array_equal(model.predict(scaled), ordinary.predict(rows.astype(dtype)))
    np.testing.assert_allclose(model.weights_, ordinary.weights_, rtol=1e-3)
    np.testing.assert_allclose(
        model.solution_.means / scale, ordinary.solution_.means, rtol=0, atol=1e-2
    )


@pytest.mark.parametrize("model", [ICA(), KernelICA(2), KernelMixture(2), GaussianMixture(2)])
@pytest.mark.parametrize("scale", [1e-152, 1e-200, 1e-300])
def test_differences__without_a_square_are_refused(model, scale):
    rows, _ = clusters(d=4)
    rows[:, [1, 2]] *= scale
    with pytest.raises(DataError, match=r"^values of 'x1', 'x2' .*change the unit"):
        model.fit(rows)
    with pytest.raises(DataError, match=r"^the values of feature 'x1' differ by"):
        model.fit(rows[:, [0, 1, 3]])


def test_pilot__without_a_usable_row_is_refused():
    rows, _ = clusters()
    for model in (TensorTrainDensity(), ICA(missing="omit"), GaussianMixture(2, missing="omit")):
        with pytest.raises(DataError, match=r"^no row is left .*600 of 600 rows"):
            model.fit(rows * 1e160)


@pytest.mark.parametrize("positive", [0, 1, 4])
def test_density__needs_rows_of_a_positive_weight(positive):
    rows, _ = clusters()
    weight = np.zeros(600)
    weight[:positive] = 1
    words = "rows? cannot be fitted and validated" if positive else "every sample weight is zero"
    with pytest.raises(DataError, match=words):
        TensorTrainDensity().fit(rows, sample_weight=weight)


@pytest.mark.filterwarnings("ignore::bigtensor.errors.BigtensorWarning")
@pytest.mark.parametrize("seed", first_quick([0, 2]))
@pytest.mark.slow  # one constant column is quick
def test_constant_columns__of_a_standardised_split_are_left_to_a_tied_covariance(seed):
    images, digit = load_digits(return_X_y=True)
    train, _, label, _ = train_test_split(
        StandardScaler().fit_transform(images), digit, stratify=digit, random_state=seed
    )
    # a mean of equal values is rounded, so that their deviation is not zero
    constant = np.ptp(train, axis=0) == 0
    assert (train[:, constant].std(axis=0) > 0).any()
    model = GaussianMixture(10, covariance_type="tied", random_state=0).fit(train)
    without = GaussianMixture(10, covariance_type="tied", random_state=0).fit(train[:, ~constant])
    assert model.diagnostics_["outlying_rows"] == without.diagnostics_["outlying_rows"]
    scores = [
        adjusted_rand_score(label, fitted.predict(rows))
        for fitted, rows in ((model, train), (without, train[:, ~constant]))
    ]
    assert abs(scores[0] - scores[1]) < 0.02


@pytest.mark.filterwarnings("ignore::bigtensor.errors.BigtensorWarning")
@pytest.mark.parametrize("dtype", [int, float])
@pytest.mark.quick_cases("int")
def test_labels__of_two_classes_are_ignored_as_other_labels_of_all_rows(dtype):
    rows, label = clusters()
    alone = GaussianMixture(2, random_state=0).fit(rows)
    for classes in (np.where(label > 0, 1, -1), np.where(label > 0, 1, 0)):
        model = GaussianMixture(2, random_state=0).fit(rows, classes.astype(dtype))
        assert np.array_equal(model.means_, alone.means_)


def test_sequences__that_are_none_are_refused():
    with pytest.raises(DataError, match=r"^None was given for the sequences"):
        TripleHistogramClassifier().fit(None, [0, 1])


@pytest.mark.filterwarnings("ignore::bigtensor.errors.BigtensorWarning")
@pytest.mark.slow  # wide data are a law
def test_wide_views__are_grouped_as_neighbours_without_a_search():
    rows = np.random.default_rng(0).normal(size=(50, MOST_VIEWS + 1))
    model = KernelMixture(2, max_iter=1, random_state=0).fit(rows)
    assert "group_choice" not in model.diagnostics_
    assert [len(group) for group in model.diagnostics_["groups"]] == [34, 33, 34]


def test_directions__of_more_features_than_rows_are_those_of_the_whole_moments():
    rng = np.random.default_rng(0)
    values = [rng.normal(size=(12, size)) for size in (40, 7, 25)]
    subspaces = _covarying_directions(values, 3)
    for group, basis in enumerate(subspaces.bases):
        others = [values[other] for other in range(3) if other != group]
        moments = np.hstack([values[group].T @ other / 12 for other in others])
        vectors, lengths, _ = np.linalg.svd(moments, full_matrices=False)
        found = subspaces.singular_values[group]
        np.testing.assert_allclose(found, lengths[: len(found)], atol=1e-12)
        assert lengths[len(found) :].max(initial=0) < 1e-12
        np.testing.assert_allclose(basis @ basis.T, vectors[:, :3] @ vectors[:, :3].T, atol=1e-10)


def test_float32_over_its_whole_range__has_differences():
    rng = np.random.default_rng(0)
    group = rng.integers(0, 2, (600, 1))
    rows = np.float32(np.where(group, 2.9e38, -2.9e38) + rng.normal(size=(600, 3)) * 1e37)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        label = KernelMixture(2, random_state=0).fit_predict(rows)
    assert adjusted_rand_score(group[:, 0], label) == 1

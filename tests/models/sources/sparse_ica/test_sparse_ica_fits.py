"""Fits of sparse sources: accuracy beside the cumulant and dictionary learning, invariance."""

import numpy as np
import pytest
from sklearn.decomposition import MiniBatchDictionaryLearning

from bigtensor import SparseICA
from tests.models.sources.ica.problems import column_error
from tests.models.sources.sparse_ica.problems import sparse_problem
from tests.parameters import first_quick


@pytest.fixture(scope="module")
def overcomplete():
    return sparse_problem(20, 30, 2, 40_000, seed=1)


@pytest.fixture(scope="module")
def model(overcomplete):
    return SparseICA(30, random_state=0).fit(overcomplete[0])


def test_polish__is_several_times_as_precise_as_the_cumulant(overcomplete, model):
    rows, columns, _ = overcomplete
    raw = SparseICA(30, max_iter=0, random_state=0).fit(rows)
    assert raw.mixing_.shape == model.mixing_.shape == (20, 30)
    assert column_error(columns, raw.mixing_) < 0.06
    assert column_error(columns, model.mixing_) < 0.015
    assert model.diagnostics_["verdict"]["good"]
    assert raw.diagnostics_["verdict"]["good"]


@pytest.mark.slow
def test_columns__are_nearer_than_those_of_dictionary_learning(overcomplete, model):
    rows, columns, _ = overcomplete
    peer = MiniBatchDictionaryLearning(
        30, alpha=0.2, batch_size=512, max_iter=20, random_state=0
    ).fit(rows)
    assert column_error(columns, model.mixing_) < column_error(columns, peer.components_.T)


def test_sources__are_sparse_and_near_the_true_ones(overcomplete, model):
    rows, _, sources = overcomplete
    answered = model.transform(rows)
    true = sources / sources.std(axis=0)
    correlations = np.abs(np.corrcoef(true.T, answered.T)[:30, 30:])
    assert np.sort(correlations.max(axis=1))[3] > 0.97
    assert 1.5 < (answered != 0).sum(axis=1).mean() < 2.5
    assert answered.std(axis=0) == pytest.approx(np.ones(30), abs=0.02)
    assert model.activity_ == pytest.approx((answered != 0).mean(axis=0), abs=0.005)
    centred = answered - answered.mean(axis=0)
    assert (centred.astype("f8") ** 4).mean(axis=0) - 3 == pytest.approx(model.kurtosis_, rel=0.1)
    left = model.inverse_transform(answered) - rows
    assert left.std() < 0.08
    assert model.components_ == pytest.approx(model.mixing_.T)


def test_positive_sources__have_the_origin_far_from_the_mean():
    rows, columns, _ = sparse_problem(15, 20, 2, 60_000, seed=2, amplitudes="positive")
    found = SparseICA(20, random_state=0).fit(rows + 5)
    assert column_error(columns, found.mixing_) < 0.03
    assert np.abs(found.mean_ - 5).max() < 0.25 * np.abs(rows.mean(axis=0)).max()


def moved(rows, how):
    if how == "units":
        return rows * np.exp(np.linspace(-6, 6, rows.shape[1]))
    if how == "shift":
        return rows + 100.0
    if how == "permuted features":
        return rows[:, ::-1].copy()
    return np.repeat(rows, 2, axis=0)


@pytest.mark.parametrize("how", first_quick(["units", "twice", "shift", "permuted features"], 2))
@pytest.mark.quick_cases("units")
def test_sources__do_not_depend_on(how):
    rows, _, _ = sparse_problem(8, 10, 1, 15_000, seed=3, dtype="f8")
    there = moved(rows, how)
    one = SparseICA(10, random_state=0).fit(rows).transform(rows)
    other = SparseICA(10, random_state=0).fit(there).transform(there)
    if how == "twice":
        other = other[::2]
    agreement = np.abs(np.corrcoef(one.T, other.T)[:10, 10:]).max(axis=1)
    assert agreement.min() > 0.999


def test_seeds__lead_to_the_same_columns(overcomplete, model):
    other = SparseICA(30, random_state=1).fit(overcomplete[0])
    assert column_error(model.mixing_, other.mixing_) < 2e-3


@pytest.mark.slow  # Gaussian rows are quick
def test_noise__does_not_become_sources():
    """A threshold below the noise would turn the columns; the estimate of noise raises it."""
    rows, columns, _ = sparse_problem(20, 30, 2, 60_000, noise=0.15, seed=4)
    raw = SparseICA(30, max_iter=0, random_state=0).fit(rows)
    found = SparseICA(30, random_state=0).fit(rows)
    assert column_error(columns, found.mixing_) < 1.02 * column_error(columns, raw.mixing_)


def test_passes__are_few_and_told(model):
    names = [entry["name"] for entry in model.diagnostics_["passes"]]
    assert names == ["pilot", "codes", "codes"]
    assert len(model.diagnostics_["turns"]) == 2


@pytest.mark.slow
def test_weights__leave_rows_out(overcomplete):
    rows, columns, _ = overcomplete
    noise = np.random.default_rng(0).uniform(-2, 2, rows.shape).astype("f4")
    weight = np.repeat([1.0, 0.0], len(rows))
    found = SparseICA(30, random_state=0).fit(np.concatenate([rows, noise]), sample_weight=weight)
    assert column_error(columns, found.mixing_) < 0.02

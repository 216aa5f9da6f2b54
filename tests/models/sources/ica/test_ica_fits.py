"""Fits of independent sources: accuracy beside FastICA, choice of the method, invariance."""

from contextlib import nullcontext

import numpy as np
import pytest
from numpy.random import default_rng
from sklearn.datasets import load_diabetes
from sklearn.decomposition import FastICA

from bigtensor import ICA
from bigtensor.errors import ConditioningWarning
from tests.models.sources.ica.problems import column_error, problem
from tests.parameters import first_quick


@pytest.mark.parametrize("kind", ["laplace", "uniform", "mixed"])
def test_whitened__is_as_precise_as_fast_ica(kind):
    rows, mixing, _ = problem(kind, 8, 8, 40_000, seed=1)
    found = ICA(method="whitened", random_state=0).fit(rows)
    peer = FastICA(8, whiten="unit-variance", random_state=0).fit(rows)
    assert column_error(mixing, found.mixing_) <= 1.05 * column_error(mixing, peer.mixing_)
    assert column_error(mixing, found.mixing_) < 0.03
    # both solve the same fixed-point equations
    assert column_error(peer.mixing_, found.mixing_) < 1e-3


def test_cumulant__is_not_biased_by_gaussian_noise():
    rows, mixing, _ = problem("laplace", 12, 6, 100_000, noise=0.5, seed=2)
    found = ICA(6, method="cumulant", random_state=0).fit(rows)
    peer = FastICA(6, whiten="unit-variance", random_state=0).fit(rows)
    error = column_error(mixing, found.mixing_)
    assert error < 0.04
    assert error < 0.25 * column_error(mixing, peer.mixing_)
    # columns of sources of unit variance have the length 1 here, and the kurtosis is Laplace's
    # within what correlated noise makes of the fit of lengths
    assert np.linalg.norm(found.mixing_, axis=0) == pytest.approx(np.ones(6), abs=0.15)
    assert found.kurtosis_ == pytest.approx(np.full(6, 3.0), abs=1.5)


def test_cumulant__finds_more_sources_than_features():
    rows, mixing, hidden = problem("laplace", 8, 12, 100_000, seed=3)
    found = ICA(12, random_state=0).fit(rows)
    assert found.method_ == "cumulant"
    assert found.mixing_.shape == (8, 12)
    assert column_error(mixing, found.mixing_) < 0.06
    # the shortest sources that make up the rows
    answered = found.transform(rows)
    left = found.inverse_transform(answered) - rows
    assert left.std() < 0.05 * rows.std()
    assert (answered**2).sum() < (hidden**2).sum()


@pytest.mark.parametrize(("noise", "method"), [(0.0, "whitened"), (0.5, "cumulant")])
@pytest.mark.parametrize("kind", ["laplace", "uniform"])
@pytest.mark.quick_cases("laplace-0.0-whitened", "uniform-0.5-cumulant")
def test_auto__takes_the_cumulant_where_there_is_noise(kind, noise, method):
    rows, mixing, _ = problem(kind, 6, 6, 60_000, noise=noise, seed=4)
    found = ICA(random_state=0).fit(rows)
    other = {"whitened": "cumulant", "cumulant": "whitened"}[method]
    assert found.method_ == method
    rejected = ICA(method=other, random_state=0).fit(rows)
    assert column_error(mixing, found.mixing_) < column_error(mixing, rejected.mixing_)
    words = dict(found.description.outcome(found))["method"]
    assert ("no sign of Gaussian noise" in words) == (method == "whitened")


def test_sources__have_an_order_and_signs():
    rows, _, _ = problem("mixed", 5, 5, 30_000, seed=5)
    found = ICA(method="whitened", random_state=0).fit(rows)
    assert (np.diff(np.abs(found.kurtosis_)) <= 0).all()
    answered = found.transform(rows).astype("f8")
    assert answered.std(axis=0) == pytest.approx(np.ones(5), abs=1e-4)
    centred = answered - answered.mean(axis=0)
    assert (centred**4).mean(axis=0) - 3 == pytest.approx(found.kurtosis_, abs=0.01)
    correlations = np.corrcoef(rows.T, answered.T)[:5, 5:]
    largest = np.abs(correlations).argmax(axis=0)
    assert (correlations[largest, range(5)] > 0).all()
    assert correlations == pytest.approx(found.solution_.correlations, abs=1e-4)


def moved(rows, how, rng):
    if how == "units":
        return rows * np.array([1e3, 1e-3, 1.0, 50.0, 0.2])
    if how == "shift":
        return rows + 100.0
    if how == "rotation":
        return rows @ np.linalg.qr(rng.standard_normal((5, 5)))[0]
    if how == "permuted features":
        return rows[:, [3, 0, 4, 1, 2]]
    return np.repeat(rows, 2, axis=0)


@pytest.mark.parametrize("how", ["units", "shift", "rotation", "permuted features", "twice"])
@pytest.mark.parametrize(("method", "most"), first_quick([("whitened", 1e-3), ("cumulant", 2e-2)]))
@pytest.mark.quick_cases("whitened-0.001-units", "whitened-0.001-rotation")
def test_sources__do_not_depend_on(how, method, most):
    rows, _, _ = problem("laplace", 5, 5, 15_000, noise=0.1, seed=6, dtype="f8")
    there = moved(rows, how, np.random.default_rng(0))
    one = ICA(method=method, random_state=0).fit(rows).transform(rows)
    other = ICA(method=method, random_state=0).fit(there).transform(there)
    if how == "twice":
        other = other[::2]
    agreement = np.abs(np.corrcoef(one.T, other.T)[:5, 5:]).max(axis=1)
    assert agreement.min() > 1 - most


@pytest.mark.filterwarnings("ignore::bigtensor.errors.ConditioningWarning")
def test_sources_that_depend_on_each_other__settle_whatever_the_units():
    # whole fixed-point updates oscillate on these rows, and end wherever they are stopped
    rows = load_diabetes(scaled=False).data
    rng = np.random.default_rng(0)
    model = ICA(method="whitened", random_state=0).fit(rows)
    assert model.diagnostics_["turns"][-1] < 1e-3
    sources = model.transform(rows)
    for _ in range(4):
        order = rng.permutation(10)
        moved = (rows * 10 ** rng.uniform(-3, 3, 10))[:, order]
        again = ICA(method="whitened", random_state=0).fit(moved).transform(moved)
        assert np.abs(np.diag(np.corrcoef(sources.T, again.T)[:10, 10:])).min() > 0.999


def test_seeds__lead_to_the_same_sources():
    rows, _, _ = problem("mixed", 6, 6, 40_000, seed=7)
    fits = [ICA(random_state=seed).fit(rows).mixing_ for seed in range(4)]
    assert max(column_error(fits[0], other) for other in fits[1:]) < 1e-3


def test_few_components__lie_on_the_largest_axes():
    rows, mixing, _ = problem("laplace", 10, 3, 30_000, noise=0.02, seed=8)
    found = ICA(3, method="whitened", random_state=0).fit(rows)
    assert found.components_.shape == (3, 10)
    assert found.whitening_.shape == (3, 10)
    assert column_error(mixing, found.mixing_) < 0.05
    assert np.allclose(found.components_ @ found.mixing_, np.eye(3), atol=1e-8)


def test_weights__leave_rows_out():
    rows, mixing, _ = problem("laplace", 4, 4, 20_000, seed=9)
    noise = np.random.default_rng(0).uniform(-2, 2, (20_000, 4)).astype("f4")
    weight = np.repeat([1.0, 0.0], 20_000)
    found = ICA(method="whitened", random_state=0).fit(
        np.concatenate([rows, noise]), sample_weight=weight
    )
    assert column_error(mixing, found.mixing_) < 0.03


def test_passes__are_few_and_told():
    rows, _, _ = problem("laplace", 6, 6, 50_000, noise=0.4, seed=10)
    whitened = ICA(method="whitened", random_state=0).fit(rows).diagnostics_["passes"]
    names = [entry["name"] for entry in whitened]
    assert names[:2] == ["pilot", "moments"]
    assert set(names[2:]) == {"contrast"}
    assert len(names) <= 4
    cumulant = ICA(method="cumulant", random_state=0).fit(rows).diagnostics_["passes"]
    names = [entry["name"] for entry in cumulant]
    assert names[:3] == ["pilot", "moments", "contractions"]
    assert len(names) <= 5


@pytest.mark.parametrize("seed", first_quick(range(10)))
@pytest.mark.parametrize(
    ("kind", "d", "k", "rows", "noise"),
    [("laplace", 6, 6, 8000, 0.0), ("uniform", 8, 4, 8000, 0.0), ("laplace", 8, 4, 20_000, 0.3)],
)
@pytest.mark.quick_cases("laplace-6-6-8000-0.0-0", "uniform-8-4-8000-0.0-0")
def test_right_results__carry_no_word_of_worry(kind, d, k, rows, noise, seed):
    values, mixing, _ = problem(kind, d, k, rows, noise=noise, seed=seed)
    found = ICA(k, random_state=0).fit(values)  # a warning is an error
    assert column_error(mixing, found.mixing_) < 0.06
    (sentence,) = found.diagnostics_["verdict"]["sentences"]
    assert sentence.startswith(f"{k} sources, at most one of them")


@pytest.mark.parametrize("noise", [0.0, 0.7, 0.9])
def test_kurtosis__that_no_source_has_is_noted_and_far_below_a_warning(noise):
    rows, _, _ = problem("uniform", 5, 5, 20_000, noise=noise, seed=1)
    with nullcontext() if noise < 0.9 else pytest.warns(ConditioningWarning, match="is below -2"):
        model = ICA(method="cumulant").fit(rows)
    impossible = np.count_nonzero(model.kurtosis_ < -2.5)
    assert bool(impossible) == (noise > 0)
    verdict = model.diagnostics_["verdict"]
    words = f"{impossible} of the {len(model.kurtosis_)} sources is below -2"
    assert (words in " ".join(verdict["sentences"])) == (noise > 0)
    assert verdict["good"] == (noise < 0.9)


def eyes_and_rhythms(seed, features=16, rows=20_000):
    """Return noisy mixtures of sources of light and of very heavy tails, and their columns."""
    rng = default_rng(seed)
    sources = np.column_stack(
        [
            rng.laplace(size=rows),
            rng.uniform(-1, 1, rows),
            np.sin(0.1 * np.arange(rows)),
            rng.exponential(size=rows),
            rng.choice([-1.0, 1.0], rows),
            (rng.random(rows) < 0.02) * rng.normal(size=rows),
        ]
    )
    sources = (sources - sources.mean(axis=0)) / sources.std(axis=0)
    mixing = rng.normal(size=(features, sources.shape[1]))
    return sources @ mixing.T + rng.normal(size=(rows, features)), mixing


@pytest.mark.parametrize("seed", first_quick([1, 4, 7, 10]))
@pytest.mark.slow  # as many sources as features are quick
def test_fewer_sources_than_features__are_all_found_beside_one_of_heavy_tails(seed):
    rows, mixing = eyes_and_rhythms(seed)
    found = ICA(6, random_state=0).fit(rows)
    peer = FastICA(6, whiten="unit-variance", random_state=0).fit(rows)
    assert column_error(mixing, found.mixing_) < 1.3 * column_error(mixing, peer.mixing_)


def test_a_source_that_is_there_twice__is_a_warning():
    rows, _ = eyes_and_rhythms(2, rows=1_000)
    with pytest.warns(ConditioningWarning) as caught:
        found = ICA(6, method="cumulant", random_state=0).fit(rows)
    assert found.kurtosis_.max() > 1_000
    words = " ".join(str(one.message) for one in caught)
    assert "nearly the same column" in words
    assert "above 1,000, the number of rows" in words


@pytest.mark.parametrize("seed", first_quick([2, 4, 6]))
def test_two_sources_with_nearly_parallel_columns__are_kept(seed):
    rng = default_rng(seed)
    mixing = np.linalg.qr(rng.normal(size=(6, 3)))[0]
    mixing[:, 1] = 0.95 * mixing[:, 0] + np.sqrt(1 - 0.95**2) * mixing[:, 1]
    sources = rng.standard_t(5, size=(20_000, 3))
    rows = sources @ mixing.T + 0.5 * rng.normal(size=(20_000, 6))
    found = ICA(3, random_state=0).fit(rows)
    assert column_error(mixing, found.mixing_) < 0.1

"""A fit is judged by its final mixture: one warning for a fault, none without."""

import warnings
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment
from sklearn.datasets import load_breast_cancer, load_iris, load_wine

from bigtensor import KernelMixture, SpectralOptions, simulate
from bigtensor.errors import BigtensorWarning, ConditioningWarning, RefinementWarning
from bigtensor.models.kernel_mixture.verdict import Evidence, judged
from tests.parameters import first_quick

DATA = Path(__file__).parents[3] / ".." / "shared" / "data"


def fit(model, rows):
    """Return the fitted model and its warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fitted = model.fit(rows)
    return fitted, [one for one in caught if issubclass(one.category, BigtensorWarning)]


def recalls(label, found):
    """Return the accuracy and the recall of every class, matched one to one."""
    counts = np.zeros((label.max() + 1, max(label.max(), found.max()) + 1))
    np.add.at(counts, (label, found), 1)
    rows, columns = linear_sum_assignment(-counts)
    right = counts[rows, columns]
    return right.sum() / len(label), right / counts.sum(axis=1)


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [(0, 3), pytest.param((2, 7), marks=pytest.mark.slow)])
def test_verdict__a_doubtful_initialisation_that_em_recovers_is_no_warning(seeds):
    doubtful = 0
    for seed in seeds:
        cells = simulate.cytometry(50_000, 8, random_state=seed)
        model, caught = fit(
            KernelMixture(8, spectral=SpectralOptions(bins=512), random_state=0), cells
        )
        accuracy, recall = recalls(cells["label"].values, np.asarray(model.predict(cells)))
        verdict = model.diagnostics_["verdict"]
        told = " ".join(verdict["sentences"])
        if accuracy > 0.99 and recall.min() > 0.5:
            assert [str(one.message) for one in caught] == [], f"seed {seed}"
            assert verdict["good"]
            if model.diagnostics_["spectral"]["outcome"] == "rank deficient":
                doubtful += 1
                assert told.startswith("The initialisation found only ")
                assert "of 8 components, because the views" in told
                assert f"log-likelihood {verdict['held_out_log_likelihood']:.2f}, no emp" in told
        else:
            assert len(caught) <= 1
    assert doubtful >= 1


@pytest.mark.parametrize("start", ["spectral", "kmeans"])
@pytest.mark.parametrize("rows", [1000, 5000])
@pytest.mark.quick_cases("1000-spectral", "1000-kmeans")
def test_verdict__two_clusters_do_not_support_six_components(start, rows):
    rng = np.random.default_rng(0)
    label = rng.integers(0, 2, rows)
    values = rng.normal(size=(rows, 4)) + 8 * label[:, None]
    model, warned = fit(KernelMixture(6, init=start, random_state=0), values)
    assert warned[0].category is ConditioningWarning
    text = str(warned[0].message)
    verdict = model.diagnostics_["verdict"]
    assert not verdict["good"]
    assert [str(one.message) for one in warned] == verdict["sentences"][: len(warned)]
    assert "The mixture supports only " in text
    assert "Use n_components=" in text
    supported = int(text.split("Use n_components=")[1].split(",")[0])
    assert 2 <= supported <= 4
    _, caught = fit(KernelMixture(2, init=start, random_state=0), values)
    assert caught == []


@pytest.mark.parametrize("k", [2, 5])
@pytest.mark.parametrize("seed", first_quick([0, 1, 2]))
@pytest.mark.quick_cases("0-2")
def test_verdict__independent_views_show_no_components(k, seed):
    noise = np.random.default_rng(seed).normal(size=(2000, 3))
    model, (warning, *_) = fit(KernelMixture(k, random_state=0), noise)
    assert warning.category is ConditioningWarning
    assert str(warning.message).startswith("The data show no components: ")
    assert model.diagnostics_["verdict"]["gain_over_one_component"] < 0.01


@pytest.mark.parametrize("k", [3, 8])
@pytest.mark.parametrize("start", ["spectral", "kmeans"])
@pytest.mark.parametrize("seed", first_quick(range(3)))
@pytest.mark.quick_cases("0-spectral-3", "0-kmeans-3")
def test_verdict__components_that_are_there_are_no_fault(k, start, seed):
    data = simulate.kernel_mixture(2000, k, random_state=seed)
    model, caught = fit(KernelMixture(k, init=start, random_state=0), data)
    accuracy, _ = recalls(data["label"].values, np.asarray(model.predict(data)))
    assert accuracy > 0.97
    assert [str(one.message) for one in caught] == [], f"seed {seed}"


def test_verdict__superfluous_components_are_named():
    data = simulate.kernel_mixture(3000, 3, random_state=0)
    model, (warning, *_) = fit(KernelMixture(6, random_state=1), data)
    verdict = model.diagnostics_["verdict"]
    assert warning.category is ConditioningWarning
    named = {*verdict["empty_components"], *verdict["components_of_few_rows"]}
    named |= {*verdict["components_without_labels"]}
    named |= {number for pair in verdict["duplicated_components"] for number in pair}
    assert len(named) >= 3
    assert min(named) >= 1 or verdict["duplicated_components"]


@pytest.mark.parametrize(("load", "k"), [(load_iris, 3), (load_wine, 3)])
@pytest.mark.parametrize("start", ["spectral", "kmeans"])
@pytest.mark.quick_cases("spectral-load_iris-3", "kmeans-load_iris-3")
def test_verdict__plain_calls_on_easy_sets_do_not_warn(load, k, start):
    rows = load().data
    _, caught = fit(KernelMixture(k, init=start, random_state=0), rows)
    assert [str(one.message) for one in caught] == []


def test_verdict__a_population_of_two_rows_is_a_fault():
    rng = np.random.default_rng(0)
    values = np.concatenate([rng.normal(size=(600, 4)), np.full((2, 4), 30.0)])
    values[:300] += 2.0
    model = KernelMixture(n_components=8, n_populations=2, random_state=0)
    fitted, caught = fit(model, values)
    shares = np.bincount(np.asarray(fitted.predict(values))) / len(values)
    found = fitted.diagnostics_["verdict"]["populations_of_few_rows"]
    assert bool(found) == bool(shares.min() < 0.01)
    assert len(caught) == bool(found)
    if found:
        assert "Population 1 holds 2 of 602 rows" in str(caught[0].message)
        assert "Use n_populations=3" in str(caught[0].message)


def test_verdict__of_populations_says_nothing_of_empty_components():
    weights = np.array([0.6, 0.4, 0.0])
    evidence = Evidence(weights, np.arange(3), 1000.0, population_weights=weights[:2])
    verdict = judged(None, evidence, {}).diagnostics["verdict"]
    assert verdict["empty_components"] == [2]
    assert verdict["good"]
    assert "no empty population)" in verdict["sentences"][0]


def test_verdict__counts_populations_of_few_rows():
    weights = np.array([0.5, 0.35, 0.15])
    evidence = Evidence(weights, np.arange(3), 1000.0, population_weights=weights)
    verdict = judged(None, evidence, {}).diagnostics["verdict"]
    assert verdict["good"]
    assert "1 of fewer than 200 rows" in verdict["sentences"][0]


@pytest.mark.slow  # verdicts on smaller sets are quick
def test_verdict__breast_cancer_is_no_silent_failure():
    data = load_breast_cancer()
    model, caught = fit(KernelMixture(n_populations=2, random_state=0), data.data)
    sizes = np.bincount(np.asarray(model.predict(data.data)), minlength=2)
    assert sizes.min() >= 10 or len(caught) == 1


def test_verdict__labels_that_still_change_are_a_fault():
    path = DATA / "uci" / "australian.npz"
    if not path.exists():
        pytest.skip("needs ../shared/data/uci/australian.npz")
    with np.load(path) as stored:
        rows = stored["X"].astype(np.float64)
    model, (warning,) = fit(KernelMixture(2, random_state=0), rows)
    assert issubclass(warning.category, RefinementWarning)
    assert "of 2 EM iterations still changed" in str(warning.message)
    assert "Use max_iter=20" in str(warning.message)
    assert model.diagnostics_["verdict"]["labels_changed"] > 0.01
    # who asks for a number of passes has decided
    assert fit(KernelMixture(2, max_iter=2, random_state=0), rows)[1] == []


def test_verdict__held_out_log_likelihood_is_that_of_new_rows():
    both = simulate.kernel_mixture(10_000, 3, random_state=3)
    first, second = both.isel(sample=slice(0, 5000)), both.isel(sample=slice(5000, None))
    model, _ = fit(KernelMixture(3, random_state=0), first)
    held_out = model.diagnostics_["verdict"]["held_out_log_likelihood"]
    new, old = model.score(second), model.score(first)
    # the standard error of either mean is 0.02
    assert abs(held_out - new) < 0.06
    assert held_out < old - 0.02


@pytest.mark.slow
def test_verdict__of_rounds():
    cells = simulate.cytometry(20_000, 8, random_state=6)
    model = KernelMixture(8, random_state=0).prepare(cells)
    with pytest.warns(ConditioningWarning, match="No EM iteration has judged"):
        model.solve(model.accumulate(cells))
    for _ in range(2):
        _, caught = fit(_Solving(model), cells)
        assert caught == []
    assert "iterations recovered them (no empty " in " ".join(
        model.diagnostics_["verdict"]["sentences"]
    )


class _Solving:
    """One round of a model in place of a fit."""

    def __init__(self, model):
        self.model = model

    def fit(self, rows):
        return self.model.solve(self.model.accumulate(rows))

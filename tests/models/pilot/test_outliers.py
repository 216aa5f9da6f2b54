"""One entry of a million: every family of measured data leaves its row out, at any n, and says so.

The answers for the other rows are those of a fit without the row.
"""

import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import adjusted_rand_score

from bigtensor import (
    ICA,
    GaussianMixture,
    HiddenMarkovModel,
    KernelICA,
    KernelMixture,
    LinearMixture,
    SparseICA,
    TensorTrainDensity,
    TensorTrainOptions,
    merge,
)
from bigtensor.errors import BigtensorWarning, ConditioningWarning
from tests.parameters import first_quick

FEATURES = 6
PAIRS = {"a": [0, 1], "b": [2, 3], "c": [4, 5]}


def clusters(rows: int, seed: int, count: int = 3) -> np.ndarray:
    """Draw normal clusters of unit variance, about centres of spread 4."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(0, 4, (count, FEATURES))
    return centres[rng.integers(0, count, rows)] + rng.normal(size=(rows, FEATURES))


def laplace(rows: int, seed: int) -> np.ndarray:
    """Draw mixed Laplace sources."""
    rng = np.random.default_rng(seed)
    return rng.laplace(size=(rows, FEATURES)) @ rng.normal(size=(FEATURES, FEATURES)).T


def bursts(rows: int, seed: int) -> np.ndarray:
    """Draw three mixed sources that are zero in most rows."""
    rng = np.random.default_rng(seed)
    sources = rng.laplace(size=(rows, 3)) * (rng.random((rows, 3)) < 0.2)
    return sources @ rng.normal(size=(3, 3)).T


def chain(rows: int, seed: int) -> np.ndarray:
    """Draw clusters whose rows come in runs of twenty."""
    rng = np.random.default_rng(seed)
    states = np.repeat(rng.integers(0, 2, rows // 20 + 1), 20)[:rows]
    return rng.normal(0, 4, (2, FEATURES))[states] + rng.normal(size=(rows, FEATURES))


def labels_agree(one: np.ndarray, other: np.ndarray) -> float:
    return adjusted_rand_score(one, other)


def sources_agree(one: np.ndarray, other: np.ndarray) -> float:
    k = one.shape[1]
    correlation = np.abs(np.corrcoef(one.T, other.T)[:k, k:])
    return correlation[linear_sum_assignment(-correlation)].min()


def densities_agree(one: np.ndarray, other: np.ndarray) -> float:
    return 1 - np.abs(one - other).mean()


class Family(NamedTuple):
    make: Callable
    draw: Callable
    answer: str
    agreement: Callable
    least: float


LABELS = ("predict", labels_agree)
SOURCES = ("transform", sources_agree, 0.999)
FAMILIES = {
    "kernel": Family(lambda: KernelMixture(3, random_state=0), clusters, *LABELS, 0.97),
    "spherical": Family(lambda: GaussianMixture(3, random_state=0), clusters, *LABELS, 0.99),
    "tied": Family(
        lambda: GaussianMixture(5, covariance_type="tied", random_state=0),
        *(lambda rows, seed: clusters(rows, seed, 5), *LABELS, 0.97),
    ),
    "linear": Family(
        lambda: LinearMixture(3, views=PAIRS, random_state=0), clusters, *LABELS, 0.99
    ),
    "markov": Family(
        lambda: HiddenMarkovModel(2, emissions="kernel", random_state=0), chain, *LABELS, 0.97
    ),
    "ica": Family(lambda: ICA(random_state=0), laplace, *SOURCES),
    "sparse": Family(lambda: SparseICA(random_state=0), bursts, *SOURCES),
    "kernel_ica": Family(lambda: KernelICA(3, n_landmarks=40, random_state=0), laplace, *SOURCES),
    "density": Family(
        lambda: TensorTrainDensity(
            2,
            coordinates="z",
            widths=[0.5, 1.2],
            trains=TensorTrainOptions(n_trains=1),
            random_state=0,
        ),
        *(clusters, "score_samples", densities_agree, 0.95),
    ),
}


@pytest.mark.parametrize(
    ("rows", "seeds"),
    first_quick([(100, [0]), (100, [1, 2, 3]), (600, [0, 1, 2, 3]), (5_000, [0, 1])]),
)
@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.quick_cases(
    "kernel-100-seeds0",
    "tied-100-seeds0",
    "markov-100-seeds0",
    "ica-100-seeds0",
    "sparse-100-seeds0",
    "kernel_ica-100-seeds0",
)
def test_one_entry_of_a_million__is_left_out_and_named(name, rows, seeds):
    family = FAMILIES[name]
    for seed in seeds:
        values, row = family.draw(rows, seed), rows // 2
        without = np.delete(values, row, 0)
        far = values.copy()
        far[row, 1] = 1e6
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", BigtensorWarning)
            expected = getattr(family.make().fit(without), family.answer)(without)
        with warnings.catch_warnings(record=True) as issued:
            warnings.simplefilter("always")
            model = family.make().fit(far)
        assert all(issubclass(entry.category, BigtensorWarning) for entry in issued)
        named = [entry for entry in issued if f"(row {row})" in str(entry.message)]
        assert [entry.category for entry in named] == [ConditioningWarning]
        answers = getattr(model, family.answer)(far)
        assert np.isfinite(answers).all()
        assert model.diagnostics_["outlying_rows"] == 1
        assert model.diagnostics_["first_outlying_rows"] == [row]
        agreement = family.agreement(np.delete(answers, row, 0), expected)
        assert agreement >= family.least, f"seed {seed}"


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.quick_cases("kernel", "tied", "linear", "markov", "ica", "sparse", "kernel_ica")
def test_without_an_outlier__none_is_counted(name):
    family = FAMILIES[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BigtensorWarning)
        model = family.make().fit(family.draw(100, 0))
    assert model.diagnostics_["outlying_rows"] == 0
    assert model.diagnostics_["first_outlying_rows"] == []


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.quick_cases("kernel", "tied", "linear", "markov", "ica", "sparse", "kernel_ica")
def test_rounds__say_outlying_rows_of_the_prepared_part(name):
    family = FAMILIES[name]
    values = family.draw(600, 0)
    values[[20, 500], 1] = 1e6
    parts = values[:300], values[300:]
    model = family.make()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BigtensorWarning)
        model.prepare(parts[0], rows=600)
        while "verdict" not in model.diagnostics_:
            model.solve(merge([model.accumulate(part) for part in parts]))
    # families of moments count all rows, densities with tails those of the sample
    counted = model.diagnostics_["outlying_rows"]
    assert counted == (1 if "drawn_rows" in model.diagnostics_ else 2)
    assert model.diagnostics_["first_outlying_rows"] == [20]
    sentences = model.diagnostics_["verdict"]["sentences"]
    assert any("(row 20)" in words or "(rows 20, ...)" in words for words in sentences)

"""Mixtures of categories in every view, against simulated conditional probabilities."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import linear_sum_assignment

from bigtensor import KernelMixture, SpectralOptions
from bigtensor.statistics.row_keys import row_keys

PRECISE = {"spectral": SpectralOptions(feature_dtype="float64", bins=512), "random_state": 0}


def discrete_mixture(seed: int, rows: int, weights: np.ndarray, categories: tuple[int, ...]):
    """Return codes, labels, and ``P(code | component)`` of every view: (components, codes)."""
    rng = np.random.default_rng(seed)
    tables = [rng.dirichlet(np.full(count, 0.4), len(weights)) for count in categories]
    label = rng.choice(len(weights), size=rows, p=weights)
    draw = rng.random((rows, len(categories)))
    codes = [
        np.minimum((draw[:, [view]] > np.cumsum(table[label], axis=1)).sum(axis=1), count - 1)
        for view, (table, count) in enumerate(zip(tables, categories, strict=True))
    ]
    return np.stack(codes, axis=1).astype(float), label, tables


def most_likely(rows: np.ndarray, weights: np.ndarray, tables: list[np.ndarray], steps: int):
    """Return the maximum-likelihood tables that EM reaches from the truth, and the likelihood."""
    codes = rows.astype(int)
    for _ in range(steps):
        joint = np.log(weights) + sum(
            np.log(np.maximum(table[:, codes[:, view]].T, 1e-12))
            for view, table in enumerate(tables)
        )
        log_density = np.logaddexp.reduce(joint, axis=1)
        share = np.exp(joint - log_density[:, None])
        weights = share.mean(axis=0)
        tables = [
            np.stack([np.bincount(codes[:, view], part, table.shape[1]) for part in share.T])
            / share.sum(axis=0)[:, None]
            for view, table in enumerate(tables)
        ]
    return tables, log_density.mean()


def worst_distance(truth: list[np.ndarray], found: list[np.ndarray]) -> float:
    """Return the largest total variation distance of a component in a view from the truth."""
    cost = sum(
        np.abs(table[:, None] - one).sum(axis=2) for table, one in zip(truth, found, strict=True)
    )
    order = linear_sum_assignment(cost)[1]
    pairs = zip(truth, found, strict=True)
    return max(np.abs(table - one[order]).sum(axis=1).max() / 2 for table, one in pairs)


# a label of categories is that of many equal rows, which change it at once
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::bigtensor.errors.RefinementWarning")
def test_delta__finds_the_conditional_probabilities_of_a_discrete_mixture():
    """Compared with maximum likelihood that starts from the truth: the lower reference."""
    weights, categories = np.array([0.5, 0.3, 0.2]), (4, 5, 6)
    errors: dict[str, list[float]] = {"likelihood": [], "spectral": [], "kmeans": []}
    for seed in range(5):
        rows, _, truth = discrete_mixture(seed, 20_000, weights, categories)
        best, likelihood = most_likely(rows, weights, truth, 50)
        errors["likelihood"].append(worst_distance(truth, best))
        for start in ("spectral", "kmeans"):
            model = KernelMixture(3, kernel="delta", init=start, **PRECISE).fit(rows)
            tables = [
                model.component_density(view, np.arange(float(count))).T
                for view, count in zip(model.views_.names, categories, strict=True)
            ]
            errors[start].append(worst_distance(truth, tables))
            if start == "spectral":
                assert model.score(rows) > likelihood - 1e-3
    median = {name: np.median(values) for name, values in errors.items()}
    assert median["spectral"] < 3 * median["likelihood"]
    assert median["spectral"] < 0.06
    # distances between indicators say little: clusters of categories are no start
    assert median["kmeans"] > 5 * median["spectral"]


def test_delta__answers_are_those_of_the_tables():
    rows, _, _ = discrete_mixture(1, 3000, np.array([0.6, 0.4]), (3, 4, 2, 5))
    model = KernelMixture(2, kernel="delta", **PRECISE).fit(rows)
    joint = np.log(model.weights_) + sum(
        np.log(model.component_density(view, rows[:, column]))
        for column, view in enumerate(model.views_.names)
    )
    expected = np.logaddexp.reduce(joint, axis=1)
    assert_allclose(model.score_samples(rows), expected, rtol=1e-9)
    assert_allclose(model.predict_proba(rows), np.exp(joint - expected[:, None]), atol=1e-6)
    for view, count in zip(model.views_.names, (3, 4, 2, 5), strict=True):
        table = model.component_density(view, np.arange(float(count)))
        # a sum of counts; the floor of one millionth apart
        assert_allclose(table.sum(axis=0), 1.0, atol=1e-5)


@pytest.mark.filterwarnings("ignore::bigtensor.errors.RefinementWarning")
def test_delta__a_rare_code_outside_the_pilot_does_not_stop_the_fit():
    rows, _, _ = discrete_mixture(2, 4000, np.array([0.6, 0.4]), (3, 3, 3))
    model = KernelMixture(2, kernel="delta", pilot_rows=500, **PRECISE)
    before = model.fit(rows).weights_
    # the pilot has the rows of the smallest keys
    last = int(np.argmax(row_keys(0, "sample", 0, len(rows))))
    rows[last, 0] = 99.0
    model.fit(rows)
    assert 99.0 not in model.solution_.solution.embedded[0].feature_map.categories
    assert_allclose(model.weights_, before, atol=1e-3)
    assert model.predict(rows)[last] in (0, 1)
    assert model.diagnostics_["rows"] == 4000

"""Sample weights of more rows than the driver holds: the ridge and the verdict count them."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from bigtensor import DiscreteMixture, simulate
from bigtensor.errors import ConditioningWarning, MissingValueWarning

ROWS, K = 205_000, 2
OTHER_PILOT = 1e-6
"""Another pilot sample may order the views otherwise, and the initialisation follows the order.

A sample of repeated rows is another one, because the rows are more than it holds.
"""
STRONG = {"n_components": K, "ridge": 200.0, "max_iter": 1}
"""A ridge that draws the components to each other so clearly that half or twice of it shows."""


@pytest.fixture(scope="module")
def rows() -> xr.DataArray:
    """Rows of three views with a joint table that is too large to count them in."""
    return coded(
        simulate.discrete_mixture(ROWS, K, n_categories=170, concentration=0.2, random_state=4)["X"]
    )


@pytest.fixture(scope="module")
def fitted(rows: xr.DataArray) -> DiscreteMixture:
    """Mixture of the rows without weights."""
    return fit(rows)


def coded(X: xr.DataArray) -> xr.DataArray:
    """Return rows of integers with the names of all categories."""
    names = {name: tuple(map(str, range(170))) for name in X["feature"].to_numpy()}
    return X.astype(np.int32).assign_attrs(categories=names)


def fit(X: xr.DataArray, weight: np.ndarray | None = None, **parameters: object) -> DiscreteMixture:
    """Return a mixture that passes over all rows have found."""
    model = DiscreteMixture(**{**STRONG, **parameters}).fit(X, sample_weight=weight)
    names = [entry["name"] for entry in model.diagnostics_["passes"]]
    assert names == ["pilot", "pairs", "moments", "posterior"]
    return model


def apart(found: DiscreteMixture, expected: DiscreteMixture) -> float:
    """Return the largest difference of a parameter."""
    pairs = [(found.weights_, expected.weights_)]
    for name, table in expected.component_probabilities_.items():
        pairs.append((found.component_probabilities_[name].to_numpy(), table.to_numpy()))
    return max(float(np.abs(ours - theirs).max()) for ours, theirs in pairs)


@pytest.mark.slow  # a law on every model
def test_weights_of_two__are_rows_that_occur_twice(rows, fitted) -> None:
    weighted = fit(rows, np.full(ROWS, 2.0))
    repeated = fit(coded(xr.concat([rows, rows], "sample")))
    assert apart(weighted, repeated) < OTHER_PILOT
    # the ridge is a number of rows, and weighs less against more of them
    assert apart(weighted, fitted) > 1e-4


def test_scale_of_weights__is_that_of_the_ridge(rows, fitted) -> None:
    # without EM iterations, whose half a count does not scale
    once = DiscreteMixture(K, method="ex", ridge=200.0, max_iter=0).fit(rows)
    scaled = DiscreteMixture(K, method="ex", ridge=600.0, max_iter=0)
    scaled.fit(rows, sample_weight=np.full(ROWS, 3.0))
    assert apart(scaled, once) < 1e-9
    assert apart(fit(rows, np.full(ROWS, 3.0)), fitted) > 1e-4


def test_rows_without_weight__are_not_there(rows, fitted) -> None:
    more = coded(xr.concat([rows, rows.isel(sample=slice(0, 60_000))], "sample"))
    order = np.random.default_rng(0).permutation(more.sizes["sample"])
    weight = (np.arange(len(order)) < ROWS).astype(float)
    found = fit(more.isel(sample=order), weight[order])
    assert apart(found, fitted) < OTHER_PILOT


def test_rows_left_out__are_not_there(rows, fitted) -> None:
    more = coded(xr.concat([rows, rows.isel(sample=slice(0, 60_000))], "sample")).copy()
    more[ROWS:, 1] = -1
    order = np.random.default_rng(1).permutation(more.sizes["sample"])
    with pytest.warns(MissingValueWarning, match="60,000"):
        found = fit(more.isel(sample=order), missing="omit")
    assert apart(found, fitted) < OTHER_PILOT


@pytest.mark.filterwarnings("ignore::bigtensor.errors.WeightWarning")
@pytest.mark.slow  # the scale of weights is quick
def test_verdict__counts_weights_and_not_rows(rows) -> None:
    with pytest.warns(ConditioningWarning, match="fewer than 5 rows"):
        model = fit(rows, np.full(ROWS, 10 / ROWS), ridge=None)
    assert not model.diagnostics_["verdict"]["good"]
    assert fit(rows, ridge=None).diagnostics_["verdict"]["good"]

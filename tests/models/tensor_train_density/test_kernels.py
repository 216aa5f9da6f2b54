"""Rows in tight groups, as repeated measurements of one person: kernels beside the trains."""

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KernelDensity

import bigtensor
from bigtensor import TensorTrainDensity
from bigtensor.models.tensor_train_density.sample.coordinate_systems import coordinates_of
from bigtensor.models.tensor_train_density.sample.kernel_fit import KernelCandidate
from bigtensor.models.tensor_train_density.sample.pilot import PilotRows
from bigtensor.models.tensor_train_density.sample_fit import SampleProblem

GROUPS, VARIABLES = 80, 5


def groups_of_rows(count, seed):
    """Return rows of 80 groups that differ far more than rows of one group do."""
    centres = np.random.default_rng(0).normal(size=(GROUPS, VARIABLES))
    rng = np.random.default_rng(seed)
    return np.repeat(centres, count, axis=0) + 0.15 * rng.normal(size=(count * GROUPS, VARIABLES))


@pytest.fixture(scope="module")
def model():
    return TensorTrainDensity(random_state=0).fit(groups_of_rows(6, 1))


def test_density__is_ahead_of_a_kernel_estimate(model):
    X, test = groups_of_rows(6, 1), groups_of_rows(2, 2)
    search = GridSearchCV(KernelDensity(), {"bandwidth": [0.1, 0.15, 0.2, 0.3, 0.5]}).fit(X)
    assert model.score(test) > search.best_estimator_.score_samples(test).mean()
    diagnostics = model.diagnostics_
    assert diagnostics["kernels"]
    assert diagnostics["gaussian_components"] == len(X)


@pytest.mark.slow  # several clouds are quick
def test_one_cloud__has_no_kernels():
    rng = np.random.default_rng(0)
    model = TensorTrainDensity(random_state=0).fit(
        rng.normal(size=(300, 4)) @ rng.normal(size=(4, 4))
    )
    assert not model.diagnostics_["kernels"]


def test_queries__agree_with_the_joint_density(model):
    X = groups_of_rows(1, 3)[:20]
    joint = model.score_samples(X)
    others = ["x0", "x2", "x4"]
    of_others = model.score_samples(X, of=others)
    assert of_others + model.score_samples(X, given=others) == pytest.approx(joint, abs=1e-9)
    marginal = model.marginal(others)
    assert marginal.score_samples(X[:, [0, 2, 4]]) == pytest.approx(of_others, abs=1e-9)
    one = model.conditional({"x0": X[0, 0], "x2": X[0, 2]})
    assert one.score_samples(X[:1, [1, 3, 4]])[0] == pytest.approx(
        model.score_samples(X[:1], given=["x0", "x2"])[0], abs=1e-9
    )


def test_conditional__integrates_to_one(model):
    row = groups_of_rows(1, 3)[0]
    one = model.conditional({f"x{j}": row[j] for j in range(1, VARIABLES)})
    grid = np.linspace(-12, 12, 20_001)
    heights = np.exp(one.score_samples(grid[:, None]))
    assert np.trapezoid(heights, grid) == pytest.approx(1, abs=1e-4)
    holes = row[None].copy()
    holes[0, 0] = np.nan
    mean = np.trapezoid(grid * heights, grid)
    assert model.impute(holes)[0, 0] == pytest.approx(mean, abs=1e-3)
    median = grid[np.searchsorted(np.cumsum(heights) * (grid[1] - grid[0]), 0.5)]
    assert model.impute(holes, "median")[0, 0] == pytest.approx(median, abs=1e-3)


def test_draws__lie_near_the_groups(model):
    drawn, centres = model.sample(2_000, random_state=0), groups_of_rows(1, 3)
    nearest = np.sqrt(((drawn[:, None] - centres) ** 2).sum(axis=2)).min(axis=1)
    assert np.median(nearest) < 0.8


def test_stored_model__has_the_same_answers(model, tmp_path):
    X = groups_of_rows(1, 3)
    loaded = bigtensor.load(model.save(tmp_path / "m.zarr"))
    assert np.array_equal(loaded.score_samples(X), model.score_samples(X))
    # a row has the bits that it has alone
    alone = [model.score_samples(row[None])[0] for row in X[:5]]
    assert np.array_equal(alone, model.score_samples(X)[:5])


def test_width__is_that_of_rows_repeated_as_often_as_their_weight():
    X = groups_of_rows(3, 1)
    once, twice = (_kernels(rows, weight) for rows, weight in ((X, 2.0), (np.repeat(X, 2, 0), 1.0)))
    assert once.covariances == pytest.approx(twice.covariances, rel=1e-9)
    assert once.covariances[0, 0, 0] < 0.3


def _kernels(values, weight):
    """Return the kernels of equally weighted rows."""
    rows = PilotRows(
        values,
        np.full(len(values), weight),
        symbols=(None,) * VARIABLES,
        least_width=None,
        atoms=(np.empty(0),) * VARIABLES,
    )
    coordinates = coordinates_of(rows, "z", 0.0)
    problem = SampleProblem.of_rows(rows, coordinates, (0.6,), "chain")
    return KernelCandidate(0.03, 1).fitted(problem, 0)


def test_kernels__are_not_narrower_than_the_steps_of_counts():
    rng = np.random.default_rng(1)
    X = np.column_stack([rng.poisson(4, 1_000), rng.normal(size=1_000)]).astype(np.float64)
    assert not TensorTrainDensity(random_state=0).fit(X).diagnostics_["kernels"]

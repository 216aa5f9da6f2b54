"""Fits against the truth of simulated chains, and answers against numerical integrals."""

import re

import numpy as np
import pytest
import xarray as xr
from scipy.integrate import quad
from scipy.stats import kstest
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture

import bigtensor
from bigtensor import TensorTrainDensity, TensorTrainOptions, simulate
from bigtensor.errors import (
    ConditioningWarning,
    ConstantFeatureWarning,
    DataError,
    MissingValueWarning,
    ParameterError,
    ViewError,
)
from bigtensor.models.tensor_train_density import choice
from bigtensor.models.tensor_train_density.sample.pilot import PilotRows
from bigtensor.report.html import render_report
from bigtensor.testing import small_data
from tests.benchmarks.density.trees import LatentTree
from tests.parameters import first_quick


def excess(truth, model, test):
    """Return by how many nats the density of test rows is below the true one."""
    true = simulate.latent_chain_density(truth, np.asarray(test))
    return float((true - np.asarray(model.score_samples(test))).mean())


@pytest.fixture(scope="module")
def chain():
    return simulate.latent_chain(6_000, 3, 5, 0.7, random_state=1)


@pytest.fixture(scope="module")
def model(chain):
    return TensorTrainDensity(random_state=0).fit(chain["X"][:3_000])


@pytest.fixture(scope="module", params=first_quick(["chain", "balanced"]))
def iris(request):
    X = load_iris().data
    settings = {
        "trains": TensorTrainOptions(n_trains=2),
        "structure": request.param,
        "widths": (0.3, 0.9),
    }
    return X, TensorTrainDensity(3, coordinates="ns", **settings, random_state=0).fit(X)


@pytest.mark.slow  # a law of weights is quick
def test_copies_and_weights__flatter_no_validation():
    rows = np.random.default_rng(0).normal(size=(200, 3)) @ np.diag([1.0, 2.0, 0.5])
    settings = {"coordinates": "z", "random_state": 0}
    once = TensorTrainDensity(**settings).fit(rows).diagnostics_
    copied = TensorTrainDensity(**settings).fit(np.repeat(rows, 4, axis=0)).diagnostics_
    weighted = TensorTrainDensity(**settings).fit(rows, sample_weight=np.full(200, 4.0))
    name = "validation_log_density"
    assert copied["rank"] == once["rank"]
    assert copied[name] == pytest.approx(once[name], abs=0.05)
    assert weighted.diagnostics_[name] == pytest.approx(copied[name])


def chosen_on(rows):
    """Return the diagnostics of a fit, and the largest rank that was tried in each coordinates."""
    settings = {"trains": TensorTrainOptions(n_trains=1), "random_state": 0}
    diagnostics = TensorTrainDensity(**settings).fit(rows).diagnostics_
    tried = diagnostics["tried"]
    systems = {one["system"] for one in tried}
    return diagnostics, {
        system: max(one["rank"] for one in tried if one["system"] == system) for system in systems
    }


@pytest.mark.slow  # test_validation has iris
def test_coordinates_far_behind__are_not_followed_through_all_ranks():
    rng = np.random.default_rng(3)
    boxes = rng.integers(0, 4, size=(12, 3))[rng.integers(12, size=600)]
    diagnostics, largest = chosen_on(np.exp(boxes + 0.9 * rng.random((600, 3))))
    assert diagnostics["rank"] == 8
    # both are compared at a rank of five
    assert largest["z"] == 5
    assert largest["ns"] == 18


@pytest.mark.slow  # a law of weights is quick
def test_copies_of_rows__offer_no_rank_of_many_rows(monkeypatch):
    tried = []

    def ranks_of(validation, first, settings, ahead=None):
        tried.append(settings.ranks)
        return best_rank(validation, first, settings, ahead)

    best_rank = choice._best_rank
    monkeypatch.setattr(choice, "_best_rank", ranks_of)
    rows = np.random.default_rng(0).normal(size=(250, 2))
    chosen_on(np.repeat(rows, 8, axis=0))
    assert {max(ranks) for ranks in tried} == {18}


@pytest.mark.slow  # test_validation has iris
def test_rank__is_no_larger_than_is_of_use_beside_other_components():
    rng = np.random.default_rng(0)
    turn = rng.uniform(0, 2 * np.pi, (600, 1))
    spiral = turn * np.hstack([np.cos(2 * turn), np.sin(2 * turn)]) / 2
    diagnostics, largest = chosen_on(np.exp(spiral + 0.1 * rng.normal(size=(600, 2))))
    assert diagnostics["kernels"]
    assert largest["ns"] == 5
    # a train of rank 18 beside them has -2.127
    assert diagnostics["validation_log_density"] > -2.14


def test_equal_rows__are_copies_unless_they_are_equal_by_chance():
    rng = np.random.default_rng(0)
    rounded = rng.integers(0, 20, size=(300, 2)).astype(float)
    both = np.column_stack([rounded, rng.normal(size=300)])[rng.integers(0, 200, 300)]
    for values, n_originals in ((rounded, 300), (both, len(np.unique(both, axis=0)))):
        atoms, symbols = (np.empty(0),) * values.shape[1], (None,) * values.shape[1]
        assert PilotRows(values, np.ones(300), symbols, None, atoms).n_originals == n_originals


def test_density__is_near_the_truth(chain, model):
    test = chain["X"][3_000:]
    assert excess(chain, model, test) < 0.1
    peer = GaussianMixture(8, random_state=0).fit(chain["X"].values[:3_000])
    assert excess(chain, model, test) < 0.3 * excess(chain, peer, test.values)
    assert model.order_ in ([f"x{j}" for j in range(5)], [f"x{j}" for j in reversed(range(5))])


def test_marginals_of_missing_entries__are_near_the_truth(chain, model):
    test = chain["X"][3_000:]
    test = test.where(np.random.default_rng(0).random(test.shape) > 0.4)
    assert abs(excess(chain, model, test)) < 0.08


@pytest.mark.slow  # the truth of fewer rows is quick
def test_passes__bring_many_rows_nearer_to_the_truth():
    chain = simulate.latent_chain(130_000, 4, 8, 0.7, random_state=3)
    values, test = chain["X"].values[:120_000], chain["X"].values[120_000:]
    settings = {"rank": 5, "coordinates": "z", "widths": (0.3,), "pilot_rows": 2_000}
    some = TensorTrainDensity(**settings).fit(values[:2_000])
    many = TensorTrainDensity(**settings, max_iter=4).fit(values)
    assert excess(chain, many, test) < 0.5 * excess(chain, some, test)
    held_out = many.diagnostics_["held_out_log_density"]
    assert len(held_out) == 4
    assert (np.diff(held_out) > 0).all()


@pytest.mark.slow
@pytest.mark.parametrize("coordinates", ["z", pytest.param("ns", marks=pytest.mark.slow)])
def test_every_conditional__integrates_to_one(iris, coordinates):
    X, fitted_to = iris
    settings = {"structure": fitted_to.structure, "widths": (0.3, 0.9), "random_state": 0}
    model = TensorTrainDensity(3, coordinates=coordinates, **settings).fit(X)
    for j, name in enumerate(["x0", "x1", "x2", "x3"]):
        density = model.marginal([name])
        other = model.conditional({f"x{i}": float(X[70, i]) for i in range(4) if i != j})
        for one in (density, other):
            ends = [-np.inf, *np.linspace(X[:, j].min() - 1, X[:, j].max() + 1, 400), np.inf]
            total = sum(
                quad(lambda x, m=one: np.exp(m.score_samples([[x]])[0]), *piece, limit=200)[0]
                for piece in ((ends[0], ends[1]), (ends[-2], ends[-1]))
            )
            grid = np.linspace(ends[1], ends[-2], 400_001)
            total += np.trapezoid(np.exp(one.score_samples(grid[:, None])), grid)
            assert total == pytest.approx(1, abs=1e-6)


def test_marginals_and_conditionals__agree_with_log_densities(iris):
    X, model = iris
    joint, some = model.score_samples(X), model.score_samples(X, of=["x0", "x2"])
    assert model.marginal(["x2", "x0"]).score_samples(X[:, [2, 0]]) == pytest.approx(some)
    rest = model.score_samples(X, given=["x0", "x2"])
    assert some + rest == pytest.approx(joint)
    one = model.conditional({"x0": X[3, 0], "x2": X[3, 2]})
    assert one.score_samples(X[3:4, [1, 3]]) == pytest.approx(rest[3:4])
    both = one.marginal(["x3"]).score_samples(X[3:4, [3]])
    assert both == pytest.approx(model.score_samples(X, of=["x3"], given=["x0", "x2"])[3:4])


def test_samples__have_every_marginal_and_a_conditional(iris):
    _, model = iris
    drawn = model.sample(4_000, random_state=1)
    given = model.conditional({"x3": 0.3})
    conditional = given.sample(4_000, random_state=2)
    for density, rows, names in (
        (model, drawn, ["x0", "x1", "x2", "x3"]),
        (given, conditional, ["x0", "x1", "x2"]),
    ):
        for j, name in enumerate(names):
            one = density.marginal([name])
            grid = np.linspace(rows[:, j].min() - 1, rows[:, j].max() + 1, 20_001)
            heights = np.exp(one.score_samples(grid[:, None]))
            steps = np.diff(grid) * (heights[1:] + heights[:-1]) / 2
            distribution = np.append(0, np.cumsum(steps)) / steps.sum()
            test = kstest(rows[:, j], lambda x, g=grid, d=distribution: np.interp(x, g, d))
            assert test.pvalue > 1e-3


def test_samples__have_no_category_that_no_row_has():
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 3, 40)
    X = np.column_stack([rng.normal(size=40), kind + rng.normal(size=40), kind])
    model = TensorTrainDensity(3, coordinates="z").fit(X)
    # a draw of the density itself may be of another category
    assert np.isnan(model.solution_.draw(50_000, np.random.default_rng(0))[:, 2]).any()
    drawn = model.sample(50_000)
    assert set(np.unique(drawn[:, 2])) == {0.0, 1.0, 2.0}
    shares = np.bincount(drawn[:, 2].astype(int)) / len(drawn)
    alone = np.exp(model.marginal(["x2"]).score_samples(np.arange(3.0)[:, None]))
    np.testing.assert_allclose(shares, alone / alone.sum(), atol=0.01)


def test_imputation__is_nearer_than_means_and_covers(iris):
    X, model = iris
    holes = X.copy()
    missing = np.random.default_rng(0).random(X.shape) < 0.2
    holes[missing] = np.nan
    found = model.impute(holes)
    assert np.array_equal(found[~missing], X[~missing])
    by_mean = np.broadcast_to(X.mean(axis=0), X.shape)
    assert np.square(found - X)[missing].mean() < 0.2 * np.square(by_mean - X)[missing].mean()
    drawn = np.stack([model.impute(holes, "sample")[missing]])
    assert np.isfinite(drawn).all()
    assert np.array_equal(model.impute(holes, "sample")[missing], drawn[0])
    median = model.impute(holes, "median")
    assert np.abs(median - found)[missing].max() < 1.5


def test_prediction_of_a_variable__has_a_mean_and_an_interval(iris):
    X, model = iris
    rows = xr.DataArray(X, {"sample": np.arange(150) * 2}, ("sample", "feature"))
    found = model.predict_variable(rows, "x2")
    inside = (X[:, 2] > found["lower"]) & (X[:, 2] < found["upper"])
    assert 0.8 < float(inside.mean()) < 0.99
    assert np.array_equal(found["sample"], np.arange(150) * 2)
    lazy = model.predict_variable(rows.chunk({"sample": 40}), "x2")
    assert lazy["median"].chunks is not None
    xr.testing.assert_allclose(lazy, found)
    holes = X.copy()
    holes[:, 2] = np.nan
    assert model.impute(holes)[:, 2] == pytest.approx(found["mean"].to_numpy())
    for row in (0, 80):
        curve = model.conditional({f"x{j}": float(X[row, j]) for j in (0, 1, 3)})
        grid = np.linspace(-10, 20, 200_001)
        density = np.exp(curve.score_samples(grid[:, None]))
        mean = np.trapezoid(grid * density, grid)
        assert float(found["mean"][row]) == pytest.approx(mean, abs=1e-3)
        below = np.trapezoid(np.where(grid < float(found["lower"][row]), density, 0), grid)
        assert below == pytest.approx(0.1, abs=1e-3)


@pytest.mark.slow  # conditionals of rows are quick
def test_surprises__are_conditional_probabilities(iris):
    X, model = iris
    rows = X[[0, 60, 120]].copy()
    rows[1, 1] = 30.0
    rows[2, 0] = np.nan
    found = model.surprise(rows)
    assert np.isnan(found[2, 0])
    assert np.nanargmax(found[1]) == 1
    for row, j in ((0, 0), (0, 2), (2, 3), (2, 1)):
        given = {f"x{i}": float(rows[row, i]) for i in range(4) if i != j}
        given = {name: value for name, value in given.items() if np.isfinite(value)}
        one = model.conditional(given).marginal([f"x{j}"])
        grid = np.linspace(-60, float(rows[row, j]), 400_001)
        below = np.trapezoid(np.exp(one.score_samples(grid[:, None])), grid)
        # the tail below the grid has a mass of about 1e-6
        expected = -np.log(2 * min(below, 1 - below))
        assert found[row, j] == pytest.approx(expected, rel=2e-3, abs=2e-3)


def test_contributions__add_up_to_the_log_density(iris):
    X, model = iris
    rows = X[::10].copy()
    rows[2, 1] = np.nan
    found = model.score_contributions(rows)
    assert found.sum(axis=1) == pytest.approx(model.score_samples(rows), abs=1e-10)
    assert found[2, 1] == 0
    first, second = model.order_[:2]
    numbers = [int(name[1:]) for name in (first, second)]
    assert found[:, numbers[0]] == pytest.approx(model.score_samples(rows, of=[first]))
    given = model.score_samples(rows, of=[second], given=[first])
    assert found[:, numbers[1]] == pytest.approx(given)


def test_posteriors__tell_the_clusters(iris):
    X, model = iris
    found = model.latent_posterior(X)
    links = len(model.solution_.trains[0].nodes) - 1
    assert found.shape == (150, 2, links, 3)
    assert found.sum(axis=(1, 3)) == pytest.approx(np.ones((150, links)), abs=1e-12)
    species = np.repeat([0, 1, 2], 50)
    states = found[:, 0, 0].argmax(axis=1)
    assert adjusted_rand_score(species, states) > 0.5


def test_posteriors__of_one_variable_are_refused():
    model = fitted(gaussian_rows()[:, :1])
    with pytest.raises(ParameterError, match="no latent states"):
        model.latent_posterior(gaussian_rows()[:, :1])


def test_a_tree__is_nearer_to_rows_of_a_tree():
    rng = np.random.default_rng(0)
    tree = LatentTree.random(8, 3, 0.75, rng)
    X, test = tree.draw(2_000, rng), tree.draw(5_000, rng)
    settings = {
        "trains": TensorTrainOptions(n_trains=1),
        "rank": 3,
        "coordinates": "z",
        "widths": (0.3, 0.9),
    }
    true = tree.log_densities(test).mean()
    below = {
        structure: true - TensorTrainDensity(structure=structure, **settings).fit(X).score(test)
        for structure in ("chain", "balanced")
    }
    assert 0 < below["balanced"] < 0.7 * below["chain"]


@pytest.mark.slow  # queries of single rows are quick
def test_mutual_information__is_that_of_gaussian_variables():
    rng = np.random.default_rng(0)
    X = rng.multivariate_normal([0, 0, 0], [[1, 0.8, 0], [0.8, 1, 0], [0, 0, 1]], 5_000)
    model = TensorTrainDensity(8, coordinates="ns", widths=(0.3, 0.9), random_state=0).fit(X)
    exact = -0.5 * np.log(1 - 0.64)
    assert model.mutual_information(["x0"], ["x1"]) == pytest.approx(exact, abs=0.07)
    assert model.mutual_information(["x2"], ["x0", "x1"]) == pytest.approx(0, abs=0.03)


@pytest.mark.slow  # laws of units and columns are quick
def test_scales_shifts_and_order__change_nothing():
    X = load_wine().data[:, :6]
    scale, shift = np.array([1e-3, 10, 1, 5, 1e4, 2]), np.arange(6.0)
    settings = {"trains": TensorTrainOptions(n_trains=1), "rank": 3, "widths": (0.3, 0.9)}
    model = TensorTrainDensity(**settings).fit(X)
    own = model.score_samples(X)
    moved = TensorTrainDensity(**settings).fit(X * scale + shift).score_samples(X * scale + shift)
    # a probability has no unit
    on_atom = np.stack([np.isin(X[:, j], model.atoms_.get(f"x{j}", ())) for j in range(6)], axis=1)
    assert on_atom.any()
    assert moved + ~on_atom @ np.log(scale) == pytest.approx(own, abs=1e-9)


def test_balanced_tree_of_codes__does_not_depend_on_the_order_of_columns():
    # the place of the second category is as far from the first as from the third
    data = small_data("codes")
    settings = {"structure": "balanced", "coordinates": "z", "random_state": 0}
    model = TensorTrainDensity(2, trains=TensorTrainOptions(n_trains=1), **settings)
    expected = model.fit(data).score_samples(data)
    moved = data[:, [3, 0, 1, 2]]
    np.testing.assert_allclose(model.fit(moved).score_samples(moved), expected, atol=1e-8)


@pytest.mark.slow  # a law on every model
def test_answers__come_in_the_container_of_the_rows(chain, model, tmp_path):
    rows = chain["X"][3_000:]
    scores = model.score_samples(rows)
    assert isinstance(scores, xr.DataArray)
    lazy = model.score_samples(rows.chunk({"sample": 700}))
    assert lazy.chunks is not None
    assert np.allclose(lazy, scores)
    holes = rows.where(np.random.default_rng(0).random(rows.shape) > 0.2)
    imputed = model.impute(holes.chunk({"sample": 700}))
    assert imputed.chunks is not None
    assert list(imputed["feature"].values) == [f"x{j}" for j in range(5)]
    assert model.surprise(holes)["feature"].equals(imputed["feature"])
    assert np.allclose(imputed, model.impute(holes), atol=1e-8)
    names = ("log_density", "surprise", "contribution", "imputed", "posterior")
    model.write(holes, tmp_path / "s.zarr", outputs=names, scheduler="threads")
    written = xr.open_zarr(tmp_path / "s.zarr")
    assert np.array_equal(written["log_density"], model.score_samples(holes))
    assert np.array_equal(written["surprise"], model.surprise(holes), equal_nan=True)
    assert np.array_equal(written["contribution"], model.score_contributions(holes))
    assert np.array_equal(written["imputed"], model.impute(holes))
    assert np.array_equal(written["posterior"], model.latent_posterior(holes))
    model.write(holes, tmp_path / "usual.zarr", scheduler="threads")
    assert set(xr.open_zarr(tmp_path / "usual.zarr")) == {"log_density"}
    with pytest.raises(ParameterError, match=r"outputs is 'label'; .*log_density"):
        model.write(holes, tmp_path / "t.zarr", outputs=("label",))
    loaded = bigtensor.load(model.save(tmp_path / "m.zarr"))
    assert np.array_equal(loaded.score_samples(rows), scores)
    part = model.conditional({"x1": 0.5})
    kept = bigtensor.load(part.save(tmp_path / "p.zarr"))
    assert np.array_equal(kept.sample(5, 1), part.sample(5, 1))
    assert list(part.feature_names_in_) == ["x0", "x2", "x3", "x4"]


@pytest.mark.slow  # test_report has its parts
def test_report__names_the_choices(model):
    page = render_report(model)
    assert "Choice by validation" in page
    assert "normal scores" in page or "standardised variables" in page
    assert "Unusual rows" not in page


@pytest.mark.slow  # test_report has its parts
def test_report_of_rows__shows_margins_pairs_and_unusual_rows(iris):
    X, model = iris
    rows = X.copy()
    rows[3, 2] = np.nan
    rows[5, 1] = 40.0
    page = render_report(model, data=rows)
    for title in ("Single variables", "Data and draws", "Unusual rows", "Dependence"):
        assert title in page
    # the entry that was changed is the most unusual one of all rows
    first = page[page.index('id="unusual"') :].split("<tr>")[2]
    assert re.search(r">5<", first)
    assert "x1" in first
    assert "40" in first


def test_categorical_variables__have_probabilities():
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 3, 900)
    X = np.column_stack([kind, kind + 0.4 * rng.normal(size=900)])
    model = TensorTrainDensity(random_state=0).fit(X)
    assert model.diagnostics_["categorical"] == ["x0"]
    symbols = np.column_stack([[0, 1, 2, 5], np.full(4, np.nan)])
    shares = np.exp(model.score_samples(symbols))
    assert shares.sum() == pytest.approx(1, abs=1e-9)
    assert shares[:3] == pytest.approx(np.bincount(kind) / 900, abs=0.01)
    holes = X.copy()
    holes[:, 0] = np.nan
    assert (model.impute(holes)[:, 0] == kind).mean() > 0.75
    assert set(np.unique(model.sample(500)[:, 0])) <= {0, 1, 2}


def gaussian_rows(n=300):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    X[:, 1] += X[:, 0]
    return X


def fitted(X, **settings):
    return TensorTrainDensity(**{"rank": 2, "widths": (0.5, 1.2), **settings}).fit(X)


def test_rotated_coordinates__answer_for_complete_rows_alone():
    X = gaussian_rows()
    model = fitted(X, coordinates="zca")
    with pytest.raises(ParameterError, match="mix the variables"):
        model.marginal(["x0"])
    with pytest.raises(ParameterError, match="coordinates='queries'"):
        model.impute(X)
    holes = X.copy()
    holes[3, 1] = np.nan
    with pytest.warns(MissingValueWarning, match="1 of "):
        assert np.flatnonzero(np.isnan(model.score_samples(holes))).tolist() == [3]
    with pytest.raises(DataError, match="are of complete rows"):
        fitted(holes, coordinates="zca")
    drawn = model.sample(5_000)
    assert np.cov(drawn.T) == pytest.approx(np.cov(X.T), abs=0.3)


@pytest.mark.parametrize(
    ("change", "warning", "words"),
    [
        (lambda X: np.column_stack([X, np.full(300, 5.0)]), ConstantFeatureWarning, "Constant"),
        (lambda X: np.column_stack([X, -3 * X[:, 0] + 1]), ConditioningWarning, "x0 and x3"),
        (
            lambda X: np.column_stack([X, np.full(300, np.nan)]),
            ConstantFeatureWarning,
            "Without any value",
        ),
        (
            lambda X: np.column_stack([X, np.where(np.arange(300) < 285, 0, X[:, 0])]),
            ConditioningWarning,
            "more than a third of the entries of x3",
        ),
    ],
)
def test_degenerate_variables__are_told(change, warning, words):
    with pytest.warns(warning, match=words):
        model = fitted(change(gaussian_rows()))
    assert not model.diagnostics_["verdict"]["good"]
    assert np.isfinite(model.score_samples(change(gaussian_rows()))).all()


@pytest.mark.parametrize("n", [1, 2, 4])
def test_too_few_rows__are_refused(n):
    with pytest.raises(DataError, match=f"{n} row"):
        fitted(gaussian_rows(n))


def test_no_value_at_all__is_refused():
    with pytest.raises(DataError, match="every entry is missing"):
        fitted(np.full((50, 2), np.nan))


def test_rounds__go_on_while_rows_beyond_the_prepared_part_gain():
    rows = np.random.default_rng(0).normal(size=(4_000, 3)) @ (np.eye(3) + 0.3)
    model = TensorTrainDensity(
        2, coordinates="z", widths=[0.5, 1.2], trains=TensorTrainOptions(n_trains=1), random_state=0
    )
    model.prepare(rows[:500], rows=len(rows))
    for _ in range(2):
        model.solve(bigtensor.merge([model.accumulate(rows[:500]), model.accumulate(rows[500:])]))
    assert len(model.diagnostics_["held_out_log_density"]) == 2


def test_one_variable__is_a_density_of_one_variable():
    X = gaussian_rows(2_000)[:, :1]
    model = TensorTrainDensity().fit(X)
    assert model.score(X) == pytest.approx(-0.5 * np.log(2 * np.pi * np.e), abs=0.05)


@pytest.mark.slow  # a law on every model
def test_an_outlier__has_a_small_density_and_harms_nobody():
    X = gaussian_rows()
    own = fitted(X).score(X)
    X[3, 1] = 1e6
    with pytest.warns(ConditioningWarning, match=r"far from all others \(row 3\)"):
        model = fitted(X)
    scores = model.score_samples(X)
    assert np.isfinite(scores).all()
    assert np.argmin(scores) == 3
    assert np.delete(scores, 3).mean() > own - 0.1


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"rank": 0}, "rank is 0; expected an integer from 1"),
        ({"coordinates": "polar"}, "coordinates is 'polar'"),
        ({"widths": (-1,)}, "widths is"),
        ({"widths": "wide"}, "widths is"),
        ({"trains": TensorTrainOptions(least_width=0)}, "least_width in .* is 0"),
    ],
)
def test_parameters_out_of_range__are_named(settings, words):
    with pytest.raises(ParameterError, match=words):
        fitted(gaussian_rows(), **settings)


def test_bad_queries__are_refused(iris):
    X, model = iris
    with pytest.raises(ViewError, match="unknown variables: q"):
        model.marginal(["q"])
    with pytest.raises(ParameterError, match="no variable is left"):
        model.marginal([])
    with pytest.raises(ParameterError, match="finite number"):
        model.conditional({"x0": np.nan})
    with pytest.raises(ParameterError, match="asked for and given: x0"):
        model.score_samples(X, of=["x0"], given=["x0"])
    with pytest.raises(ParameterError, match="between 0 and 1"):
        model.predict_variable(X, "x0", interval=2)


@pytest.mark.slow  # a law on every model
def test_whole_numbers__are_measured():
    ages = np.random.default_rng(0).integers(0, 1_000, (300, 2))
    model = TensorTrainDensity(rank=2, random_state=0).fit(ages)
    expected = TensorTrainDensity(rank=2, random_state=0).fit(ages.astype(float))
    np.testing.assert_array_equal(model.score_samples(ages), expected.score_samples(ages))


def test_variable_without_a_value__is_imputed_by_nan():
    rows = np.column_stack([np.random.default_rng(0).normal(size=(200, 2)), np.full(200, np.nan)])
    with pytest.warns(ConstantFeatureWarning, match="x2"):
        model = TensorTrainDensity(rank=2, random_state=0).fit(rows)
    for method in ("mean", "median", "sample"):
        assert np.isnan(model.impute(rows, method)[:, 2]).all()
    assert np.isnan(model.predict_variable(rows, "x2")["mean"]).all()


@pytest.mark.parametrize("structure", ["chain", "balanced"])
@pytest.mark.quick_cases("balanced")
def test_variable_without_a_value__changes_no_other_answer(structure):
    X = load_iris().data
    model = TensorTrainDensity(
        3, structure=structure, coordinates="z", widths=(0.3, 0.9), random_state=0
    )
    expected = clone(model).fit(X).score_samples(X)
    wider = np.insert(X, 1, np.nan, axis=1)
    with pytest.warns(ConstantFeatureWarning, match="x1"):
        model.fit(wider)
    assert model.score_samples(wider) == pytest.approx(expected, abs=1e-9)


@pytest.mark.slow
def test_variable_whose_values_begin_late__depends_on_the_others():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(8000, 3))
    X[:, 2] = np.sin(2 * X[:, 0]) + 0.2 * X[:, 1]
    X[:6000, 2] = np.nan
    model = TensorTrainDensity(
        5, coordinates="z", widths=(0.3, 0.9), missing="marginalise", random_state=0
    ).fit(X)
    assert model.mutual_information(["x0"], ["x2"]) > 0.2


def test_mutual_information__of_a_variable_with_itself_is_refused(iris):
    _, model = iris
    with pytest.raises(ParameterError, match="x1"):
        model.mutual_information(["x0", "x1"], ["x1"])

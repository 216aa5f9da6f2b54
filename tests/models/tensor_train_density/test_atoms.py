"""Values with a probability of their own: every query against sums and integrals."""

import numpy as np
import pytest

import bigtensor
from bigtensor import TensorTrainDensity, TensorTrainOptions
from bigtensor.models.tensor_train_density.sample.atoms import atoms_of
from bigtensor.models.tensor_train_density.verdict import shares_in_words
from bigtensor.models.words.wording import percent


def rows_with_atoms(n, seed):
    """Return rows whose second entry is often zero, and whose third one is at times 2.5."""
    rng = np.random.default_rng(seed)
    first = rng.normal(size=n)
    is_zero = rng.random(n) < 0.8 / (1 + np.exp(-2 * first))
    second = np.where(is_zero, 0.0, np.exp(first + 0.3 * rng.normal(size=n)))
    third = np.where(rng.random(n) < 0.1, 2.5, first + 0.5 * rng.normal(size=n))
    return np.column_stack([first, second, third])


@pytest.fixture(scope="module")
def model():
    settings = {"coordinates": "ns", "widths": (0.3, 0.9), "random_state": 0}
    trains = TensorTrainOptions(n_trains=2)
    return TensorTrainDensity(5, trains=trains, **settings).fit(rows_with_atoms(1_500, 3))


def total_over(density, atom):
    """Return the sum over an atom and the integral elsewhere of a density of one variable."""
    grid = np.concatenate([-np.geomspace(1e9, 1e-9, 120_000), np.geomspace(1e-9, 1e9, 120_000)])
    heights = np.exp(density.score_samples((grid + atom)[:, None]))
    return np.exp(density.score_samples([[atom]]))[0] + np.trapezoid(heights, grid)


def test_atoms__are_found(model):
    assert {name: list(values) for name, values in model.atoms_.items()} == {
        "x1": [0.0],
        "x2": [2.5],
    }


def test_gaussian_components__stand_beside_the_trains(model):
    # the queries below are of both
    assert 0.02 < model.solution_.gaussian_share < 0.98
    assert model.conditional({"x0": 0.5}).solution_.gaussian is not None


def test_rounded_values__are_no_atoms():
    rng = np.random.default_rng(0)
    rounded = np.round(2 * rng.normal(size=1_000))
    assert np.unique(rounded, return_counts=True)[1].max() > 0.05 * 1_000
    assert not len(atoms_of(rounded, np.ones(1_000)))
    spiked = np.where(rng.random(1_000) < 0.3, 3.0, rng.normal(size=1_000))
    assert list(atoms_of(spiked, np.ones(1_000))) == [3]
    # ten rows beside an atom are no density
    assert not len(atoms_of(np.append(np.zeros(90), rng.normal(size=10)), np.ones(100)))


def test_marginals_and_conditionals__have_a_total_of_one(model):
    for density, atom in (
        (model.marginal(["x1"]), 0.0),
        (model.marginal(["x2"]), 2.5),
        (model.conditional({"x0": -1.0, "x2": 2.5}), 0.0),
        (model.conditional({"x0": 0.5, "x1": 0.0}), 2.5),
    ):
        assert total_over(density, atom) == pytest.approx(1, abs=1e-6)


def test_queries__agree_with_the_joint_density(model):
    X = rows_with_atoms(50, 1)
    joint = model.score_samples(X)
    for some, others in ((["x1"], ["x0", "x2"]), (["x2"], ["x0", "x1"])):
        of_some = model.score_samples(X, of=some)
        assert of_some + model.score_samples(X, given=some) == pytest.approx(joint, abs=1e-9)
        assert model.score_samples(X, of=some, given=others) == pytest.approx(
            joint - model.score_samples(X, of=others), abs=1e-9
        )
    assert model.score_contributions(X).sum(axis=1) == pytest.approx(joint, abs=1e-9)


def test_probability_of_an_atom__is_that_of_the_rows(model):
    X = rows_with_atoms(20_000, 2)
    for first in (-1.0, 0.0, 1.0):
        one = model.conditional({"x0": first}).marginal(["x1"])
        near = np.abs(X[:, 0] - first) < 0.1
        expected = (X[near, 1] == 0).mean()
        assert np.exp(one.score_samples([[0.0]]))[0] == pytest.approx(expected, abs=0.08)


def test_draws__have_the_atoms(model):
    drawn, rows = model.sample(20_000, random_state=1), rows_with_atoms(20_000, 2)
    is_atom, expected = drawn == [9.0, 0.0, 2.5], rows == [9.0, 0.0, 2.5]
    assert is_atom.mean(axis=0) == pytest.approx(expected.mean(axis=0), abs=0.03)
    assert drawn[is_atom[:, 1], 0].mean() == pytest.approx(rows[expected[:, 1], 0].mean(), abs=0.1)


def test_quantiles_and_means__are_those_of_the_mixture(model):
    rows = np.array([[-1.0, np.nan, -0.8], [0.5, np.nan, 2.5], [1.5, np.nan, 1.0]])
    answers = model.predict_variable(rows, "x1", interval=0.8)
    for row in range(3):
        one = model.conditional({"x0": rows[row, 0], "x2": rows[row, 2]})
        drawn = one.sample(40_000, random_state=0)[:, 0]
        for name, level in (("lower", 0.1), ("median", 0.5), ("upper", 0.9)):
            quantile = float(answers[name][row])
            assert (drawn < quantile).mean() - 0.02 < level < (drawn <= quantile).mean() + 0.02
        assert float(answers["mean"][row]) == pytest.approx(drawn.mean(), rel=0.05)
    assert (answers["lower"][1:] == 0).all()
    sampled = model.impute(np.repeat(rows[1:2], 4_000, axis=0), "sample")[:, 1]
    one = model.conditional({"x0": 0.5, "x2": 2.5})
    probability = np.exp(one.score_samples([[0.0]]))[0]
    assert (sampled == 0).mean() == pytest.approx(probability, abs=0.03)


def test_surprises__count_atoms_on_the_way(model):
    rows = np.array([[0.0, 0.0, 0.1], [0.0, 1.2, 0.1], [0.0, 1.2, 2.5], [0.0, 1.2, 2.6]])
    surprises = model.surprise(rows)
    for row, j in ((0, 1), (1, 1), (2, 2), (3, 2)):
        given = {f"x{i}": rows[row, i] for i in range(3) if i != j}
        drawn = model.conditional(given).sample(100_000, random_state=0)[:, 0]
        entry = rows[row, j]
        probability = min(2 * min((drawn <= entry).mean(), (drawn >= entry).mean()), 1)
        assert np.exp(-surprises[row, j]) == pytest.approx(probability, abs=0.015)


@pytest.mark.slow  # variables as they are, are quick
def test_rotations__leave_variables_with_atoms_out():
    rng = np.random.default_rng(7)
    X = rows_with_atoms(400, 0)
    X = np.column_stack([X[:, :2], X[:, 0] + 0.2 * rng.normal(size=400)])
    settings = {"coordinates": "ns-zca", "widths": (0.6,), "random_state": 0}
    model = TensorTrainDensity(2, trains=TensorTrainOptions(n_trains=1), **settings).fit(X)
    assert np.isfinite(model.score_samples(X)).all()
    drawn = model.sample(5_000, random_state=0)
    assert (drawn[:, 1] == 0).mean() == pytest.approx((X[:, 1] == 0).mean(), abs=0.05)
    assert np.corrcoef(drawn[:, 0], drawn[:, 2])[0, 1] > 0.9


def test_stored_models_and_other_types__keep_atoms(model, tmp_path):
    X = rows_with_atoms(50, 1)
    loaded = bigtensor.load(model.save(tmp_path / "m.zarr"))
    assert np.array_equal(loaded.score_samples(X), model.score_samples(X))
    assert loaded.atoms_.keys() == model.atoms_.keys()
    single = model.score_samples(X.astype(np.float32))
    assert single == pytest.approx(model.score_samples(X), abs=1e-3)


@pytest.mark.slow  # float64 is quick
def test_atoms_and_symbols__are_the_same_in_float32():
    rng = np.random.default_rng(0)
    rows = np.column_stack(
        [
            np.where(rng.random(400) < 0.3, 0.1, rng.normal(size=400)),
            rng.choice([0.1, 0.7, -1.3], size=400),
            rng.normal(size=400),
        ]
    )
    single = rows.astype(np.float32)
    models = [TensorTrainDensity(2, random_state=0).fit(values) for values in (rows, single)]
    expected = models[0].score_samples(rows)
    for model in models:
        for values in (rows, single):
            np.testing.assert_allclose(model.score_samples(values), expected, atol=1e-4)


def test_sums_of_decimals__are_one_value():
    rng = np.random.default_rng(0)
    spiked = np.where(rng.random(1_000) < 0.3, 0.3, rng.normal(size=1_000))
    on_spike = np.flatnonzero(spiked == 0.3)
    spiked[on_spike[::2]] = 0.1 + 0.2
    assert list(atoms_of(spiked, np.ones(1_000))) == [0.3]


def test_verdict_and_summary__tell_the_share_of_gaussian_components(model):
    diagnostics = model.diagnostics_
    outcome = dict(model.description.outcome(model))
    for words in (outcome["density"], diagnostics["verdict"]["sentences"][-1]):
        assert percent(diagnostics["gaussian_share"]) in words
        assert f" {diagnostics['gaussian_components']} component" in words
    assert not shares_in_words({**diagnostics, "gaussian_components": 0})

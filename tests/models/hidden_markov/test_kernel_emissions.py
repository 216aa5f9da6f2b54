"""Hidden Markov models of measured rows: near the truth, exact along sequences, in any units."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import dask.array as da
import numpy as np
import pytest
import xarray as xr
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from bigtensor import HiddenMarkovModel, load, merge, simulate
from bigtensor.errors import (
    ConditioningWarning,
    ConstantFeatureWarning,
    DataError,
    IdentifiabilityError,
    MissingValueWarning,
    ParameterError,
    ViewError,
)
from bigtensor.testing import small_data
from tests.statistics.sequences.recursions import LOG_SUM

MEANS = np.array([0.0, 2.0, 4.5])
DEVIATIONS = np.array([0.7, 0.9, 1.2])
SEQUENCES, STEPS = 30, 1000


@dataclass(frozen=True)
class Drawn:
    """Sequences of one feature, in a normal distribution for every state."""

    truth: xr.Dataset

    @cached_property
    def states(self) -> NDArray[np.integer]:
        return self.truth["label"].to_numpy()

    @cached_property
    def values(self) -> NDArray[np.float64]:
        noise = np.random.default_rng(1).standard_normal(len(self.states))
        return np.asarray(MEANS[self.states] + DEVIATIONS[self.states] * noise)[:, None]

    @cached_property
    def data(self) -> xr.Dataset:
        sequence = self.truth["sequence"].to_numpy()
        return xr.Dataset(
            {"X": (("sample", "feature"), self.values), "sequence": ("sample", sequence)},
            {"feature": ["rate"]},
        )

    def order(self, path: NDArray[np.integer]) -> NDArray[np.intp]:
        """Return the state of a model for every true state."""
        shared = np.zeros((3, 3))
        np.add.at(shared, (self.states, path), 1)
        return np.asarray(linear_sum_assignment(-shared)[1])

    def accuracy(self, path: NDArray[np.integer]) -> float:
        return float(np.mean(self.order(path)[self.states] == path))


@pytest.fixture(scope="module")
def drawn() -> Drawn:
    return Drawn(
        simulate.hidden_markov(SEQUENCES * STEPS, 3, sequences=SEQUENCES, stay=0.8, random_state=4)
    )


@pytest.fixture(scope="module")
def model(drawn: Drawn) -> HiddenMarkovModel:
    return HiddenMarkovModel(3, emissions="kernel", random_state=0).fit(drawn.data)


def normal_densities(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the true log densities: ``(rows, states)``."""
    scaled = (values - MEANS) / DEVIATIONS
    return np.asarray(-0.5 * scaled**2 - np.log(DEVIATIONS * np.sqrt(2 * np.pi)))


def best_path(
    log_emission: NDArray[np.float64], initial: NDArray[np.float64], move: NDArray[np.float64]
) -> NDArray[np.integer]:
    """Return the most probable path of one sequence, by the textbook's recursion."""
    score, origin = np.log(initial) + log_emission[0], []
    for row in log_emission[1:]:
        joint = score[:, None] + np.log(move)
        origin.append(joint.argmax(axis=0))
        score = joint.max(axis=0) + row
    path = [int(score.argmax())]
    for before in reversed(origin):
        path.append(int(before[path[-1]]))
    return np.array(path[::-1])


def test_transitions_and_means__are_near_the_truth(drawn: Drawn, model: HiddenMarkovModel) -> None:
    order = drawn.order(model.predict(drawn.data).to_numpy())
    transition = model.transition_.to_numpy()[np.ix_(order, order)]
    assert np.abs(transition - drawn.truth["true_transition"].to_numpy()).max() < 0.015
    np.testing.assert_allclose(model.means_.to_numpy()[order, 0], MEANS, atol=0.06)
    assert model.means_.dims == ("state", "feature")
    likelihoods = model.diagnostics_["mean_log_likelihood"]
    assert (np.diff(likelihoods) > -1e-6).all()


def test_path__is_as_right_as_the_path_of_the_true_model(
    drawn: Drawn, model: HiddenMarkovModel
) -> None:
    initial, move = (drawn.truth[f"true_{name}"].to_numpy() for name in ("initial", "transition"))
    logs = normal_densities(drawn.values).reshape(SEQUENCES, STEPS, 3)
    known = np.concatenate([best_path(of_one, initial, move) for of_one in logs])
    found = drawn.accuracy(model.predict(drawn.data).to_numpy())
    assert found > np.mean(known == drawn.states) - 0.003
    assert found > 0.93


def test_answers__are_those_of_the_recursions_in_the_units_of_the_data(
    drawn: Drawn, model: HiddenMarkovModel
) -> None:
    first = drawn.data.isel(sample=slice(0, STEPS))
    logs = np.log(model.emission_density(first).to_numpy())
    alpha, beta = np.empty_like(logs), np.zeros_like(logs)
    move = np.log(model.transition_.to_numpy())
    alpha[0] = np.log(model.initial_) + logs[0]
    for t in range(1, STEPS):
        alpha[t] = LOG_SUM(alpha[t - 1][:, None] + move, axis=0) + logs[t]
    for t in range(STEPS - 2, -1, -1):
        beta[t] = LOG_SUM(move + logs[t + 1] + beta[t + 1], axis=1)
    total = LOG_SUM(alpha[-1])
    np.testing.assert_allclose(model.predict_proba(first), np.exp(alpha + beta - total), atol=1e-8)
    assert model.score_samples(first).item() == pytest.approx(total, rel=1e-9)
    last = np.exp(alpha[-1] - total) @ np.exp(move)
    np.testing.assert_allclose(
        model.predict_next(first).to_numpy()[0], last @ model.means_.to_numpy(), rtol=1e-8
    )
    # densities of a state integrate to one
    points = np.linspace(-6, 13, 20_001)[:, None]
    features = {"feature": list(model.feature_names_in_)}
    labelled = xr.DataArray(points, features, ("sample", "feature"))
    mass = model.emission_density(labelled).sum("sample") * (points[1, 0] - points[0, 0])
    np.testing.assert_allclose(mass, 1, atol=5e-3)


@pytest.mark.parametrize("chunk", [7, 1000, 2100])
def test_lazy_answers__do_not_depend_on_the_chunks(
    drawn: Drawn, model: HiddenMarkovModel, chunk: int
) -> None:
    rows = drawn.data.isel(sample=slice(0, 2100))
    lazy = model.predict_proba(rows.chunk(sample=chunk))
    assert isinstance(lazy.data, da.Array)
    np.testing.assert_allclose(lazy.compute(), model.predict_proba(rows), atol=1e-10)


@pytest.mark.parametrize(("scale", "shift"), [(2.0**18, 0.0), (2.0**-18, 0.0), (1.0, 1e4)])
@pytest.mark.quick_cases("3.814697265625e-06-0.0")
def test_units__change_nothing(
    drawn: Drawn, model: HiddenMarkovModel, scale: float, shift: float
) -> None:
    moved = drawn.data.copy(deep=True)
    moved["X"] = moved["X"] * scale + shift
    other = HiddenMarkovModel(3, emissions="kernel", random_state=0).fit(moved)
    np.testing.assert_allclose(other.transition_, model.transition_, atol=1e-6)
    np.testing.assert_array_equal(other.predict(moved), model.predict(drawn.data))
    expected = model.score(drawn.data) - np.log(scale)
    assert other.score(moved) == pytest.approx(expected, abs=1e-6)


def test_a_few_far_outliers__change_little(drawn: Drawn, model: HiddenMarkovModel) -> None:
    data = drawn.data.copy(deep=True)
    data["X"][::4000] = 1e6
    with pytest.warns(ConditioningWarning, match="far from all others"):
        other = HiddenMarkovModel(3, emissions="kernel", random_state=0).fit(data)
    np.testing.assert_allclose(other.transition_, model.transition_, atol=0.002)


@pytest.mark.slow
def test_several_features__are_densities_of_their_own_or_one_embedding(drawn: Drawn) -> None:
    noise = np.random.default_rng(5).normal(size=drawn.values.shape)
    # only both features together tell the first two states apart
    second = np.where(drawn.states[:, None] == 1, 1.5, 0.0) + noise
    rows = np.concatenate([drawn.values, second], axis=1)
    own = HiddenMarkovModel(3, emissions="kernel", random_state=0).fit(rows)
    together = HiddenMarkovModel(3, views={"both": [0, 1]}, emissions="kernel", random_state=0).fit(
        rows
    )
    alone = HiddenMarkovModel(3, emissions="kernel", random_state=0).fit(drawn.values)
    reached = drawn.accuracy(alone.predict(drawn.values))
    assert drawn.accuracy(own.predict(rows)) > reached + 0.01
    assert drawn.accuracy(together.predict(rows)) > reached + 0.005
    assert together.means_.shape == (3, 2)
    values, states = together.sample(2000, random_state=1)
    assert values.shape == (2000, 2)
    # drawn rows lie where their states have their means
    means = np.array([values[states == h].mean(axis=0) for h in range(3)])
    np.testing.assert_allclose(means, together.means_, atol=0.35)


def test_a_saved_model__answers_the_same(
    drawn: Drawn, model: HiddenMarkovModel, tmp_path: Path
) -> None:
    loaded = load(model.save(tmp_path / "model.zarr"))
    np.testing.assert_array_equal(loaded.predict_proba(drawn.data), model.predict_proba(drawn.data))
    np.testing.assert_array_equal(loaded.sample(50)[0], model.sample(50)[0])


def test_sites__fit_transitions_from_their_triples(drawn: Drawn, model: HiddenMarkovModel) -> None:
    sites = [
        drawn.data.isel(sample=slice(0, 12_000)),
        drawn.data.isel(sample=slice(12_000, None)),
    ]
    prepared = HiddenMarkovModel(3, emissions="kernel", random_state=0).prepare(
        sites[0], rows=30_000
    )
    solved = prepared.solve(merge([prepared.accumulate(site) for site in sites]))
    np.testing.assert_allclose(solved.transition_, model.transition_, atol=0.03)
    found = drawn.accuracy(solved.predict(drawn.data).to_numpy())
    assert found > drawn.accuracy(model.predict(drawn.data).to_numpy()) - 0.005


def test_rows_left_out__cut_their_sequences(drawn: Drawn) -> None:
    data = drawn.data.copy(deep=True)
    data["X"][::50] = np.nan
    with pytest.warns(MissingValueWarning):
        fitted = HiddenMarkovModel(3, emissions="kernel", missing="omit", random_state=0).fit(data)
    with pytest.warns(MissingValueWarning):
        path = fitted.predict(data).to_numpy()
    assert (path[::50] == -1).all()
    kept = path >= 0
    assert np.mean(drawn.order(path)[drawn.states][kept] == path[kept]) > 0.92


def test_constant_features__are_left_out(drawn: Drawn, model: HiddenMarkovModel) -> None:
    rows = np.concatenate([drawn.values, np.ones_like(drawn.values)], axis=1)
    with pytest.warns(ConstantFeatureWarning, match="x1"):
        fitted = HiddenMarkovModel(3, emissions="kernel", random_state=0).fit(rows)
    assert fitted.means_.shape == (3, 1)
    with pytest.raises(ViewError, match="no feature is left to fit"):
        HiddenMarkovModel(2, emissions="kernel").fit(np.ones((500, 1)))


def test_emissions__have_to_go_with_the_data(drawn: Drawn) -> None:
    with pytest.raises(DataError, match="emissions='kernel'"):
        HiddenMarkovModel(3).fit(drawn.data)
    with pytest.raises(DataError, match="codes of categories"):
        HiddenMarkovModel(3, emissions="kernel").fit(small_data("codes"))
    with pytest.raises(ParameterError, match="missing='omit'"):
        HiddenMarkovModel(3, emissions="kernel", missing="marginalise").fit(drawn.data)
    with pytest.raises(IdentifiabilityError, match="n_components=2 needs more rows"):
        HiddenMarkovModel(2, emissions="kernel").fit(drawn.values[:2])
    with pytest.raises(ParameterError, match="emissions is 'student'"):
        HiddenMarkovModel(3, emissions="student").fit(drawn.data)


def test_more_states_than_there_are__are_a_warning(drawn: Drawn) -> None:
    with pytest.warns(ConditioningWarning, match="fewer states"):
        HiddenMarkovModel(8, emissions="kernel", random_state=0).fit(drawn.values[:3000])


@pytest.mark.slow
def test_number_of_states__is_that_of_the_truth(drawn: Drawn) -> None:
    fitted = HiddenMarkovModel("auto", emissions="kernel", random_state=0).fit(drawn.data)
    assert len(fitted.occupancy_) == 3
    assert fitted.diagnostics_["n_components"] == 3


def test_rounds__have_as_many_cells_as_the_rows_of_all_sites_allow():
    rows = np.random.default_rng(0).normal(size=(400, 2))
    model = HiddenMarkovModel(2, emissions="kernel", random_state=0)
    # twice the fourth root of the number of rows
    assert model.prepare(rows).diagnostics_["cells"] == 9
    assert model.prepare(rows, rows=40_000).diagnostics_["cells"] == 28


def test_yes_and_no__are_measurements_whose_shares_tell_the_states():
    rng = np.random.default_rng(7)
    states = np.cumsum(rng.random(3_000) < 0.05) % 2
    shares = np.array([[0.1, 0.5, 0.9], [0.6, 0.5, 0.2]])
    answers = (rng.random((3_000, 3)) < shares[states]).astype(float)
    model = HiddenMarkovModel(2, emissions="kernel", random_state=0).fit(answers)
    agreement = np.mean(np.asarray(model.predict(answers)) == states)
    assert max(agreement, 1 - agreement) > 0.95

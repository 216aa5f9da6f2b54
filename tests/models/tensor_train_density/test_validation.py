"""Validation of trains: candidates that fall behind are given up."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine

from bigtensor import TensorTrainDensity, TensorTrainOptions
from bigtensor.models.tensor_train_density import choice
from bigtensor.models.tensor_train_density.settings import WIDTHS
from bigtensor.models.tensor_train_density.validation import Candidate, Validation

CANDIDATES = [Candidate("z", 0.0, widths, rank) for widths, rank in product(WIDTHS[2:], (1, 2, 4))]


@pytest.fixture(params=[load_iris, load_wine], ids=["iris", "wine"])
def validation_of(request, monkeypatch):
    """Return a maker of validations of one table."""
    arguments = []

    def kept(rows, settings):
        arguments[:] = rows, settings
        return Validation(rows, settings)

    monkeypatch.setattr(choice, "Validation", kept)
    density = TensorTrainDensity(rank=1, coordinates="z", widths=(0.5,), random_state=0)
    density.fit(request.param().data)
    return lambda: Validation(*arguments)


@pytest.mark.quick_cases("iris")
def test_best__is_the_best_of_candidates_that_are_followed_to_their_end(validation_of):
    raced, whole = validation_of(), validation_of()
    followed = [whole.validated(candidate) for candidate in CANDIDATES]
    assert raced.best(CANDIDATES) == max(followed, key=lambda one: one.score)
    given_up = [one for one in raced.tried if one.given_up]
    assert len(given_up) >= len(CANDIDATES) / 4
    assert not any(one.given_up for one in followed)


@pytest.mark.quick_cases("iris")
def test_a_candidate_that_was_given_up__is_followed_to_its_end_when_it_is_asked_for(
    validation_of,
):
    raced, whole = validation_of(), validation_of()
    raced.best(CANDIDATES)
    candidate = next(one.candidate for one in raced.tried if one.given_up)
    assert raced.validated(candidate) == whole.validated(candidate)


@pytest.mark.quick_cases("iris")
def test_no_candidate__is_followed_far_below_the_least_score(validation_of):
    validation = validation_of()
    best = validation.best(CANDIDATES, least=100.0)
    assert best.given_up
    assert max(one.steps for one in validation.tried) < 5


@pytest.mark.quick_cases("iris")
def test_components__are_fitted_once_for_all_trains_in_the_same_coordinates(validation_of):
    validation = validation_of()
    few, many = (replace(CANDIDATES[0], rank=rank) for rank in (1, 4))
    folds = [validation.held_out(validation.validated(candidate)) for candidate in (few, many)]
    stack = choice.stacked(folds[0])
    assert stack.candidate is not None
    for before, after in zip(*folds, strict=True):
        assert np.any(before.log_trains != after.log_trains)
        assert after.fitted[stack.candidate] is before.fitted[stack.candidate]


def rows_of_levels(seed, n_levels, n_rows):
    """Return codes of levels, a value whose mean depends on the level, and an unrelated one."""
    means = np.random.default_rng(99 + seed).normal(size=n_levels)
    rng = np.random.default_rng(seed)
    level = rng.integers(0, n_levels, n_rows)
    value = means[level] + 0.3 * rng.normal(size=n_rows)
    return np.column_stack([level, value, rng.normal(50, 10, n_rows)]), means


def test_components__are_those_that_the_rank_was_chosen_with_where_others_are_worse():
    rows, means = rows_of_levels(9, 7, 2_000)
    options = TensorTrainOptions(n_trains=1)
    model = TensorTrainDensity(coordinates="z", trains=options, random_state=0).fit(rows)
    tried = max(one["log_density"] for one in model.diagnostics_["tried"])
    assert model.diagnostics_["validation_log_density"] > tried - 0.01
    row = np.column_stack([np.arange(7), np.full((7, 2), np.nan)])
    fitted = model.predict_variable(row, "x1")["mean"].values
    assert np.abs(fitted - means).max() < 0.15


def test_rank_of_the_trains_that_components_were_chosen_beside__is_among_those_compared(
    monkeypatch,
):
    chosen = []

    def kept(validation, first, *others):
        ranked = best_rank(validation, first, *others)
        chosen.append((ranked, choice.stacked(validation.held_out(first))))
        return ranked

    best_rank = choice._best_rank
    monkeypatch.setattr(choice, "_best_rank", kept)
    rng = np.random.default_rng(1)
    centres = np.random.default_rng(1001).normal(0, 3, (8, 4))
    rows = centres[rng.integers(0, 8, 1_500)] + 0.6 * rng.normal(size=(1_500, 4))
    TensorTrainDensity(coordinates="z", widths=(0.3, 0.9), random_state=0).fit(rows)
    assert chosen
    assert all(ranked.stack.score >= stack.score for ranked, stack in chosen)


def correlated(correlation, n_rows, seed):
    """Return rows of a bivariate normal distribution with standard deviations of one."""
    rows = np.random.default_rng(seed).standard_normal((n_rows, 2))
    rows[:, 1] = correlation * rows[:, 0] + np.sqrt(1 - correlation**2) * rows[:, 1]
    return rows


def test_normal_rows__have_the_conditional_mean_of_their_line_beyond_most_rows():
    rows = correlated(0.6, 3_000, 11)
    model = TensorTrainDensity(coordinates="z", widths=[0.5, 1.2], random_state=0).fit(rows)
    means = [model.predict_variable([[x, np.nan]], "x1")["mean"].item() for x in (2.0, 2.5)]
    assert np.abs(means - np.polyval(np.polyfit(*rows.T, 1), (2.0, 2.5))).max() < 0.1


def test_strong_correlation__keeps_its_conditional_standard_deviation():
    rows = correlated(0.98, 2_000, 1)
    model = TensorTrainDensity(1, coordinates="z", widths=[0.5], random_state=0).fit(rows)
    predicted = model.predict_variable([[1.0, np.nan]], "x1", interval=0.6827)
    deviation = (predicted["upper"] - predicted["lower"]).item() / 2
    assert abs(deviation / np.sqrt(1 - 0.98**2) - 1) < 0.05

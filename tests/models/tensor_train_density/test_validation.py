"""Validation of trains: candidates that fall behind are given up."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine

from bigtensor import TensorTrainDensity
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


def test_best__is_the_best_of_candidates_that_are_followed_to_their_end(validation_of):
    raced, whole = validation_of(), validation_of()
    followed = [whole.validated(candidate) for candidate in CANDIDATES]
    assert raced.best(CANDIDATES) == max(followed, key=lambda one: one.score)
    given_up = [one for one in raced.tried if one.given_up]
    assert len(given_up) >= len(CANDIDATES) / 4
    assert not any(one.given_up for one in followed)


def test_a_candidate_that_was_given_up__is_followed_to_its_end_when_it_is_asked_for(
    validation_of,
):
    raced, whole = validation_of(), validation_of()
    raced.best(CANDIDATES)
    candidate = next(one.candidate for one in raced.tried if one.given_up)
    assert raced.validated(candidate) == whole.validated(candidate)


def test_no_candidate__is_followed_far_below_the_least_score(validation_of):
    validation = validation_of()
    best = validation.best(CANDIDATES, least=100.0)
    assert best.given_up
    assert max(one.steps for one in validation.tried) < 5


def test_components__are_fitted_once_for_all_trains_in_the_same_coordinates(validation_of):
    validation = validation_of()
    few, many = (replace(CANDIDATES[0], rank=rank) for rank in (1, 4))
    folds = [validation.held_out(validation.validated(candidate)) for candidate in (few, many)]
    stack = choice.stacked(folds[0])
    assert stack.candidate is not None
    for before, after in zip(*folds, strict=True):
        assert np.any(before.log_trains != after.log_trains)
        assert after.fitted[stack.candidate] is before.fitted[stack.candidate]

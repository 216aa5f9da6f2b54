"""Cross-validation, grid search, pipelines and clones of scikit-learn run with every family."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OrdinalEncoder

from bigtensor import DiscreteMixture, TripleHistogramClassifier
from bigtensor.errors import MissingValueWarning
from bigtensor.models.contract.registry import MODELS, model_class
from tests.laws.test_every_model import case_of

FAMILIES = [(name, kind) for name in MODELS for kind in sorted(model_class(name).takes.kinds)]
LONG_FITS = ("KernelICA", "TensorTrainDensity")
"""Models of which seven fits take several seconds."""

# advice on a fit of few rows
pytestmark = pytest.mark.filterwarnings("ignore::bigtensor.errors.BigtensorWarning")


def values_of(case: Any) -> Any:
    """Return the rows of a case as an array or a sparse matrix."""
    return case.data if hasattr(case.data, "indptr") else np.asarray(case.data)


def has_score(name: str) -> bool:
    return hasattr(model_class(name), "score")


@pytest.mark.parametrize("name", MODELS)
def test_model__has_a_score_or_a_transform_to_be_compared_by(name: str) -> None:
    assert has_score(name) or hasattr(model_class(name), "transform")


@pytest.mark.parametrize(("name", "kind"), FAMILIES)
@pytest.mark.quick_cases(
    "HiddenMarkovModel-measured",
    "GaussianMixture-measured",
    "SparseICA-measured",
    "KernelICA-measured",
    "TopicModel-counts",
    "TensorTrainDensity-codes",
)
def test_pipeline__has_the_answers_of_its_model(name: str, kind: str) -> None:
    case = case_of(name, kind)
    X = values_of(case)
    pipeline = make_pipeline(FunctionTransformer(accept_sparse=True), case.make()).fit(X)
    model = clone(case.make()).fit(X)
    for method in case.methods:
        assert_array_equal(getattr(pipeline, method)(X), getattr(model, method)(X))


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        pytest.param(*family, marks=[pytest.mark.slow] if family[0] in LONG_FITS else [])
        for family in FAMILIES
    ],
)
@pytest.mark.quick_cases(
    "HiddenMarkovModel-measured",
    "GaussianMixture-measured",
    "SparseICA-measured",
    "TopicModel-counts",
)
def test_cross_validation_and_grid_search__score_every_fold(name: str, kind: str) -> None:
    case = case_of(name, kind)
    X, folds = values_of(case), KFold(2)
    scoring = None if has_score(name) else mean_square_of_sources
    scores = cross_val_score(case.make(), X, cv=folds, scoring=scoring, error_score="raise")
    assert np.isfinite(scores).all()
    grid = {"random_state": [0, np.random.RandomState(3)]}
    search = GridSearchCV(case.make(), grid, cv=folds, scoring=scoring, error_score="raise").fit(X)
    np.testing.assert_allclose(search.cv_results_["mean_test_score"][0], scores.mean(), rtol=1e-6)


def mean_square_of_sources(model: Any, X: Any, y: Any = None) -> float:
    return float(np.square(model.transform(X)).mean())


@pytest.mark.slow
def test_cross_validation__counts_categories_of_other_folds_as_missing() -> None:
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, (300, 4)) * rng.integers(0, 2, (300, 1))
    codes[-1, 0] = 9
    names = np.array([*"abcdefghij"], object)[codes]
    whole = (codes, codes.astype(float), names)
    with pytest.warns(MissingValueWarning):
        scores = [
            cross_val_score(DiscreteMixture(2), X, cv=KFold(3), error_score="raise") for X in whole
        ]
    assert np.isfinite(scores).all()
    np.testing.assert_allclose(scores[1], scores[0], rtol=1e-12)
    encoder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    pipeline = make_pipeline(encoder, DiscreteMixture(2, missing="marginalise"))
    assert np.isfinite(cross_val_score(pipeline, names, cv=KFold(3), error_score="raise")).all()


@pytest.mark.slow
def test_classifier__is_searched_over_its_rules() -> None:
    rng = np.random.default_rng(0)
    y = np.repeat(["often", "rarely"], 20)
    stay = np.where(y[:, None] == "often", 0.9, 0.3)
    codes = np.cumsum(rng.random((40, 60)) > stay, axis=1) % 3
    codes[:, 7] = np.where(np.arange(40) % 5, codes[:, 7], 3)
    rules = ["histogram", "triple_likelihood", "sequence_likelihood"]
    search = GridSearchCV(TripleHistogramClassifier(), {"rule": rules}, error_score="raise")
    search.fit(codes, y)
    assert search.cv_results_["mean_test_score"].min() > 0.9

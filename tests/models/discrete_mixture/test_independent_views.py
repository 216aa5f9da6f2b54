"""Verdicts on views that do not depend on each other."""

import numpy as np
import pytest

from bigtensor import DiscreteMixture
from bigtensor.errors import ConditioningWarning
from tests.parameters import first_quick


@pytest.mark.parametrize("rows", first_quick([150, 3000]))
def test_views_that_are_independent__are_worth_a_warning(rows):
    codes = np.random.default_rng(1).integers(0, 4, size=(rows, 6))
    with pytest.warns(ConditioningWarning, match="No view depends on another"):
        model = DiscreteMixture(3, random_state=0).fit(codes)
    assert not model.diagnostics_["verdict"]["good"]
    chosen = DiscreteMixture(random_state=0).fit(codes)
    assert len(chosen.weights_) == 1
    assert chosen.diagnostics_["verdict"]["good"]


def test_two_classes_of_a_few_answers__are_a_good_verdict():
    rng = np.random.default_rng(0)
    classes = rng.integers(0, 2, size=200)
    codes = (rng.random((200, 6)) < np.where(classes, 0.7, 0.3)[:, None]).astype(int)
    assert DiscreteMixture(2, random_state=0).fit(codes).diagnostics_["verdict"]["good"]


def test_views_that_depend_in_threes_alone__are_a_good_verdict():
    # no two views are associated: the likelihood speaks for components
    codes = np.random.default_rng(0).integers(0, 2, size=(1000, 5))
    codes[:, 2] = codes[:, 0] ^ codes[:, 1]
    model = DiscreteMixture(4, random_state=0, n_starts=10).fit(codes)
    comparison = model.diagnostics_["independence"]
    assert comparison["log_likelihood_gain"] > 0.9 * 1000 * np.log(2)
    assert model.diagnostics_["verdict"]["good"]


def test_two_associated_views_of_rare_categories__are_a_good_verdict():
    # the criterion of Akaike counts hundreds of parameters that few rows use
    rng = np.random.default_rng(0)
    classes = rng.integers(0, 3, size=150)
    codes = rng.integers(0, 20, size=(150, 20))
    codes[:, :6] = np.where(rng.random((150, 6)) < 0.6, 5 * classes[:, None], codes[:, :6])
    model = DiscreteMixture(3, random_state=0, n_starts=10).fit(codes)
    comparison = model.diagnostics_["independence"]
    assert comparison["log_likelihood_gain"] < comparison["parameters"]
    assert comparison["p_value"] < 0.01
    assert model.diagnostics_["verdict"]["good"]


@pytest.mark.slow  # two classes are quick
def test_too_many_components__are_good_with_notes_on_what_is_not_judged() -> None:
    """Of independent views, the criterion of Akaike takes one sample in some for classes."""
    rng = np.random.default_rng(0)
    tables = [rng.dirichlet([2] * size) for size in (2, 3, 2, 4, 3, 2)]
    rows = np.stack([rng.choice(len(table), 300, p=table) for table in tables], 1)
    model = DiscreteMixture(3, ridge=None, n_starts=11, random_state=0).fit(rows)
    verdict = model.diagnostics_["verdict"]
    confirmation, *notes = verdict["sentences"]
    assert verdict["good"]
    assert "n_components='auto'" in confirmation
    assert "bic" in confirmation
    assert any("BIC" in note for note in notes)
    chosen = DiscreteMixture(ridge=None, random_state=0).fit(rows)
    assert len(chosen.weights_) == 1
    assert "auto" not in " ".join(chosen.diagnostics_["verdict"]["sentences"])

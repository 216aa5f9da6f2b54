"""Data that are opened and planned before a fit."""

import numpy as np
import pytest

from bigtensor import GaussianMixture
from bigtensor.errors import ParameterError

ROWS = np.random.default_rng(0).normal(size=(400, 3))
ROWS[:200] += 8


def test_opened_data__give_the_fit_of_the_data_with_the_same_plan():
    model = GaussianMixture(2, random_state=0)
    weight = np.linspace(0.5, 1.5, 400)
    opened = model.open(ROWS, weight, workers=1, scheduler="threads")
    assert opened.plan is not None
    assert [size.name for size in opened.plan.passes] == ["pilot", "posterior"]
    fitted = model.fit(opened)
    expected = GaussianMixture(2, random_state=0).fit(ROWS, sample_weight=weight)
    np.testing.assert_array_equal(fitted.means_, expected.means_)
    assert fitted.diagnostics_["plan"]["rows"] == 400


def test_opened_data__are_refused_after_parameters_changed():
    model = GaussianMixture(2, random_state=0)
    opened = model.open(ROWS)
    with pytest.raises(ParameterError, match="open them again"):
        model.set_params(n_components=3).fit(opened)
    with pytest.raises(ParameterError, match="for other parameters"):
        GaussianMixture(2, covariance_type="tied", random_state=0).fit(opened)


def test_opened_data__are_refused_by_rounds_which_keep_no_rows():
    model = GaussianMixture(2, random_state=0)
    opened = model.open(ROWS)
    with pytest.raises(ParameterError, match="the data themselves"):
        model.prepare(opened)
    with pytest.raises(ParameterError, match="the data themselves"):
        model.partial_fit(opened)


def test_opened_data__bring_their_weights():
    model = GaussianMixture(2, random_state=0)
    with pytest.raises(ParameterError, match="open them together"):
        model.fit(model.open(ROWS), sample_weight=np.ones(400))

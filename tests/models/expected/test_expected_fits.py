"""Fits give the numbers that are stored for them."""

import json
from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from bigtensor.models.contract.registry import MODELS
from tests.models.expected.families import FAMILIES, stored_path

SLOW_FITS = {
    "discrete_mixture": ("counted components", "ex", "weights"),
    "gaussian_mixture": ("full",),
    "hidden_markov": ("counted states",),
    "kernel_mixture": (
        "populations in float64",
        "counted populations",
        "cross-validated bandwidth",
        "categories",
    ),
    "tensor_train_density": ("choices", "normal scores", "balanced", "embedding"),
    "triple_histogram_classifier": ("histogram", "triple likelihood"),
}
"""Fits of more than 0.7 s, of families that have a quicker fit or one of equal time."""

FITS = [
    pytest.param(
        family, name, marks=[pytest.mark.slow] if name in SLOW_FITS.get(family, ()) else []
    )
    for family, fits in FAMILIES.items()
    for name in fits
]

LEAST_SCALE = 1e-6
"""Numbers below are compared as if they were as large: they may be rounding errors alone."""


@cache
def stored(family: str) -> dict[str, dict[str, Any]]:
    return json.loads(stored_path(family).read_text())


@pytest.mark.parametrize(("family", "name"), FITS)
def test_fit__gives_the_stored_numbers(family, name):
    fit = FAMILIES[family][name]
    results, expected = fit.results(), stored(family)[name]
    assert results.keys() == expected.keys()
    for key, values in results.items():
        if np.asarray(expected[key]).dtype.kind in "iub":
            assert_array_equal(values, expected[key], err_msg=key)
            continue
        scale = max(np.abs(expected[key]).max(), LEAST_SCALE)
        assert_allclose(values, expected[key], rtol=0, atol=fit.tolerance * scale, err_msg=key)


def test_families__are_those_of_all_models():
    folders = {home.split(".")[-2] for home in MODELS.values()}
    differ = FAMILIES.keys() ^ (folders | {"triple_histogram_classifier"})
    assert not differ, (
        f"only one of the registry and of FAMILIES has {differ}; add fits to FAMILIES of "
        "tests/models/expected/measured_models.py or discrete_models.py"
    )


def test_stored_fits__are_those_that_are_run():
    assert {family: [*fits] for family, fits in FAMILIES.items()} == {
        family: [*stored(family)] for family in FAMILIES
    }

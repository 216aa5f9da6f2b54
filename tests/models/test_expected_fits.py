"""Fits give the numbers that are stored for them."""

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tests.models.expected_fits import FITS, STORED, judged_rows, results


@pytest.fixture(scope="module")
def stored():
    return json.loads(STORED.read_text())


@pytest.mark.parametrize("name", FITS)
def test_fit__gives_the_stored_numbers(name, stored):
    """The tolerance of float32 features is that of their sums, of float64 that of reordering."""
    found, expected = results(FITS[name](), judged_rows(name)), stored[name]
    tolerance = 1e-8 if "float64" in name else 1e-4
    assert found.keys() == expected.keys()
    assert_array_equal(found.pop("labels"), expected["labels"])
    for key, values in found.items():
        scale = np.abs(expected[key]).max()
        assert_allclose(values, expected[key], rtol=0, atol=tolerance * scale, err_msg=key)

"""Codes of missing values are told from measurements."""

import numpy as np
import pytest

from bigtensor.missing_codes import missing_code

AGES = np.arange(18.0, 95.0)


@pytest.mark.parametrize("code", [-999, -99, 999, 9999, -32768])
def test_missing_code__is_far_from_all_other_values(code):
    assert missing_code(np.unique([code, *AGES])) == code


@pytest.mark.parametrize(
    "values",
    [
        AGES,
        [-1.0, 0.0, 1.0],
        [0.0, *(1000 + AGES)],
        [-999.5, *AGES],
        [1.0, 2.0, 3.0, 9.0],
        [-9.0, 1.0],
        [],
        [97.0, 98.0, 99.0],
    ],
)
def test_missing_code__is_none_of_ordinary_values(values):
    assert missing_code(values) is None

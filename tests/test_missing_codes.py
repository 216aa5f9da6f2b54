"""Codes of missing values are told from measurements."""

import numpy as np
import pytest

from bigtensor.missing_codes import missing_code

AGES = np.arange(18.0, 95.0)


@pytest.mark.parametrize("code", [-999, -99, 999, 9999, -32768])
def test_missing_code__is_far_from_all_other_values(code):
    assert missing_code(np.unique([code, *AGES])) == code


@pytest.mark.parametrize("code", [-7, -8, -9])
def test_missing_code__may_be_a_negative_digit_beside_answers(code):
    assert missing_code([code, 1, 2, 3, 4, 5]) == code
    assert missing_code([code, 0.5, 1, 2]) is None
    assert missing_code([-1, 1, 2, 3, 4, 5]) is None


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
        [-99.0, -60.0, -40.0],
        [0.0, 1.0, 100.0],
        [0.0, 1.0, 10.0, 1000.0],
        [*AGES, 1000.0],
        [10115.0, 10117.0, 99998.0],
        [-1.0, 0.01, 0.1, 0.2],
    ],
)
def test_missing_code__is_none_of_ordinary_values(values):
    assert missing_code(values) is None

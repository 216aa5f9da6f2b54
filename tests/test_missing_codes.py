"""Codes of missing values are told from measurements."""

import numpy as np
import pytest

from bigtensor.missing_codes import missing_codes

AGES = np.arange(18.0, 95.0)


@pytest.mark.parametrize("code", [-999, -99, 999, 9999, -32768])
def test_missing_code__is_far_from_all_other_values(code):
    assert missing_codes(np.unique([code, *AGES])) == (code,)


@pytest.mark.parametrize("code", [-7, -8, -9])
def test_missing_code__may_be_a_negative_digit_beside_answers(code):
    assert missing_codes([code, 1, 2, 3, 4, 5]) == (code,)
    assert missing_codes([code, 0.5, 1, 2]) == ()
    assert missing_codes([-1, 1, 2, 3, 4, 5]) == ()


@pytest.mark.parametrize(
    "codes",
    [(-9, -8), (-9, -8, -7), (-99, -98), (-999, -998, -997), (97, 98, 99), (998, 999)],
)
def test_missing_codes__may_be_neighbours(codes):
    assert missing_codes(sorted([*codes, 1, 2, 3, 4, 5])) == codes


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
        [-20.0, -9.0, 1.0, 2.0, 3.0],
        [-9.0, -8.0, -7.0, -6.0, 1.0, 2.0],
        [*AGES, 97.0, 98.0, 99.0],
        [-2.0, -1.0, 5.0, 6.0],
        [-8.0, -4.0, 0.0, 1.0],
        [*np.arange(18.0, 31.0), 95.0, 97.0, 99.0],
    ],
)
def test_missing_code__is_none_of_ordinary_values(values):
    assert missing_codes(values) == ()

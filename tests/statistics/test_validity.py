from dataclasses import dataclass, replace

import numpy as np
import pytest
from scipy.sparse import csr_array

from bigtensor.data.rows.block import UNKNOWN_CODE, Block
from bigtensor.data.rows.views import Views
from bigtensor.statistics.base import SumStatistic, Workspace
from bigtensor.statistics.validity import (
    Checked,
    Validity,
    explain,
    finite_rows,
    first_invalid,
    usable_rows,
)

SLICES = {"a": slice(0, 1), "b": slice(1, 3)}
X = np.arange(60.0).reshape(20, 3)


@dataclass(frozen=True)
class Total(SumStatistic[float]):
    """Sum of all values times the weights."""

    def state_arrays(self):
        return {"total": ((), "float64"), "count": ((), "int64")}

    def update(self, state, block, _work):
        values = block.values[: block.rows]
        weight = 1.0 if block.weight is None else block.weight[: block.rows, None]
        state["total"] += (values * weight).sum()
        state["count"] += block.rows

    def finalize(self, state):
        return float(state["total"]), int(state["count"])

    def work_nbytes(self, _rows):
        return 0


def run(x, weight=None, rows=20, start=0, statistic=None):
    checked = Checked(statistic or Total())
    states = []
    for first in range(0, len(x), rows):
        state = checked.init()
        part = slice(first, first + rows)
        block = Block(x[part], SLICES, start + first, len(x[part]))
        if weight is not None:
            block = replace(block, weight=weight[part])
        checked.update(state, block, Workspace())
        states.append(state)
    total = checked.init()
    for state in reversed(states):
        total = checked.combine(state, total)
    return checked.finalize(total)


def test_checked__finds_nothing_wrong_with_finite_rows():
    validity, (total, count) = run(X)
    assert validity == Validity(20, 0, None, None, 0, None)
    assert (total, count) == (X.sum(), 20)


@pytest.mark.parametrize("rows", [20, 7, 1])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_checked__leaves_out_rows_that_are_not_finite(bad, rows):
    x = X.astype(np.float32)
    x[12, 2] = x[12, 1] = x[15, 0] = bad
    validity, (total, count) = run(x, rows=rows, start=100)
    assert validity == Validity(20, 2, 112, 1, 0, None)
    assert count == 18
    assert total == np.delete(X, [12, 15], axis=0).sum()


def test_checked__infinities_of_both_signs_do_not_cancel():
    x = X.copy()
    x[3] = [np.inf, -np.inf, 0]
    assert run(x)[0].first_row == 3


def test_checked__large_finite_values_are_valid():
    x = X.astype(np.float32)
    x[4, 1] = 3e38
    assert run(x)[0].dropped == 0


def test_checked__values_without_a_square_are_left_out():
    x = X.astype(np.float64)
    x[4, 1], x[6, 0] = 1.1e150, 9e149
    assert run(x)[0] == Validity(20, 1, 4, 1, 0, None)
    weight = np.ones(20)
    weight[5] = 1e101
    assert run(X, weight)[0] == Validity(20, 1, None, None, 1, 5)


def test_checked__a_column_slice_is_looked_at_too():
    wide = np.zeros((20, 6))
    wide[2, 1] = np.nan
    assert run(wide[:, :3])[0] == Validity(20, 1, 2, 1, 0, None)
    wide[2, 1] = 1.1e150
    assert run(wide[:, :3])[0] == Validity(20, 1, 2, 1, 0, None)
    assert run(wide[:, 3:])[0].dropped == 0


@pytest.mark.parametrize("rows", [20, 7])
def test_checked__counts_bad_weights_with_their_own_first_row(rows):
    weight = np.ones(20)
    weight[[9, 11, 13]] = [-1.0, np.nan, np.inf]
    x = X.copy()
    x[[3, 9], 0] = np.nan
    validity, (total, count) = run(x, weight, rows)
    assert validity == Validity(20, 4, 3, 0, 3, 9)
    assert count == 16
    assert total == np.delete(X, [3, 9, 11, 13], axis=0).sum()


def test_checked__names_the_row_of_the_data_when_rows_were_left_out_before():
    x = X.copy()
    x[12, 2] = np.nan
    block = Block(x, SLICES, 0, 20).keep(np.arange(20) % 2 == 0)
    checked = Checked(Total())
    state = checked.init()
    checked.update(state, block, Workspace())
    assert checked.finalize(state)[0] == Validity(10, 1, 12, 2, 0, None)


def test_checked__rows_of_a_halo_belong_to_another_block():
    x = X.copy()
    x[15:] = np.nan
    checked = Checked(Total())
    state = checked.init()
    checked.update(state, Block(x, SLICES, 0, 15), Workspace())
    assert checked.finalize(state)[0].dropped == 0


def test_checked__bad_rows_of_a_halo_are_left_out_and_counted_by_their_own_block():
    class Windows(Total):
        halo = 2

        def update(self, state, block, _work):
            state["total"] += block.values.sum()
            state["count"] += np.count_nonzero(block.window_starts(3))

    x, weight = X.copy(), np.ones(20)
    x[16, 0], weight[15] = np.nan, -1
    checked = Checked(Windows())
    assert checked.halo == 2
    state = checked.init()
    checked.update(state, Block(x[:17], SLICES, 0, 15, weight[:17]), Workspace())
    validity, (total, count) = checked.finalize(state)
    # the row that is left out next to the last one cuts the sequence
    assert validity == Validity(15, 0, None, None, 0, None, cuts=1)
    assert total == X[:15].sum()
    assert count == 13
    state = checked.init()
    checked.update(state, Block(x[15:], SLICES, 15, 5, weight[15:]), Workspace())
    validity, (total, count) = checked.finalize(state)
    assert validity == Validity(5, 2, 16, 0, 1, 15)
    assert total == X[17:].sum()
    assert count == 1


def test_finite_rows__looks_into_sparse_rows():
    dense = np.array([[0, 1.0], [0, 0], [np.nan, 2], [0, np.inf]])
    block = Block(csr_array(dense), SLICES, 0, 4)
    np.testing.assert_array_equal(finite_rows(block, Workspace()), [True, True, False, False])
    assert finite_rows(replace(block, values=csr_array(dense[:2]), rows=2), Workspace()) is None


def test_checked__sparse_and_integer_blocks():
    checked = Checked(Total())
    for values, dropped in ((csr_array([[0, np.nan], [1.0, 0]]), 1), (np.ones((2, 2), int), 0)):
        state = checked.init()
        checked.update(state, Block(values, SLICES, 5, 2), Workspace())
        validity, (total, _) = checked.finalize(state)
        assert validity.dropped == dropped
        assert validity.first_column == (1 if dropped else None)
        assert total == (1 if dropped else 4)


@pytest.mark.parametrize("marginalised", [False, True])
def test_checked__missing_codes_are_left_out_unless_they_are_marginalised(marginalised):
    codes = np.array([[0, 1, 2], [3, -1, 0], [-1, 0, 0], [4, 4, 4]], np.int16)
    checked = Checked(Total(), marginalised=marginalised)
    state = checked.init()
    checked.update(state, Block(codes, SLICES, 10, 4), Workspace())
    validity, (total, count) = checked.finalize(state)
    if marginalised:
        assert validity == Validity(4, 0, None, None, 0, None)
        assert (total, count) == (codes.sum(), 4)
    else:
        assert validity == Validity(4, 2, 11, 1, 0, None, first_code=-1)
        assert (total, count) == (15, 2)


def test_first_invalid__counts_like_a_checked_statistic():
    x = X.copy()
    x[4, 2], x[9, 0] = np.inf, np.nan
    block = Block(x, SLICES, 100, 20)
    found = first_invalid(block, finite_rows(block, Workspace()))
    assert found == Validity(20, 2, 104, 2, 0, None)
    assert first_invalid(Block(X, SLICES, 0, 20), None) == Validity(20, 0, None, None, 0, None)


def test_checked__nan_is_shown_if_it_is_marginalised_and_infinity_is_not():
    x = X.copy()
    x[4, 2], x[9, 0] = np.inf, np.nan
    checked = Checked(Total(), marginalised=True)
    state = checked.init()
    checked.update(state, Block(x, SLICES, 100, 20), Workspace())
    validity, (total, count) = checked.finalize(state)
    assert validity == Validity(20, 1, 104, 2, 0, None)
    assert np.isnan(total)
    assert count == 19


def test_columns__that_are_needed_complete_are_so_whatever_is_marginalised():
    x = X.copy()
    x[4, 2], x[9, 0], x[9, 1] = np.nan, np.nan, np.nan
    block, rule = Block(x, SLICES, 100, 20), {"marginalised": True, "complete": (1,)}
    usable = usable_rows(block, Workspace(), **rule)
    assert np.flatnonzero(~usable).tolist() == [9]
    assert first_invalid(block, usable, **rule) == Validity(20, 1, 109, 1, 0, None)


def test_codes__of_unknown_categories_are_valid():
    codes = np.full((20, 3), UNKNOWN_CODE, np.int32)
    assert usable_rows(Block(codes, SLICES, 100, 20), Workspace(), marginalised=False) is None


@pytest.mark.parametrize("code", [-1, -9])
def test_codes__the_first_that_cannot_be_used_is_recorded(code):
    codes = np.zeros((20, 3), np.int32)
    codes[4, 2], codes[9, 0] = code, -2
    checked = Checked(Total())
    early, late = checked.init(), checked.init()
    checked.update(early, Block(codes[:5], SLICES, 100, 5), Workspace())
    checked.update(late, Block(codes[5:], SLICES, 105, 15), Workspace())
    validity = Validity(20, 2, 104, 2, 0, None, first_code=code)
    assert checked.finalize(checked.combine(late, early))[0] == validity
    block = Block(codes, SLICES, 100, 20)
    finite = usable_rows(block, Workspace(), marginalised=False)
    assert first_invalid(block, finite) == validity


def test_explain__names_the_first_row_feature_and_weight():
    views = Views.resolve(None, ["FSC", "CD3", "CD4"]).features
    words = explain(Validity(2_000_000, 3, 1_234_567, 2, 1, 17), views)
    assert "3 of 2,000,000 rows cannot be used" in words
    assert "row 1,234,567, feature 'CD4'" in words
    assert "1 of 2,000,000 rows have a weight" in words
    assert "the first is row 17" in words
    assert explain(Validity(5, 0, None, None, 0, None), views) == ""


def test_explain__says_where_a_feature_is_in_a_view_of_several():
    views = Views.resolve(
        {"v0": [0, 1, 2], "v1": [3, 4], "v2": [5]}, [f"x{j}" for j in range(6)]
    ).features
    words = [explain(Validity(9, 1, 5, column, 0, None), views) for column in (2, 3, 5)]
    places = ["'x2' (column 2 of the view 'v0')", "'x3' (column 0 of the view 'v1')", "'x5'"]
    assert [text.split("feature ")[1] for text in words] == places

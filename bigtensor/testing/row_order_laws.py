"""Law of the order of rows: a fit of the same rows in another order is the same fit."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bigtensor.array_types import IndexArray
from bigtensor.testing.cases import ModelCase, fitted
from bigtensor.testing.model_runs import model_law, require_close_model
from bigtensor.testing.sample_weight_laws import SEQUENCES


@model_law
def the_order_of_rows_does_not_matter(case: ModelCase) -> None:
    """Assert that a fit of permuted rows, or of permuted sequences, is the same fit."""
    number = np.arange(case.rows)
    if not case.in_order:
        order = np.random.default_rng(3).permutation(number)
        moved = fitted(case.make(), case.data[order])
        require_close_model(moved, case.fitted, case, "fit of permuted rows")
        return
    sequence = number * SEQUENCES // case.rows
    order = _permuted_sequences(sequence)
    expected = fitted(case.make(), case.data, sequence=sequence)
    moved = fitted(case.make(), case.data[order], sequence=sequence[order])
    require_close_model(moved, expected, case, "fit of permuted sequences")


def _permuted_sequences(sequence: IndexArray) -> IndexArray:
    """Return the rows of every sequence in their order, and the sequences in another one."""
    place = np.random.default_rng(3).permutation(SEQUENCES)
    return np.argsort(place[sequence], kind="stable")


ROW_ORDER_LAWS: tuple[Callable[[ModelCase], None], ...] = (the_order_of_rows_does_not_matter,)

"""Statistics of codes against sums over rows written out."""

from itertools import product

import numpy as np
import pytest

from bigtensor.data.rows.block import Block
from bigtensor.errors import ParameterError
from bigtensor.statistics.base import Workspace
from bigtensor.statistics.codes.code_counts import CodeCounts
from bigtensor.statistics.codes.code_moments import (
    PAIRS,
    ProjectedSymbols,
    SketchedPairs,
    SymbolGroup,
)
from bigtensor.statistics.codes.code_tables import CodeTables
from bigtensor.statistics.densities.posterior_sums import PosteriorSums
from bigtensor.statistics.densities.row_functions import Responsibilities
from bigtensor.statistics.densities.view_densities import MixtureDensities
from bigtensor.statistics.in_memory import sum_in_memory

SIZES = (3, 4, 2, 5)
ROWS = 3000
VIEWS = tuple("abcd")


def rows(seed: int = 0, *, weighted: bool = True, missing: float = 0.15) -> Block:
    rng = np.random.default_rng(seed)
    codes = np.column_stack([rng.integers(0, size, ROWS) for size in SIZES]).astype(np.int16)
    codes[rng.random(codes.shape) < missing] = -1
    weight = rng.uniform(0, 2, ROWS) if weighted else None
    slices = {name: slice(t, t + 1) for t, name in enumerate(VIEWS)}
    return Block(codes, slices, 0, ROWS, weight)


def probabilities(k: int = 3) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(1)
    return tuple(rng.dirichlet(np.ones(size), k).T for size in SIZES)


def likelihoods(block: Block, tables: tuple[np.ndarray, ...], weights: np.ndarray) -> np.ndarray:
    """Return the joint probability of every row and component, without missing entries."""
    joint = np.tile(weights, (block.rows, 1))
    for view, table in enumerate(tables):
        codes = block.values[:, view]
        joint *= np.where(codes[:, None] >= 0, table[codes], 1.0)
    return joint


WEIGHTS = np.array([0.5, 0.3, 0.2])


def test_posterior_sums__are_those_of_rows_written_out() -> None:
    block, tables = rows(), probabilities()
    mixture = MixtureDensities(WEIGHTS, CodeTables.of_probabilities(tables))
    found = sum_in_memory(PosteriorSums(mixture), block)
    joint = likelihoods(block, tables, WEIGHTS)
    posterior = block.weight[:, None] * joint / joint.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(found.mass, posterior.sum(axis=0), rtol=1e-12)
    expected = block.weight @ np.log(joint.sum(axis=1))
    assert found.log_likelihood == pytest.approx(expected, rel=1e-12)
    of_views = mixture.tables.of_views(found.histograms)
    for view, size in enumerate(SIZES):
        counts = [posterior[block.values[:, view] == code].sum(axis=0) for code in range(size)]
        np.testing.assert_allclose(of_views[view], counts, rtol=1e-12)


def test_answers__leave_missing_entries_out() -> None:
    block, tables = rows(weighted=False), probabilities()
    mixture = MixtureDensities(WEIGHTS, CodeTables.of_probabilities(tables))
    names = ("label", "probability", "log_density")
    out = {
        "label": np.empty(ROWS, np.int32),
        "probability": np.empty((ROWS, 3), np.float32),
        "log_density": np.empty(ROWS),
    }
    Responsibilities(mixture, names).evaluate(block, out, Workspace())
    joint = likelihoods(block, tables, WEIGHTS)
    np.testing.assert_allclose(out["log_density"], np.log(joint.sum(axis=1)), rtol=1e-12)
    shares = joint / joint.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(out["probability"], shares, atol=1e-7)
    np.testing.assert_array_equal(out["label"], joint.argmax(axis=1))
    empty = (block.values < 0).all(axis=1)
    assert empty.any()
    np.testing.assert_allclose(shares[empty], np.tile(WEIGHTS, (empty.sum(), 1)))


def test_tables__that_do_not_fit_together_are_refused() -> None:
    with pytest.raises(ParameterError, match="need 5 finite lines"):
        CodeTables((2, 1), np.zeros((4, 2)))
    with pytest.raises(ParameterError, match="finite"):
        CodeTables((1,), np.full((2, 2), -np.inf))


@pytest.mark.parametrize("weighted", [True, False])
def test_counts__are_those_of_distinct_rows(weighted: bool) -> None:
    block = rows(weighted=weighted)
    found = sum_in_memory(CodeCounts(SIZES), block)
    codes, inverse = np.unique(block.values, axis=0, return_inverse=True)
    weight = np.ones(ROWS) if block.weight is None else block.weight
    expected = dict(zip(map(tuple, codes), np.bincount(inverse.ravel(), weight), strict=True))
    assert found.rows == ROWS
    assert {*map(tuple, found.codes.tolist())} == {tuple(map(int, row)) for row in codes}
    for row, total in zip(found.codes.tolist(), found.weight, strict=True):
        assert total == pytest.approx(expected[tuple(row)], rel=1e-12)


GROUPS = (SymbolGroup((3,), (5,)), SymbolGroup((0, 2), (3, 2)), SymbolGroup((1,), (4,)))


def symbols(block: Block) -> np.ndarray:
    """Return the symbol of every group of every row; -1 for missing ones."""
    a, b, c, d = block.values.T.astype(int)
    pair = np.where((a < 0) | (c < 0), -1, a * 2 + c)
    return np.column_stack([d, pair, b])


def pair_table(block: Block, a: int, b: int) -> np.ndarray:
    """Return the joint probabilities of two groups, of the rows that have both."""
    found = symbols(block)
    table = np.zeros((GROUPS[a].size, GROUPS[b].size))
    there = (found[:, a] >= 0) & (found[:, b] >= 0)
    np.add.at(table, (found[there, a], found[there, b]), block.weight[there])
    return table / block.weight[there].sum()


def test_sketches__are_pair_tables_times_projections() -> None:
    block, rng = rows(), np.random.default_rng(3)
    projections = tuple(rng.normal(size=(group.size, 3)) for group in GROUPS)
    found = sum_in_memory(SketchedPairs(GROUPS, projections), block)
    all_symbols = symbols(block)
    for t in range(3):
        others = [other for other in range(3) if other != t]
        expected = np.hstack([pair_table(block, t, b) @ projections[b] for b in others])
        np.testing.assert_allclose(found.sketches[t], expected, rtol=1e-10, atol=1e-14)
        there = all_symbols[:, t] >= 0
        counts = np.bincount(all_symbols[there, t], block.weight[there])
        np.testing.assert_allclose(found.marginals[t], counts / counts.sum(), rtol=1e-12)
    assert found.weight == pytest.approx(block.weight.sum(), rel=1e-12)


def test_projected_moments__are_contractions_of_tables() -> None:
    block, rng = rows(), np.random.default_rng(4)
    widths = (2, 4, 3)
    projections = tuple(rng.normal(size=(GROUPS[t].size, widths[t])) for t in range(3))
    found = sum_in_memory(ProjectedSymbols(GROUPS, projections), block)
    for place, (a, b) in enumerate(PAIRS):
        expected = projections[a].T @ pair_table(block, a, b) @ projections[b]
        np.testing.assert_allclose(found.pairs[place], expected, rtol=1e-10, atol=1e-14)
    all_symbols = symbols(block)
    complete = (all_symbols >= 0).all(axis=1)
    table = np.zeros([group.size for group in GROUPS])
    np.add.at(table, tuple(all_symbols[complete].T), block.weight[complete])
    table /= block.weight[complete].sum()
    expected = np.einsum("ijl,ia,jb,lc->abc", table, *projections)
    np.testing.assert_allclose(found.tensor, expected, rtol=1e-10, atol=1e-14)
    assert found.complete == pytest.approx(block.weight[complete].sum(), rel=1e-12)


def test_marginals__of_a_group_are_those_of_its_columns() -> None:
    group = SymbolGroup((0, 2, 3), (3, 2, 5))
    rng = np.random.default_rng(5)
    parts = [rng.dirichlet(np.ones(size), 2).T for size in group.categories]
    joint = np.array(
        [
            np.prod([part[code] for part, code in zip(parts, codes, strict=True)], axis=0)
            for codes in product(*map(range, group.categories))
        ]
    )
    for found, expected in zip(group.marginals(joint), parts, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12)

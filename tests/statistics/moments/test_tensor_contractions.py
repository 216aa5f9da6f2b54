import pickle
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.random import default_rng

from bigtensor.data.rows.block import Block
from bigtensor.errors import DataError, ParameterError
from bigtensor.statistics.base import Workspace
from bigtensor.statistics.moments.tensor_contractions import TensorContractions

SIZES = {"a": 3, "b": 4, "c": 2}
SLICES = {"a": slice(0, 3), "b": slice(3, 7), "c": slice(7, 9)}
COLUMNS_OF = {"a": (0, 3), "b": (3, 7), "c": (7, 9)}
COLUMNS = 5
ORDERS = [
    (("a", "b", "c"), (1, 1, 1)),
    (("a",), (3,)),
    (("b",), (4,)),
    (("c", "a"), (2, 1)),
    (("a", "b"), (2, 2)),
    (("b",), (1,)),
]


def make_statistic(views, orders, dtype="float64", constants=True, seed=0):
    rng = default_rng(seed)
    return TensorContractions(
        tuple(COLUMNS_OF[name] for name in views),
        orders,
        tuple(rng.normal(size=SIZES[name]) for name in views),
        tuple(rng.normal(size=(SIZES[name], COLUMNS)) for name in views),
        rng.normal(size=(len(views), COLUMNS)) if constants else None,
        dtype,
    )


def summed(statistic, values, weight=None, step=17):
    state, work = statistic.init(), Workspace()
    for start in range(0, values.shape[0], step):
        part = slice(start, start + step)
        block = Block(
            values[part],
            SLICES,
            start,
            values[part].shape[0],
            None if weight is None else weight[part],
        )
        statistic.update(state, block, work)
    assert work.nbytes <= statistic.work_nbytes(step)
    return statistic.finalize(state)


def explicit_contractions(statistic, values, weight):
    """Return moments and constants from the explicit moment tensor of the augmented rows."""
    constants = statistic.constants
    modes = [v for v, order in enumerate(statistic.orders) for _ in range(order)]
    rows, factors = [], []
    for v, (start, stop) in enumerate(statistic.columns):
        centred = values[:, start:stop] - statistic.references[v]
        rows.append(np.column_stack([centred, np.ones(len(values))]))
        constant = np.zeros(COLUMNS) if constants is None else constants[v]
        factors.append(np.vstack([statistic.factors[v], constant]))
    letters = "ijkl"[: len(modes)]
    tensor = np.einsum(
        "n," + ",".join("n" + letter for letter in letters) + "->" + letters,
        weight / weight.sum(),
        *(rows[v] for v in modes),
    )
    moments, lower = [], []
    for v in range(len(statistic.columns)):
        left = modes.index(v)
        others = [m for m in range(len(modes)) if m != left]
        spec = ",".join([letters, *(letters[m] + "z" for m in others)])
        found = (
            np.einsum(
                spec + "->" + letters[left] + "z", tensor, *(factors[modes[m]] for m in others)
            )
            if others
            else np.repeat(tensor[:, None], COLUMNS, axis=1)
        )
        moments.append(found[:-1])
        lower.append(found[-1])
    return moments, np.array(lower)


def largest_error(found, expected):
    return np.abs(found - expected).max() / np.abs(expected).max()


@pytest.mark.parametrize(("views", "orders"), ORDERS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("constants", [False, True])
def test_contractions__are_those_of_the_explicit_tensor(views, orders, weighted, constants):
    rng = default_rng(1)
    values = rng.normal(size=(60, 9)) + 1
    weight = rng.integers(0, 5, 60) / 2 if weighted else None
    statistic = make_statistic(views, orders, constants=constants)
    result = summed(statistic, values, weight)
    plain = np.ones(60) if weight is None else weight
    moments, lower = explicit_contractions(statistic, values, plain)
    for found, expected in zip(result.moments, moments, strict=True):
        assert largest_error(found, expected) < 1e-10
    assert largest_error(result.constants, lower) < 1e-10
    assert (result.weight, result.rows) == (plain.sum(), 60)


@pytest.mark.parametrize(("views", "orders"), ORDERS)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_contractions__sparse_counts_are_dense_rows(views, orders, dtype):
    rng = default_rng(2)
    values = rng.poisson(0.7, (80, 9)).astype("f4")
    weight = rng.random(80)
    statistic = make_statistic(views, orders, dtype)
    sparse = summed(statistic, sp.csr_array(values), weight)
    dense = summed(replace(statistic, dtype="float64"), values, weight)
    bound = 1e-10 if dtype == "float64" else 1e-5
    for found, expected in zip(sparse.moments, dense.moments, strict=True):
        assert largest_error(found, expected) < bound
    assert largest_error(sparse.constants, dense.constants) < bound


@pytest.mark.parametrize("offset", [0.0, 1e3])
@pytest.mark.parametrize(("views", "orders"), ORDERS[:3])
@pytest.mark.parametrize("stored", ["float32", "float64"])
def test_contractions__float32_is_near_float64_at_any_offset(offset, views, orders, stored):
    rng = default_rng(3)
    skewed = rng.exponential(size=(20_000, 9))
    values = (skewed + offset).astype(stored)
    means = values.mean(axis=0, dtype="f8")
    statistic = replace(
        make_statistic(views, orders, "float32", constants=False),
        references=tuple(means[SLICES[name]] for name in views),
    )
    near = summed(statistic, values, step=1024)
    exact = summed(replace(statistic, dtype="float64"), values, step=1024)
    for found, expected in zip(near.moments, exact.moments, strict=True):
        assert np.linalg.norm(found - expected) < 1e-5 * np.linalg.norm(expected)


def test_contractions__halo_and_codes_do_not_count():
    values = default_rng(4).integers(0, 5, (40, 9))
    statistic = make_statistic(("a", "b"), (2, 1))
    state = statistic.init()
    statistic.update(state, Block(values, SLICES, 0, 30), Workspace())
    expected = summed(statistic, values[:30].astype(float))
    for found, other in zip(statistic.finalize(state).moments, expected.moments, strict=True):
        np.testing.assert_allclose(found, other, rtol=1e-12)


def test_contractions__weights_of_zero_are_an_error():
    statistic = pickle.loads(pickle.dumps(make_statistic(("a",), (3,))))
    with pytest.raises(DataError, match="total weight of 0"):
        summed(statistic, np.ones((3, 9)), np.zeros(3))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"orders": (1, 1)}, "3 groups .* as many orders.*got 2"),
        ({"orders": (1, 0, 1)}, "orders must be at least 1"),
        (
            {"references": (np.zeros(3), np.zeros(3), np.zeros(2))},
            r"columns 3 to 6 have a reference",
        ),
        ({"constants": np.zeros((3, 4))}, r"constants of shape \(3, 4\)"),
    ],
)
def test_contractions__wrong_shapes_are_errors(change, message):
    with pytest.raises(ParameterError, match=message):
        replace(make_statistic(("a", "b", "c"), (1, 1, 1)), **change)

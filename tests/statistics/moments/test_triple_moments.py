import pickle
import subprocess
import sys
import threading
import tracemalloc
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.random import default_rng

from bigtensor.data.rows.block import Block
from bigtensor.errors import DataError, ParameterError
from bigtensor.features.buffers import padded_width
from bigtensor.features.group_map import GroupMap
from bigtensor.features.kernels.kernel import GaussianKernel
from bigtensor.features.kernels.nystroem import Nystroem, nystroem_root
from bigtensor.statistics.base import Workspace
from bigtensor.statistics.moments.triple_moments import TripleMoments

ROOT = Path(__file__).resolve().parents[3]
SLICES = {"a": slice(0, 1), "b": slice(1, 3), "c": slice(3, 4), "d": slice(4, 5)}
GROUPS = (("a",), ("b",), ("c", "d"))


def make_map(x, q, dtype, seed, p=30):
    """Return an orthonormal map of a view, as a fit makes it."""
    rng = default_rng(seed)
    landmarks = x[rng.choice(len(x), p, replace=False)].astype(float)
    kernel = GaussianKernel(0.4 * x.std(axis=0, dtype="f8"))
    root = nystroem_root(kernel.evaluate(landmarks, landmarks), 1e-6)
    basis = np.linalg.qr(rng.normal(size=(root.shape[1], q)))[0]
    return Nystroem(landmarks, kernel, x.mean(axis=0, dtype="f8"), root @ basis, dtype)


def make_statistic(x, dtype="float64", sizes=(3, 4, 5)):
    return TripleMoments(
        tuple(
            GroupMap(names, tuple(make_map(x[:, SLICES[v]], q, dtype, ord(v)) for v in names))
            for names, q in zip(GROUPS, sizes, strict=True)
        )
    )


def accumulate(statistic, x, weight=None, rows=None, slices=SLICES):
    state, work = statistic.init(), Workspace()
    step = rows or statistic.block_rows
    for start in range(0, len(x), step):
        part = slice(start, start + step)
        block = Block(
            x[part], slices, start, len(x[part]), None if weight is None else weight[part]
        )
        statistic.update(state, block, work)
    return state


def augmented(statistic, x):
    """Return [1, y] of every group by the plain formula."""
    found = []
    for group in statistic.groups:
        y = sum(
            m.kernel.evaluate(x[:, SLICES[v]], m.landmarks) @ m.projection
            for v, m in zip(group.views, group.maps, strict=True)
        )
        found.append(np.hstack([np.ones((len(x), 1)), y]))
    return found


def assert_same(left, right, rtol):
    assert left.keys() == right.keys()
    for name in left:
        scale = np.abs(right[name]).max()
        np.testing.assert_allclose(left[name], right[name], rtol=0, atol=rtol * scale, err_msg=name)


def rows_of_sample():
    return default_rng(0).normal(size=(2500, 5)) * [1, 2, 3, 4, 5]


@pytest.fixture
def x():
    return rows_of_sample()


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("sizes", [(3, 4, 5), (1, 1, 7), (26, 26, 28)])
def test_triple_moments__are_the_sums_of_products(x, weighted, sizes):
    statistic = make_statistic(x, sizes=sizes)
    weight = default_rng(1).uniform(0, 2, len(x)) if weighted else None
    f, g, h = augmented(statistic, x)
    w = np.ones(len(x)) if weight is None else weight
    expected = {
        "triple": np.einsum("i,ia,ib,ic->abc", w, f, g, h, optimize=True),
        "second_0": (w[:, None] * f).T @ f,
        "second_1": (w[:, None] * g).T @ g,
        "second_2": (w[:, None] * h).T @ h,
        "weight": np.array(w.sum()),
        "rows": np.array(len(x)),
    }
    state = accumulate(statistic, x, weight)
    assert_same(state, expected, 1e-12)
    result = statistic.finalize(state)
    np.testing.assert_allclose(result.triple[1:, 0, 0], np.average(f, 0, w)[1:], atol=1e-12)
    np.testing.assert_allclose(result.seconds[2], expected["second_2"] / w.sum(), atol=1e-12)
    assert result.triple[0, 0, 0] == pytest.approx(1, abs=1e-12)
    assert (result.weight, result.rows) == (pytest.approx(w.sum()), len(x))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_triple_moments__any_blocks_give_the_same_sums(x, dtype):
    statistic = make_statistic(x, dtype)
    whole = accumulate(statistic, x)
    tolerance = 1e-12 if dtype == "float64" else 1e-6
    for rows in (1, 100, 1000):
        assert_same(
            accumulate(statistic, x[:1000], rows=rows), accumulate(statistic, x[:1000]), tolerance
        )
    left, right = accumulate(statistic, x[:700]), accumulate(statistic, x[700:])
    assert_same(statistic.combine(left, right), whole, tolerance)


def test_triple_moments__a_row_of_weight_two_is_a_row_twice(x):
    statistic = make_statistic(x)
    weighted = accumulate(statistic, x, np.full(len(x), 2.0))
    twice = accumulate(statistic, np.concatenate([x, x]))
    assert weighted.pop("rows") * 2 == twice.pop("rows")
    assert_same(weighted, twice, 1e-12)


def gaussian_mixture(rows, offset):
    """Return three views of four components with Fisher ratio 4."""
    rng = default_rng(7)
    label = rng.choice(4, rows, p=np.arange(1, 5) / 10)
    deviations = rng.uniform(0.6, 1.6, (4, 3))
    gaps = 2 * np.sqrt(deviations[1:] ** 2 + deviations[:-1] ** 2)
    means = np.vstack([np.zeros(3), gaps.cumsum(0)])
    return means[label] + deviations[label] * rng.normal(size=(rows, 3)) + offset


def spectral_maps(x, dtype, q=12, p=100):
    """Return maps on the leading singular vectors of the cross-covariances, as a fit does."""
    kernel = GaussianKernel(np.array([0.35]))
    views, roots, whitened = [], [], []
    for view in x.T[:, :, None]:
        landmarks = np.quantile(view, np.linspace(0, 1, p))[:, None]
        roots.append(nystroem_root(kernel.evaluate(landmarks, landmarks), 1e-6))
        whitened.append(kernel.evaluate(view, landmarks) @ roots[-1])
        views.append((landmarks, view.mean(axis=0)))
    groups = []
    for g, (landmarks, centre) in enumerate(views):
        others = np.hstack([whitened[o] for o in range(3) if o != g])
        basis = np.linalg.svd(whitened[g].T @ others / len(x), full_matrices=False)[0][:, :q]
        nystroem = Nystroem(landmarks, kernel, centre, roots[g] @ basis, dtype)
        groups.append(GroupMap(("abc"[g],), (nystroem,)))
    return TripleMoments(tuple(groups))


@pytest.mark.parametrize("offset", [0.0, 1e4])
@pytest.mark.quick_cases("10000.0")
def test_triple_moments__float32_agrees_with_float64(offset):
    x = gaussian_mixture(20_000, offset)
    slices = {name: slice(g, g + 1) for g, name in enumerate("abc")}
    states = []
    for dtype in ("float32", "float64"):
        statistic = spectral_maps(x, dtype)
        states.append(accumulate(statistic, x, slices=slices))
    assert_same(*states, 1e-6)


def test_triple_moments__far_from_zero_are_the_same_as_near(x):
    near = make_statistic(x)
    groups = tuple(
        GroupMap(
            group.views,
            tuple(
                replace(m, landmarks=m.landmarks + 1e4, centre=m.centre + 1e4) for m in group.maps
            ),
        )
        for group in near.groups
    )
    assert_same(accumulate(TripleMoments(groups), x + 1e4), accumulate(near, x), 1e-8)


def test_triple_moments__look_at_no_row_of_the_halo(x):
    statistic = make_statistic(x)
    state = statistic.init()
    statistic.update(state, Block(x[:120], SLICES, 0, 100, np.ones(120)), Workspace())
    assert_same(state, accumulate(statistic, x[:100]), 1e-12)


def test_triple_moments__an_empty_block_changes_nothing_and_data_stay_as_they_are(x):
    statistic = make_statistic(x)
    before, weight = x.copy(), np.full(len(x), 0.5)
    state = accumulate(statistic, x, weight)
    np.testing.assert_array_equal(x, before)
    assert (weight == 0.5).all()
    copy = {name: array.copy() for name, array in state.items()}
    statistic.update(state, Block(x[:0], SLICES, 0, 0), Workspace())
    assert_same(state, copy, 0)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("rows", [1, 100, 1536])
@pytest.mark.parametrize("sizes", [(3, 4, 5), (28, 28, 28)])
def test_triple_moments__sizes_hold(x, dtype, rows, sizes):
    statistic = make_statistic(x, dtype, sizes)
    work, state = Workspace(), statistic.init()
    statistic.update(state, Block(x[:rows], SLICES, 0, rows), work)
    assert work.nbytes <= statistic.work_nbytes(rows) <= 1.01 * work.nbytes
    assert sum(array.nbytes for array in state.values()) == statistic.state_nbytes()


def peak_of_update():
    """Print the most that an update with a block allocates, in a process that does no more."""
    x = rows_of_sample()
    statistic = make_statistic(x, "float32", (28, 28, 28))
    work, state, peaks = Workspace(), statistic.init(), []
    data = x[:1536].astype("f4")
    for weight in (None, np.ones(1536)):
        block = Block(data, SLICES, 0, 1536, weight)
        for _ in range(3):
            statistic.update(state, block, work)
        tracemalloc.start()
        statistic.update(state, block, work)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert threading.active_count() == 1
    print(max(peaks))


def test_triple_moments__allocate_nothing_for_a_block():
    # what other threads of this process allocate, such as those of clusters, would count as well
    call = (
        "from tests.statistics.moments.test_triple_moments import peak_of_update; peak_of_update()"
    )
    done = subprocess.run(
        [sys.executable, "-c", call], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 64 * 1024


@pytest.mark.parametrize(
    ("dtype", "size", "rows"),
    [("float32", 9, 4096), ("float32", 24, 1536), ("float64", 9, 2048), ("float64", 28, 1024)],
)
def test_triple_moments__take_longer_blocks_of_fewer_features(x, dtype, size, rows):
    statistic = make_statistic(x, dtype, (size, size, size))
    assert statistic.block_rows == rows
    features = statistic._own_arrays(rows)[f"triple.features.{dtype}"][0]
    assert features[0] * padded_width(rows) * np.dtype(dtype).itemsize < 2**20


def test_triple_moments__survive_pickling(x):
    statistic = make_statistic(x, "float32")
    again = pickle.loads(pickle.dumps(statistic))
    assert_same(accumulate(again, x), accumulate(statistic, x), 0)


def test_triple_moments__need_weight_and_three_groups(x):
    statistic = make_statistic(x)
    with pytest.raises(DataError, match="total weight of 0"):
        statistic.finalize(accumulate(statistic, x[:10], np.zeros(10)))
    with pytest.raises(ParameterError, match="got 2 groups"):
        TripleMoments(statistic.groups[:2])
    other = make_statistic(x, "float32").groups
    with pytest.raises(ParameterError, match="float32, float64"):
        TripleMoments((statistic.groups[0], statistic.groups[1], other[2]))

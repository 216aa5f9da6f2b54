import numpy as np
import pytest
from numpy.random import default_rng

from bigtensor.data.rows.block import Block
from bigtensor.errors import DataError, ParameterError
from bigtensor.statistics.base import Workspace
from bigtensor.statistics.moments.projected_moment import ProjectedMoment

COLUMNS = ((0, 3), (3, 7), (7, 9))
SIZES = (2, 5, 3)


def make_statistic(dtype="float64", seed=0, sizes=SIZES):
    rng = default_rng(seed)
    features = [stop - start for start, stop in COLUMNS]
    return ProjectedMoment(
        COLUMNS,
        tuple(rng.normal(size=d) for d in features),
        tuple(rng.normal(size=(d, q)) for d, q in zip(features, sizes, strict=True)),
        tuple(rng.normal(size=q) for q in sizes),
        dtype,
    )


def summed(statistic, values, weight=None, step=17):
    state, work = statistic.init(), Workspace()
    for start in range(0, len(values), step):
        part = slice(start, start + step)
        block = Block(
            values[part], {}, start, len(values[part]), None if weight is None else weight[part]
        )
        statistic.update(state, block, work)
    assert work.nbytes <= statistic.work_nbytes(step)
    return statistic.finalize(state)


def explicit(statistic, values, weight):
    parts = zip(
        statistic.columns, statistic.references, statistic.factors, statistic.offsets, strict=True
    )
    first, second, third = (
        (values[:, start:stop].astype(np.float64) - reference) @ factor + offset
        for (start, stop), reference, factor, offset in parts
    )
    return np.einsum("n,ni,nj,nk->ijk", weight / weight.sum(), first, second, third)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("sizes", [SIZES, (1, 1, 1), (40, 30, 35)])
@pytest.mark.parametrize("step", [1, 17, 500])
@pytest.mark.quick_cases(
    "1-sizes0-float32", "1-sizes1-float64", "17-sizes2-float32", "500-sizes0-float64"
)
def test_moment__is_the_mean_of_outer_products(dtype, sizes, step):
    rng = default_rng(1)
    values = rng.exponential(size=(211, 9)).astype(dtype)
    weight = rng.random(211)
    statistic = make_statistic(dtype, sizes=sizes)
    bound = 1e-12 if dtype == "float64" else 1e-5
    for given, used in ((weight, weight), (None, np.ones(211))):
        found = summed(statistic, values, given, step)
        exact = explicit(statistic, values, used)
        assert np.abs(found.moment - exact).max() < bound * np.abs(exact).max()
        assert np.isclose(found.weight, used.sum())


def test_float32__keeps_digits_far_from_zero():
    rng = default_rng(2)
    near = rng.normal(size=(500, 9))
    statistic = make_statistic("float32")
    far = ProjectedMoment(
        COLUMNS,
        tuple(reference + 1e4 for reference in statistic.references),
        statistic.factors,
        statistic.offsets,
        "float32",
    )
    exact = summed(make_statistic("float64"), near).moment
    assert np.abs(summed(far, near + 1e4).moment - exact).max() < 1e-5 * np.abs(exact).max()


def test_errors__say_the_shapes():
    good = make_statistic()
    with pytest.raises(ParameterError, match=r"got 2 groups of columns, 3 references"):
        ProjectedMoment(COLUMNS[:2], good.references, good.factors, good.offsets)
    with pytest.raises(ParameterError, match=r"columns 0 to 2 .* shape \(1,\)"):
        ProjectedMoment(COLUMNS, good.references, good.factors, (np.zeros(1), *good.offsets[1:]))
    with pytest.raises(DataError, match="total weight of 0"):
        good.finalize(good.init())

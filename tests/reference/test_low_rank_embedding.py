"""The low-rank kernel embedding beside Gram matrices, the explicit tensor and the full estimate."""

import numpy as np
import pytest
from numpy.random import default_rng
from scipy.integrate import trapezoid

from bigtensor.decomposition.tensor_train.clipped_density import ClippedDensity, VariableGrid
from bigtensor.decomposition.tensor_train.kernel_svd import SignedTrain, nested_kernel_svd
from bigtensor.features.kernels.kernel_basis import KernelBasis
from tests.reference.low_rank_embedding import low_rank_density


def embedded(rows, width):
    """Return bases, functions at the rows and kernels of every variable."""
    bases = [KernelBasis.of_range(c.min(), c.max(), width) for c in rows.T]
    return bases, [basis.functions(c) for basis, c in zip(bases, rows.T, strict=True)]


def kernel_estimate(rows, points, width):
    distances = (points[:, None] - rows) / width
    return (np.exp(-0.5 * distances**2) / (width * np.sqrt(2 * np.pi))).prod(axis=2).mean(axis=1)


def test_cores__are_those_of_the_explicit_tensor():
    """Singular vectors of unfoldings of the empirical tensor, one variable after the other."""
    rng = default_rng(0)
    functions = [rng.normal(size=(40, 5)) for _ in range(4)]
    train = nested_kernel_svd(functions, 3)
    tensor = np.einsum("na,nb,nc,nd->abcd", *functions) / 40
    rest, cores, rank = tensor.reshape(1, -1), [], 1
    for _ in range(3):
        unfolded = rest.reshape(rank * 5, -1)
        left = np.linalg.svd(unfolded, full_matrices=False)[0][:, :3]
        cores.append(left.reshape(rank, 5, -1))
        rest, rank = left.T @ unfolded, left.shape[1]
    cores.append(rest.reshape(rank, 5, 1))
    points = [rng.normal(size=(30, 5)) for _ in range(4)]
    direct = SignedTrain(tuple(cores)).values(points)
    assert np.abs(train.values(points) - direct).max() < 1e-10 * np.abs(direct).max()


@pytest.mark.parametrize("d", [2, 3, 5])
@pytest.mark.parametrize("rank", [1, 3])
def test_features__give_the_estimate_of_gram_matrices(d, rank):
    rng = default_rng(d)
    functions = [rng.normal(size=(30, 6)) for _ in range(d)]
    points = [rng.normal(size=(12, 6)) for _ in range(d)]
    grams = [at_rows @ at_rows.T for at_rows in functions]
    crossed = [at_rows @ at.T for at_rows, at in zip(functions, points, strict=True)]
    found = nested_kernel_svd(functions, rank).values(points)
    assert found == pytest.approx(low_rank_density(grams, crossed, rank), rel=1e-8, abs=1e-10)


def test_full_rank__is_the_kernel_density_estimate():
    rows, points = default_rng(1).normal(size=(25, 3)), default_rng(2).normal(size=(40, 3))
    bases, functions = embedded(rows, 1.0)
    train = nested_kernel_svd(functions, 200)
    found = train.values([b.functions(c) for b, c in zip(bases, points.T, strict=True)])
    assert found == pytest.approx(kernel_estimate(rows, points, 1.0), rel=1e-3)


@pytest.mark.parametrize("width", [0.15, 0.3])
@pytest.mark.parametrize("rank", [1, 2, 3, 5, 10])
def test_mass__is_kept_if_asked_for(width, rank):
    rows = default_rng(3).normal(size=(200, 4))
    rows[:100] += 3
    bases, functions = embedded(rows, width)
    masses = [basis.masses for basis in bases]
    kept = nested_kernel_svd(functions, rank, keeps_mass=True).mass(masses)
    assert kept == pytest.approx(1, abs=1e-3)
    assert nested_kernel_svd(functions, rank).mass(masses) < 0.98


@pytest.fixture(scope="module")
def clipped():
    rows = default_rng(4).normal(size=(80, 2))
    rows[:40] += 3
    bases, functions = embedded(rows, 0.4)
    grids = []
    for basis, column in zip(bases, rows.T, strict=True):
        points = np.linspace(column.min() - 3, column.max() + 3, 301)
        alone = kernel_estimate(column[:, None], points[:, None], 0.4)
        grids.append(VariableGrid(points, basis.functions(points), basis.masses, alone))
    train = nested_kernel_svd(functions, 2, keeps_mass=True)
    return ClippedDensity(train, tuple(grids)), bases, rows


@pytest.mark.slow
def test_clipped_density__integrates_to_one(clipped):
    density, bases, rows = clipped
    x, y = (grid.points for grid in density.grids)
    at = np.stack(np.meshgrid(x, y, indexing="ij"), axis=-1).reshape(-1, 2)
    functions = [b.functions(c) for b, c in zip(bases, at.T, strict=True)]
    alone = [
        kernel_estimate(own[:, None], c[:, None], 0.4) for own, c in zip(rows.T, at.T, strict=True)
    ]
    heights = np.exp(density.log_densities(functions, alone)).reshape(301, 301)
    assert trapezoid(trapezoid(heights, y, axis=1), x) == pytest.approx(1, abs=1e-4)


def test_draws__have_the_moments_of_the_rows(clipped):
    density, _, rows = clipped
    drawn = density.sample(20_000, default_rng(0))
    assert drawn.mean(axis=0) == pytest.approx(rows.mean(axis=0), abs=0.1)
    expected = np.cov(rows.T, bias=True) + 0.16 * np.eye(2)
    assert np.cov(drawn.T) == pytest.approx(expected, abs=0.35)

"""The kernel spectral method with the delta kernel is the tensor method of discrete mixtures."""

import numpy as np
import pytest

from bigtensor.decomposition.discrete.discrete_core import PAIRS, DiscreteCore
from bigtensor.decomposition.discrete.discrete_spectral import spectral_factors
from bigtensor.decomposition.multiview.augmented_moments import AugmentedMoments
from bigtensor.decomposition.multiview.multiview_mixture import solve_multiview_mixture
from tests.decomposition.discrete_tables import (
    largest_difference,
    separated_mixture,
    table_of,
    unscaled_core,
)
from tests.reference.exact_kernel_mixture import exact_coordinates

ROWS, SYMBOLS, K = 600, 8, 3


def drawn_rows(seed):
    """Codes of rows, (rows, 3), and their joint table."""
    random = np.random.default_rng(seed)
    truth = separated_mixture(K, (SYMBOLS,) * 3, random)
    cells = random.choice(SYMBOLS**3, ROWS, p=table_of(truth).ravel())
    table = np.bincount(cells, minlength=SYMBOLS**3).reshape((SYMBOLS,) * 3) / ROWS
    return np.stack(np.unravel_index(cells, table.shape), axis=1), table


def core_of_gram_matrices(codes):
    """Moments of the rows in the eigenvectors of their Gram matrices.

    The Gram matrix of the delta kernel has as many rows as the data and the rank of the symbols, so
    that it has no Cholesky factor.
    """
    features, bases, marginals = [], [], []
    for column in codes.T:
        gram = (column[:, None] == column).astype(float)
        z = gram @ exact_coordinates(gram)
        # the features of a symbol are those of any of its rows
        places = [np.flatnonzero(column == symbol)[0] for symbol in range(SYMBOLS)]
        features.append(z)
        bases.append(z[places])
        marginals.append(np.bincount(column, minlength=SYMBOLS) / len(column))
    tensor = np.einsum("na,nb,nc->abc", *features, optimize=True) / len(codes)
    pairs = tuple(features[a].T @ features[b] / len(codes) for a, b in PAIRS)
    ones = tuple(np.ones(SYMBOLS) for _ in features)
    return DiscreteCore(tensor, tuple(bases), ones, tuple(marginals), pairs)


@pytest.mark.parametrize("view", [0, 1, 2])
@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.quick_cases("0-0", "1-2")
def test_gram_matrices_of_the_delta_kernel__give_the_solution_of_the_joint_table(seed, view):
    codes, table = drawn_rows(seed)
    rng = np.random.default_rng(0)
    of_rows = spectral_factors(
        core_of_gram_matrices(codes), K, view=view, rotation="joint", rng=rng
    )
    of_table = spectral_factors(unscaled_core(table), K, view=view, rotation="joint", rng=rng)
    assert largest_difference(of_rows.factors, of_table.factors) < 1e-10
    # a sample that is far from its mixture, so that equality is none of both with the truth
    assert of_table.factors.negative_mass > 1e-3


@pytest.mark.parametrize("seed", [0, 1])
def test_kernel_mixture_of_a_population__is_the_solution_of_its_joint_table(seed):
    """Of a sample they differ: one fits the other views by regression, one by singular vectors."""
    truth = separated_mixture(K, (5, 8, 6), np.random.default_rng(seed))
    table = table_of(truth)
    discrete = spectral_factors(
        unscaled_core(table), K, view=1, rotation="joint", rng=np.random.default_rng(0)
    )
    masses = [np.ones(size) for size in table.shape]
    kernel = solve_multiview_mixture(one_hot_moments(table), K, masses)
    np.testing.assert_allclose(kernel.weights, discrete.factors.weights, atol=1e-10)
    for own, expected in zip(kernel.embeddings, discrete.factors.probabilities, strict=True):
        np.testing.assert_allclose(own, expected, atol=1e-10)


def one_hot_moments(table):
    """Moments of the indicators of symbols, which are the features of the delta kernel."""
    triple = np.zeros([size + 1 for size in table.shape])
    for kept in np.ndindex(2, 2, 2):
        place = tuple(slice(1, None) if keep else 0 for keep in kept)
        triple[place] = table.sum(axis=tuple(t for t in range(3) if not kept[t]))
    seconds = []
    for view in range(3):
        marginal = np.moveaxis(table, view, 0).sum(axis=(1, 2))
        margins = np.concatenate([[1.0], marginal])
        second = np.diag(margins)
        second[0], second[:, 0] = margins, margins
        seconds.append(second)
    return AugmentedMoments(triple, tuple(seconds), 1)

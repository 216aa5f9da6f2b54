"""Contractions of the fourth cumulant against the cumulant in full, of every entry."""

from itertools import product

import numpy as np
import pytest

from bigtensor import ICA
from bigtensor.data.rows.block import Block
from bigtensor.decomposition.sample_tensors.terms import Terms
from bigtensor.decomposition.sources.independent_components import principal_axes
from bigtensor.models.sources.components import of_terms
from bigtensor.models.sources.passes import blank_reach
from bigtensor.models.sources.whitened_sample import WhitenedSample, gaussian_part
from bigtensor.models.sources.whitened_tensor import WhitenedTensor
from bigtensor.statistics.in_memory import sum_in_memory
from tests.models.sources.ica.problems import problem


def fourth_cumulant(values):
    """Return the fourth cumulant of rows, of every four features."""
    centred = values - values.mean(axis=0)
    covariance = centred.T @ centred / len(centred)
    moment = np.einsum("ni,nj,nk,nl->ijkl", *[centred] * 4, optimize=True) / len(centred)
    d = len(covariance)
    for i, j, k, m in product(range(d), repeat=4):
        moment[i, j, k, m] -= (
            covariance[i, j] * covariance[k, m]
            + covariance[i, k] * covariance[j, m]
            + covariance[i, m] * covariance[j, k]
        )
    return moment


def contraction(tensor, columns):
    return np.einsum("ijkl,jc,kc,lc->ic", tensor, *[columns] * 3, optimize=True)


@pytest.fixture
def drawn():
    values, _, _ = problem("mixed", 4, 4, 3_000, noise=0.4, dtype="f8")
    values = values * [1.0, 20.0, 0.1, 3.0] + [5.0, -3.0, 0.0, 100.0]
    return values, np.random.default_rng(1).standard_normal((4, 6))


def test_cumulant_of_a_sample__is_that_of_every_entry(drawn):
    values, columns = drawn
    axes = principal_axes(np.cov(values.T, bias=True), np.zeros(4))
    block = Block(values, {"all": slice(0, 4)}, 0, len(values))
    sample = WhitenedSample.of_block(block, axes, values.mean(axis=0), "float64")
    whitened = (values - values.mean(axis=0)) @ axes.whitening
    for part, rows in ((sample, whitened), (sample.part(1, 2), whitened[1::2])):
        (found,) = part.cumulant()((columns,))
        expected = contraction(fourth_cumulant(rows), columns)
        assert found == pytest.approx(expected, rel=1e-10, abs=1e-10)


def test_cumulant_of_all_rows__is_that_of_whitened_rows(drawn):
    values, columns = drawn
    mean = values.mean(axis=0)
    axes = principal_axes(np.cov(values.T, bias=True), np.zeros(4))
    tensor = WhitenedTensor.about(mean, axes.whitening, blank_reach(4), "float64")
    block = Block(values, {"all": slice(0, 4)}, 0, len(values))
    (raw,) = tensor.moments(sum_in_memory(tensor.statistic((columns,)), block))
    (noise,) = gaussian_part(np.eye(4))((columns,))
    expected = contraction(fourth_cumulant((values - mean) @ axes.whitening), columns)
    assert raw - noise == pytest.approx(expected, rel=1e-10, abs=1e-10)


def test_solution__of_exact_terms_is_exact():
    rng = np.random.default_rng(2)
    mixing, kurtosis = rng.standard_normal((5, 7)), rng.uniform(1, 4, 7) * [1, -0.4, 1, 1, 1, 1, 1]
    noise = rng.uniform(0, 0.3, 5)
    covariance = mixing @ mixing.T + np.diag(noise)
    axes = principal_axes(covariance, np.zeros(5))
    along = axes.whitening.T @ mixing
    terms = Terms.of_columns(kurtosis, (along,), (4,))
    found, invalid = of_terms(axes, terms, covariance, np.zeros(5), (), "float64")
    assert invalid == 0
    order = np.argsort(-np.abs(kurtosis))
    assert found.kurtosis == pytest.approx(kurtosis[order], rel=1e-3)
    signs = np.sign((found.mixing * mixing[:, order]).sum(axis=0))
    assert found.mixing * signs == pytest.approx(mixing[:, order], abs=1e-3)
    # the linear estimate with the least mean squared error
    expected = np.linalg.solve(covariance, mixing[:, order])
    assert found.unmixing * signs == pytest.approx(expected, abs=1e-3)


def test_settled_fit__solves_the_fixed_point_equation():
    values, _, _ = problem("mixed", 3, 3, 20_000, seed=5, dtype="f8")
    found = ICA(method="whitened", max_iter=50, random_state=0).fit(values)
    sources = (values - found.mean_) @ found.components_.T
    assert np.cov(sources.T, bias=True) == pytest.approx(np.eye(3), abs=1e-8)
    tanh = np.tanh(sources)
    # a symmetric matrix, up to signs: the polar factor of the update is the rotation itself
    update = sources.T @ tanh / len(sources) - np.diag((1 - tanh**2).mean(axis=0))
    signed = update * np.sign(np.diag(update))
    assert np.abs(signed - signed.T).max() < 1e-4

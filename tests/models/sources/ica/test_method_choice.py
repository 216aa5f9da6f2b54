"""Evidence for the choice of the estimator: dependence of sources, estimated errors, rounding."""

import numpy as np
import pytest

from bigtensor import ICA
from bigtensor.data.rows.block import Block
from bigtensor.decomposition.sample_tensors.terms import Terms
from bigtensor.decomposition.sources.independent_components import principal_axes
from bigtensor.models.sources.ica.dependence import FREQUENCIES, source_products
from bigtensor.models.sources.ica.estimated_errors import estimated_errors, matched_terms
from bigtensor.models.sources.ica.method_choice import light_variance
from bigtensor.models.sources.rounding import rank_beyond_rounding, recorded_step
from bigtensor.models.sources.whitened_sample import (
    WhitenedSample,
    freed_terms,
    settled_rotation,
)
from tests.models.sources.ica.problems import column_error, problem


def whitened(rows, weight=None):
    mean = np.average(rows, axis=0, weights=weight)
    covariance = np.cov(rows.T, bias=True, aweights=weight)
    axes = principal_axes(covariance, np.zeros(rows.shape[1]))
    block = Block(rows, {"sample": slice(0, rows.shape[1])}, 0, len(rows), weight)
    return WhitenedSample.of_block(block, axes, mean, "float64")


def directions(sample, mixing):
    return sample.axes.whitening.T @ mixing


def test_dependence__is_the_distance_of_characteristic_functions():
    rows, mixing, _ = problem("laplace", 3, 3, 2_000, noise=0.3, seed=1, dtype="f8")
    sample = whitened(rows)
    turned = mixing @ np.linalg.qr(np.random.default_rng(0).standard_normal((3, 3)))[0]
    y = (rows - rows.mean(axis=0)) @ np.linalg.inv(turned).T
    y /= y.std(axis=0)
    s = np.corrcoef(y.T)

    def joint(t):
        return np.exp(1j * y @ t).mean()

    expected = []
    for f in FREQUENCIES:
        for i, j in ((0, 1), (0, 2), (1, 2)):
            for sign in (1, -1):
                t = np.zeros(3)
                t[i], t[j] = sign * f, f
                alone = joint(np.where(np.arange(3) == i, t, 0)) * joint(
                    np.where(np.arange(3) == j, t, 0)
                )
                noisy = alone * np.exp(-(t @ s @ t) / 2)
                expected.append(abs(joint(t) * np.exp(-(t @ np.diag(np.diag(s)) @ t) / 2) - noisy))
    expected = np.square(expected).reshape(len(FREQUENCIES), -1)
    found = source_products(sample, directions(sample, turned)).dependence()
    # mean over pairs, sum over signs and frequencies
    assert found == pytest.approx(2 * expected.mean(axis=1).sum(), rel=1e-9)


def test_dependence__of_true_columns_in_noise_is_that_of_independent_sources():
    rows, mixing, _ = problem("mixed", 6, 5, 20_000, noise=0.4, seed=2, dtype="f8")
    sample = whitened(rows)
    true = source_products(sample, directions(sample, mixing))
    assert true.dependence() < 2 * true.of_independent_sources()
    turned = mixing @ np.linalg.qr(np.random.default_rng(0).standard_normal((5, 5)))[0]
    assert source_products(sample, directions(sample, turned)).dependence() > 5 * true.dependence()


def test_dependence__takes_weights_as_repeated_rows():
    rows, mixing, _ = problem("laplace", 3, 3, 400, seed=3, dtype="f8")
    twice = whitened(np.repeat(rows, 2, axis=0))
    weighted = whitened(rows, np.full(400, 2.0))
    one, other = (source_products(s, directions(s, mixing)) for s in (twice, weighted))
    assert one.dependence() == pytest.approx(other.dependence(), rel=1e-9)
    assert one.of_independent_sources() == pytest.approx(other.of_independent_sources())


@pytest.mark.parametrize("noise", [0.0, 0.5])
@pytest.mark.quick_cases("0.0")
def test_estimated_errors__are_near_the_errors(noise):
    errors, estimates = [], []
    for seed in range(4):
        rows, mixing, _ = problem("laplace", 4, 4, 10_000, noise=noise, seed=seed, dtype="f8")
        sample = whitened(rows)
        rotation = settled_rotation(sample, np.linalg.qr(directions(sample, mixing))[0])
        terms = matched_terms(freed_terms(sample.cumulant(), rotation), rotation)
        estimates.append(estimated_errors(sample, rotation, terms, 10_000))
        scales = sample.axes.scales[:, None]
        errors.append(
            [
                column_error(mixing / scales, sample.axes.unwhitening @ columns / scales) ** 2
                for columns in (rotation, terms.factors[0])
            ]
        )
    ratios = np.mean(estimates, axis=0) / np.mean(errors, axis=0)
    assert (ratios > 0.4).all()
    assert (ratios < 2.5).all()


def test_matched_terms__are_in_the_order_of_the_columns():
    columns = np.linalg.qr(np.random.default_rng(0).standard_normal((4, 4)))[0]
    order = [2, 0, 3, 1]
    terms = Terms(np.arange(4.0), (-columns[:, order],), (4,))
    assert np.array_equal(matched_terms(terms, columns).factors[0], -columns)


def test_serial_rows__do_not_speak_for_the_cumulant():
    """Rows that are alike beside each other are few independent ones."""
    rng = np.random.default_rng(5)
    smooth = np.repeat(rng.laplace(size=(600, 6)), 20, axis=0)
    rows = smooth @ rng.standard_normal((6, 6)) + 1e-3 * rng.standard_normal((12_000, 6))
    model = ICA(6, random_state=0).fit(rows)
    assert model.method_ == "whitened"
    assert model.mixing_.shape == (6, 6)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.quick_cases("0")
def test_cumulant_by_choice__gives_all_sources(seed):
    rows, mixing, _ = problem("laplace", 6, 6, 20_000, noise=1.0, seed=seed)
    model = ICA(6, random_state=seed).fit(rows)
    assert model.mixing_.shape == (6, 6)
    assert column_error(mixing, model.mixing_) < 0.35


def leads(seed, rows=30_000):
    """Return twelve leads of rank eight as electrocardiographs record them."""
    rng = np.random.default_rng(seed)
    eight = rng.standard_t(4, size=(rows, 8)) @ rng.standard_normal((8, 8)) * 0.3
    one, two = eight[:, 0], eight[:, 1]
    derived = np.stack([two - one, -(one + two) / 2, one - two / 2, two - one / 2], axis=1)
    return (np.round(np.hstack([eight, derived]) / 0.005) * 0.005).astype("f4")


def test_rounded_leads__have_the_rank_of_what_was_measured():
    found = {ICA(random_state=seed).fit(leads(1)).mixing_.shape for seed in range(4)}
    assert found == {(12, 8)}


def test_coarse_values_and_real_numbers__keep_their_rank():
    rng = np.random.default_rng(0)
    classes = rng.integers(0, 2, (2_000, 4)).astype("f8")
    real = rng.standard_normal((2_000, 4))
    for values in (classes, real):
        axes = principal_axes(np.cov(values.T, bias=True), np.zeros(4))
        assert rank_beyond_rounding(axes, values) == 4


def test_step__is_that_of_the_values():
    rng = np.random.default_rng(0)
    counts = rng.integers(-300, 300, 4_000)
    assert recorded_step((counts * 0.005 + 7).astype("f4")) == pytest.approx(0.005, rel=1e-2)
    assert recorded_step(counts * 1.0) == 1
    assert recorded_step(rng.standard_normal(4_000)) == 0
    assert recorded_step(np.zeros(10)) == 0


@pytest.mark.parametrize("freedom", [1.5, 2, 3])
def test_heavy_tails__are_no_outliers(freedom):
    rng = np.random.default_rng(int(10 * freedom))
    rows = rng.standard_t(freedom, size=(20_000, 3)) @ rng.standard_normal((3, 3))
    assert ICA(3, random_state=0).fit(rows).diagnostics_["outlying_rows"] == 0


def test_slow_sources__do_not_speak_for_the_cumulant():
    """Blocks of rows hold parts of a period, and a draw of them does not tell the dependence."""
    time = np.linspace(0, 8, 3_000)
    wave = np.sin(7.1 * time)
    sources = [np.sin(2 * time), np.sign(np.sin(3 * time)), 2 * time % 1 - 0.5, wave**3]
    mixing = np.random.default_rng([0, 3_000]).normal(size=(4, 4))
    model = ICA(random_state=0).fit(np.column_stack(sources) @ mixing.T)
    assert model.method_ == "whitened"


def test_light_variance__is_that_of_the_columns_of_the_least_kurtosis():
    columns = np.linalg.qr(np.random.default_rng(0).standard_normal((3, 3)))[0]
    terms = Terms(np.array([-2.0, 5.0, -0.5]), (columns,), (4,))
    assert light_variance(terms) == pytest.approx(1.0)
    # with parallel columns of length one, the variances 1 and .5 add up
    terms = Terms(np.array([-2.0, 5.0, -0.5]), (columns[:, [0, 1, 0]],), (4,))
    assert light_variance(terms) == pytest.approx(1.5)
    assert light_variance(Terms(np.ones(3), (columns,), (4,))) == 0


@pytest.mark.parametrize("seed", [4, 6])
def test_terms_of_impossible_variance__are_not_chosen(seed):
    """Three Gaussian classes: their sources depend on each other, and terms are nearly parallel."""
    rng = np.random.default_rng(seed)
    classes = rng.integers(0, 3, 4_000)
    centres = 2 * rng.standard_normal((3, 4))
    scales = np.exp(rng.uniform(-1.5, 0.5, (3, 4)))
    rows = centres[classes] + rng.standard_normal((4_000, 4)) * scales[classes]
    assert ICA(random_state=0).fit(rows).method_ == "whitened"


def test_spurious_column_for_a_gaussian_source__is_not_chosen():
    """The cumulant does not see the source; a column that follows the bursts takes its place."""
    rng, n = np.random.default_rng(100), 20_000
    time = np.arange(n)
    sources = [rng.laplace(size=n), rng.uniform(-1, 1, n), np.sin(2 * np.pi * 0.01233 * time + 2)]
    sources += [rng.standard_normal(n) * (rng.random(n) < 0.02), rng.standard_t(3, n)]
    sources += [rng.exponential(size=n), rng.standard_normal(n)]
    columns = np.column_stack([(s - s.mean()) / s.std() for s in sources])
    mixing = rng.standard_normal((7, 7))
    rows = columns @ mixing.T + 0.1 * rng.standard_normal((n, 7))
    model = ICA(7, random_state=0).fit(rows)
    assert model.method_ == "whitened"
    assert column_error(mixing, model.mixing_) < 0.1


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.quick_cases("0")
def test_noisy_binary_sources__have_a_possible_variance(seed):
    rng = np.random.default_rng(seed)
    mixing = rng.standard_normal((6, 4))
    mixing /= np.linalg.norm(mixing, axis=0)
    sources = np.sign(rng.standard_normal((20_000, 4)))
    model = ICA(4, random_state=0).fit(sources @ mixing.T + 0.3 * rng.standard_normal((20_000, 6)))
    assert model.method_ == "cumulant"
    assert column_error(mixing, model.mixing_) < 0.04

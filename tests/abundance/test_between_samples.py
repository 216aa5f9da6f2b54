import numpy as np
import pytest
from scipy import stats

from bigtensor.abundance.between_samples import DEVIATIONS, DeviationPriors, grid_fits
from bigtensor.abundance.moderated_tests import PopulationFits, coefficient_tests

MATRIX = np.column_stack([np.ones(8), np.repeat([0.0, 1.0], 4)])


def posteriors(log_likelihood, dependent=False, share_logits=None):
    if share_logits is None:
        share_logits = np.full(len(log_likelihood), -2.0)
    return DeviationPriors.of_shares(share_logits).posteriors(log_likelihood, dependent=dependent)


def fitted(response, variance, share_logits=None):
    fits = grid_fits(response, variance, MATRIX)
    return PopulationFits(fits, posteriors(fits.log_likelihood, share_logits=share_logits))


def test_tests__without_sampling_error_borrow_from_other_populations():
    """Of equal deviations, many populations know the deviation of each, as in limma."""
    response = 0.4 * np.random.default_rng(0).standard_normal((300, 8))
    one = coefficient_tests(fitted(response[:1], np.zeros((1, 8))), slice(1, 2))
    many = coefficient_tests(fitted(response, np.zeros((300, 8))), slice(1, 2))
    plain = stats.ttest_ind(response[:, 4:], response[:, :4], axis=1)
    assert one.p_value[0] == pytest.approx(plain.pvalue[0], rel=0.05)
    assert np.median(many.degrees_of_freedom) > 50
    assert many.degrees_of_freedom.min() > 15
    known = 0.4 * np.sqrt(2 / 4)
    np.testing.assert_allclose(many.standard_error[:, 0], known, rtol=0.25)
    np.testing.assert_allclose(many.estimate[:, 0], (response @ (MATRIX[:, 1] / 2 - 0.25)), 1e-6)


def test_tests__with_large_sampling_errors_are_z_tests():
    response = 3.0 * np.random.default_rng(1).standard_normal((20, 8))
    tests = coefficient_tests(fitted(response, np.full((20, 8), 9.0)), slice(1, 2))
    z = (response[:, 4:].mean(axis=1) - response[:, :4].mean(axis=1)) / np.sqrt(9 / 2)
    np.testing.assert_allclose(tests.p_value, 2 * stats.norm.sf(abs(z)), atol=0.05)


def test_tests__of_several_coefficients_are_f_tests():
    rng = np.random.default_rng(2)
    matrix = np.column_stack([np.ones(9), np.repeat(np.eye(3)[:, 1:], 3, axis=0)])
    response = rng.standard_normal((1, 9))
    fits = grid_fits(response, np.zeros((1, 9)), matrix)
    posterior = posteriors(fits.log_likelihood, dependent=False)
    tests = coefficient_tests(PopulationFits(fits, posterior), slice(1, 3))
    reference = stats.f_oneway(*np.split(response[0], 3))
    assert tests.statistic[0] == pytest.approx(reference.statistic, rel=0.05)
    assert tests.p_value[0] == pytest.approx(reference.pvalue, rel=0.05)


def test_deviation_posteriors__of_two_dependent_populations_are_that_of_one():
    response = np.random.default_rng(3).standard_normal((1, 8))
    one = grid_fits(response, np.full((1, 8), 0.01), MATRIX).log_likelihood
    alone = posteriors(one, dependent=False)
    pair = posteriors(np.vstack([one, one]), dependent=True)
    np.testing.assert_allclose(pair[0], alone[0], atol=1e-12)
    assert alone.shape == (1, len(DEVIATIONS))
    assert alone.sum() == pytest.approx(1)


def test_tests__of_an_outlying_population_do_not_borrow_from_steady_ones():
    """Samples lack it or have it, whatever their group: its own deviation counts."""
    rng = np.random.default_rng(4)
    response = 0.4 * rng.standard_normal((12, 8))
    response[0] = np.array([8.0, -8.0, 8.0, 8.0, -8.0, 8.0, -8.0, -8.0]) + response[0]

    tests = coefficient_tests(fitted(response, np.full((12, 8), 0.01)), slice(1, 2))

    plain = stats.ttest_ind(response[0, 4:], response[0, :4])
    assert tests.p_value[0] == pytest.approx(plain.pvalue, rel=0.1)
    assert tests.degrees_of_freedom[0] < 10
    assert np.median(tests.degrees_of_freedom[1:]) > 15


def test_grid__holds_deviations_of_logits_of_absent_populations():
    response = np.array([[30.0, -30.0, 28.0, 31.0, -29.0, 30.0, -31.0, -30.0]])

    tests = coefficient_tests(fitted(response, np.full((1, 8), 0.01)), slice(1, 2))

    plain = stats.ttest_ind(response[0, 4:], response[0, :4])
    assert tests.p_value[0] == pytest.approx(plain.pvalue, rel=0.1)


@pytest.mark.parametrize("deviation", [0.02, 0.2, 2.0])
@pytest.mark.quick_cases("0.2", "2.0")
def test_tests__of_hundreds_of_samples_are_t_tests(deviation):
    response = deviation * np.random.default_rng(5).standard_normal((6, 400))
    matrix = np.column_stack([np.ones(400), np.repeat([0.0, 1.0], 200)])
    fits = grid_fits(response, np.full((6, 400), 1e-6), matrix)
    posterior = posteriors(fits.log_likelihood, dependent=True)

    tests = coefficient_tests(PopulationFits(fits, posterior), slice(1, 2))

    plain = stats.ttest_ind(response[:, 200:], response[:, :200], axis=1)
    np.testing.assert_allclose(tests.p_value, plain.pvalue, atol=0.02)


def test_deviations__of_rare_populations_are_larger_if_those_of_others_say_so():
    """As between compositions from a Dirichlet distribution: with the root of the share."""
    rng = np.random.default_rng(6)
    shares = np.geomspace(0.3, 0.0003, 12)
    deviations = 0.1 * np.sqrt(0.3 / shares)
    response = deviations[:, None] * rng.standard_normal((12, 8))

    own = fitted(response, np.full((12, 8), 1e-3), np.log(shares / (1 - shares))).deviations
    without_shares = fitted(response, np.full((12, 8), 1e-3)).deviations

    assert own[-3:].mean() / own[:3].mean() == pytest.approx(np.sqrt(0.3 / 0.0006), rel=0.5)
    assert np.abs(np.log(own / deviations)).mean() < 0.7 * (
        np.abs(np.log(without_shares / deviations)).mean()
    )


def test_deviations__that_are_alike_stay_so_whatever_the_shares():
    rng = np.random.default_rng(7)
    logits = np.linspace(-8, 0, 24)

    own = fitted(0.4 * rng.standard_normal((24, 8)), np.full((24, 8), 1e-3), logits).deviations

    assert np.abs(np.log(own / 0.4)).max() < 0.4

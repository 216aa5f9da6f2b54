"""Gaussian components with atoms and categories, against formulas of single components."""

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import multivariate_normal

from bigtensor.features.modes import Modes, Nodes, Symbols
from bigtensor.statistics.tensor_train.gaussian_part import GaussianPart
from bigtensor.statistics.tensor_train.located_rows import LocatedRows

ATOM = np.array([0.5])
MODES = Modes(
    (
        Nodes(-3, 0.5, 13, 1.0),
        Nodes(-3, 0.5, 13, 1.0, ATOM, ATOM),
        Symbols(np.array([1.0, 2.0])),
        Nodes(-3, 0.5, 13, 1.0),
    )
)
OF_ATOM = np.array([0.3, 0.1])
OF_SYMBOLS = np.array([[0.6, 0.2], [0.3, 0.7], [0.1, 0.1]])
WEIGHTS = np.array([0.4, 0.6])


@pytest.fixture(scope="module", params=["covariances of their own", "one covariance"])
def part(request):
    rng = np.random.default_rng(0)
    roots = rng.normal(size=(2, 3, 3))
    covariances = roots @ roots.transpose(0, 2, 1) + 0.2 * np.eye(3)
    if request.param == "one covariance":
        covariances = covariances[:1]
    first = MODES.first
    tables = np.zeros((first[-1] + 1, 2))
    tables[first[1] : first[1] + 13] = np.log(1 - OF_ATOM)
    tables[first[1] + 13] = np.log(OF_ATOM)
    tables[first[2] : first[2] + 3] = np.log(OF_SYMBOLS)
    means = rng.normal(size=(2, 3))
    return GaussianPart(np.array([0, 1, 3]), np.log(WEIGHTS), means, covariances, tables)


def located(rows):
    """Return rows in standard coordinates, whose entries are their own coordinates."""
    rows = np.asarray(rows, float)
    values = np.empty_like(rows)
    locator = MODES.locator()
    locator.write_continuous(rows, values)
    point = np.empty(rows.shape, np.int32)
    left, right = np.empty(rows.shape), np.empty(rows.shape)
    locator.locate(values, rows, point, left, right)
    return LocatedRows(point, left, right, np.zeros(len(rows)), values)


ROWS = [[0.1, -0.4, 1.0, 0.7], [0.1, 0.5, 2.0, 0.7], [np.nan, 0.5, 7.0, -1], [1.0, 2.0, np.nan, 0]]


def direct(part, row):
    """Return the log-density of a row, component by component."""
    logs = np.log(WEIGHTS)
    present = [
        i for i, j in enumerate((0, 1, 3)) if not np.isnan(row[j]) and (j, row[j]) != (1, 0.5)
    ]
    if not np.isnan(row[1]):
        logs = logs + np.log(OF_ATOM if row[1] == 0.5 else 1 - OF_ATOM)
    if not np.isnan(row[2]):
        place = {1.0: 0, 2.0: 1}.get(row[2], 2)
        logs = logs + np.log(OF_SYMBOLS[place])
    values = np.array(row)[[0, 1, 3]][present]
    for k in range(2):
        covariance = part.covariances[k % len(part.covariances)][np.ix_(present, present)]
        logs[k] += multivariate_normal(part.means[k][present], covariance).logpdf(values)
    return logsumexp(logs)


def test_log_densities__are_those_of_the_components(part):
    expected = [direct(part, row) for row in ROWS]
    assert part.log_densities(located(ROWS)) == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize("variable", [0, 1, 3])
def test_conditionals__are_ratios_of_densities(part, variable):
    rows = np.array(ROWS[:2] + ROWS[3:])
    first = MODES.first
    found = part.conditional(located(rows), variable, int(first[variable + 1]) - 1)
    for number, row in enumerate(rows):
        others = row.copy()
        others[variable] = np.nan
        assert found.log_evidence[number] == pytest.approx(direct(part, others), abs=1e-10)
        entry = row.copy()
        entry[variable] = 0.25
        ratio = np.exp(direct(part, entry) - direct(part, others))
        standard = (0.25 - found.means[number]) / found.deviations[number]
        heights = np.exp(-0.5 * standard**2) / (found.deviations[number] * np.sqrt(2 * np.pi))
        weights = found.weights[number] * (1 - OF_ATOM if variable == 1 else 1)
        assert weights @ heights == pytest.approx(ratio, rel=1e-9)


def test_part_of_other_variables__is_a_ratio_of_densities(part):
    row = np.array([[0.1, 0.5, np.nan, np.nan]])
    first = MODES.first
    kept = np.concatenate([np.arange(first[2], first[4]), first[-1:]])
    given = part.conditional_on(located(row), np.array([0, 1]), kept)
    assert given.measured.tolist() == [1]
    entry = [0.1, 0.5, 2.0, 0.7]
    at = located([entry])
    of_others = LocatedRows(
        at.point[:, 2:] - first[2], at.left[:, 2:], at.right[:, 2:], at.log_slope, at.values[:, 2:]
    )
    ratio = direct(part, entry) - direct(part, row[0])
    assert given.log_densities(of_others)[0] == pytest.approx(ratio, abs=1e-10)


def test_draws__have_the_moments_and_probabilities(part):
    counts = np.array([13, 13, 0, 13])
    coordinates, points = part.draw(MODES.first, counts, 40_000, np.random.default_rng(0))
    assert coordinates[:, [0, 1, 3]].mean(axis=0) == pytest.approx(WEIGHTS @ part.means, abs=0.05)
    assert (points[:, 1] == 13).mean() == pytest.approx(WEIGHTS @ OF_ATOM, abs=0.01)
    shares = np.bincount(points[:, 2], minlength=3) / 40_000
    assert shares == pytest.approx(OF_SYMBOLS @ WEIGHTS, abs=0.01)


def test_means_of_functions__are_integrals(part):
    first = MODES.first
    found = part.conditional(located(ROWS[:2]), 0, int(first[1]) - 1)
    places = np.linspace(-2, 2, 9)
    values = np.cumsum(np.random.default_rng(0).random(9))
    grid = np.linspace(-60, 60, 400_001)
    outside = np.array([-70.0, *places[1:-1], 70.0])
    slopes = np.diff(values)[[0, -1]] / 0.5
    ends = values[[1, -2]] + slopes * (outside[[0, -1]] - places[[1, -2]])
    function = np.interp(grid, outside, [ends[0], *values[1:-1], ends[1]])
    for row in range(2):
        standard = (grid[:, None] - found.means[row]) / found.deviations[row]
        heights = np.exp(-0.5 * standard**2) / (found.deviations[row] * np.sqrt(2 * np.pi))
        expected = np.trapezoid(function * (heights @ found.weights[row]), grid)
        assert found.means_of(places, values)[row] == pytest.approx(expected, abs=1e-6)

"""Fits to rows with missing entries, beside the distribution that the rows are drawn from."""

import numpy as np
import pytest
import xarray as xr
from numpy.random import default_rng
from scipy.special import logsumexp
from scipy.stats import multivariate_normal

from bigtensor import TensorTrainDensity
from bigtensor.errors import DataError, MissingValueError, MissingValueWarning
from bigtensor.models.tensor_train_density.sample.coordinate_systems import coordinates_of
from bigtensor.models.tensor_train_density.sample.gaussian_fit import (
    GaussianCandidate,
    filled_from,
)
from bigtensor.models.tensor_train_density.sample.pilot import PilotRows
from bigtensor.models.tensor_train_density.sample_fit import SampleProblem
from tests.parameters import first_quick

ROOTS = [np.linalg.cholesky([[1, slope], [slope, 1]]) for slope in (0.9, -0.9)]
"""Two components that depend on opposite slopes."""


def two_slopes(rows, rng):
    values = rng.normal(size=(rows, 2))
    return np.where(
        (rng.random(rows) < 0.5)[:, None], values @ ROOTS[0].T - 2, values @ ROOTS[1].T + 2
    )


def log_density(values):
    of_components = [
        multivariate_normal([centre] * 2, root @ root.T).logpdf(values)
        for centre, root in zip((-2, 2), ROOTS, strict=True)
    ]
    return logsumexp(of_components, axis=0) - np.log(2)


@pytest.mark.parametrize("seed", first_quick(range(3)))
@pytest.mark.parametrize("columns", [[1], [0, 1]])
@pytest.mark.quick_cases("columns0-0")
def test_density__is_near_the_truth_where_slopes_differ(columns, seed):
    rng = default_rng(seed)
    rows, others = two_slopes(2_000, rng), two_slopes(4_000, rng)
    for column in columns:
        rows[rng.random(len(rows)) < 0.2, column] = np.nan
    rows = rows[~np.isnan(rows).all(axis=1)]
    model = TensorTrainDensity(random_state=0).fit(rows)
    # draws from one Gaussian in place of missing entries lose .1 to .2 nats
    assert log_density(others).mean() - model.score(others) < 0.04


@pytest.mark.parametrize("seed", first_quick(range(3)))
@pytest.mark.slow  # the density of such rows is quick
def test_mean__is_that_of_all_rows_where_other_entries_tell_which_are_missing(seed):
    rng = default_rng(seed)
    root = np.linalg.cholesky([[1, 0.8, 0.5], [0.8, 1, 0.3], [0.5, 0.3, 1]])
    rows = rng.normal(size=(4_000, 3)) @ root.T
    complete = rows.copy()
    rows[(rows[:, 0] > 0) & (rng.random(len(rows)) < 0.8), 1] = np.nan
    model = TensorTrainDensity(random_state=0).fit(rows)
    draws = np.asarray(model.sample(20_000, random_state=0))
    assert draws[:, 1].mean() == pytest.approx(complete[:, 1].mean(), abs=0.05)
    assert np.cov(draws.T)[0, 1] == pytest.approx(0.8, abs=0.08)
    # the mean of the entries that are left is .4 lower
    assert np.nanmean(rows[:, 1]) < complete[:, 1].mean() - 0.3


def test_drawn_entries__follow_the_component_of_their_row():
    rows = two_slopes(1_000, default_rng(0))
    holes = rows.copy()
    holes[::3, 1] = np.nan
    pilot = PilotRows(
        holes,
        np.ones(len(holes)),
        symbols=(None, None),
        least_width=None,
        atoms=(np.empty(0), np.empty(0)),
    )
    coordinates = coordinates_of(pilot, "z", 0.0)
    problem = SampleProblem.of_rows(pilot, coordinates, (0.6,), "chain")
    part = GaussianCandidate(2, 0.003).fitted(problem, 0)
    filled = filled_from(part, problem.located, problem.weight, 0)
    assert np.array_equal(np.isnan(problem.located.values[:, 1]), np.isnan(holes[:, 1]))
    for rising, slope in ((rows[:, 0] < -1, 0.9), (rows[:, 0] > 1, -0.9)):
        drawn = rising & np.isnan(holes[:, 1])
        assert np.corrcoef(filled[drawn].T)[0, 1] == pytest.approx(slope, abs=0.2)


def test_variable_of_few_values__is_an_error():
    rows = default_rng(0).normal(size=(8, 2))
    rows[:4, 1] = np.nan
    with pytest.raises(DataError, match="x1 has 4 values"):
        TensorTrainDensity().fit(rows)


def test_imputed_codes__are_data_of_the_same_categories():
    rng = default_rng(0)
    first = rng.integers(0, 3, 300)
    codes = np.stack([(first + shift) % 3 for shift in range(3)], 1).astype("int32")
    codes[rng.random(codes.shape) < 0.05] = -1
    codes = codes[(codes >= 0).any(axis=1)]
    names = {feature: ["yes", "no", "maybe"] for feature in "abc"}
    labelled = xr.DataArray(
        codes,
        dims=("sample", "feature"),
        coords={"feature": list("abc")},
        attrs={"categories": names},
    )
    density = TensorTrainDensity(rank=3, max_iter=1, missing="marginalise", random_state=0).fit(
        labelled
    )

    imputed = density.impute(labelled).astype("int32")
    again = TensorTrainDensity(rank=3, max_iter=1, random_state=0).fit(imputed)

    assert (imputed.to_numpy() >= 0).all()
    assert np.array_equal(imputed.to_numpy()[codes >= 0], codes[codes >= 0])
    assert again.categories_ == density.categories_
    expected = density.score_samples(imputed.assign_attrs(categories=names))
    assert np.array_equal(density.score_samples(imputed), expected)


def rows_with_gaps():
    rng = default_rng(0)
    rows = rng.normal(size=(300, 3))
    rows[:, 1] += rows[:, 0]
    rows[:, 2] = rng.integers(0, 3, 300)
    holes = rows.copy()
    holes[5:9, 2], holes[7, 1] = np.nan, np.nan
    return rows, holes


@pytest.mark.filterwarnings("ignore::bigtensor.errors.ConditioningWarning")
@pytest.mark.parametrize(
    ("parameters", "left_out", "remedy"),
    [
        ({"coordinates": "pca"}, [7], "coordinates='queries'"),
        ({"method": "embedding"}, [5, 6, 7, 8], "method='likelihood'"),
    ],
)
def test_answers__of_whole_rows_leave_rows_with_gaps_out_with_a_warning(
    parameters, left_out, remedy, tmp_path
):
    rows, holes = rows_with_gaps()
    model = TensorTrainDensity(2, widths=[0.5], random_state=0, **parameters).fit(rows)
    words = f"{len(left_out)} of 300 rows .*{remedy}"
    with pytest.warns(MissingValueWarning, match=words):
        scores = model.score_samples(holes)
    with pytest.warns(MissingValueWarning, match=words):
        mean = model.score(holes)
    with pytest.warns(MissingValueWarning, match=words):
        store = model.write(holes, tmp_path / "scores.zarr")
    assert np.flatnonzero(np.isnan(scores)).tolist() == left_out
    assert mean == pytest.approx(np.nanmean(scores))
    assert np.array_equal(xr.open_zarr(store)["log_density"], scores, equal_nan=True)
    whole = np.delete(np.arange(300), [5, 6, 7, 8])
    assert np.array_equal(scores[whole], model.score_samples(rows)[whole])


def test_answers__of_whole_rows_do_not_offer_to_sum_over_gaps():
    rows, holes = rows_with_gaps()
    strict = TensorTrainDensity(
        2, coordinates="pca", widths=[0.5], missing="raise", random_state=0
    ).fit(rows)
    with pytest.raises(MissingValueError, match="'omit'") as caught:
        strict.score_samples(holes)
    assert "marginalise" not in str(caught.value)


def test_fit__of_whole_rows_warns_of_gaps_outside_the_pilot_sample():
    rows = default_rng(0).normal(size=(400, 2))
    rows[0, 1] = np.nan  # the pilot sample lacks this row
    model = TensorTrainDensity(
        2, coordinates="pca", widths=[0.5], max_iter=1, pilot_rows=100, random_state=0
    )
    with pytest.warns(MissingValueWarning, match="1 of 400 rows .*coordinates='queries'"):
        model.fit(rows)
    assert model.diagnostics_["rows_left_out"] == 1

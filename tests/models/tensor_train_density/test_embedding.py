"""The published estimator as a method of the model: proper, refused where it does not hold."""

import numpy as np
import pytest
import xarray as xr
from scipy.stats import norm

import bigtensor
from bigtensor import TensorTrainDensity
from bigtensor.errors import (
    ConditioningWarning,
    DataError,
    MissingValueWarning,
    ParameterError,
    StatisticsError,
)
from bigtensor.report.html import render_report
from bigtensor.testing import small_data

CENTRES = np.array([[0.0, 0.0], [2.0, 2.0]])


def two_clusters(n, seed=0):
    rng = np.random.default_rng(seed)
    return CENTRES[rng.integers(2, size=n)] + 0.5 * rng.normal(size=(n, 2))


@pytest.fixture(scope="module")
def model():
    return TensorTrainDensity(method="embedding", coordinates="z").fit(two_clusters(200))


def test_embedding__is_near_the_truth_and_integrates_to_one(model):
    test = two_clusters(4_000, seed=1)
    heights = [norm.pdf(test, centre, 0.5).prod(axis=1) for centre in CENTRES]
    true = np.log(np.mean(heights, axis=0)).mean()
    assert 0 < true - model.score(test) < 0.15
    grid = np.linspace(-6, 8, 400)
    points = np.stack(np.meshgrid(grid, grid, indexing="ij"), axis=-1).reshape(-1, 2)
    total = np.exp(model.score_samples(points)).sum() * (grid[1] - grid[0]) ** 2
    assert total == pytest.approx(1, abs=1e-4)


def test_one_variable__is_the_kernel_estimate():
    rows = two_clusters(300)[:, :1]
    model = TensorTrainDensity(method="embedding", coordinates="z", widths=[0.3]).fit(rows)
    grid = np.linspace(-2, 4, 50)
    direct = norm.pdf(grid[:, None], rows.T, 0.3 * rows.std()).mean(axis=1)
    assert np.exp(model.score_samples(grid[:, None])) == pytest.approx(direct, rel=2e-3)


def test_draws_and_stored_models__are_those_of_the_density(model, tmp_path):
    drawn = model.sample(20_000)
    assert drawn.mean(axis=0) == pytest.approx([1, 1], abs=0.2)
    assert np.corrcoef(drawn.T)[0, 1] == pytest.approx(0.8, abs=0.08)
    loaded = bigtensor.load(model.save(tmp_path / "m.zarr"))
    rows = two_clusters(300, seed=2)
    rows[5, 1] = np.nan
    with pytest.warns(MissingValueWarning, match="1 of 300"):
        scores = model.score_samples(rows)
    assert np.flatnonzero(np.isnan(scores)).tolist() == [5]
    with pytest.warns(MissingValueWarning, match="1 of 300"):
        assert np.array_equal(loaded.score_samples(rows), scores, equal_nan=True)
    lazy = xr.DataArray(rows, dims=("sample", "feature")).chunk({"sample": 77})
    assert np.allclose(model.score_samples(lazy), scores, equal_nan=True)
    page = render_report(model, data=two_clusters(200))
    assert "Choice by validation" in page
    assert "Gaussian components beside" not in page
    assert "Unusual rows" in page
    assert "Data and draws" in page


def test_units__change_nothing():
    rows, scale = two_clusters(150), np.array([1e-3, 1e4])
    settings = {"method": "embedding", "rank": 2, "widths": [0.3]}
    own = TensorTrainDensity(**settings).fit(rows).score_samples(rows)
    other = TensorTrainDensity(**settings).fit(rows * scale + 5).score_samples(rows * scale + 5)
    assert other + np.log(scale).sum() == pytest.approx(own, abs=1e-8)


def test_an_outlier__harms_nobody():
    rows = two_clusters(200)
    settings = {"method": "embedding", "coordinates": "z"}
    own = TensorTrainDensity(**settings).fit(rows).score(rows)
    rows[3, 1] = 1e6
    with pytest.warns(ConditioningWarning, match="far from all others"):
        scores = TensorTrainDensity(**settings).fit(rows).score_samples(rows)
    assert np.isfinite(scores).all()
    assert np.argmin(scores) == 3
    assert np.delete(scores, 3).mean() > own - 0.1


def test_rounds__are_refused():
    model, rows = TensorTrainDensity(method="embedding", coordinates="z"), two_clusters(100)
    prepared = model.prepare(rows)
    with pytest.raises(StatisticsError, match="no pass after its sample"):
        prepared.accumulate(rows)
    with pytest.raises(StatisticsError, match="no pass after its sample"):
        model.partial_fit(rows)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda X: np.vstack([X] * 11), "2,000 rows, .* 2,200; use method="),
        (lambda X: np.where(np.arange(len(X))[:, None] == 3, np.nan, X), "missing='omit'"),
        (lambda X: np.column_stack([X, np.ones(len(X))]), "constant: x2"),
    ],
)
def test_data_that_have_no_embedding__are_refused(change, words):
    with pytest.raises(DataError, match=words):
        TensorTrainDensity(method="embedding").fit(change(two_clusters(200)))


def test_few_values__are_told():
    rows = np.column_stack([two_clusters(150), np.arange(150) % 2])
    with pytest.warns(ConditioningWarning, match="more than a third of the entries of x2"):
        TensorTrainDensity(method="embedding", rank=2).fit(rows)


def test_categories__are_refused():
    # the distance of two codes, and with it the density, depends on the order of the categories
    with pytest.raises(DataError, match=r"categories.*method='likelihood'"):
        TensorTrainDensity(method="embedding").fit(small_data("codes"))


def test_weights__are_refused():
    with pytest.raises(DataError, match="takes no weights"):
        TensorTrainDensity(method="embedding").fit(two_clusters(100), sample_weight=np.ones(100))


def test_queries__are_refused(model):
    rows = two_clusters(10)
    for query in (
        lambda: model.marginal(["x0"]),
        lambda: model.impute(rows),
        lambda: model.latent_posterior(rows),
        lambda: model.surprise(rows),
    ):
        with pytest.raises(ParameterError, match="method='likelihood'"):
            query()

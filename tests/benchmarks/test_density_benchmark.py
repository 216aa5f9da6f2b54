"""The benchmark of densities, small; its peers are densities themselves."""

import numpy as np
import pytest

from tests.benchmarks.density.chains import anomalies, excess
from tests.benchmarks.density.peers import FLOOR, PEERS, GaussianCopula, Margins
from tests.benchmarks.density.real_sets import bars, folds_of
from tests.benchmarks.density.two_clusters import GRID, draw_of, true_density, two_clusters


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in PEERS if "vine" not in name])
def test_peers__integrate_to_one(name):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 2))
    X[:, 1] += X[:, 0]
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    model = PEERS[name]().fit(X)
    grid = np.linspace(-7, 7, 281)
    points = np.stack(np.meshgrid(grid, grid, indexing="ij"), axis=-1).reshape(-1, 2)
    heights = np.exp(model.score_samples(points)).reshape(281, 281)
    total = np.trapezoid(np.trapezoid(heights, grid, axis=1), grid)
    # values of distribution functions are kept off zero and one
    assert total == pytest.approx(1, abs=0.01)


@pytest.mark.parametrize("nonparametric", [False, True])
def test_vines__are_near_the_copula_of_gaussian_rows(nonparametric):
    pytest.importorskip("pyvinecopulib", reason="vines need pyvinecopulib")
    from tests.benchmarks.density.peers import Vine

    rng = np.random.default_rng(1)
    X = rng.multivariate_normal(np.zeros(3), 0.3 * np.eye(3) + 0.7, 1_000)
    copula = GaussianCopula(0.0).fit(X[:800]).score_samples(X[800:]).mean()
    vine = Vine(nonparametric).fit(X[:800]).score_samples(X[800:]).mean()
    alone = Margins().fit(X[:800]).score_samples(X[800:]).mean()
    assert vine == pytest.approx(copula, abs=0.15)
    assert vine > alone + 0.5


def test_margins__are_kernel_estimates():
    rows = np.array([[0.0], [1.0]])
    at = Margins().fit(rows).score_samples(np.array([[0.0]]))
    heights = np.exp([0, -0.5 / FLOOR**2]).mean() / (FLOOR * np.sqrt(2 * np.pi))
    assert at == pytest.approx(np.log(heights))


def test_folds__are_in_the_units_of_their_training_rows():
    X = np.random.default_rng(0).normal(3, 2, size=(100, 2))
    folds = list(folds_of(X, 10))
    assert len(folds) == 10
    for training, test in folds:
        assert training.mean(axis=0) == pytest.approx(np.zeros(2), abs=1e-12)
        assert training.std(axis=0) == pytest.approx(np.ones(2))
        assert len(training) + len(test) == 100


def test_bars__count_the_sets():
    rows = [
        {"set": name, "method": "kernel density", "train is better by": gain}
        for name, gain in (("a", 0.3), ("b", -0.1))
    ]
    assert bars(rows)[0] == {"ahead of": "kernel density", "sets": 1, "bar": 6}


@pytest.mark.slow
def test_small_tables__hold_their_bars():
    (row,) = anomalies(1)
    assert row["holds"]
    assert row["train"] > row["exact"] - 0.01
    (row,) = two_clusters([draw_of(seed) for seed in range(3)])
    assert row["mean ratio"] < 1.1


@pytest.mark.slow
def test_cluster_figure__shows_the_errors_of_every_draw(tmp_path):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    from tests.benchmarks.density.cluster_figure import cluster_figure
    from tests.benchmarks.figures import save

    assert true_density().sum() * (GRID[1] - GRID[0]) ** 2 == pytest.approx(1, abs=1e-3)
    draws = [draw_of(seed) for seed in range(3)]
    figure = cluster_figure(draws)
    truth, kernel, low_rank, errors = figure.axes
    maps = [axes.images[0].get_array().T for axes in (truth, kernel, low_rank)]
    assert np.array_equal(maps[0], true_density())
    (shown,) = [draw for draw in draws if np.array_equal(draw.kernel, maps[1])]
    assert np.array_equal(shown.low_rank, maps[2])
    _, marks, median = (line.get_xydata() for line in errors.lines)
    assert marks == pytest.approx(
        np.array([[draw.error(draw.kernel), draw.error(draw.low_rank)] for draw in draws])
    )
    assert median[0] == pytest.approx([shown.error(shown.kernel), shown.error(shown.low_rank)])
    ratios = marks[:, 1] / marks[:, 0]
    assert median[0, 1] / median[0, 0] == pytest.approx(np.median(ratios))
    save(figure, tmp_path / "clusters.svg")
    assert (tmp_path / "clusters.svg").stat().st_size < 250_000


def test_main__draws_no_figure_of_another_table(tmp_path, capsys):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    from tests.benchmarks.density.__main__ import main

    with pytest.raises(SystemExit):
        main(["--only", "few", "--figure", str(tmp_path / "clusters.svg")])
    assert "--figure draws the table clusters" in capsys.readouterr().err


def test_excess__of_the_truth_is_zero():
    from bigtensor import simulate

    truth = simulate.latent_chain(100, 3, 4, random_state=0)
    rows = truth["X"].values.astype(float)
    assert excess(truth, rows, simulate.latent_chain_density(truth, rows)) == 0

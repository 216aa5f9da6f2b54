"""Simulated data follow the truth that they carry, on disk as in memory."""

from itertools import pairwise

import numpy as np
import pytest
import xarray as xr
from scipy import integrate, stats
from scipy.spatial import distance

import bigtensor
from bigtensor.data import simulate
from bigtensor.data.stores.zarr_groups import LAYOUT_VERSION
from bigtensor.errors import DataError, OutputError, ParameterError

SEED = 20240731


def read_back(path):
    with xr.open_zarr(path) as stored:
        return stored.load()


def assert_same_data(stored, expected):
    xr.testing.assert_equal(stored, expected)
    assert stored.attrs == expected.attrs | {"bigtensor_layout": LAYOUT_VERSION}
    for name in expected.variables:
        if expected[name].dtype.kind in "fib":
            assert stored[name].dtype == expected[name].dtype
    assert stored["label"].attrs == expected["label"].attrs


def test_simulate__is_a_public_name():
    assert bigtensor.simulate is simulate


# Kernel mixtures ------------------------------------------------------------------------------


@pytest.mark.parametrize("family", ["gaussian", "gamma"])
def test_kernel_mixture__rows_follow_the_true_parameters(family):
    print(f"seed {SEED}")
    data = simulate.kernel_mixture(90_000, 4, family, random_state=SEED)
    label, X = data["label"].values, data["X"].values
    weights = data["true_weights"].values
    np.testing.assert_allclose(weights, [0.1, 0.2, 0.3, 0.4])
    assert stats.chisquare(np.bincount(label, minlength=4), weights * len(label)).pvalue > 1e-4
    for h in range(4):
        rows = X[label == h]
        mean, sd = data["true_means"].values[h], data["true_sds"].values[h]
        assert np.all(np.abs(rows.mean(axis=0) - mean) < 5 * sd / np.sqrt(len(rows)))
        # The variance of a variance is (kurtosis - 1) / n; an exponential has kurtosis 9.
        assert np.all(np.abs(rows.var(axis=0) / sd**2 - 1) < 5 * np.sqrt(8 / len(rows)))
        correlation = np.corrcoef(rows.T)[np.triu_indices(3, 1)]
        assert np.all(np.abs(correlation) < 5 / np.sqrt(len(rows)))


@pytest.mark.parametrize("shape", [0.7, 1.0, 3.0])
def test_kernel_mixture__gamma_components_are_shifted_gammas(shape):
    print(f"seed {SEED}")
    data = simulate.kernel_mixture(40_000, 5, "gamma", random_state=SEED, gamma_shape=shape)
    np.testing.assert_array_equal(data["true_is_gamma"].values.sum(axis=0), [2, 2, 2])
    for h, t in np.ndindex(5, 3):
        values = data["X"].values[data["label"].values == h, t]
        mean, sd = data["true_means"].values[h, t], data["true_sds"].values[h, t]
        law = stats.norm(mean, sd)
        if data["true_is_gamma"].values[h, t]:
            theta = sd / np.sqrt(shape)
            law = stats.gamma(shape, loc=mean - shape * theta, scale=theta)
        assert stats.kstest(values, law.cdf).pvalue > 1e-4


@pytest.mark.parametrize("separation", [0.7, 4.0])
def test_kernel_mixture__neighbours_have_the_fisher_ratio(separation):
    data = simulate.kernel_mixture(10, 6, separation=separation, views=4, random_state=SEED)
    means, sds = data["true_means"].values, data["true_sds"].values
    assert data["X"].shape == (10, 4)
    assert sds.min() >= 0.6
    assert sds.max() <= 1.6
    orders = np.argsort(means, axis=0)
    assert len({tuple(order) for order in orders.T}) > 1
    for t, order in enumerate(orders.T):
        gaps = np.diff(means[order, t])
        variances = sds[order, t] ** 2
        np.testing.assert_allclose(gaps**2 / (variances[1:] + variances[:-1]), separation)


def test_kernel_mixture__one_stream_draws_parameters_then_labels_then_rows():
    k, rows = 3, 500
    data = simulate.kernel_mixture(rows, k, random_state=2003)
    rng = np.random.default_rng(2003)
    means, sds = np.zeros((k, 3)), np.zeros((k, 3))
    for t in range(3):
        sds[:, t] = rng.uniform(0.6, 1.6, k)
        order = rng.permutation(k)
        for a, b in pairwise(order):
            means[b, t] = means[a, t] + np.sqrt(4.0 * (sds[a, t] ** 2 + sds[b, t] ** 2))
    label = rng.choice(k, size=rows, p=[1 / 6, 2 / 6, 3 / 6])
    X = means[label] + sds[label] * rng.standard_normal((rows, 3))
    np.testing.assert_array_equal(data["label"], label)
    np.testing.assert_allclose(data["X"], X, rtol=1e-12)


def test_kernel_mixture__symmetric_views_share_their_parameters():
    data = simulate.kernel_mixture(100, 4, "gamma", symmetric=True, random_state=SEED)
    for name in ("true_means", "true_sds", "true_is_gamma"):
        first = data[name].isel(feature=[0]).values
        np.testing.assert_array_equal(data[name].values, np.repeat(first, 3, axis=1))
    assert not np.array_equal(data["X"][:, 0], data["X"][:, 1])


def test_kernel_mixture__seed_decides_everything_and_blocks_nothing():
    long = simulate.kernel_mixture(70_000, 3, "gamma", random_state=5)
    xr.testing.assert_identical(
        long, simulate.kernel_mixture(70_000, 3, "gamma", random_state=np.int64(5))
    )
    short = simulate.kernel_mixture(65_536, 3, "gamma", random_state=5)
    xr.testing.assert_identical(long.isel(sample=slice(65_536)), short)
    other = simulate.kernel_mixture(65_536, 3, "gamma", random_state=6)
    assert not np.array_equal(other["label"], short["label"])


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_write_kernel_mixture__stores_what_memory_holds(tmp_path, dtype):
    path = tmp_path / "mixture.zarr"
    simulate.write_kernel_mixture(path, 70_000, 3, "gamma", 1.5, random_state=11, dtype=dtype)
    expected = simulate.kernel_mixture(70_000, 3, "gamma", 1.5, random_state=11)
    expected["X"] = expected["X"].astype(dtype)
    stored = read_back(path)
    assert_same_data(stored, expected)
    points = np.linspace(-3, 3, 7)
    np.testing.assert_array_equal(
        simulate.kernel_mixture_density(stored, "view2", points),
        simulate.kernel_mixture_density(expected, "view2", points),
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rows": 0}, "rows must be .* at least 1, not 0"),
        ({"rows": 10.0}, "rows must be an integer"),
        ({"n_components": True}, "n_components must be an integer"),
        ({"views": 0}, "views must be an integer"),
        ({"random_state": -1}, "random_state is -1"),
        ({"family": "poisson"}, "'gaussian' or 'gamma', not 'poisson'"),
        ({"separation": 0.0}, "separation must be a positive number"),
        ({"gamma_shape": np.inf}, "gamma_shape must be a positive number"),
    ],
)
def test_kernel_mixture__names_the_parameter_that_is_wrong(change, message):
    with pytest.raises(ParameterError, match=message):
        simulate.kernel_mixture(**({"rows": 10, "n_components": 2} | change))


# Truth and error ------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    "shape", [0.8, *(pytest.param(shape, marks=pytest.mark.slow) for shape in (1.0, 2.5))]
)
def test_kernel_mixture_density__integrates_to_one_with_the_stated_moments(shape):
    data = simulate.kernel_mixture(10, 4, "gamma", random_state=3, gamma_shape=shape)
    assert data["true_is_gamma"].values[:, 0].sum() == 2
    for h in range(4):
        mean, sd = float(data["true_means"][h, 0]), float(data["true_sds"][h, 0])
        # A Gamma density starts at its shift, where it may be unbounded.
        low = mean - (np.sqrt(shape) if data["true_is_gamma"][h, 0] else 12) * sd

        def moment(f, h=h, low=low, high=mean + 40 * sd, middle=mean + sd):
            def integrand(x):
                return f(x) * simulate.kernel_mixture_density(data, "view1", [x])[0, h]

            return sum(
                integrate.quad(integrand, a, b, limit=200)[0]
                for a, b in ((low, middle), (middle, high))
            )

        assert moment(np.ones_like) == pytest.approx(1, abs=1e-6)
        assert moment(lambda x: x) == pytest.approx(mean, abs=1e-5)
        assert moment(lambda x, m=mean: (x - m) ** 2) == pytest.approx(sd**2, rel=1e-5)


def test_kernel_mixture_density__names_features_and_refuses_other_data():
    data = simulate.kernel_mixture(10, 2)
    with pytest.raises(ParameterError, match=r"no feature 'CD3'; .* \['view1'"):
        simulate.kernel_mixture_density(data, "CD3", [0.0])
    with pytest.raises(DataError, match=r"lacks .*true_means"):
        simulate.kernel_mixture_density(simulate.cytometry(10), "CD3", [0.0])


def test_error_grid__covers_every_component():
    data = simulate.kernel_mixture(10, 3, random_state=8)
    mean, sd = data["true_means"].values[:, 1], data["true_sds"].values[:, 1]
    grid = simulate.error_grid(data, "view2")
    assert grid.shape == (1000,)
    assert grid[0] == pytest.approx(min(mean - 4 * sd))
    assert grid[-1] == pytest.approx(max(mean + 5 * sd))


def normal_case(shifts, views=2):
    """Weights, grids and normal densities with means 0, 10, 20 moved by shifts."""
    grid = [np.linspace(-10, 40, 4001)] * views
    means = np.array([0.0, 10.0, 20.0]) + np.asarray(shifts)
    return [0.2, 0.3, 0.5], grid, [stats.norm.pdf(x[:, None], means) for x in grid]


def test_density_error__is_zero_for_the_truth_in_any_order():
    weights, grid, true = normal_case(0.0)
    assert simulate.density_error(weights, true, true, grid) == 0
    shuffled = [density[:, [2, 0, 1]] for density in true]
    assert simulate.density_error(weights, true, shuffled, grid) == 0


def test_density_error__equals_the_distance_of_normal_densities():
    weights, grid, true = normal_case(0.0)
    shifts = np.array([0.5, 1.0, 0.0])
    _, _, estimated = normal_case(shifts)
    # int (p - q)^2 = (1 - exp(-d^2 / 4)) / sqrt(pi) for unit normals a distance d apart.
    distance = np.sqrt((1 - np.exp(-(shifts**2) / 4)) / np.sqrt(np.pi))
    expected = np.dot(weights, distance)
    assert simulate.density_error(weights, true, estimated, grid) == pytest.approx(expected)
    shuffled = [density[:, [1, 2, 0]] for density in estimated]
    assert simulate.density_error(weights, true, shuffled, grid) == pytest.approx(expected)


def test_density_error__allows_one_permutation_for_all_views():
    weights, grid, true = normal_case(0.0)
    estimated = [true[0], true[1][:, [1, 0, 2]]]
    # Either view may be right; the other confuses two components that do not overlap.
    apart = np.sqrt(1 / np.sqrt(np.pi))
    expected = (0.2 + 0.3) * apart / 2
    assert simulate.density_error(weights, true, estimated, grid) == pytest.approx(expected)


def test_density_error__says_which_shapes_do_not_fit():
    weights, grid, true = normal_case(0.0)
    with pytest.raises(ParameterError, match="2 true and 1 estimated"):
        simulate.density_error(weights, true, true[:1], grid)
    with pytest.raises(ParameterError, match=r"\(4001, 2\) \(estimated\)"):
        simulate.density_error(weights, true, [density[:, :2] for density in true], grid)


@pytest.mark.parametrize(("rows", "tolerance"), [(300, 1e-12), (60_000, 1e-3)])
def test_labelled_kernel_density__equals_the_exact_estimate(rows, tolerance):
    print(f"seed {SEED}")
    data = simulate.kernel_mixture(rows, 3, "gamma", random_state=SEED)
    values, label = data["X"].values[:, 0], data["label"].values
    points = simulate.error_grid(data, "view1")[::10]
    density = simulate.labelled_kernel_density(values, label, 3, points)
    for h in range(3):
        members = values[label == h]
        spread = min(members.std(ddof=1), stats.iqr(members) / 1.34)
        factor = 0.9 * spread * len(members) ** -0.2 / members.std(ddof=1)
        exact = stats.gaussian_kde(members, factor)(points)
        np.testing.assert_allclose(density[:, h], exact, rtol=0, atol=tolerance * exact.max())


def test_labelled_kernel_density__refuses_a_component_without_spread():
    with pytest.raises(DataError, match="component 1 has 1 rows"):
        simulate.labelled_kernel_density([0.0, 1.0, 2.0], [0, 0, 1], 2, [0.0])


# Cytometry ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def cells():
    print(f"seed {SEED}")
    return simulate.cytometry(150_000, random_state=SEED)


def test_cytometry__has_the_documented_variables(cells):
    assert cells["X"].shape == (150_000, 6)
    assert cells["X"].dtype == np.float32
    assert [str(name) for name in cells["feature"].values[:3]] == ["CD3", "CD4", "CD8"]
    assert len(set(cells["label"].attrs["categories"])) == cells.sizes["component"] == 8
    assert cells["sample_id"].attrs["categories"] == list(cells["specimen"].values)
    assert cells["label"].dtype == cells["sample_id"].dtype == np.int32
    np.testing.assert_array_equal(np.bincount(cells["sample_id"]), [37_500] * 4)
    assert np.all(np.diff(cells["sample_id"]) >= 0)
    assert simulate.cytometry(5, 40, markers=40)["feature"].values[-1] == "marker40"


def test_cytometry__sizes_follow_the_proportions_of_each_sample(cells):
    shares = cells["true_sample_weights"].values
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    np.testing.assert_allclose(cells["true_weights"], shares.mean(axis=0))
    weights = cells["true_weights"].values
    assert 0.3 < weights.max() < 0.6
    assert weights.min() < 0.02
    for s, share in enumerate(shares):
        counts = np.bincount(cells["label"].values[cells["sample_id"].values == s], minlength=8)
        common = share * 37_500 > 5
        observed, expected = counts[common], 37_500 * share[common]
        z = (observed - expected) / np.sqrt(expected * (1 - share[common]))
        assert np.all(np.abs(z) < 5)


def normal_scores(cells, h):
    """Undo the sinh-arcsinh transform of the cells of one population."""
    x = cells["X"].values[cells["label"].values == h].astype(float)
    location, scale, skew, tail = (
        cells[f"true_{name}"].values[h] for name in ("locations", "scales", "skews", "tails")
    )
    y = (x - location) / scale + np.sinh(skew / tail)
    return np.sinh(tail * np.arcsinh(y) - skew)


def test_cytometry__markers_are_independent_sinh_arcsinh_normals(cells):
    for h in range(8):
        scores = normal_scores(cells, h)
        assert all(stats.kstest(column, "norm").pvalue > 1e-5 for column in scores.T)
        correlation = np.corrcoef(scores.T)[np.triu_indices(6, 1)]
        assert np.all(np.abs(correlation) < 5 / np.sqrt(len(scores)))


def test_cytometry__populations_are_skewed_heavy_tailed_and_nearly_separate(cells):
    X, label = cells["X"].values, cells["label"].values
    members = [X[label == h] for h in range(8)]
    assert np.median([stats.kurtosis(rows) for rows in members]) > 0.5
    off = cells["true_locations"].values < 1
    skewness = np.array([stats.skew(rows) for rows in members])
    assert np.median(skewness[off]) > 0.3
    assert np.all(np.abs(np.quantile(X, [0.001, 0.999]) - [-1, 6.5]) < 1)
    joint = np.log(cells["true_weights"].values) + sum(
        np.log(simulate.cytometry_density(cells, str(name), X[:, j]))
        for j, name in enumerate(cells["feature"].values)
    )
    accuracy = np.mean(joint.argmax(axis=1) == label)
    assert 0.97 < accuracy < 1


def test_cytometry_density__is_the_law_of_the_rows(cells):
    points = np.linspace(-15, 25, 40_001)
    density = simulate.cytometry_density(cells, "CD8", points)
    assert density.shape == (40_001, 8)
    np.testing.assert_allclose(np.trapezoid(density, points, axis=0), 1, atol=1e-4)
    rows = cells["X"].values[cells["label"].values == 0, 2]
    cumulative = integrate.cumulative_trapezoid(density[:, 0], points, initial=0)
    assert stats.kstest(rows, lambda x: np.interp(x, points, cumulative)).pvalue > 1e-4
    median = np.interp(0.5, cumulative, points)
    assert median == pytest.approx(float(cells["true_locations"][0, 2]), abs=1e-3)


def test_cytometry__rows_depend_on_the_seed_and_their_index_alone():
    long = simulate.cytometry(140_000, samples=1, random_state=4)
    for rows in (1, 65_536, 100_001):
        short = simulate.cytometry(rows, samples=1, random_state=4)
        xr.testing.assert_identical(long.isel(sample=slice(rows)), short)
    other = simulate.cytometry(65_536, samples=1, random_state=5)
    assert not np.array_equal(other["true_locations"], long["true_locations"])
    # Blocks must not repeat one another.
    assert not np.array_equal(long["label"][:65_536], long["label"][65_536 : 2 * 65_536])


def test_blood__has_the_populations_of_blood(tmp_path):
    cells = simulate.blood(60_000, random_state=SEED)
    names, label = cells["label"].attrs["categories"], cells["label"].to_numpy()
    assert list(cells["sample_id"].attrs["categories"]) == [f"donor{n}" for n in (1, 2, 3, 4)]
    shares = np.bincount(label) / len(label)
    np.testing.assert_allclose(shares, cells["true_weights"], atol=0.01)
    medians = {
        name: cells["X"][label == number].median("sample").to_series()
        for number, name in enumerate(names)
    }
    positive = {name: {*row[row > 2.5].index} for name, row in medians.items()}
    assert positive["CD4 T cells"] == {"CD3", "CD4"}
    assert positive["CD8 T cells"] == {"CD3", "CD8"}
    assert positive["B cells"] == {"CD19", "HLA-DR"}
    assert positive["NK cells"] == {"CD16", "CD56"}
    assert positive["classical monocytes"] == {"CD14", "HLA-DR"}
    assert 0.3 < shares[names.index("CD4 T cells")] < 0.5
    simulate.write_blood(tmp_path / "blood.zarr", 1_000, random_state=SEED)
    with xr.open_zarr(tmp_path / "blood.zarr") as store:
        expected = simulate.blood(1_000, random_state=SEED)
        np.testing.assert_array_equal(store["X"], expected["X"])


def test_write_cytometry__stores_what_memory_holds(tmp_path):
    path, seen = tmp_path / "cells.zarr", []
    size = {"n_components": 5, "markers": 4, "samples": 3, "random_state": 9}
    simulate.write_cytometry(path, 140_000, **size, progress=lambda *done: seen.append(done))
    assert seen == [(65_536, 140_000), (131_072, 140_000), (140_000, 140_000)]
    assert [p.name for p in tmp_path.iterdir()] == ["cells.zarr"]
    expected = simulate.cytometry(140_000, **size)
    stored = read_back(path)
    assert_same_data(stored, expected)
    assert stored["sample_id"].attrs == expected["sample_id"].attrs


def test_write_cytometry__replaces_a_store_on_request_only(tmp_path):
    path = tmp_path / "cells.zarr"
    simulate.write_cytometry(path, 50)
    with pytest.raises(OutputError, match="exists already"):
        simulate.write_cytometry(path, 60)
    assert read_back(path).sizes["sample"] == 50
    simulate.write_cytometry(path, 60, overwrite=True)
    assert read_back(path).sizes["sample"] == 60


def test_write_cytometry__leaves_nothing_behind_when_interrupted(tmp_path):
    def interrupt(done, rows):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        simulate.write_cytometry(tmp_path / "cells.zarr", 100, progress=interrupt)
    assert list(tmp_path.iterdir()) == []


def test_write__refuses_before_the_first_row_what_the_disk_cannot_hold(tmp_path):
    def row(done, rows):
        raise AssertionError("a row was made")

    needed = {
        simulate.write_cytometry: (24, {"markers": 6}),
        simulate.write_kernel_mixture: (24, {"n_components": 3}),
        simulate.write_correlated_cells: (32, {"markers": 8}),
    }
    for write, (row_nbytes, options) in needed.items():
        size = f"{10**15 * row_nbytes:,}"
        with pytest.raises(OutputError, match=rf"needs at least {size} bytes, .* bytes free; "):
            write(tmp_path / "cells.zarr", 10**15, progress=row, **options)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rows": 0}, "rows must be an integer of at least 1"),
        ({"markers": 2.5}, "markers must be an integer"),
        ({"samples": 0}, "samples must be an integer"),
        ({"random_state": 0.5}, "random_state is 0.5"),
        ({"n_components": 9, "markers": 3}, "3 markers .* at most 8 populations"),
    ],
)
def test_cytometry__names_the_parameter_that_is_wrong(change, message):
    with pytest.raises(ParameterError, match=message):
        simulate.cytometry(**({"rows": 10} | change))


# Correlated cells -----------------------------------------------------------------------------


def test_correlated_cells__rows_follow_the_stated_truth():
    data = simulate.correlated_cells(200_000, outliers=50, random_state=SEED)
    label, X = data["label"].values, data["X"].values.astype(np.float64)
    means, covariances = data["true_means"].values, data["true_covariances"].values
    np.testing.assert_allclose(data["true_weights"].values[[0, -1]], [0.4, 0.0005])
    assert np.isclose(distance.pdist(means).min(), 3)
    for h in range(3):
        rows = X[label == h]
        assert np.all(np.abs(rows.mean(axis=0) - means[h]) < 5 / np.sqrt(len(rows)))
        assert np.abs(np.cov(rows.T) - covariances[h]).max() < 10 / np.sqrt(len(rows))
    off_diagonal = np.abs(covariances[:, *np.triu_indices(8, 1)])
    assert 0.3 <= off_diagonal.min() < off_diagonal.max() <= 0.7


def test_correlated_cells__outliers_lie_at_their_distance():
    data = simulate.correlated_cells(70_000, outliers=40, outlier_distance=20, random_state=SEED)
    outlying = data["X"].values[data["label"].values < 0]
    assert len(outlying) == 40
    distances = distance.cdist(outlying, data["true_means"].values)
    assert np.allclose(np.abs(distances - 20).min(axis=1), 0, atol=1e-4)


def test_write_correlated_cells__stores_what_memory_holds(tmp_path):
    simulate.write_correlated_cells(tmp_path / "cells.zarr", 3000, outliers=3, random_state=1)
    expected = simulate.correlated_cells(3000, outliers=3, random_state=1)
    assert_same_data(read_back(tmp_path / "cells.zarr"), expected)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rows": 0}, "rows"),
        ({"shares": (1.0, 0.0)}, "shares"),
        ({"markers": 1}, "markers"),
        ({"outliers": 11}, "outliers=11"),
        ({"separation": 0.0}, "separation"),
    ],
)
def test_correlated_cells__names_the_parameter_that_is_wrong(change, message):
    with pytest.raises(ParameterError, match=message):
        simulate.correlated_cells(**{"rows": 10, **change})

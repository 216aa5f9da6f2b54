import numpy as np
import pytest
import xarray as xr
from scipy import stats

from bigtensor import KernelMixture, simulate
from bigtensor.models.kernel_mixture.report.feature_profiles import (
    FeatureProfile,
    feature_profiles,
    overlaps,
    standardised_means,
)


def normal_profile(feature, view, means, sds):
    means, sds = np.asarray(means, float), np.asarray(sds, float)
    points = np.linspace((means - 7 * sds).min(), (means + 7 * sds).max(), 2001)
    density = stats.norm.pdf(points[:, None], means, sds)
    return FeatureProfile(feature, view, points, density, means, sds)


def matched(model, data):
    """Return the true component of every fitted one, by the nearest mean vector."""
    fitted = np.stack([profile.mean for profile in feature_profiles(model)])
    truth = data["true_means"].transpose("component", "feature").to_numpy()
    distance = ((fitted.T[:, None] - truth) ** 2).sum(axis=2)
    order = distance.argmin(axis=1)
    assert sorted(order) == list(range(len(order)))
    return order


@pytest.mark.parametrize("kind", ["fitted_mixture", "wide_mixture"])
def test_feature_profiles__are_those_of_the_truth(kind, request, mixture_data):
    model = request.getfixturevalue(kind)
    order = matched(model, mixture_data)
    profiles = feature_profiles(model)
    assert [profile.feature for profile in profiles] == list(mixture_data["feature"].values)
    for profile in profiles:
        truth = simulate.kernel_mixture_density(mixture_data, profile.feature, profile.points)
        step = profile.points[1] - profile.points[0]
        # distance in total variation of every component, and its mass
        assert np.all(np.abs(profile.density - truth[:, order]).sum(axis=0) * step / 2 < 0.12)
        assert profile.density.sum(axis=0) * step == pytest.approx(1.0, abs=0.02)
        one = mixture_data.sel(feature=profile.feature)
        spread = one["true_sds"].to_numpy()[order]
        assert np.all(np.abs(profile.mean - one["true_means"].to_numpy()[order]) < 0.15 * spread)
        assert profile.sd == pytest.approx(spread, rel=0.15)


def test_feature_profiles__keep_their_digits_far_from_zero(mixture_data):
    near = feature_profiles(KernelMixture(3, random_state=0).fit(mixture_data))
    moved = mixture_data.assign(X=mixture_data["X"].astype("float64") + 1e6)
    far = feature_profiles(KernelMixture(3, random_state=0).fit(moved))
    for here, there in zip(near, far, strict=True):
        assert there.mean - 1e6 == pytest.approx(here.mean, abs=0.02)
        assert there.sd == pytest.approx(here.sd, rel=0.02)


def test_standardised_means__follow_the_law_of_total_variance():
    profile = normal_profile("a", "a", [0.0, 4.0], [1.0, 2.0])
    # variance: 1/4 * 1 + 3/4 * 4 within, 1/4 * 9 + 3/4 * 1 between
    expected = np.array([[-3.0, 1.0]]) / np.sqrt(6.25)
    assert standardised_means((profile,), np.array([0.25, 0.75])) == pytest.approx(expected)


def affinity(distance, s, t):
    """Return the affinity of two normal distributions."""
    return np.sqrt(2 * s * t / (s**2 + t**2)) * np.exp(-(distance**2) / (4 * (s**2 + t**2)))


def true_affinities(data, order, features):
    """Return the affinities of the true components in some features, in the order of the model."""
    means = data["true_means"].transpose("component", "feature").to_numpy()[order][:, features]
    sds = data["true_sds"].transpose("component", "feature").to_numpy()[order][:, features]
    return affinity(means[:, None] - means, sds[:, None], sds).prod(axis=2)


@pytest.mark.parametrize("kind", ["fitted_mixture", "wide_mixture"])
def test_overlaps__are_the_closed_form_of_normal_distributions(kind, request, mixture_data):
    model = request.getfixturevalue(kind)
    found = overlaps(model, feature_profiles(model))
    expected = true_affinities(mixture_data, matched(model, mixture_data), [0, 1, 2, 3])
    np.testing.assert_allclose(found, found.T)
    np.testing.assert_array_equal(np.diag(found), 1.0)
    np.testing.assert_allclose(found, expected, atol=0.05)


def test_overlaps__see_how_close_components_are():
    near = simulate.kernel_mixture(20_000, 2, separation=1.5, random_state=5)
    model = KernelMixture(2, random_state=0).fit(near)
    found = overlaps(model, feature_profiles(model))[0, 1]
    expected = true_affinities(near, [0, 1], list(range(near.sizes["feature"])))[0, 1]
    assert expected > 0.02
    assert found == pytest.approx(expected, abs=0.1)


def test_feature_profiles__draw_categories_as_boxes(mixture_data):
    rng = np.random.default_rng(1)
    label = mixture_data["label"].to_numpy()
    codes = np.where(rng.random(len(label)) < 0.8, 10 * label, 10 * rng.integers(0, 4, len(label)))
    names = [*mixture_data["feature"].to_numpy(), "code"]
    values = np.column_stack([mixture_data["X"].to_numpy(), codes]).astype("float32")
    data = xr.DataArray(values, {"feature": names}, ("sample", "feature"))
    model = KernelMixture(3, kernel={"code": "delta"}, random_state=0).fit(data)
    profile = feature_profiles(model)[-1]
    assert profile.categorical
    mass = np.trapezoid(profile.density, profile.points, axis=0)
    assert mass == pytest.approx(1.0, abs=0.02)
    fitted = np.asarray(model.predict(data))
    for code in (0, 10, 20, 30):
        inside = np.abs(profile.points - code) < 4.1
        found = np.trapezoid(profile.density[inside], profile.points[inside], axis=0)
        expected = [np.mean(codes[fitted == h] == code) for h in range(3)]
        assert found == pytest.approx(expected, abs=0.02)
    assert profile.points[[0, -1]] == pytest.approx([-8, 38])


def test_overlaps__of_wide_views_are_those_of_all_pairs_at_once(wide_mixture):
    profiles = feature_profiles(wide_mixture)
    found = overlaps(wide_mixture, profiles)
    first, second = np.triu_indices(3)

    def ratios(rows):
        density = np.asarray(wide_mixture.component_density("both", rows), float)
        root = np.sqrt(density / (density @ wide_mixture.weights_)[:, None])
        return root[:, first] * root[:, second]

    mean = wide_mixture.weights_ @ wide_mixture.expectation("both", ratios)
    wide = np.zeros((3, 3))
    wide[first, second] = wide[second, first] = mean
    wide /= np.sqrt(np.outer(np.diag(wide), np.diag(wide)))
    narrow = [np.sqrt(p.density) for p in profiles[2:]]
    grams = [root.T @ root for root in narrow]
    for gram in grams:
        wide *= gram / np.sqrt(np.outer(np.diag(gram), np.diag(gram)))
    np.testing.assert_allclose(found, wide, rtol=1e-6, atol=1e-12)

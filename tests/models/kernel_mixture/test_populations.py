"""Components merged into populations: two levels of answers, and a tree that is cut anywhere."""

import itertools

import dask.array as da
import numpy as np
import pytest
import xarray as xr
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import NotFittedError
from sklearn.metrics import adjusted_rand_score

import bigtensor
from bigtensor import KernelMixture, SpectralOptions, simulate
from bigtensor.errors import NoPopulationsError, ParameterError
from tests.models.kernel_mixture.parameters import mixture_parameters
from tests.parameters import first_quick

SETTINGS = {
    "spectral": SpectralOptions(bins=512),
    "init": "kmeans",
    "pilot_rows": 2000,
    "random_state": 0,
}
CRITERIA = ("misclassification", "mean_misclassification", "overlap")


def stripes(seed: int, rows: int = 4000) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of three long, tilted populations, which no product of views is like."""
    rng = np.random.default_rng(seed)
    label = rng.choice(3, size=rows, p=[0.5, 0.3, 0.2])
    along = rng.uniform(-4, 4, rows)
    centres = np.array([[0, 0, 0], [0, 7, 0], [0, 3, 8]])[label]
    tilted = np.stack([along, np.array([1, 1, -1])[label] * along, np.zeros(rows)], axis=1)
    return centres + tilted + 0.5 * rng.normal(size=(rows, 3)), label


@pytest.fixture(scope="module")
def striped() -> tuple[xr.DataArray, np.ndarray]:
    values, label = stripes(0)
    names = ["CD3", "CD4", "CD8"]
    data = xr.DataArray(values, dims=("cell", "feature"), coords={"feature": names}, name="X")
    return data, label


@pytest.fixture(scope="module")
def merged(striped) -> KernelMixture:
    return KernelMixture(12, n_populations=3, sample_dim="cell", **SETTINGS).fit(striped[0])


@pytest.fixture
def fresh(merged, tmp_path) -> KernelMixture:
    """A copy whose tree a test may cut."""
    return bigtensor.load(merged.save(tmp_path / "merged.zarr"))


# three components do not settle on populations that are no products
@pytest.mark.filterwarnings("ignore::bigtensor.errors.RefinementWarning")
@pytest.mark.parametrize("merging", first_quick(CRITERIA))
@pytest.mark.slow  # populations that are products are quick
def test_populations__that_are_no_products_need_more_components(merging):
    """Agreement: adjusted Rand index with the simulated populations."""
    for seed in range(3):
        values, label = stripes(seed)
        model = KernelMixture(12, n_populations=3, merging=merging, **SETTINGS).fit(values)
        plain = KernelMixture(3, **SETTINGS).fit(values)
        assert adjusted_rand_score(label, model.predict(values)) > 0.98
        assert adjusted_rand_score(label, plain.predict(values)) < 0.6
        share = np.sort(np.bincount(label) / len(label))[::-1]
        assert_allclose(model.population_weights_, share, atol=0.02)


@pytest.mark.parametrize("seed", first_quick(range(3)))
def test_auto__counts_simulated_populations(seed):
    cells = simulate.cytometry(6000, 6, samples=1, random_state=seed)
    settings = SETTINGS | {"pilot_rows": 6000}
    model = KernelMixture(18, n_populations="auto", **settings).fit(cells)
    assert len(model.population_weights_) == 6
    assert model.diagnostics_["n_populations"] == 6
    assert adjusted_rand_score(cells["label"], model.predict(cells)) > 0.95


def test_weights__of_populations_are_sums_over_components(merged):
    weights, of_component = merged.population_weights_, merged.population_of_component_
    assert weights.shape == (3,)
    assert of_component.shape == merged.weights_.shape == (12,)
    assert_array_equal(np.unique(of_component), [0, 1, 2])
    assert_allclose(weights.sum(), 1.0, rtol=1e-12)
    assert np.all(np.diff(weights) <= 0)
    sums = np.bincount(of_component, merged.weights_)
    # those of components have a floor
    assert_allclose(weights, sums, rtol=1e-6)
    assert merged.diagnostics_["n_populations"] == 3
    assert merged.merge_tree_.n_components == 12
    assert_allclose(merged.merge_tree_.weights, merged.weights_, rtol=1e-6)


def tempered(probability: np.ndarray, model: KernelMixture) -> np.ndarray:
    """Return probabilities as populations have them."""
    broad = probability ** (1 / model.diagnostics_["probability_temperature"])
    return broad / broad.sum(axis=1, keepdims=True)


def test_levels__of_labels_and_probabilities(merged, striped):
    data = striped[0]
    of_component = merged.predict_proba(data, level="component")
    of_population = merged.predict_proba(data)
    assert of_component.dims == ("cell", "component")
    assert of_population.dims == ("cell", "population")
    assert_array_equal(of_population, merged.predict_proba(data, level="population"))
    members = merged.population_of_component_ == np.arange(3)[:, None]
    expected = tempered(of_component.to_numpy() @ members.T, merged)
    assert_allclose(of_population, expected, atol=2e-6)
    assert_allclose(of_population.sum("population"), 1.0, atol=1e-6)
    assert_array_equal(of_population.argmax("population"), merged.predict(data))
    assert_array_equal(merged.predict(data), merged.predict(data, level="population"))
    components = merged.predict(data, level="component")
    assert_array_equal(of_component.argmax("component"), components)
    assert components.dtype == merged.predict(data).dtype == np.int32
    assert components.dims == ("cell",)
    # the most probable component is mostly one of the most probable population
    agreement = merged.population_of_component_[components] == merged.predict(data)
    assert 0.98 < agreement.mean() <= 1


def test_score_samples__do_not_depend_on_the_populations(merged, striped):
    data = striped[0]
    settings = mixture_parameters(SETTINGS, max_iter=2, posterior_width=1.0)
    # for components alone features are compared by their spread
    units = merged.diagnostics_["units"]
    plain = KernelMixture(12, sample_dim="cell", units=units, **settings).fit(data)
    assert_allclose(plain.weights_, merged.weights_, rtol=1e-12)
    assert_allclose(plain.score_samples(data), merged.score_samples(data), rtol=1e-12)
    assert_array_equal(plain.predict(data), merged.predict(data, level="component"))


@pytest.mark.parametrize("kind", ["xarray", "dask"])
def test_lazy_data__have_lazy_answers(merged, striped, kind):
    data = striped[0]
    lazy = data.chunk(cell=900)
    given = lazy if kind == "xarray" else lazy.data
    model = merged
    if kind == "dask":
        model = KernelMixture(12, n_populations=3, **SETTINGS).fit(data.to_numpy())
    for level, size in (("population", 3), ("component", 12)):
        found = model.predict_proba(given, level=level)
        array = found.data if kind == "xarray" else found
        assert isinstance(array, da.Array)
        assert found.shape == (4000, size)
        if kind == "xarray":
            assert found.dims == ("cell", level)
        expected = merged.predict_proba(data, level=level)
        assert_allclose(np.asarray(found), expected, atol=1e-6)
        label = model.predict(given, level=level)
        assert isinstance(label.data if kind == "xarray" else label, da.Array)
        assert_array_equal(label, merged.predict(data, level=level))


def test_write__both_levels_to_a_store(merged, striped, tmp_path):
    outputs = ("label", "component_label", "probability", "component_probability", "log_density")
    data = striped[0]
    path = merged.write(data, tmp_path / "answers.zarr", outputs=outputs)
    stored = xr.open_zarr(path)
    assert set(outputs) == set(stored)
    expected = {
        "label": merged.predict(data),
        "component_label": merged.predict(data, level="component"),
        "probability": merged.predict_proba(data),
        "component_probability": merged.predict_proba(data, level="component"),
        "log_density": merged.score_samples(data),
    }
    for name, values in expected.items():
        assert stored[name].dims == values.dims
        assert stored[name].dtype == values.dtype
        assert_array_equal(stored[name], values)


@pytest.mark.parametrize("count", [1, 2, 5, 12, np.int64(3)])
@pytest.mark.quick_cases("1", "12")
def test_cut_populations__elsewhere(fresh, striped, count):
    data = striped[0]
    scores = fresh.score_samples(data)
    assert fresh.cut_populations(count) is fresh
    assert fresh.population_weights_.shape == (count,)
    assert_array_equal(fresh.population_of_component_, fresh.merge_tree_.cut(int(count)))
    probability = fresh.predict_proba(data)
    assert probability.sizes["population"] == count
    assert_allclose(probability.sum("population"), 1.0, atol=1e-6)
    assert_array_equal(fresh.predict(data), probability.argmax("population"))
    assert_array_equal(fresh.score_samples(data), scores)
    if count == 12:
        order = fresh.population_of_component_
        components = fresh.predict_proba(data, level="component").to_numpy()
        expected = tempered(components, fresh)
        assert_allclose(probability.to_numpy()[:, order], expected, atol=2e-6)


def test_cut_populations__is_what_a_fit_with_as_many_gives(fresh, striped):
    for count in (2, 5):
        other = KernelMixture(12, n_populations=count, sample_dim="cell", **SETTINGS)
        other.fit(striped[0])
        fresh.cut_populations(count)
        assert_array_equal(fresh.population_weights_, other.population_weights_)
        assert_array_equal(fresh.predict(striped[0]), other.predict(striped[0]))
    fresh.cut_populations("auto")
    assert len(fresh.population_weights_) == fresh.merge_tree_.cut_automatically()


def test_cut_populations__are_nested(fresh):
    cuts = [fresh.cut_populations(count).population_of_component_ for count in range(1, 13)]
    for coarse, fine in itertools.pairwise(cuts):
        # every finer population lies in one coarser one
        assert len(np.unique(np.stack([coarse, fine]), axis=1).T) == fine.max() + 1


def test_saved_model__answers_bit_for_bit(merged, striped, tmp_path):
    data = striped[0]
    loaded = bigtensor.load(merged.save(tmp_path / "model.zarr"))
    assert loaded.get_params() == merged.get_params()
    for level in ("population", "component"):
        for answer in ("predict", "predict_proba"):
            expected = getattr(merged, answer)(data, level=level)
            assert_array_equal(getattr(loaded, answer)(data, level=level), expected)
    for name in ("population_of_component_", "population_weights_"):
        assert_array_equal(getattr(loaded, name), getattr(merged, name))
    assert_array_equal(loaded.merge_tree_.heights, merged.merge_tree_.heights)
    assert_array_equal(loaded.merge_tree_.merges, merged.merge_tree_.merges)
    loaded.cut_populations(5)
    again = bigtensor.load(loaded.save(tmp_path / "cut.zarr"))
    assert again.population_weights_.shape == (5,)
    assert_array_equal(again.predict(data), loaded.predict(data))
    assert again._repr_html_()


def test_rows_left_out__have_no_population(striped):
    values = striped[0].to_numpy().copy()
    values[17, 1] = np.nan
    model = KernelMixture(12, n_populations=3, missing="omit", **SETTINGS)
    with pytest.warns(UserWarning, match="1 of 4,000 rows"):
        model.fit(values)
    for level in ("population", "component"):
        with pytest.warns(UserWarning, match="1 of 4,000 rows"):
            label = model.predict(values, level=level)
        assert label[17] == -1
        assert label.min() == -1
        assert (label == -1).sum() == 1


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_populations": 13}, "n_populations is 13; .* from 1 to 12"),
        ({"n_populations": 0}, "n_populations is 0; .* 1, or 'auto'"),
        ({"n_populations": "three"}, "n_populations is 'three'; .* integer"),
        ({"n_populations": 2.0}, r"n_populations is 2\.0; .* integer"),
        ({"merging": "Ward"}, "merging is 'Ward'; .* levels"),
        ({"merging": None, "n_populations": 2}, "merging is None, but n_populations is 2"),
    ],
)
def test_parameters__out_of_range_are_named(striped, parameters, message):
    with pytest.raises(ParameterError, match=message):
        KernelMixture(12, **parameters).fit(striped[0].to_numpy())


@pytest.mark.parametrize("count", [0, 13, 2.0, "many", None])
def test_cut_populations__refuses_other_counts(fresh, count):
    before = fresh.population_weights_
    with pytest.raises(ParameterError, match=f"n_populations is {count!r}; .* integer from"):
        fresh.cut_populations(count)
    assert_array_equal(fresh.population_weights_, before)


def test_model_without_populations__says_how_to_get_them(model, data):
    asks = [
        lambda: model.predict(data, level="population"),
        lambda: model.predict_proba(data, level="population"),
        lambda: model.cut_populations(2),
        lambda: model.merge_tree_,
        lambda: model.population_weights_,
        lambda: model.population_of_component_,
    ]
    for ask in asks:
        with pytest.raises(NoPopulationsError, match=r"no populations; .* n_populations"):
            ask()
    assert_array_equal(model.predict(data, level="component"), model.predict(data))
    assert_array_equal(model.predict_proba(data, level="component"), model.predict_proba(data))
    assert model.predict_proba(data, level="component").dims == ("sample", "component")
    # what asks whether a model has populations gets an answer
    assert not hasattr(model, "population_weights_")


def test_level__that_does_not_exist(merged, striped):
    with pytest.raises(ParameterError, match=r"level is 'cluster'; .* population, "):
        merged.predict(striped[0], level="cluster")
    with pytest.raises(ParameterError, match=r"label, .*component_probability, .*not population"):
        merged.write(striped[0], "nowhere.zarr", outputs=("population",))


def test_unfitted_model__has_no_populations():
    model = KernelMixture(4, n_populations=2)
    with pytest.raises(NotFittedError):
        model.cut_populations(2)
    with pytest.raises(NotFittedError):
        model.predict(np.ones((3, 3)), level="component")

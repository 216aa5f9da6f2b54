"""A model without parameters: populations where the data need them, the scale of an import."""

import numpy as np
import pytest
import xarray as xr
from click.testing import CliRunner
from numpy.testing import assert_array_equal
from sklearn.datasets import load_wine, make_blobs, make_circles, make_moons
from sklearn.metrics import adjusted_rand_score

import bigtensor
from bigtensor import KernelMixture, SpectralOptions, simulate
from bigtensor.cli import main
from bigtensor.data.stores.layout import SampleStoreWriter
from bigtensor.models.kernel_mixture import settings as resolved
from tests.parameters import first_quick

QUICK = {"spectral": SpectralOptions(bins=256), "pilot_rows": 4000, "random_state": 0}
MARKERS = [f"CD{number}" for number in (3, 4, 8, 19, 45, 56, 14, 16)]
FEATURES = ["FSC-A", *MARKERS, "Time"]
ARCSINH = {"name": "arcsinh", "cofactor": 150, "untransformed": ["FSC-A", "Time"]}


@pytest.fixture(scope="module")
def cells() -> xr.Dataset:
    return simulate.correlated_cells(6000, [4, 3, 2, 1], random_state=1)


def write(path, values, features=FEATURES, **attrs):
    with SampleStoreWriter(path, features, attrs=attrs) as store:
        store.append(values)
    return str(path)


@pytest.fixture(scope="module")
def values(cells) -> np.ndarray:
    random = np.random.default_rng(0)
    scatter = random.uniform(2e4, 2e5, 6000)
    return np.column_stack([scatter, cells["X"].to_numpy(), np.arange(6000.0)]).astype("f4")


@pytest.fixture(scope="module")
def store(values, tmp_path_factory) -> str:
    return write(tmp_path_factory.mktemp("first") / "cells.zarr", values, transform=ARCSINH)


@pytest.fixture(scope="module")
def fitted(store) -> KernelMixture:
    return KernelMixture(**QUICK).fit(store)


def notes_of(model, word):
    return [note for note in model.diagnostics_["notes"] if word in note]


@pytest.mark.parametrize("rows", first_quick([20, 400, 30, 150, 1_000], 2))
@pytest.mark.parametrize("features", [2, 3])
def test_small_tables__of_two_features_and_more_are_clustered(rows, features):
    centres = 8.0 * np.array([[0, 0, 0], [1, 1, 1], [2, 2, 2]])[:, :features]
    X, label = make_blobs(rows, centers=centres, random_state=2)
    model = KernelMixture(random_state=0).fit(X)
    assert adjusted_rand_score(label, model.predict(X)) > 0.95


@pytest.mark.parametrize(
    ("rows", "features"),
    first_quick(
        [(150, 4), (12_000, 3), (150, 3), (12_000, 4), (400, 3), (400, 4), (1_000, 3), (1_000, 4)],
        2,
    ),
)
@pytest.mark.quick_cases("150-4")
def test_groups_that_are_high_in_one_feature_each__are_found(rows, features):
    # every view has two densities: moments alone determine two components
    X, label = make_blobs(rows, centers=8.0 * np.eye(features), random_state=1)
    for model in (KernelMixture(random_state=0), KernelMixture(features, random_state=0)):
        assert adjusted_rand_score(label, model.fit(X).predict(X)) > 0.99


@pytest.mark.parametrize(
    ("X", "label"),
    [
        make_moons(1_000, noise=0.05, random_state=0),
        # features are uncorrelated within circles
        make_circles(1_500, noise=0.05, factor=0.5, random_state=0),
    ],
    ids=["moons", "circles"],
)
@pytest.mark.quick_cases("moons")
def test_two_features_that_depend_on_each_other__have_populations(X, label):
    model = KernelMixture(random_state=0).fit(X)
    assert len(model.population_weights_) == len(np.unique(label))
    assert adjusted_rand_score(label, model.predict(X)) > 0.95
    assert notes_of(model, "n_populations")


@pytest.mark.parametrize("n_components", ["auto", 3])
def test_two_features__keep_components_of_unequal_spreads(n_components):
    X, label = make_blobs(1_500, cluster_std=[1.0, 2.5, 0.5], random_state=170)
    model = KernelMixture(n_components, random_state=0).fit(X)
    assert len(model.weights_) == 3
    assert adjusted_rand_score(label, model.predict(X)) > 0.9


@pytest.mark.parametrize("seed", first_quick(range(2)))
def test_independent_features__have_components_and_no_populations(seed):
    data = simulate.kernel_mixture(6000, 3, random_state=seed)
    model = KernelMixture(**QUICK).fit(data)
    assert not hasattr(model, "population_weights_")
    assert len(model.weights_) == 3
    assert not notes_of(model, "n_populations")


@pytest.mark.slow
def test_dependent_features__have_populations_and_a_note(cells):
    model = KernelMixture(**QUICK).fit(cells)
    assert 3 <= len(model.population_weights_) <= 5
    assert len(model.weights_) == 6000 // 50
    (note,) = notes_of(model, "n_populations")
    assert f"{len(model.weights_)} components" in note
    assert "n_components" in note
    # what was chosen can be asked for
    asked = KernelMixture(n_populations="auto", **QUICK).fit(cells)
    assert not notes_of(asked, "n_populations")
    assert_array_equal(asked.predict(cells), model.predict(cells))


@pytest.mark.parametrize("kind", ["path", pytest.param("xarray", marks=pytest.mark.slow)])
def test_import__features_off_the_scale_are_left_out(store, fitted, kind):
    data = store if kind == "path" else xr.open_zarr(store).load()
    model = fitted if kind == "path" else KernelMixture(**QUICK).fit(data)
    assert list(model.views_.names) == MARKERS
    assert model.diagnostics_["units"] == "common"
    (note,) = notes_of(model, "FSC-A, Time are left out")
    assert "views" in note
    (note,) = notes_of(model, "units='own'")
    assert_array_equal(model.predict(data), fitted.predict(store))


def test_import__the_model_answers_for_the_store(store, fitted, cells, tmp_path):
    labels = fitted.predict(store)
    assert labels.shape == (6000,)
    loaded = bigtensor.load(fitted.save(tmp_path / "model.zarr"))
    assert_array_equal(loaded.predict(store), labels)
    assert_array_equal(loaded.predict(xr.open_zarr(store)), labels)
    assert list(loaded.views_.names) == MARKERS
    # as from the features on the scale alone, compared as they are
    renamed = cells[["X"]].assign_coords(feature=MARKERS)
    alone = KernelMixture(units="common", **QUICK).fit(renamed)
    assert_array_equal(alone.predict(renamed), labels)


@pytest.mark.slow  # explicit views are quick
def test_explicit_units__win(store):
    model = KernelMixture(units="own", n_populations=3, **QUICK).fit(store)
    assert model.diagnostics_["units"] == "own"
    assert list(model.views_.names) == MARKERS
    assert not notes_of(model, "units=")


@pytest.mark.parametrize(
    ("members", "units"), [(["FSC-A", "CD3", "CD4"], "own"), (["CD3", "CD4", "CD8"], "common")]
)
@pytest.mark.quick_cases("members1-common")
def test_explicit_views__win(store, members, units):
    views = {name: [name] for name in members}
    model = KernelMixture(views=views, n_populations=3, **QUICK).fit(store)
    assert list(model.views_.names) == members
    assert model.diagnostics_["units"] == units
    assert not notes_of(model, "left out")


@pytest.mark.parametrize("transform", [None, {"name": "none", "untransformed": FEATURES}])
@pytest.mark.quick_cases("None")
def test_without_a_scale__all_features_are_used_and_the_sample_chooses_units(
    values, tmp_path, transform
):
    attrs = {} if transform is None else {"transform": transform}
    path = write(tmp_path / "plain.zarr", values[:2000], **attrs)
    model = KernelMixture(n_populations=3, **QUICK).fit(path)
    assert "'Time' may be" in model.diagnostics_["verdict"]["sentences"][-1]
    assert list(model.views_.names) == FEATURES
    likelihood = model.diagnostics_["units_likelihood"]
    gain = likelihood["common"] - likelihood["own"]
    common = gain > likelihood["standard_error"]
    assert model.diagnostics_["units"] == ("common" if common else "own")
    (note,) = model.diagnostics_["notes"]
    assert "held-out rows" in note


@pytest.mark.slow  # the model of the same store is quick
def test_fit_command__prints_the_notes(store, tmp_path):
    out = tmp_path / "model.zarr"
    result = CliRunner().invoke(main, ["fit", store, "-k", "auto", "--out", str(out)])
    assert result.exit_code == 0, result.stderr
    model = bigtensor.load(out)
    assert len(model.diagnostics_["notes"]) == 3
    lines = [line for line in result.stdout.splitlines() if line.startswith("note ")]
    assert len(lines) == 3
    text = "\n".join(lines)
    assert "The features FSC-A, Time are left out" in text
    assert "put them on one scale" in text
    assert "components are merged into populations" in text
    # options in place of parameters
    assert "--populations" in text
    assert "n_populations" not in text
    count = len(model.population_weights_)
    assert f"({count} populations) in {len(MARKERS)} views" in result.stdout


@pytest.fixture
def two_sizes(monkeypatch):
    """Draw fewer rows for components than for populations, as from large data."""
    monkeypatch.setattr(resolved, "PILOT_ROWS", 800)
    monkeypatch.setattr(resolved, "PILOT_ROWS_OF_POPULATIONS", 1500)
    return {"spectral": SpectralOptions(bins=128), "random_state": 0}


@pytest.mark.slow
def test_number_of_populations__is_a_cut_of_the_automatic_fit(cells, two_sizes, tmp_path):
    few = cells.isel(sample=slice(None, None, 3))
    checkpoint = {"checkpoint": tmp_path / "parts", "scheduler": "threads"}
    automatic = KernelMixture(**two_sizes).fit(few, **checkpoint)
    asked = KernelMixture(n_populations=6, **two_sizes).fit(few, **checkpoint)
    assert len(automatic.population_weights_) != 6
    automatic.cut_populations(6)
    assert_array_equal(asked.predict_proba(few), automatic.predict_proba(few))
    # the checkpoint has every pass: no row is read again
    assert len(asked.diagnostics_["passes"]) > 2
    for entry in asked.diagnostics_["passes"]:
        assert (entry["name"], entry["reused_parts"]) == (entry["name"], entry["parts"])


def test_number_of_components__comes_from_the_smaller_sample(two_sizes):
    data = simulate.kernel_mixture(3000, 3, random_state=0)
    model = KernelMixture(**two_sizes).fit(data)
    assert not hasattr(model, "population_weights_")
    assert model.diagnostics_["sample_rows"] <= 800
    smaller = KernelMixture(pilot_rows=800, **two_sizes).fit(data)
    assert_array_equal(model.predict_proba(data), smaller.predict_proba(data))


@pytest.mark.parametrize("copied", first_quick([3.0, 0.3, 1.0], 2))
@pytest.mark.slow  # a law of weights is quick
def test_copies_of_rows__are_no_reason_for_more_components(copied):
    X, label = load_wine(return_X_y=True)
    times = np.full(len(X), int(copied))
    times[np.random.default_rng(0).permutation(len(X))[: round(copied % 1 * len(X))]] += 1
    model = KernelMixture(random_state=0).fit(np.vstack([X, np.repeat(X, times, axis=0)]))
    assert len(model.weights_) == 3
    assert adjusted_rand_score(label, model.predict(X)) > 0.8

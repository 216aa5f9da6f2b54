"""AnnData objects in memory: annotated with a model, and the model taken out again."""

import json
import warnings

import anndata
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import bigtensor
from bigtensor import (
    ICA,
    HiddenMarkovModel,
    KernelMixture,
    SpectralOptions,
    TensorTrainDensity,
    TripleHistogramClassifier,
    simulate,
)
from bigtensor.errors import ModelFileError, OutputError, ParameterError, ViewError

SMALL = {
    "spectral": SpectralOptions(n_landmarks=40, bins=512),
    "pilot_rows": 2000,
    "random_state": 0,
}


@pytest.fixture(scope="module")
def data():
    return simulate.kernel_mixture(3000, 3, random_state=1)


@pytest.fixture(scope="module")
def model(data):
    return KernelMixture(3, **SMALL).fit(data)


@pytest.fixture
def cells(data):
    """Return the rows as AnnData, with features in another order and one more between them."""
    values = data["X"].to_numpy()
    columns = {"view3": values[:, 2], "more": values[:, 0], "view1": values[:, 0]}
    frame = pd.DataFrame(columns | {"view2": values[:, 1]})
    frame.index = [f"cell{i}" for i in range(len(frame))]
    return anndata.AnnData(frame)


def test_annotate__writes_the_answers_of_the_model(cells, data, model):
    before = cells.X.copy()
    bigtensor.annotate(cells, model)
    label = cells.obs["bigtensor_label"]
    assert isinstance(label.dtype, pd.CategoricalDtype)
    assert list(label.cat.categories) == ["0", "1", "2"]
    np.testing.assert_array_equal(label.cat.codes, model.predict(data))
    assert cells.obsm["X_bigtensor_proba"].dtype == np.float32
    np.testing.assert_array_equal(cells.obsm["X_bigtensor_proba"], model.predict_proba(data))
    assert cells.var["bigtensor_used"].tolist() == [True, False, True, True]
    np.testing.assert_array_equal(cells.X, before)
    confidence = cells.obsm["X_bigtensor_proba"].max(axis=1)
    np.testing.assert_array_equal(cells.obs["bigtensor_confidence"], confidence)
    np.testing.assert_allclose(
        cells.obs["bigtensor_log_density"], model.score_samples(data), rtol=1e-4, atol=1e-4
    )
    colours = cells.uns["bigtensor_label_colors"]
    assert len(colours) == len(label.cat.categories) == len({*colours})


@pytest.mark.parametrize("kind", ["csr", "csc", "backed", "lazy"])
def test_annotate__of_other_matrices_gives_the_same(cells, data, model, tmp_path, kind):
    if kind == "backed":
        cells.write_h5ad(tmp_path / "a.h5ad")
        cells = anndata.read_h5ad(tmp_path / "a.h5ad", backed="r")
    elif kind == "lazy":
        import dask.array as da

        cells.X = da.from_array(cells.X, chunks=(1000, -1))
    else:
        cells.X = {"csr": sp.csr_matrix, "csc": sp.csc_matrix}[kind](cells.X)
    bigtensor.annotate(cells, model)
    np.testing.assert_array_equal(cells.obs["bigtensor_label"].cat.codes, model.predict(data))
    np.testing.assert_array_equal(cells.obsm["X_bigtensor_proba"], model.predict_proba(data))


def test_annotate__takes_models_of_layers_and_of_obsm(cells, data, model):
    wanted = model.predict(data)
    cells.layers["measured"], cells.X = cells.X, -cells.X
    bigtensor.annotate(cells, model, layer="measured")
    np.testing.assert_array_equal(cells.obs["bigtensor_label"].cat.codes, wanted)
    assert cells.var["bigtensor_used"].tolist() == [True, False, True, True]
    used = cells.var.pop("bigtensor_used")
    cells.obsm["X_turned"] = cells.layers["measured"][:, [3, 2, 0]]
    of_obsm = KernelMixture(3, **SMALL).fit(bigtensor.open_samples(cells, obsm="X_turned"))
    bigtensor.annotate(cells, of_obsm, obsm="X_turned", overwrite=True)
    labels = of_obsm.predict(bigtensor.open_samples(cells, obsm="X_turned"))
    np.testing.assert_array_equal(cells.obs["bigtensor_label"].cat.codes, labels)
    assert "bigtensor_used" not in cells.var
    assert bigtensor.from_anndata(cells).views_ == of_obsm.views_
    # answers of another model would stand beside the features of this one
    cells.var["bigtensor_used"] = used
    bigtensor.annotate(cells, of_obsm, obsm="X_turned", overwrite=True)
    assert "bigtensor_used" not in cells.var


def test_from_anndata__the_matrix_of_the_model_is_checked(cells, model):
    cells.layers["measured"] = cells.X
    bigtensor.annotate(cells, model, layer="measured")
    of_layer = bigtensor.from_anndata(cells, layer="measured")
    np.testing.assert_array_equal(of_layer.weights_, model.weights_)
    with pytest.raises(ModelFileError, match="to layers/measured, not to obsm/X_pca"):
        bigtensor.from_anndata(cells, obsm="X_pca")
    record = json.loads(cells.uns["bigtensor"]["description"])
    del record["matrix"]
    cells.uns["bigtensor"]["description"] = json.dumps(record)
    with pytest.raises(ModelFileError, match="belongs to an unknown matrix"):
        bigtensor.from_anndata(cells, layer="measured")
    np.testing.assert_array_equal(bigtensor.from_anndata(cells).weights_, model.weights_)


def test_annotate__says_where_the_features_of_a_fit_may_be(cells):
    turned = pd.DataFrame(cells.X[:, [3, 2, 0]], columns=["X_turned_0", "X_turned_1", "X_turned_2"])
    model = KernelMixture(3, **SMALL).fit(turned)
    with pytest.raises(ViewError, match=r"X_turned_0.* with layer or obsm"):
        bigtensor.annotate(cells, model)


def test_annotate__the_path_of_a_file_is_refused(model, tmp_path):
    for call in (lambda path: bigtensor.annotate(path, model), bigtensor.from_anndata):
        with pytest.raises(ParameterError, match=r"got str.*read_h5ad"):
            call(str(tmp_path / "cells.h5ad"))


def test_annotate__rows_left_out_have_no_label(cells, data):
    cells.X = cells.X.copy()  # read-only with the newest anndata
    cells.X[5, 0] = np.nan
    model = KernelMixture(3, missing="omit", **SMALL).fit(data)
    with pytest.warns(bigtensor.errors.MissingValueWarning):
        bigtensor.annotate(cells, model)
    assert cells.obs["bigtensor_label"].isna().to_numpy().nonzero()[0].tolist() == [5]
    assert np.isnan(cells.obsm["X_bigtensor_proba"][5]).all()


def test_annotate__writes_the_states_of_a_hidden_markov_model():
    rng = np.random.default_rng(4)
    state = np.repeat(rng.integers(2, size=150), 10)
    steps = anndata.AnnData(rng.normal(6.0 * state[:, None], size=(1500, 3)).astype(np.float32))
    steps.obs["sequence"] = np.repeat(np.arange(5), 300)
    model = HiddenMarkovModel(2, emissions="gaussian", random_state=0)
    model.fit(steps)
    bigtensor.annotate(steps, model)
    label = steps.obs["bigtensor_label"]
    assert list(label.cat.categories) == ["0", "1"]
    np.testing.assert_array_equal(label.cat.codes, model.predict(steps))
    np.testing.assert_array_equal(steps.obsm["X_bigtensor_proba"], model.predict_proba(steps))
    assert len({*steps.uns["bigtensor_label_colors"]}) == 2
    kept = bigtensor.from_anndata(steps)
    np.testing.assert_array_equal(kept.predict(steps), model.predict(steps))


@pytest.mark.parametrize(
    ("model", "words"),
    [(ICA(2), "gives source .* into obsm"), (TensorTrainDensity(2), "gives log_density .* obs ")],
)
def test_annotate__a_model_without_labels_is_refused_by_its_answers(cells, model, words):
    cells = cells[:, ["view1", "view2", "view3"]].copy()
    model.set_params(random_state=0).fit(cells)
    with pytest.raises(ParameterError, match=words):
        bigtensor.annotate(cells, model)
    assert not cells.obs.columns.size
    assert not cells.uns


def test_annotate__a_classifier_of_sequences_is_refused(cells):
    with pytest.raises(ParameterError, match=r"TripleHistogramClassifier.*obs"):
        bigtensor.annotate(cells, TripleHistogramClassifier())


def test_annotate__replaces_answers_only_on_demand(cells, model):
    bigtensor.annotate(cells, model)
    with pytest.raises(OutputError, match=r"obs\['bigtensor_label'\].*overwrite=True"):
        bigtensor.annotate(cells, model)
    bigtensor.annotate(cells, model, overwrite=True)


def test_annotate__lacking_features_are_named(cells, model):
    with pytest.raises(ViewError, match="view2"):
        bigtensor.annotate(cells[:, ["view1", "view3"]].copy(), model)


@pytest.mark.parametrize("ending", [".h5ad", ".zarr"])
@pytest.mark.quick_cases(".h5ad")
def test_from_anndata__the_model_has_the_same_bits(cells, data, model, tmp_path, ending):
    bigtensor.annotate(cells, model)
    path = tmp_path / f"cells{ending}"
    with warnings.catch_warnings():
        # What the library says while it writes is no matter of ours.
        warnings.simplefilter("ignore")
        cells.write_h5ad(path) if ending == ".h5ad" else cells.write_zarr(path)
    stored = anndata.read_h5ad(path) if ending == ".h5ad" else anndata.read_zarr(path)
    same = bigtensor.from_anndata(stored)
    assert same.get_params() == model.get_params()
    assert same.diagnostics_ == model.diagnostics_
    np.testing.assert_array_equal(same.weights_, model.weights_)
    np.testing.assert_array_equal(same.score_samples(data), model.score_samples(data))


def test_from_anndata__what_is_no_model_or_damaged_is_refused(cells, model):
    with pytest.raises(ModelFileError, match=r"uns of .* has no 'bigtensor'"):
        bigtensor.from_anndata(cells)
    bigtensor.annotate(cells, model)
    record = cells.uns["bigtensor"]
    name = next(iter(record["arrays"]))
    changed = record["arrays"] | {name: record["arrays"][name] + 1}
    cells.uns["bigtensor"] = record | {"arrays": changed}
    with pytest.raises(ModelFileError, match="is damaged"):
        bigtensor.from_anndata(cells)
    newer = json.loads(record["description"]) | {"format_version": 99}
    cells.uns["bigtensor"] = record | {"description": json.dumps(newer)}
    with pytest.raises(ModelFileError, match=r"format version 99.* upgrade"):
        bigtensor.from_anndata(cells)
    cells.uns["bigtensor"] = {"description": "nothing"}
    with pytest.raises(ModelFileError, match="is not a model"):
        bigtensor.from_anndata(cells)


def test_predict__of_another_matrix_says_how_to_name_it(cells):
    columns = [f"X_pca_{number}" for number in range(3)]
    of_pca = KernelMixture(3, **SMALL).fit(pd.DataFrame(cells.X[:, [0, 1, 3]], columns=columns))
    genes = [f"GENE{number}" for number in range(2000)]
    others = anndata.AnnData(np.ones((5, 2000), np.float32), var=pd.DataFrame(index=genes))
    with pytest.raises(ViewError, match=r"2,000 features.* layer and obsm"):
        of_pca.predict(others)

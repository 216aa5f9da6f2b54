"""A saved model: the same bits in a fresh process, no pickle, and damage is refused."""

import json
import pickle
import subprocess
import sys
import warnings
from dataclasses import replace
from pathlib import Path

import fsspec
import numpy as np
import pytest
from numpy.testing import assert_array_equal

import bigtensor
from bigtensor import GaussianMixture, KernelMixture, TripleHistogramClassifier, pickled_version
from bigtensor.errors import ModelFileError, OutputError, VersionWarning
from bigtensor.models.contract.registry import MODELS, model_class
from bigtensor.store import Contents, write_group
from tests.models.expected.stored_forms import PATH, stored_forms, write
from tests.models.kernel_mixture.parameters import mixture_parameters

ANSWERS = ("predict", "predict_proba", "score_samples")


@pytest.fixture
def path(model, tmp_path) -> Path:
    return model.save(tmp_path / "model.zarr")


@pytest.fixture
def wide_path(wide_model, tmp_path) -> Path:
    return wide_model.save(tmp_path / "wide.zarr")


def chunk_files(path: Path) -> list[Path]:
    return sorted(file for file in path.rglob("*") if file.is_file() and file.name != "zarr.json")


@pytest.mark.parametrize("start", ["spectral", "kmeans"])
def test_loaded_model__answers_bit_for_bit(data, small, tmp_path, start):
    fitted = KernelMixture(3, init=start, **small).fit(data)
    loaded = bigtensor.load(fitted.save(tmp_path / "model.zarr"))
    for answer in ANSWERS:
        assert_array_equal(getattr(loaded, answer)(data), getattr(fitted, answer)(data))
    points = np.linspace(-3, 12, 99)
    for view in fitted.views_.names:
        assert_array_equal(
            loaded.component_density(view, points), fitted.component_density(view, points)
        )
        assert_array_equal(loaded.expectation(view, np.square), fitted.expectation(view, np.square))
    assert_array_equal(loaded.sample(50)[0], fitted.sample(50)[0])
    assert repr(loaded) == repr(fitted)
    assert loaded._repr_html_().split("bigtensor-summary")[-1] in fitted._repr_html_()


def test_load__takes_a_url_and_names_it_as_it_was_given(model, data, path):
    files = fsspec.filesystem("memory")
    files.put(str(path), "/models/m.zarr", recursive=True)
    try:
        loaded = bigtensor.load("memory://models/m.zarr")
    finally:
        files.rm("/models", recursive=True)
    assert_array_equal(loaded.predict(data), model.predict(data))
    with pytest.raises(ModelFileError, match=r"^memory://models/gone\.zarr .* no saved"):
        bigtensor.load("memory://models/gone.zarr")


def test_fresh_process__answers_bit_for_bit(wide_model, wide_rows, wide_path, tmp_path):
    np.save(tmp_path / "rows.npy", wide_rows[0])
    code = """
import sys
import numpy as np
import bigtensor
folder, model = sys.argv[1], bigtensor.load(sys.argv[2])
rows = np.load(f"{folder}/rows.npy")
for answer in ("predict", "predict_proba", "score_samples"):
    np.save(f"{folder}/{answer}.npy", getattr(model, answer)(rows))
np.save(f"{folder}/sample.npy", model.sample(100, random_state=3)[0])
np.save(f"{folder}/expectation.npy", model.expectation("c", lambda x: x))
"""
    subprocess.run([sys.executable, "-c", code, str(tmp_path), str(wide_path)], check=True)
    for answer in ANSWERS:
        expected = getattr(wide_model, answer)(wide_rows[0])
        assert_array_equal(np.load(tmp_path / f"{answer}.npy"), expected)
    assert_array_equal(np.load(tmp_path / "sample.npy"), wide_model.sample(100, random_state=3)[0])
    assert_array_equal(
        np.load(tmp_path / "expectation.npy"), wide_model.expectation("c", lambda x: x)
    )


def test_parameters_and_diagnostics__keep_their_types(wide_model, wide_path):
    loaded = bigtensor.load(wide_path)
    before, after = wide_model.get_params(), loaded.get_params()
    assert after == before
    assert {name: type(value) for name, value in after.items()} == {
        name: type(value) for name, value in before.items()
    }
    assert after["max_iter"] is None
    assert list(after["views"]) == ["b", "a", "c"]
    assert loaded.views_ == wide_model.views_
    assert loaded.diagnostics_ == wide_model.diagnostics_
    assert type(loaded.diagnostics_["rows"]) is int
    assert loaded.n_features_in_ == 5
    assert not hasattr(loaded, "feature_names_in_")


def test_feature_names__survive(model, path, data):
    loaded = bigtensor.load(path)
    assert list(loaded.feature_names_in_) == list(model.feature_names_in_)
    shuffled = data["X"].isel(feature=[2, 1, 0])
    assert_array_equal(loaded.predict(shuffled), model.predict(data))


def test_numpy_parameters__are_saved_as_plain_numbers(data, small, tmp_path):
    settings = mixture_parameters(small, random_state=np.int64(3), bins=np.int32(128))
    fitted = KernelMixture(np.int64(3), **settings).fit(data)
    loaded = bigtensor.load(fitted.save(tmp_path / "model.zarr"))
    assert loaded.get_params() == fitted.get_params()
    assert type(loaded.random_state) is int


def test_loaded_model__can_be_saved_and_fitted_again(path, data, model, tmp_path):
    loaded = bigtensor.load(path)
    again = bigtensor.load(loaded.save(tmp_path / "again.zarr"))
    assert_array_equal(again.score_samples(data), model.score_samples(data))
    assert_array_equal(again.fit(data).weights_, model.weights_)


def test_store__holds_no_pickle(path, wide_path):
    for store in (path, wide_path):
        files = [file for file in store.rglob("*") if file.is_file()]
        assert chunk_files(store)
        for file in files:
            content = file.read_bytes()
            if file.name == "zarr.json":
                described = json.loads(content)
                assert described["node_type"] in ("group", "array")
                kinds = [described.get("data_type", "float64")]
                assert set(kinds) <= {"float64", "float32", "int64", "bool"}
                assert "pickle" not in json.dumps(described.get("codecs", []))
            else:
                # chunks are numbers behind a codec, in folders named c
                assert "c" in file.relative_to(store).parts
            assert b"pickle" not in content
            assert not content.startswith(b"\x80\x04")
            assert not content.startswith(b"\x80\x05")


def test_newer_format__is_refused(path):
    described = json.loads((path / "zarr.json").read_text())
    described["attributes"]["bigtensor_format"] = 99
    described["attributes"]["version"] = "9.9.9"
    (path / "zarr.json").write_text(json.dumps(described))
    with pytest.raises(ModelFileError, match=r"version 99.*9\.9\.9.*upgrade bigtensor"):
        bigtensor.load(path)


def test_every_damaged_chunk__is_refused(wide_path):
    files = chunk_files(wide_path)
    assert len(files) > 10
    for file in files:
        content = file.read_bytes()
        flipped = bytearray(content)
        flipped[len(flipped) // 2] ^= 0xFF
        for damaged in (bytes(flipped), content[: len(content) // 2]):
            file.write_bytes(damaged)
            with pytest.raises(ModelFileError, match="damaged") as caught:
                bigtensor.load(wide_path)
            assert file.relative_to(wide_path).parts[0] in str(caught.value)
        file.write_bytes(content)
    bigtensor.load(wide_path)


def test_every_missing_file__is_refused(wide_path):
    for file in sorted(file for file in wide_path.rglob("*") if file.is_file()):
        content = file.read_bytes()
        file.unlink()
        with pytest.raises(ModelFileError):
            bigtensor.load(wide_path)
        file.write_bytes(content)
    bigtensor.load(wide_path)


def test_changed_description__is_refused(path):
    text = (path / "zarr.json").read_text()
    for before, after in (('"view1"', '"view9"'), ('"n_components": 3', '"n_components": 4')):
        assert before in text
        (path / "zarr.json").write_text(text.replace(before, after, 1))
        with pytest.raises(ModelFileError, match="description is not what was written"):
            bigtensor.load(path)


def test_broken_description__is_refused(path):
    text = (path / "zarr.json").read_text()
    (path / "zarr.json").write_text(text[: len(text) // 2])
    with pytest.raises(ModelFileError, match="holds no saved model"):
        bigtensor.load(path)


def test_missing_path__is_refused(tmp_path):
    with pytest.raises(ModelFileError, match=r"nothing\.zarr .*no saved .*check"):
        bigtensor.load(tmp_path / "nothing.zarr")


def test_other_store__is_refused(data, tmp_path):
    names = data["feature"].astype(object)
    data[["X"]].assign_coords(feature=names).to_zarr(
        tmp_path / "cells.zarr", zarr_format=3, consolidated=False
    )
    with pytest.raises(ModelFileError, match="a model is expected"):
        bigtensor.load(tmp_path / "cells.zarr")
    (tmp_path / "file.txt").write_text("not a store")
    with pytest.raises(ModelFileError, match="holds no saved model"):
        bigtensor.load(tmp_path / "file.txt")


def test_unknown_model__is_refused(tmp_path):
    write_group(tmp_path / "model.zarr", Contents("UnknownModel", {}, {"a": np.ones(3)}))
    with pytest.raises(ModelFileError, match=r"'UnknownModel', which .* not know"):
        bigtensor.load(tmp_path / "model.zarr")


def test_description_of_another_version__is_refused(model, tmp_path, monkeypatch):
    contents = model.to_contents()
    attrs = contents.attrs
    without = {name: value for name, value in attrs.items() if name != "state"}
    renamed = {**attrs, "parameters": {**attrs["parameters"], "n_groups": 3}}
    for number, changed in enumerate((without, renamed, {})):
        with monkeypatch.context() as other:
            other.setattr("bigtensor.store.__version__", "9.9.9")
            path = write_group(tmp_path / f"{number}.zarr", replace(contents, attrs=changed))
        with pytest.raises(ModelFileError, match=r"use bigtensor 9\.9\.9$"):
            bigtensor.load(path)


def test_save__keeps_what_is_there_unless_told_otherwise(model, wide_model, path):
    with pytest.raises(OutputError, match="exists already"):
        wide_model.save(path)
    assert bigtensor.load(path).views_ == model.views_
    assert wide_model.save(path, overwrite=True) == path
    assert bigtensor.load(path).views_ == wide_model.views_
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


def test_save__never_overwrites_what_is_no_store(model, tmp_path):
    folder = tmp_path / "thesis"
    folder.mkdir()
    (folder / "chapter.txt").write_text("one")
    with pytest.raises(OutputError, match="not a Zarr store"):
        model.save(folder, overwrite=True)
    assert (folder / "chapter.txt").read_text() == "one"
    with pytest.raises(OutputError, match="does not exist; make it first"):
        model.save(tmp_path / "no" / "model.zarr")


@pytest.mark.parametrize("name", MODELS)
def test_stored_form__changes_with_the_format_version_alone(name):
    """A file holds names of classes and fields, so that it cannot be read after a renaming."""
    forms, stored = stored_forms(), json.loads(PATH.read_text())
    refresh = "run python -m tests.models.expected stored_forms"
    assert forms["digests"][name] == stored["digests"].get(name), (
        f"the stored form of {name} changed: raise FORMAT_VERSION of bigtensor/store.py, unless "
        f"{name} is a new model, and {refresh}"
    )
    assert forms["format_version"] == stored["format_version"], refresh


def test_stored_forms__are_written_for_new_models_and_new_versions_alone(tmp_path):
    stored, path = json.loads(PATH.read_text()), tmp_path / PATH.name
    digests = stored["digests"]
    path.write_text(json.dumps(stored | {"digests": digests | {"ICA": "other"}}))
    with pytest.raises(SystemExit, match=r"ICA.*FORMAT_VERSION"):
        write(path)
    assert json.loads(path.read_text())["digests"]["ICA"] == "other"
    earlier = {"format_version": stored["format_version"] - 1, "digests": {"ICA": "other"}}
    new_model = stored | {"digests": {name: digests[name] for name in digests if name != "ICA"}}
    for before in (earlier, new_model):
        path.write_text(json.dumps(before))
        write(path)
        assert json.loads(path.read_text()) == stored


@pytest.mark.parametrize("name", MODELS)
def test_stored_classes__have_names_of_their_own(name):
    """A file names the class of every part, and would be read as another one."""
    classes = {*model_class(name)._stored_classes()}
    assert len({stored.__name__ for stored in classes}) == len(classes)


@pytest.mark.parametrize("model", [GaussianMixture(2), TripleHistogramClassifier()])
def test_pickle__warns_in_another_version(model, monkeypatch):
    pickled = pickle.dumps(model)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert vars(pickle.loads(pickled)) == vars(model)
    monkeypatch.setattr(pickled_version, "__version__", "9.9.0")
    with pytest.warns(VersionWarning, match=r"pickled by version 0.* version 9\.9\.0"):
        pickle.loads(pickled)

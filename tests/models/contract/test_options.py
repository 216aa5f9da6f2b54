"""Options objects: rarely used parameters of a model, gathered under one parameter."""

import json
import pickle
import warnings
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone

import bigtensor
from bigtensor import KernelMixture, SpectralOptions, TensorTrainDensity, TensorTrainOptions
from bigtensor.errors import ModelFileError, ParameterError, PlanError
from bigtensor.models.contract.declarations import flat_values, gathered_values, restored_values
from bigtensor.models.contract.parameters import plain
from bigtensor.store import FORMAT_VERSION

CLASSES = [SpectralOptions]
OPTIONS = SpectralOptions(bins=64, n_landmarks=np.int32(20))


@pytest.fixture(scope="module")
def fitted():
    rows = bigtensor.simulate.kernel_mixture(2000, 2, random_state=0)
    return KernelMixture(2, spectral=OPTIONS, init="kmeans", max_iter=1).fit(rows)


def test_options__show_what_differs_from_the_defaults():
    assert repr(SpectralOptions()) == "SpectralOptions()"
    assert repr(SpectralOptions(bins=64)) == "SpectralOptions(bins=64)"
    assert "trains=TensorTrainOptions(n_trains=1)" in repr(
        TensorTrainDensity(2, trains=TensorTrainOptions(n_trains=1))
    )


def test_flat_values__hold_the_fields_and_the_defaults():
    values = flat_values({"n_components": 2, "spectral": OPTIONS}, CLASSES)
    assert (values["n_components"], values["bins"], values["landmarks"]) == (2, 64, "kmeans")
    assert "spectral" not in values
    assert flat_values({"spectral": None}, CLASSES) == SpectralOptions().as_dict()


def test_gathered_values__are_options_that_differ_from_the_defaults():
    assert gathered_values({"bins": 64, "init": "auto"}, CLASSES) == {
        "init": "auto",
        "spectral": SpectralOptions(bins=64),
    }
    assert gathered_values({"bins": None}, CLASSES) == {"spectral": None}


def test_restored_values__are_options_of_json():
    saved = json.loads(json.dumps(plain({"spectral": OPTIONS})))
    assert restored_values(saved, CLASSES) == {"spectral": OPTIONS}
    assert restored_values({"spectral": None}, CLASSES) == {"spectral": None}


@pytest.mark.parametrize("value", [{"bins": 64}, 64, SpectralOptions, TensorTrainOptions()])
def test_anything_else__is_refused(value):
    with pytest.raises(ParameterError, match=r"spectral is .*bigtensor\.SpectralOptions"):
        KernelMixture(2, spectral=value).check_parameters()


@pytest.mark.parametrize(
    ("field", "value"), [("bins", 3), ("n_directions", 1), ("posterior_width", -1)]
)
def test_errors__name_the_field_and_its_place(field, value):
    options = SpectralOptions(**{field: value})
    with pytest.raises(ParameterError, match=rf"{field} in spectral=SpectralOptions\(") as raised:
        KernelMixture(2, spectral=options).check_parameters()
    assert raised.value.message.written(lambda setting: f"--{setting.name}").startswith(
        f"--{field} is {value}"
    )


def test_advice_on_memory__names_the_field_and_its_place():
    rows = np.zeros((1000, 3))
    model = KernelMixture(50, spectral=SpectralOptions(bins=2**17))
    with pytest.raises(PlanError, match=r"bins in spectral=SpectralOptions\("):
        model.plan(rows, workers=1, memory_limit="512MiB").check()


def test_models__are_cloned_changed_and_pickled_with_their_options(fitted):
    assert clone(fitted).get_params() == fitted.get_params()
    assert pickle.loads(pickle.dumps(fitted)).spectral == OPTIONS
    changed = clone(fitted).set_params(spectral=replace(OPTIONS, bins=128))
    assert (changed.parameter_values().bins, changed.parameter_values().n_landmarks) == (128, 20)


def test_saved_models__have_their_options(fitted, tmp_path):
    loaded = bigtensor.load(fitted.save(tmp_path / "model"))
    assert loaded.spectral == OPTIONS
    assert type(loaded.spectral.n_landmarks) is int
    assert loaded.output_attrs() == fitted.output_attrs()


def test_models_of_the_format_without_options__are_refused(fitted, tmp_path):
    path = fitted.save(tmp_path / "model")
    described = json.loads((path / "zarr.json").read_text())
    described["attributes"]["bigtensor_format"] = FORMAT_VERSION - 1
    (path / "zarr.json").write_text(json.dumps(described))
    with pytest.raises(ModelFileError, match="fit the model again"):
        bigtensor.load(path)


def test_options__act_as_the_parameters_did():
    rows = bigtensor.simulate.kernel_mixture(2000, 2, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = KernelMixture(2, spectral=SpectralOptions(bins=64), init="kmeans", max_iter=1)
        assert model.fit(rows).solution_.solution.densities.shape[1] == 64 + 1

"""The accessor forwards to the estimators and is registered only when it is asked for."""

import subprocess
import sys

import numpy as np
import pytest
import xarray as xr

import bigtensor.accessor
from bigtensor import HiddenMarkovModel, KernelMixture, SpectralOptions, simulate
from bigtensor.errors import PlanError

SMALL = {
    "spectral": SpectralOptions(n_landmarks=40, bins=512),
    "pilot_rows": 2000,
    "random_state": 0,
}


@pytest.fixture(scope="module")
def data():
    return simulate.kernel_mixture(3000, 3, random_state=1)


@pytest.mark.parametrize("kind", ["Dataset", "DataArray", "DataTree", "lazy"])
@pytest.mark.quick_cases("Dataset", "lazy")
def test_accessor__gives_what_the_model_gives(data, kind):
    given = {
        "Dataset": data,
        "DataArray": data["X"],
        "DataTree": xr.DataTree(data, children={"other": xr.DataTree()}),
        "lazy": data.chunk(sample=1000),
    }[kind]
    expected = KernelMixture(3, **SMALL).fit(data)
    model = KernelMixture(3, **SMALL)
    assert given.bigtensor.fit(model) is model
    np.testing.assert_allclose(model.weights_, expected.weights_, rtol=1e-6)
    for name in ("predict", "predict_proba", "score_samples"):
        answer = getattr(given.bigtensor, name)(model)
        assert isinstance(answer, xr.DataArray)
        assert (answer.chunks is not None) == (kind == "lazy")
        np.testing.assert_array_equal(answer, getattr(model, name)(data))


def test_accessor__passes_the_parameters_of_fit_on(data):
    with pytest.raises(PlanError):
        data.bigtensor.fit(KernelMixture(3, **SMALL), scheduler="threads", memory_limit="1MiB")


@pytest.mark.slow  # imports the package in a new process
def test_accessor__is_registered_by_its_own_import_alone():
    code = (
        "import bigtensor, xarray as xr\n"
        "bigtensor.KernelMixture\n"
        "print(hasattr(xr.Dataset, 'bigtensor'))\n"
        "import bigtensor.accessor\n"
        "print(hasattr(xr.Dataset, 'bigtensor'), hasattr(xr.DataArray, 'bigtensor'))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True", "True"]
    assert bigtensor.accessor.__all__ == ["BigtensorAccessor"]


def test_accessor__passes_the_sequences_of_answers_on():
    steps = simulate.hidden_markov(1500, 2, n_symbols=4, sequences=10, random_state=1)
    steps = steps.rename(sequence="night")
    model = steps.bigtensor.fit(HiddenMarkovModel(2, random_state=0), sequence="night")
    for name in ("predict", "predict_proba", "score_samples"):
        answer = getattr(steps.bigtensor, name)(model, sequence="night")
        xr.testing.assert_identical(answer, getattr(model, name)(steps, sequence="night"))
    log_probability, path = steps.bigtensor.decode(model, sequence="night")
    assert log_probability < 0
    xr.testing.assert_identical(path, model.predict(steps, sequence="night"))

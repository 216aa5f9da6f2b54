"""The hidden Markov model on a short sequence, for the laws of all models."""

import xarray as xr

from bigtensor import HiddenMarkovModel, simulate

SETTINGS = {
    "answers": ("predict", "predict_proba"),
    "in_order": True,
    # EM iterations along sequences multiply the differences of sums in another order
    "rtol": 1e-6,
}


def make() -> HiddenMarkovModel:
    return HiddenMarkovModel(2, em_iterations=3, random_state=0)


def data(kind: str) -> xr.DataArray:
    assert kind == "codes"
    return simulate.hidden_markov(900, 2, 4, stay=0.6, random_state=2)["X"]

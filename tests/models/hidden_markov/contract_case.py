"""The hidden Markov model on a short sequence, for the laws of all models."""

import numpy as np
import xarray as xr

from bigtensor import HiddenMarkovModel, simulate

SETTINGS = {
    "answers": ("predict", "predict_proba"),
    "in_order": True,
    # EM iterations along sequences multiply the differences of sums in another order
    "rtol": 1e-6,
}


def make(kind: str) -> HiddenMarkovModel:
    emissions = "categorical" if kind == "codes" else "kernel"
    return HiddenMarkovModel(2, emissions=emissions, max_iter=3, random_state=0)


def data(kind: str) -> xr.DataArray:
    drawn = simulate.hidden_markov(900, 2, 4, stay=0.6, random_state=2)
    if kind == "codes":
        return drawn["X"]
    noise = np.random.default_rng(0).normal(size=(900, 2))
    values = drawn["label"].to_numpy()[:, None] * [3.0, -2.0] + noise
    return xr.DataArray(values, {"feature": ["a", "b"]}, ("sample", "feature"))

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

VARIANTS = {
    "codes": {"triples": {"refine": "triples"}},
    "measured": {
        "gaussian": {"emissions": "gaussian"},
        "gaussian_diag": {"emissions": "gaussian", "covariance_type": "diag"},
        "poisson": {"emissions": "poisson"},
    },
}


def counts() -> xr.DataArray:
    """Return counts of two states."""
    state = simulate.hidden_markov(900, 2, 4, stay=0.6, random_state=2)["label"].to_numpy()
    values = np.random.default_rng(0).poisson(np.array([[2.0, 9.0], [8.0, 1.0]])[state])
    return xr.DataArray(values.astype("f8"), {"feature": ["a", "b"]}, ("sample", "feature"))


VARIANT_SETTINGS = {"poisson": {"data": counts(), "any_unit": False, "any_origin": False}}


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

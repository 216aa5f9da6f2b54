"""The Gaussian mixture on small data, for the laws of all models."""

from bigtensor import GaussianMixture

TYPES = ("tied", "diag", "spherical", "shared_spherical")

VARIANTS = {"measured": {name: {"covariance_type": name} for name in TYPES}}

VARIANT_SETTINGS = {name: {"own_units": False} for name in ("spherical", "shared_spherical")}


def make(kind: str) -> GaussianMixture:
    assert kind == "measured"
    return GaussianMixture(2, n_init=2, reg_covar=1e-6, max_iter=3, random_state=0)

"""The kernel mixture on small data, for the laws of all models."""

from bigtensor import KernelMixture


def make(kind: str) -> KernelMixture:
    assert kind == "measured"
    return KernelMixture(
        2, n_landmarks=20, bins=64, max_iter=3, feature_dtype="float64", random_state=0
    )

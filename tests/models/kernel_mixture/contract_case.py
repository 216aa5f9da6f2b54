"""The kernel mixture on small data, for the laws of all models."""

from bigtensor import KernelMixture, SpectralOptions


def make(kind: str) -> KernelMixture:
    assert kind == "measured"
    return KernelMixture(
        2,
        spectral=SpectralOptions(n_landmarks=20, bins=64, feature_dtype="float64"),
        max_iter=3,
        random_state=0,
    )

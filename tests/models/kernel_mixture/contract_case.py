"""The kernel mixture on small data, for the laws of all models."""

from bigtensor import KernelMixture, SpectralOptions

VARIANTS = {
    "measured": {
        "common_units": {"units": "common"},
        "wide_view": {"views": {"a": ["first", "second"], "b": ["third"], "c": ["fourth"]}},
        "merging": {"n_components": 3, "n_populations": 2},
        "merging_of_overlaps": {"n_components": 3, "n_populations": 2, "merging": "overlap"},
    }
}

# populations choose between units of the spread and the units of the data
VARIANT_SETTINGS = {
    name: {"own_units": False} for name in ("common_units", "merging", "merging_of_overlaps")
}


def make(kind: str) -> KernelMixture:
    assert kind == "measured"
    return KernelMixture(
        2,
        spectral=SpectralOptions(n_landmarks=20, bins=64, feature_dtype="float64"),
        max_iter=3,
        random_state=0,
    )

"""The discrete mixture on small data, for the laws of all models."""

from bigtensor import DiscreteMixture

VARIANTS = {
    "codes": {
        **{name: {"method": name} for name in ("ex_literal", "svd", "svd_joint", "std", "em")},
        "without_ridge": {"ridge": None},
    }
}


def make(kind: str) -> DiscreteMixture:
    assert kind == "codes"
    return DiscreteMixture(2, n_starts=2, random_state=0)

"""Names that a fitted mixture suggests for its populations."""

import numpy as np
import pytest
import xarray as xr

from bigtensor import DiscreteMixture, GaussianMixture, KernelMixture
from bigtensor.testing import small_data

MARKERS = ["CD3", "CD4", "CD19", "CD69", "noise"]
POPULATIONS = [
    # markers that are positive, and the share of the cells
    ({"CD3", "CD4"}, 0.5),
    ({"CD3"}, 0.3),
    ({"CD19"}, 0.19),
    ({"CD3", "CD4", "CD69"}, 0.01),
]


@pytest.fixture(scope="module")
def cells() -> xr.DataArray:
    """Return cells of four types, one of them rare, on the arcsinh scale."""
    rng = np.random.default_rng(0)
    blocks = []
    for positive, share in POPULATIONS:
        mean = np.array([4.0 if marker in positive else 0.5 for marker in MARKERS])
        blocks.append(mean + 0.45 * rng.standard_normal((int(20_000 * share), len(MARKERS))))
    return xr.DataArray(
        np.concatenate(blocks), dims=("sample", "feature"), coords={"feature": MARKERS}
    )


@pytest.mark.parametrize(
    "model",
    [GaussianMixture(4, random_state=0), KernelMixture(40, n_populations=4, random_state=0)],
    ids=["Gaussian", "kernel"],
)
def test_suggested_names__are_the_signs_of_the_cells(model, cells):
    model = model.fit(cells)
    suggested = model.suggest_population_names()
    names = np.array(suggested)[np.asarray(model.predict(cells))]
    assert len({*suggested}) == 4
    rows = np.cumsum([int(20_000 * share) for _, share in POPULATIONS]) - 1
    for row, (positive, _) in zip(rows, POPULATIONS, strict=True):
        signs = {*names[row].split()}
        assert {sign[:-1] for sign in signs if sign.endswith("+")} <= positive
        assert not {sign[:-1] for sign in signs if sign.endswith("-")} & positive
        assert len(signs) >= 2
    assert "CD69+" in names[rows[-1]]


def test_suggested_names__of_categories_are_empty():
    model = DiscreteMixture(2, random_state=0).fit(small_data("codes"))
    assert model.suggest_population_names() == ["", ""]

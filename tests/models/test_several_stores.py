"""A Dataset of several stores, from open_mfdataset to lazy probabilities."""

from itertools import pairwise

import numpy as np
import pytest
import xarray as xr

from bigtensor import KernelMixture, simulate
from bigtensor.data.stores.layout import SampleStoreWriter


@pytest.fixture(scope="module")
def days(tmp_path_factory):
    """Three stores of one experiment, whose lengths fit no chunk."""
    folder = tmp_path_factory.mktemp("days")
    cells = simulate.kernel_mixture(9000, 3, random_state=2)
    edges, paths = [0, 2500, 5999, 9000], []
    for start, stop in pairwise(edges):
        path = folder / f"day{len(paths)}.zarr"
        names = [str(name) for name in cells["feature"].to_numpy()]
        variables = {"weight": "float64"}
        with SampleStoreWriter(path, names, row_variables=variables) as store:
            store.append(cells["X"][start:stop], weight=1.0 + (np.arange(start, stop) % 2))
        paths.append(path)
    return paths, cells["X"].to_numpy().astype(np.float32)


def open_days(paths, **chunks):
    return xr.open_mfdataset(
        paths, engine="zarr", combine="nested", concat_dim="sample", data_vars="minimal", **chunks
    )


# chunks that xarray would rather not have
@pytest.mark.filterwarnings("ignore:The specified chunks separate the stored chunks:UserWarning")
@pytest.mark.parametrize("chunks", [{}, {"chunks": {"sample": 1700}}])
@pytest.mark.quick_cases("chunks1")
def test_fit__of_several_stores_gives_lazy_probabilities(days, chunks):
    paths, values = days
    with open_days(paths, **chunks) as dataset:
        model = KernelMixture(3, random_state=0).fit(dataset)
        lazy = model.predict_proba(dataset)
        assert lazy.chunks is not None
        assert lazy.dims == ("sample", "component")
        part = lazy[5990:6010].to_numpy()
        found = lazy.to_numpy()
    weights = 1.0 + (np.arange(9000) % 2)
    expected = KernelMixture(3, random_state=0).fit(values, sample_weight=weights)
    np.testing.assert_allclose(model.weights_, expected.weights_, rtol=1e-4)
    np.testing.assert_allclose(found, expected.predict_proba(values), atol=1e-3)
    np.testing.assert_array_equal(part, found[5990:6010])

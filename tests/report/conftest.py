"""Fitted models and data of the report's tests."""

import copy
from pathlib import Path

import pytest
import xarray as xr

from bigtensor import KernelMixture, simulate


@pytest.fixture(scope="session")
def mixture_data() -> xr.Dataset:
    """Three well separated normal components in four features."""
    return simulate.kernel_mixture(6000, 3, views=4, separation=5.0, random_state=3)


@pytest.fixture(scope="session")
def fitted_mixture(mixture_data: xr.Dataset) -> KernelMixture:
    """A model of `mixture_data`; tests that change it take `mixture`."""
    return KernelMixture(3, random_state=0).fit(mixture_data)


@pytest.fixture
def mixture(fitted_mixture: KernelMixture) -> KernelMixture:
    """A copy of the fitted model whose diagnostics may be changed."""
    model = copy.copy(fitted_mixture)
    model.diagnostics_ = copy.deepcopy(fitted_mixture.diagnostics_)
    return model


@pytest.fixture(scope="session")
def wide_mixture(mixture_data: xr.Dataset) -> KernelMixture:
    """A model with two features in one view."""
    names = [str(name) for name in mixture_data["feature"].values]
    views = {"both": names[:2], "third": [names[2]], "fourth": [names[3]]}
    return KernelMixture(3, views=views, random_state=0).fit(mixture_data)


@pytest.fixture(scope="session")
def cells_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Cells of four populations in three samples, on disk."""
    path = tmp_path_factory.mktemp("cells") / "cells.zarr"
    simulate.write_cytometry(path, 30_000, 4, markers=5, samples=3, random_state=1)
    return path


@pytest.fixture(scope="session")
def merged_model(cells_path: Path) -> KernelMixture:
    """Thirty components of the cells, merged into their four populations."""
    model = KernelMixture(30, n_populations=4, max_iter=2, random_state=0)
    return model.fit(str(cells_path))


@pytest.fixture(scope="session")
def cell_model(cells_path: Path) -> KernelMixture:
    """A model of the cells."""
    return KernelMixture(4, init="kmeans", random_state=1).fit(str(cells_path))

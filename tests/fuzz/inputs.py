"""Valid inputs of every kind, made by the package or by the library of the format."""

from __future__ import annotations

import gzip
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
import zarr
from numpy.typing import NDArray

import bigtensor
from bigtensor.data.stores.layout import SampleStoreWriter
from tests.fuzz.steps import new_entry

ROWS = 240
FEATURES = ("CD3", "CD4", "CD19")


def rows() -> NDArray[np.float64]:
    """Return rows of two components that lie far apart."""
    rng = np.random.default_rng(3)
    return np.concatenate([rng.normal(mean, 0.3, (ROWS // 2, 3)) for mean in (-2.0, 2.0)])


def frame() -> pd.DataFrame:
    """Return the rows with their features."""
    return pd.DataFrame(rows(), columns=list(FEATURES))


def make_fcs(folder: Path) -> None:
    """Write FCS files of floating point numbers, of doubles in FCS 3.0, and of packed integers."""
    values = rows() * 100 + 500
    spill = {"$SPILLOVER": "2,CD3,CD4,1,0.1,0.05,1"}
    _fcs(new_entry(folder, "float", "cells.fcs"), values.astype("<f4"), "F", "3.1", spill)
    _fcs(
        new_entry(folder, "double", "cells.fcs"),
        values.astype(">f8"),
        "D",
        "3.0",
        {"$TIMESTEP": "0.01"},
    )
    amplified = {"$P1E": "4,1", "$P1R": "1024", "$P2G": "2.5"}
    _fcs(new_entry(folder, "integer", "cells.fcs"), values.astype("<u2"), "I", "2.0", amplified)


def _fcs(
    path: Path, values: NDArray[Any], datatype: str, version: str, more: dict[str, str]
) -> None:
    """Write an FCS file with room for more keywords before its events."""
    start = 16_384
    stop = start + values.nbytes - 1
    bits = 8 * values.itemsize
    little = values.dtype.str[0] == "<"
    text = {"$PAR": len(FEATURES), "$TOT": len(values), "$MODE": "L", "$DATATYPE": datatype}
    text |= {"$BYTEORD": "1,2,3,4" if little else "4,3,2,1", "$NEXTDATA": 0, "$CYT": "simulated"}
    if version != "2.0":
        text |= {"$BEGINDATA": start, "$ENDDATA": stop, "$BEGINANALYSIS": 0, "$ENDANALYSIS": 0}
        text |= {"$BEGINSTEXT": 0, "$ENDSTEXT": 0}
    for place, name in enumerate(FEATURES, start=1):
        text |= {f"$P{place}N": name, f"$P{place}B": bits, f"$P{place}E": "0,0"}
        text |= {f"$P{place}R": 2**16, f"$P{place}S": f"marker {place}"}
    body = "/" + "".join(f"{key}/{value}/" for key, value in (text | more).items())
    offsets = (58, 58 + len(body) - 1, start, stop, 0, 0)
    head = f"FCS{version}    " + "".join(f"{offset:8d}" for offset in offsets) + body
    path.write_bytes(head.encode().ljust(start) + values.tobytes())


def make_csv(folder: Path) -> None:
    """Write tables as text, also packed."""
    text = frame().round(4).assign(kind=["T", "B"] * (ROWS // 2)).to_csv(index=False)
    new_entry(folder, "plain", "cells.csv").write_text(text)
    new_entry(folder, "gzip", "cells.csv.gz").write_bytes(gzip.compress(text.encode(), mtime=0))


def make_parquet(folder: Path) -> None:
    """Write tables of numbers and of dictionaries, packed in two ways."""
    table = frame().assign(kind=pd.Categorical(["T", "B"] * (ROWS // 2)), whole=np.arange(ROWS))
    table.to_parquet(new_entry(folder, "snappy", "cells.parquet"), row_group_size=64)
    table.to_parquet(new_entry(folder, "plain", "cells.parquet"), compression=None)


def make_h5ad(folder: Path) -> None:
    """Write AnnData in HDF5, dense and sparse."""
    _anndata().write_h5ad(new_entry(folder, "dense", "cells.h5ad"))
    sparse = _anndata(sp.csr_matrix)
    sparse.write_h5ad(new_entry(folder, "csr", "cells.h5ad"))
    sparse.write_h5ad(new_entry(folder, "packed", "cells.h5ad"), compression="gzip")


def make_anndata_zarr(folder: Path) -> None:
    """Write AnnData in Zarr, dense and sparse."""
    with warnings.catch_warnings():
        # of the version of Zarr that anndata will write one day
        warnings.simplefilter("ignore")
        _anndata().write_zarr(new_entry(folder, "dense", "cells.zarr"))
        _anndata(sp.csr_matrix).write_zarr(new_entry(folder, "csr", "cells.zarr"))


def _anndata(layout: Any = np.asarray) -> Any:
    """Return the rows as AnnData with a categorical column."""
    import anndata

    with warnings.catch_warnings():
        # of names of rows, which are numbers
        warnings.simplefilter("ignore")
        data = anndata.AnnData(layout(np.maximum(rows(), 0).astype("f4")))
    data.var_names = list(FEATURES)
    data.obs_names = [f"cell {row}" for row in range(ROWS)]
    data.obs["kind"] = pd.Categorical(["T", "B"] * (ROWS // 2))
    return data


def make_samples(folder: Path) -> None:
    """Write a store of the package's layout."""
    _samples(new_entry(folder, "whole", "cells.zarr"))


def _samples(path: Path) -> None:
    """Write the rows, several times over, with weights and patients."""
    values = np.tile(rows(), (10, 1))
    variables: Any = {"weight": "f8", "sample_id": ("i4", {"categories": ["p", "q"]})}
    record = {"transform": {"name": "arcsinh", "cofactor": 5.0, "untransformed": []}}
    with SampleStoreWriter(
        path, FEATURES, rows=len(values), row_variables=variables, attrs=record
    ) as store:
        places = np.arange(len(values))
        store.append(values, weight=1.0 + places % 3, sample_id=places * 2 // len(values))


def make_foreign(folder: Path) -> None:
    """Write stores as xarray makes them, in both versions of the format."""
    import xarray as xr

    patient = xr.DataArray(np.arange(ROWS) % 2, dims="sample", attrs={"categories": ["p", "q"]})
    data = xr.Dataset(
        {
            "X": (("sample", "feature"), rows().astype("f4")),
            "weight": ("sample", np.ones(ROWS)),
            "sample_id": patient.astype("i4"),
        },
        coords={"feature": list(FEATURES)},
    )
    packed = data.assign(X=data.X.round(2))
    scaled = {"X": {"dtype": "i2", "scale_factor": 0.01, "_FillValue": -9999}}
    with warnings.catch_warnings():
        # of string types and consolidated metadata, which version 3 does not define yet
        warnings.simplefilter("ignore")
        for version in (2, 3):
            path = new_entry(folder, f"v{version}", "cells.zarr")
            data.chunk(sample=100).to_zarr(path, zarr_format=version)
            path = new_entry(folder, f"scaled-v{version}", "cells.zarr")
            packed.to_zarr(path, zarr_format=version, encoding=scaled)
        plain = zarr.create_group(new_entry(folder, "zarr-python", "cells.zarr"))
        array = plain.create_array(
            "X",
            shape=(ROWS, 3),
            chunks=(60, 3),
            dtype="f8",
            dimension_names=["sample", "feature"],
            # changed bytes are other numbers
            compressors=None,
        )
        array[...] = rows()
        weight = plain.create_array(
            "weight", shape=ROWS, dtype="f8", dimension_names=["sample"], compressors=None
        )
        weight[...] = 1.0


def make_labels(folder: Path) -> None:
    """Write labels and probabilities."""
    path = new_entry(folder, "probabilities", "labels.zarr")
    model = bigtensor.KernelMixture(2, merging=None, random_state=0)
    model.fit(frame(), scheduler="threads")
    model.write(frame(), path, outputs=("label", "probability"), scheduler="threads")


def make_views(folder: Path) -> None:
    """Write a file of views and kernels."""
    new_entry(folder, "views", "views.toml").write_text(
        '# views of a fit\n[views]\nt = ["CD3", "CD4"]\nb = ["CD19"]\n\n[kernel]\nt = "laplace"\n'
    )

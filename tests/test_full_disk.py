"""Every writer on a full disk: an error that names the output, and nothing that looks whole.

A limit of the size of a file stands in for a full disk: the system refuses the write either way.
"""

import resource
import shutil
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import xarray as xr

import bigtensor
from bigtensor import simulate
from bigtensor.cli.group_table import write_table
from bigtensor.data.exporters import anndata as anndata_exporter
from bigtensor.data.exporters import new_anndata
from bigtensor.data.exporters.csv import write_answers_to_csv
from bigtensor.data.exporters.fcs import write_answers_to_fcs
from bigtensor.data.importers.counts.import_counts import import_counts
from bigtensor.data.importers.files import import_files
from bigtensor.data.stores.count_stores import CountStoreWriter
from bigtensor.errors import CheckpointError, OutputError
from bigtensor.report.html import write_report
from tests.data.exporters.conftest import FEATURES, ROWS, write_labels
from tests.data.importers.conftest import _write_fcs

LIMITS = {"at once": 0, "midway": 600}
"""Bytes of a file, by the time at which a disk that it stands for is full."""


@contextmanager
def full_disk(limit: int) -> Iterator[None]:
    """Let no file become larger than a limit."""
    old = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, old[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, old)


@pytest.fixture(scope="module")
def inputs(tmp_path_factory) -> Path:
    """Everything that writers read: text, FCS, stores, labels and a model."""
    folder = tmp_path_factory.mktemp("inputs")
    values = np.random.default_rng(0).normal(size=(ROWS, len(FEATURES)))
    _write_fcs(folder / "p.fcs", list(values.T.astype("f4")), {"$DATATYPE": "F"}, names=FEATURES)
    import_files(folder / "p.fcs", folder / "cells.zarr", transform="none")
    write_labels(folder / "labels.zarr")
    lines = "".join(f"{row + 1} {row % 7 + 1} {row % 5 + 1}\n" for row in range(400))
    (folder / "docword.x.txt").write_text(f"400\n7\n400\n{lines}")
    fitted(folder / "cells.zarr").save(folder / "model.zarr")
    return folder


def fitted(cells: Path, **options: object) -> bigtensor.GaussianMixture:
    """Return a small model."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return bigtensor.GaussianMixture(1, random_state=0).fit(cells, **options)


def weights_of_patients() -> xr.Dataset:
    """Weights of many patients, so that their table fills a buffer of the file."""
    patients = [f"patient {number}" for number in range(1000)]
    weights = np.full((len(patients), 2), 0.5)
    coords = {"patient": patients, "rows": ("patient", np.full(len(patients), 10))}
    return xr.Dataset({"weight": (("patient", "component"), weights)}, coords)


def count_store(_: Path, out: Path) -> None:
    """A count store whose chunks fill while rows arrive."""
    rng = np.random.default_rng(0)
    with CountStoreWriter(out, [f"w{i}" for i in range(1000)]) as store:
        for _block in range(3):
            store.append(rng.integers(0, 2**30, (600, 1000)))


WRITERS: dict[str, Callable[[Path, Path], object]] = {
    "import": lambda i, out: import_files(i / "p.fcs", out),
    "import of counts": lambda i, out: import_counts(i / "docword.x.txt", out),
    "count store": count_store,
    "simulated rows": lambda _, out: simulate.write_gaussian_mixture(out, 1000, 2),
    "simulated counts": lambda _, out: simulate.write_topics(out, 500, 2, n_words=30),
    "model": lambda i, out: bigtensor.load(i / "model.zarr").save(out),
    "answers": lambda i, out: bigtensor.load(i / "model.zarr").write(i / "cells.zarr", out),
    "report": lambda i, out: write_report(
        bigtensor.load(i / "model.zarr"), out.with_suffix(".html")
    ),
    "table of weights": lambda _, out: write_table(weights_of_patients(), out),
    "csv": lambda i, out: write_answers_to_csv(i / "labels.zarr", out),
    "fcs": lambda i, out: write_answers_to_fcs(
        i / "labels.zarr", [i / "p.fcs"], out, cells=i / "cells.zarr"
    ),
    "checkpoint": lambda i, out: fitted(i / "cells.zarr", checkpoint=out),
}


@pytest.mark.parametrize("limit", LIMITS.values(), ids=LIMITS)
@pytest.mark.parametrize("writer", WRITERS.values(), ids=WRITERS)
def test_writer__names_the_output_and_leaves_nothing(inputs, tmp_path, writer, limit):
    out = tmp_path / "out"
    with full_disk(limit), pytest.raises((OutputError, CheckpointError)) as caught:
        writer(inputs, out)
    assert str(out) in str(caught.value)
    left = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert not left


def test_h5ad__that_has_no_room_is_refused_before_it_is_begun(inputs, tmp_path, monkeypatch):
    """HDF5 on a disk that is full midway may end the process when it exits."""
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=ROWS))
    target = tmp_path / "out.h5ad"
    with pytest.raises(OutputError, match=f"needs at least {ROWS * len(FEATURES) * 4:,} bytes"):
        new_anndata.write_new_anndata(inputs / "labels.zarr", inputs / "cells.zarr", target, {})
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("new", [True, False])
def test_h5ad__that_cannot_be_closed_is_an_output_error(inputs, tmp_path, monkeypatch, new):
    target = tmp_path / "out.h5ad"

    def fail(*_: object) -> None:
        raise RuntimeError("Can't decrement id ref count (file write failed: errno = 28)")

    labels, cells = inputs / "labels.zarr", inputs / "cells.zarr"
    if new:
        monkeypatch.setattr(new_anndata, "_write_cells", fail)
    else:
        new_anndata.write_new_anndata(labels, cells, target, {})
        monkeypatch.setattr(anndata_exporter, "_move_into_place", fail)
    write = partial(
        *(new_anndata.write_new_anndata, labels, cells, target, {})
        if new
        else (anndata_exporter.write_answers_to_anndata, labels, target, {}),
        overwrite=True,
    )
    with pytest.raises(OutputError, match=r"out\.h5ad cannot be written .*errno = 28"):
        write()
    assert target.exists() != new

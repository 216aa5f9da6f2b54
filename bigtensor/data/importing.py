"""Import of files of any known kind into one Zarr store of the package's layout."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from bigtensor.data.anndata import open_anndata
from bigtensor.data.fcs import Offsets, open_fcs
from bigtensor.data.import_source import Categories, ImportSource
from bigtensor.data.layout import RowVariable, SampleStoreWriter, chunk_rows
from bigtensor.data.matching import Channels, match_features
from bigtensor.data.tables import open_csv, open_parquet
from bigtensor.data.targets import check_target
from bigtensor.data.transforms import Arcsinh, Linear, Logicle, Transform, is_untransformed
from bigtensor.errors import DataError, FileFormatError, ParameterError

Format = Literal["fcs", "csv", "parquet", "anndata"]

_FORMATS: Mapping[str, Format] = {
    ".fcs": "fcs",
    ".lmd": "fcs",
    ".csv": "csv",
    ".tsv": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".h5ad": "anndata",
    ".zarr": "anndata",
}
_COMPRESSED = (".gz", ".bz2", ".xz", ".zst")

FLUORESCENCE_COFACTOR = 150.0
MASS_CYTOMETRY_COFACTOR = 5.0


@dataclass(frozen=True)
class ImportSummary:
    """What an import has written.

    Parameters
    ----------
    path : Path
        The store.
    rows : int
        Number of rows.
    features : tuple of str
        Names of the features.
    files : tuple of str
        Name of every file as ``sample_id`` knows it, in the order of the rows.
    transform : Mapping
        Name and parameters of the transform, and the features that stayed linear.
    warnings : tuple of str
        What was repaired or left out, a sentence each.
    bytes : int
        Size of the store on disk.
    """

    path: Path
    rows: int
    features: tuple[str, ...]
    files: tuple[str, ...]
    transform: Mapping[str, Any]
    warnings: tuple[str, ...]
    bytes: int


def import_files(
    paths: "str | os.PathLike[str] | Iterable[str | os.PathLike[str]]",
    out: "str | os.PathLike[str]",
    *,
    format: Format | None = None,  # noqa: A002 - the name that pandas and others use for this
    compensate: bool = False,
    transform: Literal["arcsinh", "logicle", "none"] | Transform | None = None,
    cofactor: float | None = None,
    untransformed: Sequence[str] | None = None,
    offsets: Offsets | None = None,
    dataset: int = 0,
    channels: Channels = "same",
    label: str | None = None,
    sample_id: str | None = None,
    labels: Mapping[str, ArrayLike] | None = None,
    label_names: Sequence[str] | None = None,
    dtype: DTypeLike = "float32",
    keep_raw: bool = False,
    overwrite: bool = False,
    progress: Callable[[int, int | None], None] | None = None,
) -> ImportSummary:
    """Import files into one Zarr store, row block by row block.

    Parameters
    ----------
    paths : path-like or iterable of path-like
        Files of one kind; their rows follow each other in this order.
    out : path-like
        The store to make; it appears under this name when it is whole.
    format : {"fcs", "csv", "parquet", "anndata"}, optional
        The kind of the files; by default it follows from the end of their names.
    compensate : bool, default False
        FCS only: remove the spillover between dyes by the file's own matrix, before any transform.
    transform : {"arcsinh", "logicle", "none"} or Transform, optional
        By default "arcsinh" for FCS and "none" for everything else.
    cofactor : float, optional
        Of arcsinh; by default 5 for mass cytometry and 150 otherwise. See
        :attr:`~bigtensor.data.fcs_header.FcsHeader.is_mass_cytometry` for how that is recognised.
    untransformed : sequence of str, optional
        Features or channels that stay linear; by default scatter and time, see
        :func:`~bigtensor.data.transforms.is_untransformed`.
    offsets : {"header", "text"}, optional
        FCS only: which segment to believe if they disagree on where the events lie.
    dataset : int, default 0
        FCS only: which data set of a file that holds several.
    channels : {"same", "common"}, default "same"
        Whether files with different features are an error, or only common features are imported.
    label, sample_id : str, optional
        Tables and AnnData: columns to keep beside the features.
    labels : mapping of str to array-like of int, optional
        FCS only: for the stem of every file one code an event, -1 for none.
    label_names : sequence of str, optional
        The name of each code of `labels`.
    dtype : {"float32", "float64"}, default "float32"
        Type of the stored values.
    keep_raw : bool, default False
        Also store the values before compensation and transform, on the linear scale, as ``raw``.
    overwrite : bool, default False
        Whether an existing store may be replaced.
    progress : callable, optional
        Called with the rows done and all rows (None if that is not known) after each block.

    Returns
    -------
    ImportSummary

    Raises
    ------
    FileFormatError
        If a file is missing, damaged, of an unknown kind, or cannot be read faithfully.
    DataError
        If the files do not fit together, or a column or a label is missing.
    ParameterError
        If parameters contradict each other or the kind of the files.
    OutputError
        If the store cannot be written.

    Warns
    -----
    FileFormatWarning
        If something in an FCS file was repaired or left out.
    """
    files = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    files = [Path(path) for path in files]
    kind = _kind(files, format)
    target = Path(out)
    check_target(target, overwrite=overwrite)
    if kind == "fcs":
        if label is not None or sample_id is not None:
            raise ParameterError("label and sample_id name columns of tables; use labels for FCS")
        own = _labels_by_file(files, labels)
        sources = [
            open_fcs(path, compensate=compensate, dataset=dataset, offsets=offsets, label=codes)
            for path, codes in zip(files, own, strict=True)
        ]
    else:
        if compensate or offsets is not None or dataset or labels is not None:
            raise ParameterError(
                "compensate, offsets, dataset and labels are for FCS files, "
                f"but {files[0]} is {kind}"
            )
        opener = {"csv": open_csv, "parquet": open_parquet, "anndata": open_anndata}[kind]
        sources = [opener(path, label=label, sample_id=sample_id) for path in files]
    features, columns = match_features(sources, channels)
    chosen = _transform(kind, transform, cofactor, sources)
    linear = _linear_features(features, sources[0], untransformed)
    job = _Job(sources, columns, features, chosen, linear)
    return job.run(
        target,
        label_names=label_names if label_names is not None or labels is None else _numbered(own),
        has_label=label is not None or labels is not None,
        has_sample_id=sample_id is not None,
        dtype=dtype,
        keep_raw=keep_raw,
        overwrite=overwrite,
        progress=progress,
    )

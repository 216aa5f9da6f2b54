"""Digest of the values of some rows, by which answers are told to belong to a data set."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bigtensor.data.anndata.files import element_keys
from bigtensor.data.opening import open_samples
from bigtensor.data.rows.rows_where import all_rows
from bigtensor.data.rows.samples import Samples
from bigtensor.data.sources.anndata_source import holds_anndata
from bigtensor.data.sources.csr_source import is_sparse
from bigtensor.data.sources.row_sources import LazySource
from bigtensor.data.stores.layout import MATRIX
from bigtensor.errors import DataError, FileFormatError, OtherRowsWarning, StoreReadError, warn

ROWS_DIGEST = "rows_digest"
"""Attribute of answers that holds the digest of their rows."""

_COMPARED_ROWS = 3
"""Rows in the digest, evenly spaced. Each one costs the reading of a chunk."""


def rows_digest(samples: Samples, features: Sequence[str]) -> str | None:
    """Return a digest of the values of a few rows, the same for every copy of the data.

    Values are compared in float32, so that an array in memory has the digest of its store.

    Parameters
    ----------
    samples : Samples
        Rows. Those that a condition leaves out are in the digest, too.
    features : sequence of str
        Names of the features in the digest.

    Returns
    -------
    str, optional
        None for sparse counts, for lazy arrays, whose graph would be computed, for names, and for
        data without one of the features.
    """
    sources = [all_rows(source) for source in samples.sources]
    if any(is_sparse(source) or isinstance(source, LazySource) for source in sources):
        return None
    names = list(sources[0].features)
    if not samples.source_rows or not {*features} <= {*names}:
        return None
    columns = [names.index(feature) for feature in features]
    ends = np.cumsum([source.rows for source in sources])
    digest = hashlib.sha256(str(samples.source_rows).encode())
    for row in np.linspace(0, samples.source_rows - 1, _COMPARED_ROWS).astype(int):
        number = int(np.searchsorted(ends, row, side="right"))
        start = int(row - ends[number] + sources[number].rows)
        values = np.asarray(sources[number].read(start, start + 1).values)
        if values.dtype.kind not in "biuf":
            return None
        digest.update(repr(values[0, columns].astype(np.float32).tolist()).encode())
    return digest.hexdigest()


def warn_of_other_rows(attrs: Mapping[str, Any], rows: Samples | str | os.PathLike[str]) -> None:
    """Warn of answers that were computed from rows with other values.

    Cells that were imported again with another transform have other values, too, so that other
    rows are not refused.

    Parameters
    ----------
    attrs : mapping
        Attributes of the answers. Those without a digest are not compared.
    rows : Samples, path or URL
        Rows that the answers should belong to.
    """
    digest = attrs.get(ROWS_DIGEST)
    if digest is None:
        return
    samples = rows if isinstance(rows, Samples) else _opened(rows, attrs.get(MATRIX, ""))
    features = [name for members in attrs["views"].values() for name in members]
    if rows_digest(samples, features) != digest:
        warn(
            f"{samples.describe()} has other values than the data that 'bigtensor predict' was "
            "given; this is right for the same rows with another transform or other names, and "
            "wrong for other rows, which get answers that are not theirs",
            OtherRowsWarning,
        )


def _opened(rows: str | os.PathLike[str], matrix: str) -> Samples:
    """Open rows, of AnnData the matrix that the answers are for."""
    if not holds_anndata(rows):
        return open_samples(rows)
    layer, obsm = element_keys(matrix)
    try:
        return open_samples(rows, layer=layer, obsm=obsm)
    except (FileFormatError, StoreReadError):
        raise
    except DataError:
        # without that matrix they are other data, which their values tell
        return open_samples(rows)

"""Description of AnnData in a file or a store for ``bigtensor info``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from bigtensor.cli.descriptions.feature_quantiles import feature_quantiles, quantile_lines
from bigtensor.cli.descriptions.sample_info import shape_in_words
from bigtensor.cli.output import one_line, shortened
from bigtensor.errors import DataError

if TYPE_CHECKING:
    from bigtensor.data.anndata.stored_elements import StoredElement, StoredGroup

MOST_NAMES = 12
"""Names of features that are listed. AnnData has thousands of genes."""


def anndata_facts(path: str) -> dict[str, Any]:
    """Return the facts of AnnData.

    Parameters
    ----------
    path : str
        Path or URL.

    Returns
    -------
    dict
        ``quantiles`` are None for counts, and where a fit could not read X; ``problem`` says why.

    Raises
    ------
    FileFormatError, StoreReadError
        When it cannot be read.
    """
    from bigtensor.data.addresses.file_formats import reading
    from bigtensor.data.anndata.columns import column_length, index_of, read_column
    from bigtensor.data.anndata.files import check_frames, keys_of, open_anndata_root
    from bigtensor.data.opening import open_samples
    from bigtensor.models.contract.data_kinds import Data

    with reading(path, "AnnData"), open_anndata_root(path) as group:
        check_frames(path, group)
        facts: dict[str, Any] = {
            "kind": "anndata",
            "rows": column_length(index_of(group["obs"])),
            "features": [str(name) for name in read_column(index_of(group["var"]))],
            "x": _matrix_facts("X", group["X"]) if "X" in group else None,
            "layers": [
                _matrix_facts(key, group["layers"][key]) for key in keys_of(group, "layers")
            ],
            "obsm": [_matrix_facts(key, group["obsm"][key]) for key in keys_of(group, "obsm")],
            "obs": [_column_facts(name, group["obs"]) for name in _columns(group["obs"])],
        }
    quantiles, problem, counts = None, None, False
    try:
        samples = open_samples(path)
        counts = samples.kind == "counts" and samples.dtype.kind in "iu"
        if not counts:
            measured = Data(kinds={"measured"}).check(samples, "a mixture of densities")
            quantiles = feature_quantiles(measured)
    except DataError as error:
        problem = str(error)
    return {**facts, "quantiles": quantiles, "problem": problem, "counts": counts}


def anndata_lines(facts: Mapping[str, Any]) -> Iterator[str]:
    """Describe AnnData in words."""
    features = facts["features"]
    yield f"anndata    {facts['path']}: {facts['rows']:,} rows x {len(features):,} features"
    yield f"features   {shortened(features, MOST_NAMES)}"
    yield f"values     {'no X' if facts['x'] is None else 'X ' + _stored_as(facts['x'])}"
    if facts["problem"] is not None:
        yield f"problem    {one_line(facts['problem'])}"
    elif facts["counts"]:
        yield "counts     whole numbers in sparse rows, for bigtensor fit --model topic"
    else:
        yield from quantile_lines(facts["quantiles"])
    for part, option in (("layers", "layer"), ("obsm", "obsm")):
        if facts[part]:
            yield f"{part:<10} of open_samples(..., {option}=...) and 'bigtensor import --{option}'"
        for matrix in facts[part]:
            size = f"({shape_in_words(matrix['shape'])}) " if matrix["shape"] else ""
            yield f"  {one_line(matrix['name']):<20} {size}{_stored_as(matrix)}"
    if facts["obs"]:
        yield "obs"
    for column in facts["obs"]:
        names = column["categories"]
        named = f": {shortened(names)}" if names else ""
        yield f"  {one_line(column['name']):<20} {column['dtype']}{named}"


def _stored_as(matrix: Mapping[str, Any]) -> str:
    """Return how a matrix is stored in words."""
    words = {
        "csr_matrix": "sparse in rows (CSR)",
        "csc_matrix": "sparse in columns (CSC)",
        "array": "dense",
        "dataframe": "data frame",
    }
    dtype = "" if matrix["dtype"] is None else f"{matrix['dtype']}, "
    chunks = f", chunks of {shape_in_words(matrix['chunks'])}" if matrix["chunks"] else ""
    listed = f": {shortened(matrix['columns'])}" if matrix["columns"] else ""
    return f"{dtype}{words.get(matrix['encoding'], matrix['encoding'])}{chunks}{listed}"


def _matrix_facts(name: str, stored: StoredElement) -> dict[str, Any]:
    """Return the facts of a stored matrix, whatever its kind."""
    from bigtensor.data.anndata.files import encoding_of
    from bigtensor.data.anndata.stored_elements import StoredGroup

    encoding = encoding_of(stored)
    values = stored.get("data") if isinstance(stored, StoredGroup) else stored
    shape = stored.attrs.get("shape") if isinstance(stored, StoredGroup) else stored.shape
    columns = stored.attrs.get("column-order") if encoding == "dataframe" else None
    return {
        "name": name,
        "encoding": encoding,
        "dtype": None if not hasattr(values, "dtype") else str(values.dtype),
        "shape": [] if shape is None else [int(length) for length in shape],
        "chunks": None if encoding != "array" else getattr(stored, "chunks", None),
        "columns": [] if columns is None else [str(column) for column in columns],
    }


def _columns(frame: StoredGroup) -> list[str]:
    """Return the names of the columns of a stored data frame."""
    stored = set(frame.keys())
    return [str(name) for name in frame.attrs.get("column-order", ()) if str(name) in stored]


def _column_facts(name: str, frame: StoredGroup) -> dict[str, Any]:
    """Return the facts of a column of obs; of its values only the categories are read."""
    from bigtensor.data.anndata.columns import read_column

    stored, categories = frame[name], []
    if not hasattr(stored, "keys"):
        kind = "string" if stored.dtype.kind in "OTUS" else str(stored.dtype)
    elif "categories" in stored:
        kind, categories = (
            "categorical",
            [str(entry) for entry in read_column(stored["categories"])],
        )
    else:
        kind = str(stored.attrs.get("encoding-type", "unknown"))
    return {"name": name, "dtype": kind, "categories": categories}

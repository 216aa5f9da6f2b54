"""Comparison of the events of an FCS file with the rows that were imported from it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bigtensor.array_types import FloatArray
from bigtensor.data.importers.fcs.events import read_events
from bigtensor.data.importers.fcs.header import FcsHeader
from bigtensor.data.importers.scales import recorded_transform
from bigtensor.data.importers.transforms import Linear, Transform
from bigtensor.data.stores.zarr_groups import read_rows
from bigtensor.data.values.import_record import COMPENSATION, TRANSFORM
from bigtensor.errors import DataError, OtherRowsWarning, warn

if TYPE_CHECKING:
    import zarr

_COMPARED_EVENTS = 3
"""Events of a file that are compared, evenly spaced. Each one costs the reading of a chunk."""

_TOLERANCE = 1e-5
"""Relative difference of values that float32 and the removal of spillover may make."""


def warn_of_other_events(header: FcsHeader, cells: zarr.Group, start: int) -> None:
    """Warn of a file whose events have other values than the rows of its name.

    The values are imported again, as the store records it. Channels that the store lacks are not
    compared, and nothing is compared with stores that have no record of an import.

    Parameters
    ----------
    header : FcsHeader
        Header of the file.
    cells : zarr.Group
        Store of the import.
    start : int
        First of the rows that were imported from a file of this name.

    Warns
    -----
    OtherRowsWarning
    """
    arrays = dict(cells.arrays())
    record: Any = cells.attrs.get(TRANSFORM)
    if not {"X", "channel", "feature"} <= {*arrays} or not isinstance(record, dict):
        return
    features, channels = (
        [str(name) for name in read_rows(arrays[name], 0, int(arrays[name].shape[0]))]
        for name in ("feature", "channel")
    )
    matched = [j for j, channel in enumerate(channels) if channel in header.channels]
    if not matched or not header.n_rows:
        return
    events = np.linspace(0, header.n_rows - 1, _COMPARED_EVENTS).astype(int).tolist()
    stored = np.concatenate(
        [read_rows(arrays["X"], start + event, start + event + 1) for event in events]
    )
    try:
        values = read_events(header, events, compensate=bool(cells.attrs.get(COMPENSATION)))
    except DataError:
        # a file without the spillover matrix that the import has removed
        values = np.full((len(events), len(header.channels)), np.inf)
    columns = [header.channels.index(channels[j]) for j in matched]
    linear = np.array([features[j] in record.get("untransformed", ()) for j in matched])
    expected = _imported(values[:, columns], linear, record)
    alike = np.isclose(stored[:, matched], expected, _TOLERANCE, _TOLERANCE, equal_nan=True)
    comparable = linear if _transform(record) is None else np.ones_like(linear)
    if not alike[:, comparable].all():
        warn(
            f"events of {header.path} have other values than the rows that were imported from a "
            "file of this name; the labels of its copy belong to other events unless only its "
            "values were changed since; give the file that was imported",
            OtherRowsWarning,
        )


def _imported(values: FloatArray, linear: np.ndarray[Any, Any], record: Any) -> FloatArray:
    """Return values as the import stores them."""
    transform = _transform(record) or Linear()
    return np.where(linear, values, transform(values))


def _transform(record: dict[str, Any]) -> Transform | None:
    """Return the transform of an import, None if it cannot be made again."""
    try:
        return recorded_transform(record, "the store")
    except DataError:
        return None

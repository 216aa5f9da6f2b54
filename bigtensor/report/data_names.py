"""Names of the data of a report: those of the fit, and other data that it shows."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING

from bigtensor.data.addresses.store_address import as_address, name_of
from bigtensor.models.words.sampled_rows import SampledRows

if TYPE_CHECKING:
    from bigtensor.models.contract.estimator import Estimator

STORE_ENDINGS = (".zarr", ".h5ad")
"""Ends of the names of stores, whose names are titles of their reports."""


def name_of_fit(model: Estimator) -> str:
    """Return the name of the data of the fit with their size, of a store without its folder."""
    return _without_folder(str(model.diagnostics_["data"]))


def name_of_other_data(model: Estimator, rows: SampledRows | None) -> str:
    """Return the name of the data that a report shows, empty for those of the fit.

    Data of one name and size are the same, because a store may have been moved since the fit.

    Parameters
    ----------
    model : fitted model
        Model that the report describes.
    rows : SampledRows, optional
        Sample of the data. None if the report has no data.
    """
    if rows is None or rows.samples is None:
        return ""
    name = _without_folder(rows.samples.describe())
    return "" if name == name_of_fit(model) else name


def title_of(model: Estimator, rows: SampledRows | None) -> str:
    """Return the name of the store that a report shows without its ending, or of the model."""
    words = name_of_other_data(model, rows) or name_of_fit(model)
    name = words.rsplit(" (", 1)[0]
    return PurePath(name).stem if name.endswith(STORE_ENDINGS) else type(model).__name__


def _without_folder(words: str) -> str:
    """Return words that name data, of a store without its folder."""
    path, _, rows = words.rpartition(" (")
    if not path.endswith(STORE_ENDINGS):
        return words
    return f"{PurePath(name_of(as_address(path))).name} ({rows}"

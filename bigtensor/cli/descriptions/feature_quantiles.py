"""Quantiles of every feature, from windows of rows spread over the data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from bigtensor.cli.output import one_line

if TYPE_CHECKING:
    from bigtensor.data.rows.samples import Samples

WINDOWS, WINDOW_ROWS = 16, 1024
"""Windows that are read, and rows of each."""

MOST_VALUES = 2**25
"""Values that are held at most: windows are shorter where there are thousands of features."""

MOST_SHOWN = 50
"""Features in the table."""

LEVELS = (0.01, 0.25, 0.5, 0.75, 0.99)
"""Levels of the quantiles in the table."""


def feature_quantiles(samples: Samples) -> dict[str, Any]:
    """Return quantiles of every feature.

    Parameters
    ----------
    samples : Samples
        Opened data. At most `WINDOWS` windows of consecutive rows are read.

    Returns
    -------
    dict
        ``rows`` that were read, ``levels``, and ``features``: by name the ``quantiles`` of the
        finite values (None without any) and the share that is ``missing``.

    Raises
    ------
    StoreReadError
        When rows cannot be read.
    """
    import numpy as np

    length = max(1, min(WINDOW_ROWS, MOST_VALUES // (WINDOWS * len(samples.features))))
    if samples.rows <= WINDOWS * length:
        starts = list(range(0, samples.rows, length))
    else:
        starts = np.linspace(0, samples.rows - length, WINDOWS).astype(int).tolist()
    parts = []
    for start in starts:
        source, offset = samples.locate(start)
        stop = min(start - offset + length, source.rows)
        parts.append(np.asarray(source.read(start - offset, stop).values, np.float64))
    values = np.concatenate(parts)
    by_feature = {}
    for column, name in enumerate(samples.features):
        finite = values[np.isfinite(values[:, column]), column]
        by_feature[name] = {
            "quantiles": np.quantile(finite, LEVELS).tolist() if finite.size else None,
            "missing": 1 - finite.size / len(values),
        }
    return {"rows": len(values), "levels": LEVELS, "features": by_feature}


def quantile_lines(quantiles: dict[str, Any]) -> Iterator[str]:
    """Write quantiles as a table.

    Parameters
    ----------
    quantiles : dict
        From `feature_quantiles`.
    """
    headers = "".join(f"{level:>10.0%}" for level in quantiles["levels"])
    yield f"quantiles  of {quantiles['rows']:,} rows spread over the data"
    yield f"  {'':<20}{headers}"
    features = list(quantiles["features"].items())
    for name, one in features[:MOST_SHOWN]:
        cells = (
            " no finite value"
            if one["quantiles"] is None
            else "".join(f"{value:>10.4g}" for value in one["quantiles"])
        )
        missing = f"  {one['missing']:.2%} missing" if one["missing"] else ""
        yield f"  {one_line(name):<20}{cells}{missing}"
    if len(features) > MOST_SHOWN:
        yield f"  ... {len(features):,} features in all; --json has the others"

"""Time of a fit of many rows in a store, beside scikit-learn on its first rows in memory.

``python -m tests.benchmarks.gaussian_mixture.many_rows --rows 10_000_000``

Ten features, 20 components with a full covariance each. The time of scikit-learn (one
initialisation, its own tolerance) is scaled to all rows.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import zarr
from sklearn.mixture import GaussianMixture as Peer

from bigtensor import GaussianMixture
from bigtensor.data.simulate import write_gaussian_mixture
from tests.benchmarks.tables import Report, Row

COMPONENTS, FEATURES = 20, 10


def our_fit(store: str, rows: int, scheduler: str, workers: int) -> Row:
    """Return time and likelihood of a fit of all rows."""
    begin = time.perf_counter()
    model = GaussianMixture(COMPONENTS).fit(store, scheduler=scheduler, workers=workers)
    return {
        "method": f"bigtensor, {workers} {scheduler}",
        "rows": rows,
        "seconds": round(time.perf_counter() - begin, 1),
        "iterations": model.n_iter_,
        "log-likelihood": round(model.lower_bounds_[-1], 4),
    }


def peer_fit(store: str, rows: int) -> Row:
    """Return time and likelihood of scikit-learn's fit of the first rows."""
    values = np.asarray(zarr.open_group(store, mode="r")["X"][:rows])
    begin = time.perf_counter()
    model = Peer(COMPONENTS, random_state=0).fit(values)
    return {
        "method": "scikit-learn",
        "rows": rows,
        "seconds": round(time.perf_counter() - begin, 1),
        "iterations": model.n_iter_,
        "log-likelihood": round(float(model.score(values)), 4),
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table, and return zero."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--peer-rows", type=int, default=1_000_000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--out", type=Path)
    chosen = parser.parse_args(arguments)
    report = Report("many_rows", {"rows": chosen.rows, "workers": chosen.workers}, chosen.out)
    with tempfile.TemporaryDirectory() as folder:
        store = str(Path(folder) / "rows.zarr")
        write_gaussian_mixture(store, chosen.rows, COMPONENTS, n_features=FEATURES, random_state=0)
        peer = peer_fit(store, min(chosen.peer_rows, chosen.rows))
        ours = [
            our_fit(store, chosen.rows, scheduler, chosen.workers)
            for scheduler in ("threads", "processes")
        ]
    scaled = peer["seconds"] * chosen.rows / peer["rows"]
    rows = [{**row, "of the peer's, scaled": round(row["seconds"] / scaled, 3)} for row in ours]
    report.add("full covariances", [*rows, {**peer, "of the peer's, scaled": 1.0}])
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

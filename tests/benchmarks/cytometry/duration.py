"""How long fit and labels of ten times the cells take, against FlowSOM on the cells once."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path

import xarray as xr

from bigtensor.engine.clusters.local_cluster import local_cluster
from tests.benchmarks.baselines import flowsom_labels
from tests.benchmarks.cytometry.cells import Cells, repeat_cells
from tests.benchmarks.cytometry.methods import kernel_mixture, unsettled_fits_allowed
from tests.benchmarks.matching import match_clusters
from tests.benchmarks.tables import Report, Row

WORKERS = 2
MEMORY_LIMIT = 2**30
TIMES = 10
LARGEST_RATIO = 0.1


def add_times(report: Report, cells: Cells, folder: Path, counts: Sequence[int]) -> None:
    """Print the times with the load of the machine beside them, and the bar."""
    rows = duration_rows(cells, folder, counts, TIMES)
    notes = [
        f"the library: {WORKERS} new workers of 1 GiB, from a store, start and stop included; "
        f"{TIMES} times the cells",
        f"FlowSOM: the cells once, in memory, all processors as it likes; its time x {TIMES}",
        "wall time, and processor time of all processes; load: processes that wanted to run in the "
        f"minute before, on {os.cpu_count()} processors",
    ]
    report.add("Time", rows, notes)


def duration_rows(cells: Cells, folder: Path, counts: Sequence[int], times: int) -> list[Row]:
    """Time FlowSOM and the library in turn, once for every number of clusters."""
    values = cells.values()
    store = repeat_cells(cells, folder / "repeated.zarr", times)
    # what FlowSOM compiles at first use is compiled before
    flowsom_labels(values[:2000], min(counts))
    table = []
    for count in counts:
        load_before = os.getloadavg()[0]
        start, used = time.perf_counter(), time.process_time()
        peer_labels = flowsom_labels(values, count)
        peer, peer_used = time.perf_counter() - start, time.process_time() - used
        load_between = os.getloadavg()[0]
        ours = _library_row(cells, store, folder / "labels.zarr", count)
        ratio = ours["seconds"] / (times * peer)
        table.append(
            {
                "k": count,
                "rows": times * len(values),
                **ours,
                f"FlowSOM s x {times}": times * peer,
                f"FlowSOM processor s x {times}": times * peer_used,
                "FlowSOM F1": match_clusters(peer_labels, cells.gates).mean_f1,
                "load, FlowSOM": load_before,
                "load, ours": load_between,
                "ratio": ratio,
                "bars": f"ratio <= {LARGEST_RATIO:g}",
                "holds": ratio <= LARGEST_RATIO,
            }
        )
    return table


def _library_row(cells: Cells, store: Path, labels: Path, count: int) -> Row:
    """Fit and label all rows; F1 is of the first repetition."""
    model = kernel_mixture(0, views=cells.views, n_populations=count)
    began, used = time.perf_counter(), time.process_time()
    with local_cluster(WORKERS, MEMORY_LIMIT) as client:
        running = time.perf_counter()
        with unsettled_fits_allowed():
            model.fit(store, client=client)
        fitted = time.perf_counter()
        model.write(store, labels, overwrite=True, client=client)
        written = time.perf_counter()
        workers_used = sum(client.run(time.process_time).values())
    seconds = time.perf_counter() - began
    processor = time.process_time() - used + workers_used
    with xr.open_zarr(labels) as answers:
        found = answers["label"][: len(cells.gates)].to_numpy()
    return {
        "seconds": seconds,
        "workers": seconds - (written - running),
        "fit": fitted - running,
        "label": written - fitted,
        "processor s": processor,
        "mean F1": match_clusters(found, cells.gates).mean_f1,
    }

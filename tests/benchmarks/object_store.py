"""A fit on an S3 server that answers every request late, against a disk and the bare reads.

    python -m tests.benchmarks.object_store --rows 2e6

The server, the proxy in front of it and the fit share the processors of one machine, so that their
processor time is printed too.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from tests.benchmarks.tables import Report, Row
from tests.object_stores import BUCKET, Proxy, s3_server, slow_proxy

N_COMPONENTS = 8
MARKERS = 6
EM_PASSES = 4
DELAY = 0.03
"""Seconds before a request is passed on: a store in another region."""

ALLOWED_RATIO, ALLOWED_SECONDS = 1.2, 3.0
"""Longest time of a fit, against the larger of the local fit and the bare reads, and on top."""


def object_store_rows(folder: Path, rows: int, repeats: int = 1, reset: float = 0) -> list[Row]:
    """Time a fit on a disk, behind the proxy, and the bare reads of as many bytes."""
    with s3_server(folder) as server:
        cells = server.root / BUCKET / "cells.zarr"
        _run("write", {}, cells, rows)
        with slow_proxy(server.port, folder, delay=DELAY, reset=reset) as proxy:
            times: dict[str, list[dict[str, Any]]] = {"disk": [], "bare reads": [], "S3": []}
            for _ in range(repeats):
                local = _run("fit", {}, cells)
                times["disk"].append(local)
                url = f"s3://{BUCKET}/cells.zarr"
                environment = proxy.environment | {"PROXY": str(proxy.port)}
                times["bare reads"].append(_run("read", environment, url, local["nbytes"]))
                times["S3"].append(_run("fit", environment, url))
    best = {name: min(runs, key=lambda run: run["seconds"]) for name, runs in times.items()}
    floor = max(best["disk"]["seconds"], best["bare reads"]["seconds"])
    table: list[Row] = []
    for name, run in best.items():
        table.append(
            {
                "rows": rows,
                "from": name,
                "seconds": run["seconds"],
                "processor s": run["processor"],
                "requests": sum(run["requests"].values()),
                "last pass": run["requests_of_a_pass"],
                "resets": run["requests"].get("reset", 0),
                "same bits": run["bits"] == best["disk"]["bits"] if run["bits"] else None,
            }
        )
    bar = ALLOWED_RATIO * floor + ALLOWED_SECONDS
    table[-1] |= {
        "ratio": best["S3"]["seconds"] / floor,
        "bars": f"seconds <= {bar:.1f}",
        "holds": best["S3"]["seconds"] <= bar,
    }
    return table


def _run(task: str, environment: dict[str, str], *arguments: Any) -> dict[str, Any]:
    """Run a task of this file in a process of its own, and return what it prints."""
    command = [
        sys.executable,
        "-m",
        "tests.benchmarks.object_store",
        "--task",
        task,
        *map(str, arguments),
    ]
    answer = subprocess.run(
        command, env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )
    if answer.returncode:
        raise RuntimeError(answer.stderr)
    result: dict[str, Any] = json.loads(answer.stdout.splitlines()[-1])
    return result


def _write(store: str, rows: str) -> dict[str, Any]:
    """Write simulated cells."""
    from bigtensor.data.simulate import write_cytometry

    write_cytometry(store, int(rows), N_COMPONENTS, markers=MARKERS, random_state=3)
    return {}


def _fit(store: str) -> dict[str, Any]:
    """Fit a model, after a small fit that compiles everything."""
    import numpy as np

    from bigtensor import KernelMixture
    from bigtensor.data.simulate import cytometry

    small = cytometry(20_000, N_COMPONENTS, markers=MARKERS, random_state=4)
    KernelMixture(N_COMPONENTS, max_iter=EM_PASSES, random_state=0).fit(small, scheduler="threads")
    counts, passes = [_requests()], []

    def listen(event: Any) -> None:
        if event.kind == "pass finished":
            counts.append(_requests())
            passes.append(sum(counts[-1].values()))

    begin, before = time.perf_counter(), _processor_seconds()
    model = KernelMixture(N_COMPONENTS, max_iter=EM_PASSES, random_state=0)
    model.fit(store, scheduler="threads", listeners=[listen])
    seconds, processor = time.perf_counter() - begin, _processor_seconds() - before
    passes_read = model.diagnostics_["passes"]
    packed = model.to_contents()
    return {
        "seconds": seconds,
        "processor": processor,
        "nbytes": sum(entry["rows"] for entry in passes_read) * 4 * len(model.views_.order),
        "requests": sum([*counts[1:], _requests()], Counter()),
        "requests_of_a_pass": passes[-1],
        "bits": _digest({name: np.asarray(packed.arrays[name]) for name in packed.arrays}),
    }


def _read(store: str, nbytes: str) -> dict[str, Any]:
    """Read as many bytes as a fit does, from an array that is opened once."""
    import zarr

    from bigtensor.data.rows.samples import READ_NBYTES

    _requests()
    begin, before = time.perf_counter(), _processor_seconds()
    array: Any = zarr.open_array(store, path="X", mode="r")
    row_nbytes = array.shape[1] * array.dtype.itemsize
    step = READ_NBYTES // row_nbytes // array.chunks[0] * array.chunks[0]
    left = int(nbytes)
    while left > 0:
        for start in range(0, array.shape[0], step):
            left -= array[start : start + step].nbytes
            if left <= 0:
                break
    return {
        "seconds": time.perf_counter() - begin,
        "processor": _processor_seconds() - before,
        "requests": _requests(),
        "requests_of_a_pass": 0,
        "bits": None,
    }


def _requests() -> Counter[str]:
    """Return the requests since the last call, none without a proxy."""
    port = os.environ.get("PROXY")
    return Counter() if port is None else Proxy(int(port)).requests()


def _processor_seconds() -> float:
    """Return the processor time of this process."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def _digest(arrays: dict[str, Any]) -> str:
    """Return a digest of named arrays."""
    from bigtensor.engine.checkpoint import content_key

    return content_key(arrays)


_TASKS = {"write": _write, "fit": _fit, "read": _read}


def main() -> None:
    """Print the table, or run one task of it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=float, default=2e6)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--reset", type=float, default=0, help="Share of requests that are cut.")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--task", nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.task is not None:
        print(json.dumps(_TASKS[options.task[0]](*options.task[1:])))
        return
    report = Report("object_store", vars(options) | {"out": str(options.out)}, options.out)
    with tempfile.TemporaryDirectory() as folder:
        table = object_store_rows(Path(folder), int(options.rows), options.repeats, options.reset)
    report.add(f"Fit on S3, {DELAY * 1000:.0f} ms a request", table)
    sys.exit(bool(report.missed))


if __name__ == "__main__":
    main()

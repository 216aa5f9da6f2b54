"""The moments pass: float32 features against float64 ones, and its share of the GEMM rate."""

from __future__ import annotations

from dataclasses import replace
from statistics import median

import numpy as np

from bigtensor import KernelMixture, SpectralOptions
from bigtensor.data.opening import open_samples
from bigtensor.data.simulate import kernel_mixture
from bigtensor.engine.blas import single_blas_thread
from bigtensor.engine.reduce import run_pass
from bigtensor.engine.threads import ThreadedRuntime
from bigtensor.features.group_map import GroupMap
from bigtensor.features.kernels.nystroem import Nystroem
from bigtensor.statistics.base import Pass
from bigtensor.statistics.moments.triple_moments import TripleMoments
from bigtensor.statistics.validity import Checked
from tests.benchmarks.floors import flop_rate
from tests.benchmarks.kernels import kernel_seconds
from tests.benchmarks.preparations import statistic_of
from tests.benchmarks.tables import Row

VIEWS, LANDMARKS, COMPONENTS, DIRECTIONS = 3, 100, 3, 9
FLOPS = 2 * VIEWS * LANDMARKS * (1 + 2) + 2 * VIEWS * LANDMARKS * DIRECTIONS + 2 * DIRECTIONS**3
"""Of a row: exponents and projection of every one-dimensional view, and the triple product."""


def precision_row(rows: int, bound: float = 1e-6) -> Row:
    """Compare the triple moment from float32 features with the one from float64 features."""
    data = kernel_mixture(rows, 4, "gaussian", 4.0, random_state=4)
    samples = open_samples(data)
    single = statistic_of(KernelMixture(4), samples, "moments")
    assert isinstance(single, TripleMoments)
    first, second, third = (
        GroupMap(
            group.views,
            tuple(
                replace(part, dtype="float64") for part in group.maps if isinstance(part, Nystroem)
            ),
        )
        for group in single.groups
    )
    double = TripleMoments((first, second, third))
    triples = [
        run_pass(samples, Pass("moments", statistic), ThreadedRuntime(1)).triple
        for statistic in (single, double)
    ]
    difference = float(np.abs(triples[0] - triples[1]).max() / np.abs(triples[1]).max())
    return {
        "rows": rows,
        "directions": first.n_features,
        "relative difference": difference,
        "bars": f"relative difference <= {bound:g}",
        "holds": difference <= bound,
    }


def rate_row(rows: int, repeats: int = 3, bound: float = 0.15) -> Row:
    """Compare operations a second of the moments pass with those of a large product.

    Float32 rows in memory, one thread, processor time; rates are measured in turn. The operations
    are those of the formulas, however the pass comes by its features.
    """
    values = kernel_mixture(rows, COMPONENTS, random_state=3)["X"].to_numpy().astype(np.float32)
    samples = open_samples(values)
    model = KernelMixture(
        COMPONENTS, spectral=SpectralOptions(n_landmarks=LANDMARKS, n_directions=DIRECTIONS)
    )
    statistic = Checked(statistic_of(model, samples, "moments"))
    gemm, passes = [], []
    with single_blas_thread():
        for _ in range(repeats):
            gemm.append(flop_rate())
            passes.append(rows / kernel_seconds(samples, statistic, 1)["processor"])
    share = median(FLOPS * rate / product for rate, product in zip(passes, gemm, strict=True))
    return {
        "rows": rows,
        "landmarks": LANDMARKS,
        "directions": DIRECTIONS,
        "Mrows/s": 1e-6 * median(passes),
        "GEMM Gflop/s": 1e-9 * median(gemm),
        "share of GEMM rate": share,
        "bars": f"share of GEMM rate >= {bound:g}",
        "holds": share >= bound,
    }

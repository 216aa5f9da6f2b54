"""The passes that a fit would ask for, taken out of its script, and rows to run them on."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from bigtensor import KernelMixture
from bigtensor.data.opening import open_samples
from bigtensor.data.rows.samples import Samples
from bigtensor.engine.blas import single_blas_thread
from bigtensor.engine.reduce import run_pass
from bigtensor.engine.threads import ThreadedRuntime
from bigtensor.errors import ConditioningWarning
from bigtensor.models.contract.data_shape import DataShape
from bigtensor.models.contract.script import Estimate, Step
from bigtensor.statistics.base import Pass, Statistic

PILOT_ROWS = 20_000


@contextmanager
def doubtful_starts_allowed() -> Iterator[None]:
    """Silence the warning of a spectral start: how good it is shows in the accuracy."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConditioningWarning)
        yield


def in_memory(samples: Samples, rows: int) -> Samples:
    """Return the first rows of samples of one source, held in memory."""
    source, _ = samples.locate(0)
    values = np.ascontiguousarray(source.read(0, min(rows, samples.rows)).values)
    return open_samples(values).with_views(samples.views)


def statistic_of(model: KernelMixture, samples: Samples, name: str) -> Statistic[Any]:
    """Return the statistic of one pass of a fit; the passes before it see the pilot's rows.

    Parameters
    ----------
    model : KernelMixture
    samples : Samples
    name : str
        ``"moments"`` or ``"posterior 1"``.
    """
    shape = DataShape(
        samples.rows, samples.views.features, str(samples.dtype), False, samples.effective_rows
    )
    runtime = ThreadedRuntime(1)
    script = model.script(model.steps.settings_of(model.parameter_values(), shape))
    result: Any = None
    windows: tuple[tuple[int, int], ...] | None = None
    with single_blas_thread(), doubtful_starts_allowed():
        while True:
            wanted = script.send(result)
            if isinstance(wanted, Estimate | Step):
                result = None
                continue
            if wanted.name == name:
                statistic: Statistic[Any] = wanted.statistic
                return statistic
            if wanted.name == "pilot":
                windows = wanted.rows
            result = run_pass(samples, Pass(wanted.name, wanted.statistic, windows), runtime)

"""The peak of fits of moment models stays below the plan, and does not grow with the rows."""

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from bigtensor import (
    GaussianMixture,
    HiddenMarkovModel,
    KernelICA,
    LinearMixture,
    SparseICA,
    TensorTrainDensity,
    TopicModel,
)
from bigtensor.data.simulate.gaussian_mixture import write_gaussian_mixture
from bigtensor.data.simulate.hidden_markov import write_hidden_markov
from bigtensor.data.simulate.ica import write_ica
from bigtensor.data.simulate.latent_chain import write_latent_chain
from bigtensor.data.simulate.linear_mixture import write_linear_mixture
from bigtensor.data.simulate.topics import write_topics
from bigtensor.engine.clusters.local_cluster import local_cluster
from tests.memory.test_worker_memory import MiB, peak_nbytes, printed_peak

K, D = 15, 10
RANK = 8
SIZES = (1_000_000, 4_000_000)
NAMES = ("linear", "gaussian", "sparse", "kernel", "sequences", "train", "topics")

pytestmark = [
    pytest.mark.alone,
    pytest.mark.slow,
    pytest.mark.skipif(
        not Path("/proc/self/status").exists(), reason="the peak is read from Linux's /proc"
    ),
]


def model_of(name: str) -> Any:
    """Return the unfitted model of a name."""
    if name == "linear":
        views = {view: [f"{view}{i}" for i in range(D)] for view in "abc"}
        return LinearMixture(K, views=views, random_state=0)
    if name == "sparse":
        return SparseICA(K, random_state=0)
    if name == "kernel":
        return KernelICA(4, random_state=0)
    if name == "sequences":
        return HiddenMarkovModel(RANK, refine="sequences", max_iter=2, random_state=0)
    if name == "train":
        return TensorTrainDensity(RANK, random_state=0)
    if name == "topics":
        return TopicModel(K, max_iter=2, random_state=0)
    return GaussianMixture(K, random_state=0)


def size_of(fitted: Any) -> int:
    """Return the number of components, states or values of a latent state."""
    if isinstance(fitted, HiddenMarkovModel):
        return len(fitted.transition_)
    return int(fitted.solution_.n_components)


def write(name: str, path: Path, rows: int) -> str:
    """Write rows of a model."""
    write_rows = {
        "linear": partial(write_linear_mixture, noise=0.5),
        "gaussian": partial(write_gaussian_mixture, noise=0.5),
        "sparse": partial(write_ica, sources="sparse", noise=0.05),
        "kernel": write_ica,
        "sequences": partial(write_hidden_markov, n_symbols=20, stay=0.5),
        "train": write_latent_chain,
        "topics": partial(write_topics, n_words=5000, mean_length=30),
    }[name]
    sizes = {} if name in ("sequences", "topics") else {"n_features": D}
    write_rows(path, rows, RANK if name == "sequences" else K, **sizes, random_state=1)
    return str(path)


@pytest.mark.parametrize(
    "name", ["linear", "gaussian", "sparse", "kernel", "sequences", "train", "topics"]
)
def test_workers__stay_below_the_plan_and_flat(name: str, tmp_path: Path) -> None:
    measured = []
    for rows in SIZES:
        store = write(name, tmp_path / f"{rows}.zarr", rows)
        with local_cluster(2, 1024 * MiB) as client:
            plan = model_of(name).plan(store, client=client)
            assert plan.allowed_nbytes == 1024 * MiB
            fitted = model_of(name).fit(store, client=client)
            peak = max(client.run(peak_nbytes).values())
        print(f"{rows:,} rows: {peak / MiB:.0f} MiB measured, {plan.projected_nbytes / MiB:.0f}")
        assert size_of(fitted) == {"kernel": 4, "sequences": RANK, "train": RANK}.get(name, K)
        assert peak <= plan.projected_nbytes <= 1.6 * peak
        measured.append(peak)
    assert max(measured) <= 1.1 * min(measured)


ON_THREADS = """
import sys

from tests.memory.test_moment_models import model_of
from tests.memory.test_worker_memory import peak_nbytes

model, where = model_of(sys.argv[1]), {"scheduler": "threads", "workers": 2}
plan = model.plan(sys.argv[2], **where)
model.fit(sys.argv[2], **where)
print(peak_nbytes(), plan.projected_nbytes)
"""


@pytest.mark.parametrize(
    "name", ["linear", "gaussian", "sparse", "kernel", "sequences", "train", "topics"]
)
def test_driver_with_threads__stays_below_the_plan_and_flat(name: str, tmp_path: Path) -> None:
    measured = []
    for rows in SIZES:
        store = write(name, tmp_path / f"{rows}.zarr", rows)
        peak, projected = printed_peak(ON_THREADS, name, store)
        print(f"{rows:,} rows: {peak / MiB:.0f} MiB measured, {projected / MiB:.0f} projected")
        assert peak <= projected <= 2 * peak
        measured.append(peak)
    # whether both threads hold their largest buffers at once is a matter of chance
    assert max(measured) <= 1.25 * min(measured)

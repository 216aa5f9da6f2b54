"""Plans say what will be held before anything runs, and refuse what does not fit."""

import dask.array as da
import numpy as np
import pytest

from bigtensor.data.opening import open_samples
from bigtensor.data.rows.samples import Samples
from bigtensor.data.rows.views import Views
from bigtensor.data.sources.row_sources import ZarrSource
from bigtensor.engine.clusters.in_flight import IN_FLIGHT_NBYTES, TASKS_A_THREAD
from bigtensor.engine.plan import USABLE, PassSize, Plan, PlannedProcesses, make_plan
from bigtensor.engine.runtime import parse_memory_limit
from bigtensor.engine.threads import ThreadedRuntime
from bigtensor.errors import ParameterError, PlanError, Setting

MiB = 2**20
PASSES = [
    PassSize("pilot", 1, 10**6, 2 * MiB, 3 * MiB),
    PassSize("posterior", 3, 10**8, 1 * MiB, 5 * MiB),
]


TASKS = 192
"""Tasks of a pass over the rows of these plans."""

SMALLER = {
    "states": (Setting("bins"), Setting("n_components")),
    "driver": (Setting("pilot_rows"),),
}


def plan_of(
    passes: list[PassSize] = PASSES,
    *,
    limit: str | None = "1GiB",
    unit_rows: int = 65_536,
    workers: int = 2,
    threads: int = 1,
) -> Plan:
    names = tuple("abcd")
    source = ZarrSource("store.zarr", "X", 10**8, names, np.dtype("float32"), unit_rows)
    samples = Samples((source,), Views.resolve(None, names))
    return make_plan(samples, passes, PlannedProcesses(workers, limit, threads), (), SMALLER)


def test_plan__as_html_shows_names_and_runs_none() -> None:
    names = tuple("abcd")
    url = "<img src=x onerror=alert(1)>.zarr"
    source = ZarrSource(url, "X", 10**8, names, np.dtype("float32"), 65_536)
    samples = Samples((source,), Views.resolve(None, names))
    page = make_plan(samples, PASSES, PlannedProcesses(2, "1GiB", 1))._repr_html_()
    assert "<img" not in page
    assert "&lt;img src=x onerror=alert(1)&gt;.zarr" in page


def test_plan__prints_passes_memory_and_that_it_fits() -> None:
    plan = plan_of()
    assert plan.fits
    assert plan.check() is plan
    assert plan.projected_nbytes < USABLE * 2**30
    assert plan.read_nbytes == (10**6 + 3 * 10**8) * 16
    text = str(plan)
    for words in (
        "100,000,000 rows x 4 features",
        "2 processes x 1 thread",
        "posterior, 1 to 3",
        "1.00 GiB allowed",
        "fits       yes",
    ):
        assert words in text
    page = plan._repr_html_()
    for cell in ("2 processes x 1 thread, ", "posterior, 1 to 3"):
        assert f"<td>{cell}" in page
    # a pass is a row of a table
    assert page.count("<tr>") == 5 + 1 + len(plan.passes)


def test_plan__counts_what_the_driver_holds_where_tasks_run_beside_it() -> None:
    samples = open_samples(np.ones((100_000, 4)))
    passes = [PassSize("pilot", 1, 100_000, 0, MiB, driver_nbytes=90 * MiB)]
    elsewhere = make_plan(samples, passes, PlannedProcesses(1, None))
    assert elsewhere.driver_nbytes == 0
    here = make_plan(samples, passes, ThreadedRuntime(1))
    assert here.driver_nbytes >= 90 * MiB
    assert here.projected_nbytes == elsewhere.projected_nbytes + here.driver_nbytes
    tight = make_plan(samples, passes, ThreadedRuntime(1, 560 * MiB), (), SMALLER)
    with pytest.raises(PlanError, match=r"what the driver holds takes .* a smaller pilot_rows"):
        tight.check()


@pytest.mark.parametrize("state", [MiB, 5 * MiB, 40 * MiB])
def test_plan__counts_parts_that_wait_to_be_stored_in_the_driver(state: int) -> None:
    """Sixteen MiB of states in four writes, or one larger state, each three times."""
    samples = open_samples(np.ones((100_000, 4)))
    passes = [PassSize("pilot", 1, 100_000, state, MiB)]
    waiting = {MiB: 4 * MiB, 5 * MiB: 15 * MiB, 40 * MiB: 40 * MiB}[state]
    without, plan = (
        make_plan(samples, passes, ThreadedRuntime(1), checkpoint=checkpoint)
        for checkpoint in (False, True)
    )
    assert plan.driver_nbytes - without.driver_nbytes == 3 * waiting
    assert plan.projected_nbytes - without.projected_nbytes == 3 * waiting
    workers = make_plan(samples, passes, PlannedProcesses(1, None), checkpoint=True)
    assert workers.driver_nbytes == 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"limit": "250MiB"}, "to start with; allow"),
        ({"unit_rows": 10**7}, "read buffers take"),
        ({"unit_rows": 10**7}, "import the data again with smaller chunks, or allow"),
        (
            {"passes": [PassSize("m", 1, 9, 400 * MiB, 1)]},
            "states take 800.00 MiB a task; use a smaller bins or n_components, or allow",
        ),
        (
            {"passes": [PassSize("m", 1, 9, 1, 900 * MiB)]},
            "workspaces take 900.00 MiB a task; allow",
        ),
        (
            {"passes": [PassSize("m", 1, 9, 1, 300 * MiB)], "threads": 4},
            "a task; use fewer threads a process than 4, or allow",
        ),
    ],
)
def test_plan__that_does_not_fit_names_the_part_and_still_prints(
    options: dict[str, object], words: str
) -> None:
    plan = plan_of(**options)  # type: ignore[arg-type]
    assert not plan.fits
    assert "fits       NO: " in str(plan)
    assert words in str(plan)
    with pytest.raises(PlanError) as caught:
        plan.check()
    assert str(plan) in str(caught.value)
    assert words in str(caught.value)
    assert isinstance(caught.value, MemoryError)


def test_plan__fits_in_the_memory_that_it_asks_for() -> None:
    plan = plan_of([PassSize("m", 1, 9, 400 * MiB, 1)])
    needed = str(plan).split("allow ")[1].split(" a process")[0]
    enough = int(parse_memory_limit(needed.replace(" ", "")) * 1.01)
    assert plan_of([PassSize("m", 1, 9, 400 * MiB, 1)], limit=str(enough)).fits
    assert not plan_of([PassSize("m", 1, 9, 400 * MiB, 1)], limit=str(int(enough * 0.95))).fits


def test_plan__without_a_limit_fits_and_says_that_none_is_known() -> None:
    plan = plan_of(limit=None)
    assert plan.fits
    assert "no limit given" in str(plan)
    assert plan.advice() == "no memory limit is known"


def test_plan__for_a_cluster_without_workers_says_what_it_assumes() -> None:
    text = str(plan_of(workers=0, limit=None))
    assert "0 processes" not in text
    assert "assumed to come with 1 thread each" in text
    needed = text.split("if workers have ")[1].split(" each")[0]
    enough = int(parse_memory_limit(needed.replace(" ", "")) * 1.01)
    assert plan_of(workers=0, limit=str(enough)).fits
    assert "fits       yes" in str(plan_of(workers=0, limit=str(enough)))
    assert "fits       NO: " in str(plan_of(workers=0, limit=str(int(enough * 0.95))))


@pytest.mark.parametrize(
    ("state", "threads", "held"),
    [
        (MiB, 1, IN_FLIGHT_NBYTES + 2 * MiB),
        (1024, 1, (TASKS + 2) * 1024),
        (400 * MiB, 1, (TASKS_A_THREAD + 2) * 400 * MiB),
        (400 * MiB, 3, 3 * (TASKS_A_THREAD + 2) * 400 * MiB),
    ],
)
def test_plan__counts_finished_states_until_the_driver_fetches_them(
    state: int, threads: int, held: int
) -> None:
    without = plan_of([PassSize("m", 1, 9, 0, 1)], threads=threads)
    plan = plan_of([PassSize("m", 1, 9, state, 1)], threads=threads)
    assert plan.tasks == TASKS
    assert plan.projected_nbytes - without.projected_nbytes == held


def test_plan__grows_with_threads_states_and_chunks_and_not_with_rows() -> None:
    base = plan_of().projected_nbytes
    assert plan_of(threads=2).projected_nbytes > base
    assert plan_of(unit_rows=10**6).projected_nbytes > base
    assert plan_of([PassSize("m", 1, 1, 50 * MiB, 5 * MiB)]).projected_nbytes > base
    more = [PassSize(p.name, p.times, p.rows * 1000, p.state_nbytes, p.work_nbytes) for p in PASSES]
    assert plan_of(more).projected_nbytes == base


def test_plan__counts_rows_in_memory_once_a_process() -> None:
    values = np.zeros((400_000, 100))
    limited = ThreadedRuntime(1, 760 * MiB)
    plan = make_plan(open_samples(values), PASSES, limited)
    assert plan.held_nbytes == values.nbytes
    assert not plan.fits
    assert "rows in memory take 305.18 MiB" in str(plan)
    lazy = make_plan(open_samples(da.from_array(values, chunks=(5000, 100))), PASSES, limited)
    assert lazy.held_nbytes == 0
    assert lazy.fits


@pytest.mark.parametrize(
    "limit", ["much", "1 parsec", -5, 0, "-1GiB", float("inf"), float("nan"), "1e400GB", [1]]
)
def test_memory_limit__that_is_no_size_is_refused(limit: str | int) -> None:
    with pytest.raises(ParameterError, match="memory_limit is"):
        parse_memory_limit(limit)


def test_memory_limit__takes_bytes_and_words() -> None:
    assert parse_memory_limit("1GiB") == 2**30
    assert parse_memory_limit(12_345) == 12_345

"""Small runs of the speed benchmark: what cannot depend on how busy the machine is."""

import json

import numpy as np
import pytest

from bigtensor import KernelMixture, simulate
from bigtensor.data.opening import open_samples
from bigtensor.engine.reduce import run_pass
from bigtensor.engine.threads import ThreadedRuntime
from bigtensor.statistics.base import Pass, Workspace
from bigtensor.statistics.densities.posterior_sums import PosteriorSums
from bigtensor.statistics.densities.row_functions import Responsibilities
from bigtensor.statistics.moments.triple_moments import TripleMoments
from tests.benchmarks.floors import Rates, Work, exponential_rate, flop_rate
from tests.benchmarks.kernels import SHAPES, floor_rows, kernel_seconds, worker_row
from tests.benchmarks.peers import peer_rows
from tests.benchmarks.preparations import in_memory, statistic_of
from tests.benchmarks.row_loops import SHAPES as LOOP_SHAPES
from tests.benchmarks.row_loops import drawn_rows, label_loop, row_loop_rows, sums_loop
from tests.benchmarks.scaling import dispatch_rows, growth_rows, share_rows, worker_rows
from tests.benchmarks.sizes import CASES, size_rows
from tests.benchmarks.speed import main
from tests.benchmarks.tensor_updates import SHAPES as UPDATE_SHAPES
from tests.benchmarks.tensor_updates import update_rows

pytestmark = [pytest.mark.alone, pytest.mark.benchmark]


def test_work_of_moments__counts_what_the_formulas_need():
    samples = open_samples(simulate.kernel_mixture(3000, 3, random_state=1))
    moments = statistic_of(KernelMixture(3), samples, "moments")
    assert isinstance(moments, TripleMoments)
    work = Work.of_moments(moments.groups)
    # p = 100 landmarks, q = 9 directions, three views of one float32 feature
    assert work.flops == 3 * (2 * 100 * 3 + 2 * 100 * 9) + 2 * 10**3 + 3 * 2 * 10**2
    assert (work.exponentials, work.nbytes) == (300, 12)
    assert Rates(1e9, 1e8, 1e7).seconds(Work(1e9, 2e8, 3e7)) == pytest.approx(6.0)


def test_rates__are_those_of_a_processor():
    assert 1e9 < flop_rate() < 1e13
    assert 1e7 < exponential_rate() < 1e12


def test_statistic_of__is_the_pass_that_a_fit_runs():
    data = simulate.kernel_mixture(3000, 3, random_state=1)
    samples = open_samples(data)
    statistic = statistic_of(KernelMixture(3, max_iter=1), samples, "posterior 1")
    sums = run_pass(samples, Pass("posterior 1", statistic), ThreadedRuntime(1))
    model = KernelMixture(3, max_iter=1).fit(data)
    weights = np.sort(sums.mass / sums.mass.sum())[::-1]
    np.testing.assert_allclose(weights, model.weights_, rtol=1e-12)


def test_in_memory__keeps_rows_and_views():
    samples = open_samples(
        simulate.kernel_mixture(100, 2), {"b": ["view3"], "a": ["view1", "view2"]}
    )
    held = in_memory(samples, 40)
    (first,), (expected,) = list(held.blocks([(0, 40)], 40)), list(samples.blocks([(0, 40)], 40))
    np.testing.assert_array_equal(first.values, expected.values)
    assert first.slices == expected.slices
    statistic = statistic_of(KernelMixture(2, init="kmeans"), samples, "posterior 1")
    seconds = kernel_seconds(held, statistic, 1)
    assert seconds["wall"] > 0


@pytest.mark.slow
def test_floor_rows__passes_stay_near_their_floor(tmp_path):
    rows = floor_rows(tmp_path, 50_000, 3)
    assert [row["shape"] for row in rows] == [shape.name for shape in SHAPES]
    interpolated, exact = (row["x floor"] for row in rows)
    assert 0.5 < interpolated < 8, rows
    assert 1 < exact < 8, rows
    assert [row["q"] for row in rows] == [9, 24]


def test_row_loops__are_the_formula_that_the_package_computes():
    mixture, block = drawn_rows(3, 5, 64, 2000)
    tables, log_weights = mixture.tables, np.log(mixture.weights).astype(np.float32)
    arguments = block.values, tables.low, tables.step, tables.log_tables, log_weights
    label, expected = np.empty((2, 2000), np.int32)
    Responsibilities(mixture).evaluate(block, {"label": label}, Workspace())
    label_loop(*arguments, expected)
    np.testing.assert_array_equal(label, expected)
    statistic, histograms = PosteriorSums(mixture), np.zeros(tables.log_tables.shape)
    state = statistic.init()
    statistic.update(state, block, Workspace())
    sums_loop(*arguments, histograms)
    np.testing.assert_allclose(state["histograms"], histograms, atol=1e-5 * histograms.max())


def test_row_loop_rows__are_near_one_loop():
    rows = row_loop_rows(20_000, 1)
    assert len(rows) == 2 * len(LOOP_SHAPES)
    assert all(0.05 < row["x loop"] < 2.5 for row in rows), rows


def test_update_rows__contractions_run_near_the_rate_of_products(tmp_path):
    rows = update_rows(tmp_path, 20_000, 1)
    assert len(rows) == len(UPDATE_SHAPES)
    assert all(0.2 < row["share in memory"] < 1.2 for row in rows), rows
    assert all(0.02 < row["share from a store"] < 1.2 for row in rows), rows
    assert [row["orders"] for row in rows if row["bars"]] == ["(1, 1, 1)"] * 2


@pytest.mark.slow
def test_worker_row__a_worker_keeps_up_with_a_loop():
    row = worker_row(100_000, 1)
    assert 0.6 < row["speed of the worker"] < 1.7, row


@pytest.mark.slow
def test_passes_on_workers__give_ratios(tmp_path):
    gains = worker_rows(tmp_path, 150_000, 1)
    shares = share_rows(tmp_path, 150_000, 1)
    assert [row["pass"] for row in gains] == ["moments", "posterior 1"]
    assert [row["pass"] for row in shares] == ["moments", "posterior 1", "a fit"]
    assert all(0.3 < row["gain"] < 3 for row in gains), gains
    assert all(row["share"] < 1 for row in shares), shares


@pytest.mark.slow
def test_dispatch_rows__tasks_take_most_of_a_pass(tmp_path):
    rows = dispatch_rows(tmp_path, 400_000, 1)
    assert [row["on"] for row in rows] == ["two processes", "two threads"]
    assert all(0 < row["dispatch"] < 0.8 for row in rows), rows


@pytest.mark.slow
def test_growth_rows__memory_stays_below_the_plan(tmp_path):
    small, large = growth_rows(tmp_path, [40_000, 160_000])
    assert small["MiB before"] < small["peak MiB"] <= small["plan MiB"]
    assert large["peak MiB"] <= large["plan MiB"]
    assert large["peak, x previous"] < 1.5


@pytest.mark.slow
def test_peer_rows__the_spectral_start_labels_as_well_as_the_peers(tmp_path):
    pytest.importorskip("flowsom", reason="FlowSOM is not installed")
    ours, on_threads, flowsom, gaussian = peer_rows(tmp_path, 100_000, 5_000, ("spectral",))
    assert ours["rows"] == on_threads["rows"] == 100_000
    assert on_threads["accuracy"] == ours["accuracy"]
    assert flowsom["rows"] == gaussian["rows"] == 5_000
    assert flowsom["seconds for all rows"] == pytest.approx(20 * flowsom["seconds"])
    assert ours["accuracy"] > 0.95
    assert ours["accuracy"] > max(flowsom["accuracy"], gaussian["accuracy"]) - 0.02


def test_main__writes_what_it_prints(tmp_path, capsys):
    out = tmp_path / "speed.json"
    main(["--rows", "20000", "--repeats", "1", "--only", "floor", "--out", str(out)])
    stored = json.loads(out.read_text())
    assert stored["settings"] == {"rows": 20_000, "repeats": 1}
    (table,) = stored["tables"].values()
    assert len(table["rows"]) == len(SHAPES)
    assert "Mrows/s" in capsys.readouterr().out


def test_sizes__compare_ratios_with_the_history(tmp_path, capsys):
    history = tmp_path / "sizes.jsonl"
    arguments = ["--sizes", "150", "--models", "ICA", "--history", str(history)]
    assert main(arguments) == 0
    (line,) = history.read_text().splitlines()
    (ratio,) = json.loads(line)["ratios"].values()
    assert ratio > 0
    history.write_text(line.replace(repr(ratio), repr(ratio / 100)) + "\n")
    assert main(arguments) == 1
    assert "ICA(4) 150" in capsys.readouterr().out.splitlines()
    assert len(history.read_text().splitlines()) == 2


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_size_rows__time_a_family_and_its_peer(case):
    pytest.importorskip("hmmlearn", reason="peers are not installed")
    (row,) = size_rows(case, [150])
    assert row["ratio"] == pytest.approx(row["processor s"] / row["peer's processor s"])

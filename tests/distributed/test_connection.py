"""Connections to a running scheduler: addresses, scheduler files, certificates, versions."""

import json
import os
import platform
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import dask
import pytest
from click.testing import CliRunner
from distributed import Client, LocalCluster
from distributed.security import Security

from bigtensor._version import __version__
from bigtensor.cli import main
from bigtensor.engine.clusters import connection
from bigtensor.engine.clusters.connection import Connection, check_versions
from bigtensor.engine.runtime import open_runtime
from bigtensor.errors import ClusterError, ParameterError
from tests.distributed.jobs import number_after

SECONDS = 6.0
"""Bound on the time to a named cause, which takes 2 seconds on an idle machine. Dask alone takes 10
to 20 seconds."""


def certificates(folder: Path) -> dict[str, str]:
    """Write the files of an authority that has signed itself, and return their paths."""
    security, paths = Security.temporary(), {}
    for name, text in (
        ("tls_ca_file", security.tls_ca_file),
        ("tls_cert", security.tls_client_cert),
        ("tls_key", security.tls_client_key),
    ):
        path = folder / f"{name}.pem"
        path.write_text(text)
        paths[name] = str(path)
    return paths


def served(security: Security | None) -> LocalCluster:
    return LocalCluster(
        n_workers=1,
        threads_per_worker=1,
        processes=False,
        host="127.0.0.1",
        protocol="tcp" if security is None else "tls",
        security=security or Security(require_encryption=False),
        scheduler_kwargs={"dashboard": False, "dashboard_address": "127.0.0.1:0"},
        dashboard_address="127.0.0.1:0",
        silence_logs=50,
    )


@pytest.fixture(scope="module")
def plain() -> Iterator[str]:
    with served(None) as cluster:
        yield cluster.scheduler_address


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="module")
def encrypted(files: dict[str, str]) -> Iterator[str]:
    authority, certificate, key = files.values()
    security = Security(
        require_encryption=True,
        tls_ca_file=authority,
        **{
            f"tls_{role}_{kind}": path
            for role in ("scheduler", "worker", "client")
            for kind, path in (("cert", certificate), ("key", key))
        },
    )
    with served(security) as cluster:
        yield cluster.scheduler_address


def refusal(scheduler: str | Connection) -> str:
    """Return the error of an attempt to connect, which ends in time."""
    begin = time.monotonic()
    with pytest.raises(ClusterError) as caught, open_runtime(scheduler=scheduler):
        pass
    assert time.monotonic() - begin < SECONDS
    return str(caught.value)


def works(scheduler: str | Connection) -> None:
    got: list[int] = []
    with open_runtime(scheduler=scheduler) as runtime:
        runtime.run(number_after, None, [(5,)], lambda _, number: got.append(number))
    assert got == [5]


def test_connection__by_scheduler_file(plain: str, tmp_path: Path) -> None:
    path = tmp_path / "scheduler.json"
    path.write_text(json.dumps({"address": plain}))
    works(Connection(scheduler_file=path))


def test_connection__by_certificates(encrypted: str, files: dict[str, str]) -> None:
    works(Connection(encrypted, **files))


def test_connection__by_the_configuration_of_dask(encrypted: str, files: dict[str, str]) -> None:
    authority, certificate, key = files.values()
    settings = {
        "distributed.comm.tls.ca-file": authority,
        "distributed.comm.tls.client.cert": certificate,
        "distributed.comm.tls.client.key": key,
        "distributed.comm.require-encryption": True,
    }
    with dask.config.set(settings):
        works(encrypted)


def test_connection__needs_one_place() -> None:
    for places in ({}, {"address": "tcp://h:1", "scheduler_file": "f"}):
        with pytest.raises(ParameterError, match="one of them"):
            Connection(**places)


def test_refused__without_certificates(encrypted: str) -> None:
    message = refusal(encrypted)
    assert "needs certificates, and there are none" in message
    assert "tls_ca_file" in message


def test_refused__plain_address_of_a_scheduler_that_encrypts(encrypted: str) -> None:
    message = refusal(encrypted.replace("tls://", "tcp://"))
    assert "asks for encryption" in message
    assert "tls://" in message


def test_refused__encrypted_address_of_a_plain_scheduler(plain: str, files: dict[str, str]) -> None:
    message = refusal(Connection(plain.replace("tcp://", "tls://"), **files))
    assert "does not encrypt" in message


def test_refused__server_that_closes_the_connection_during_the_handshake(
    files: dict[str, str],
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def close_after_greeting() -> None:
            connection, _ = server.accept()
            # bytes that were not read would reset the connection
            connection.recv(2**16)
            connection.close()

        threading.Thread(target=close_after_greeting, daemon=True).start()
        message = refusal(Connection(f"tls://127.0.0.1:{server.getsockname()[1]}", **files))
    assert "closed the connection" in message
    assert "encrypt" not in message


@pytest.mark.parametrize("how", ["configuration", "certificates"])
def test_refused__plain_address_where_encryption_is_required(
    plain: str, files: dict[str, str], how: str
) -> None:
    required = {"distributed.comm.require-encryption": True} if how == "configuration" else {}
    with dask.config.set(required):
        message = refusal(Connection(plain, **({} if required else files)))
    assert "is not encrypted" in message


def test_refused__certificates_of_another_authority(
    encrypted: str, files: dict[str, str], tmp_path: Path
) -> None:
    others = certificates(tmp_path)
    assert "is not signed by your" in refusal(Connection(encrypted, **others))
    message = refusal(Connection(encrypted, **{**others, "tls_ca_file": files["tls_ca_file"]}))
    assert "refuses your certificate" in message


@pytest.mark.parametrize("name", ["tls_ca_file", "tls_cert", "tls_key"])
def test_refused__certificate_file_that_is_missing_or_damaged(
    encrypted: str, files: dict[str, str], tmp_path: Path, name: str
) -> None:
    path = tmp_path / "file.pem"
    message = refusal(Connection(encrypted, **{**files, name: str(path)}))
    assert f"{path}, cannot be read" in message
    path.write_text("no certificate")
    assert str(path) in refusal(Connection(encrypted, **{**files, name: str(path)}))


def test_error__shows_no_key(files: dict[str, str], tmp_path: Path) -> None:
    other = Path(certificates(tmp_path)["tls_key"]).read_text()
    configuration = {
        "distributed.comm.tls.ca-file": files["tls_ca_file"],
        "distributed.comm.tls.client.cert": files["tls_cert"],
        "distributed.comm.tls.client.key": other,
    }
    with dask.config.set(configuration):
        message = refusal("tls://127.0.0.1:9")
    assert files["tls_cert"] in message
    assert "PRIVATE" not in message
    assert other.splitlines()[1] not in message


def test_refused__no_server() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
        assert f"no scheduler answers at {address}" in refusal(address)


@pytest.mark.parametrize("content", [None, "", "[1]", "{}", '{"address": 5}', "no JSON"])
def test_refused__scheduler_file(tmp_path: Path, content: str | None) -> None:
    path = tmp_path / "scheduler.json"
    if content is not None:
        path.write_text(content)
    message = refusal(Connection(scheduler_file=path))
    assert str(path) in message
    assert "dask scheduler --scheduler-file" in message


def test_scheduler_file__that_is_being_written_is_waited_for(
    plain: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "scheduler.json"
    whole, calls = json.dumps({"address": plain}), []

    def sleep(_: float) -> None:
        calls.append(1)
        path.write_text(whole[: len(whole) // 2] if len(calls) == 1 else whole)

    with monkeypatch.context() as patched:
        patched.setattr(connection.time, "sleep", sleep)
        assert Connection(scheduler_file=path).find_address() == plain
    assert len(calls) == 2


class Versions:
    """A client with one worker, whose functions of Python return these answers."""

    def __init__(self, python: str, bigtensor: str | Exception) -> None:
        self._answers = {"python_version": python, "resolve_name": bigtensor}

    def run(
        self, function: Callable[..., str], *arguments: str, on_error: str
    ) -> dict[str, str | Exception]:
        assert function(*arguments)
        assert on_error == "return"
        return {"tcp://w": self._answers[function.__name__]}


HERE = platform.python_version()


@pytest.mark.parametrize(
    ("python", "package", "words"),
    [
        (HERE, "1.2.4", r"has bigtensor 1\.2\.4"),
        (HERE, ModuleNotFoundError("none", name="bigtensor"), "has no bigtensor"),
        (HERE, ModuleNotFoundError("No module named 'numba'", name="numba"), "numba"),
        (HERE, SyntaxError("invalid syntax"), "invalid syntax"),
        ("2.7.1", __version__, r"has python 2\.7,"),
    ],
)
def test_versions__that_differ_are_named(python: str, package: str | Exception, words: str) -> None:
    with pytest.raises(ClusterError, match=words):
        check_versions(Versions(python, package))


def test_versions__of_patches_of_python_may_differ() -> None:
    check_versions(Versions(HERE.rpartition(".")[0] + ".99", __version__))


def test_versions__of_workers_that_have_gone_are_not_compared() -> None:
    check_versions(Versions(HERE, OSError("closed")))


def test_versions__are_of_the_package_that_a_worker_imports(tmp_path: Path) -> None:
    """A source tree on the path of a worker comes before the installed package."""
    (tmp_path / "bigtensor").mkdir()
    for name in ("__init__", "_version"):
        (tmp_path / "bigtensor" / f"{name}.py").write_text("__version__ = '0.0.9'\n")
    with LocalCluster(n_workers=0, dashboard_address="127.0.0.1:0") as cluster:
        place = ["--host", "127.0.0.1", "--no-nanny", "--no-dashboard", "--nthreads", "1"]
        process = subprocess.Popen(
            [sys.executable, "-m", "dask", "worker", cluster.scheduler_address, *place],
            env={**os.environ, "PYTHONPATH": str(tmp_path)},
            cwd=tmp_path,
        )
        try:
            with Client(cluster, set_as_default=False) as client:
                client.wait_for_workers(1, timeout=60)
                with pytest.raises(ClusterError, match=r"has bigtensor 0\.0\.9"):
                    check_versions(client)
        finally:
            process.terminate()
            process.wait(30)


def test_versions__of_a_real_cluster(plain: str) -> None:
    with Client(plain, set_as_default=False) as client:
        check_versions(client)


def command(*arguments: str) -> Any:
    return CliRunner().invoke(main, ["fit", "none.zarr", "--out", "m.zarr", "-k", "2", *arguments])


@pytest.mark.parametrize(
    "arguments",
    [
        ("--scheduler", "tcp://h:1", "--scheduler-file", "f"),
        ("--workers", "2", "--scheduler-file", "f"),
        ("--tls-ca-file", "f"),
    ],
)
def test_command__refuses_options_that_contradict_each_other(arguments: tuple[str, ...]) -> None:
    assert command(*arguments).exit_code == 2


@pytest.mark.parametrize("address", ["", "127.0.0.1:8786", "localhost"])
def test_refused__address_without_a_protocol(address: str) -> None:
    with (
        pytest.raises(ParameterError, match="with its protocol") as raised,
        open_runtime(scheduler=address),
    ):
        pass
    assert repr(address) in str(raised.value)

"""Other users of the machine: they see the ports of a run, and can neither speak nor read."""

import http.client
import os
import re
import socket
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import dask
import psutil
import pytest
from distributed import Client, LocalCluster

from bigtensor.engine.clusters.local_cluster import _settings_made

ROOT = Path(__file__).resolve().parents[2]

SPEAK = """
import asyncio, os, sys

from distributed import Client
from distributed.comm import connect
from distributed.security import Security

address, user, certificate = sys.argv[1], int(sys.argv[2]), sys.argv[3]
options = {"security": Security.temporary()} if certificate == "own" else {}
# what the interpreter imports late lies where the other user cannot read
try:
    asyncio.run(connect("tcp://127.0.0.1:9", timeout=0.1))
except OSError:
    pass
os.setuid(user)
assert os.getuid() == user
try:
    with Client(address, timeout=2, set_as_default=False, **options) as client:
        print("ran as", client.submit(os.getuid).result())
except (OSError, ValueError) as error:
    print("refused:", type(error).__name__)
"""


def processes() -> list[psutil.Process]:
    me = psutil.Process()
    return [me, *me.children(recursive=True)]


def listening() -> list[Any]:
    """Return the sockets that this process and its children listen on."""
    return [
        connection
        for process in processes()
        for connection in process.net_connections("tcp")
        if connection.status == psutil.CONN_LISTEN
    ]


@pytest.mark.parametrize("user", ["nobody", "same"])
@pytest.mark.parametrize(("scheme", "certificate"), [("tcp", "none"), ("tls", "own")])
@pytest.mark.quick_cases("tcp-none-nobody", "tls-own-same")
def test_client__without_the_certificate_of_the_run_is_refused(
    two_workers: Client, user: str, scheme: str, certificate: str
) -> None:
    if user == "nobody" and os.getuid() != 0:
        pytest.skip("only root can become another user")
    identity = os.getuid() if user == "same" else 65_534
    address = re.sub(r"^\w+", scheme, two_workers.scheduler.address)
    done = subprocess.run(
        [sys.executable, "-c", SPEAK, address, str(identity), certificate],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout.startswith("refused: "), (done.stdout, done.stderr)
    assert two_workers.submit(sum, (1, 2), pure=False).result() == 3


def greets(port: int) -> bool:
    """Connect without encryption: a Dask server greets whoever connects."""
    with socket.create_connection(("127.0.0.1", port), timeout=1) as connection:
        try:
            return b"pickle-protocol" in connection.recv(4096)
        except OSError:
            return False


def greeting(ports: Iterable[int]) -> list[int]:
    """Return the ports that greet. All are asked at once: a port that does not takes a second."""
    asked = list(ports)
    with ThreadPoolExecutor(len(asked)) as pool:
        return [port for port, told in zip(asked, pool.map(greets, asked), strict=True) if told]


def test_ports__are_on_loopback_and_greet_nobody_without_encryption(two_workers: Client) -> None:
    run = listening()
    # a scheduler and two nannies here, and two workers
    assert len(run) >= 5
    assert {connection.laddr.ip for connection in run} == {"127.0.0.1"}
    assert not greeting(connection.laddr.port for connection in run)
    plain = {"n_workers": 1, "processes": False, "protocol": "tcp", "silence_logs": 50}
    with LocalCluster(**plain, dashboard_address="127.0.0.1:0"):
        others = {connection.laddr.port for connection in listening()}
        others -= {connection.laddr.port for connection in run}
        assert len(greeting(others)) == 2


@pytest.mark.parametrize("page", ["health", "info/main/workers.html", "metrics", "statics"])
def test_ports__show_no_pages(two_workers: Client, page: str) -> None:
    told = set()
    for port in (connection.laddr.port for connection in listening()):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=1)
        # most of the ports speak TLS
        with closing(connection), suppress(OSError, http.client.HTTPException):
            connection.request("GET", f"/{page}")
            told.add(connection.getresponse().status)
    assert told == {404}


def test_key__is_in_no_file_environment_or_command_line(two_workers: Client) -> None:
    key = two_workers.security.tls_client_key.splitlines()[1]
    assert len(key) == 64
    for process in processes():
        for name in ("environ", "cmdline"):
            assert key.encode() not in Path(f"/proc/{process.pid}/{name}").read_bytes()
    folder = Path(dask.config.get("temporary-directory"))
    for path in folder.rglob("*"):
        assert path.is_dir() or key.encode() not in path.read_bytes()


def test_files_of_workers__lie_in_a_folder_of_their_own(two_workers: Client) -> None:
    folders = two_workers.run(lambda dask_worker: dask_worker.local_directory)
    private = Path(dask.config.get("temporary-directory"))
    assert stat.S_IMODE(private.stat().st_mode) == 0o700
    assert private.stat().st_uid == os.getuid()
    for folder in folders.values():
        assert private in Path(folder).parents


@pytest.mark.parametrize("squatter", ["open folder", "link", "file"])
def test_files_of_workers__do_not_lie_where_others_may_write(tmp_path: Path, squatter: str) -> None:
    usual = tmp_path / f"bigtensor-{os.getuid()}"
    if squatter == "open folder":
        usual.mkdir()
        usual.chmod(0o777)
    elif squatter == "link":
        (tmp_path / "elsewhere").mkdir(mode=0o700)
        usual.symlink_to(tmp_path / "elsewhere")
    else:
        usual.touch()
    with dask.config.set({"temporary-directory": str(tmp_path)}), _settings_made():
        folder = Path(dask.config.get("temporary-directory"))
        assert folder.parent == tmp_path
        assert folder != usual
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert not folder.exists()


def test_files_of_workers__do_not_stay_in_the_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python takes the working folder where it can write to no temporary one."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with dask.config.set({"temporary-directory": None}), _settings_made():
        folder = Path(dask.config.get("temporary-directory"))
        (folder / "dask-scratch-space").mkdir()
        assert folder.parent == tmp_path
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert not list(tmp_path.iterdir())


def test_files_of_workers__lie_in_one_folder_for_all_runs(tmp_path: Path) -> None:
    folders = []
    for _ in range(2):
        with dask.config.set({"temporary-directory": str(tmp_path)}), _settings_made():
            folders.append(Path(dask.config.get("temporary-directory")))
    assert folders == [tmp_path / f"bigtensor-{os.getuid()}"] * 2

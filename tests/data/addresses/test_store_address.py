"""Addresses of stores that lead nowhere, each with its own remedy."""

import os
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from threading import Thread
from typing import Any, Literal

import dask.array as da
import numpy as np
import pytest
import xarray as xr
import zarr

from bigtensor.data.addresses.read_errors import row_errors
from bigtensor.data.addresses.store_address import check_store_address
from bigtensor.data.addresses.store_files import StoreFiles
from bigtensor.data.anndata.files import StoredMatrix
from bigtensor.data.opening import open_samples
from bigtensor.data.sources.anndata_source import AnndataFileSource
from bigtensor.data.sources.row_sources import ZarrSource
from bigtensor.errors import MissingDependencyError, StoreReadError

NOBODY = 65534


PACKAGES_OF_HTTP = ("aiohttp", "requests")


class QuietHandler(SimpleHTTPRequestHandler):
    """Files of a folder over HTTP, without a line on standard error for every request."""

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Keep silent."""


class GuardedHandler(QuietHandler):
    """Files for one user, and none for all others, without lists of folders."""

    def send_head(self) -> Any:
        """Answer 401 without the password, and 403 for a folder."""
        if self.headers["Authorization"] != "Basic " + b64encode(b"ann:x1").decode():
            return self.send_error(401)
        return super().send_head()

    def list_directory(self, path: Any) -> None:  # noqa: ARG002
        """Refuse a list of names."""
        self.send_error(403)


@contextmanager
def web_server(handler: type[QuietHandler], folder: Path) -> Iterator[str]:
    """Serve a folder, and yield the host and port."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(handler, directory=str(folder))) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def unprivileged() -> Iterator[None]:
    """Give up the rights of root, for whom every file is open."""
    user = os.geteuid()
    if user == 0:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(user)


def store(path: Path) -> Path:
    """Write a small store."""
    xr.Dataset({"X": (("sample", "feature"), np.ones((4, 2)))}).to_zarr(path, consolidated=False)
    return path


@pytest.mark.parametrize(
    ("address", "package"),
    [
        ("s3://bucket/cells.zarr", "s3fs"),
        ("gs://bucket/cells.zarr", "gcsfs"),
        ("https://host/cells.zarr", "aiohttp requests"),
    ],
)
def test_address__names_the_package_of_a_protocol(address: str, package: str) -> None:
    if find_spec(package.split()[0]) is not None:
        pytest.skip(f"{package} is installed")
    with pytest.raises(MissingDependencyError, match=f"pip install {package}$"):
        open_samples(address)


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("tape://cells.zarr", "Protocol not known: tape.*, or a URL"),
        ("S3://bucket/cells.zarr", "give s3://bucket/cells.zarr"),
        ("memory://cells.zarr", "no store at memory://cells.zarr"),
        ("", "'' is no address of a store"),
        ("cells\0.zarr", "there is no store"),
        ("c" * 5000, "there is no store"),
    ],
)
def test_address__is_checked_before_a_store_is_opened(address: str, message: str) -> None:
    with pytest.raises(StoreReadError, match=message):
        open_samples(address)


def test_relative_path__is_named_with_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StoreReadError) as caught:
        open_samples("cells.zarr")
    assert str(tmp_path) in str(caught.value)


@pytest.mark.parametrize(
    "text", ["The end\nversion 1.2", "see http://x.org for more", "the cat sat on the mat."]
)
def test_text__is_told_the_way_to_counts(text: str) -> None:
    with pytest.raises(StoreReadError, match=r"no store .*CountVectorizer"):
        open_samples([text])


@pytest.mark.parametrize("address", ["/data/my cells", "~/my cells", "my cells.zarr", "cells"])
def test_path__with_spaces_is_no_text(address: str) -> None:
    with pytest.raises(StoreReadError, match=r"; check the path$"):
        open_samples(address)


def test_address__of_http_tells_an_absent_store_from_an_absent_server(tmp_path: Path) -> None:
    """A refused connection was reported as a wrong path."""
    for package in PACKAGES_OF_HTTP:
        pytest.importorskip(package)
    with web_server(QuietHandler, tmp_path) as host:
        address = f"http://{host}/cells.zarr"
        with pytest.raises(StoreReadError, match="there is no store at http"):
            check_store_address(address)
        store(tmp_path / "cells.zarr")
        check_store_address(address)
    with pytest.raises(StoreReadError, match="no server answers for http"):
        open_samples(address)


def test_address__of_http_tells_a_refusal_from_an_absent_store(tmp_path: Path) -> None:
    for package in PACKAGES_OF_HTTP:
        pytest.importorskip(package)
    store(tmp_path / "cells.zarr")
    (tmp_path / "empty.zarr").mkdir()
    with web_server(GuardedHandler, tmp_path) as host:
        with pytest.raises(StoreReadError, match=r"refuses access \(status 401\)"):
            check_store_address(f"http://{host}/cells.zarr")
        check_store_address(f"http://ann:x1@{host}/cells.zarr")
        with pytest.raises(StoreReadError, match="there is no store at http"):
            check_store_address(f"http://ann:x1@{host}/empty.zarr")
        with pytest.raises(StoreReadError, match="consolidated metadata"):
            open_samples(f"http://ann:x1@{host}/cells.zarr")
        with (
            pytest.raises(StoreReadError, match="ask the owner of the store"),
            row_errors("X", f"http://{host}/cells.zarr", 0, 4),
        ):
            StoreFiles(f"http://{host}/cells.zarr").document("zarr.json")


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_address__is_a_single_array(tmp_path: Path, zarr_format: Literal[2, 3]) -> None:
    rows = np.arange(12.0).reshape(6, 2)
    zarr.save_array(tmp_path / "plain.zarr", rows, zarr_format=zarr_format)
    with pytest.raises(StoreReadError, match=r"a Zarr array .*from_zarr\('") as error:
        open_samples(tmp_path / "plain.zarr")
    assert "check the path" not in str(error.value)
    assert open_samples(da.from_zarr(tmp_path / "plain.zarr")).rows == 6


def test_address__is_a_folder(tmp_path: Path) -> None:
    (tmp_path / "cells.csv").write_text("a,b\n")
    with pytest.raises(StoreReadError, match=r"cells\.csv is a file; .*import'"):
        open_samples(tmp_path / "cells.csv")
    with pytest.raises(StoreReadError, match="there is no store"):
        open_samples(tmp_path / "cells.csv" / "x")
    (tmp_path / "empty").mkdir()
    with pytest.raises(StoreReadError, match="cannot be opened as a Zarr group"):
        open_samples(tmp_path / "empty")


def test_address__names_the_target_of_a_broken_link(tmp_path: Path) -> None:
    (tmp_path / "link.zarr").symlink_to(tmp_path / "gone.zarr")
    with pytest.raises(StoreReadError, match=r"link to .*gone\.zarr, .* not exist"):
        open_samples(tmp_path / "link.zarr")
    store(tmp_path / "gone.zarr")
    check_store_address(str(tmp_path / "link.zarr"))


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="permissions of POSIX")
def test_address__may_be_read(tmp_path: Path) -> None:
    path = store(tmp_path / "cells.zarr")
    for folder in (tmp_path, *tmp_path.parents[:2]):
        folder.chmod(0o755)
    samples = open_samples(path)
    path.chmod(0o600)
    with unprivileged(), pytest.raises(StoreReadError, match="may not be read"):
        open_samples(path)
    with unprivileged(), pytest.raises(StoreReadError, match=r"rows 0 to 3 of .* ask the owner"):
        samples.sources[0].read(0, 4)
    path.chmod(0o700)
    pytest.importorskip("h5py")
    file = tmp_path / "cells.h5ad"
    file.write_bytes(b"")
    file.chmod(0o600)
    source = AnndataFileSource(str(file), StoredMatrix("X", "dense", 4, np.dtype("f4"), ("a",), 4))
    with (
        unprivileged(),
        pytest.raises(StoreReadError, match=r"h5ad cannot be read .* ask the owner"),
    ):
        source.read(0, 4)


def test_url_in_a_path__is_to_be_given_as_text():
    for address in ("s3://bucket/cells.zarr", "memory://cells.zarr"):
        with pytest.raises(StoreReadError, match=f"as text, {address}, "):
            open_samples(Path(address))


def test_description__of_a_source_holds_no_password():
    matrix = StoredMatrix("X", "dense", 5, np.dtype("f4"), ("a",), 5)
    url = "sftp://me:secret@host:22/cells.zarr"
    for source in (
        ZarrSource(url, "X", 5, ("a",), np.dtype("f4"), 5),
        AnndataFileSource(url, matrix),
    ):
        assert "sftp://me:***@host:22/cells.zarr" in source.describe()
        assert "secret" not in source.describe()

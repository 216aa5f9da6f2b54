"""Stores on web servers, which answer for files and not for folders."""

import os
import warnings
from collections.abc import Callable, Iterator
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pytest
import zarr

from bigtensor import KernelMixture, simulate
from bigtensor.data.addresses.store_address import check_store_address
from bigtensor.data.opening import open_samples
from bigtensor.data.simulate import write_kernel_mixture
from bigtensor.engine.checkpoint import open_checkpoint
from bigtensor.errors import BigtensorError, CheckpointError, OutputError, StoreReadError

pytest.importorskip("aiohttp")
pytest.importorskip("requests")

ROWS = 70_000
"""More than one chunk, which makes a shard."""


class FileHandler(SimpleHTTPRequestHandler):
    """Files of a folder, whole; folders are not found, as on an object store behind HTTP."""

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Keep silent."""

    def list_directory(self, path: Any) -> None:  # noqa: ARG002
        """Refuse to list."""
        self.send_error(HTTPStatus.NOT_FOUND)


class RangeHandler(FileHandler):
    """Files of a folder, also in parts."""

    def do_GET(self) -> None:
        """Send a file, or the part of it that is asked for."""
        path = Path(self.translate_path(self.path))
        asked = self.headers.get("Range")
        if not asked or not path.is_file():
            super().do_GET()
            return
        content = path.read_bytes()
        first, _, last = asked.removeprefix("bytes=").partition("-")
        start = int(first) if first else len(content) - int(last)
        part = content[start : int(last) + 1 if first and last else None]
        self.send_response(HTTPStatus.PARTIAL_CONTENT)
        self.send_header("Content-Length", str(len(part)))
        self.send_header("Content-Range", f"bytes {start}-{start + len(part) - 1}/{len(content)}")
        self.end_headers()
        self.wfile.write(part)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a store in shards."""
    folder = tmp_path_factory.mktemp("web")
    write_kernel_mixture(folder / "rows.zarr", ROWS, 2, random_state=0)
    return folder


@pytest.fixture
def serve(folder: Path) -> Iterator[Callable[[type[FileHandler]], str]]:
    """Serve the folder by a handler, and return its URL."""
    servers: list[tuple[ThreadingHTTPServer, Thread]] = []

    def start(handler: type[FileHandler]) -> str:
        class Bound(handler):  # type: ignore[misc, valid-type]
            def __init__(self, *args: Any) -> None:
                super().__init__(*args, directory=os.fspath(folder))

        server = ThreadingHTTPServer(("127.0.0.1", 0), Bound)
        thread = Thread(target=server.serve_forever)
        thread.start()
        servers.append((server, thread))
        return f"http://127.0.0.1:{server.server_port}"

    yield start
    for server, thread in servers:
        server.shutdown()
        thread.join()
        server.server_close()


def test_fit__over_http_has_the_bits_of_the_disk(serve: Any, folder: Path) -> None:
    """A store whose folders a server does not answer for was called absent."""
    remote, local = (
        KernelMixture(2, random_state=0).fit(f"{place}/rows.zarr", scheduler="threads")
        for place in (serve(RangeHandler), folder)
    )
    np.testing.assert_array_equal(remote.weights_, local.weights_)


def test_shards__that_a_server_sends_whole_are_not_called_damaged(serve: Any) -> None:
    samples = open_samples(f"{serve(FileHandler)}/rows.zarr")
    with pytest.raises(StoreReadError, match="range requests") as caught:
        list(samples.blocks(((0, 10),), 10))
    assert "corrupted" not in str(caught.value)


def test_fingerprint__over_http_changes_with_the_files(serve: Any) -> None:
    """Without it, the checkpoint of a store would be used for another store."""
    address = f"{serve(RangeHandler)}/rows.zarr"
    before = open_samples(address).fingerprint()
    assert open_samples(address).fingerprint() == before
    source = open_samples(address).sources[0]
    names = [name for name, size, stamp in source._files() if size and "20" in stamp]
    assert any("/c/" in name for name in names)


def test_file__that_is_absent_over_http_is_named(serve: Any, folder: Path) -> None:
    shard = next(path for path in (folder / "rows.zarr" / "X" / "c").rglob("*") if path.is_file())
    moved = shard.rename(folder / "shard")
    try:
        with pytest.raises(StoreReadError, match="files of 'X' are absent"):
            open_samples(f"{serve(RangeHandler)}/rows.zarr")
    finally:
        moved.rename(shard)


def test_store__without_consolidated_metadata_is_explained(serve: Any, folder: Path) -> None:
    rows = simulate.kernel_mixture(100, 2, random_state=0)[["X"]].drop_vars("feature")
    rows.to_zarr(folder / "plain.zarr", consolidated=False)
    address = f"{serve(RangeHandler)}/plain.zarr"
    with pytest.raises(StoreReadError, match="consolidate_metadata"):
        open_samples(address)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # not part of the specification of format 3
        zarr.consolidate_metadata(folder / "plain.zarr")
    assert open_samples(address).rows == 100


def test_output__on_a_web_server_is_refused_before_a_pass(serve: Any, folder: Path) -> None:
    url, samples = serve(RangeHandler), open_samples(folder / "rows.zarr")
    model = KernelMixture(2, random_state=0).fit(simulate.kernel_mixture(500, 2, random_state=0))
    with pytest.raises(OutputError, match="on a web server"):
        model.save(f"{url}/model.zarr")
    with pytest.raises(CheckpointError, match="on a web server"):
        open_checkpoint(f"{url}/parts", samples)


@pytest.mark.parametrize("cache", ["simplecache", "filecache", "blockcache"])
def test_cache_of_fsspec__around_a_store_is_refused(cache: str, folder: Path) -> None:
    """Zarr ended in errors of event loops."""
    inner = f"file://{folder / 'rows.zarr'}"
    with pytest.raises(StoreReadError, match=f"'{cache}'.*give {inner}"):
        check_store_address(f"{cache}::{inner}")
    with pytest.raises(BigtensorError, match=f"'{cache}'.*give {inner}"):
        KernelMixture(2).fit(f"{cache}::{inner}")

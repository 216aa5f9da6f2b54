"""Passwords of URLs: no message, log line, model, report or manifest holds one."""

import json
import traceback
from collections.abc import Iterator
from functools import partial
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from threading import Thread
from typing import Any

import fsspec
import numpy as np
import pytest

import bigtensor
from bigtensor.data.opening import open_samples
from bigtensor.data.simulate import write_gaussian_mixture
from bigtensor.data.stores.outputs import check_target
from bigtensor.engine.checkpoint import PassCheckpoint, open_checkpoint
from bigtensor.errors import (
    BigtensorError,
    BigtensorWarning,
    OutputError,
    StoreReadError,
    hide_passwords,
    message_of,
    without_passwords,
)
from bigtensor.report.html import write_report
from tests.cli.conftest import invoke

SECRET = "pass-word"
PLACE = f"memory://me:{SECRET}@place"
THREADS = ("--scheduler", "threads")


@pytest.fixture
def memory() -> Iterator[fsspec.AbstractFileSystem]:
    """The file system in memory with a store of cells, whose address has a password."""
    filesystem = fsspec.filesystem("memory")
    filesystem.store.clear()
    filesystem.pseudo_dirs[:] = [""]
    write_gaussian_mixture(f"{PLACE}/cells.zarr", 2000, 2, random_state=1)
    yield filesystem
    filesystem.store.clear()


class Refusing(SimpleHTTPRequestHandler):
    """Serves a folder, and refuses what is called so."""

    def send_head(self) -> Any:
        if "refused" not in self.path:
            return super().send_head()
        self.send_error(HTTPStatus.FORBIDDEN)
        return None

    def log_message(self, *_: Any) -> None:
        """Print nothing."""


@pytest.fixture
def web(tmp_path: Path) -> Iterator[str]:
    """A folder behind HTTP, with a password in its URL."""
    handler = partial(Refusing, directory=str(tmp_path))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://me:{SECRET}@127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://me:pass-word@host:80/a", "https://me:***@host:80/a"),
        ("s3://KEY:pass-word@bucket/a.zarr", "s3://KEY:***@bucket/a.zarr"),
        ("s3://KEY:abc/pass-word+x@bucket", "s3://KEY:***@bucket"),
        ("https://me:pa@pass-word@host/a", "https://me:***@host/a"),
        ("s3://b?X-Amz-Signature=pass-word", "s3://b?X-Amz-Signature=***"),
        ("'az://b/a?sig=pass-word&v=1'", "'az://b/a?sig=***&v=1'"),
        ("abfs://box@account.dfs.example/a", "abfs://box@account.dfs.example/a"),
        ("http://[::1]:80/a@b, http://h:80/b@c", "http://[::1]:80/a@b, http://h:80/b@c"),
        ("file://C:/me@home/a.zarr", "file://C:/me@home/a.zarr"),
        ("marker CD3:FITC@lab", "marker CD3:FITC@lab"),
    ],
)
def test_kinds_of_urls(url: str, shown: str) -> None:
    assert without_passwords(url) == shown
    for kind in (OutputError, StoreReadError, BigtensorWarning):
        error = kind(f"{url} failed")
        for text in (str(error), repr(error), message_of(error)):
            assert "pass-word" not in text
    cause = OSError(5, f"no answer from {url}", url)
    cause.__context__ = KeyError(url)
    assert "pass-word" not in "".join(traceback.format_exception(hide_passwords(cause)))


def messages(error: BaseException) -> str:
    """Return an error with its traceback and causes, as Python prints it."""
    return "".join(traceback.format_exception(error)) + repr(error)


def hidden(text: str) -> bool:
    """Return True if a text has an address whose password is hidden."""
    return SECRET not in text and "me:***@" in text


FAULTS = {
    "missing store": lambda url: open_samples(f"{url}/absent.zarr"),
    "refused credentials": lambda url: open_samples(f"{url}/refused.zarr"),
    "missing model": lambda url: bigtensor.load(f"{url}/absent.zarr"),
    "missing checkpoint": lambda url: PassCheckpoint(f"{url}/parts").store(None, {"x": np.ones(1)}),
    "no server": lambda _: open_samples(f"http://me:{SECRET}@127.0.0.1:1/a.zarr"),
}


@pytest.mark.skipif(not find_spec("aiohttp"), reason="needs aiohttp")
@pytest.mark.parametrize("attempt", FAULTS.values(), ids=FAULTS)
def test_error_of_a_place_behind_http(web: str, attempt: Any) -> None:
    with pytest.raises(BigtensorError) as caught:
        attempt(web)
    assert hidden(messages(caught.value))


@pytest.mark.skipif(not find_spec("s3fs"), reason="needs s3fs")
def test_key_before_a_bucket__is_refused_before_the_client_sees_it() -> None:
    url = f"s3://me:{SECRET}@bucket"
    samples = open_samples(np.ones((4, 2)))
    attempts: dict[type[BigtensorError], Any] = {
        StoreReadError: lambda: open_samples(f"{url}/a.zarr"),
        OutputError: lambda: check_target(f"{url}/a.zarr", overwrite=False),
        BigtensorError: lambda: open_checkpoint(f"{url}/parts", samples),
    }
    for kind, attempt in attempts.items():
        with pytest.raises(kind, match="AWS_SECRET_ACCESS_KEY") as caught:
            attempt()
        assert hidden(messages(caught.value))


def test_commands__print_no_password(memory, caplog) -> None:
    caplog.set_level("DEBUG", "bigtensor")
    cells, model = f"{PLACE}/cells.zarr", f"{PLACE}/m.zarr"
    mixture = ("--model", "gaussian-mixture", "-k", 2)
    fit = ("fit", cells, *mixture, "--out", model, "--checkpoint", f"{PLACE}/parts", *THREADS)
    steps: tuple[tuple[tuple[Any, ...], int], ...] = (
        (("info", cells), 0),
        (("info", cells, "--json"), 0),
        (("plan", cells, *mixture), 0),
        ((*fit, "--debug"), 0),
        ((*fit, "--debug"), 1),
        (("info", model), 0),
        (("info", model, "--json"), 0),
        (("predict", model, cells, "--out", f"{PLACE}/l.zarr", *THREADS), 0),
        (("predict", model, cells, "--out", f"{PLACE}/l.zarr", "--debug", *THREADS), 1),
        (("predict", model, cells, "--into", "a", *THREADS), 0),
        (("report", model, "--data", cells, "--out", f"{PLACE}/r.html"), 0),
        (("info", f"{PLACE}/absent.zarr", "--debug"), 1),
    )
    for step, code in steps:
        result = invoke(*step)
        assert result.exit_code == code, (step, result.stderr)
        assert SECRET not in result.stdout + result.stderr, step
    assert SECRET not in caplog.text
    for name in memory.find("/"):
        assert SECRET.encode() not in memory.cat_file(name), name


def test_model_and_report__hold_no_password(memory, tmp_path: Path) -> None:
    cells = f"{PLACE}/cells.zarr"
    model = bigtensor.GaussianMixture(2, random_state=0).fit(cells, scheduler="threads")
    contents = model.to_contents()
    assert hidden(json.dumps(contents.attrs, default=str))
    assert hidden(str(model.plan(cells)))
    assert SECRET not in repr(model)
    assert SECRET not in model._repr_html_()
    write_report(model, tmp_path / "r.html", data=cells)
    assert SECRET not in (tmp_path / "r.html").read_text()
    options = {"scheduler": "threads"}
    model.write(cells, f"{PLACE}/l.zarr", **options)
    for place, into in ((cells, "X"), (f"{PLACE}/l.zarr", None)):
        with pytest.raises(OutputError) as caught:
            model.write(cells, place, into=into, **options)
        assert hidden(messages(caught.value))


def test_hidden_passwords__end_with_a_circle_of_causes() -> None:
    error, cause = ValueError("outer"), ValueError("s3://user:pass-word@host/store")
    error.__cause__, cause.__cause__ = cause, error

    hide_passwords(error)

    assert "pass-word" not in str(cause)

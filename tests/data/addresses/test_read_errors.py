"""Errors of reading name the rows and a remedy."""

import errno
import socket
from contextlib import AbstractContextManager
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
import zarr

from bigtensor.data.addresses import read_errors
from bigtensor.data.addresses.read_errors import read_remedy, read_variable, row_errors
from bigtensor.data.addresses.store_files import StoreFiles
from bigtensor.data.rows.rows_where import StoredVariable
from bigtensor.data.stores.zarr_datasets import as_dataset
from bigtensor.errors import StoreReadError

CELLS = "memory://cells.zarr"


def test_rows_larger_than_memory__are_named_with_a_remedy() -> None:
    """The header of a damaged chunk may promise any length."""
    with (
        pytest.raises(StoreReadError, match=r"'X' of rows 10 to 19 .* memory: "),
        row_errors("X", "cells.zarr", 10, 20),
    ):
        raise MemoryError


def test_rows_in_the_memory_of_another_process__are_not_called_damaged() -> None:
    source = StoredVariable("memory://of another process.zarr", "X")
    with pytest.raises(StoreReadError, match="do not read: use threads"):
        source.read(0, 10)


FAILURES = {
    # as s3fs raises them for a session token that has expired, and for a busy server
    "renew the credentials": PermissionError("The provided token has expired."),
    "run the same command again": OSError(errno.EBUSY, "SlowDown"),
}


@pytest.mark.parametrize("remedy", FAILURES)
def test_failure_of_the_server__is_not_called_damage(
    remedy: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    error = FAILURES[remedy]

    def fail(*_: object, **__: object) -> None:
        raise error

    def expect() -> AbstractContextManager[pytest.ExceptionInfo[StoreReadError]]:
        return pytest.raises(StoreReadError, match=remedy)

    messages = list[str]()
    with expect() as caught, row_errors("X", CELLS, 0, 10):
        raise error
    messages.append(str(caught.value))
    with expect() as caught, StoreFiles(CELLS).reading():
        raise error
    messages.append(str(caught.value))
    group = zarr.create_group(tmp_path / "cells.zarr")
    monkeypatch.setattr(xr, "open_zarr", fail)
    with expect() as caught:
        as_dataset(CELLS, group)
    messages.append(str(caught.value))
    variable = xr.Variable("sample", np.zeros(2))
    monkeypatch.setattr(xr.Variable, "to_numpy", fail)
    with expect() as caught:
        read_variable(variable, "the groups")
    messages.append(str(caught.value))
    for message in messages:
        assert "copy" not in message
        assert "bigtensor import" not in message
        assert "open_zarr" not in message


@pytest.mark.parametrize(
    ("name", "details", "setting"),
    [
        ("NoCredentialsError", {}, "AWS_ACCESS_KEY_ID"),
        ("ProfileNotFound", {"profile": "lab"}, "AWS_PROFILE"),
        ("EndpointConnectionError", {"endpoint_url": "https://b"}, "AWS_ENDPOINT_URL"),
    ],
)
def test_worker_without_settings_of_the_driver__is_named_with_the_setting(
    name: str, details: dict[str, str], setting: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(read_errors, "in_task", lambda: True)
    error = getattr(pytest.importorskip("botocore.exceptions"), name)(**details)
    with pytest.raises(StoreReadError, match=setting) as caught, row_errors("X", CELLS, 0, 10):
        raise error
    assert socket.gethostname() in str(caught.value)
    assert "damaged" not in str(caught.value)
    assert "copy" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "details"),
    [
        ("NoCredentialsError", {}),
        ("EndpointConnectionError", {"endpoint_url": "https://b"}),
        ("ReadTimeoutError", {"endpoint_url": "https://b"}),
    ],
)
def test_error_in_the_process_of_the_user__names_no_worker(
    name: str, details: dict[str, str]
) -> None:
    error = getattr(pytest.importorskip("botocore.exceptions"), name)(**details)
    assert "orker" not in read_remedy(error, "restore the store")
    assert "orker" not in read_remedy(PermissionError(13, "x"), "restore the store")


def test_slow_answer__is_no_fault_of_the_endpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read_errors, "in_task", lambda: True)
    exceptions = pytest.importorskip("botocore.exceptions")
    error = exceptions.ReadTimeoutError(endpoint_url="https://b")
    assert "AWS_ENDPOINT_URL" not in read_remedy(error, "restore the store")


def test_refusal_without_a_reason__asks_for_other_credentials() -> None:
    """xarray asks for the size of a chunk first; the answer to that has no room for a reason."""
    exceptions = pytest.importorskip("botocore.exceptions")
    error = OSError(errno.EINVAL, "Bad Request")
    error.__cause__ = exceptions.ClientError({"Error": {"Code": "400"}}, "HeadObject")
    assert "credentials" in read_remedy(error, "restore the store")
    assert read_remedy(OSError(errno.EINVAL, "other"), "restore the store") == "restore the store"

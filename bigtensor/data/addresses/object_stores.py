"""Object stores and other places behind a URL: how they are reached, and why they are not."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import fsspec

from bigtensor.data.addresses.refused_access import explain_refused_access
from bigtensor.errors import (
    BigtensorError,
    MissingDependencyError,
    StoreReadError,
    hide_passwords,
    without_passwords,
)

_PACKAGES = {
    "s3": "s3fs",
    "s3a": "s3fs",
    "gs": "gcsfs",
    "gcs": "gcsfs",
    "http": "aiohttp requests",
    "https": "aiohttp requests",
    "abfs": "adlfs",
    "abfss": "adlfs",
    "az": "adlfs",
}
"""Package to install for a protocol."""

_CREDENTIALS = {
    "s3fs": "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or ~/.aws/credentials",
    "gcsfs": "GOOGLE_APPLICATION_CREDENTIALS, or gcloud auth application-default login",
    "adlfs": "AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY",
}
"""Where the packages of stores with buckets look for credentials."""

_NEEDS_AWS = f"set {_CREDENTIALS['s3fs']}; for a public bucket set FSSPEC_S3_ANON=true"
_WITHOUT_CREDENTIALS = {
    "NoCredentialsError": _NEEDS_AWS,
    "PartialCredentialsError": _NEEDS_AWS,
    "ProfileNotFound": (
        "correct AWS_PROFILE, or name the file with this profile in AWS_CONFIG_FILE"
    ),
    "DefaultCredentialsError": f"set {_CREDENTIALS['gcsfs']}",
}
"""Names of the errors of clients that find no credentials, with the remedies."""

_CLIENTS = ("fsspec", "botocore", "aiobotocore", "aiohttp", "gcsfs", "google", "azure")
"""Packages whose errors come from an object store: fsspec, and the clients that it uses."""

_NO_ANSWER = frozenset(
    {"ConnectionError", "HTTPClientError", "ClientConnectionError", "ClientPayloadError"}
)
"""Names of the errors of Python, botocore and aiohttp for a server that does not answer, or whose
answer breaks off."""

_REFUSALS = frozenset(
    getattr(errno, name) for name in ("EINVAL", "EREMCHG") if hasattr(errno, name)
)
"""Error numbers of s3fs for a refused request, and for one that another server has to answer. Not
every system has the second."""

_FORBIDDEN = frozenset({401, 403})
"""Statuses of web servers for a request without permission, or without the right password."""

_ABSENT = frozenset({404, 410})
"""Statuses of web servers for a file that does not exist."""

_FEW_RETRIES: dict[str, Any] = {
    "connect_timeout": 5,
    "read_timeout": 3,
    "retries": {"total_max_attempts": 3},
}
"""Settings of an S3 client that looks whether a server answers. By default the client tries five
times, which takes 9 s where nothing listens and minutes where a firewall drops the packets. s3fs
asks the client five times in turn: a server that takes a request and never answers is given up
after 50 s, by default after 25 minutes."""


def read_options(address: str) -> dict[str, Any]:
    """Return options of a file system that reads documents and chunks, each in one request.

    By default s3fs asks for the size of an object before it reads the object, because it reads
    large ones in several pieces at the same time.
    """
    return {"max_concurrency": 1} if _package(address) == "s3fs" else {}


def file_system(address: str, *, probe: bool = False, small_reads: bool = False) -> tuple[Any, str]:
    """Return the file system of an address, and the path inside it.

    Listings are not cached, because others may write to the same place.

    Parameters
    ----------
    address : str
        A path or a URL.
    probe : bool, default False
        If True, give up within seconds if no server answers.
    small_reads : bool, default False
        If True, read objects as `read_options` says.

    Raises
    ------
    MissingDependencyError
        When the protocol of a URL needs a package that is not installed.
    StoreReadError
        When the protocol is unknown, or the path is empty.
    """
    if not address.strip():
        raise StoreReadError(f"{address!r} is no address of a store; give a path or a URL")
    _refuse_key(address)
    outer, chain, inner = address.partition("::")
    if chain and "://" not in address and outer in fsspec.available_protocols():
        raise StoreReadError(
            f"{address} is no address of a store, because '://' is missing after {outer!r}; give "
            f"{outer}://::{inner}"
        )
    options: dict[str, Any] = {"use_listings_cache": False}
    if small_reads:
        options |= read_options(address)
    if probe and _package(address) == "s3fs":
        configured = fsspec.config.conf.get("s3", {}).get("config_kwargs", {})
        options["config_kwargs"] = configured | _FEW_RETRIES
    try:
        filesystem, root = fsspec.core.url_to_fs(address, **options)
    except ImportError as error:
        package = _package(address)
        remedy = f"pip install {package}" if package else "install the package that it names"
        raise MissingDependencyError(
            f"{address} needs a package that could not be imported ({error}): {remedy}"
        ) from error
    except Exception as error:
        protocol, separator, rest = address.partition("://")
        if separator and protocol != protocol.lower():
            raise StoreReadError(
                f"{address} cannot be opened, because protocols are written in small letters; give "
                f"{protocol.lower()}://{rest}"
            ) from hide_passwords(error)
        raise StoreReadError(
            f"{address} cannot be opened ({error}); expected a path, or a URL that begins with "
            "s3://, gs://, https:// or another protocol of fsspec"
        ) from hide_passwords(error)
    return filesystem, root.rstrip("/") or root


def _refuse_key(address: str) -> None:
    """Refuse a key before the name of a bucket: clients take it for a part of the name."""
    package = _package(address) or ""
    if package in _CREDENTIALS and without_passwords(address) != address:
        raise StoreReadError(
            f"{address} holds a secret, which the client would take for the name of a bucket; "
            f"leave it out, and set {_CREDENTIALS[package]}"
        )


def is_object_store(address: str) -> bool:
    """Return True if an object appears under its name when all of it has arrived."""
    return _package(address) in _CREDENTIALS or address.startswith("memory://")


def lists_files(filesystem: fsspec.AbstractFileSystem) -> bool:
    """Return False for a web server, which has files and no folders.

    Some servers make a page of the names in a folder, without sizes and times.
    """
    return not {"http", "https"} & set(_protocols(filesystem))


def _protocols(filesystem: fsspec.AbstractFileSystem) -> tuple[str, ...]:
    """Return the names of the protocol of a file system."""
    names = filesystem.protocol
    return (names,) if isinstance(names, str) else tuple(names)


def refuse_cache(address: str, filesystem: fsspec.AbstractFileSystem) -> None:
    """Refuse a cache of fsspec around a store: Zarr cannot use it from its event loop.

    Raises
    ------
    StoreReadError
    """
    from fsspec.implementations.cached import CachingFileSystem

    if isinstance(filesystem, CachingFileSystem):
        cache, _, inner = address.partition("::")
        raise StoreReadError(
            f"{address} is a store behind {cache!r}, a cache of fsspec, which Zarr cannot use; "
            f"give {inner}"
        )


def check_bucket(address: str, filesystem: fsspec.AbstractFileSystem, root: str) -> None:
    """Refuse a bucket that does not exist. None is ever made.

    Parameters
    ----------
    address : str
        URL, for the protocol and the message.
    filesystem, root
        Of `file_system`.

    Raises
    ------
    StoreReadError
    """
    if _package(address) not in _CREDENTIALS:
        return
    bucket = root.partition("/")[0]
    try:
        filesystem.info(bucket)
    except FileNotFoundError as error:
        raise StoreReadError(_no_bucket(address)) from error


@contextmanager
def store_errors(address: str, error_class: type[BigtensorError] | None = None) -> Iterator[None]:
    """Turn errors of a place behind a URL into one that names what has to be mended.

    Parameters
    ----------
    address : str
        For the message.
    error_class : type, default StoreReadError
        Class of the errors that are raised.

    Raises
    ------
    error_class
    """
    try:
        yield
    except BigtensorError as error:
        if error_class is None or not isinstance(error, StoreReadError):
            raise
        raise error_class(str(error)) from error
    except Exception as error:
        message = explain_failure(address, error)
        raise (error_class or StoreReadError)(message) from hide_passwords(error)


def is_network_failure(error: BaseException) -> bool:
    """Return True for an error of a client that got no whole answer; a later request may get it."""
    return bool(_NO_ANSWER & {kind.__name__ for kind in type(error).__mro__})


def credentials_remedy(error: BaseException) -> str | None:
    """Return the settings that a client without credentials needs; None for other errors."""
    names = (kind.__name__ for kind in type(error).__mro__)
    return next((remedy for name in names if (remedy := _WITHOUT_CREDENTIALS.get(name))), None)


def refused_status(error: BaseException) -> int | None:
    """Return the status with which a web server refused a request; None for other errors.

    A file that is absent is no refusal.
    """
    if "ClientResponseError" not in {kind.__name__ for kind in type(error).__mro__}:
        return None
    status: int = getattr(error, "status", 0)
    return None if status in _ABSENT else status


def is_refusal(error: BaseException) -> bool:
    """Return True if reading is not allowed, as after credentials have expired."""
    if refused_status(error) in _FORBIDDEN:
        return True
    from_client = type(error.__cause__).__module__.partition(".")[0] in _CLIENTS
    refused = isinstance(error, OSError) and error.errno in _REFUSALS and from_client
    return isinstance(error, PermissionError) or refused


def is_store_failure(error: BaseException) -> bool:
    """Return True for an error of fsspec, or of a client that it uses."""
    package = type(error).__module__.partition(".")[0]
    return (isinstance(error, OSError) and package == "builtins") or package in _CLIENTS


def explain_remote(address: str, error: BaseException) -> str | None:
    """Return why a place behind a URL failed, and the remedy; None for an error of another kind.

    A file that is absent is no failure of the place, except where the bucket is absent.
    """
    if "://" not in address or not is_store_failure(error):
        return None
    if isinstance(error, FileNotFoundError) and not _is_absent_bucket(error):
        return None
    return explain_failure(address, error)


def explain_failure(address: str, error: BaseException) -> str:
    """Return why an address cannot be read or written, and the remedy.

    Parameters
    ----------
    address : str
        URL that the error belongs to.
    error : exception
        Of fsspec, or of a client that it uses. Clients are told by the names of their errors,
        because none of them has to be installed.
    """
    where = _CREDENTIALS.get(_package(address) or "", "the settings of its protocol")
    if remedy := credentials_remedy(error):
        return f"{address} needs credentials ({error}); {remedy}"
    if isinstance(error, PermissionError):
        return explain_refused_access(address, error, where)
    if (status := refused_status(error)) in _FORBIDDEN:
        return (
            f"{address} may not be read: its server refuses access (status {status}), which some "
            "servers do for an absent file as well; check the path, put user and password before "
            "the host of the URL, separated by ':' and followed by '@', or ask the owner for "
            "permission"
        )
    if is_network_failure(error):
        return (
            f"no server answers for {address}, or its answer breaks off ({_endpoint(address)}); "
            "check the endpoint and the network"
        )
    if _is_absent_bucket(error):
        return _no_bucket(address)
    number = error.errno if isinstance(error, OSError) else None
    if _package(address) == "s3fs" and number in _REFUSALS:
        # a HEAD request has no room for a reason
        return (
            f"{address} cannot be used: the server refused a request ({error}), as it does if the "
            "session token has expired or the bucket is in another region; renew the credentials, "
            "and check the address and the region (AWS_DEFAULT_REGION)"
        )
    if number == errno.EBUSY:
        return (
            f"{address} cannot be used now, because its server is busy ({error}); wait a few "
            "minutes, then run the same command again"
        )
    if number == errno.ENOSPC:
        return f"{address} cannot be written: no space is left; make room or give another place"
    return (
        f"{address} cannot be reached ({type(error).__name__}: {error}); check the address, the "
        "connection and the permissions"
    )


def _is_absent_bucket(error: BaseException) -> bool:
    """Return True for the error of a bucket that does not exist."""
    return isinstance(error, FileNotFoundError) and "bucket" in str(error)


def _package(address: str) -> str | None:
    """Return the package that a protocol needs."""
    return _PACKAGES.get(str(fsspec.core.split_protocol(address)[0]))


def _no_bucket(address: str) -> str:
    """Return the error for a bucket that does not exist."""
    bucket = address.partition("://")[2].partition("/")[0]
    return (
        f"{address} cannot be used, because there is no bucket {bucket!r} ({_endpoint(address)}); "
        "check its name and the endpoint, or make it yourself, because buckets are never made here"
    )


def _endpoint(address: str) -> str:
    """Return in words which server is asked."""
    if _package(address) != "s3fs":
        return f"asked over {address.partition('://')[0]}"
    remedy = "AWS_ENDPOINT_URL or endpoint_url in ~/.aws/config sets it"
    # an endpoint comes from variables, profiles and settings of fsspec, which the client combines
    with suppress(Exception):
        client = file_system(address)[0].s3
        return f"the endpoint is {client.meta.endpoint_url}; {remedy}"
    return f"the endpoint is not known, because there is no client; {remedy}"

"""Connections to a running Dask scheduler: addresses, certificates and reasons of failure."""

from __future__ import annotations

import json
import os
import socket
import ssl
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from pkgutil import resolve_name
from platform import python_version
from typing import TYPE_CHECKING, Any, TypeVar

from bigtensor._version import __version__
from bigtensor.errors import ClusterError, ParameterError, Setting

if TYPE_CHECKING:
    from distributed import Client
    from distributed.security import Security

ANSWER_TIMEOUT = 1.5
"""Seconds in which a scheduler file has to be readable and a server has to accept a connection.
Both are tried again in this time, because the scheduler may be starting."""

HELLO_TIMEOUT = 1.0
"""Seconds in which a server that speaks first, as Dask's do, says so."""

CONNECT_TIMEOUT = 10.0
"""Seconds to wait for a scheduler that has accepted a connection: it may be busy."""

_IMPORTED_VERSION = "bigtensor._version:__version__"
"""Version of the package that a process imports, which may be a source tree in place of the
installed one. The metadata of packages, which Dask compares, are those of the installed one."""

Result = TypeVar("Result")

_CERTIFICATES = (
    "give "
    + Setting("tls_ca_file")
    + ", "
    + Setting("tls_cert")
    + " and "
    + Setting("tls_key")
    + ": the PEM files of the certificate authority, of your certificate and of its key. Without "
    "them, the settings distributed.comm.tls of Dask are used"
)


@dataclass(frozen=True)
class Connection:
    """A running Dask scheduler and the certificates to reach it with.

    Parameters
    ----------
    address : str, optional
        Address of the scheduler, ``"tcp://10.0.0.1:8786"`` or ``"tls://10.0.0.1:8786"``.
    scheduler_file : path, optional
        File that ``dask scheduler --scheduler-file`` writes, in place of an address.
    tls_ca_file, tls_cert, tls_key : path, optional
        PEM files of the certificate authority, of the client's certificate and of its key. The key
        may be in the file of the certificate. By default, Dask's configuration names the files.

    Raises
    ------
    ParameterError
        When there are both or neither of an address and a scheduler file, or the address has no
        protocol.
    """

    address: str | None = None
    scheduler_file: str | os.PathLike[str] | None = None
    tls_ca_file: str | os.PathLike[str] | None = None
    tls_cert: str | os.PathLike[str] | None = None
    tls_key: str | os.PathLike[str] | None = None

    def __post_init__(self) -> None:
        if (self.address is None) == (self.scheduler_file is None):
            raise ParameterError(
                "a Connection got both or neither of address and "
                + Setting("scheduler_file")
                + "; give one of them"
            )
        if self.address is not None and "://" not in self.address:
            raise ParameterError(
                Setting("scheduler")
                + f" is {self.address!r}; expected 'threads', 'processes' or the address of a "
                "running Dask scheduler with its protocol, such as tcp://10.0.0.1:8786"
            )

    def find_address(self) -> str:
        """Return the address, from the scheduler file if there is one.

        Raises
        ------
        ClusterError
            When the file cannot be read or holds no address.
        """
        if self.scheduler_file is None:
            return str(self.address)
        path = Path(self.scheduler_file)
        try:
            entries = _retried(lambda: json.loads(path.read_text()), OSError, ValueError)
        except OSError as error:
            raise ClusterError(
                f"the scheduler file {path} cannot be read ({error.strerror}); check the path, and "
                f"that 'dask scheduler --scheduler-file {path}' runs and writes to a disk of this "
                "machine or to a shared one"
            ) from error
        except ValueError:
            entries = None
        address = entries.get("address") if isinstance(entries, dict) else None
        if not isinstance(address, str):
            raise ClusterError(
                f"{path} holds no address of a scheduler; expected the file that "
                "'dask scheduler --scheduler-file' writes"
            )
        return address

    def security(self) -> Security:
        """Return Dask's security settings with these certificates."""
        from distributed.security import Security

        files = {
            "tls_ca_file": self.tls_ca_file,
            "tls_client_cert": self.tls_cert,
            "tls_client_key": self.tls_key,
        }
        return Security(**{name: str(path) for name, path in files.items() if path is not None})


@contextmanager
def connected(connection: Connection) -> Iterator[Client]:
    """Connect to a scheduler, and leave it running afterwards.

    The context yields a `distributed.Client`.

    Raises
    ------
    ClusterError
        When no scheduler answers, or the certificates are missing or refused.
    """
    from distributed import Client

    address, security = connection.find_address(), connection.security()
    _check_answer(address, security)
    try:
        client = Client(address, security=security, timeout=CONNECT_TIMEOUT, set_as_default=False)
    except (OSError, ValueError) as error:
        raise _no_scheduler(address, error) from error
    with client:
        yield client


def require_usable(client: object) -> None:
    """Require a client that can run passes from this thread.

    Raises
    ------
    ParameterError
        When it is something else than a client, or asynchronous.
    ClusterError
        When it is closed.
    """
    from distributed import Client

    if not isinstance(client, Client):
        raise ParameterError(
            Setting("client")
            + f" is a {type(client).__name__}; expected a distributed.Client. Of a cluster, give "
            "cluster.get_client(), and for the address of a scheduler "
            + Setting("scheduler", "tcp://host:8786")
        )
    if client.asynchronous:
        raise ParameterError(
            "the Dask client is asynchronous, and a fit waits for its answers; give a client that "
            "is not asynchronous, or use " + Setting("scheduler", "threads")
        )
    if client.status in ("closing", "closed"):
        raise ClusterError(
            "the Dask client is closed; make a new Client, or use "
            + Setting("scheduler", "threads")
        )


def check_versions(client: Client) -> None:
    """Require the versions of this process on the workers that there are now.

    Functions and states travel by name, and another version would add up other numbers. Workers are
    asked through functions of Python, which any version of the package and of Python can call.

    Raises
    ------
    ClusterError
        When workers have another version of bigtensor or of Python, or no bigtensor.
    """
    workers: Any = client.run(resolve_name, _IMPORTED_VERSION, on_error="return")
    _require_version("bigtensor", __version__, workers)
    workers = client.run(python_version, on_error="return")
    _require_version("python", python_version(), workers, components=2)


def _require_version(
    package: str, here: str, workers: dict[str, object], components: int | None = None
) -> None:
    """Require a version, as far as its leading components, on the workers that answered."""
    here = _leading(here, components)
    for address, answer in workers.items():
        if isinstance(answer, OSError | RuntimeError):
            continue  # the worker has gone, or its scheduler runs no functions
        if isinstance(answer, ModuleNotFoundError) and answer.name == package:
            there = f"no {package}"
        elif isinstance(answer, str):
            there = f"{package} {_leading(answer, components)}"
        else:
            there = f"a {package} that cannot be imported ({answer})"
        if there != f"{package} {here}":
            raise ClusterError(
                f"the worker at {address} has {there}, and this process has {package} {here}; "
                "install the same environment on every machine and start the workers from it"
            )


def _leading(version: str, components: int | None) -> str:
    """Return the leading components of a version, by default all."""
    return ".".join(version.split(".")[:components])


def _check_answer(address: str, security: Security) -> None:
    """Raise a ClusterError that names the cause where the scheduler cannot be reached."""
    from distributed.comm.addressing import get_address_host_port, parse_address

    context = _tls_context(security)
    try:
        scheme, _ = parse_address(address)
        host, port = get_address_host_port(address, strict=True)
    except ValueError as error:
        raise _no_scheduler(address, error) from error
    if scheme == "tls" and context is None:
        raise ClusterError(f"{address} needs certificates, and there are none; " + _CERTIFICATES)
    if scheme == "tcp" and security.require_encryption:
        raise ClusterError(
            f"{address} is not encrypted, but your certificates or the setting "
            "distributed.comm.require-encryption of Dask require encryption; give an address that "
            "begins with tls://"
        )
    if scheme not in ("tcp", "tls"):
        return
    try:
        connection = _retried(
            lambda: socket.create_connection((host, port), timeout=ANSWER_TIMEOUT), OSError
        )
    except OSError as error:
        raise _no_scheduler(address, error) from error
    with connection:
        if scheme == "tls":
            _check_certificates(address, connection, context)
        elif not _speaks_first(connection) and _speaks_tls(host, port):
            raise ClusterError(
                f"the scheduler at {address} asks for encryption; give an address that begins with "
                "tls://, and " + _CERTIFICATES
            )


def _no_scheduler(address: str, error: Exception) -> ClusterError:
    """Return the error where no scheduler answers."""
    return ClusterError(
        f"no scheduler answers at {address} ({error}); check the address, and that the scheduler "
        "runs"
    )


def _tls_context(security: Security) -> ssl.SSLContext | None:
    """Return what encrypts a connection, or None without certificates.

    Raises
    ------
    ClusterError
        When a file cannot be read or is not what it should be.
    """
    tls = security.get_tls_config_for_role("client")
    for name, kind in (
        ("ca_file", "certificate authority"),
        ("cert", "certificate"),
        ("key", "key"),
    ):
        if tls[name] and not _is_text(tls[name]):
            try:
                Path(tls[name]).read_bytes()
            except OSError as error:
                raise ClusterError(
                    f"the file of the {kind}, {tls[name]}, cannot be read ({error.strerror}); "
                    + _CERTIFICATES
                ) from error
    try:
        context: ssl.SSLContext | None = security.get_connection_args("client")["ssl_context"]
    except (ssl.SSLError, ValueError) as error:
        raise ClusterError(
            f"the certificates cannot be used ({error}): authority {_place(tls['ca_file'])}, "
            f"certificate {_place(tls['cert'])}, key {_place(tls['key'])}; check that each is a "
            "PEM file, that none of them is mistaken for another, and that the key belongs to the "
            "certificate"
        ) from error
    return context


def _is_text(certificate: str) -> bool:
    """Return True for the text of a certificate or a key, which Dask takes in place of a path."""
    return "\n" in certificate


def _place(certificate: str | None) -> str:
    """Return where a certificate or a key is, for a message, which may not show a key."""
    if certificate is None:
        return "none"
    return "text of Dask's configuration" if _is_text(certificate) else certificate


def _check_certificates(
    address: str, connection: socket.socket, context: ssl.SSLContext | None
) -> None:
    """Raise a ClusterError when one side refuses the certificate of the other."""
    assert context is not None
    connection.settimeout(HELLO_TIMEOUT)
    try:
        with context.wrap_socket(connection) as encrypted:
            # the server judges the client's certificate after the client has finished
            encrypted.recv(1)
    except ssl.SSLCertVerificationError as error:
        raise ClusterError(
            f"the certificate of the scheduler at {address} is not signed by your certificate "
            f"authority ({error.verify_message}); use the file of the authority that the scheduler "
            "was started with, and " + _CERTIFICATES
        ) from error
    except ssl.SSLEOFError as error:
        raise ClusterError(
            f"the server at {address} closed the connection during the TLS handshake. Check the "
            "address, and read the log of the scheduler"
        ) from error
    except ssl.SSLError as error:
        if _is_alert(error):
            raise ClusterError(
                f"the scheduler at {address} refuses your certificate ({error.reason}); use one "
                "that the certificate authority of the scheduler has signed, and " + _CERTIFICATES
            ) from error
        raise ClusterError(
            f"the server at {address} does not encrypt ({error.reason}); if it is a Dask "
            "scheduler, give an address that begins with tcp://"
        ) from error
    except OSError:
        return  # a busy scheduler; the client waits longer


def _is_alert(error: ssl.SSLError) -> bool:
    """Return True if the other side ended the connection by an alert of TLS."""
    return "ALERT" in str(error.reason)


def _speaks_first(connection: socket.socket) -> bool:
    """Return True if the server sends something, as Dask's do without encryption."""
    connection.settimeout(HELLO_TIMEOUT)
    try:
        return bool(connection.recv(1))
    except OSError:
        return False


def _speaks_tls(host: str, port: int) -> bool:
    """Return True if the server answers a greeting of TLS."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    # nothing is sent on this connection
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    try:
        with (
            socket.create_connection((host, port), timeout=HELLO_TIMEOUT) as connection,
            context.wrap_socket(connection),
        ):
            return True
    except ssl.SSLError as error:
        return _is_alert(error)
    except OSError:
        return False


def _retried(call: Callable[[], Result], *errors: type[Exception]) -> Result:
    """Call until there is no error of these kinds, for `ANSWER_TIMEOUT` seconds."""
    deadline = time.monotonic() + ANSWER_TIMEOUT
    while True:
        try:
            return call()
        except errors:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)

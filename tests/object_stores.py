"""A real S3 server on loopback, and a proxy in front of it that is slow, counts and fails.

Run as a program, this file is the proxy.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

BUCKET = "bucket"
KEY, SECRET = "test-key", "test-secret"
REPORT = "/requests-so-far"

_REQUEST = re.compile(rb"(GET|PUT|HEAD|POST|DELETE) (\S+) HTTP/1.1\r\n")


@dataclass(frozen=True)
class ObjectStore:
    """An S3 server.

    Attributes
    ----------
    port : int
    root : Path
        Folder whose folders are the buckets.
    """

    port: int
    root: Path

    @property
    def environment(self) -> dict[str, str]:
        """Variables that point a client at the server."""
        return client_environment(self.port)


@dataclass(frozen=True)
class Proxy:
    """A proxy in front of an S3 server."""

    port: int

    @property
    def environment(self) -> dict[str, str]:
        """Variables that point a client at the proxy."""
        return client_environment(self.port)

    def requests(self) -> Counter[str]:
        """Return the number of requests by method since the last call, and of resets."""
        address = f"http://127.0.0.1:{self.port}{REPORT}"
        with urllib.request.urlopen(address, timeout=10) as answer:
            return Counter(json.load(answer))


def client_environment(port: int) -> dict[str, str]:
    """Return the variables that point an S3 client at a port of this machine."""
    return {
        "AWS_ACCESS_KEY_ID": KEY,
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
        "AWS_DEFAULT_REGION": "us-east-1",
        # rclone sends no checksums of parts of objects
        "AWS_RESPONSE_CHECKSUM_VALIDATION": "when_required",
    }


@contextmanager
def s3_server(folder: Path) -> Iterator[ObjectStore]:
    """Serve the folders of a folder as buckets, as long as the context lasts."""
    root, port = folder / "buckets", free_port()
    (root / BUCKET).mkdir(parents=True)
    program = Path(sys.executable).with_name("rclone")
    options = ["--addr", f"127.0.0.1:{port}", "--auth-key", f"{KEY},{SECRET}"]
    # no configuration of the user; with 0 ms, rclone never stops looking for a new folder
    options += ["--config", str(folder / "rclone.conf"), "--dir-cache-time", "1ms"]
    # a digest of the whole object for every request takes 85 ms for 50 MB, which no S3 store does
    options += ["--etag-hash", ""]
    command = [str(program), "serve", "s3", *options, str(root)]
    with _running(command, port, folder / "rclone.log"):
        yield ObjectStore(port, root)


@contextmanager
def slow_proxy(port: int, folder: Path, *, delay: float = 0, reset: float = 0) -> Iterator[Proxy]:
    """Forward requests to a port, each `delay` seconds late; a share `reset` of them is cut off."""
    own = free_port()
    command = [sys.executable, __file__, str(own), str(port), str(delay), str(reset)]
    with _running(command, own, folder / f"proxy-{own}.log"):
        yield Proxy(own)


def free_port() -> int:
    """Return a port of this machine that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def _running(command: list[str], port: int, log: Path) -> Iterator[None]:
    """Run a server, from when it listens to the end of the context."""
    with log.open("wb") as file:
        process = subprocess.Popen(command, stdout=file, stderr=file)
    try:
        _wait_for(port, process, log)
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait_for(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    """Wait until a server listens."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline and process.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.02)
    raise RuntimeError(f"no server on port {port}: {log.read_text()}")


async def _serve(port: int, target: int, delay: float, reset: float) -> None:
    """Run the proxy until it is ended."""
    counts: Counter[str] = Counter()
    chance = random.Random(1)

    async def forward(
        reader: asyncio.StreamReader, writer: asyncio.StreamWriter, client: asyncio.StreamWriter
    ) -> None:
        """Pass on what the client sends."""
        try:
            while data := await reader.read(1 << 16):
                for request in _REQUEST.finditer(data):
                    if request[2].decode() == REPORT:
                        body = json.dumps(counts).encode()
                        head = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n"
                        client.write(head % len(body) + body)
                        await client.drain()
                        counts.clear()
                        return
                    counts[request[1].decode()] += 1
                    await asyncio.sleep(delay)
                    if chance.random() < reset:
                        counts["reset"] += 1
                        client.transport.abort()
                        return
                writer.write(data)
                await writer.drain()
        except OSError:
            pass
        finally:
            writer.close()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Pass on what the server sends."""
        try:
            while data := await reader.read(1 << 16):
                writer.write(data)
                await writer.drain()
        except OSError:
            pass
        finally:
            writer.close()

    async def connect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Join a client with a connection of its own to the server."""
        server_reader, server_writer = await asyncio.open_connection("127.0.0.1", target)
        await asyncio.gather(forward(reader, server_writer, writer), answer(server_reader, writer))

    server = await asyncio.start_server(connect, "127.0.0.1", port)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    asyncio.run(_serve(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]), float(sys.argv[4])))

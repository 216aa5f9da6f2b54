"""Containers of Kubernetes manifests, run as processes of this machine."""

import os
import re
import signal
import socket
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

SERVICE, PORT = "bigtensor-scheduler", "8786"

Manifest = dict[str, Any]


def read_manifests(*paths: Path) -> list[Manifest]:
    """Return the documents of files."""
    return [document for path in paths for document in yaml.safe_load_all(path.read_text())]


class Machine:
    """This machine in the place of a cluster: mounts are folders, and the service is loopback.

    Parameters
    ----------
    manifests : sequence of dict
    mounts : mapping of str to Path
        Folders by the path at which containers mount them.
    environment : dict of str to str
        Of every process.
    logs : Path
    """

    def __init__(
        self,
        manifests: Sequence[Manifest],
        mounts: Mapping[str, Path],
        environment: dict[str, str],
        logs: Path,
    ) -> None:
        self._manifests = manifests
        self._mounts = mounts
        self._environment = environment
        self._logs = logs
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self._port = str(probe.getsockname()[1])

    @contextmanager
    def pods(self) -> Iterator[None]:
        """Run the containers that stay, as many as there are replicas, and end them."""
        started: list[subprocess.Popen[bytes]] = []
        try:
            for place, (container, replicas) in enumerate(self._staying()):
                for replica in range(replicas):
                    log = self._logs / f"{container['name']}-{place}-{replica}.log"
                    started.append(self._start(container, log, replica))
            yield
        finally:
            for process in reversed(started):
                process.send_signal(signal.SIGTERM)
            for process in started:
                process.wait(timeout=60)

    def run_job(self) -> int:
        """Run the container of the Job and return its exit code."""
        (job,) = [entry for entry in self._manifests if entry["kind"] == "Job"]
        (container,) = job["spec"]["template"]["spec"]["containers"]
        return self._start(container, self._logs / "job.log", 0).wait(timeout=120)

    def _staying(self) -> Iterator[tuple[Manifest, int]]:
        """Return the containers of scheduler and workers, and their replicas."""
        for manifest in self._manifests:
            spec = manifest.get("spec", {})
            if manifest["kind"] == "Deployment":
                (container,) = spec["template"]["spec"]["containers"]
                yield container, spec["replicas"]
            elif manifest["kind"] == "DaskCluster":
                for role in ("scheduler", "worker"):
                    (container,) = spec[role]["spec"]["containers"]
                    yield container, spec[role].get("replicas", 1)

    def _start(self, container: Manifest, log: Path, replica: int) -> "subprocess.Popen[bytes]":
        settings = {
            entry["metadata"]["name"]: entry["data"]
            for entry in self._manifests
            if entry["kind"] == "ConfigMap"
        }
        # the operator of Dask sets it in every worker
        environment = {**self._environment, "DASK_WORKER_NAME": f"worker-{replica}"}
        for source in container["envFrom"]:
            for name, value in settings[source["configMapRef"]["name"]].items():
                environment[name] = self._here(value)
        command = [*container["command"], *container["args"]]
        command = [
            self._here(word).replace("$(DASK_WORKER_NAME)", f"worker-{replica}") for word in command
        ]
        if command[0] == "dask":
            command += ["--host", "127.0.0.1"]
        folder = self._here(container.get("workingDir", str(self._logs)))
        with log.open("w") as output:
            return subprocess.Popen(
                command,
                cwd=folder,
                env=environment,
                stdout=output,
                stderr=subprocess.STDOUT,
            )

    def _here(self, text: str) -> str:
        """Return a text of a container with the folders and the address of this machine."""
        for mount, folder in self._mounts.items():
            text = re.sub(rf"^{mount}\b", os.fspath(folder), text)
        return (
            self._port
            if text == PORT
            else text.replace(f"{SERVICE}:{PORT}", f"127.0.0.1:{self._port}")
        )

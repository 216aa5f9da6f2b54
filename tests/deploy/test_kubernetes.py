"""The files of ``bigtensor deploy kubernetes``: their schemas, and what they run."""

import copy
import importlib.util
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from tests.deploy.conftest import weights_of
from tests.deploy.pods import Machine, Manifest, read_manifests

MIB = 2**20


def strict(schema: Any) -> Any:
    """Return an OpenAPI schema that refuses properties without a schema."""
    if isinstance(schema, list):
        return [strict(entry) for entry in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {name: strict(entry) for name, entry in schema.items()}
    if closed.get("x-kubernetes-int-or-string"):
        closed.pop("type", None)
    is_open = closed.get("x-kubernetes-preserve-unknown-fields") or "additionalProperties" in closed
    if isinstance(closed.get("properties"), dict) and not is_open:
        closed["additionalProperties"] = False
    return closed


def certificate(readme: Path, folder: Path) -> None:
    """Make the certificate as the README says."""
    (command,) = re.findall(r"^ +(openssl .*)$", readme.read_text(), re.MULTILINE)
    subprocess.run(command.split(), cwd=folder, check=True, capture_output=True)


@pytest.mark.parametrize("name", ["fit.yaml", "workers.yaml"])
def test_manifests__have_the_schema_of_kubernetes(deploy: Callable[..., Path], name: str) -> None:
    kubernetes_validate = pytest.importorskip("kubernetes_validate")
    for manifest in read_manifests(deploy("kubernetes") / name):
        kubernetes_validate.validate(manifest, kubernetes_validate.latest_version(), strict=True)


def test_operator_manifest__has_the_schema_of_the_operator(deploy: Callable[..., Path]) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    package = importlib.util.find_spec("dask_kubernetes")
    if package is None or package.origin is None:
        pytest.skip("the schema is in dask-kubernetes, which is not installed")
    (path,) = Path(package.origin).parent.rglob("crds/daskcluster.yaml")
    definition = yaml.safe_load(path.read_text())["spec"]["versions"][0]["schema"]
    schema = strict(definition["openAPIV3Schema"])
    schema["properties"] |= {"apiVersion": {}, "kind": {}, "metadata": {}}
    validator = jsonschema.Draft202012Validator(schema)
    (manifest,) = read_manifests(deploy("kubernetes") / "operator.yaml")
    assert not list(validator.iter_errors(manifest))
    misspelt = copy.deepcopy(manifest)
    misspelt["spec"]["worker"]["spec"]["containers"][0]["arg"] = ["x"]
    assert list(validator.iter_errors(misspelt))


@pytest.mark.slow
@pytest.mark.parametrize("cluster", ["workers.yaml", "operator.yaml"])
def test_containers__fit_as_processes_with_the_same_bits(
    deploy: Callable[..., Path],
    study: Path,
    program_environment: dict[str, str],
    weights_on_threads: np.ndarray,
    cluster: str,
) -> None:
    folder = deploy("kubernetes", "--memory", "1GiB")
    secret = study / "secret"
    secret.mkdir()
    certificate(folder / "README.md", secret)
    manifests = read_manifests(folder / "fit.yaml", folder / cluster)
    machine = Machine(manifests, {"/tls": secret, "/data": study}, program_environment, study)
    with machine.pods():
        status = machine.run_job()
    logs = "\n".join(path.read_text() for path in study.glob("*.log"))
    assert status == 0, logs
    assert np.array_equal(weights_of(study / "model.zarr"), weights_on_threads)


def test_manifests__ask_for_the_workers_and_the_memory_of_the_command(
    deploy: Callable[..., Path],
) -> None:
    manifests = read_manifests(deploy("kubernetes", "--memory", "1GiB") / "workers.yaml")
    (worker,) = [entry for entry in manifests if entry["metadata"]["name"] == "bigtensor-worker"]
    assert worker["spec"]["replicas"] == 2
    (container,) = worker["spec"]["template"]["spec"]["containers"]
    limit = container["args"][container["args"].index("--memory-limit") + 1]
    assert limit == "1024MiB"
    assert memory_of(container) >= 1024 * MIB


def memory_of(container: Manifest) -> int:
    """Return the bytes that a container may use, which it is also given."""
    resources = container["resources"]
    assert resources["limits"]["memory"] == resources["requests"]["memory"]
    return int(resources["limits"]["memory"].removesuffix("Mi")) * MIB

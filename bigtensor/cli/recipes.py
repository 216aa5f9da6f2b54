"""Templates of the files that run bigtensor on clusters, and the fields that fill them."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

KINDS = {
    "slurm": "SLURM: one job, one job for each worker, or array jobs without Dask.",
    "pbs": "PBS and Torque: one job for each worker.",
    "sge": "Grid Engine: one job for each worker.",
    "lsf": "LSF: one job for each worker.",
    "kubernetes": "Kubernetes: a Job for the fit, and pods for the workers.",
    "container": "Containers: an image with the package versions of this environment.",
    "cloud": "Clouds: machines that start for the fit and end after it.",
    "snakemake": "Snakemake: a workflow from FCS files to labelled cells.",
}
"""Summary of every kind, which is also the name of its folder of templates."""

QUEUES = {
    "slurm": "SLURMCluster",
    "pbs": "PBSCluster",
    "sge": "SGECluster",
    "lsf": "LSFCluster",
}
"""Kinds whose workers dask-jobqueue can start, with its class."""

NANNY_MIB = 192
"""Memory that a job asks for beside the limit of a worker: the process that restarts the worker."""

RESERVED_ADDRESSES_MIB = 2048
"""Addresses that a worker and its nanny reserve and do not use, for queues that count addresses."""


@dataclass(frozen=True)
class Job:
    """A fit on a cluster.

    Attributes
    ----------
    workers : int
        Processes of one thread.
    memory : int
        Bytes that a worker may use.
    time : str
        Longest running time, as ``HH:MM:SS``.
    command : tuple of str
        Arguments of ``bigtensor``.
    model : Estimator
        The model that the command fits.
    data, out, checkpoint : str
        What the command reads, the model that it writes, and where it keeps finished parts.
    sequence : str, optional
        The variable that says which sequence a row is of.
    condition : str, optional
        Condition that the fitted rows meet. None fits all rows.
    overwrite : bool
        If True, the fit replaces a model that exists.
    wait : float, optional
        Longest time without a worker, in seconds. None is the default of a fit.
    """

    workers: int
    memory: int
    time: str
    command: tuple[str, ...]
    model: Any
    data: str
    sequence: str | None
    condition: str | None
    overwrite: bool
    wait: float | None
    out: str
    checkpoint: str

    def fields(self) -> dict[str, str]:
        """Return the texts of the fields of templates, by name."""
        memory = -(-self.memory // 2**20)
        hours, minutes, seconds = map(int, self.time.split(":"))
        # seconds are rounded up: a queue without them would refuse a time of no minutes
        minutes += seconds > 0
        return {
            "workers": str(self.workers),
            "tasks": str(self.workers + 1),
            "memory": f"{memory}MiB",
            "memory_mib": str(memory),
            "total_mib": str((self.workers + 1) * (memory + NANNY_MIB)),
            "job_mib": str(memory + NANNY_MIB),
            "job_bytes": str((memory + NANNY_MIB) * 2**20),
            "virtual_mib": str(memory + NANNY_MIB + RESERVED_ADDRESSES_MIB),
            "time": self.time,
            "hours_minutes": f"{hours + minutes // 60:02}:{minutes % 60:02}",
            "command": shlex.join(self.command),
            "command_string": repr(shlex.join(self.command)),
            "command_items": json.dumps(self.command)[1:-1],
            "model": self.model.__repr__(N_CHAR_MAX=10**6),
            "names": ", ".join(self._names()),
            "data": repr(self.data),
            "rows": ", ".join([repr(self.data), *self._selection()]),
            "out": repr(self.out),
            "overwrite": repr(self.overwrite),
            "wait": repr(self.wait),
            "checkpoint": repr(self.checkpoint),
        }

    def _names(self) -> list[str]:
        """Return the names of bigtensor that a script needs."""
        from bigtensor import __all__ as public

        # options such as SpectralOptions are written as calls of their class
        values = self.model.get_params(deep=False).values()
        classes = {type(value).__name__ for value in (self.model, *values)}
        return [*sorted(classes & set(public)), "check_target", "open_samples"]

    def _selection(self) -> list[str]:
        """Return the arguments of ``open_samples`` that follow the data."""
        arguments = {"sequence": self.sequence, "where": self.condition}
        return [f"{name}={value!r}" for name, value in arguments.items() if value is not None]


def filled_files(kind: str, job: Job, folder: str = "job") -> dict[str, str]:
    """Return the texts of the files of a kind of cluster, by name.

    Parameters
    ----------
    kind : str
        A key of `KINDS`.
    job : Job
        Fit that the templates are filled in for.
    folder : str, default "job"
        Folder of the files, which commands of the README name.
    """
    folders = [templates() / kind]
    fields = job.fields()
    if kind == "container":
        from bigtensor.cli.descriptions.environment import environment_fields

        fields |= environment_fields()
    if kind in QUEUES:
        folders.append(templates() / "queue")
        fields["cluster"] = QUEUES[kind]
    files = {
        path.name: fill(path.read_text(encoding="utf-8"), fields)
        for source in folders
        for path in sorted(source.iterdir())
    }
    # the READMEs are pages of the documentation too, and name a folder in place of a field
    readme, own = files["README.md"], shlex.quote(folder)
    readme = readme.replace("--out job ", f"--out {own} ")
    for name in files:
        readme = readme.replace(f"job/{name}", f"{own}/{name}")
    return files | {"README.md": readme}


def fill(template: str, fields: Mapping[str, str]) -> str:
    """Return a template with its fields, such as ``{{workers}}``, filled in.

    Examples
    --------
    >>> fill("--ntasks={{workers}}", {"workers": "40"})
    '--ntasks=40'
    """
    for name, text in fields.items():
        template = template.replace("{{" + name + "}}", text)
    return template


def templates() -> Path:
    """Return the folder of templates: inside the installed package, or beside it in a checkout."""
    package = Path(__file__).parents[1]
    installed = package / "deploy"
    return installed if installed.is_dir() else package.parent / "deploy"

"""Processes of a fit on SLURM, as one job or with a job for every worker."""

import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from tests.deploy.slurm import Slurm


def job_processes(private: Path) -> list[psutil.Process]:
    """Return the programs that a job starts: Dask's, and the command of bigtensor.

    Parameters
    ----------
    private : Path
        Folder of the job that holds its certificate.
    """
    scheduler_file = str(private / "scheduler.json")
    return [
        process
        for process in psutil.process_iter(["cmdline"])
        if scheduler_file in (process.info["cmdline"] or ())
    ]


def dask_processes(private: Path) -> list[psutil.Process]:
    """Return the scheduler of a job, and the programs that start its workers."""
    return [one for one in job_processes(private) if "dask" in (one.info["cmdline"] or ())]


def worker_processes(private: Path) -> list[psutil.Process]:
    """Return the processes that compute for a job: children of what 'dask worker' starts."""
    workers = [child for process in dask_processes(private) for child in process.children()]
    return [worker for worker in workers if "spawn_main" in str(worker.cmdline())]


@dataclass
class FitWithJobs:
    """Starts the script whose workers are jobs.

    Parameters
    ----------
    slurm : Slurm
    deploy : callable
        Writes the script for a fit of the data.
    study : Path
        Folder in which the script runs.
    """

    slurm: Slurm
    deploy: Callable[..., Path]
    study: Path
    _processes: list[subprocess.Popen[str]] = field(default_factory=list)

    def __call__(
        self, *options: str, jobqueue: str = "interface: lo", as_needed: bool = False
    ) -> subprocess.Popen[str]:
        """Start the script.

        Parameters
        ----------
        *options : str
            Of ``bigtensor deploy``.
        jobqueue : str
            Lines of ``jobqueue.yaml`` in place of the one with the interface.
        as_needed : bool
            If True, the number of jobs follows the work, and there is none between passes.
        """
        folder = self.deploy("slurm", "--memory", "1GiB", *options)
        jobs = folder / "jobqueue.yaml"
        jobs.write_text(jobs.read_text().replace("# interface: ib0", jobqueue))
        script = folder / "fit_with_jobqueue.py"
        if as_needed:
            text = script.read_text()
            # without work there is no job, and the script would wait for the first one
            for line, changed in (
                ("minimum_jobs=NUMBER_OF_JOBS", "minimum_jobs=0"),
                ("while not client.nthreads():", "while False:"),
            ):
                assert line in text
                text = text.replace(line, changed)
            script.write_text(text)
        process = subprocess.Popen(
            [sys.executable, script],
            cwd=self.study,
            env=self.slurm.environment | {"DASK_DISTRIBUTED__DEPLOY__LOST_WORKER_TIMEOUT": "1s"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._processes.append(process)
        return process

    def end(self) -> None:
        """End the scripts that still run, and their jobs."""
        for process in self._processes:
            process.kill()
            process.communicate()
        self.slurm.cancel_all()

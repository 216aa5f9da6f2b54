"""A real SLURM on loopback: no systemd, no root, everything in one folder."""

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch")
START_SECONDS, JOB_SECONDS = 20.0, 90.0
MEMORY_MIB = 8_000
"""Memory that a node reports. Nothing enforces it."""

CONFIGURATION = """\
ClusterName=bigtensor
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/run/munge.socket
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool/%n
SlurmctldPidFile={folder}/run/slurmctld.pid
SlurmdPidFile={folder}/run/slurmd.%n.pid
SlurmctldLogFile={folder}/log/slurmctld.log
SlurmdLogFile={folder}/log/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=0,bf_interval=1,sched_interval=1
ReturnToService=2
MpiDefault=none
SlurmdParameters=config_overrides
KillWait=5
MinJobAge=300
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


@dataclass(frozen=True)
class Slurm:
    """A running SLURM.

    Attributes
    ----------
    environment : dict of str to str
        In which its commands find it.
    folder : Path
        Its configuration, state and logs.
    """

    environment: dict[str, str]
    folder: Path

    def run(self, *command: str, cwd: Path | None = None) -> str:
        """Run a command of SLURM and return what it prints."""
        done = subprocess.run(
            command, cwd=cwd, env=self.environment, capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
        return done.stdout.strip()

    def submit(self, *arguments: str, cwd: Path) -> str:
        """Submit a job and return its number."""
        return self.run("sbatch", "--parsable", *arguments, cwd=cwd)

    def state(self, job: str) -> str:
        """Return the state of a job, such as RUNNING."""
        fields = self.run("scontrol", "show", "job", job, "--oneliner").split()
        return next(entry for entry in fields if entry.startswith("JobState=")).split("=")[1]

    def jobs(self) -> list[str]:
        """Return the numbers of the jobs that have not ended."""
        return self.run("squeue", "-h", "-o", "%i").split()

    def cancel_all(self) -> None:
        """Cancel all jobs and wait until they have ended."""
        deadline = time.monotonic() + JOB_SECONDS
        while jobs := self.jobs():
            assert time.monotonic() < deadline, f"jobs {jobs} do not end"
            subprocess.run(["scancel", "--full", *jobs], env=self.environment, capture_output=True)
            time.sleep(0.2)

    def wait(self, job: str, seconds: float = JOB_SECONDS) -> str:
        """Wait for the end of a job and return its last state."""
        deadline = time.monotonic() + seconds
        while (state := self.state(job)) in ("PENDING", "RUNNING", "COMPLETING", "CONFIGURING"):
            assert time.monotonic() < deadline, f"job {job} is still {state}"
            time.sleep(0.2)
        return state


def missing_programs() -> list[str]:
    """Return the programs of SLURM that are not installed."""
    path = os.environ["PATH"] + os.pathsep + "/usr/sbin"
    return [name for name in PROGRAMS if shutil.which(name, path=path) is None]


@contextmanager
def running_slurm(folder: Path, environment: dict[str, str], nodes: int = 2) -> Iterator[Slurm]:
    """Start a controller and nodes of two processors each, and end them with their jobs.

    Parameters
    ----------
    folder : Path
        Other users must be able to enter its parents, because munge refuses a socket that they
        cannot reach.
    environment : dict of str to str
        Environment of jobs.
    nodes : int
    """
    for name in ("state", "spool", "log", "run"):
        (folder / name).mkdir(parents=True)
    folder.chmod(0o755)
    environment = {
        **environment,
        "PATH": environment["PATH"] + os.pathsep + "/usr/sbin",
        "SLURM_CONF": str(folder / "slurm.conf"),
    }
    slurm = Slurm(environment, folder)
    _write_configuration(folder, nodes)
    _start_munge(slurm)
    try:
        slurm.run("slurmctld")
        for node in range(nodes):
            (folder / "spool" / f"n{node}").mkdir()
            slurm.run("slurmd", "-N", f"n{node}")
        deadline = time.monotonic() + START_SECONDS
        while slurm.run("sinfo", "-h", "-N", "-o", "%t").split() != ["idle"] * nodes:
            assert time.monotonic() < deadline, (folder / "log" / "slurmctld.log").read_text()
            time.sleep(0.1)
        yield slurm
    finally:
        _stop(slurm)


def _write_configuration(folder: Path, nodes: int) -> None:
    """Write the key of munge and the configuration, with a free port for every daemon."""
    host = socket.gethostname().split(".")[0]
    (folder / "run" / "munge.key").write_bytes(os.urandom(128))
    (folder / "run" / "munge.key").chmod(0o400)
    # this plugin asks for nothing that is not used, and it is the only one without systemd
    (folder / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n")
    lines = "".join(
        f"NodeName=n{node} NodeHostname={host} NodeAddr=127.0.0.1 Port={_free_port()} CPUs=2 "
        f"RealMemory={MEMORY_MIB} State=UNKNOWN\n"
        for node in range(nodes)
    )
    general = CONFIGURATION.format(
        host=host,
        port=_free_port(),
        user=subprocess.run(["id", "-un"], capture_output=True, text=True).stdout.strip(),
        folder=folder,
    )
    (folder / "slurm.conf").write_text(lines + general)


def _start_munge(slurm: Slurm) -> None:
    run, log = slurm.folder / "run", slurm.folder / "log"
    slurm.run(
        "munged",
        f"--key-file={run}/munge.key",
        f"--socket={run}/munge.socket",
        f"--pid-file={run}/munged.pid",
        f"--log-file={log}/munged.log",
        f"--seed-file={run}/munge.seed",
    )


def _stop(slurm: Slurm) -> None:
    """End jobs, then the daemons, by the numbers of their processes."""
    environment, run = slurm.environment, slurm.folder / "run"
    user = str(os.getuid())
    subprocess.run(["scancel", "--full", f"--user={user}"], env=environment, capture_output=True)
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        queue = subprocess.run(["squeue", "-h"], env=environment, capture_output=True, text=True)
        if queue.returncode or not queue.stdout.strip():
            break
        time.sleep(0.2)
    for path in (*run.glob("slurmd.*.pid"), run / "slurmctld.pid", run / "munged.pid"):
        if path.exists():
            _end(int(path.read_text()))


def _end(process: int) -> None:
    """Ask a daemon to end and wait for it."""
    with suppress(psutil.NoSuchProcess):
        daemon = psutil.Process(process)
        daemon.terminate()
        deadline = time.monotonic() + START_SECONDS
        # where nothing adopts daemons, an ended one stays a zombie
        while daemon.status() != psutil.STATUS_ZOMBIE and time.monotonic() < deadline:
            time.sleep(0.05)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])

"""Compiled loops: what is kept of them, and that they run where nothing can be kept."""

import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from bigtensor.features.row_loops import row_loop

ROOT = Path(__file__).resolve().parents[2]

LOOPS = """
import numpy as np
from bigtensor.features.row_loops import row_loop

@row_loop
def double(values, out):
    for i in range(values.size):
        out[i] = 2 * values[i]

def doubled(dtype):
    values = np.arange(4, dtype=dtype)
    out = np.empty_like(values)
    double(values, out)
    return out
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a module of one loop."""
    (tmp_path / "loops.py").write_text(LOOPS)
    return tmp_path


def run(folder: Path, code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a script that imports the module, with warnings as errors."""
    inherited = {name: os.environ[name] for name in os.environ if name != "NUMBA_CACHE_DIR"}
    paths = {"PYTHONPATH": os.pathsep.join([str(folder), str(ROOT)])}
    return subprocess.run(
        [sys.executable, "-B", "-W", "error", "-c", code],
        env=inherited | paths | environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )


def kept(folder: Path) -> dict[str, int]:
    """Return the files of machine code and when they were written."""
    return {path.name: path.stat().st_mtime_ns for path in folder.rglob("*.nb?")}


DOUBLE = "import sys, loops; print(loops.doubled(sys.argv[1] if sys.argv[1:] else 'f4').tolist())"


def test_row_loop__is_compiled_once_for_every_type():
    @row_loop
    def add(values: np.ndarray, out: np.ndarray) -> None:
        for i in range(values.size):
            out[i] += values[i]

    for dtype in ("float32", "float64", "float32"):
        out = np.ones(3, dtype)
        add(np.arange(3, dtype=dtype), out)
        np.testing.assert_array_equal(out, [1, 2, 3])
    assert len(add._compiled) == 2
    frozen = np.arange(3.0)
    frozen.flags.writeable = False
    add(frozen, out.astype(float))
    assert len(add._compiled) == 3
    assert add.__name__ == "add"


def test_row_loop__is_compiled_once_for_arrays_of_one_row_and_of_many():
    """One row is contiguous in both orders, and Numba's type of it is that of many rows."""

    @row_loop
    def scale(values: np.ndarray, factor: float) -> None:
        for i in range(values.shape[0]):
            for j in range(values.shape[1]):
                values[i, j] *= factor

    for rows, factor in ((3, 2.0), (1, 2.0), (1, np.float64(2))):
        values = np.ones((rows, 2))
        scale(values, factor)
        np.testing.assert_array_equal(values, np.full((rows, 2), 2.0))
    assert (len(scale._compiled), len(scale._by_signature)) == (3, 1)


def test_machine_code__is_kept_and_used_again(folder):
    assert run(folder, DOUBLE).stdout == "[0.0, 2.0, 4.0, 6.0]\n"
    first = kept(folder)
    assert sorted(Path(name).suffix for name in first) == [".nbc", ".nbi"]
    again = run(folder, DOUBLE)
    assert again.stdout == "[0.0, 2.0, 4.0, 6.0]\n"
    assert again.stderr == ""
    assert kept(folder) == first


@pytest.mark.slow  # two processes; one version is quick
def test_machine_code__of_another_version_of_the_source_has_files_of_its_own(folder):
    run(folder, DOUBLE)
    first = kept(folder)
    # the size of the file and the line of the function stay the same
    (folder / "loops.py").write_text(LOOPS.replace("2 * values", "3 * values"))
    assert run(folder, DOUBLE).stdout == "[0.0, 3.0, 6.0, 9.0]\n"
    assert first.items() < kept(folder).items()
    assert len(kept(folder)) == 4


@pytest.mark.slow
def test_machine_code__of_processes_that_compile_at_once_is_not_confused(folder):
    types = ["f4", "f8", "i4", "i8"]
    script = f"{DOUBLE}; from numba import config"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), str(ROOT)])}
    environment.pop("NUMBA_CACHE_DIR", None)
    for _ in range(2):
        processes = [
            subprocess.Popen(
                [sys.executable, "-c", script, dtype],
                env=environment,
                stdout=subprocess.PIPE,
                text=True,
            )
            for dtype in types
        ]
        for process, dtype in zip(processes, types, strict=True):
            expected = "[0, 2, 4, 6]\n" if "i" in dtype else "[0.0, 2.0, 4.0, 6.0]\n"
            assert process.communicate(timeout=120)[0] == expected
    assert len(kept(folder)) == 2 * len(types)


def test_machine_code__goes_where_the_user_wants_it(folder):
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir()
    run(folder, DOUBLE, NUMBA_CACHE_DIR=str(elsewhere))
    assert kept(elsewhere) == kept(folder)
    assert kept(elsewhere)


def test_loops__run_where_nothing_can_be_kept(folder):
    """A file where the folder of the cache would be stops root as well."""
    (folder / "__pycache__").write_text("")
    nowhere = {"NUMBA_CACHE_DIR": "/dev/null/cache", "HOME": "/dev/null"}
    done = run(folder, f"{DOUBLE}; loops.doubled('f8')", **nowhere, XDG_CACHE_HOME="/dev/null")
    assert done.stdout == "[0.0, 2.0, 4.0, 6.0]\n"
    assert done.stderr.count("\n") == 1
    assert "compiled again in every process" in done.stderr
    assert "NUMBA_CACHE_DIR" in done.stderr
    assert not kept(folder)


def test_loops__leave_nothing_in_the_working_folder_without_a_home(folder):
    """A name of a folder that does not expand is relative to the working folder."""
    (folder / "__pycache__").write_text("")
    code = f"import os; os.chdir({str(folder)!r}); os.path.expanduser = lambda path: path; {DOUBLE}"
    environment = {"NUMBA_CACHE_DIR": "/dev/null/cache", "XDG_CACHE_HOME": "~/.cache"}
    done = run(folder, f"{code}; loops.doubled('f8')", **environment)
    assert done.stdout == "[0.0, 2.0, 4.0, 6.0]\n"
    assert done.stderr.count("compiled again in every process") == 1
    assert sorted(path.name for path in folder.iterdir()) == ["__pycache__", "loops.py"]


@pytest.mark.slow  # an absolute folder is quick
def test_machine_code__goes_to_a_relative_folder_that_the_user_wants(folder):
    code = f"import os; os.chdir({str(folder)!r}); {DOUBLE}"
    assert not run(folder, code, NUMBA_CACHE_DIR="elsewhere").stderr
    assert kept(folder / "elsewhere")


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root can become others")
def test_loops__run_for_a_user_who_can_write_nowhere(locked_folder):
    script = f"""
import os, sys
import numba, bigtensor.features.row_loops
# what the interpreter imports late lies where the other user cannot read
from numba import njit
njit(lambda x: x + 1)(1)
os.setuid(65_534)
sys.path.insert(0, {str(locked_folder)!r})
{DOUBLE}
"""
    os.seteuid(0)
    locked_folder.chmod(0o755)
    (locked_folder / "loops.py").write_text(LOOPS)
    locked_folder.chmod(0o555)
    done = run(locked_folder, script, HOME=str(locked_folder), XDG_CACHE_HOME=str(locked_folder))
    assert done.stdout == "[0.0, 2.0, 4.0, 6.0]\n"
    assert done.stderr.count("compiled again in every process") == 1
    assert not kept(locked_folder)


@pytest.mark.slow
@pytest.mark.parametrize("ending", [".nbi", ".nbc"])
def test_loops__run_when_kept_machine_code_is_torn(folder, ending):
    run(folder, DOUBLE)
    (torn,) = folder.rglob(f"*{ending}")
    torn.write_bytes(torn.read_bytes()[:20])
    done = run(folder, DOUBLE)
    assert done.stdout == "[0.0, 2.0, 4.0, 6.0]\n"
    assert "compiled again" in done.stderr
    torn.write_bytes(b"")
    assert run(folder, DOUBLE).stdout == "[0.0, 2.0, 4.0, 6.0]\n"


def test_loops__run_when_the_disk_is_full(folder):
    code = """
import resource
import loops

# files may be made, but nothing can be written into them
resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
print(loops.doubled("f4").tolist(), loops.doubled("f8").tolist())
"""
    done = run(folder, code)
    assert done.stdout == "[0.0, 2.0, 4.0, 6.0] [0.0, 2.0, 4.0, 6.0]\n"
    assert done.stderr.count("\n") == 1
    assert "File too large" in done.stderr


class Payload:
    """Unpickled, it makes a file."""

    def __init__(self, marker: Path) -> None:
        self.marker = str(marker)

    def __reduce__(self) -> tuple[object, ...]:
        return os.mkdir, (self.marker,)


def open_to_all(cache: Path) -> None:
    cache.chmod(0o777)


def open_to_a_group(cache: Path) -> None:
    os.chown(cache, -1, 54_321)
    cache.chmod(0o775)


def owned_by_another(cache: Path) -> None:
    os.chown(cache, 54_321, -1)


def open_to_the_group_of_the_user(cache: Path) -> None:
    os.chown(cache, -1, os.getuid())
    cache.chmod(0o775)


AS_ROOT = pytest.mark.skipif(
    os.name != "posix" or os.geteuid() != 0, reason="only root can give files away"
)


@pytest.mark.parametrize(
    "share",
    [
        open_to_all,
        pytest.param(open_to_a_group, marks=[AS_ROOT, pytest.mark.slow]),
        pytest.param(owned_by_another, marks=[AS_ROOT, pytest.mark.slow]),
    ],
)
def test_machine_code__that_others_could_have_written_is_not_read(folder, share):
    """It lies in pickles, which run code when they are read."""
    run(folder, DOUBLE)
    (index,) = folder.rglob("*.nbi")
    index.write_bytes(pickle.dumps(Payload(folder / "owned")))
    share(index.parent)
    done = run(folder, f"{DOUBLE}; loops.doubled('f8')")
    assert done.stdout == "[0.0, 2.0, 4.0, 6.0]\n"
    assert done.stderr.count("\n") == 1
    assert "other users can write" in done.stderr
    assert "NUMBA_CACHE_DIR" in done.stderr
    assert not (folder / "owned").exists()
    assert len(list(folder.rglob("*.nbi"))) == 1


@AS_ROOT
def test_machine_code__is_kept_where_the_group_of_the_user_can_write(folder):
    (folder / "__pycache__").mkdir()
    open_to_the_group_of_the_user(folder / "__pycache__")
    done = run(folder, DOUBLE)
    assert (done.stdout, done.stderr) == ("[0.0, 2.0, 4.0, 6.0]\n", "")
    assert kept(folder)


WARM = """
import time
import numpy as np
import bigtensor.statistics.densities.posterior_sums
from bigtensor.statistics.base import Workspace
from bigtensor.statistics.densities.posterior_sums import PosteriorSums
from tests.statistics.densities.test_view_densities import FLOAT32, rows

statistic, block = PosteriorSums(FLOAT32["tables"], co_posterior=True), rows(100, "float32")
start = time.process_time()
statistic.update(statistic.init(), block, Workspace())
print(time.process_time() - start)
"""


@pytest.mark.alone
def test_loops__first_use_takes_a_fraction_once_they_are_kept(folder):
    """All loops of a pass, with the import of Numba, in seconds of the processor."""
    compiled = float(run(folder, WARM, NUMBA_CACHE_DIR=str(folder)).stdout)
    before = kept(folder)
    read = min(float(run(folder, WARM, NUMBA_CACHE_DIR=str(folder)).stdout) for _ in range(2))
    print(f"{compiled:.2f} s to compile {len(before) // 2} loops, {read:.2f} s to read them")
    assert kept(folder) == before
    assert len(before) >= 16
    assert read < compiled / 2

"""What the documentation shows is run: Python blocks, command lines, examples and the cluster.

Blocks fenced as ``python`` and ``console`` are run, in the order of the page; ``py`` and ``sh``
blocks need machines or files of the reader's own, and the text around them says so.
"""

import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from click.testing import CliRunner

import bigtensor
from bigtensor import KernelMixture, simulate
from bigtensor.cli import main
from bigtensor.models.contract.registry import MODELS
from bigtensor.models.kernel_mixture import settings

ROOT = Path(__file__).resolve().parents[1]
SLOW_PAGES = (
    *(
        "choosing",
        "comparing-groups",
        "concepts",
        "data",
        "discrete-mixture",
        "ica",
        "kernel-ica",
        "kernel-mixture",
        "rare-populations",
        "running",
        "selecting-rows",
        "sparse-ica",
        "triple-histogram-classifier",
    ),
    *("tensor-train-density", "topic-model", "tutorial-cytometry", "tutorial-documents"),
    "tutorial-dose",
    *("tutorial-event-log", "tutorial-gene-counts", "tutorial-holes", "tutorial-many-groups"),
    "tutorial-maps",
    *("tutorial-recording", "tutorial-signals", "tutorial-stream", "tutorial-survey"),
    *("tutorial-what-if", "tutorial-xarray", "hidden-markov", "gaussian-mixture", "linear-mixture"),
    "statistics",
)
"""Pages with long fits. Other tests fit the same models."""

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))

MODEL_SECTIONS = [
    "Example",
    "What a fit does",
    "Parameters that matter",
    "Answers",
    "When it fails, and how that shows",
    "Cost",
    "Beside its peers",
    "References",
]
MODEL_PAGES = [
    name
    for name in re.findall(
        r"^\| \[.*?\]\((.*?\.md)\)",
        (ROOT / "docs" / "models.md").read_text(encoding="utf-8"),
        re.MULTILINE,
    )
    if name != "benchmarks.md"
]

FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(([^)#:]+)(#[^)]*)?\)")
START_SECONDS = 60.0

COMMAND_LINE = ROOT / "docs" / "command-line.md"
"""Its commands have a test of their own, which may leave some out."""

REAL_FILES = {
    "tutorial-cytometry": ("Activation", "activation"),
    "tutorial-dose": ("Activation", "activation"),
}
"""Pages about files that the package does not hold: the folder they name, and that of the data."""

DRAWING_COMMANDS = ("bigtensor demo", "bigtensor report")
"""They draw a whole report, which takes longer than everything else on the page."""


def blocks(page: Path, *languages: str) -> list[tuple[int, str, str]]:
    """Return the blocks of some languages: the line before the text, the language, the text."""
    text = page.read_text(encoding="utf-8")
    return [
        (text.count("\n", 0, match.start(2)), match[1], match[2])
        for match in FENCE.finditer(text)
        if match[1] in languages
    ]


def commands(block: str) -> list[str]:
    """Return the commands of a console block."""
    return re.findall(r"^\$ (.*)$", block, re.MULTILINE)


def environment() -> dict[str, str]:
    """Return an environment in which programs find this package and this interpreter first."""
    folder = str(Path(sys.executable).parent)
    return {
        **os.environ,
        "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}",
        "PYTHON": sys.executable,
        "PYTHONPATH": str(ROOT),
    }


def run_command(command: str, folder: Path) -> None:
    """Run a command as a reader would type it, and expect success."""
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=[pytest.mark.slow] if page.stem in SLOW_PAGES else [])
        for page in PAGES
        if page != COMMAND_LINE and blocks(page, "python", "console")
    ],
    ids=lambda page: page.stem,
)
@pytest.mark.quick_cases("README")
def test_blocks__run_in_order(
    page: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    """Python in one namespace, the module __main__ as in a script; a warning is an error."""
    if page.stem in REAL_FILES:
        name, folder = REAL_FILES[page.stem]
        (tmp_path / name).symlink_to(request.getfixturevalue("shared_data") / folder)
    monkeypatch.chdir(tmp_path)
    page_module = ModuleType("__main__")
    # classes of the page are pickled by their name in it
    monkeypatch.setitem(sys.modules, "__main__", page_module)
    namespace = vars(page_module)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for line, language, source in blocks(page, "python", "console"):
            if language == "python":
                exec(compile("\n" * line + source, str(page), "exec"), namespace)
                continue
            for command in commands(source):
                run_command(command, tmp_path)


@pytest.mark.parametrize("page", MODEL_PAGES)
def test_page_of_a_model__has_the_sections_in_the_order_of_all(page: str) -> None:
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    outside_of_blocks = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    assert re.findall(r"^## (.*)$", outside_of_blocks, re.MULTILINE) == MODEL_SECTIONS
    assert f"({Path('figures', page).with_suffix('')}-example.png)" in text


def table_rows(page: str) -> str:
    """Return the rows of all tables of a page, one a line."""
    lines = (ROOT / page).read_text(encoding="utf-8").splitlines()
    return "\n".join(line for line in lines if line.startswith("|"))


@pytest.mark.parametrize("name", MODELS)
def test_model__has_a_row_in_every_table_of_models(name: str) -> None:
    linked = re.search(rf"\[`{name}`\]\(docs/(.*?\.md)\)", table_rows("README.md"))
    assert linked, f"README.md has no row of {name}"
    page = linked[1]
    assert page in MODEL_PAGES, f"docs/models.md has no row of {page}"
    assert f"[`{name}`]({page})" in table_rows("docs/choosing-a-model.md")


def test_kernel_mixture__numbers_in_words_are_those_of_the_code() -> None:
    text = (ROOT / "docs" / "kernel-mixture.md").read_text(encoding="utf-8")
    for words in (
        f'`posterior_width="auto"` is\n{settings.BROAD_WIDTH:g} ',
        f"at most {settings.MANY_COMPONENTS}, and\nat most one for every "
        f"{settings.ROWS_OF_A_COMPONENT} rows",
    ):
        assert words in text, f"the page should say {words!r}"
    text = (ROOT / "docs" / "choosing.md").read_text(encoding="utf-8")
    assert f"At most {settings.MOST_COUNTED} are looked for" in text


@pytest.mark.slow  # the fewest seconds are nine; the blocks of the README are quick
@pytest.mark.parametrize("script", EXAMPLES, ids=lambda path: path.stem)
def test_examples__run_without_warnings_and_print(script: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", script],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) >= 8
    assert not list(tmp_path.iterdir()), "an example left files in the working directory"


def run_here(command: str, folder: Path) -> None:
    """Run a command in this process, which has the package imported, where no shell is needed."""
    if not command.startswith("bigtensor ") or re.search(r"[|<>$*]", command):
        run_command(command, folder)
        return
    result = CliRunner().invoke(main, shlex.split(command)[1:])
    assert result.exit_code == 0, f"{command}\n{result.output}"


@pytest.mark.slow
def test_command_line__commands_shown_succeed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for _, _, block in blocks(COMMAND_LINE, "console"):
        for command in commands(block):
            if not command.startswith(DRAWING_COMMANDS):
                run_here(command, tmp_path)
    assert (tmp_path / "labels.csv").read_text().count("\n") == 100_001


@pytest.mark.slow
def test_command_line__commands_succeed_as_they_are_typed(tmp_path: Path) -> None:
    for _, _, block in blocks(COMMAND_LINE, "console"):
        for command in commands(block):
            run_command(command, tmp_path)
    assert (tmp_path / "labels.csv").read_text().count("\n") == 100_001
    assert (tmp_path / "report.html").stat().st_size > 10_000


def test_command_line__every_command_is_shown() -> None:
    # those of FCS files, which the page does not have, are in sh blocks
    shown = {
        name
        for _, _, block in blocks(COMMAND_LINE, "console", "sh")
        for name in re.findall(r"^(?:\$ )?bigtensor ([\w-]+)", block, re.MULTILINE)
    }
    assert shown == set(main.commands)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_links__lead_somewhere(page: Path) -> None:
    for target, anchor in LINK.findall(page.read_text(encoding="utf-8")):
        linked = (page.parent / target).resolve()
        assert linked.exists(), f"{page.name} links to {target}"
        if anchor:
            text = linked.read_text(encoding="utf-8")
            headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
            anchors = {re.sub(r"[^\w -]", "", head.lower()).replace(" ", "-") for head in headings}
            assert anchor[1:] in anchors, f"{page.name} links to {target}{anchor}"


@pytest.mark.parametrize("note", sorted(ROOT.glob("docs/design/*.md")), ids=lambda note: note.stem)
def test_design_notes__name_files_that_exist(note: Path) -> None:
    files = [
        f"/{path.relative_to(ROOT)}"
        for folder in ("bigtensor", "deploy", "docs", "examples", "tests")
        for path in (ROOT / folder).rglob("*.py")
    ]
    named = re.findall(r"`([a-z0-9_/]+\.py)`", note.read_text())
    assert not [name for name in named if not any(path.endswith(f"/{name}") for path in files)]


def test_dependencies__every_one_has_its_reason() -> None:
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"].values()
    wanted = {
        re.split(r"[\[<>=;]", requirement)[0]
        for requirement in [
            *project["dependencies"],
            *(entry for extra in extras for entry in extra),
        ]
    } - {"bigtensor"}
    text = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8")
    listed = {
        name.strip()
        for row in re.findall(r"^\| ([^|]+)(?:\| ([^|]+))?\|[^|]*\|$", text, re.MULTILINE)
        for cell in row
        for name in cell.split(",")
    }
    assert wanted <= listed, f"no reason is given for {sorted(wanted - listed)}"


@contextmanager
def running_cluster(log: Path) -> Iterator[str]:
    """Start the local cluster on a free port, and end it as a user would."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with log.open("w") as output:
        cluster = subprocess.Popen(
            [ROOT / "deploy" / "local" / "start_cluster.sh", "1", "1GiB", str(port)],
            env={**environment(), "TMPDIR": str(log.parent)},
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        try:
            deadline = time.monotonic() + START_SECONDS
            while "ready" not in log.read_text():
                assert cluster.poll() is None, log.read_text()
                assert time.monotonic() < deadline, log.read_text()
                time.sleep(0.2)
            yield f"tls://127.0.0.1:{port}"
        finally:
            cluster.send_signal(signal.SIGTERM)
            assert cluster.wait(timeout=60) == 0, log.read_text()


@pytest.mark.slow
def test_local_cluster__fits_with_the_same_bits_and_leaves_nothing_behind(tmp_path: Path) -> None:
    store = tmp_path / "rows.zarr"
    simulate.write_kernel_mixture(store, 80_000, 3, random_state=1)
    command = "bigtensor fit rows.zarr --components 3 --out model.zarr --seed 0 --scheduler"
    with running_cluster(tmp_path / "cluster.log") as address:
        (folder,) = tmp_path.glob("bigtensor-cluster.*")
        assert {path.stat().st_mode & 0o077 for path in (folder, folder / "key.pem")} == {0}
        refused = subprocess.run(
            [*command.split(), address.replace("tls", "tcp")],
            cwd=tmp_path,
            env=environment(),
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert refused.returncode == 1
        assert "asks for encryption" in refused.stderr
        assert "--tls-ca-file" in refused.stderr
        done = subprocess.run(
            ["bash", "-c", f". {folder}/client.sh && {command} {address}"],
            cwd=tmp_path,
            env=environment(),
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.1", int(address.rsplit(":", 1)[1])), timeout=5)
    assert not list(tmp_path.glob("bigtensor-cluster.*"))
    fitted = bigtensor.load(tmp_path / "model.zarr")
    here = KernelMixture(3, random_state=0).fit(store, scheduler="threads")
    assert np.array_equal(fitted.weights_, here.weights_)


def test_benchmarks__figures_of_better_peers_stand_in_the_tables_of_their_pages() -> None:
    text = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    table = text.partition("## Where a peer is better")[2].partition("\n## ")[0]
    rows = re.findall(r"^\|[^|]*\|[^|]*\|(.*)\| \[.*\]\((.*)\) \|$", table, re.MULTILINE)

    figures = [
        (page, figure)
        for cells, page in rows
        for figure in re.findall(r"(?<![\d.])(?:[\d,]*\.\d+|\d+,\d{3})", cells)
    ]

    assert len(rows) >= 20
    assert len(figures) >= 50
    missing = [
        (page, figure)
        for page, figure in figures
        if not re.search(
            rf"(?<![\d.]){re.escape(figure)}(?!\d)",
            (ROOT / "docs" / page).read_text(encoding="utf-8"),
        )
    ]
    assert missing == []

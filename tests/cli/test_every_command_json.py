"""Law: with ``--json``, every command prints one JSON object and nothing else."""

import json
import shutil

import click
import flowio
import numpy as np
import pytest

from bigtensor import KernelMixture
from bigtensor.cli import main
from bigtensor.cli.recipes import KINDS
from bigtensor.cli.simulators import SIMULATORS
from tests.models.kernel_mixture.test_refinement import cells as simulated_cells

THREADS = ("--scheduler", "threads")


def commands(group=main, before=()):
    """Return the words that name each command, of groups too."""
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from commands(command, (*before, name))
        else:
            yield " ".join((*before, name))


@pytest.fixture(scope="module")
def tree(run, cells, tmp_path_factory):
    """Return a model with a tree of components, which can be cut."""
    path = tmp_path_factory.mktemp("tree") / "tree.zarr"
    result = run("fit", cells, "-k", 6, "--populations", 3, "--out", path, *THREADS)
    assert result.exit_code == 0, result.stderr
    return path


@pytest.fixture(scope="module")
def tailed(tmp_path_factory):
    """Return the folder of cells of which one population has rare cells, and of their model."""
    folder = tmp_path_factory.mktemp("tailed")
    simulated_cells()[0].to_zarr(folder / "cells.zarr", zarr_format=2)
    model = KernelMixture(2, random_state=0).fit(folder / "cells.zarr")
    model.save(folder / "model.zarr")
    return folder


@pytest.fixture(scope="module")
def files(run, cells, model, tmp_path_factory):
    """Return the folder of the other inputs."""
    folder = tmp_path_factory.mktemp("json")
    made = (
        ("predict", model, cells, "--out", folder / "labels.zarr", *THREADS),
        ("prepare", cells, "-k", 3, "--out", folder / "prepared.zarr", *THREADS),
        ("accumulate", folder / "prepared.zarr", cells, "--out", folder / "sums.zarr"),
    )
    for arguments in made:
        result = run(*arguments)
        assert result.exit_code == 0, result.stderr
    rows = "\n".join("1.5,2.5,0.25" for _ in range(20))
    (folder / "table.csv").write_text(f"a,b,c\n{rows}\n")
    samples = "".join(f"sample{n},{'drug' if n > 2 else 'none'}\n" for n in (1, 2, 3, 4))
    (folder / "samples.csv").write_text("sample,arm\n" + samples)
    np.save(folder / "gate.npy", np.arange(20_000) % 2)
    (folder / "names.csv").write_text("population,name\n0,first\n")
    events = np.random.default_rng(0).lognormal(5, 2, (200, 3))
    with (folder / "events.fcs").open("wb") as file:
        flowio.create_fcs(file, events.ravel().tolist(), ["FSC-A", "CD3", "CD4"])
    return folder


def cases(files, cells, model, tree, tailed, tmp_path):
    """Return the arguments of every command by its name."""
    out = ("--out", tmp_path / "out.zarr")
    metadata = ("--metadata", files / "samples.csv", "--by", "arm")
    own_cells = tmp_path / "own.zarr"
    for kind, simulator in SIMULATORS.items():
        components = () if simulator.names_components else ("-k", 2)
        yield f"simulate {kind}", (tmp_path / "out.zarr", "--rows", 300, *components)
    yield from ((f"deploy {kind}", ()) for kind in KINDS)
    yield from {
        "demo": ("--rows", 3000, "--out", tmp_path / "demo"),
        "panel": (files / "events.fcs", "--out", tmp_path / "panel.csv"),
        "import": (files / "table.csv", *out),
        "info": (cells, model),
        "subset": (cells, *out, "--where", "CD3 > 1"),
        "add": (own_cells, "--column", f"gate={files / 'gate.npy'}"),
        "models": (),
        "plan": (cells, "-k", 3),
        "fit": (cells, "-k", 3, *out, *THREADS),
        "predict": (model, cells, *out, "--by", "sample_id", *THREADS),
        "export": (files / "labels.zarr", "--to", tmp_path / "labels.csv"),
        "report": (model, "--data", cells, "--out", tmp_path / "report.html"),
        "name": (model, files / "names.csv", *out),
        "cut": (tree, 2, *out),
        "merge-populations": (tree, "0,1", *out),
        "refine": (tailed / "model.zarr", tailed / "cells.zarr", "--population", 1, *out),
        "compare": (model, cells, *metadata, "--out", tmp_path / "out.csv"),
        "prepare": (cells, "-k", 3, *out, *THREADS),
        "accumulate": (files / "prepared.zarr", cells, *out),
        "merge": (files / "sums.zarr", *out),
        "solve": (files / "prepared.zarr", files / "sums.zarr", *out),
    }.items()


def one_object(stdout):
    """Return the JSON object that is all of an output."""
    assert stdout.endswith("}\n")
    assert stdout.count("\n") == 1
    value = json.loads(stdout)
    assert isinstance(value, dict)
    assert value
    return value


@pytest.mark.parametrize(
    "name",
    # the demo takes half a minute
    [pytest.param(name, marks=[pytest.mark.slow] * (name == "demo")) for name in commands()],
)
def test_every_command__prints_one_json_object(
    run, files, cells, model, tree, tailed, tmp_path, undrawn, name
):
    arguments = dict(cases(files, cells, model, tree, tailed, tmp_path))
    if name == "add":
        shutil.copytree(cells, tmp_path / "own.zarr")
    assert name in arguments, f"add a case for the command {name!r}"
    result = run(*name.split(), *arguments[name], "--json")
    assert result.exit_code == 0, result.stderr
    one_object(result.stdout)

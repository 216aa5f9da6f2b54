"""Every command refuses a store that would run code, before anything of it is decoded."""

from pathlib import Path

import numcodecs
import pytest

from tests import unsafe_stores

THREADS = ("--scheduler", "threads")


@pytest.fixture(scope="module")
def labels(run, cells, model, tmp_path_factory) -> Path:
    """Return labels of the cells."""
    out = tmp_path_factory.mktemp("unsafe") / "labels.zarr"
    assert run("predict", model, cells, "--out", out, *THREADS).exit_code == 0
    return out


COMMANDS = {
    "plan": lambda a: ["plan", a["cells"]],
    "info of cells": lambda a: ["info", a["cells"]],
    "info of a model": lambda a: ["info", a["model"]],
    "info of labels": lambda a: ["info", a["labels"]],
    "fit": lambda a: ["fit", a["cells"], "--out", a["out"], *THREADS],
    "prepare": lambda a: ["prepare", a["cells"], "--out", a["out"]],
    "predict cells": lambda a: ["predict", a["safe model"], a["cells"], "--out", a["out"]],
    "predict by a model": lambda a: ["predict", a["model"], a["safe cells"], "--out", a["out"]],
    "merge": lambda a: ["merge", a["model"], a["model"], "--out", a["out"]],
    "export": lambda a: ["export", a["labels"], "--to", a["out"].with_suffix(".csv")],
    "report of a model": lambda a: [
        *("report", a["model"], "--out", a["out"].with_suffix(".html")),
        *("--data", a["safe cells"], "--labels", a["labels"]),
    ],
    "report of data": lambda a: [
        *("report", a["safe model"], "--out", a["out"].with_suffix(".html")),
        *("--data", a["cells"], "--labels", a["labels"]),
    ],
}


@pytest.mark.parametrize("command", COMMANDS)
def test_command__runs_no_code_of_a_store(
    run, cells, model, labels, tmp_path, monkeypatch, command
):
    # as it was before numcodecs 0.16.6
    monkeypatch.setattr(numcodecs.pickles, "ALLOW_UNSAFE_PICKLE_DECODE", True)
    mark = tmp_path / "attacked"
    paths = {"safe cells": cells, "safe model": model, "out": tmp_path / "out.zarr"}
    paths["cells"] = unsafe_stores.samples(tmp_path / "cells.zarr", mark)
    for name, source in (("model", model), ("labels", labels)):
        paths[name] = unsafe_stores.as_attack(source, tmp_path / f"{name}.zarr", mark)
    result = run(*COMMANDS[command](paths))
    assert result.exit_code == 1, result.stderr
    assert "could run code" in result.stderr.replace("\n", " ")
    assert not mark.exists()

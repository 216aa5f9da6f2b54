"""Checkpoints have a folder of their own: the end of a fit says that it can be removed."""

import shutil

import numpy as np
import pytest

from bigtensor import GaussianMixture
from bigtensor.engine.checkpoint import PassCheckpoint


@pytest.mark.parametrize("place", ["cells.zarr", "cells.zarr/parts", ".", "model.zarr", " "])
def test_checkpoint__with_data_or_outputs_is_refused_before_anything_is_read(
    run, cells, tmp_path, monkeypatch, place
):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(cells, "cells.zarr")
    before = sorted(tmp_path.rglob("*"))

    result = run("fit", "cells.zarr", "-k", 2, "--out", "model.zarr", "--checkpoint", place)

    assert result.exit_code == 2
    assert "--checkpoint" in result.stderr
    assert sorted(tmp_path.rglob("*")) == before


def test_checkpoint__beside_the_data_is_taken(run, cells, tmp_path):
    parts = tmp_path / "parts"
    out = tmp_path / "model.zarr"
    where = ("--scheduler", "threads", "--out", out, "--checkpoint", parts)

    assert run("fit", cells, "-k", 2, *where).exit_code == 0

    assert parts.exists()


@pytest.mark.parametrize("place", ["parts [1]", "memory://interrupted"])
def test_checkpoint__is_named_after_an_interrupt_if_it_holds_parts(
    run, cells, tmp_path, monkeypatch, place
):
    monkeypatch.chdir(tmp_path)

    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(GaussianMixture, "fit", interrupt)
    command = ("fit", cells, "--model", "gaussian-mixture", "-k", 2, "--out", "m.zarr")
    without = run(*command, "--checkpoint", place)
    PassCheckpoint(f"{place}/moments-0").store((0, 1), {"sum": np.ones(1)})
    with_parts = run(*command, "--checkpoint", place)

    assert (without.exit_code, with_parts.exit_code) == (130, 130)
    assert place not in without.stderr.splitlines()[-1]
    assert place in with_parts.stderr.splitlines()[-1]

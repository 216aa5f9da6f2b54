"""A store in the place of another one: the error says what it holds and what is expected."""

import pytest


@pytest.fixture(scope="module")
def stores(run, cells, model, tmp_path_factory):
    folder = tmp_path_factory.mktemp("other")
    prepared, sums = folder / "prepared.zarr", folder / "sums.zarr"
    assert run("prepare", cells, "-k", 2, "--out", prepared).exit_code == 0
    assert run("accumulate", prepared, cells, "--out", sums).exit_code == 0
    return {"cells": cells, "model": model, "sums": sums}


@pytest.mark.parametrize(
    ("arguments", "hints"),
    [
        (("fit", "model"), ("a model", "'bigtensor import'")),
        (("predict", "cells", "model"), ("data", "'bigtensor fit")),
        (("predict", "sums", "cells"), ("statistics", "'solve'")),
        (("subset", "model", "--where", "CD3 > 1"), ("a model", "'bigtensor import'")),
    ],
)
def test_other_store__is_named(run, stores, tmp_path, arguments, hints):
    given = [stores.get(argument, argument) for argument in arguments]
    result = run(*given, "--out", tmp_path / "out.zarr")
    assert result.exit_code == 1
    for hint in hints:
        assert hint in result.stderr


def test_export__of_a_model_asks_for_answers(run, model, tmp_path):
    result = run("export", model, "--to", tmp_path / "out.csv")
    assert result.exit_code == 1
    assert "a model" in result.stderr
    assert "'bigtensor predict'" in result.stderr
    assert len(result.stderr) < 300

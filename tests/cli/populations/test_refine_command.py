"""``bigtensor refine``: a population divided by the tail of one feature."""

import json

import numpy as np
import pytest

import bigtensor
from bigtensor import GaussianMixture, KernelMixture
from bigtensor.cli.populations.refine import _in_words
from tests.models.kernel_mixture.test_refinement import cells as simulated_cells


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """A store of cells with samples, a named model of it, and the true rare cells."""
    folder = tmp_path_factory.mktemp("refine")
    data, _, rare = simulated_cells()
    data.to_zarr(folder / "cells.zarr", zarr_format=2)
    model = KernelMixture(2, random_state=0).fit(folder / "cells.zarr")
    model.rename_populations({1: "T cells"}).save(folder / "model.zarr")
    return folder, rare


@pytest.mark.slow  # a condition is quick
def test_refine__finds_rare_cells_which_predict_then_labels(run, study, tmp_path):
    folder, rare = study
    out = tmp_path / "refined.zarr"
    result = run(
        "refine",
        folder / "model.zarr",
        folder / "cells.zarr",
        "--population",
        "T cells",
        "--out",
        out,
    )
    assert result.exit_code == 0, result.stderr
    model = bigtensor.load(out)
    assert model.population_names_.tolist() == ["0", "T cells c-", "T cells c+"]
    assert "T cells c+" in result.stdout
    (facts,) = model.diagnostics_["refinements"]
    assert f"{facts['rows']:,.0f} cells" in result.stdout
    assert "T cells c+" in run("info", out).stdout
    assert len(bigtensor.load(folder / "model.zarr").population_names_) == 2
    labelled = run("predict", out, folder / "cells.zarr", "--out", tmp_path / "labels.zarr")
    assert labelled.exit_code == 0, labelled.stderr
    label = np.asarray(model.predict(folder / "cells.zarr"))
    assert 0.5 * rare.sum() < (label == 2).sum() < 2 * rare.sum()


def test_refine__with_a_condition_in_place_and_as_json(run, study, tmp_path):
    folder, _ = study
    path = bigtensor.load(folder / "model.zarr").save(tmp_path / "model.zarr")
    arguments = ("refine", path, folder / "cells.zarr", "--population", 1, "--feature", "c")
    result = run(*arguments, "--where", "c < 30 and sample_id != 's5'", "--json")
    assert result.exit_code == 0, result.stderr
    facts = json.loads(result.stdout)
    assert facts["refinement"]["feature"] == "c"
    assert [row["name"] for row in facts["populations"]] == ["", "T cells c-", "T cells c+"]
    assert bigtensor.load(path).population_names_.tolist()[2] == "T cells c+"


def test_words__name_the_sample_that_most_of_the_tail_lies_in():
    facts = {
        "parts": ["T c-", "T c+"],
        "side": "upper",
        "feature": "c",
        "rows": 200.0,
        "share": 0.01,
        "threshold": 2.0,
        "variation_between_samples": 9.0,
        "candidates": [],
        "decisive_sample": None,
        "share_of_largest_sample": 0.4,
    }
    assert "file 5" not in "\n".join(_in_words(facts))
    words = _in_words({**facts, "decisive_sample": "file 5", "share_of_largest_sample": 0.65})
    assert "65%" in "\n".join(words)
    assert "file 5" in "\n".join(words)


@pytest.mark.parametrize(
    ("options", "code", "word"),
    [
        (("--population", "NK"), 1, "no population 'NK'"),
        (("--population", 1, "--feature", "e"), 1, "choose one of a, b, c, d"),
        (("--population", 1, "--feature", "a"), 1, "choose another feature"),
        (("--population", 1, "--by", "file"), 1, "no variable 'file'"),
        ((), 2, "--population"),
    ],
)
def test_refine__says_what_is_wrong(run, study, options, code, word):
    folder, _ = study
    result = run("refine", folder / "model.zarr", folder / "cells.zarr", *options)
    assert result.exit_code == code
    assert word in result.stderr
    assert len(bigtensor.load(folder / "model.zarr").population_names_) == 2


def test_refine__of_another_family_names_the_way(run, study, tmp_path):
    folder, _ = study
    path = GaussianMixture(2, random_state=0).fit(folder / "cells.zarr").save(tmp_path / "g.zarr")
    result = run("refine", path, folder / "cells.zarr", "--population", 1)
    assert result.exit_code == 2
    assert "bigtensor subset" in result.stderr

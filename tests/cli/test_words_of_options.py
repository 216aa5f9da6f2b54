"""Errors, plans and verdicts speak of options and of names of the store."""

import json

import numpy as np
import pytest
import xarray as xr

from bigtensor.cli.command import written_for
from bigtensor.cli.commands.fit import fit
from bigtensor.errors import Message, Setting
from bigtensor.models.words.faults import verdict_words

FEATURES = ["height", "weight", "age", "bmi", "pulse"]


@pytest.fixture(scope="module")
def stores(tmp_path_factory):
    """Return the folder of a store of measurements and of one of categories."""
    folder = tmp_path_factory.mktemp("kinds")
    names = np.array(FEATURES, object)
    values = np.random.default_rng(0).normal(size=(200, 5)).astype("float32")
    categories = {"categories": {name: ["no", "yes"] for name in FEATURES}}
    for kind, matrix, attrs in (
        ("measured", values, {}),
        ("codes", (values > 0).astype("int32"), categories),
    ):
        data = xr.Dataset({"X": (("sample", "feature"), matrix, attrs)}, {"feature": names})
        data.to_zarr(folder / f"{kind}.zarr", zarr_format=3, consolidated=False)
    return folder


@pytest.mark.parametrize(
    ("store", "model", "words"),
    [
        ("codes", "topic", ["--counts"]),
        ("measured", "hidden-markov", ["--codes", "--emissions"]),
        ("measured", "linear-mixture", ['["height", "weight", "age"]', '["bmi"]', '["pulse"]']),
    ],
)
def test_fit__data_of_another_kind_name_the_option_of_the_import(
    run, stores, tmp_path, store, model, words
):
    options = ("--model", model, "--components", 2, "--out", tmp_path / "m.zarr")
    result = run("fit", stores / f"{store}.zarr", *options)
    assert result.exit_code != 0
    message = " ".join(result.stderr.split())
    for word in words:
        assert word in message


def test_plan__json_names_options(run, stores):
    result = run("plan", stores / "measured.zarr", "--components", 2, "--json")
    smaller = json.loads(result.stdout)["smaller"]
    assert smaller == {
        "driver": ["--n-landmarks", "--pilot-rows"],
        "states": ["--components"],
        "workspaces": ["--n-landmarks"],
    }


def test_verdict__of_sources_is_written_with_options():
    verdict = {"sentences": ["It is done.", Message("Use ") + Setting("max_iter", 0) + "."]}
    words = verdict_words(verdict)
    assert words == "It is done. Use max_iter=0."
    assert written_for(fit, words) == "It is done. Use --max-iter 0."

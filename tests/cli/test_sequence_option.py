"""``--sequence`` of import, plan, fit, predict and accumulate."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from bigtensor import HiddenMarkovModel, load, open_samples, simulate

THREADS = ("--scheduler", "threads")
OF_MODEL = ("--model", "hidden-markov", "--components", 2)


@pytest.fixture
def store(run, tmp_path):
    """A store of events, whose sequences are in the variables sequence and subject."""
    data = simulate.hidden_markov(4000, 2, 4, sequences=8, stay=0.6, random_state=1)
    subject = np.repeat([f"s{8 - place}" for place in range(8)], 500)
    events = np.array([*"abcd"])[data["X"].to_numpy()[:, 0]]
    pd.DataFrame({"subject": subject, "event": events}).to_csv(tmp_path / "log.csv", index=False)
    path = tmp_path / "log.zarr"
    done = run("import", tmp_path / "log.csv", "--codes", "--sequence", "subject", "--out", path)
    assert done.exit_code == 0
    return path


def test_import__keeps_the_column_with_its_names(store):
    with xr.open_zarr(store, chunks=None) as found:
        np.testing.assert_array_equal(found["sequence"], np.repeat(np.arange(8), 500))
        assert found["sequence"].attrs["categories"] == [f"s{8 - place}" for place in range(8)]
        assert list(found["feature"].to_numpy()) == ["event"]


def test_fit_and_predict__read_the_variable_that_is_named(run, store, tmp_path):
    model, out = tmp_path / "model.zarr", tmp_path / "states.zarr"
    # all rows are of one file
    of_file = ("--sequence", "sample_id")
    done = run("fit", store, *OF_MODEL, *of_file, "--out", model, *THREADS)
    assert done.exit_code == 0, done.stderr
    fitted = load(model)
    assert fitted.diagnostics_["sequences"] == 1
    together = HiddenMarkovModel(2, random_state=0).fit(str(store), sequence="sample_id")
    np.testing.assert_array_equal(fitted.emission_, together.emission_)
    options = ("--probabilities", *THREADS)
    assert run("predict", model, store, *of_file, "--out", out, *options).exit_code == 0
    with xr.open_zarr(out) as found:
        probability = found["probability"].to_numpy()
    expected = fitted.predict_proba(str(store), sequence="sample_id").compute()
    np.testing.assert_array_equal(probability, expected)
    apart = fitted.predict_proba(str(store)).compute()
    assert np.abs(apart.to_numpy() - probability).max() > 1e-3


def test_csv_of_predict__names_the_sequence_of_every_row(run, store, tmp_path):
    model, table = tmp_path / "model.zarr", tmp_path / "states.csv"
    HiddenMarkovModel(2, refine="triples", random_state=0).fit(str(store)).save(model)
    arguments = ("predict", model, store, "--out", tmp_path / "states.zarr", "--csv", table)
    done = run(*arguments, *THREADS)
    assert done.exit_code == 0, done.stderr
    rows = pd.read_csv(table)
    assert list(rows.columns) == ["row", "sample_id", "sequence", "label"]
    assert list(rows["sequence"]) == [f"s{8 - place}" for place in range(8) for _ in range(500)]


@pytest.mark.slow  # fit and predict are quick
def test_shares_of_groups__follow_the_variable_that_is_named(run, store, tmp_path):
    model, out = tmp_path / "model.zarr", tmp_path / "states.zarr"
    assert run("fit", store, *OF_MODEL, "--out", model, *THREADS).exit_code == 0
    of_file, by = ("--sequence", "sample_id"), ("--by", "sequence")
    done = run("predict", model, store, *of_file, *by, "--out", out, *THREADS)
    assert done.exit_code == 0, done.stderr
    table = pd.read_csv(tmp_path / "states_by_sequence.csv", index_col="sequence")
    shares = table.filter(like="state_").to_numpy()
    together, apart = (
        load(model).weights_by(rows, "sequence")["weight"].sel(sequence=list(table.index))
        for rows in (open_samples(str(store), sequence="sample_id"), str(store))
    )
    np.testing.assert_allclose(shares, together, atol=1e-6)
    assert np.abs(apart - shares).max() > 1e-3


def test_plan_and_accumulate__take_it_too(run, store, tmp_path):
    named = ("--sequence", "sequence")
    planned = run("plan", store, *OF_MODEL, *named, *THREADS)
    assert planned.exit_code == 0
    assert planned.stdout == run("plan", store, *OF_MODEL, *THREADS).stdout
    prepared, sums = tmp_path / "prepared.zarr", tmp_path / "sums.zarr"
    assert run("prepare", store, *OF_MODEL, "--out", prepared, *THREADS).exit_code == 0
    of_file = ("--sequence", "sample_id")
    assert run("accumulate", prepared, store, *of_file, "--out", sums, *THREADS).exit_code == 0
    solved = load(prepared).solve(sums)
    assert solved.diagnostics_["sequences"] == 1


def test_an_unknown_variable__is_an_error_that_says_which_there_are(run, store, tmp_path):
    out = tmp_path / "model.zarr"
    done = run("fit", store, *OF_MODEL, "--sequence", "who", "--out", out, *THREADS)
    assert done.exit_code == 1
    assert "'who'" in done.stderr
    assert "sample_id, sequence" in done.stderr
    assert not out.exists()


def test_models_without_an_order__refuse_it(run, store):
    done = run("plan", store, "--components", 2, "--sequence", "sequence", *THREADS)
    assert done.exit_code == 2
    assert "KernelMixture reads rows without an" in done.stderr


def test_warnings__name_the_option(run, tmp_path):
    data = simulate.hidden_markov(4000, 2, 4, stay=0.6, random_state=1)
    path = tmp_path / "back.zarr"
    back = np.repeat([1, 2, 1, 3], 1000)
    data[["X"]].assign(sequence=("sample", back)).to_zarr(path, zarr_format=2, consolidated=True)
    done = run("fit", path, *OF_MODEL, "--out", tmp_path / "model.zarr", *THREADS)
    assert done.exit_code == 0, done.stderr
    assert "1 of 3 ids of sequences" in done.stderr
    assert "--sequence" in done.stderr

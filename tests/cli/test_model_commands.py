"""plan, fit, predict and report."""

import csv
import os
import re
from dataclasses import replace

import numpy as np
import pytest
import xarray as xr
import zarr

import bigtensor
from bigtensor.cli.stored_labels import agreement
from bigtensor.data.stores.layout import SampleStoreWriter
from bigtensor.models.contract import estimator, opened_fit

THREADS = ("--scheduler", "threads")


def only(folder):
    return sorted(os.listdir(folder))  # noqa: PTH208


def test_plan__prints_the_plan_and_starts_nothing(run, cells):
    result = run("plan", cells, "--components", 4, "--memory-limit", "1GiB", "--workers", 3)
    assert result.exit_code == 0
    assert "20,000 rows x 6 features" in result.stdout
    # 20,000 rows are one task, which leaves other processes without work
    assert "runs on    1 process x 1 thread" in result.stdout
    assert "1.00 GiB allowed" in result.stdout
    assert re.search(r"^fits +yes$", result.stdout, re.MULTILINE)
    assert result.stderr == ""


def test_plan__what_does_not_fit_is_printed_with_the_option_that_helps(run, cells):
    result = run("plan", cells, "--components", 4, "--memory-limit", "100MiB")
    assert result.exit_code == 0
    assert "fits       NO: " in result.stdout
    assert "(--memory-limit)" in result.stdout


def test_fit__refuses_a_plan_that_does_not_fit_after_printing_it(run, cells, tmp_path):
    out = tmp_path / "m.zarr"
    result = run("fit", cells, "-k", 4, "--out", out, "--memory-limit", "100MiB")
    assert result.exit_code == 1
    assert "runs on " in result.stdout
    assert result.stderr.startswith("error: the plan does not fit: ")
    assert len(result.stderr.splitlines()) == 1
    assert only(tmp_path) == []


def test_fit__prints_plan_passes_and_what_was_written(fitted):
    path, result = fitted
    assert result.stdout.index("fits       yes") < result.stdout.index(f"model      {path}")
    assert "4 components in 6 views" in result.stdout
    assert "fitted on  20,000 rows in 4 passes" in result.stdout
    # steps of the driver have no rows, and lines only where they take long
    told = result.stderr.splitlines()
    passes = [line.split(":")[0] for line in told if " rows, " in line]
    assert passes == ["pilot", "moments", "posterior 1", "posterior 2"]


def test_fit__the_model_is_that_of_python(fitted, cells):
    expected = bigtensor.KernelMixture(4, random_state=0).fit(str(cells), scheduler="threads")
    np.testing.assert_array_equal(bigtensor.load(fitted[0]).weights_, expected.weights_)


def test_fit__opens_plans_and_resolves_once(run, cells, tmp_path, monkeypatch):
    calls = []

    def counting(function):
        def counted(*args, **kwargs):
            calls.append(function.__name__)
            return function(*args, **kwargs)

        return counted

    monkeypatch.setattr(estimator, "open_samples", counting(estimator.open_samples))
    monkeypatch.setattr(opened_fit, "make_plan", counting(opened_fit.make_plan))
    steps = bigtensor.KernelMixture.steps
    counted = replace(steps, settings_of=counting(steps.settings_of))
    monkeypatch.setattr(bigtensor.KernelMixture, "steps", counted)
    result = run("fit", cells, "-k", 3, "--init", "kmeans", "--out", tmp_path / "m.zarr", *THREADS)
    assert result.exit_code == 0, result.stderr
    assert sorted(calls) == ["make_plan", "open_samples", "settings_of"]


@pytest.mark.slow  # the rules of a mixture are quick
def test_fit__treats_missing_entries_as_the_model_does(run, tmp_path):
    values = np.random.default_rng(0).normal(size=(300, 2))
    values[0, 0] = np.nan
    with SampleStoreWriter(tmp_path / "rows.zarr", ["a", "b"]) as store:
        store.append(values)
    fit = ("fit", tmp_path / "rows.zarr", *THREADS, "--model", "tensor-train-density")
    result = run(*fit, "--out", tmp_path / "m.zarr")
    assert result.exit_code == 0, result.stderr
    assert bigtensor.load(tmp_path / "m.zarr").missing == "marginalise"
    refused = run(*fit, "--out", tmp_path / "n.zarr", "--missing", "raise")
    assert refused.exit_code == 1
    assert "'a'" in refused.stderr


def test_fit__views_of_a_file_and_the_k_means_start(run, cells, tmp_path):
    views = tmp_path / "views.toml"
    views.write_text('[views]\na = ["CD3", "CD4"]\nb = ["CD8", "CD19"]\n')
    out = tmp_path / "m.zarr"
    command = ("fit", cells, "-k", 4, "--out", out, "--views", views, *THREADS)
    refused = run(*command, "--init", "spectral")
    assert refused.exit_code == 1
    assert "needs at least 3 views" in refused.stderr
    assert "--init kmeans" in refused.stderr
    result = run(*command, "--init", "kmeans", "--seed", 3)
    assert result.exit_code == 0, result.stderr
    model = bigtensor.load(out)
    assert model.views_.as_mapping() == {"a": ["CD3", "CD4"], "b": ["CD8", "CD19"]}
    assert (model.init, model.random_state) == ("kmeans", 3)


def test_fit__an_unknown_feature_of_a_view_is_named(run, cells, tmp_path):
    views = tmp_path / "views.toml"
    views.write_text('[views]\na = ["CD3"]\nb = ["CD33"]\nc = ["CD19"]\n')
    result = run("fit", cells, "-k", 2, "--out", tmp_path / "m.zarr", "--views", views, *THREADS)
    assert result.exit_code == 1
    assert "'b' names the unknown feature 'CD33'" in result.stderr


def test_fit__a_checkpoint_is_used_by_the_same_command(run, cells, model, tmp_path):
    out, parts = tmp_path / "m.zarr", tmp_path / "parts"
    command = ("fit", cells, "-k", 4, "--out", out, "--checkpoint", parts, *THREADS)
    assert run(*command).exit_code == 0
    again = run(*command, "--overwrite")
    assert again.exit_code == 0
    assert again.stderr.count("read from the checkpoint") == 4
    np.testing.assert_array_equal(bigtensor.load(out).weights_, bigtensor.load(model).weights_)


@pytest.mark.parametrize("command", ["fit", "predict"])
def test_output__is_never_an_input(run, cells, model, command):
    names = {"fit": (cells, "-k", 4, "--out", cells), "predict": (model, cells, "--out", model)}
    result = run(command, *names[command], "--overwrite", *THREADS)
    assert result.exit_code == 2
    assert "would be replaced" in result.stderr
    assert bigtensor.load(model).n_components == 4


@pytest.mark.parametrize("target", ["exists", "no folder"])
def test_fit__a_bad_output_is_refused_before_anything_runs(run, cells, model, tmp_path, target):
    out = model if target == "exists" else tmp_path / "none" / "m.zarr"
    result = run("fit", cells, "-k", 4, "--out", out, *THREADS)
    assert result.exit_code == 1
    assert ("give --overwrite" if target == "exists" else "make it first") in result.stderr
    assert result.stdout == ""


def test_predict__labels_probabilities_and_csv(run, cells, model, tmp_path):
    out, text = tmp_path / "l.zarr", tmp_path / "l.csv"
    result = run("predict", model, cells, "--out", out, "--probabilities", "--csv", text, *THREADS)
    assert result.exit_code == 0, result.stderr
    assert f"{out}: label, probability, log_density of 20,000" in result.stdout
    group = zarr.open_group(out, mode="r")
    label, probability = group["label"][:], group["probability"][:]
    assert (label.dtype, probability.dtype) == (np.int32, np.float32)
    assert group["log_density"].shape == (20_000,)
    fitted = bigtensor.load(model)
    with xr.open_zarr(cells, chunks=None) as data:
        np.testing.assert_array_equal(label, fitted.predict(data))
        np.testing.assert_array_equal(probability, fitted.predict_proba(data))
    assert agreement(cells, out, 4).accuracy > 0.97
    with text.open() as file:
        names, *rows = csv.reader(file)
    answers = [*(f"probability_{h}" for h in range(4)), "log_density"]
    assert names == ["row", "sample_id", "label", *answers]
    assert [int(row[2]) for row in rows] == label.tolist()
    assert only(tmp_path) == ["l.csv", "l.zarr"]
    assert re.findall(r"^\w+", result.stdout, re.MULTILINE) == ["labels", "counts", "csv", "took"]
    counts = re.search(r"^counts +(.*)$", result.stdout, re.MULTILINE)[1]
    expected = ", ".join(f"{h}: {count:,}" for h, count in enumerate(np.bincount(label)))
    assert counts == expected
    described = run("info", out)
    assert "20,000 rows, by a KernelMixture" in described.stdout
    assert "probability          (sample, component) float32" in described.stdout


def test_predict__labels_alone_by_default(run, cells, model, tmp_path):
    out = tmp_path / "l.zarr"
    assert run("predict", model, cells, "--out", out, *THREADS).exit_code == 0
    assert sorted(zarr.open_group(out, mode="r").array_keys()) == ["label"]


def test_predict__an_existing_csv_is_refused_before_anything_runs(run, cells, model, tmp_path):
    text = tmp_path / "l.csv"
    text.write_text("mine")
    command = ("predict", model, cells, "--out", tmp_path / "l.zarr", "--csv", text, *THREADS)
    result = run(*command)
    assert result.exit_code == 1
    assert "l.csv exists already" in result.stderr
    assert only(tmp_path) == ["l.csv"]
    assert run(*command, "--overwrite").exit_code == 0
    assert text.read_text().startswith("row,sample_id,label\n")


def test_predict__an_output_named_like_a_file_is_refused(run, cells, model, tmp_path):
    result = run("predict", model, cells, "--out", tmp_path / "labels.CSV")
    assert result.exit_code == 2
    assert "--csv" in result.stderr
    assert not (tmp_path / "labels.CSV").exists()


def test_predict__what_is_not_a_model_is_a_clear_error(run, cells, tmp_path):
    result = run("predict", cells, cells, "--out", tmp_path / "l.zarr", *THREADS)
    assert result.exit_code == 1
    assert "a model is expected" in result.stderr


def test_missing__is_an_error_that_names_the_row_or_left_out(run, model, tmp_path):
    rows = np.random.default_rng(0).normal(size=(5000, 6)).astype(np.float32)
    rows[1234, 2] = np.nan
    data = tmp_path / "gaps.zarr"
    with SampleStoreWriter(data, ["CD3", "CD4", "CD8", "CD19", "CD45", "CD56"]) as store:
        store.append(rows)
    out = tmp_path / "out.zarr"
    for command in (("fit", data, "-k", 2), ("predict", model, data)):
        refused = run(*command, "--out", out, *THREADS)
        assert refused.exit_code == 1
        error = refused.stderr.splitlines()[-1]
        assert "1,234" in error
        assert "'CD8'" in error
        assert "--missing omit" in error
        assert not out.exists()
    result = run("predict", model, data, "--out", out, "--missing", "omit", *THREADS)
    assert result.exit_code == 0
    assert "warning: " in result.stderr
    assert zarr.open_group(out, mode="r")["label"][1234] == -1
    assert "left out: 1," in result.stdout


def test_info__describes_a_model(run, model, cells):
    result = run("info", model)
    assert result.exit_code == 0
    assert f"model      {model}: KernelMixture of 4 components" in result.stdout
    assert f"fitted on  {cells}" in result.stdout
    weights = bigtensor.load(model).weights_
    (first,) = [line for line in result.stdout.splitlines() if line.startswith("0 ")]
    assert first.endswith(f" {weights[0]:.5f}")
    assert "during 2 EM iterations" in result.stdout
    likelihood = bigtensor.load(model).diagnostics_["verdict"]["held_out_log_likelihood"]
    (line,) = [line for line in result.stdout.splitlines() if line.startswith("verdict ")]
    assert f"{likelihood:.2f}" in line


@pytest.mark.slow
def test_report__one_file_and_its_name(run, model, cells, tmp_path):
    pytest.importorskip("matplotlib")
    out = tmp_path / "report.html"
    result = run("report", model, "--data", cells, "--out", out)
    assert result.exit_code == 0, result.stderr
    assert result.stdout.startswith(f"report     {out}, ")
    assert "</html>" in out.read_text()
    again = run("report", model, "--data", cells, "--out", out)
    assert again.exit_code == 1
    assert "exists" in again.stderr


@pytest.mark.slow
def test_report__compares_with_a_truth(run, model, cells, tmp_path):
    pytest.importorskip("matplotlib")
    out = tmp_path / "report.html"
    missing = run("report", model, "--data", cells, "--truth", "gate", "--out", out)
    assert missing.exit_code == 1
    assert "no variable 'gate' with known classes" in missing.stderr
    assert not out.exists()
    result = run("report", model, "--data", cells, "--truth", "label", "--out", out)
    assert result.exit_code == 0, result.stderr
    assert "How often the model is right" in out.read_text()


def test_predict__writes_the_sources_of_a_model_without_labels(run, tmp_path):
    rows, model, out = (tmp_path / name for name in ("rows.zarr", "model.zarr", "sources.zarr"))
    made = run("simulate", "ica", rows, "--rows", 20_000, "-k", 3, "--features", 4)
    assert "with the true mixing columns" in made.stdout
    assert run("fit", rows, "--model", "ica", "--out", model, *THREADS).exit_code == 0
    table = tmp_path / "a.csv"
    result = run("predict", model, rows, "--out", out, "--csv", table, *THREADS)
    assert result.exit_code == 0
    assert table.read_text().startswith("row,source_0,source_1,source_2\n0,")
    assert f"answers    {out}: source of 20,000 rows" in result.stdout
    stored = xr.open_zarr(out)["source"]
    assert np.array_equal(stored, bigtensor.load(model).transform(rows))
    refused = run("predict", model, rows, "--out", tmp_path / "o.zarr", "--by", "x", *THREADS)
    assert refused.exit_code == 2
    assert "ICA has no weights by groups" in refused.stderr
    refused = run("predict", model, rows, "--out", tmp_path / "o.zarr", "--probabilities", *THREADS)
    assert "leave --probabilities out" in refused.stderr


@pytest.mark.slow
def test_predict__options_that_choose_answers_otherwise_are_refused_beside_answer(
    run, model, cells, tmp_path
):
    command = ("predict", model, cells, "--answer", "log_density", "--out", tmp_path / "l.zarr")
    for options, words in (
        (("--probabilities",), "these options have no effect: --probabilities"),
        (("--level", "component"), "these options have no effect: --level"),
        (("--by", "sample_id"), "add --answer label"),
    ):
        result = run(*command, *options, *THREADS)
        assert result.exit_code == 2
        assert words in " ".join(result.stderr.split())
    assert not (tmp_path / "l.zarr").exists()


@pytest.mark.slow  # those of sources are quick
def test_predict__writes_the_answers_of_a_density_that_are_asked_for(run, tmp_path):
    store, model, out = (tmp_path / f"{name}.zarr" for name in ("chain", "model", "answers"))
    sizes = ("--rows", 500, "-k", 2, "--features", 3)
    assert run("simulate", "latent-chain", store, *sizes).exit_code == 0
    choices = ("--rank", 2, "--coordinates", "z", "--structure", "balanced", *THREADS)
    result = run("fit", store, "--model", "tensor-train-density", *choices, "--out", model)
    assert result.exit_code == 0, result.stderr
    answers = ("--answer", "surprise", "--answer", "imputed", *THREADS)
    result = run("predict", model, store, *answers, "--out", out)
    assert result.exit_code == 0, result.stderr
    assert "surprise, imputed of 500 rows" in result.stdout
    written, density = xr.open_zarr(out), bigtensor.load(model)
    assert set(written) == {"surprise", "imputed"}
    assert np.array_equal(written["surprise"], density.surprise(store))
    assert np.array_equal(written["imputed"], xr.open_zarr(store)["X"].astype(float))
    result = run("predict", model, store, "--answer", "label", "--out", tmp_path / "more.zarr")
    assert result.exit_code == 1
    assert "--answer is 'label'; expected one of" in result.stderr

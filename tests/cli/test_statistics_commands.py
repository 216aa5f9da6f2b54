"""prepare, accumulate, merge and solve."""

import numpy as np
import pytest
import xarray as xr

import bigtensor
from bigtensor.data.stores.layout import SampleStoreWriter

THREADS = ("--scheduler", "threads")


@pytest.fixture(scope="module")
def sites(cells, tmp_path_factory):
    """Return the cells in two stores, whose features stand in another order."""
    folder = tmp_path_factory.mktemp("sites")
    values = xr.open_zarr(cells)["X"]
    paths = []
    for name, part in (("a", slice(0, 8_000)), ("b", slice(8_000, None))):
        chosen = values.isel(sample=part)
        features = list(chosen["feature"].to_numpy())[:: 1 if name == "a" else -1]
        paths.append(folder / f"{name}.zarr")
        with SampleStoreWriter(paths[-1], features) as writer:
            writer.append(chosen.sel(feature=features).to_numpy())
    return paths


@pytest.fixture(scope="module")
def prepared(run, cells, tmp_path_factory):
    path = tmp_path_factory.mktemp("prepared") / "prepared.zarr"
    return path, run("prepare", cells, "-k", 4, "--out", path, *THREADS)


@pytest.fixture(scope="module")
def merged(run, prepared, sites):
    """Return the statistics of both sites as one file, and what the commands said."""
    results, files = [], []
    for site in sites:
        files.append(site.with_name(f"{site.stem} sums.zarr"))
        results.append(run("accumulate", prepared[0], site, "--out", files[-1], *THREADS))
    out = sites[0].with_name("merged.zarr")
    return out, [*results, run("merge", *files, "--out", out)]


def test_prepare__says_what_was_written(prepared, run):
    path, result = prepared
    assert result.exit_code == 0, result.stderr
    assert f"prepared   {path}: 4 components in 6 views" in result.stdout
    passes = [line for line in result.stderr.splitlines() if " rows, " in line]
    assert [line.split(":")[0] for line in passes] == ["pilot"]
    info = run("info", path)
    assert info.exit_code == 0, info.stderr
    assert "prepared on" in info.stdout
    assert "next       accumulate statistics with it" in info.stdout


def test_prepare__options_reach_the_model(run, cells, tmp_path):
    views = tmp_path / "views.toml"
    views.write_text('[views]\na = ["CD3", "CD4"]\nb = ["CD8", "CD19"]\n')
    out = tmp_path / "p.zarr"
    command = ("prepare", cells, "-k", 3, "--out", out, "--views", views, "--init", "kmeans")
    result = run(*command, "--rows", "1e6", "--seed", 5, "--missing", "omit", *THREADS)
    assert result.exit_code == 0, result.stderr
    assert "for 1,000,000 rows" in result.stdout
    model = bigtensor.load(out)
    assert (model.init, model.random_state, model.missing) == ("kmeans", 5, "omit")
    assert model.views_.as_mapping() == {"a": ["CD3", "CD4"], "b": ["CD8", "CD19"]}


def test_merge__adds_what_was_accumulated(merged, run):
    out, results = merged
    assert [result.exit_code for result in results] == [0, 0, 0], results[-1].stderr
    assert "moments of 8,000 rows\ntook " in results[0].stdout
    assert f"{out}: moments of 20,000 rows in 2 parts" in results[-1].stdout
    info = run("info", out)
    assert "moments of 20,000 rows for a KernelM" in info.stdout
    assert "8,000 rows, bigtensor" in info.stdout
    assert "12,000 rows, bigtensor" in info.stdout
    one, again = out.with_name("a sums.zarr"), out.with_name("again.zarr")
    assert run("merge", one, "--out", again).stdout.endswith("in 1 part\n")


def test_solve__and_a_round_further_make_a_model_that_predicts(
    run, prepared, merged, cells, model, sites, tmp_path
):
    first, sums, refined = (tmp_path / f"{name}.zarr" for name in ("first", "sums", "refined"))
    result = run("solve", prepared[0], merged[0], "--out", first)
    assert result.exit_code == 0, result.stderr
    assert "solved     pilot, moments; 20,000 rows" in result.stdout
    for command in (
        ("accumulate", first, cells, "--out", sums, *THREADS),
        ("solve", first, sums, "--out", refined),
        ("predict", refined, cells, "--out", tmp_path / "labels.zarr", *THREADS),
    ):
        result = run(*command)
        assert result.exit_code == 0, result.stderr
    assert "one EM iteration" in run("info", refined).stdout
    found, fitted = bigtensor.load(refined), bigtensor.load(model)
    np.testing.assert_allclose(found.weights_, fitted.weights_, atol=0.01)
    labels = xr.open_zarr(tmp_path / "labels.zarr")["label"].to_numpy()
    agreement = (labels == np.asarray(fitted.predict(str(cells)))).mean()
    assert agreement > 0.98


def test_accumulate__continues_from_its_checkpoint(run, prepared, sites, tmp_path):
    parts = tmp_path / "parts"
    command = ("accumulate", prepared[0], sites[0], "--checkpoint", parts, *THREADS)
    assert run(*command, "--out", tmp_path / "a.zarr").exit_code == 0
    again = run(*command, "--out", tmp_path / "b.zarr")
    assert "read from the checkpoint" in again.stderr
    first, second = (bigtensor.load(tmp_path / f"{name}.zarr") for name in "ab")
    for name, array in first.state.items():
        np.testing.assert_array_equal(second.state[name], array)


def test_merge__what_does_not_belong_together_is_refused_in_one_line(
    run, prepared, sites, merged, cells, tmp_path
):
    other, sums = tmp_path / "other.zarr", tmp_path / "sums.zarr"
    run("prepare", cells, "-k", 4, "--out", other, "--seed", 1, *THREADS)
    run("accumulate", other, sites[0], "--out", sums, *THREADS)
    for command, words in (
        (("merge", merged[0], sums), "different preparations"),
        (("merge", merged[0], merged[0]), "are given twice"),
        (("merge", merged[0], prepared[0]), "holds a 'KernelMixture' and no statistics"),
        (("merge", merged[0], tmp_path / "none.zarr"), "holds no statistics"),
        (("solve", prepared[0], sums), "solve them with the prepared model"),
        (("solve", merged[0], sums), "holds statistics and no model"),
        (("accumulate", merged[0], cells), "holds statistics and no model"),
        (("predict", prepared[0], cells), "prepared and has no components yet"),
    ):
        result = run(*command, "--out", tmp_path / "out.zarr")
        assert result.exit_code == 1
        assert words in result.stderr
        assert len(result.stderr.splitlines()) == 1
    assert not (tmp_path / "out.zarr").exists()


@pytest.mark.parametrize("command", ["prepare", "accumulate", "merge", "solve"])
def test_output__is_refused_before_anything_runs(run, cells, prepared, merged, command):
    p, sums = prepared[0], merged[0]
    inputs = {
        "prepare": (cells, "-k", 4),
        "accumulate": (p, cells),
        "merge": (sums,),
        "solve": (p, sums),
    }[command]
    result = run(command, *inputs, "--out", inputs[0], "--overwrite")
    assert result.exit_code == 2
    assert "would be replaced" in result.stderr
    taken = sums if command != "merge" else p
    if command == "solve":
        taken = cells
    result = run(command, *inputs, "--out", taken)
    assert result.exit_code == 1
    assert "give --overwrite" in result.stderr


def test_accumulate_and_solve__of_a_fitted_model_ask_for_the_command_that_prepares(
    run, model, cells, merged, tmp_path
):
    out = tmp_path / "out.zarr"
    for command in (("accumulate", model, cells, *THREADS), ("solve", model, merged[0])):
        result = run(*command, "--out", out)
        assert result.exit_code == 1
        assert "'bigtensor prepare'" in result.stderr
        assert not out.exists()


@pytest.mark.parametrize(
    "options",
    [
        ("--max-iter", 5),
        ("--moments-rows", "5e3"),
        ("--model", "hidden-markov", "--emissions", "gaussian", "--max-iter", 5),
    ],
)
def test_prepare__refuses_options_of_a_fit_in_one_place(run, cells, tmp_path, options):
    result = run("prepare", cells, *options, "--out", tmp_path / "p.zarr", *THREADS)
    assert result.exit_code == 2
    unused = next(entry for entry in options if entry in ("--max-iter", "--moments-rows"))
    assert f"no effect: {unused}" in " ".join(result.stderr.split())


@pytest.mark.parametrize(
    ("model", "of_fit"),
    [
        ("kernel-mixture", {"--max-iter", "--moments-rows"}),
        ("hidden-markov", {"--max-iter", "--refine"}),
        ("gaussian-mixture", {"--populations"}),
    ],
)
def test_prepare_help__lists_no_option_that_is_refused(run, cells, tmp_path, model, of_fit):
    listed = {
        word
        for line in run("prepare", "--model", model, "--help").stdout.splitlines()
        if line.startswith("  -")
        for word in line.split()
        if word.startswith("--")
    }
    assert "--components" in {word.rstrip(",") for word in listed}
    assert not listed & of_fit
    for option in of_fit:
        value = "triples" if option == "--refine" else "5000"
        arguments = ("prepare", cells, "--model", model, option, value, "--out", tmp_path / "p")
        result = run(*arguments, *THREADS)
        assert result.exit_code == 2
        assert f"no effect: {option}" in " ".join(result.stderr.split())
    assert of_fit <= {*run("fit", "--model", model, "--help").stdout.split()}

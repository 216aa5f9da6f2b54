"""Populations on the command line: plan, fit, info, predict and report."""

import re

import numpy as np
import pytest
import zarr

import bigtensor

THREADS = ("--scheduler", "threads")


@pytest.fixture(scope="module")
def merged(run, cells):
    """A model of 16 components in four populations, and what the fit said."""
    path = cells.with_name("merged.zarr")
    result = run("fit", cells, "-k", 16, "--populations", 4, "--out", path, *THREADS)
    assert result.exit_code == 0, result.stderr
    return path, result


def test_fit__says_what_was_merged(merged, cells):
    path, result = merged
    (line,) = [line for line in result.stdout.splitlines() if line.startswith("model ")]
    assert str(path) in line
    assert [int(number) for number in re.findall(r"\b(\d+) [a-z]", line)] == [16, 4, 6]
    model = bigtensor.load(path)
    for population, weight in enumerate(model.population_weights_):
        assert re.search(rf"^{population}\b.* {weight:.5f} ", result.stdout, re.MULTILINE)
    assert (model.n_components, model.n_populations, model.init) == (16, 4, "auto")


@pytest.mark.slow
def test_fit__components_may_be_counted(run, cells, tmp_path):
    out = tmp_path / "m.zarr"
    result = run("fit", cells, "--components", "auto", "--out", out, *THREADS)
    assert result.exit_code == 0, result.stderr
    model = bigtensor.load(out)
    assert f"{len(model.weights_)} components in 6 views" in result.stdout
    assert model.diagnostics_["component_count"]["count"] == len(model.weights_)
    described = run("info", out)
    assert f"KernelMixture of {len(model.weights_)} components\n" in described.stdout


@pytest.mark.parametrize("command", ["plan", "fit"])
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("-k", 3, "--populations", 4), "leave --components out"),
        (("--populations", 4, "--bandwidth", "gap"), "--init spectral uses them"),
        (("-k", 3, "--posterior-width", "-1"), "not a positive number"),
        (("-k", "few"), "of at least 1, or auto"),
        (("-k", 3, "--landmarks", "best"), "cholesky"),
    ],
)
def test_options__that_cannot_be_are_wrong_usage(run, cells, tmp_path, command, options, message):
    out = ("--out", tmp_path / "m.zarr") if command == "fit" else ()
    result = run(command, cells, *options, *out)
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())


def test_plan__takes_what_fit_takes(run, cells):
    few = run("plan", cells, "-k", 4, *THREADS)
    many = run("plan", cells, "--populations", 4, "--posterior-width", 0.4, *THREADS)
    assert (few.exit_code, many.exit_code) == (0, 0)
    assert "moments" in few.stdout
    assert "moments" not in many.stdout


def test_fit__kernels_of_a_file_of_views(run, cells, tmp_path):
    views, out = tmp_path / "views.toml", tmp_path / "m.zarr"
    views.write_text('[views]\nt = ["CD3", "CD4"]\nb = ["CD19"]\nn = ["CD56"]\n'
                     '[kernel]\nt = "laplace"\n')  # fmt: skip
    result = run("fit", cells, "-k", 3, "--views", views, "--out", out, *THREADS)
    assert result.exit_code == 0, result.stderr
    model = bigtensor.load(out)
    assert model.kernel == {"t": "laplace", "b": "gaussian", "n": "gaussian"}


def test_info__lists_populations(run, merged):
    path, _ = merged
    result = run("info", path)
    model = bigtensor.load(path)
    assert "16 components (4 populations)\n" in result.stdout
    assert f"components by {model.merge_tree_.criterion}\n" in result.stdout
    stability = model.population_stability_
    for population, weight in enumerate(model.population_weights_):
        members = np.flatnonzero(model.population_of_component_ == population)
        (line,) = [line for line in result.stdout.splitlines() if line.startswith(f"{population} ")]
        shown = f" {weight:.5f} {stability[population]:.2f} {members[0]}"
        assert shown in " ".join(line.split())


def test_predict__labels_are_populations_and_on_request_components(run, cells, merged, tmp_path):
    path, _ = merged
    model = bigtensor.load(path)
    plain, both = tmp_path / "plain.zarr", tmp_path / "both.zarr"
    assert run("predict", path, cells, "--out", plain, *THREADS).exit_code == 0
    group = zarr.open_group(plain, mode="r")
    assert sorted(group.array_keys()) == ["label"]
    assert set(np.unique(group["label"][:])) == {0, 1, 2, 3}
    result = run(
        *("predict", path, cells, "--out", both, "--level", "component", "--probabilities"),
        *THREADS,
    )
    assert result.exit_code == 0, result.stderr
    group = zarr.open_group(both, mode="r")
    np.testing.assert_array_equal(group["component_label"][:], model.predict(cells, "component"))
    np.testing.assert_array_equal(group["label"][:], model.predict(cells))
    assert group["component_probability"].shape == (20_000, 16)
    assert group["probability"].shape == (20_000, 4)


def test_predict__a_level_that_the_model_has_not_is_refused(run, cells, model, tmp_path):
    out = tmp_path / "l.zarr"
    result = run("predict", model, cells, "--out", out, "--level", "population", *THREADS)
    assert result.exit_code == 1
    assert "the model has no populations" in result.stderr
    assert not out.exists()
    result = run("predict", model, cells, "--out", out, "--level", "component", *THREADS)
    assert result.exit_code == 0, result.stderr
    assert sorted(zarr.open_group(out, mode="r").array_keys()) == ["label"]


def test_predict__weights_by_sample_at_either_level(run, cells, merged, tmp_path):
    path, _ = merged
    for level, count in (("population", 4), ("component", 16)):
        table = tmp_path / f"{level}.csv"
        result = run(
            *("predict", path, cells, "--out", tmp_path / f"{level}.zarr", "--level", level),
            *("--by", "sample_id", "--table", table, *THREADS),
        )
        assert result.exit_code == 0, result.stderr
        header = table.read_text().splitlines()[0].split(",")
        columns = [f"{level}_{h}" for h in range(count)]
        assert header == ["sample_id", "rows", *columns, *(f"{name}_error" for name in columns)]


@pytest.mark.slow
def test_report__of_populations(run, cells, merged, tmp_path):
    pytest.importorskip("matplotlib")
    path, _ = merged
    out = tmp_path / "report.html"
    result = run("report", path, "--data", cells, "--out", out)
    assert result.exit_code == 0, result.stderr
    assert "From components to populations" in out.read_text()

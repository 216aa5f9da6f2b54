"""compare: populations that change between groups of samples."""

import csv
import json

import anndata
import numpy as np
import pytest

from bigtensor.abundance.sample_weights import weights_of_counts
from bigtensor.cli.group_table import write_table

THREADS = ("--scheduler", "threads")


def read(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture
def study(tmp_path):
    """Return a table of weights and a table of samples, in which one population changes."""
    rng = np.random.default_rng(0)
    shares = np.tile([0.7, 0.29, 0.01], (8, 1)) * np.exp(0.1 * rng.standard_normal((8, 3)))
    shares[4:, 2] *= 5
    counts = rng.multinomial(20_000, shares / shares.sum(axis=1, keepdims=True))
    names = [f"file_{number}" for number in range(4, 12)]
    weights = weights_of_counts(counts, names, ["0", "1", "2"]).to_dataset()
    write_table(weights.drop_vars("population"), tmp_path / "weights.csv")
    lines = [
        f"{name}.fcs,{'drug' if number > 3 else 'none'},{number}"
        for number, name in enumerate(names)
    ]
    text = "\n".join(["file,arm,dose", *lines, "other,drug,3"])
    (tmp_path / "samples.csv").write_text(text + "\n")
    return tmp_path


def options(study, out="out.csv"):
    return (
        *("compare", "--table", study / "weights.csv", "--metadata", study / "samples.csv"),
        *("--out", study / out),
    )


def test_compare__finds_the_population_that_changes(run, study):
    result = run(*options(study), "--by", "arm", "--reference", "none")
    assert result.exit_code == 0, result.stderr
    assert "1 of 3 populations" in result.stdout
    assert "drug against none" in result.stdout
    assert "1 rows of" in result.stdout
    rows = read(study / "out.csv")
    assert [row["population"] for row in rows] == ["0", "1", "2"]
    assert 3 < float(rows[2]["odds_ratio"]) < 8
    assert float(rows[2]["false_discovery_rate"]) < 0.01 < float(rows[0]["p_value"])


def test_compare__shows_an_interval_without_an_end(run, study):
    counts = [[700 + number, 300, 0 if number < 4 else 40 + number] for number in range(8)]
    names = [f"file_{number}" for number in range(4, 12)]
    weights = weights_of_counts(counts, names, ["a", "b", "c"]).to_dataset()
    write_table(weights, study / "weights.csv")
    result = run(*options(study), "--by", "arm", "--reference", "none")
    assert " to infinity)" in result.stdout
    assert "(none: 4, drug: 4)" in result.stdout
    rows = read(study / "out.csv")
    assert rows[2]["upper"] == "inf"
    result = run(*options(study), "--by", "arm", "--reference", "none", "--overwrite", "--json")
    facts = json.loads(result.stdout)
    assert facts["group_samples"] == {"none": 4, "drug": 4}
    assert facts["populations"][2]["contrasts"][0]["upper"] is None


def test_compare__says_over_which_tests_stars_are(run, study):
    lines = [f"file_{number},{'abc'[number % 3]}" for number in range(4, 12)]
    (study / "samples.csv").write_text("\n".join(["file,arm", *lines]) + "\n")
    result = run(*options(study), "--by", "arm")
    (legend,) = [line for line in result.stdout.splitlines() if line.startswith("* ")]
    assert "tests of this contrast" in legend


def test_compare__prints_facts(run, study):
    result = run(*options(study), "--by", "dose", "--json")
    assert result.exit_code == 0, result.stderr
    facts = json.loads(result.stdout)
    assert facts["changed"] == ["2"]
    assert facts["samples"] == 8
    assert facts["unused_rows"] == ["other"]
    (contrast,) = facts["populations"][2]["contrasts"]
    assert contrast["contrast"] == "per unit of dose"
    assert contrast["lower"] > 0


def test_compare__says_how_numbers_become_groups(run, study):
    result = run(*options(study), "--by", "dose")
    assert "--groups dose" in result.stdout
    result = run(*options(study), "--by", "dose", "--adjust", "arm", "--overwrite", "--quiet")
    assert (result.exit_code, result.stdout) == (0, "")


def test_compare__says_that_shares_sum_to_one_if_a_population_changed(run, study):
    result = run(*options(study), "--by", "arm")
    assert "shares sum to one" in result.stdout
    lines = [f"file_{number},{'ab'[number % 2]}" for number in range(4, 12)]
    (study / "samples.csv").write_text("\n".join(["file,arm", *lines]) + "\n")
    result = run(*options(study), "--by", "arm", "--overwrite")
    assert "0 of 3 populations" in result.stdout
    assert "shares sum to one" not in result.stdout


def test_compare__names_samples_that_add_nothing(run, study):
    arms, batches = "aaaabbbb", "xxyyxxyz"
    lines = [
        f"file_{number + 4},{arm},{batch}"
        for number, (arm, batch) in enumerate(zip(arms, batches, strict=True))
    ]
    (study / "samples.csv").write_text("\n".join(["file,arm,batch", *lines]) + "\n")
    arguments = (*options(study), "--by", "arm", "--adjust", "batch")
    assert "compared with file_11 where batch" in run(*arguments).stdout
    facts = json.loads(run(*arguments, "--overwrite", "--json").stdout)
    assert facts["samples_uninformative"] == ["file_11"]


def test_compare__takes_ages_for_numbers(run, study):
    ages = [30, 41, 52, 29, 33, 60, 45, 50]
    lines = [f"file_{n + 4},{'ab'[n % 2]},{age}" for n, age in enumerate(ages)]
    (study / "samples.csv").write_text("\n".join(["file,arm,age", *lines]) + "\n")
    result = run(*options(study), "--by", "arm", "--adjust", "age")
    assert "adjusted for age as a number" in result.stdout
    assert "--groups" not in result.stdout + result.stderr


def test_compare__writes_shares_and_counts_for_other_programs(run, study):
    result = run(
        *options(study),
        *("--by", "arm", "--shares", study / "shares.csv", "--diffcyt", study / "diffcyt"),
        *("--anndata", study / "counts.h5ad"),
    )
    assert result.exit_code == 0, result.stderr
    shares = read(study / "shares.csv")
    assert [row["sample_id"] for row in shares[::3]] == [f"file_{n}" for n in range(4, 12)]
    assert sum(int(row["estimated_count"]) for row in shares[:3]) == 20_000
    counts = read(study / "diffcyt" / "counts.csv")
    assert [*counts[0]][:3] == ["cluster_id", "n_cells", "file_4"]
    info = read(study / "diffcyt" / "experiment_info.csv")
    assert [row["sample_id"] for row in info] == [*counts[0]][2:]
    adata = anndata.read_h5ad(study / "counts.h5ad")
    assert adata.shape == (8, 3)
    again = run(*options(study), "--by", "arm")
    assert again.exit_code == 1
    assert "out.csv" in again.stderr
    assert run(*options(study), "--by", "arm", "--overwrite").exit_code == 0


def test_compare__weighs_the_samples_of_a_model(run, cells, model, tmp_path):
    (tmp_path / "samples.csv").write_text(
        "sample,arm\n" + "".join(f"sample{n},{'ab'[n % 2]}\n" for n in (1, 2, 3, 4))
    )
    result = run(
        *("compare", model, cells, "--metadata", tmp_path / "samples.csv", "--by", "arm"),
        *("--out", tmp_path / "out.csv", "--quiet", *THREADS),
    )
    assert result.exit_code == 0, result.stderr
    assert [row["component"] for row in read(tmp_path / "out.csv")] == ["0", "1", "2", "3"]


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("--by", "arms"), 1, "arm, dose"),
        (("--by", "arm", "--adjust", "arm"), 1, "--adjust"),
        (("--by", "arm", "--reference", "x"), 1, "--reference x"),
        (("m.zarr", "c.zarr", "--by", "arm"), 2, "--table"),
        (("--by", "arm", "--shares", "out.csv"), 2, "same name"),
        (("--by", "arm", "--level", "component"), 2, "--level"),
        (("--by", "arm", "--sample", "donor", "--missing", "omit"), 2, "--sample, --missing"),
        (("--by", "arm", "--workers", 2), 2, "--workers"),
    ],
)
def test_compare__says_what_is_wrong(run, study, monkeypatch, arguments, code, words):
    monkeypatch.chdir(study)
    result = run(
        *("compare", "--table", "weights.csv", "--metadata", "samples.csv", "--out", "out.csv"),
        *arguments,
    )
    assert result.exit_code == code
    assert words in result.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--metadata", "dz/experiment_info.csv", "--out", "out.csv"), "experiment_info.csv"),
        (("--metadata", "samples.csv", "--out", "dz/counts.csv"), "counts.csv"),
        (("--metadata", "samples.csv", "--out", "out.csv", "--shares", "dz/../out.csv"), "out.csv"),
    ],
)
def test_compare__replaces_no_input_and_no_other_output(run, study, monkeypatch, arguments, words):
    monkeypatch.chdir(study)
    (study / "dz").mkdir()
    text = (study / "samples.csv").read_text()
    (study / "dz" / "experiment_info.csv").write_text(text)
    result = run(
        *("compare", "--table", "weights.csv", *arguments, "--by", "arm"),
        *("--diffcyt", "dz", "--overwrite"),
    )
    assert result.exit_code == 2
    assert words in result.stderr
    assert (study / "dz" / "experiment_info.csv").read_text() == text
    assert not (study / "out.csv").exists()


def test_compare__replaces_no_cells(run, study):
    result = run(
        *("compare", study / "m.zarr", study / "cells.h5ad", "--by", "arm", "--overwrite"),
        *("--metadata", study / "samples.csv", "--out", study / "out.csv"),
        *("--anndata", study / "cells.h5ad"),
    )
    assert result.exit_code == 2
    assert "cells.h5ad is read" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("m.zarr", "c.zarr", "--out", "absent/x.csv"), "absent does not exist"),
        (("--table", "weights.csv", "--out", "out.csv", "--shares", "absent/x.csv"), "absent"),
        (("m.zarr", "c.zarr", "--out", "out.csv", "--diffcyt", "samples.csv"), "is a file"),
        (("m.zarr", "c.zarr", "--out", "out.csv", "--diffcyt", "samples.csv/x"), "is a file"),
    ],
)
def test_compare__looks_for_folders_before_it_reads_cells(
    run, study, monkeypatch, arguments, words
):
    monkeypatch.chdir(study)
    result = run("compare", *arguments, "--metadata", "samples.csv", "--by", "arm")
    assert result.exit_code == 1
    assert words in result.stderr
    assert not (study / "out.csv").exists()


def test_compare__makes_folders_for_diffcyt(run, study):
    result = run(*options(study), "--by", "arm", "--diffcyt", study / "a" / "b")
    assert result.exit_code == 0, result.stderr
    assert len(read(study / "a" / "b" / "counts.csv")) == 3


def test_compare__names_the_columns_that_anndata_needs_for_itself(run, study):
    text = (study / "samples.csv").read_text().replace("dose", "n_cells")
    (study / "samples.csv").write_text(text)
    result = run(*options(study), "--by", "arm", "--anndata", study / "counts.h5ad")
    assert result.exit_code == 0, result.stderr
    assert "n_cells_2" in result.stdout
    obs = anndata.read_h5ad(study / "counts.h5ad").obs
    assert (obs["n_cells"] == 20_000).all()
    assert obs["n_cells_2"].tolist() == [*range(8)]


def test_compare__needs_a_model_or_weights(run, study):
    result = run("compare", "--metadata", study / "samples.csv", "--by", "arm", "--out", "o.csv")
    assert result.exit_code == 2
    assert "--table" in result.stderr


def test_compare__lists_samples_without_a_row(run, study):
    (study / "samples.csv").write_text("file,arm\nfile_4,a\nfile_5,b\nfile_99,b\n")
    result = run(*options(study), "--by", "arm")
    assert result.exit_code == 1
    for name in ("file_6", "file_99", "6 of 8"):
        assert name in result.stderr

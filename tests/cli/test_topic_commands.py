"""Sparse counts on the command line: from a file to topics, shares and a report."""

import json

import numpy as np
import pytest
import xarray as xr

THREADS = ("--scheduler", "threads", "--workers", "1")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("topics")


@pytest.fixture(scope="module")
def files(folder, run):
    """A file of counts, the store imported from it, and a fitted model."""
    rng = np.random.default_rng(0)
    topics = rng.dirichlet(np.full(60, 0.1), 3)
    rows = rng.multinomial(40, rng.dirichlet([0.3] * 3, 400) @ topics)
    text, store = folder / "docword.news.txt", folder / "news.zarr"
    entries = np.argwhere(rows)
    lines = [f"{d + 1} {w + 1} {rows[d, w]}" for d, w in entries]
    text.write_text("\n".join(["400", "60", str(len(lines)), *lines]) + "\n")
    (folder / "vocab.news.txt").write_text("\n".join(f"word-{w}" for w in range(60)))
    imported = run("import", text, "--counts", "--out", store)
    assert imported.exit_code == 0, imported.output
    assert "400 documents x 60 words" in imported.stdout
    model = folder / "news.model"
    fitted = run("fit", store, "--model", "topic", "--components", 3, "--out", model, *THREADS)
    assert fitted.exit_code == 0, fitted.output
    return store, model, fitted.stdout


@pytest.mark.slow
def test_fit__tells_the_words_of_the_topics(files):
    told = files[2]
    assert "3 topics in 1 view" in told
    assert told.count("word-") >= 24


def test_predict__writes_shares(files, folder, run):
    store, model, _ = files
    out, table = folder / "shares.zarr", folder / "shares.csv"
    assert run("predict", model, store, "--out", out, "--csv", table, *THREADS).exit_code == 0
    shares = xr.open_zarr(out)["topic_share"]
    assert shares.dims == ("sample", "topic")
    assert np.allclose(shares.sum("topic"), 1)
    written = np.genfromtxt(table, delimiter=",", names=True)
    assert written.dtype.names == ("row", "topic_share_0", "topic_share_1", "topic_share_2")
    assert written["topic_share_1"] == pytest.approx(shares[:, 1].to_numpy(), rel=1e-8)
    again = folder / "again.csv"
    assert run("export", out, "--to", again, "--cells", store).exit_code == 0
    assert again.read_bytes() == table.read_bytes()
    assert "answers    " in run("info", out).stdout


def test_info__of_counts_is_no_problem(files, run):
    (found,) = json.loads(run("info", files[0], "--json").stdout)["paths"]
    assert found["counts"]
    assert found["problem"] is None
    assert "--model topic" in run("info", files[0]).stdout


def test_info__names_the_topics(files, run):
    (found,) = json.loads(run("info", files[1], "--json").stdout)["paths"]
    assert found["n_components"] == 3
    assert all(len(words) == 8 for words in found["top_words"])


def test_report__has_the_words(files, folder, run):
    store, model, _ = files
    out = folder / "report.html"
    assert run("report", model, "--data", store, "--out", out).exit_code == 0
    text = out.read_text(encoding="utf-8")
    assert "Topics and their words" in text
    assert "word-" in text


def test_import__of_counts_says_to_programs_what_was_imported(files, folder, run):
    text, out = folder / "docword.news.txt", folder / "facts.zarr"
    facts = json.loads(run("import", text, "--counts", "--out", out, "--json").stdout)
    assert (facts["rows"], facts["words"]) == (400, 60)
    assert (facts["row_name"], facts["column_name"]) == ("document", "word")
    assert facts["files"] == ["docword.news"]


def test_import__of_several_files_of_counts_is_refused(files, folder, run):
    text = folder / "docword.news.txt"
    done = run("import", text, text, "--counts", "--out", folder / "two.zarr")
    assert done.exit_code == 2
    assert "--counts imports one file" in done.stderr


@pytest.mark.parametrize(
    "options",
    [
        ("--codes", "--keep-raw", "--compensate"),
        ("--label", "kind", "--where", "x > 1"),
        ("--panel", "panel.csv", "--untransformed", "x", "--untransformed", "y"),
        ("--dataset", 0, "--dtype", "float32"),
    ],
)
def test_import__options_of_measured_values_are_refused_with_counts(
    files, folder, run, tmp_path, options
):
    refused = run("import", folder / "docword.news.txt", "--counts", "--out", tmp_path, *options)
    assert refused.exit_code == 2
    for flag in {option for option in options if str(option).startswith("--")}:
        assert refused.stderr.count(flag) == 1


@pytest.mark.parametrize(
    "option",
    [("--vocabulary", "words.txt"), ("--documents", "columns"), ("--feature-types", "Peaks")],
)
def test_import__options_of_counts_are_refused_without_it(run, tmp_path, option):
    path = tmp_path / "a.csv"
    path.write_text("x,y\n1,2\n")
    refused = run("import", path, "--out", tmp_path / "a.zarr", *option)
    assert refused.exit_code == 2
    assert "without --counts" in refused.stderr
    assert option[0] in refused.stderr
    assert not (tmp_path / "a.zarr").exists()


def test_import__types_of_features_are_chosen(run, tmp_path):
    head = "%%MatrixMarket matrix coordinate integer general\n"
    (tmp_path / "matrix.mtx").write_text(head + "3 2 3\n1 1 4\n3 1 1\n2 2 5\n")
    (tmp_path / "barcodes.tsv").write_text("A-1\nB-1\n")
    types = ["Gene Expression", "Antibody Capture", "Peaks"]
    lines = "".join(f"id{number}\ts{number}\t{kind}\n" for number, kind in enumerate(types))
    (tmp_path / "features.tsv").write_text(lines)
    options = ("--counts", "--out", tmp_path / "out.zarr", "--overwrite", "--debug")
    done = run("import", tmp_path, *options)
    assert "2 cells x 1 features, 1 counts" in done.stdout, done.stderr
    assert "choose other types by --feature-types" in " ".join(done.stderr.split())
    done = run("import", tmp_path, *options, "--feature-types", "Peaks,Antibody Capture")
    assert "2 cells x 2 features, 2 counts" in done.stdout, done.stderr
    assert "warning" not in done.stderr


def test_import__counts_as_json_and_again(files, folder, run):
    out = ("--counts", "--out", folder / "again.zarr", "--overwrite", "--json", "--debug")
    for _ in range(2):
        done = run("import", folder / "docword.news.txt", *out)
        assert done.exit_code == 0, done.stderr
        assert json.loads(done.stdout)["words"] == 60

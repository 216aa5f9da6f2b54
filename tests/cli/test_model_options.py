"""Options of a model, and the keyword arguments that they stand for."""

import inspect
import subprocess
import sys

import click
import pytest
from click.testing import CliRunner

from bigtensor import KernelMixture, SpectralOptions
from bigtensor.cli.model_options import ModelCommand, model_parameters
from bigtensor.errors import ViewError
from bigtensor.models.contract.registry import declared_parameters

DECLARED = [one for one in declared_parameters("KernelMixture") if one.option]
DEFAULTS = {one.name: one.default for one in DECLARED}


def parameters(views=None, features=None, **given):
    return model_parameters(DECLARED, DEFAULTS | given, views, features)


def read(*arguments):
    """Return what a command with the options of a model is called with."""
    received = {}

    @click.command(cls=ModelCommand)
    @click.argument("cells")
    @click.option("--out")
    @click.option("--other")
    def command(**given):
        """Do nothing."""
        received.update(given)

    result = CliRunner().invoke(command, ["c.zarr", *arguments])
    return received, result


def test_options__left_alone_are_the_defaults_of_the_model():
    received, result = read("--other", "x")
    assert result.exit_code == 0
    assert (received["cells"], received["other"], received["model"]) == (
        *("c.zarr", "x"),
        "KernelMixture",
    )
    signature = inspect.signature(KernelMixture).parameters
    for name, value in received["parameters"].items():
        assert value == signature[name].default, name


def test_help__is_the_text_of_the_docstring_in_the_words_of_the_command_line():
    _, result = read("--help")
    words = " ".join(result.output.split())
    assert "50,000 if components are merged." in words
    assert "--populations" in words
    assert "n_populations" not in words
    assert "a table [kernel]" in words
    assert "single views: gaussian, laplace, delta." in words
    assert "'auto' is 'kmeans' if" in words
    assert "`" not in words


def test_help__of_all_models_imports_no_model():
    code = (
        "import sys; from bigtensor.cli import model_options as m; "
        "print(sum(len(m._options(name)) for name in m.MODELS), *sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    number, *loaded = done.stdout.split()
    assert int(number) > 50
    assert not {"numpy", "dask", "numba"} & set(loaded)
    assert not [name for name in loaded if name.endswith(".estimator")]


def test_options__are_handed_on_as_one(tmp_path):
    views = tmp_path / "views.toml"
    views.write_text('[views]\nt = ["CD3", "CD4"]\nb = ["CD19"]\nbatch = ["plate"]\n'
                     '[kernel]\nbatch = "delta"\n')  # fmt: skip
    received, _ = read(
        *("--model", "kernel-mixture", "-k", "40", "--views", str(views), "--init", "spectral"),
        *("--posterior-width", "none", "--bandwidth", "0.5", "--moments-rows", "2e6"),
        *("--kernel", "laplace", "--landmarks", "cholesky", "--n-landmarks", "50"),
        "--shared-components",
        *("--populations", "auto", "--merging", "overlap"),
        *("--max-iter", "7", "--pilot-rows", "5e4"),
    )
    assert received["parameters"] == {
        "n_components": 40,
        "n_populations": "auto",
        "views": {"t": ["CD3", "CD4"], "b": ["CD19"], "batch": ["plate"]},
        "init": "spectral",
        "merging": "overlap",
        "units": "auto",
        "bandwidth": 0.5,
        "kernel": {"t": "laplace", "b": "laplace", "batch": "delta"},
        "spectral": SpectralOptions(
            moments_rows=2_000_000, landmarks="cholesky", n_landmarks=50, posterior_width=None
        ),
        "views_share_components": True,
        "max_iter": 7,
        "pilot_rows": 50_000,
    }
    KernelMixture(**received["parameters"]).check_parameters()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-k", "some"], "some is not an integer"),
        (["--bandwidth", "0"], "0 is not a positive number, or auto"),
        (["--posterior-width", "-1"], "-1 is not a positive number, or auto"),
        (["--moments-rows", "999"], "at least 1000, or auto"),
        (["--init", "random"], "'random' is not one of 'auto'"),
        (["--merging", "best"], "'best' is not one of 'levels'"),
        (["--model", "other"], "'other' is not one of 'kernel-mixture', "),
        (["--features", "A,B", "--views", "v.toml"], "give it or --views"),
        (["--features", "A,A"], "'A' twice"),
    ],
)
def test_options__are_refused_as_wrong_usage(arguments, message):
    _, result = read(*arguments)
    assert (result.exit_code, message in result.stderr) == (2, True), result.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ("--emissions", "gaussian", "--model", "hidden-markov-model"),
            "mean 'hidden-markov'",
        ),
        (("--emissions", "gaussian"), "option of --model hidden-markov, and"),
        (("--emission", "gaussian", "--model", "hidden-markov"), "Did you mean"),
        (("--nothing", "1"), "No such option"),
    ],
)
def test_an_option_of_another_model__is_told_from_one_of_none(arguments, words):
    _, result = read(*arguments)
    assert result.exit_code == 2
    assert words in result.output


def test_features__are_a_view_each():
    assert parameters(features="A, B")["views"] == {"A": ["A"], "B": ["B"]}


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ('[kernel]\nx = "delta"', r"the view 'x', but \[views\] has t, b"),
        ('[kernel]\nt = "cosine"', "'cosine' for view 't'.*one of gaussian"),
        ("[kernel]\nt = 3", "has 3 for view 't'"),
        ("kernel = 3", "kernel of .* is 3"),
    ],
)
def test_kernels__of_nothing_are_refused(tmp_path, table, message):
    views = tmp_path / "views.toml"
    head, tail = (table, "") if table.startswith("kernel =") else ("", table)
    views.write_text(f'{head}\n[views]\nt = ["CD3"]\nb = ["CD19"]\n{tail}\n')
    with pytest.raises(ViewError, match=message):
        parameters(views, n_components=3)


def test_error__shows_views_as_lines_of_the_file_that_the_option_takes(run, cells, tmp_path):
    model = ("--model", "linear-mixture", "-k", 3)
    result = run("prepare", cells, *model, "--out", tmp_path / "prepared.zarr")

    assert result.exit_code == 1
    assert 'a = ["CD3", "CD4", "CD8", "CD19"], b = ["CD45"]' in result.stderr
    assert "{" not in result.stderr


@pytest.mark.parametrize(
    ("unused", "other", "options"),
    [
        ("--max-iter", "--refine triples", ("hidden-markov", "--max-iter", "7")),
        (
            "--covariance-type",
            "--emissions categorical",
            ("hidden-markov", "--covariance-type", "diag"),
        ),
        ("--n-init", "--covariance-type shared_spherical", ("gaussian-mixture", "--n-init", "5")),
        ("--n-init", "--init moments", ("gaussian-mixture", "--n-init", "5")),
        ("--reg-covar", "--covariance-type tied", ("gaussian-mixture", "--reg-covar", ".1")),
        (
            "--gauss-newton-steps",
            "--method passes",
            ("linear-mixture", "-k", "3", "--gauss-newton-steps", "2"),
        ),
        ("--max-iter", "--method cumulant", ("ica", "--max-iter", "2")),
        ("--topic-concentration", "--max-iter 0", ("topic", "--topic-concentration", "1")),
        ("--merging", "--components 5", ("kernel-mixture", "--merging", "overlap")),
        ("--merging", "--shared-components", ("kernel-mixture", "--merging", "overlap")),
        ("--moments-rows", "--init kmeans", ("kernel-mixture", "--moments-rows", "5e3")),
        (
            "--structure",
            "--method embedding",
            ("tensor-train-density", "--structure", "balanced"),
        ),
        ("--trains", "--method embedding", ("tensor-train-density", "--trains", "2")),
        ("--pilot-rows", "--method embedding", ("tensor-train-density", "--pilot-rows", "500")),
        ("--criterion", "--components 4", ("gaussian-mixture", "--criterion", "bic")),
    ],
)
def test_options__without_effect_are_refused(unused, other, options):
    _, result = read("--model", *options, *other.split())
    assert result.exit_code == 2
    assert f"{unused} has no effect with {other}" in " ".join(result.stderr.split())


def test_options__that_another_value_gives_an_effect_are_taken():
    for options in (
        ("hidden-markov", "--max-iter", "7"),
        ("hidden-markov", "--emissions", "gaussian", "--covariance-type", "diag"),
        ("gaussian-mixture", "--covariance-type", "tied", "--n-init", "5"),
        ("linear-mixture", "-k", "3", "--gauss-newton-steps", "2"),
        ("kernel-mixture", "--merging", "overlap"),
        ("kernel-mixture", "-k", "9", "--populations", "5", "--merging", "overlap"),
        ("kernel-mixture", "-k", "5", "--moments-rows", "5e3", "--bandwidth", "gap"),
        ("gaussian-mixture", "--criterion", "bic"),
    ):
        _, result = read("--model", *options)
        assert result.exit_code == 0, result.stderr

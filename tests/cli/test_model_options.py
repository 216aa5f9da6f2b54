"""The options of a model, and what they stand for."""

import inspect

import click
import pytest

from bigtensor import KernelMixture
from bigtensor.cli.model_options import (
    count_or_auto,
    model_options,
    model_parameters,
    positive_or,
    rows_or,
)
from bigtensor.errors import ViewError

DEFAULTS = {
    "n_components": None,
    "n_populations": None,
    "views": None,
    "features": None,
    "start": "auto",
    "units": "auto",
    "posterior_width": "auto",
    "bandwidth": None,
    "moments_rows": "auto",
    "kernels": "gaussian",
    "landmarks": "kmeans",
    "views_share_components": False,
}


def parameters(**given):
    return model_parameters(**DEFAULTS | given)


def test_count_or_auto__is_a_number_or_the_word():
    assert (count_or_auto("12"), count_or_auto("auto")) == (12, "auto")
    with pytest.raises(click.BadParameter, match="whole number of at least 1, and not 'auto'"):
        count_or_auto("some")


def test_positive_or__is_a_number_or_one_of_the_words():
    kind = positive_or("gap", "rule")
    assert (kind("0.5"), kind("gap")) == (0.5, "gap")
    for wrong in ("0", "-1", "inf", "nan", "wide"):
        with pytest.raises(click.BadParameter, match="not a positive number or gap or rule"):
            kind(wrong)


def test_rows_or__is_a_number_of_rows_or_one_of_the_words():
    kind = rows_or("auto", "all")
    assert (kind("2e6"), kind("all")) == (2_000_000, "all")
    for wrong in ("999", "0.5", "some"):
        with pytest.raises(click.BadParameter, match="at least 1000, or auto or all"):
            kind(wrong)


def test_model_parameters__left_alone_are_those_of_the_model():
    signature = inspect.signature(KernelMixture).parameters
    for name, value in parameters(n_components="auto").items():
        assert value == signature[name].default, name


def test_model_parameters__pass_everything_on(tmp_path):
    views = tmp_path / "views.toml"
    views.write_text('[views]\nt = ["CD3", "CD4"]\nb = ["CD19"]\nbatch = ["plate"]\n'
                     '[kernels]\nbatch = "delta"\n')  # fmt: skip
    found = parameters(
        n_components=40,
        n_populations="auto",
        views=views,
        start="spectral",
        posterior_width="none",
        bandwidth=0.5,
        moments_rows=2_000_000,
        kernels="laplace",
        landmarks="cholesky",
        views_share_components=True,
    )
    assert found == {
        "n_components": 40,
        "n_populations": "auto",
        "views": {"t": ["CD3", "CD4"], "b": ["CD19"], "batch": ["plate"]},
        "start": "spectral",
        "units": "auto",
        "posterior_width": None,
        "bandwidth": 0.5,
        "moments_rows": 2_000_000,
        "kernels": {"t": "laplace", "b": "laplace", "batch": "delta"},
        "landmarks": "cholesky",
        "views_share_components": True,
    }
    KernelMixture(**found)._check_parameters()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"n_components": 4, "n_populations": 5}, "--populations 5 are merged from --components 4"),
        (
            {"n_components": 4, "start": "kmeans", "units": "own", "bandwidth": "gap"},
            "--start kmeans: leave it out",
        ),
        ({"n_populations": 4, "bandwidth": 0.5}, "not used with --populations"),
    ],
)
def test_model_parameters__refuse_contradictions(given, message):
    with pytest.raises(click.UsageError, match=message):
        parameters(**given)
    assert parameters(**given | {"n_components": 9, "start": "spectral"})


@pytest.mark.parametrize(
    ("kernels", "message"),
    [
        ('[kernels]\nx = "delta"', r"names the view 'x', but \[views\] has t, b"),
        ('[kernels]\nt = "cosine"', "kernel of view 't'.*expected one of gaussian, laplace, delta"),
        ("[kernels]\nt = 3", "kernel of view 't'"),
    ],
)
def test_model_parameters__refuse_kernels_of_nothing(tmp_path, kernels, message):
    views = tmp_path / "views.toml"
    views.write_text(f'[views]\nt = ["CD3"]\nb = ["CD19"]\n{kernels}\n')
    with pytest.raises(ViewError, match=message):
        parameters(n_components=3, views=views)


def test_model_options__are_handed_on_as_one():
    @click.command()
    @model_options
    @click.option("--other")
    def command(parameters, other):
        """Do nothing."""
        return parameters, other

    found, other = command.main(
        ["-k", "3", "--bandwidth", "gap", "--other", "x"], standalone_mode=False
    )
    assert other == "x"
    assert (found["n_components"], found["bandwidth"]) == (3, "gap")
    assert command.__doc__ == "Do nothing."

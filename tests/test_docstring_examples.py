"""Examples in docstrings are run: every module that has some, and a warning is an error."""

import doctest
import inspect
from importlib import import_module
from pathlib import Path

import pytest

import bigtensor
from bigtensor.models.contract.registry import MODELS, model_class

PACKAGE = Path(bigtensor.__file__).parent
LONG_EXAMPLES = (
    "hidden_markov.estimator",
    "kernel_ica.estimator",
    "kernel_mixture.estimator",
    "kernels.custom_kernel",
    "tensor_train_density.estimator",
    "testing.model_laws",
    "triple_histogram_classifier.estimator",
)
"""Modules whose examples take several seconds."""


def modules_with_examples() -> list[str]:
    """Return the names of the modules of the package with an example."""
    return [
        ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
        for path in sorted(PACKAGE.rglob("*.py"))
        if ">>> " in path.read_text(encoding="utf-8")
    ]


def failures_of(test: doctest.DocTest) -> str:
    """Return what an example gives in place of what it shows."""
    reports: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE, verbose=False)
    runner.run(test, out=reports.append)
    return "".join(reports)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] if name.endswith(LONG_EXAMPLES) else [])
        for name in modules_with_examples()
    ],
)
def test_examples__show_what_they_give(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tests = [test for test in doctest.DocTestFinder().find(import_module(name)) if test.examples]
    assert tests
    failures = [report for test in tests if (report := failures_of(test))]
    assert not failures, "\n".join(failures)


def test_wrong_example__is_reported():
    parser = doctest.DocTestParser()
    texts = {"right": ">>> 1 + 1\n2\n", "wrong": ">>> 1 + 1\n3\n"}
    reports = {
        name: failures_of(parser.get_doctest(text, {}, name, None, 0))
        for name, text in texts.items()
    }
    assert not reports["right"]
    assert "Expected:\n    3\nGot:\n    2" in reports["wrong"]


@pytest.mark.parametrize("name", MODELS)
def test_model__has_an_example(name):
    assert ">>> " in (model_class(name).__doc__ or "")


PUBLIC_CLASSES = [
    name
    for name in bigtensor.__all__
    if isinstance(getattr(bigtensor, name), type)
    and not issubclass(getattr(bigtensor, name), Exception)
]


@pytest.mark.parametrize("name", PUBLIC_CLASSES)
def test_class__has_an_example_and_a_model_has_references(name):
    sections = inspect.getdoc(getattr(bigtensor, name)).splitlines()
    assert "Examples" in sections
    assert name not in MODELS or "References" in sections

"""Reports and the command line tell of a model what the model itself supplies, and no more."""

import ast
import json
import re
import subprocess
import sys
from html import unescape
from pathlib import Path

import numpy as np
import pytest

import bigtensor
from bigtensor import KernelMixture, simulate
from bigtensor.data.stores.layout import SampleStoreWriter
from bigtensor.models.contract.registry import MODELS
from bigtensor.models.words.mixture_description import MixtureDescription
from bigtensor.report.html import render_report
from tests.laws.described.estimator import Described
from tests.laws.package_files import tree_of
from tests.laws.small_model import Standardiser

PACKAGE = Path(bigtensor.__file__).parent
ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = {"demo.py", "simulate.py"}
"""Commands about data and a model that they choose themselves."""

FILES = [
    PACKAGE / "annotation.py",
    *(
        path
        for room in ("report", "cli")
        for path in sorted((PACKAGE / room).rglob("*.py"))
        if path.name not in EXAMPLES
    ),
]

OF_CONTRACT = {"data", "rows", "rows_left_out", "plan", "passes"}
"""Keys of the diagnostics of every model."""

REGISTERED = """
import json, sys
from bigtensor.models.contract.registry import MODELS

MODELS["Described"] = "tests.laws.described.estimator"
from click.testing import CliRunner
from bigtensor.cli import main

done = [CliRunner().invoke(main, command) for command in json.loads(sys.argv[1])]
print(json.dumps([[one.exit_code, one.stdout, one.stderr] for one in done]))
"""


def told(page: str) -> str:
    """Return the words of a page."""
    body = re.sub(r"<style>.*?</style>", " ", page, flags=re.DOTALL)
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", body)).split())


def sections(page: str) -> list[str]:
    return re.findall(r'<section id="([^"]+)">', page)


def run(*commands: tuple[object, ...]) -> list[tuple[int, str, str]]:
    """Run commands in a process that has one more line in the registry."""
    texts = [[str(argument) for argument in command] for command in commands]
    done = subprocess.run(
        [sys.executable, "-c", REGISTERED, json.dumps(texts)],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stderr
    return [tuple(one) for one in json.loads(done.stdout)]


@pytest.fixture(scope="module")
def rows() -> np.ndarray:
    return np.random.default_rng(3).normal([3.0, -1.0, 100.0], 1.0, (2_000, 3))


@pytest.fixture(scope="module")
def store(rows, tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("described") / "rows.zarr"
    with SampleStoreWriter(path, ["CD3", "CD4", "CD8"]) as written:
        written.append(rows.astype("f4"))
    return path


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_report_and_cli__name_no_model(path):
    folders = {module.rpartition(".")[0] for module in MODELS.values()}
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            imported = {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            imported = {f"{node.module}.{alias.name}" for alias in node.names}
        else:
            imported = set()
        assert not {name for name in imported if name.startswith(tuple(folders))}
        named = {getattr(node, key, None) for key in ("id", "attr", "name", "value")}
        assert not {name for name in named if isinstance(name, str)} & {*MODELS}


@pytest.mark.slow  # imports everything in a new process
def test_importing_models__does_not_import_matplotlib():
    code = """
import sys
from importlib import import_module
from bigtensor.models.contract.registry import MODELS

for module in MODELS.values():
    import_module(module)
import bigtensor.models.kernel_mixture.report.parts
print("matplotlib" in sys.modules)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert done.stdout.strip() == "False"


def test_report__shows_the_sections_of_a_foreign_model(rows):
    model = Described().fit(rows)
    page = render_report(model, data=rows, sample_size=640)
    assert sections(page) == ["spread", "fit", "diagnostics"]
    words = told(page)
    assert "Described was fitted to 2,000 rows of 3 " in words
    assert "Spread: True." in words
    assert "Warning. The means are far from zero." in words
    assert "largest mean 100.0" in words
    assert "feature mean x0 3.0" in words
    assert "The sample holds 640 rows." in words
    assert "Remarks Two passes are enough. Passes" in words
    assert re.findall(r'alt="([^"]*)"', page) == ["Means"]
    assert '<a href="#spread">Spread</a>' in page
    assert "The sample holds" not in told(render_report(model))


def test_report__of_a_model_without_a_description_has_the_general_sections(rows):
    words = told(render_report(Standardiser().fit(rows), data=rows))
    assert "A Standardiser was fitted" in words
    assert "was fitted to 2,000 rows of 3 features." in words
    assert "3 passes: origin (1 row), means (2,000" in words
    assert "show all 2,000 rows of the data." in words


class ByHeart(MixtureDescription):
    def outcome(self, _model):
        return [("initialisation", "by heart")]


def test_report__of_a_mixture_needs_its_weights_and_answers_alone():
    class Bare(KernelMixture):
        """A mixture with a general description."""

        description = ByHeart()

    data = simulate.cytometry(3_000, 3, markers=4, samples=2, random_state=1)
    model = Bare(3, random_state=0).fit(data)
    model.diagnostics_ = {key: model.diagnostics_[key] for key in OF_CONTRACT}
    page = render_report(model, data=data)
    assert sections(page) == [
        *("components", "samples", "quality", "classes", "map"),
        *("probabilities", "fit", "diagnostics"),
    ]
    words = told(page)
    assert "3 components was fitted to 3,000 rows" in words
    assert "Initialisation: by heart." in words
    assert "component weight labelled certainty 0 " in words
    assert "of every component in every sample" in words
    weights = [f"{weight:.5f}" for weight in model.weights_]
    facts = model.description.facts(model)
    assert model.description.size(facts) == "3 components"
    assert list(model.description.lines(facts)) == [("initialisation", "by heart")]
    table = model.description.table(facts)
    assert table.head == ("component", "weight")
    assert table.as_text() == [[str(h), weight] for h, weight in enumerate(weights)]


@pytest.mark.slow  # five commands in a new process; its report is quick
def test_commands__tell_of_a_foreign_model(store, tmp_path):
    model, page, labels = (tmp_path / name for name in ("m.zarr", "m.html", "l.zarr"))
    threads = ("--scheduler", "threads")
    fitted, words, document, reported, refused = run(
        ("fit", store, "--model", "described", "--out", model, *threads),
        ("info", model),
        ("info", model, "--json"),
        ("report", model, "--data", store, "--out", page),
        ("predict", model, store, "--out", labels, *threads),
    )
    assert [one[0] for one in (fitted, words, document, reported)] == [0] * 4, reported[2]
    both = "spread     True\nmeans      3.0, -1.0, 100.0\n"
    head = f"model      {model}: 3 means in 3 views\n{both}fitted on  2,000 rows"
    assert head in fitted[1]
    assert words[1].startswith(f"model      {model}: Described of 3 means\n")
    assert both in words[1]
    (facts,) = json.loads(document[1])["paths"]
    assert (facts["model"], facts["outcome"]) == ("Described", {"spread": "True"})
    assert facts["mean"] == pytest.approx([3, -1, 100], abs=0.1)
    assert "Spread of &lt;features&gt;" in page.read_text(encoding="utf-8")
    assert refused[0] == 1
    assert refused[2].startswith("error: a Described gives no labels; ")


@pytest.mark.slow
def test_commands__of_rounds_tell_of_a_foreign_model(store, tmp_path):
    prepared, sums, solved = (tmp_path / f"{name}.zarr" for name in ("p", "s", "m"))
    threads = ("--scheduler", "threads")
    made, _, ended = run(
        ("prepare", store, "--model", "described", "--out", prepared, *threads),
        ("accumulate", prepared, store, "--out", sums, *threads),
        ("solve", prepared, sums, "--out", solved),
    )
    assert ended[0] == 0, ended[2]
    head = f"prepared   {prepared}: 3 views, for 2,000 rows\npilot      1 rows read"
    assert head in made[1]
    head = f"model      {solved}: 3 means in 3 views\nspread     False\n"
    assert head in ended[1]
